//! SessionEnd: the session's metrics are written, its results archived, its record removed.

use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::hooks::session_closing::Closing;
use crate::session::cleared::Cleared;
use crate::session::record::{self, others};
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let Some(live) = record::own_record(event, state) else {
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
    record::put_copies(&mut plan, others, state);
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::SessionEnd;
    use crate::errors::document::Errors;
    use crate::hooks::testing::*;
    use crate::session::active::Active;
    use crate::session::current::CurrentFile;
    use crate::session::live::Live;
    use crate::session::metrics::Metrics;
    use crate::state::map::Files;

    #[test]
    fn its_metrics_are_written_and_its_record_goes() {
        let errors = Errors::with_records(vec![error(OWN, "Bash make")]);
        let files =
            Files::default().with::<Live>(OWN, &own_session(&[])).with::<Errors>(&(), &errors);
        let plan = plan_event(SessionEnd, json!({"reason": "logout"}), &files);
        let entry = put_of::<Metrics>(&plan, &()).unwrap().find(OWN).unwrap();
        assert_eq!((entry.ended.as_str(), entry.duration_minutes), ("logout", 60));
        assert_eq!(entry.errors.total, 1);
        let gone = ["errors/classified.json", "session/live/own.json", "session/current.json"];
        assert_eq!(removed(&plan), gone);
    }

    #[test]
    fn an_empty_state_stays_empty() {
        let plan = plan_event(SessionEnd, json!({"reason": "clear"}), &Files::default());
        assert_eq!(plan, Plan::because("the session is not open"));
    }

    #[test]
    fn another_client_s_clear_stays() {
        let plan =
            plan_beside_other(SessionEnd, json!({"reason": "clear"}), Some(&own_session(&[])));
        let cleared = put_of::<Cleared>(&plan, &()).unwrap();
        let sessions: Vec<&str> = cleared.cleared.iter().map(|e| e.session_id.as_str()).collect();
        assert_eq!(sessions, ["ended", OWN]);
        assert_eq!(removed(&plan), ["session/live/own.json"]);
    }

    #[test]
    fn another_session_keeps_its_errors_and_agents() {
        let mut records = other().state().get::<Errors>().unwrap().records();
        records.push(error(OWN, "API rate_limit"));
        let errors = Errors::with_records(records);
        let files = other().with::<Live>(OWN, &own_session(&["a1"])).with::<Errors>(&(), &errors);
        let plan = plan_event(SessionEnd, json!({"reason": "logout"}), &files);
        ensure_other_is_kept(&files, &plan);
        assert_eq!(
            put_of::<Errors>(&plan, &()).unwrap().records(),
            [error(OTHER, "API rate_limit")]
        );
        let active = put_of::<Active>(&plan, &()).unwrap();
        assert_eq!(active.agents, [agent(OTHER, OTHER_AGENT)]);
        assert_eq!(put_of::<CurrentFile>(&plan, &()).unwrap().0["session_id"], OTHER);
    }
}
