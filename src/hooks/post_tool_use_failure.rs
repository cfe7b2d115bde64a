//! PostToolUseFailure: a failure is classified, recorded, and the model told whether a retry makes
//! sense. A user's interrupt is no failure.

use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::errors::classify;
use crate::errors::document::Class;
use crate::hooks::failures::{self, FailedCall};
use crate::loops::drive;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let agent_call = event.text("tool_use_id").filter(|_| event.is_agent_tool());
    if event.fields.flag("is_interrupt") {
        return interrupted(agent_call, event, state, context);
    }
    let mut live = record::open_session(event, state, context);
    if let Some(call) = &agent_call {
        live.drop_call(call);
    }
    drive::at_work(event, &mut live);
    let note = record::take_nudge(event, &mut live, context);
    let mut witness = Witness::new(state, context);
    witness.mark_seen(event, &mut live);
    let mut plan =
        failures::record(vec![call(event).failure(event, context)], live, state, context);
    witness.put(&mut plan);
    if let Some(note) = note {
        plan.reply.tell_model(&note);
    }
    plan
}

/// No error; but a call for an agent that was interrupted waits for none any more.
fn interrupted(
    agent_call: Option<String>,
    event: &Event,
    state: &State,
    context: &Context,
) -> Plan {
    let mut plan = Plan::because("a user's interrupt is no error");
    let waits = |id: &String| {
        let live = record::own_record(event, state);
        live.is_some_and(|live| live.calls.iter().any(|call| call.tool_use_id == *id))
    };
    if let Some(call) = agent_call.filter(waits) {
        let mut live = record::open_session(event, state, context);
        live.drop_call(&call);
        record::put_record(&mut plan, &live, state);
    }
    plan
}

fn call<'a>(event: &Event<'a>) -> FailedCall<'a> {
    let message = event.text("error").unwrap_or_default();
    let class = class(event, &message);
    FailedCall {
        tool: event.tool_name(),
        input: event.tool_input(),
        message,
        tool_use_id: event.text("tool_use_id"),
        class,
    }
}

fn class(event: &Event, message: &str) -> Class {
    let input = event.tool_input();
    let command = input.word("command");
    let call = classify::Call {
        command: command.as_deref(),
        duration_ms: event.fields.number("duration_ms"),
        timeout_ms: input.number("timeout"),
    };
    classify::failure(message, &call)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::agents::agent::Call;
    use crate::core::event::Kind::PostToolUseFailure;
    use crate::errors::document::{Errors, PENDING, QUEUED};
    use crate::hooks::testing::*;
    use crate::loops::queue::document::Queue;
    use crate::session::live::Live;
    use crate::state::map::Files;

    fn refused() -> serde_json::Value {
        json!({"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "curl a.test"},
            "error": "Exit code 7\ncurl: (7) Failed to connect: Connection refused"})
    }

    #[test]
    fn a_failure_is_recorded_and_the_model_told_when_to_retry() {
        let files = Files::default().with::<Live>(OWN, &own_session(&[]));
        let plan = plan_event(PostToolUseFailure, refused(), &files);
        let errors = put_of::<Errors>(&plan, &()).unwrap();
        let record = &errors.records()[0];
        assert_eq!((record.classification.as_str(), record.status.as_str()), ("network", PENDING));
        assert_eq!((record.id.as_str(), record.retry_count), ("error-fresh", 1));
        let live = own_record(&plan);
        assert_eq!((live.errors_encountered, &live.open_targets[0]), (1, &record.target));
        let advice = plan.reply.context.clone().unwrap();
        assert!(
            advice.contains("network error, attempt 1 of 3. A retry makes sense in"),
            "{advice}"
        );
        let again = plan_event(PostToolUseFailure, refused(), &after(&files, &plan));
        assert_eq!(put_of::<Errors>(&again, &()), None, "the same call counts once");
    }

    #[test]
    fn an_interrupted_call_waits_for_no_agent() {
        let mut before = own_session(&[]);
        let call = |id: &str| Call { tool_use_id: id.into(), ..Call::default() };
        before.calls = vec![call("c1"), call("c2")];
        let files = Files::default().with::<Live>(OWN, &before);
        let interrupt = |id: &str| {
            json!({"tool_name": "Agent", "tool_use_id": id, "is_interrupt": true,
                "tool_input": {"description": "Map"}, "error": "interrupted"})
        };
        let plan = plan_event(PostToolUseFailure, interrupt("c1"), &files);
        assert_eq!(own_record(&plan).calls, [call("c2")]);
        assert_eq!(put_of::<Errors>(&plan, &()), None);
        let unknown = plan_event(PostToolUseFailure, interrupt("c3"), &files);
        assert!(unknown.changes.is_empty());
    }

    #[test]
    fn an_empty_state_gets_a_record_with_the_work_of_a_syntax_error() {
        let error = "Exit code 1\nsrc/new.js:7\nSyntaxError: Unexpected token";
        let event =
            json!({"tool_name": "Bash", "tool_input": {"command": "node new.js"}, "error": error});
        let plan = plan_event(PostToolUseFailure, event, &Files::default());
        let queue = put_of::<Queue>(&plan, &()).unwrap();
        assert_eq!(
            (queue.items[0].file.as_deref(), queue.items[0].line),
            (Some("src/new.js"), Some(7))
        );
        assert_eq!(put_of::<Errors>(&plan, &()).unwrap().records()[0].status, QUEUED);
        assert_eq!(own_record(&plan).errors_encountered, 1);
    }

    #[test]
    fn the_same_failure_of_another_session_is_another_one() {
        let files = other().with::<Live>(OWN, &own_session(&[]));
        let target =
            own_record(&plan_event(PostToolUseFailure, refused(), &files)).open_targets.remove(0);
        let errors = Errors::with_records(vec![error(OTHER, &target)]);
        let files = files.with::<Errors>(&(), &errors);
        let plan = plan_event(PostToolUseFailure, refused(), &files);
        ensure_other_is_kept(&files, &plan);
        let errors = put_of::<Errors>(&plan, &()).unwrap();
        let owners: Vec<String> =
            errors.records().into_iter().map(|error| error.session_id).collect();
        assert_eq!((owners, errors.summary.total), (vec![OTHER.to_owned(), OWN.to_owned()], 2));
        assert_eq!(own_record(&plan).errors_encountered, 1);
    }
}
