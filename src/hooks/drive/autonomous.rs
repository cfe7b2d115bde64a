//! The autonomous loop. Its file is one that models write too: the session's record has what we saw
//! last.

use super::{Owner, count, counted};
use crate::books::autonomous::Autonomous;
use crate::books::live::Live;
use crate::loops::autonomous::phase::Phase;
use crate::loops::autonomous::{Driven, complete, watch, watch_again, words};
use crate::loops::governor::{Decision, Stop, decide};
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time::Time;

const COUNTER: &str = "autonomous";

pub fn asks(live: &Live, snapshot: &Snapshot) -> Option<Ask> {
    running(snapshot).filter(|state| is_own(live, state)).map(|_| Ask::Artifacts)
}

fn running(snapshot: &Snapshot) -> Option<&Autonomous> {
    let state = snapshot.autonomous.as_ref().filter(|state| state.is_running())?;
    (!snapshot.frozen.contains(&Doc::Autonomous)).then_some(state)
}

/// A model that writes the file anew forgets whose it is.
fn is_own(live: &Live, state: &Autonomous) -> bool {
    match &state.session_id {
        Some(owner) => *owner == live.session_id,
        None => live.loop_phase.is_some(),
    }
}

pub fn owner(snapshot: &Snapshot) -> Option<Owner<'_>> {
    running(snapshot).map(|state| Owner::of(state.session_id.as_ref()))
}

pub fn take(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot) {
    let Some(state) = running(snapshot) else { return };
    if state.session_id.as_ref() == Some(&live.session_id) {
        return;
    }
    let mut state = state.clone();
    state.session_id = Some(live.session_id.clone());
    if live.loop_phase.is_none() {
        drives(live, &state);
    }
    plan.put(Doc::Autonomous, &state);
}

/// Notes that a session drives this loop from now on.
pub fn drives(live: &mut Live, state: &Autonomous) {
    live.loop_phase = Some(watch(state));
    count(live, COUNTER.into(), state.global_iteration);
}

/// The loop as it really is, for a command: counters and the human gate hold, whatever the file
/// says. What is wrong with a phase that was moved by hand.
pub fn hold(snapshot: &Snapshot, state: &mut Autonomous, now: Time) -> Option<String> {
    let owner = state.session_id.as_ref().and_then(|id| snapshot.lives.get(id));
    let seen = owner.and_then(|live| live.loop_phase.clone());
    let mut driven = Driven::new(state.clone(), seen, snapshot.artifacts.clone(), now);
    let fault = driven.settle();
    *state = driven.state;
    if let Some(live) = owner {
        state.global_iteration = counted(live, COUNTER, state.global_iteration);
    }
    fault
}

/// What the sessions know of the loop, after a command has changed it.
pub fn note(
    plan: &mut Plan,
    snapshot: &mut Snapshot,
    state: &Autonomous,
    before: Option<&Autonomous>,
) {
    let went_on = before.is_some_and(Autonomous::is_running);
    let owner = state.session_id.clone().filter(|_| state.is_running());
    for live in snapshot.lives.values_mut() {
        let was = live.clone();
        if owner.as_ref() == Some(&live.session_id) {
            let seen = live.loop_phase.take().filter(|_| went_on);
            drives(live, state);
            live.loop_phase = seen.map(|seen| watch_again(&seen, state)).or(live.loop_phase.take());
            live.loop_verdict = live.loop_verdict.take().filter(|_| went_on);
        } else if live.loop_phase.take().is_some() {
            live.loop_verdict = state.verdict.clone().or(live.loop_verdict.take());
        }
        if *live != was {
            plan.put(Doc::live(&live.session_id), live);
        }
    }
}

pub fn at_stop(
    plan: &mut Plan,
    live: &mut Live,
    snapshot: &Snapshot,
    stop: &Stop,
) -> Option<Decision> {
    if snapshot.frozen.contains(&Doc::Autonomous) {
        return None;
    }
    let Some(state) = running(snapshot).filter(|state| is_own(live, state)) else {
        return ended_by_hand(live, snapshot);
    };
    let mut driven =
        Driven::new(state.clone(), live.loop_phase.take(), snapshot.artifacts.clone(), stop.now);
    driven.state.session_id = Some(live.session_id.clone());
    driven.state.global_iteration = counted(live, COUNTER, driven.state.global_iteration);
    let decision = decide(&mut driven, stop);
    count(live, COUNTER.into(), driven.state.global_iteration);
    if driven.state.is_running() {
        live.loop_phase = Some(driven.seen());
    } else {
        live.loop_verdict.clone_from(&driven.state.verdict);
    }
    if driven.state != *state {
        plan.put(Doc::Autonomous, &driven.state);
    }
    Some(decision)
}

/// A loop that went on at our last look, and is over now without our doing.
fn ended_by_hand(live: &mut Live, snapshot: &Snapshot) -> Option<Decision> {
    live.loop_phase.take()?;
    let said = match &snapshot.autonomous {
        None => "is gone".to_owned(),
        Some(state) if state.is_running() => "is another session's now".to_owned(),
        Some(state) => {
            live.loop_verdict.clone_from(&state.verdict);
            format!("was given the verdict {:?} by hand", state.verdict.as_deref().unwrap_or(""))
        }
    };
    Some(Decision::Allow {
        outcome: format!("the autonomous loop {said}"),
        tell: Some(format!(
            "HookKeeper: the autonomous loop in {} {said}; it does not go on.",
            Doc::Autonomous.path()
        )),
    })
}

/// A person who types "approve" approves the acceptance tests that their session waits with. The
/// state comes back, to be written after the session's record: whoever is killed in between is still
/// waited for.
pub fn hear(
    plan: &mut Plan,
    live: &mut Live,
    snapshot: &Snapshot,
    prompt: &str,
    context: &Context,
) -> Option<Autonomous> {
    let state = running(snapshot).filter(|state| is_own(live, state))?;
    let noted = live.loop_phase.as_ref().is_some_and(|seen| seen.awaiting);
    if !(noted || is_awaiting(state)) || !approves(prompt) {
        return None;
    }
    let seen = live.loop_phase.clone();
    let mut driven = Driven::new(state.clone(), seen, snapshot.artifacts.clone(), context.now);
    driven.settle();
    let mut state = driven.state;
    state.session_id = Some(live.session_id.clone());
    let next = complete(&mut state, Phase::SpecTest, 0, context.now)?;
    drives(live, &state);
    plan.outcome = "a prompt: the acceptance tests are approved".into();
    let approved = "A person approved the acceptance tests.".to_owned();
    plan.reply.context = Some(words::reason(&state, next, &[approved]));
    Some(state)
}

pub fn is_awaiting(state: &Autonomous) -> bool {
    state.awaiting_approval && state.phase == Phase::SpecTest.name()
}

fn approves(prompt: &str) -> bool {
    let word: String =
        prompt.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    matches!(word.to_lowercase().as_str(), "approve" | "approved")
}
