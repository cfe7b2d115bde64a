//! The loop of the work queue, as people and models drive it: `loop`, `queue`, `gate`.

pub mod gate;
pub mod items;
pub mod queue_loop;

use anyhow::bail;

use super::Project;
use crate::books::queue::Queue;
use crate::hooks::drive;
use crate::loops::queue::{QueueLoop, put};
use crate::plan::Plan;
use crate::state::State;

/// Changes the items or gates of the queue under the lock, and what people read of it.
fn change<T>(
    project: &Project,
    work: impl FnOnce(&mut Queue) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    project.change(|store, state| {
        let mut queue = writable(state)?.cloned().unwrap_or_default();
        let done = work(&mut queue)?;
        let mut plan = Plan::default();
        if state.get() != Some(&queue) {
            put(&mut plan, &queue, state);
        }
        store.commit(&plan.changes, state)?;
        Ok(done)
    })
}

/// The queue's loop, if it has one; its document may be changed.
fn load(state: &State) -> anyhow::Result<Option<QueueLoop>> {
    let queue = writable(state)?.filter(|queue| queue.status != "none");
    Ok(queue.map(|queue| drive::queue::load(queue, state)))
}

fn writable<'s>(state: &'s State) -> anyhow::Result<Option<&'s Queue>> {
    let read = state.read::<Queue>(&());
    match read.frozen() {
        Some(why) => bail!("{} {why}.", read.doc().path()),
        None => Ok(read.value),
    }
}

/// The queue, for reading.
fn read(project: &Project) -> anyhow::Result<Queue> {
    Ok(project.document()?.unwrap_or_default())
}
