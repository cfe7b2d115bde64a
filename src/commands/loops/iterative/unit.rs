//! Units as people write them, and those that are added to a task later.

use anyhow::{bail, ensure};

use crate::commands::loops::iterative::task_command::{TaskCommand, rule};
use crate::console::usage::usage;
use crate::core::outcome::Outcome;
use crate::core::redaction::Redactor;
use crate::core::text::{clip, plural};
use crate::loops::Loop as _;
use crate::loops::iterative::document::needs::{in_order, wrong};
use crate::loops::iterative::document::progress::Entry;
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::unit::{ID_RULE, is_id};
use crate::loops::iterative::document::{Part, Task, TaskText, Unit, VERIFY, context};
use crate::loops::iterative::rules::IterativeLoop;
use crate::loops::iterative::rules::advance::go_on;
use crate::state::State;
use crate::state::plan::Plan;
use crate::store::Store;

const LONGEST: usize = 500;
const MOST: u64 = 1000;

/// Adds units to a task that is there.
pub fn add(at: &TaskCommand, slug: &str, units: &[String]) -> anyhow::Result<Outcome> {
    let redact = at.command.project.redactor()?;
    let named = at.slug(Some(slug))?;
    let work = |task: &mut IterativeLoop, store: &Store, state: &State| {
        at.command.ensure_running(task, state)?;
        let documents = &mut task.documents;
        let mut changed = documents.state.clone();
        put(&mut changed, units, &redact)?;
        renew_context(documents, &changed, store, state)?;
        documents.state = changed;
        let added: Vec<&str> =
            documents.state.units().ids().into_iter().rev().take(units.len()).collect();
        let mut entry = Entry::of_task("Units");
        entry.did =
            Some(format!("Added {}.", added.into_iter().rev().collect::<Vec<_>>().join(", ")));
        // What the review of the whole missed is worked on at once.
        entry.phase = (documents.state.phase == VERIFY).then(|| "execute".into());
        rule(documents.record(entry))?;
        rule(go_on(documents))?;
        let count = documents.state.units().iter().count();
        Ok(format!("The task {slug} has {} now.\n{}", plural(count, "unit"), task.reason()))
    };
    at.change_or(&named, work, |_, why| Err(why))
}

/// What a task began with may have been nothing: its context names the units that came since, unless
/// somebody wrote there.
fn renew_context(
    documents: &TaskDocuments,
    task: &Task,
    store: &Store,
    state: &State,
) -> anyhow::Result<()> {
    let read = state.read::<TaskText>(&(documents.slug.clone(), Part::Context));
    let text = read.value;
    if let Some(new) = text.and_then(|text| context::renew(&text.0, &documents.state, task)) {
        let mut plan = Plan::default();
        plan.put(&read, &TaskText(new));
        store.commit(&plan.changes, state)?;
    }
    Ok(())
}

pub fn put(task: &mut Task, specs: &[String], redact: &Redactor) -> anyhow::Result<()> {
    let mut known: Vec<String> = task.units().iter().map(|(id, _)| id.clone()).collect();
    known.extend(specs.iter().filter_map(|spec| Some(spec.split_once(':')?.0.trim().to_owned())));
    for spec in specs {
        let (id, unit) = parse(spec, &known, redact)?;
        ensure!(task.unit(&id).is_none(), "unit {id} is there twice");
        task.units_mut().0.push((id, unit));
    }
    if let Some(why) = wrong(task.units()) {
        bail!(why);
    }
    let ids: Vec<String> = task.units().iter().map(|(id, _)| id.clone()).collect();
    for (_, unit) in task.units_mut().iter_mut() {
        in_order(&mut unit.needs, &ids);
    }
    task.settle();
    Ok(())
}

/// `T1: title | criteria | max 5 | needs T0 | files a.rs,b.rs | output out.md | model sonnet`
fn parse(spec: &str, known: &[String], redact: &Redactor) -> anyhow::Result<(String, Unit)> {
    let mut parts = spec.split('|').map(str::trim);
    let shown = clip(spec, 60);
    let first = parts.next().unwrap_or_default();
    let (id, title) =
        first.split_once(':').ok_or_else(|| usage(format!("unit `{shown}`: say `ID: title`")))?;
    let id = id.trim();
    ensure!(is_id(id), usage(format!("unit `{}`: {ID_RULE}", clip(id, 40))));
    let title = one_line(redact, title, &format!("unit {id}: the title"))?;
    ensure!(!title.is_empty(), usage(format!("unit {id} has no title")));
    let mut unit = Unit { title, ..Unit::default() };
    for part in parts.filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let value = value.trim();
        let list: Vec<&str> = value.split([',', ' ']).filter(|item| !item.is_empty()).collect();
        let paths = || value.split(',').map(str::trim);
        let number = value.parse::<u64>().ok().filter(|n| (1..=MOST).contains(n));
        // A word at the beginning of a sentence is no keyword: what follows it has to fit.
        match key {
            "max" if number.is_some() => {
                unit.max_iterations = number.unwrap_or(unit.max_iterations)
            }
            "needs" if are_ids(&list, value, known) => {
                let needs = list.iter().filter(|need| **need != "none");
                unit.needs = needs.map(|need| (*need).to_owned()).collect();
            }
            "files" if !value.is_empty() && is_one_word_each(paths()) => {
                unit.files = paths().map(str::to_owned).collect()
            }
            "output" if list == [value] => unit.output = value.to_owned(),
            "model" if list == [value] => unit.model = value.to_owned(),
            _ if unit.criteria.is_empty() => {
                unit.criteria = one_line(redact, part, &format!("unit {id}: the criteria"))?;
            }
            _ => bail!(usage(format!("unit {id}: `{}` is not understood", clip(part, 60)))),
        }
    }
    unit.files.retain(|file| !file.is_empty());
    let odd = |text: &String| text.contains('`') || text.chars().any(char::is_control);
    ensure!(
        !unit.files.iter().chain([&unit.output, &unit.model]).any(odd),
        usage(format!("unit {id}: a path or model has characters that cannot be written down"))
    );
    Ok((id.to_owned(), unit))
}

/// Whether these are meant as units, and not as words: a single one is, so that a slip is told.
fn are_ids(list: &[&str], value: &str, known: &[String]) -> bool {
    let like_one =
        |item: &str| known.iter().any(|id| id == item) || item.bytes().any(|b| b.is_ascii_digit());
    let several = || value.contains(',') || list.iter().any(|item| like_one(item));
    !list.is_empty() && list.iter().all(|item| is_id(item)) && (list.len() == 1 || several())
}

fn is_one_word_each<'a>(mut items: impl Iterator<Item = &'a str>) -> bool {
    items.all(|item| !item.contains(char::is_whitespace))
}

/// A text on one line; one that would have to be cut is refused.
pub fn one_line(redact: &Redactor, text: &str, what: &str) -> anyhow::Result<String> {
    let text = redact.line(text, usize::MAX);
    let length = text.chars().count();
    ensure!(length <= LONGEST, usage(format!("{what} has {length} characters; {LONGEST} at most")));
    Ok(text)
}
