//! The loop of the work queue, as people and models drive it: `loop`, `queue`, `gate`.

pub mod gate;
pub mod items;
pub mod queue_loop;

use anyhow::bail;

use crate::console::project::{Project, read_document};
use crate::git::refs;
use crate::loops::Loop as _;
use crate::loops::checkout_digest;
use crate::loops::queue::document::Queue;
use crate::loops::queue::drive;
use crate::loops::queue::progress::Evidence;
use crate::loops::queue::recover;
use crate::loops::queue::rules::QueueLoop;
use crate::session::live::Live;
use crate::session::record::put_record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::world::World;

/// Changes the items or gates of the queue under the lock, what people read of it, and the phase in
/// the record of the session that drives its loop.
fn change<T>(
    project: &Project,
    work: impl FnOnce(&mut Queue, &mut Plan) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    project.change(|store, state| {
        let mut found = usable(project, state)?.unwrap_or_default();
        let mut plan = Plan::default();
        let done = work(&mut found.queue, &mut plan)?;
        found.put(&mut plan, state);
        let driver = found.owner().and_then(|owner| state.get_by::<Live>(owner));
        if let Some(driver) = driver.filter(|_| found.is_running()) {
            let mut live = driver.clone();
            found.keep(&mut live);
            if live != *driver {
                put_record(&mut plan, &live, state);
            }
        }
        store.commit(&plan.changes, state)?;
        plan.told.into_iter().for_each(|entry| store.tell(None, entry));
        Ok(done)
    })
}

/// The queue's loop, if it has one; its document may be changed.
fn load(project: &Project, state: &State) -> anyhow::Result<Option<QueueLoop>> {
    let found = usable(project, state)?;
    Ok(found.filter(|found| found.queue.status != "none"))
}

/// The queue with or without a loop, if there is one that can be changed; made anew where a session
/// drives its loop and the file was lost.
fn usable(project: &Project, state: &State) -> anyhow::Result<Option<QueueLoop>> {
    let lost = state.all::<Live>().find_map(|live| recover::lost(live, state));
    let queue = match lost {
        Some(lost) => Some(&lost.queue),
        None => writable(state)?,
    };
    let Some(queue) = queue else { return Ok(None) };
    let mut the_loop = drive::load(queue, evidence(project)?, state);
    let driver = the_loop.owner().and_then(|owner| state.get_by::<Live>(owner));
    the_loop.evidence.has_changes = driver.is_some_and(|live| live.loop_changed);
    the_loop.lost = lost.map(|lost| lost.why.clone());
    Ok(Some(the_loop))
}

/// What is seen of the work from a terminal.
fn evidence(project: &Project) -> anyhow::Result<Evidence> {
    Ok(Evidence { head: refs::read(&project.root()?).commit, ..Evidence::default() })
}

/// What the work has to move from when a loop starts: the evidence with the checkout in it.
fn evidence_at_start(project: &Project) -> anyhow::Result<Evidence> {
    let (seen, root) = (evidence(project)?, project.root()?);
    let world = World::new(project.process, &root);
    let tree = checkout_digest::of_repository(&world, &root, seen.head.as_deref());
    Ok(Evidence { tree, ..seen })
}

fn writable<'s>(state: &'s State) -> anyhow::Result<Option<&'s Queue>> {
    let read = state.read::<Queue>(&());
    match read.frozen() {
        Some(why) => bail!("{} {why}.", read.doc().path()),
        None => Ok(read.value),
    }
}

/// The queue, for reading, as far as it is known by now.
fn read(project: &Project) -> anyhow::Result<Queue> {
    let Some(view) = project.view()? else { return Ok(Queue::default()) };
    let state = view.state();
    let lost = state.all::<Live>().find_map(|live| recover::lost(live, &state));
    let queue = match lost {
        Some(lost) => lost.queue.clone(),
        None => read_document::<Queue>(&view, &())?.unwrap_or_default(),
    };
    Ok(drive::load(&queue, Evidence::default(), &state).queue)
}
