//! The autonomous loop. Its file is one that models write too; what we saw last is kept beside the
//! queue, and holds.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::core::event::Kind;
use crate::core::time::Time;
use crate::git::history::Claim;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::autonomous::rules::phase::Phase;
use crate::loops::autonomous::rules::receipts::{self, Evidence};
use crate::loops::autonomous::rules::{AutonomousLoop, consent, watch, words};
use crate::loops::autonomous::watched::Watched;
use crate::loops::drive::Turn;
use crate::loops::governor::Decision;
use crate::loops::ownership::{self, resolve};
use crate::loops::{Loop, LoopKind, Verdict};
use crate::session::live::Live;
use crate::state::plan::Plan;
use crate::state::{Document, State};
use crate::turn::context::Facts;

/// What we saw last of the loop that is in the file.
pub fn seen<'s>(state: &'s State) -> Option<&'s Watched> {
    let found = state.get::<Autonomous>()?;
    state.get::<Watched>().filter(|seen| seen.is_of(found))
}

/// The file as we left it, of a loop that was lost on its way.
pub fn lost_copy<'s>(state: &'s State) -> Option<&'s Autonomous> {
    let known = state.get::<Watched>()?;
    let lost = [None, Some(Verdict::Failed.name())].contains(&known.verdict.as_deref());
    known.copy.as_deref().filter(|_| lost)
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
    let now = turn.context.now;
    // Other events only bind it to a session.
    let evidence = match turn.event.kind {
        Kind::Stop => evidence_at_stop(found, known.as_ref(), turn),
        _ => Evidence { head: turn.context.facts.git().commit, ..Evidence::default() },
    };
    Some(Box::new(AutonomousLoop::new(found.clone(), known, evidence, now)))
}

/// A session in a linked worktree has its documents and commits there.
fn evidence_at_stop(found: &Autonomous, known: Option<&Watched>, turn: &Turn) -> Evidence {
    let facts = turn.context.facts;
    let places = [Some(turn.context.root.clone()), turn.event.text("cwd")];
    let places: Vec<PathBuf> = places.into_iter().flatten().map(PathBuf::from).collect();
    let mut evidence = evidence(found, known, &places, facts, turn.context.now);
    let transcript = turn.event.text("transcript_path");
    evidence.spent = transcript.map(|path| {
        let before = known.map(|known| known.spent.clone()).unwrap_or_default();
        // Another session took it over: what that one spent before is not the loop's.
        let is_first = before.transcript.is_empty();
        let since = if is_first { &found.started_at } else { &found.last_updated };
        facts.spent(path.as_ref(), &before, since)
    });
    evidence
}

/// What speaks for the receipts in the file: documents, and git where it has to be asked.
pub fn evidence(
    found: &Autonomous,
    known: Option<&Watched>,
    places: &[PathBuf],
    facts: &dyn Facts,
    now: Time,
) -> Evidence {
    let present = facts.present(places, found.documents());
    let head = facts.git().commit;
    let fresh = || watch(found, &head, now);
    let known = known.map_or_else(|| Cow::Owned(fresh()), Cow::Borrowed);
    let (at, claims): (Vec<usize>, Vec<Claim>) =
        receipts::claims(found, &known, &present).into_iter().unzip();
    let faults = match claims.is_empty() {
        true => Vec::new(),
        false => facts.faults(places, &claims),
    };
    let faults = at.into_iter().zip(faults).collect();
    Evidence { present, head, faults, spent: None }
}

/// The loop as it really is, for a command: what we saw last holds, whatever the file says.
pub fn load(
    known: Option<&Watched>,
    found: &Autonomous,
    evidence: Evidence,
    now: Time,
) -> AutonomousLoop {
    let mut driven = AutonomousLoop::new(found.clone(), known.cloned(), evidence, now);
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
    let go_on = match found.is_none() && known.copy.is_some() {
        true => " `hookkeeper autonomous resume` writes it anew, as it was last.",
        false => "",
    };
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
            "HookKeeper: the autonomous loop in {} {what}; it does not go on.{go_on}",
            Autonomous::doc(&()).path()
        )),
    })
}

/// What a person has to say in plain words: that they approve the acceptance tests that their session
/// waits with, or that it may ship with findings open. The documents of that are written after the
/// session's record.
pub fn decide_by_prompt(
    plan: &mut Plan,
    live: &Live,
    turn: &Turn,
    prompt: &str,
    adopted: Option<LoopKind>,
) -> Option<AutonomousLoop> {
    if consent::says_ship(prompt) {
        return ship_by_prompt(plan, live, turn);
    }
    let is_near = consent::nearly_approves(prompt);
    let found = running(turn.state).filter(|_| is_near || consent::approves(prompt))?;
    let is_own = owner(turn) == Some(Some(live.session_id.as_str()));
    if !(is_own || adopted == Some(LoopKind::Autonomous)) {
        return None;
    }
    let mut driven = at_prompt(turn, found);
    if !is_awaiting(&driven.state) {
        return None;
    }
    if is_near {
        plan.reply.tell_user(
            "HookKeeper: that is not taken for an approval. To approve the acceptance tests, type \"approve\" and nothing else.",
        );
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

/// It may have ended for that already.
fn ship_by_prompt(plan: &mut Plan, live: &Live, turn: &Turn) -> Option<AutonomousLoop> {
    let found = turn.state.read::<Autonomous>(&()).writable()?;
    let known = seen(turn.state).filter(|known| known.out_of_rounds)?;
    let is_own = known.session_id.as_ref() == Some(&live.session_id);
    let others = ownership::driven_by(&live.session_id, turn.state);
    if !is_own || others.iter().any(|(kind, ..)| *kind != LoopKind::Autonomous) {
        return None;
    }
    let mut driven = at_prompt(turn, found);
    let open = words::findings(driven.watched.open);
    let next = driven.ship_anyway(turn.context.now)?;
    plan.outcome = "a prompt: it may ship".into();
    let said = format!("A person lets it go on with {open} open.");
    plan.reply.context = Some(words::reason(&driven.state, next, &[said]));
    Some(driven)
}

/// No receipt is judged at a prompt.
fn at_prompt(turn: &Turn, found: &Autonomous) -> AutonomousLoop {
    let evidence = Evidence { head: turn.context.facts.git().commit, ..Evidence::default() };
    load(seen(turn.state), found, evidence, turn.context.now)
}

pub fn is_awaiting(state: &Autonomous) -> bool {
    state.awaiting_approval && state.phase == Phase::SpecTest.name()
}
