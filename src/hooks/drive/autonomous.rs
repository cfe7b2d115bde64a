//! The autonomous loop. Its file is one that models write too; what we saw last is kept beside the
//! queue, and holds.

use super::Owner;
use crate::books::autonomous::Autonomous;
use crate::books::live::Live;
use crate::books::watched::Watched;
use crate::loops::Verdict;
use crate::loops::autonomous::phase::Phase;
use crate::loops::autonomous::{Driven, approve, watch, watch_again, words};
use crate::loops::governor::{Decision, Stop, decide};
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time::Time;

pub fn asks(live: &Live, snapshot: &Snapshot) -> Option<Ask> {
    owner(snapshot).filter(|owner| owner.is(&live.session_id)).map(|_| Ask::Artifacts)
}

/// What we saw last of the loop that is in the file.
fn seen<'a>(snapshot: &'a Snapshot, state: &Autonomous) -> Option<&'a Watched> {
    snapshot.watched.as_ref().filter(|seen| seen.is_of(state))
}

/// A loop that we ended stays ended, whatever becomes of its file.
fn running(snapshot: &Snapshot) -> Option<&Autonomous> {
    let state = snapshot.autonomous.as_ref().filter(|state| state.is_running())?;
    let ended = seen(snapshot, state).is_some_and(|seen| seen.verdict.is_some());
    (!ended && !snapshot.frozen.contains(&Doc::Autonomous)).then_some(state)
}

/// A model that writes the file anew forgets whose it is.
pub fn owner(snapshot: &Snapshot) -> Option<Owner<'_>> {
    let state = running(snapshot)?;
    let noted = || seen(snapshot, state)?.session_id.as_ref();
    Some(Owner::of(state.session_id.as_ref().or_else(noted)))
}

pub fn take(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot) {
    let Some(state) = running(snapshot) else { return };
    let own = Some(live.session_id.clone());
    let known = seen(snapshot, state);
    if state.session_id == own && known.is_some_and(|seen| seen.session_id == own) {
        return;
    }
    let (mut state, mut seen) = (state.clone(), known.cloned().unwrap_or_else(|| watch(state)));
    (state.session_id, seen.session_id) = (own.clone(), own);
    plan.put(Doc::Autonomous, &state);
    plan.put(Doc::Watched, &seen);
}

/// The loop as it really is, for a command: what we saw last holds, whatever the file says. With it,
/// what is wrong with a phase that was moved by hand.
pub fn hold(snapshot: &Snapshot, state: &Autonomous, now: Time) -> (Driven, Option<String>) {
    let known = seen(snapshot, state).cloned();
    let mut driven = Driven::new(state.clone(), known, snapshot.artifacts.clone(), now);
    let fault = driven.settle();
    (driven, fault)
}

/// What the sessions know of the loop, after a command has changed it.
pub fn note(plan: &mut Plan, snapshot: &mut Snapshot, state: &Autonomous, was_running: bool) {
    let owner = state.session_id.clone().unwrap_or_default();
    let Some(live) = snapshot.lives.get_mut(&owner) else { return };
    if was_running != state.is_running() {
        live.loop_verdict.clone_from(&state.verdict);
        plan.put(Doc::live(&owner), live);
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
    let own = owner(snapshot).is_some_and(|owner| owner.is(&live.session_id));
    let Some(state) = running(snapshot).filter(|_| own) else {
        return ended_by_hand(plan, live, snapshot);
    };
    let known = seen(snapshot, state).cloned();
    let mut driven = Driven::new(state.clone(), known, snapshot.artifacts.clone(), stop.now);
    let decision = decide(&mut driven, stop);
    if !driven.state.is_running() {
        live.loop_verdict.clone_from(&driven.state.verdict);
    }
    if driven.state != *state {
        plan.put(Doc::Autonomous, &driven.state);
    }
    plan.put(Doc::Watched, &driven.seen());
    Some(decision)
}

/// A loop that went on at our last look, and is over now without our doing.
fn ended_by_hand(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot) -> Option<Decision> {
    let known = snapshot.watched.as_ref()?;
    let own = known.session_id.as_ref() == Some(&live.session_id);
    if known.verdict.is_some() || !own {
        return None;
    }
    let state = snapshot.autonomous.as_ref().filter(|state| known.is_of(state));
    let (said, verdict) = match state {
        None => ("is gone", Some(Verdict::Failed)),
        Some(state) if state.is_running() => ("is another session's now", None),
        Some(_) => ("was given a verdict by hand", Some(Verdict::Cancelled)),
    };
    let mut known = known.clone();
    match verdict {
        Some(verdict) => {
            known.verdict = Some(verdict.name().into());
            live.loop_verdict.clone_from(&known.verdict);
        }
        None => known.session_id = state.and_then(|state| state.session_id.clone()),
    }
    plan.put(Doc::Watched, &known);
    Some(Decision::Allow {
        outcome: format!("the autonomous loop {said}"),
        tell: Some(format!(
            "HookKeeper: the autonomous loop in {} {said}; it does not go on.",
            Doc::Autonomous.path()
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
    pub fn put(&self, plan: &mut Plan) {
        plan.put(Doc::Watched, &self.seen);
        plan.put(Doc::Autonomous, &self.state);
    }
}

/// A person who types "approve" approves the acceptance tests that their session waits with.
/// `took`: the session has just made a loop its own.
pub fn hear(
    plan: &mut Plan,
    live: &Live,
    snapshot: &Snapshot,
    prompt: &str,
    took: bool,
    context: &Context,
) -> Option<Approved> {
    let state = running(snapshot)?;
    let own = owner(snapshot).is_some_and(|owner| owner.is(&live.session_id));
    if !(own || took) || !approves(prompt) {
        return None;
    }
    let (mut driven, _) = hold(snapshot, state, context.now);
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

/// What is to be remembered after a command.
pub fn seen_after(before: &Watched, state: &Autonomous, moved: bool) -> Watched {
    let again = watch_again(before, state);
    // A phase that was moved by hand without proof is the next Stop's to judge.
    match moved {
        true => Watched {
            session_id: again.session_id,
            verdict: again.verdict,
            max_iterations: again.max_iterations,
            ..before.clone()
        },
        false => again,
    }
}

fn approves(prompt: &str) -> bool {
    let word: String =
        prompt.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    matches!(word.to_lowercase().as_str(), "approve" | "approved")
}
