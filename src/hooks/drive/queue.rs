//! The loop of the work queue.

use super::{Owner, count, counted};
use crate::books::live::Live;
use crate::books::queue::Queue;
use crate::loops::governor::{Decision, Stop, decide};
use crate::loops::queue::QueueLoop;
use crate::loops::render;
use crate::plan::Plan;
use crate::snapshot::{Ask, Snapshot};
use crate::store::layout::Doc;

/// What people read of a loop that runs.
pub fn asks(snapshot: &Snapshot) -> Option<Ask> {
    snapshot.queue.as_ref().filter(|queue| queue.is_running()).map(|_| Ask::LoopState)
}

fn running(snapshot: &Snapshot) -> Option<&Queue> {
    let queue = snapshot.queue.as_ref().filter(|queue| queue.is_running())?;
    (!snapshot.frozen.contains(&Doc::Queue)).then_some(queue)
}

pub fn owner(snapshot: &Snapshot) -> Option<Owner<'_>> {
    running(snapshot).map(|queue| Owner::of(queue.session_id.as_ref()))
}

pub fn take(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot) {
    let Some(queue) = running(snapshot) else { return };
    if queue.session_id.as_ref() != Some(&live.session_id) {
        let mut queue = queue.clone();
        queue.session_id = Some(live.session_id.clone());
        plan.put(Doc::Queue, &queue);
    }
}

pub fn at_stop(
    plan: &mut Plan,
    live: &mut Live,
    snapshot: &Snapshot,
    stop: &Stop,
) -> Option<Decision> {
    let queue = running(snapshot)?;
    if queue.session_id.as_ref() != Some(&live.session_id) {
        return None;
    }
    let mut driven = QueueLoop(queue.clone());
    let key = format!("queue {}", queue.started_at.as_deref().unwrap_or_default());
    driven.0.iteration = counted(live, &key, driven.0.iteration);
    let decision = decide(&mut driven, stop);
    count(live, key, driven.0.iteration);
    if driven.0.verdict.is_some() {
        live.loop_verdict.clone_from(&driven.0.verdict);
    }
    if driven.0 != *queue {
        put(plan, &driven.0, snapshot.loop_state.as_deref());
    }
    Some(decision)
}

/// The queue, and what people read of it.
pub fn put(plan: &mut Plan, queue: &Queue, loop_state: Option<&str>) {
    plan.put(Doc::Queue, queue);
    if loop_state.is_none_or(render::is_ours) {
        plan.put_text(Doc::LoopState, &render::markdown(queue));
    }
}

/// The queue after an event has changed its items; what people read of it, if that was asked for.
pub fn put_items(plan: &mut Plan, queue: &Queue, snapshot: &Snapshot) {
    match queue.is_running() && snapshot.has(&Ask::LoopState) {
        true => put(plan, queue, snapshot.loop_state.as_deref()),
        false => plan.put(Doc::Queue, queue),
    }
}

/// What an event that changes items has to see.
pub fn asks_for_items(snapshot: &Snapshot) -> Vec<Ask> {
    [Ask::Queue].into_iter().chain(asks(snapshot)).collect()
}
