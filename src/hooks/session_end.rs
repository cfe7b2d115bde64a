//! SessionEnd: the session's metrics are written, its results archived, its record removed.

use crate::books::live::Live;
use crate::event::Event;
use crate::plan::Plan;
use crate::snapshot::{Ask, COPIES, Context, Snapshot};
use crate::store::layout::Doc;

use super::close::Closing;
use super::desk;

pub fn asks(event: &Event, snapshot: &Snapshot, _: &Context) -> Vec<Ask> {
    let mut asks = COPIES.to_vec();
    if let Some(live) = snapshot.own(event) {
        asks.extend([Ask::Errors, Ask::Queue]);
        asks.extend(live.agents.iter().map(|agent| Ask::Result(agent.id.clone())));
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
    let mut closing = Closing::new(snapshot, others().next().is_some());
    closing.session(live, &reason, snapshot, context.now);
    closing.finish(&mut plan);
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
