//! The loop of a branch. A session that drives one has noted the branch's folder: the checkout may
//! be on another branch by now.

use crate::branch::checkout;
use crate::branch::document::BranchState;
use crate::core::id::BranchKey;
use crate::git::refs;
use crate::loops::branch::rules::DrivenBranch;
use crate::loops::drive::Turn;
use crate::loops::governor::Decision;
use crate::loops::ownership::resolve;
use crate::loops::{Loop, LoopKind};
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;

fn running<'a>(turn: &Turn<'a>) -> Option<(&'a BranchKey, &'a BranchState)> {
    let own = record::own_record(turn.event, turn.state);
    let (key, _) = checkout::of_loop(own, turn.state, turn.context)?;
    let state = turn.state.read::<BranchState>(key).writable()?;
    state.running().map(|_| (key, state))
}

pub fn owner<'a>(turn: &Turn<'a>) -> Option<Option<&'a str>> {
    let (key, branch) = running(turn)?;
    let written = branch.running()?.session_id.as_ref();
    Some(resolve(LoopKind::Branch, key.as_str(), written, turn.state))
}

pub fn find(turn: &Turn) -> Option<Box<dyn Loop>> {
    let (key, branch) = running(turn)?;
    let mut driven = load(key, branch, turn.state)?;
    let checked_out = refs::branch_name(&turn.context.facts.git());
    let here = checkout::current(turn.state, turn.context).filter(|here| here.key == *key);
    match here {
        // Files of other tools have the folder's name in them.
        Some(here) => driven.branch.clone_from(&here.branch),
        None => driven.elsewhere = Some(checked_out).filter(|other| *other != branch.branch),
    }
    Some(Box::new(driven))
}

/// The loop of a branch's state, with the owner that it may have lost.
pub fn load(key: &BranchKey, branch: &BranchState, state: &State) -> Option<DrivenBranch> {
    let mut driven = DrivenBranch {
        the_loop: branch.the_loop.clone()?,
        branch: branch.branch.clone(),
        key: key.clone(),
        elsewhere: None,
    };
    let written = driven.the_loop.session_id.clone();
    if let Some(id) = resolve(LoopKind::Branch, key.as_str(), written.as_ref(), state) {
        driven.bind(id);
    }
    Some(driven)
}

pub fn lost(_: &mut Plan, live: &mut Live, turn: &Turn) -> Option<Decision> {
    // One that cannot be read may come back; another session's is left alone.
    let noted = live.loop_branch.as_deref().and_then(BranchKey::known);
    if running(turn).is_some()
        || noted.is_some_and(|key| turn.state.read::<BranchState>(&key).is_frozen())
    {
        return None;
    }
    let folder = live.loop_branch.take().unwrap_or_default();
    let tell = format!(
        "HookKeeper: the loop of branch {folder} is not driven any more: its state is gone, or was changed by somebody else. `hookkeeper branch loop status --branch NAME` shows what is left of it."
    );
    Some(Decision::Allow { outcome: "the loop is gone".into(), tell: Some(tell) })
}
