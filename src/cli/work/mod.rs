//! The loop of the work queue, as people and models drive it: `loop`, `queue`, `gate`.

pub mod gate;
pub mod items;
pub mod looping;

use anyhow::bail;

use super::Project;
use super::acting::ended_as;
use crate::books::live::Live;
use crate::books::queue::Queue;
use crate::hooks::{drive, session_record};
use crate::loops::queue::title;
use crate::plan::Plan;
use crate::state::State;

/// Changes the queue under the lock, with what people read of it and what its session knows of it.
fn change<T>(
    project: &Project,
    work: impl FnOnce(&mut Queue, &State) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    project.change(|store, state| {
        let read = state.read::<Queue>(&());
        if let Some(why) = read.frozen() {
            bail!("{} {why}.", read.doc().path());
        }
        let before = read.value.cloned();
        let mut queue = before.clone().unwrap_or_default();
        let done = work(&mut queue, state)?;
        if before.as_ref() == Some(&queue) {
            return Ok(done);
        }
        let mut plan = Plan::default();
        match queue.status.as_str() {
            "none" => plan.put(&read, &queue),
            _ => drive::queue::put(&mut plan, &queue, state),
        }
        let was = before.and_then(|before| before.verdict);
        let ended = queue.verdict.is_some() && was.is_none();
        let owner = queue.session_id.clone().unwrap_or_default();
        if let (true, Some(verdict)) = (ended, &queue.verdict) {
            // Its session hears of it with the next event that can say so.
            let text = ended_as(&title(&queue), verdict, queue.verdict_reason.as_deref());
            let at = queue.verdict_at.as_deref().unwrap_or_default();
            store.remark(format!("loop {at}"), text);
        }
        let live = state.get_by::<Live>(&owner).filter(|_| queue.verdict != was);
        if let Some(mut live) = live.cloned() {
            live.loop_verdict.clone_from(&queue.verdict);
            session_record::put_with_copies(&mut plan, &live, state);
        }
        store.commit(&plan.changes, state)?;
        Ok(done)
    })
}

/// The queue, for reading.
fn read(project: &Project) -> anyhow::Result<Queue> {
    Ok(project.document()?.unwrap_or_default())
}
