//! Which iterative task concerns a session, and its documents.

use std::cmp::Reverse;

use crate::books::iterative::Task;
use crate::books::iterative::book::Book;
use crate::error::Result;
use crate::event::Event;
use crate::hooks::drive;
use crate::id::TaskSlug;
use crate::snapshot::{Context, Snapshot};
use crate::store::Store;
use crate::store::layout::{Doc, Part};
use crate::time::Time;

/// The task that a session drives, or the open one that concerns it most; of several, the one that
/// was worked on last.
pub fn answer(
    snapshot: &Snapshot,
    event: &Event,
    store: &mut Store,
    context: &Context,
) -> Result<Option<Book>> {
    if context.settings.systems_off.iter().any(|off| off == "iterative") {
        return Ok(None);
    }
    let driven = snapshot.own(event).and_then(|live| live.loop_task.as_deref());
    if let Some(slug) = driven.and_then(TaskSlug::known) {
        return book(store, slug, context.now);
    }
    let mut found: Vec<(u8, Reverse<String>, TaskSlug)> = Vec::new();
    for slug in store.task_slugs()? {
        if let Some(task) = store.task_state(&slug)?.filter(Task::is_open) {
            let rank = drive::iterative::rank(task.session_id.as_deref(), event, snapshot);
            found.push((rank, Reverse(task.updated), slug));
        }
    }
    found.sort();
    match found.into_iter().next() {
        Some((.., slug)) => book(store, slug, context.now),
        None => Ok(None),
    }
}

/// The documents of a task. `None`: there is none that can be used; who should know is told.
pub fn book(store: &mut Store, slug: TaskSlug, now: Time) -> Result<Option<Book>> {
    let Some(state) = store.task_state(&slug)? else { return Ok(None) };
    let progress = store.task_text(&slug, Part::Progress)?;
    let part = if state.is_knowledge() { Part::Plan } else { Part::Tasks };
    let plan = store.task_text(&slug, part)?;
    let doc = Doc::Iterative(slug.clone(), Part::State);
    match Book::open(slug, state, progress.as_deref(), plan, now) {
        Ok(book) => Ok(Some(book)),
        Err(why) => {
            store.freeze(&doc, &format!("is not used: {why}"));
            Ok(None)
        }
    }
}
