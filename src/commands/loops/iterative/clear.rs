//! `archive` and `remove`.

use anyhow::bail;

use crate::commands::loops::iterative::task_command::{TaskCommand, rule};
use crate::commands::loops::{Before, forget_loop};
use crate::core::id::TaskSlug;
use crate::core::outcome::Outcome;
use crate::loops::iterative::document::progress::{Entry, NONE};
use crate::loops::iterative::drive::{is_frozen, open_book};
use crate::loops::iterative::folder::archive_task;
use crate::loops::iterative::folder::remove_task;
use crate::loops::iterative::rules::IterativeLoop;
use crate::loops::{Loop as _, LoopKind};
use crate::state::State;
use crate::state::plan::Plan;
use crate::store::Store;

pub fn archive(at: &TaskCommand, slug: &str, force: bool) -> anyhow::Result<Outcome> {
    let slug = at.slug(Some(slug))?;
    let seen = at.look(&slug)?;
    put_away(at, &slug, force, |store, task, state| {
        if let Some(mut task) = task {
            let before = Before::new(&task);
            task.documents.see(seen);
            let mut entry = Entry::of_task("Archived");
            entry.phase = Some("complete".into());
            entry.session = Some(NONE.to_owned());
            if task.is_running() {
                entry.verdict = Some("cancelled: archived while it was open".into());
            }
            rule(task.documents.record(entry))?;
            at.command.write(&task, Some(&before), store, state)?;
        }
        Ok(format!("Archived: {}", archive_task(store, &slug)?))
    })
}

pub fn remove(at: &TaskCommand, slug: &str, force: bool) -> anyhow::Result<Outcome> {
    let slug = at.slug(Some(slug))?;
    put_away(at, &slug, force, |store, task, state| {
        if task.is_some() {
            let mut plan = Plan::default();
            forget_loop(&mut plan, (LoopKind::Iterative, slug.as_str()), None, state);
            store.commit(&plan.changes, state)?;
        }
        remove_task(store, &slug)?;
        Ok(format!("Removed: .claude/iterative/{slug}"))
    })
}

/// For both: what still runs, or cannot be read, only goes by force.
fn put_away(
    at: &TaskCommand,
    slug: &TaskSlug,
    force: bool,
    work: impl FnOnce(&Store, Option<IterativeLoop>, &State) -> anyhow::Result<String>,
) -> anyhow::Result<Outcome> {
    at.command.project.change(|store, state| {
        let documents = open_book(slug, state, at.command.now);
        let documents = documents.filter(|_| !is_frozen(slug, state));
        let task = documents.map(|documents| IterativeLoop::new(documents, state));
        match &task {
            _ if force => {}
            Some(task) if task.is_running() => bail!(
                "the {} is still open; `{}` ends it, `--force` does it all the same",
                task.title(),
                task.command("cancel")
            ),
            Some(_) => {}
            None => bail!(
                "the documents of task {slug} cannot be read, so nobody knows whether it is finished; `--force` does it all the same"
            ),
        }
        if let Some(task) = task.as_ref().filter(|task| task.is_running()) {
            at.command.ensure_own(task, state)?;
        }
        at.answer(work(store, task, state)?, slug, None)
    })
}
