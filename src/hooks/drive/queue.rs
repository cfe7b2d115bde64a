//! The loop of the work queue.

use super::{Owner, Turn, count, counted};
use crate::books::live::Live;
use crate::books::queue::{LoopStateText, Queue};
use crate::loops::governor::{Decision, Stop, decide};
use crate::loops::queue::QueueLoop;
use crate::loops::render;
use crate::plan::Plan;
use crate::state::State;

pub fn running<'s>(state: &'s State) -> Option<&'s Queue> {
    state.read::<Queue>(&()).writable().filter(|queue| queue.is_running())
}

pub fn owner<'s>(state: &'s State) -> Option<Owner<'s>> {
    running(state).map(|queue| Owner::of(queue.session_id.as_ref()))
}

pub fn take(plan: &mut Plan, live: &mut Live, turn: &Turn) {
    let Some(queue) = running(turn.state) else { return };
    if queue.session_id.as_ref() != Some(&live.session_id) {
        let mut queue = queue.clone();
        queue.session_id = Some(live.session_id.clone());
        plan.put(&turn.state.read::<Queue>(&()), &queue);
    }
}

pub fn at_stop(plan: &mut Plan, live: &mut Live, turn: &Turn, stop: &Stop) -> Option<Decision> {
    let queue = running(turn.state)?;
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
        put(plan, &driven.0, turn.state);
    }
    Some(decision)
}

/// The queue, and what people read of its loop.
pub fn put(plan: &mut Plan, queue: &Queue, state: &State) {
    plan.put(&state.read::<Queue>(&()), queue);
    let read = state.read::<LoopStateText>(&());
    if read.value.is_none_or(|text| render::is_ours(&text.0)) {
        plan.put(&read, &LoopStateText(render::markdown(queue)));
    }
}

/// The queue after an event has changed its items; what people read of its loop, if one runs.
pub fn put_items(plan: &mut Plan, queue: &Queue, state: &State) {
    match queue.is_running() {
        true => put(plan, queue, state),
        false => plan.put(&state.read::<Queue>(&()), queue),
    }
}
