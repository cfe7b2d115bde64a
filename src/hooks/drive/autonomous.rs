//! The autonomous loop. Its file is one that models write too; what we saw last is kept beside the
//! queue, and holds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{Owner, Turn};
use crate::books::autonomous::Autonomous;
use crate::books::live::Live;
use crate::books::watched::Watched;
use crate::context::Context;
use crate::loops::Verdict;
use crate::loops::autonomous::phase::Phase;
use crate::loops::autonomous::{Driven, approve, watch, words};
use crate::loops::governor::{Decision, Stop, decide};
use crate::plan::Plan;
use crate::state::{Document, State};
use crate::time::Time;

/// What we saw last of the loop that is in the file.
fn seen<'s>(state: &'s State, found: &Autonomous) -> Option<&'s Watched> {
    state.get::<Watched>().filter(|seen| seen.is_of(found))
}

/// A loop that we ended stays ended, whatever becomes of its file.
pub fn running<'s>(state: &'s State) -> Option<&'s Autonomous> {
    let found = state.read::<Autonomous>(&()).writable().filter(|found| found.is_running())?;
    let ended = seen(state, found).is_some_and(|seen| seen.verdict.is_some());
    (!ended).then_some(found)
}

/// A model that writes the file anew forgets whose it is.
pub fn owner<'s>(state: &'s State) -> Option<Owner<'s>> {
    let found = running(state)?;
    let noted = || seen(state, found)?.session_id.as_ref();
    Some(Owner::of(found.session_id.as_ref().or_else(noted)))
}

pub fn take(plan: &mut Plan, live: &mut Live, turn: &Turn) {
    let Some(found) = running(turn.state) else { return };
    let own = Some(live.session_id.clone());
    let known = seen(turn.state, found);
    if found.session_id == own && known.is_some_and(|seen| seen.session_id == own) {
        return;
    }
    let (mut found, mut seen) = (found.clone(), known.cloned().unwrap_or_else(|| watch(found)));
    (found.session_id, seen.session_id) = (own.clone(), own);
    plan.put(&turn.state.read::<Autonomous>(&()), &found);
    plan.put(&turn.state.read::<Watched>(&()), &seen);
}

/// The documents that the loop's receipts name and that exist. A session in a linked worktree has
/// them there.
fn artifacts(found: &Autonomous, turn: &Turn) -> BTreeSet<String> {
    let places = [Some(turn.context.root.clone()), turn.event.text("cwd")];
    let places: Vec<PathBuf> = places.into_iter().flatten().map(PathBuf::from).collect();
    turn.context.facts.present(&places, found.documents())
}

/// The loop as it really is, for a command: what we saw last holds, whatever the file says. With it,
/// what is wrong with a phase that was moved by hand.
pub fn hold(
    state: &State,
    found: &Autonomous,
    artifacts: BTreeSet<String>,
    now: Time,
) -> (Driven, Option<String>) {
    let mut driven = Driven::new(found.clone(), seen(state, found).cloned(), artifacts, now);
    let fault = driven.settle();
    (driven, fault)
}

pub fn at_stop(plan: &mut Plan, live: &mut Live, turn: &Turn, stop: &Stop) -> Option<Decision> {
    let read = turn.state.read::<Autonomous>(&());
    if read.is_frozen() {
        return None;
    }
    let own = owner(turn.state).is_some_and(|owner| owner.is(&live.session_id));
    let Some(found) = running(turn.state).filter(|_| own) else {
        return ended_by_hand(plan, live, turn.state);
    };
    let known = seen(turn.state, found).cloned();
    let mut driven = Driven::new(found.clone(), known, artifacts(found, turn), stop.now);
    let decision = decide(&mut driven, stop);
    if !driven.state.is_running() {
        live.loop_verdict.clone_from(&driven.state.verdict);
    }
    if driven.state != *found {
        plan.put(&read, &driven.state);
    }
    plan.put(&turn.state.read::<Watched>(&()), &driven.seen());
    Some(decision)
}

/// A loop that went on at our last look, and is over now without our doing.
fn ended_by_hand(plan: &mut Plan, live: &mut Live, state: &State) -> Option<Decision> {
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

/// The documents of an approval, in the order in which they are to be written: after a kill in
/// between, the person is still waited for.
pub struct Approved {
    seen: Watched,
    state: Autonomous,
}

impl Approved {
    pub fn put(&self, plan: &mut Plan, state: &State) {
        plan.put(&state.read::<Watched>(&()), &self.seen);
        plan.put(&state.read::<Autonomous>(&()), &self.state);
    }
}

/// A person who types "approve" approves the acceptance tests that their session waits with.
/// `took`: the session has just made a loop its own.
pub fn hear(
    plan: &mut Plan,
    live: &Live,
    state: &State,
    prompt: &str,
    took: bool,
    context: &Context,
) -> Option<Approved> {
    let found = running(state)?;
    let own = owner(state).is_some_and(|owner| owner.is(&live.session_id));
    if !(own || took) || !approves(prompt) {
        return None;
    }
    let (mut driven, _) = hold(state, found, BTreeSet::new(), context.now);
    if !is_awaiting(&driven.state) {
        return None;
    }
    driven.state.session_id = Some(live.session_id.clone());
    let mut seen = driven.seen();
    let next = approve(&mut driven.state, &mut seen, context.now)?;
    plan.outcome = "a prompt: the acceptance tests are approved".into();
    let approved = "A person approved the acceptance tests.".to_owned();
    plan.reply.context = Some(words::reason(&driven.state, next, &[approved]));
    Some(Approved { seen, state: driven.state })
}

pub fn is_awaiting(state: &Autonomous) -> bool {
    state.awaiting_approval && state.phase == Phase::SpecTest.name()
}

fn approves(prompt: &str) -> bool {
    let word: String =
        prompt.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    matches!(word.to_lowercase().as_str(), "approve" | "approved")
}
