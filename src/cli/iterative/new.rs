//! `iterative new`, and units that are added later.

use anyhow::{Context as _, bail, ensure};

use super::desk::{Desk, Here, around, rule};
use crate::Outcome;
use crate::books::iterative::book::Book;
use crate::books::iterative::brief::{self, Brief};
use crate::books::iterative::guardrails;
use crate::books::iterative::plan::{circle, in_order};
use crate::books::iterative::progress::{self, CREATED, Entry, Log, TASK};
use crate::books::iterative::{DEVELOPMENT, KNOWLEDGE, Task, Unit, context};
use crate::books::{clip, plural};
use crate::cli::work::driver;
use crate::facts::git;
use crate::facts::secrets::Redactor;
use crate::id::TaskSlug;
use crate::loops::iterative::advance::go_on;
use crate::plan::Plan;
use crate::store::Store;
use crate::store::layout::{Doc, Part};
use crate::time;

const LONGEST: usize = 500;
const LONGEST_ID: usize = 16;
const MOST: u64 = 1000;
const DOMAINS: [&str; 7] =
    ["feature", "bug", "refactor", "research", "writing", "analysis", "planning"];

#[derive(clap::Args)]
pub struct New {
    /// Its folder in .claude/iterative: lower-case letters, digits, - and _
    slug: String,
    /// What it is called
    #[arg(long, value_name = "TEXT")]
    task: String,
    #[arg(long, value_parser = [DEVELOPMENT, KNOWLEDGE])]
    mode: String,
    #[arg(long, value_parser = DOMAINS)]
    domain: Option<String>,
    /// What is wanted in the end
    #[arg(long, value_name = "TEXT", default_value = "")]
    outcome: String,
    /// What has to hold; can be given several times
    #[arg(long, value_name = "TEXT")]
    done_when: Vec<String>,
    /// Can be given several times
    #[arg(long, value_name = "TEXT")]
    constraint: Vec<String>,
    /// How to go about it
    #[arg(long, value_name = "TEXT", default_value = "")]
    approach: String,
    /// ID: title | criteria | max N | needs IDS | files PATHS | output PATH | model NAME; can be given several times
    #[arg(long, value_name = "UNIT")]
    unit: Vec<String>,
    /// Take over the lessons of this archived task; can be given several times
    #[arg(long, value_name = "ARCHIVED")]
    guardrails_from: Vec<String>,
}

pub fn run(at: &Desk, new: &New) -> anyhow::Result<Outcome> {
    let slug = TaskSlug::new(&new.slug).map_err(anyhow::Error::msg)?;
    let redact = at.project.redactor()?;
    let now = at.project.process.now();
    let line = |text: &str, what: &str| one_line(&redact, text, what);
    let lines = |texts: &[String], what: &str| {
        texts.iter().map(|text| line(text, what)).collect::<anyhow::Result<Vec<_>>>()
    };
    let name = line(&new.task, "the task")?;
    ensure!(!name.is_empty(), "the task is empty");
    let brief = Brief {
        outcome: redact.text(new.outcome.trim()),
        done_when: lines(&new.done_when, "--done-when")?,
        constraints: lines(&new.constraint, "--constraint")?,
        approach: redact.text(new.approach.trim()),
    };
    let knowledge = new.mode == KNOWLEDGE;
    let domain =
        new.domain.clone().unwrap_or_else(|| if knowledge { "research" } else { "feature" }.into());
    let mut task = Task {
        task: name,
        slug: slug.as_str().to_owned(),
        mode: new.mode.clone(),
        domain: Some(domain),
        created: time::spell(now),
        phase: "discover".into(),
        ..Task::default()
    };
    put_units(&mut task, &new.unit, &redact)?;
    let base = git::read(&at.root()?).commit;
    at.project.change(|store| {
        let folder = format!(".claude/iterative/{slug}");
        ensure!(
            !store.task_slugs()?.contains(&slug),
            "{folder} is there already; choose another name"
        );
        let snapshot = around(store)?;
        if let Some(id) = &at.session {
            at.refuse_a_second(id, &snapshot, &slug)?;
        }
        let (lessons, offer) = inherited(store, &new.guardrails_from)?;
        let mut plan = Plan::default();
        let mut text = |part, text: &str| plan.put_text(Doc::Iterative(slug.clone(), part), text);
        text(Part::Brief, &brief::render(&task, &brief));
        text(Part::Context, &context::render(&task, &brief));
        text(Part::Guardrails, &format!("{}{lessons}", guardrails::HEAD));
        text(Part::Progress, progress::HEAD);
        let mut book = Book::with(slug.clone(), task, Log::default(), None, now);
        rule(book.record(created(&book.state, at.session.as_deref(), base)))?;
        rule(go_on(&mut book))?;
        store.commit(&plan.changes)?;
        if knowledge {
            store.make_task_folder(&slug, "sources")?;
            store.make_task_folder(&slug, "outputs")?;
        }
        let here = Here { book, snapshot, store, signalled: false };
        let owner = driver(at.session.as_deref());
        let units = plural(here.book.state.units().iter().count(), "unit");
        let said = format!("Created: {folder}, {units}, driven by {owner}.\n{offer}{}", here.now());
        at.write(here)?;
        Ok(Outcome::said(said))
    })
}

