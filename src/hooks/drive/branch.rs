//! The loop of a branch. A session that drives one has noted the branch's folder: the checkout may
//! be on another branch by now.

use super::{Owner, count, counted};
use crate::books::branch::{BranchLoop, BranchState};
use crate::books::live::Live;
use crate::facts::git;
use crate::id::BranchKey;
use crate::loops::branch::Driven;
use crate::loops::governor::{Decision, Stop, decide};
use crate::plan::Plan;
use crate::snapshot::{Ask, Snapshot};
use crate::store::layout::Doc;

pub fn asks(live: &Live) -> Vec<Ask> {
    match live.loop_branch {
        Some(_) => vec![Ask::Branch, Ask::Git],
        None => Vec::new(),
    }
}

fn running(snapshot: &Snapshot) -> Option<(&BranchKey, &BranchState)> {
    let (key, state) = snapshot.branch.as_ref()?;
    let frozen = snapshot.frozen.contains(&Doc::Branch(key.clone()));
    (state.running().is_some() && !frozen).then_some((key, state))
}

pub fn owner(snapshot: &Snapshot) -> Option<Owner<'_>> {
    let (_, state) = running(snapshot)?;
    state.running().map(|the_loop| Owner::of(the_loop.session_id.as_ref()))
}

pub fn take(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot) {
    let Some((key, state)) = running(snapshot) else { return };
    let mut state = state.clone();
    if let Some(the_loop) = &mut state.the_loop {
        the_loop.session_id = Some(live.session_id.clone());
    }
    live.loop_branch = Some(key.as_str().to_owned());
    plan.put(Doc::Branch(key.clone()), &state);
}

pub fn at_stop(
    plan: &mut Plan,
    live: &mut Live,
    snapshot: &Snapshot,
    stop: &Stop,
) -> Option<Decision> {
    live.loop_branch.as_ref()?;
    let Some((key, state)) = running(snapshot) else {
        // One that cannot be read may come back.
        if snapshot.frozen.iter().any(|doc| matches!(doc, Doc::Branch(_))) {
            return None;
        }
        let folder = live.loop_branch.take().unwrap_or_default();
        let tell = format!(
            "HookKeeper: the loop of branch {folder} is not driven any more: its state is gone, or was changed by somebody else. `hookkeeper branch loop status --branch NAME` shows what is left of it."
        );
        return Some(Decision::Allow { outcome: "the loop is gone".into(), tell: Some(tell) });
    };
    let doc = Doc::Branch(key.clone());
    // Who rewrites the file by its own schema leaves the owner out; the session knows better.
    let is_own = |the_loop: &&BranchLoop| {
        the_loop.session_id.as_ref().is_none_or(|owner| *owner == live.session_id)
    };
    let the_loop = state.running().filter(is_own)?;
    let checked_out = git::branch_name(&snapshot.git);
    let mut driven = Driven {
        the_loop: the_loop.clone(),
        branch: state.branch.clone(),
        file: doc.path(),
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
        plan.put(doc, &state);
    }
    Some(decision)
}
