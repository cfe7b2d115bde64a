//! `rebuild`, `archive` and `remove`.

use anyhow::bail;

use super::desk::{Desk, Here, around, rule};
use super::driver::note_driver;
use crate::Outcome;
use crate::books::iterative::book::{Book, rebuilt};
use crate::books::iterative::progress::{Entry, HEAD, Log, NONE};
use crate::books::iterative::rebuild::{Sources, differences, rebuild as make};
use crate::books::iterative::{Task, brief};
use crate::id::TaskSlug;
use crate::loops::iterative::title;
use crate::plan::{Change, Plan};
use crate::store::Store;
use crate::store::layout::{Doc, Part};

pub fn rebuild(at: &Desk, slug: &str, new_log: bool) -> anyhow::Result<Outcome> {
    let slug = at.slug(Some(slug))?;
    let commits = at.commits(&slug)?;
    let now = at.project.process.now();
    at.project.change(|store| {
        let old = store.task_state(&slug)?;
        let state_doc = Doc::Iterative(slug.clone(), Part::State);
        let broken = old.is_none() && store.frozen.contains(&state_doc);
        if old.is_some() && store.frozen.contains(&state_doc) {
            bail!("{} was written by a newer version; it is left alone", state_doc.path());
        }
        let text = store.task_text(&slug, Part::Progress)?;
        let log = text.as_deref().map(Log::parse);
        if new_log {
            return begin_log(at, store, &slug, old, log);
        }
        let log = match log {
            Some(Ok(log)) => log,
            other => {
                let why = match other {
                    Some(Err(why)) => why,
                    _ if store.frozen.iter().any(|doc| doc.file() == "progress.md") => "it is no text".into(),
                    _ => "it is missing".into(),
                };
                bail!(
                    "task {slug} was not changed: progress.md: {why}, and the state is made from it. \
                     `hookkeeper iterative rebuild {slug} --new-log` begins a new one with the state as it is"
                );
            }
        };
        let brief = store.task_text(&slug, Part::Brief)?;
        let knowledge = match (&old, &brief) {
            (Some(old), _) if old.is_known() => old.is_knowledge(),
            (_, Some(brief)) => brief::parse(brief).is_ok_and(|task| task.is_knowledge()),
            _ => false,
        };
        let plan = store.task_text(&slug, if knowledge { Part::Plan } else { Part::Tasks })?;
        let known = old.as_ref().filter(|old| old.is_known());
        let mut collected = Task { commits: known.map(|old| old.commits.clone()).unwrap_or_default(), ..Task::default() };
        collected.add_commits(commits.unwrap_or_default());
        let sources = Sources {
            slug: slug.as_str(),
            brief: brief.as_deref(),
            plan: plan.as_deref(),
            log: &log,
            commits: collected.commits,
            old: known,
        };
        let state = make(&sources).map_err(|why| anyhow::anyhow!("task {slug} was not changed: {why}"))?;
        if known == Some(&state) {
            return Ok(Outcome::said(format!("Task {slug}: nothing differed.")));
        }
        let mut conflicts = known.map(|old| differences(old, &state)).unwrap_or_default();
        if known.is_some() && conflicts.is_empty() {
            conflicts.push("the plan, the brief or git said otherwise".into());
        }
        if known.is_none() {
            conflicts.push(if broken { "it could not be read" } else { "it was missing" }.into());
        }
        let aside = if broken { store.set_task_aside(&slug, Part::State)? } else { None };
        let snapshot = around(store)?;
        let mut book = Book::with(slug.clone(), state, log, plan, now);
        rule(book.record(rebuilt(&conflicts)))?;
        let mut said = format!("Task {slug}: state.json was made anew.\n");
        said.extend(conflicts.iter().map(|conflict| format!("- {conflict}\n")));
        said.extend(aside.map(|aside| format!("The file as it was is now {aside}.\n")));
        said.push_str(&title(&book));
        at.write(Here { book, snapshot, store, signalled: false })?;
        Ok(Outcome::said(said))
    })
}

