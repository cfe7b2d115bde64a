//! SessionEnd: the session's metrics are written, its results archived, its record removed.

use crate::event::Event;
use crate::plan::Plan;
use crate::snapshot::{Ask, COPIES, Context, Snapshot};
use crate::store::layout::Doc;

use super::close::{self, Closing};
use super::desk;
use super::witness::Witness;

pub fn asks(event: &Event, snapshot: &Snapshot, context: &Context) -> Vec<Ask> {
    let mut asks = COPIES.to_vec();
    if let Some(live) = snapshot.own(event) {
        asks.extend(close::asks(live, context));
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
    let mut witness = Witness::new(snapshot);
    closing.session(live, &reason, &mut witness, context.now);
    // Before the record goes: whoever finds that does all of it again.
    witness.put(&mut plan);
    closing.finish(&mut plan);
    desk::put_copies(&mut plan, snapshot, others());
    plan
}

fn reason(event: &Event) -> String {
    event.text("reason").unwrap_or_else(|| "other".into())
}
