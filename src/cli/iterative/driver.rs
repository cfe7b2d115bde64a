//! A task and the session that drives it.

use anyhow::bail;

use super::desk::Desk;
use crate::books::iterative::Task;
use crate::books::iterative::book::Book;
use crate::books::live::Live;
use crate::cli::acting::{ended_as, must_be_free};
use crate::hooks::drive::Name;
use crate::hooks::session_record;
use crate::id::TaskSlug;
use crate::loops::iterative::title;
use crate::plan::Plan;
use crate::state::State;
use crate::store::Store;

impl Desk<'_> {
    /// Its session hears of an end that was reached elsewhere, with the next event that can say so.
    pub fn tell_driver(&self, book: &Book, store: &Store) {
        let owner = &book.state.session_id;
        let fresh = book.state.verdict_at.as_ref() == Some(&book.state.updated);
        if let (true, Some(verdict)) =
            (fresh && owner.is_some() && *owner != self.session, &book.state.verdict)
        {
            let text = ended_as(&title(book), verdict, book.state.verdict_reason.as_deref());
            store.remark(format!("iterative {} {}", book.slug, book.state.updated), text);
        }
    }

    /// One session drives one loop.
    pub fn refuse_a_second(
        &self,
        session: &str,
        around: &State,
        slug: &TaskSlug,
    ) -> anyhow::Result<()> {
        must_be_free(session, around, Name::Iterative)?;
        for other in self.slugs()?.iter().filter(|other| *other != slug) {
            let owner = self.state(other)?.filter(Task::is_open).and_then(|task| task.session_id);
            if owner.as_deref() == Some(session) {
                bail!(
                    "session {session} drives the task {other}: `hookkeeper iterative cancel {other}` ends it"
                );
            }
        }
        Ok(())
    }
}

/// The session that drives a task knows it, and one that does not any more forgets it.
pub fn note_driver(plan: &mut Plan, around: &State, book: &Book, signalled: bool) {
    let state = &book.state;
    let owner = state.session_id.as_ref().filter(|_| state.is_open());
    let mut changed = false;
    let mut lives: Vec<Live> = around.all::<Live>().cloned().collect();
    for live in &mut lives {
        let before = live.clone();
        let drives = owner == Some(&live.session_id);
        let had = live.loop_task.as_deref() == Some(book.slug.as_str());
        if drives != had {
            live.loop_task = drives.then(|| book.slug.as_str().to_owned());
            live.loop_edits = 0;
            live.loop_signalled = false;
        }
        if had && state.verdict.is_some() {
            live.loop_verdict.clone_from(&state.verdict);
        }
        live.loop_signalled |= drives && signalled;
        if drives && book.begins_to_confirm() {
            live.loop_edits = 0;
        }
        if *live != before {
            plan.put(&around.read::<Live>(&live.session_id), live);
            changed = true;
        }
    }
    if changed {
        session_record::put_copies(plan, lives.iter(), around);
    }
}