fn created(task: &Task, session: Option<&str>, base: Option<String>) -> Entry {
    let mut entry = Entry::of_task(CREATED);
    let units = task.units().iter().count();
    entry.did = Some(format!("{}: {}", plural(units, "unit"), task.task));
    entry.phase = Some(if units > 0 { "execute" } else { "discover" }.into());
    entry.session = session.map(str::to_owned);
    entry.commit = base;
    entry
}

/// The lessons that are taken over, and those that could be.
fn inherited(store: &Store, from: &[String]) -> anyhow::Result<(String, String)> {
    let archived = store.archived_guardrails()?;
    let mut lessons: Vec<guardrails::Guardrail> = Vec::new();
    for name in from {
        let found = archived.iter().find(|(archived, _)| archived == name);
        let (_, text) =
            found.with_context(|| format!("there is no archived task `{}`", clip(name, 80)))?;
        for lesson in guardrails::parse(text) {
            if !lessons.contains(&lesson) {
                lessons.push(lesson);
            }
        }
    }
    let offers =
        archived.iter().filter(|(name, _)| !from.contains(name)).filter_map(|(name, text)| {
            let names: Vec<String> =
                guardrails::parse(text).into_iter().map(|lesson| lesson.name).collect();
            (!names.is_empty()).then(|| format!("{name} ({})", clip(&names.join(", "), 160)))
        });
    let offers: Vec<String> = offers.take(5).collect();
    let offer = match offers.as_slice() {
        [] => String::new(),
        offers => format!(
            "Guardrails of earlier tasks: {}. `hookkeeper iterative guardrail SLUG --from NAME` takes them over.\n",
            offers.join("; ")
        ),
    };
    Ok((lessons.iter().map(guardrails::Guardrail::markdown).collect(), offer))
}

/// Adds units to a task that is there.
pub fn add(at: &Desk, slug: &str, units: &[String]) -> anyhow::Result<Outcome> {
    let redact = at.project.redactor()?;
    at.change(Some(slug), |here| {
        here.must_run(at.session.as_deref())?;
        let mut task = here.book.state.clone();
        put_units(&mut task, units, &redact)?;
        here.book.state = task;
        let added: Vec<&str> =
            here.book.state.units().ids().into_iter().rev().take(units.len()).collect();
        let mut entry = Entry::of_task("Units");
        entry.did =
            Some(format!("Added {}.", added.into_iter().rev().collect::<Vec<_>>().join(", ")));
        rule(here.book.record(entry))?;
        rule(go_on(&mut here.book))?;
        let count = here.book.state.units().iter().count();
        Ok(format!("The task {slug} has {} now.\n{}", plural(count, "unit"), here.now()))
    })
}

