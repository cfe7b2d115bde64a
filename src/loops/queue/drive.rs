//! The loop of the work queue.

use crate::loops::drive::Turn;
use crate::loops::ownership::resolve;
use crate::loops::queue::document::Queue;
use crate::loops::queue::progress::Evidence;
use crate::loops::queue::rules::{QueueLoop, put};
use crate::loops::{Loop, LoopKind};
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;

pub fn running<'s>(state: &'s State) -> Option<&'s Queue> {
    state.read::<Queue>(&()).writable().filter(|queue| queue.is_running())
}

pub fn owner<'a>(turn: &Turn<'a>) -> Option<Option<&'a str>> {
    let queue = running(turn.state)?;
    Some(resolve(LoopKind::Queue, "", queue.session_id.as_ref(), turn.state))
}

pub fn find(turn: &Turn) -> Option<Box<dyn Loop>> {
    let queue = running(turn.state)?;
    let own = record::own_record(turn.event, turn.state);
    let evidence = Evidence {
        head: turn.context.facts.git().commit,
        has_changes: own.is_some_and(|live| live.loop_changed),
    };
    Some(Box::new(load(queue, evidence, turn.state)))
}

/// The loop, with the owner that its file may have lost.
pub fn load(queue: &Queue, evidence: Evidence, state: &State) -> QueueLoop {
    let mut the_loop = QueueLoop { queue: queue.clone(), evidence };
    if let Some(id) = resolve(LoopKind::Queue, "", queue.session_id.as_ref(), state) {
        the_loop.bind(id);
    }
    the_loop
}

/// The queue after an event has changed its items; what people read of its loop, if one runs.
pub fn put_items(plan: &mut Plan, queue: &Queue, state: &State) {
    match queue.is_running() {
        true => put(plan, queue, state),
        false => plan.put(&state.read::<Queue>(&()), queue),
    }
}
