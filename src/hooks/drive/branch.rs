//! The loop of a branch. A session that drives one has noted the branch's folder: the checkout may
//! be on another branch by now.

use super::{Owner, Turn, count, counted};
use crate::books::branch::{BranchLoop, BranchState};
use crate::books::live::Live;
use crate::facts::git;
use crate::hooks::{checkout, session_record};
use crate::id::BranchKey;
use crate::loops::branch::Driven;
use crate::loops::governor::{Decision, Stop, decide};
use crate::plan::Plan;

fn running<'a>(turn: &Turn<'a>) -> Option<(&'a BranchKey, &'a BranchState)> {
    let own = session_record::own(turn.event, turn.state);
    let (key, _) = checkout::of_loop(own, turn.state, turn.context)?;
    let state = turn.state.read::<BranchState>(key).writable()?;
    state.running().map(|_| (key, state))
}

pub fn owner<'a>(turn: &Turn<'a>) -> Option<Owner<'a>> {
    let (_, state) = running(turn)?;
    state.running().map(|the_loop| Owner::of(the_loop.session_id.as_ref()))
}

pub fn take(plan: &mut Plan, live: &mut Live, turn: &Turn) {
    let Some((key, state)) = running(turn) else { return };
    let mut state = state.clone();
    if let Some(the_loop) = &mut state.the_loop {
        the_loop.session_id = Some(live.session_id.clone());
    }
    live.loop_branch = Some(key.as_str().to_owned());
    plan.put(&turn.state.read::<BranchState>(key), &state);
}

pub fn at_stop(plan: &mut Plan, live: &mut Live, turn: &Turn, stop: &Stop) -> Option<Decision> {
    live.loop_branch.as_ref()?;
    let Some((key, state)) = running(turn) else {
        // One that cannot be read may come back.
        let noted = live.loop_branch.as_deref().and_then(BranchKey::known);
        if noted.is_some_and(|key| turn.state.read::<BranchState>(&key).is_frozen()) {
            return None;
        }
        let folder = live.loop_branch.take().unwrap_or_default();
        let tell = format!(
            "HookKeeper: the loop of branch {folder} is not driven any more: its state is gone, or was changed by somebody else. `hookkeeper branch loop status --branch NAME` shows what is left of it."
        );
        return Some(Decision::Allow { outcome: "the loop is gone".into(), tell: Some(tell) });
    };
    let read = turn.state.read::<BranchState>(key);
    // Who rewrites the file by its own schema leaves the owner out; the session knows better.
    let is_own = |the_loop: &&BranchLoop| {
        the_loop.session_id.as_ref().is_none_or(|owner| *owner == live.session_id)
    };
    let the_loop = state.running().filter(is_own)?;
    let checked_out = git::branch_name(&turn.context.facts.git());
    let mut driven = Driven {
        the_loop: the_loop.clone(),
        branch: state.branch.clone(),
        file: read.doc().path(),
        elsewhere: (checked_out != state.branch && checked_out != key.as_str())
            .then_some(checked_out),
    };
    let counter = format!("branch {}", the_loop.started_at);
    driven.the_loop.iteration = counted(live, &counter, the_loop.iteration);
    driven.the_loop.session_id = Some(live.session_id.clone());
    let decision = decide(&mut driven, stop);
    count(live, counter, driven.the_loop.iteration);
    if !driven.the_loop.is_running() {
        live.loop_branch = None;
        live.loop_verdict.clone_from(&driven.the_loop.verdict);
    }
    if driven.the_loop != *the_loop {
        let mut state = state.clone();
        state.the_loop = Some(driven.the_loop);
        plan.put(&read, &state);
    }
    Some(decision)
}