fn put_units(task: &mut Task, specs: &[String], redact: &Redactor) -> anyhow::Result<()> {
    for spec in specs {
        let (id, unit) = parse(spec, redact)?;
        ensure!(task.unit(&id).is_none(), "unit {id} is there twice");
        task.units_mut().0.push((id, unit));
    }
    let ids: Vec<String> = task.units().iter().map(|(id, _)| id.clone()).collect();
    for (id, unit) in task.units().iter() {
        if let Some(odd) = unit.needs.iter().find(|need| !ids.contains(need)) {
            bail!("unit {id} needs {odd}, which does not exist; there are {}", ids.join(", "));
        }
    }
    let circle: Vec<String> = circle(task.units());
    if let Some(first) = circle.first() {
        // Along what needs what, and back to where it began.
        bail!("units need each other in a circle: {} → {first}", circle.join(" → "));
    }
    for (_, unit) in task.units_mut().iter_mut() {
        in_order(&mut unit.needs, &ids);
    }
    task.settle();
    Ok(())
}

/// `T1: title | criteria | max 5 | needs T0 | files a.rs,b.rs | output out.md | model sonnet`
fn parse(spec: &str, redact: &Redactor) -> anyhow::Result<(String, Unit)> {
    let mut parts = spec.split('|').map(str::trim);
    let shown = clip(spec, 60);
    let first = parts.next().unwrap_or_default();
    let (id, title) =
        first.split_once(':').with_context(|| format!("unit `{shown}`: say `ID: title`"))?;
    let id = id.trim();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let begins = id.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    ensure!(
        begins && id.len() <= LONGEST_ID && id.bytes().all(plain) && id != TASK,
        "unit `{}`: an id is a letter and then up to {} letters, digits, `_`, `-` and `.`, such as T1",
        clip(id, 40),
        LONGEST_ID - 1
    );
    let title = one_line(redact, title, &format!("unit {id}: the title"))?;
    ensure!(!title.is_empty(), "unit {id} has no title");
    let mut unit = Unit { title, ..Unit::default() };
    for part in parts.filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let value = value.trim();
        let list = || value.split([',', ' ']).filter(|item| !item.is_empty()).map(str::to_owned);
        let number = value.parse::<u64>().ok().filter(|n| (1..=MOST).contains(n));
        match key {
            "max" if number.is_some() => {
                unit.max_iterations = number.unwrap_or(unit.max_iterations)
            }
            "needs" if !value.is_empty() => {
                unit.needs = list().filter(|need| need != "none").collect()
            }
            "files" if !value.is_empty() => {
                unit.files = value.split(',').map(|file| file.trim().to_owned()).collect()
            }
            "output" if !value.is_empty() => unit.output = value.to_owned(),
            "model" if !value.is_empty() => unit.model = value.to_owned(),
            _ if unit.criteria.is_empty() => {
                unit.criteria = one_line(redact, part, &format!("unit {id}: the criteria"))?;
            }
            _ => bail!("unit {id}: `{}` is not understood", clip(part, 60)),
        }
    }
    unit.files.retain(|file| !file.is_empty());
    let odd = |text: &String| text.contains('`') || text.chars().any(char::is_control);
    ensure!(
        !unit.files.iter().chain([&unit.output, &unit.model]).any(odd),
        "unit {id}: a path or model has characters that cannot be written down"
    );
    Ok((id.to_owned(), unit))
}

/// A text on one line; one that would have to be cut is refused.
fn one_line(redact: &Redactor, text: &str, what: &str) -> anyhow::Result<String> {
    let text = clip(&redact.text(text), usize::MAX);
    let length = text.chars().count();
    ensure!(length <= LONGEST, "{what} has {length} characters; {LONGEST} at most");
    Ok(text)
}
