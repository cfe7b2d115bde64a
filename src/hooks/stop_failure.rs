//! StopFailure: an API error ended the turn, or a subagent. Nothing can be printed here, so what the
//! user should hear of waits for the next event.

use crate::agents::result::{AgentResult, FAILED};
use crate::branch::agents_document::LONGEST_RESULT;
use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::core::text::Extra;
use crate::errors::classify;
use crate::errors::document::{Class, Failure};
use crate::hooks::failures::{self, LONGEST_MESSAGE, not_before};
use crate::hooks::subagent_stop;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

const LONGEST_NAME: usize = 80;

/// The tool's name for failures of the API itself; a turn that ends well recovers them.
pub const API: &str = "API";

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if let Some(id) = &event.agent_id {
        return agent_failed(event, id, state, context);
    }
    let live = record::open_session(event, state, context);
    let error = event.text("error").unwrap_or_else(|| "unknown".into());
    let error = context.redact.line(&error, LONGEST_NAME);
    let message = event.text("last_assistant_message").unwrap_or_default();
    let class = match classify::stop_failure(&error, &message) {
        // There is no source file behind an API error.
        Class::Syntax | Class::Deterministic => Class::Unknown,
        class => class,
    };
    let mut details = Extra::new();
    details.insert("error".into(), error.clone().into());
    let failure = Failure {
        class,
        tool: API.into(),
        target: format!("{API} {error}"),
        message: context.redact.block(&message, LONGEST_MESSAGE),
        context: details,
        session_id: event.session_id.clone(),
        agent_id: None,
        // The turn is what failed; a repeated report of the same turn is the same failure.
        tool_use_id: event.prompt_id(),
        not_before: not_before(class, &message, context),
        place: None,
        needs_change: false,
    };
    let mut plan = failures::record(vec![failure], live, state, context);
    plan.reply.context = None;
    if let Some(text) = plan.reply.take_message() {
        plan.notices.push((format!("escalated/{}", context.fresh_id), text));
    }
    plan
}

/// An API error has ended a subagent; its SubagentStop will not come.
fn agent_failed(event: &Event, id: &str, state: &State, context: &Context) -> Plan {
    if !subagent_stop::runs(event, id, state) {
        return Plan::because("a subagent that is not known");
    }
    let mut plan = Plan::because(format!("agent {id} ended: {FAILED}"));
    let mut live = record::open_session(event, state, context);
    let mut agent = live.take_agent(id).unwrap_or_default();
    if let Some(side) = subagent_stop::side_file_of(event, id, context) {
        agent.identify(&side, &context.redact);
    }
    let result = AgentResult::from_agent(agent, FAILED, context.now);
    let message =
        event.text("last_assistant_message").map(|text| context.redact.line(&text, LONGEST_RESULT));
    let mut witness = Witness::new(state, context);
    witness.end(&result, message.as_deref());
    subagent_stop::end(&mut plan, &mut live, &[result], state, context);
    witness.put(&mut plan);
    record::put_with_copies(&mut plan, &live, state);
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::StopFailure;
    use crate::errors::document::{ESCALATED, Errors, PENDING};
    use crate::hooks::testing::*;
    use crate::session::live::Live;
    use crate::state::map::Files;

    fn limited() -> serde_json::Value {
        json!({"error": "rate_limit", "last_assistant_message": "API Error: 429", "prompt_id": "p1"})
    }

    #[test]
    fn an_error_of_the_api_is_recorded_and_ends_an_agent() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1"]));
        let failed = plan_event(StopFailure, limited(), &files);
        let record = put_of::<Errors>(&failed, &()).unwrap().records().remove(0);
        assert_eq!((record.target.as_str(), record.status.as_str()), ("API rate_limit", PENDING));
        assert_eq!(own_record(&failed).open_targets, ["API rate_limit"]);
        assert_eq!(failed.reply, crate::core::reply::Reply::default());
        let of_agent =
            plan_event(StopFailure, json!({"agent_id": "a1", "error": "rate_limit"}), &files);
        assert_eq!(put_of::<AgentResult>(&of_agent, "a1").unwrap().status, FAILED);
        assert_eq!(own_record(&of_agent).agents_failed, 1);
    }

    #[test]
    fn an_empty_state_gets_a_record_and_what_needs_a_person_waits_for_the_next_event() {
        let event =
            json!({"error": "authentication_failed", "last_assistant_message": "API Error: 401"});
        let plan = plan_event(StopFailure, event, &Files::default());
        assert_eq!(put_of::<Errors>(&plan, &()).unwrap().records()[0].status, ESCALATED);
        assert_eq!(own_record(&plan).errors_escalated, 1);
        let (key, text) = &plan.notices[0];
        assert!(key == "escalated/fresh" && text.contains("needs you"), "{text}");
    }

    #[test]
    fn the_errors_and_agents_of_another_session_stay() {
        let plan = plan_beside_other(StopFailure, limited(), Some(&own_session(&[])));
        let errors = put_of::<Errors>(&plan, &()).unwrap();
        let owners: Vec<String> =
            errors.records().into_iter().map(|error| error.session_id).collect();
        assert_eq!(owners, [OTHER, OWN]);
        let stray = json!({"agent_id": OTHER_AGENT, "error": "rate_limit"});
        assert_eq!(plan_beside_other(StopFailure, stray, Some(&own_session(&[]))).changes, []);
    }
}
