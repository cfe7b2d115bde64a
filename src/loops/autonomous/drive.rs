//! The autonomous loop. Its file is one that models write too; what we saw last is kept beside the
//! queue, and holds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::core::time::Time;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::autonomous::rules::phase::Phase;
use crate::loops::autonomous::rules::{AutonomousLoop, words};
use crate::loops::autonomous::watched::Watched;
use crate::loops::drive::Turn;
use crate::loops::governor::Decision;
use crate::loops::ownership::resolve;
use crate::loops::{Loop, LoopKind, Verdict};
use crate::session::live::Live;
use crate::state::plan::Plan;
use crate::state::{Document, State};

/// What we saw last of the loop that is in the file.
pub fn seen<'s>(state: &'s State) -> Option<&'s Watched> {
    let found = state.get::<Autonomous>()?;
    state.get::<Watched>().filter(|seen| seen.is_of(found))
}

/// A loop that we ended stays ended, whatever becomes of its file.
pub fn running<'s>(state: &'s State) -> Option<&'s Autonomous> {
    let found = state.read::<Autonomous>(&()).writable().filter(|found| found.is_running())?;
    let ended = seen(state).is_some_and(|seen| seen.verdict.is_some());
    (!ended).then_some(found)
}

pub fn owner<'a>(turn: &Turn<'a>) -> Option<Option<&'a str>> {
    let found = running(turn.state)?;
    Some(resolve(LoopKind::Autonomous, "", found.session_id.as_ref(), turn.state))
}

pub fn find(turn: &Turn) -> Option<Box<dyn Loop>> {
    let found = running(turn.state)?;
    let known = seen(turn.state).cloned();
    let present = artifacts(found, turn);
    Some(Box::new(AutonomousLoop::new(found.clone(), known, present, turn.context.now)))
}

/// The documents that the loop's receipts name and that exist. A session in a linked worktree has
/// them there.
fn artifacts(found: &Autonomous, turn: &Turn) -> BTreeSet<String> {
    let places = [Some(turn.context.root.clone()), turn.event.text("cwd")];
    let places: Vec<PathBuf> = places.into_iter().flatten().map(PathBuf::from).collect();
    turn.context.facts.present(&places, found.documents())
}

/// The loop as it really is, for a command: what we saw last holds, whatever the file says.
pub fn load(
    state: &State,
    found: &Autonomous,
    artifacts: BTreeSet<String>,
    now: Time,
) -> AutonomousLoop {
    let mut driven = AutonomousLoop::new(found.clone(), seen(state).cloned(), artifacts, now);
    driven.settle();
    driven
}

/// A loop that went on at our last look, and is over now without our doing.
pub fn lost(plan: &mut Plan, live: &mut Live, turn: &Turn) -> Option<Decision> {
    let state = turn.state;
    if state.read::<Autonomous>(&()).is_frozen() {
        return None;
    }
    let read = state.read::<Watched>(&());
    let known = read.value?;
    let own = known.session_id.as_ref() == Some(&live.session_id);
    if known.verdict.is_some() || !own {
        return None;
    }
    let found = state.get::<Autonomous>().filter(|found| known.is_of(found));
    let (what, verdict) = match found {
        None => ("is gone", Some(Verdict::Failed)),
        Some(found) if found.is_running() => ("is another session's now", None),
        Some(_) => ("was given a verdict by hand", Some(Verdict::Cancelled)),
    };
    let mut known = known.clone();
    match verdict {
        Some(verdict) => {
            known.verdict = Some(verdict.name().into());
            live.loop_verdict.clone_from(&known.verdict);
        }
        None => known.session_id = found.and_then(|found| found.session_id.clone()),
    }
    plan.put(&read, &known);
    Some(Decision::Allow {
        outcome: format!("the autonomous loop {what}"),
        tell: Some(format!(
            "HookKeeper: the autonomous loop in {} {what}; it does not go on.",
            Autonomous::doc(&()).path()
        )),
    })
}

/// A person who types "approve" approves the acceptance tests that their session waits with; the
/// documents of that are written after the session's record.
pub fn approve_by_prompt(
    plan: &mut Plan,
    live: &Live,
    turn: &Turn,
    prompt: &str,
    adopted: Option<LoopKind>,
) -> Option<AutonomousLoop> {
    let found = running(turn.state)?;
    let is_own = owner(turn) == Some(Some(live.session_id.as_str()));
    if !(is_own || adopted == Some(LoopKind::Autonomous)) || !approves(prompt) {
        return None;
    }
    let mut driven = load(turn.state, found, BTreeSet::new(), turn.context.now);
    if !is_awaiting(&driven.state) {
        return None;
    }
    driven.bind(&live.session_id);
    driven.watched = driven.seen();
    let next = driven.approve(turn.context.now)?;
    plan.outcome = "a prompt: the acceptance tests are approved".into();
    let approved = "A person approved the acceptance tests.".to_owned();
    plan.reply.context = Some(words::reason(&driven.state, next, &[approved]));
    Some(driven)
}

pub fn is_awaiting(state: &Autonomous) -> bool {
    state.awaiting_approval && state.phase == Phase::SpecTest.name()
}

fn approves(prompt: &str) -> bool {
    let word: String =
        prompt.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    matches!(word.to_lowercase().as_str(), "approve" | "approved")
}