/// A log that is lost begins anew, with the state as it is. What was there is kept.
fn begin_log(
    at: &Desk,
    store: &mut Store,
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
        bail!(
            "task {slug} was not changed: progress.md can be read; `hookkeeper iterative rebuild {slug}` uses it"
        );
    }
    let aside = store.set_task_aside(slug, Part::Progress)?;
    let doc = Doc::Iterative(slug.clone(), Part::Progress);
    store.commit(&[Change::Put(doc.clone(), HEAD.as_bytes().to_vec())])?;
    let snapshot = around(store)?;
    let part = if state.is_knowledge() { Part::Plan } else { Part::Tasks };
    let plan = store.task_text(slug, part)?;
    let mut book = Book::with(slug.clone(), state, Log::default(), plan, at.project.process.now());
    rule(book.record(rebuilt(&["progress.md was lost".to_owned()])))?;
    let said = match aside {
        Some(aside) => {
            format!("Task {slug}: a new progress.md was begun. The file as it was is now {aside}.")
        }
        None => format!("Task {slug}: a new progress.md was begun."),
    };
    at.write(Here { book, snapshot, store, signalled: false })?;
    Ok(Outcome::said(said))
}

pub fn archive(at: &Desk, slug: &str, force: bool) -> anyhow::Result<Outcome> {
    let slug = at.slug(Some(slug))?;
    let commits = at.commits(&slug)?;
    put_away(at, &slug, force, |store, book, snapshot| {
        if let Some(mut book) = book {
            book.state.add_commits(commits.unwrap_or_default());
            let mut entry = Entry::of_task("Archived");
            entry.phase = Some("complete".into());
            entry.session = Some(NONE.to_owned());
            if book.state.is_open() {
                entry.verdict = Some("cancelled: archived while it was open".into());
            }
            rule(book.record(entry))?;
            let mut plan = Plan::default();
            book.write(&mut plan);
            note_driver(&mut plan, snapshot, &book, false);
            store.commit(&plan.changes)?;
        }
        Ok(format!("Archived: {}", store.archive_task(&slug)?))
    })
}

pub fn remove(at: &Desk, slug: &str, force: bool) -> anyhow::Result<Outcome> {
    let slug = at.slug(Some(slug))?;
    put_away(at, &slug, force, |store, book, snapshot| {
        if let Some(mut book) = book {
            book.state.session_id = None;
            let mut plan = Plan::default();
            note_driver(&mut plan, snapshot, &book, false);
            store.commit(&plan.changes)?;
        }
        store.remove_task(&slug)?;
        Ok(format!("Removed: .claude/iterative/{slug}"))
    })
}

/// For both: what still runs, or cannot be read, only goes by force.
fn put_away(
    at: &Desk,
    slug: &TaskSlug,
    force: bool,
    work: impl FnOnce(
        &mut Store,
        Option<Book>,
        &mut crate::snapshot::Snapshot,
    ) -> anyhow::Result<String>,
) -> anyhow::Result<Outcome> {
    at.project.change(|store| {
        let book = crate::gather::book(store, slug.clone(), at.project.process.now())?;
        let frozen = store.frozen.iter().any(|doc| matches!(doc, Doc::Iterative(other, _) if other == slug));
        let book = book.filter(|_| !frozen);
        match &book {
            _ if force => {}
            Some(book) if book.state.is_open() => bail!(
                "the {} is still open; `hookkeeper iterative cancel {slug}` ends it, `--force` does it all the same",
                title(book)
            ),
            Some(_) => {}
            None => bail!(
                "the documents of task {slug} cannot be read, so nobody knows whether it is finished; `--force` does it all the same"
            ),
        }
        let mut snapshot = around(store)?;
        if let (Some(book), Some(own)) = (&book, &at.session)
            && let Some(owner) = book.state.session_id.as_ref().filter(|owner| *owner != own)
            && book.state.is_open()
        {
            bail!("the {} is driven by session {owner}; to act for it: --session {owner}", title(book));
        }
        Ok(Outcome::said(work(store, book, &mut snapshot)?))
    })
}
