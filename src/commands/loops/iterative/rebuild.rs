//! `rebuild`: the state anew from the log, the plan, the brief and git.

use anyhow::bail;

use crate::commands::loops::iterative::task_command::{TaskCommand, rule};
use crate::core::id::TaskSlug;
use crate::core::outcome::Outcome;
use crate::loops::iterative::document::differences::differences;
use crate::loops::iterative::document::progress::{HEAD, Log};
use crate::loops::iterative::document::rebuild::{Sources, rebuild as make};
use crate::loops::iterative::document::task_documents::{TaskDocuments, rebuilt};
use crate::loops::iterative::document::unit::is_id;
use crate::loops::iterative::document::{Part, Task, TaskText, brief, planned};
use crate::loops::iterative::rules::{IterativeLoop, title};
use crate::state::State;
use crate::state::plan::Plan;
use crate::store::Store;

pub fn rebuild(at: &TaskCommand, slug: &str, new_log: bool) -> anyhow::Result<Outcome> {
    let slug = at.slug(Some(slug))?;
    let seen = at.look(&slug)?;
    at.command.project.change(|store, state| {
        let read = state.read::<Task>(&slug);
        let old = read.value;
        let broken = old.is_none() && read.is_frozen();
        if old.is_some() && read.is_frozen() {
            bail!("{} was written by a newer version; it is left alone", read.doc().path());
        }
        let text_of = |part| state.read::<TaskText>(&(slug.clone(), part));
        let progress = text_of(Part::Progress);
        let log = progress.value.map(|text| Log::parse(&text.0));
        if new_log {
            return begin_log(at, store, &slug, old.cloned(), log);
        }
        let log = readable(&slug, log, progress.is_frozen())?;
        let brief = text_of(Part::Brief).value.map(|text| text.0.as_str());
        let knowledge = match (old, brief) {
            (Some(old), _) if old.is_known() => old.is_knowledge(),
            (_, Some(brief)) => brief::parse(brief).is_ok_and(|task| task.is_knowledge()),
            _ => false,
        };
        let part = if knowledge { Part::Plan } else { Part::Tasks };
        let plan_read = text_of(part);
        let plan = plan_read.value.map(|text| text.0.clone());
        let known = old.filter(|old| old.is_known());
        let mut collected = Task {
            commits: known.map(|old| old.commits.clone()).unwrap_or_default(),
            ..Task::default()
        };
        collected.add_commits(seen.commits.clone());
        let sources = Sources {
            slug: slug.as_str(),
            brief,
            plan: plan.as_deref(),
            log: &log,
            commits: collected.commits,
            old: known,
        };
        let made =
            make(&sources).map_err(|why| anyhow::anyhow!("task {slug} was not changed: {why}"))?;
        let garbled = plan_read.is_frozen();
        let mut found = in_plan(&made, plan.as_deref(), garbled);
        if known == Some(&made) && found.is_empty() {
            return at.answer(format!("Task {slug}: nothing differed."), &slug, None);
        }
        found.extend(in_state(known, &made, broken, found.is_empty()));
        let mut aside = Vec::new();
        aside.extend(if broken { store.set_document_aside(read.doc())? } else { None });
        aside.extend(if garbled { store.set_document_aside(plan_read.doc())? } else { None });
        // What was put aside is not there any more.
        let around = &State::new(store);
        let mut documents = TaskDocuments::with(slug.clone(), made, log, plan, at.command.now);
        documents.see(seen);
        rule(documents.record(rebuilt(&found)))?;
        let mut said = format!("Task {slug}: state.json was made anew.\n");
        said.extend(found.iter().map(|found| format!("- {found}\n")));
        said.extend(aside.iter().map(|aside| format!("The file as it was is now {aside}.\n")));
        said.push_str(&title(&documents));
        let task = IterativeLoop::new(documents, around);
        at.command.write(&task, None, store, around)?;
        at.answer(said, &slug, Some(&task.documents))
    })
}

/// The log, or why nothing can be made from it.
fn readable(
    slug: &TaskSlug,
    log: Option<Result<Log, String>>,
    is_frozen: bool,
) -> anyhow::Result<Log> {
    let why = match log {
        Some(Ok(log)) => return Ok(log),
        Some(Err(why)) => why,
        None if is_frozen => "it is no text".into(),
        None => "it is missing".into(),
    };
    let word = slug.word();
    bail!(
        "task {slug} was not changed: progress.md: {why}, and the state is made from it. \
         `hookkeeper iterative rebuild {word} --new-log` begins a new one with the state as it is"
    )
}

/// What the plan lacks: all of it, or units that only the state or the log have.
fn in_plan(state: &Task, plan: Option<&str>, garbled: bool) -> Vec<String> {
    let file = state.plan_file();
    let Some(plan) = plan else {
        return vec![format!(
            "{file} {}",
            if garbled { "could not be read" } else { "was missing" }
        )];
    };
    let planned = planned::parse(plan);
    let lacking =
        state.units().ids().into_iter().filter(|id| is_id(id) && planned.get(id).is_none());
    lacking
        .map(|id| format!("{id} was not in {file}; it is kept (`iterative skip` does without it)"))
        .collect()
}

/// What the state said otherwise.
fn in_state(known: Option<&Task>, state: &Task, broken: bool, alone: bool) -> Vec<String> {
    let Some(old) = known else {
        return vec![if broken { "it could not be read" } else { "it was missing" }.into()];
    };
    let found = differences(old, state);
    if found.is_empty() && alone {
        return vec!["the plan, the brief or git said otherwise".into()];
    }
    found
}

/// A log that is lost begins anew, with the state as it is. What was there is kept.
fn begin_log(
    at: &TaskCommand,
    store: &Store,
    slug: &TaskSlug,
    old: Option<Task>,
    log: Option<Result<Log, String>>,
) -> anyhow::Result<Outcome> {
    let Some(state) = old.filter(Task::is_known) else {
        bail!(
            "task {slug} was not changed: without state.json and progress.md nothing is known of it"
        );
    };
    if let Some(Ok(_)) = log {
        let word = slug.word();
        bail!(
            "task {slug} was not changed: progress.md can be read; `hookkeeper iterative rebuild {word}` uses it"
        );
    }
    let aside = store.set_document_aside(&Part::Progress.doc(slug))?;
    let around = &State::new(store);
    let text_of = |part| around.read::<TaskText>(&(slug.clone(), part));
    let mut begun = Plan::default();
    begun.put(&text_of(Part::Progress), &TaskText(HEAD.to_owned()));
    store.commit(&begun.changes, around)?;
    let plan = text_of(state.plan_part());
    let plan = plan.value.map(|text| text.0.clone());
    let mut documents = TaskDocuments::without_log(slug.clone(), &state, plan, at.command.now);
    rule(documents.record(rebuilt(&["progress.md was lost".to_owned()])))?;
    let mut said = format!("Task {slug}: a new progress.md was begun.");
    said.extend(aside.map(|aside| format!(" The file as it was is now {aside}.")));
    let task = IterativeLoop::new(documents, around);
    at.command.write(&task, None, store, around)?;
    at.answer(said, slug, Some(&task.documents))
}
