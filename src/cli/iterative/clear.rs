//! `archive` and `remove`.

use anyhow::bail;

use super::desk::{Desk, rule};
use super::driver::note_driver;
use crate::Outcome;
use crate::books::iterative::book::Book;
use crate::books::iterative::progress::{Entry, NONE};
use crate::cli::acting::must_act_for;
use crate::hooks::drive::iterative::{is_frozen, open_book};
use crate::id::TaskSlug;
use crate::loops::iterative::title;
use crate::plan::Plan;
use crate::state::State;
use crate::store::Store;

pub fn archive(at: &Desk, slug: &str, force: bool) -> anyhow::Result<Outcome> {
    let slug = at.slug(Some(slug))?;
    let commits = at.commits(&slug)?;
    put_away(at, &slug, force, |store, book, around| {
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
            book.write(&mut plan, around);
            note_driver(&mut plan, around, &book, false);
            store.commit(&plan.changes, around)?;
        }
        Ok(format!("Archived: {}", store.archive_task(&slug)?))
    })
}

pub fn remove(at: &Desk, slug: &str, force: bool) -> anyhow::Result<Outcome> {
    let slug = at.slug(Some(slug))?;
    put_away(at, &slug, force, |store, book, around| {
        if let Some(mut book) = book {
            book.state.session_id = None;
            let mut plan = Plan::default();
            note_driver(&mut plan, around, &book, false);
            store.commit(&plan.changes, around)?;
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
    work: impl FnOnce(&Store, Option<Book>, &State) -> anyhow::Result<String>,
) -> anyhow::Result<Outcome> {
    at.project.change(|store, around| {
        let book = open_book(slug, around, at.project.process.now());
        let book = book.filter(|_| !is_frozen(slug, around));
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
        if let Some(book) = book.as_ref().filter(|book| book.state.is_open()) {
            let owner = book.state.session_id.as_deref();
            must_act_for(at.session.as_deref(), owner, || title(book))?;
        }
        at.answer(work(store, book, around)?, slug, None)
    })
}
