//! The loop of the work queue, as people and models drive it: `loop`, `queue`, `gate`.

pub mod gate;
pub mod items;
pub mod queue_loop;

use anyhow::bail;

use crate::console::project::Project;
use crate::git::refs;
use crate::loops::Loop as _;
use crate::loops::queue::document::Queue;
use crate::loops::queue::drive;
use crate::loops::queue::progress::Evidence;
use crate::loops::queue::rules::{QueueLoop, put};
use crate::session::live::Live;
use crate::state::State;
use crate::state::plan::Plan;

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
fn load(project: &Project, state: &State) -> anyhow::Result<Option<QueueLoop>> {
    let queue = writable(state)?.filter(|queue| queue.status != "none");
    let Some(queue) = queue else { return Ok(None) };
    let mut the_loop = drive::load(queue, evidence(project)?, state);
    let driver = the_loop.owner().and_then(|owner| state.get_by::<Live>(owner));
    the_loop.evidence.has_changes = driver.is_some_and(|live| live.loop_changed);
    Ok(Some(the_loop))
}

/// What is seen of the work from a terminal.
fn evidence(project: &Project) -> anyhow::Result<Evidence> {
    Ok(Evidence { head: refs::read(&project.root()?).commit, has_changes: false })
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
