//! SessionEnd: the session's metrics are written, its results archived, its record removed.

use crate::books::cleared::Cleared;
use crate::context::Context;
use crate::event::Event;
use crate::plan::Plan;
use crate::state::State;

use super::session_closing::Closing;
use super::session_record::{self, others};
use super::witness::Witness;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let Some(live) = session_record::own(event, state) else {
        return Plan::because("the session is not open");
    };
    let reason = event.text("reason").unwrap_or_else(|| "other".into());
    let mut plan = Plan::because(format!("closed: {reason}"));
    if reason == "clear" {
        let read = state.read::<Cleared>(&());
        let mut cleared = read.value.cloned().unwrap_or_default();
        cleared.add(live, context.spelled());
        plan.put(&read, &cleared);
    }
    let others = others(&live.session_id, state);
    let mut closing = Closing::new(state, context, others.clone().next().is_some());
    let mut witness = Witness::new(state, context);
    closing.close(live, &reason, &mut witness, context.now);
    // Before the record goes: whoever finds that does all of it again.
    witness.put(&mut plan);
    closing.put(&mut plan);
    session_record::put_copies(&mut plan, others, state);
    plan
}
