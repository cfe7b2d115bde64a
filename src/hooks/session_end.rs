//! SessionEnd: the session's metrics are written, its results archived, its record removed.

use crate::books::live::Live;
use crate::event::Event;
use crate::plan::Plan;
use crate::snapshot::{Ask, COPIES, Context, Snapshot};
use crate::store::layout::Doc;

use super::close::Closing;
use super::{desk, subagent_stop};

pub fn asks(event: &Event, snapshot: &Snapshot, _: &Context) -> Vec<Ask> {
    let mut asks = COPIES.to_vec();
    if let Some(live) = snapshot.own(event) {
        asks.extend([Ask::Errors, Ask::Synthesis]);
        if subagent_stop::needs_results(snapshot, Some(live)) {
            asks.push(Ask::AllResults);
        }
        asks.extend(live.worked.then_some(Ask::Metrics));
        asks.extend(cost(live));
        asks.extend((reason(event) == "clear").then_some(Ask::Cleared));
    }
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    let Some(live) = snapshot.own(event) else {
        return Plan::because("the session is not open");
    };
    let reason = reason(event);
    let mut plan = Plan::because(format!("closed: {reason}"));
    let others = || snapshot.lives.values().filter(|other| other.session_id != live.session_id);
    if reason == "clear" {
        let mut cleared = snapshot.cleared.clone().unwrap_or_default();
        cleared.add(live, context.spelled());
        plan.put(Doc::Cleared, &cleared);
    }
    let mut closing = Closing::new(snapshot);
    closing.session(live, &reason, snapshot, context.now);
    let has_results = || snapshot.results.values().any(|r| r.session_id == live.session_id);
    if subagent_stop::needs_results(snapshot, Some(live)) && has_results() {
        // Another session's synthesis is in the way. Ours is made again and moves with our results.
        closing.synthesis = Some(subagent_stop::synthesis(live, snapshot, &[], context));
    }
    let is_alone = others().next().is_none();
    closing.finish(&mut plan, !is_alone);
    let theirs = snapshot.synthesis.as_ref().filter(|s| s.session_id != live.session_id);
    if let Some(theirs) = theirs.filter(|_| !is_alone) {
        plan.put(Doc::Synthesis, theirs);
    }
    desk::put_copies(&mut plan, snapshot, others());
    plan
}

/// What a session cost is in its transcript; a session that did nothing cost nothing.
pub fn cost(live: &Live) -> Option<Ask> {
    let transcript = live.transcript_path.as_ref().filter(|_| live.worked)?;
    Some(Ask::Cost { session_id: live.session_id.clone(), transcript: transcript.into() })
}

fn reason(event: &Event) -> String {
    event.text("reason").unwrap_or_else(|| "other".into())
}
