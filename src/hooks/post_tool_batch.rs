//! PostToolBatch: calls that the client did not carry out are recorded. All other calls have had an
//! event of their own; a batch of only these never comes here (`may_matter` in the event's row).

use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::core::event::batch::{self, RefusedCall};
use crate::errors::classify;
use crate::errors::document::Class;
use crate::hooks::failures::{self, FailedCall};
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let calls = batch::refused_calls(event);
    if calls.is_empty() {
        return Plan::because("every call was carried out");
    }
    let mut live = record::open_session(event, state, context);
    for call in &calls {
        // An agent that was not allowed does not start.
        if let ("Agent" | "Task", Some(id)) = (call.tool.as_str(), &call.tool_use_id) {
            live.drop_call(id);
        }
    }
    let mut witness = Witness::new(state, context);
    witness.mark_seen(event, &mut live);
    let failures = calls.into_iter().map(|call| failed(call).failure(event, context)).collect();
    let mut plan = failures::record(failures, live, state, context);
    witness.put(&mut plan);
    plan
}

fn failed(call: RefusedCall) -> FailedCall {
    let class = match call.is_denied {
        true => Class::Permission,
        // The same call is refused again, whatever its message sounds like.
        false => match classify::failure(&call.message, &classify::Call::default()) {
            Class::Permission => Class::Permission,
            _ => Class::Deterministic,
        },
    };
    FailedCall {
        tool: call.tool,
        input: call.input,
        message: call.message,
        tool_use_id: call.tool_use_id,
        class,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::core::event::Kind::{PostToolBatch, PostToolUseFailure};
    use crate::errors::document::{ESCALATED, Errors, LOGGED};
    use crate::hooks::testing::*;
    use crate::session::live::Live;
    use crate::state::map::Files;

    fn edit(id: &str) -> Value {
        json!({"tool_name": "Edit", "tool_use_id": id,
            "tool_input": {"file_path": format!("{ROOT}/src/a.rs"), "old_string": "x"},
            "tool_response": "<tool_use_error>String to replace not found in file.\nString: network error</tool_use_error>"})
    }

    fn denied(id: &str) -> Value {
        json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": "rm x"},
            "tool_response": "Permission to use Bash with command rm x has been denied."})
    }

    fn read(id: &str) -> Value {
        json!({"tool_name": "Read", "tool_use_id": id, "tool_input": {"file_path": "/x"},
            "tool_response": "1\t<tool_use_error>quoted</tool_use_error>"})
    }

    #[test]
    fn calls_that_were_not_carried_out_are_recorded_once() {
        let files = Files::default().with::<Live>(OWN, &own_session(&[]));
        let batch = json!({"tool_calls": [edit("c1"), read("c2"), denied("c3")]});
        let plan = plan_event(PostToolBatch, batch.clone(), &files);
        let records = put_of::<Errors>(&plan, &()).unwrap().records();
        let found: Vec<_> = records
            .iter()
            .map(|r| (r.classification.as_str(), r.status.as_str(), r.target.as_str()))
            .collect();
        let expected =
            [("deterministic", LOGGED, "Edit src/a.rs"), ("permission", ESCALATED, "Bash rm x")];
        assert_eq!(found, expected);
        assert_ne!(records[0].id, records[1].id);
        let live = own_record(&plan);
        assert_eq!((live.errors_encountered, live.open_targets.len()), (2, 2));
        let told = plan.reply.context.clone().unwrap();
        assert!(told.contains("permission error") && !told.contains("deterministic"), "{told}");
        let again = plan_event(PostToolBatch, batch, &after(&files, &plan));
        assert_eq!(put_of::<Errors>(&again, &()), None);
        assert_eq!(own_record(&again).errors_encountered, 2);
    }

    #[test]
    fn a_call_that_failed_with_an_event_of_its_own_counts_once() {
        let failure = json!({"tool_name": "Edit", "tool_use_id": "c1",
            "tool_input": {"file_path": format!("{ROOT}/src/a.rs")}, "error": "Request timed out"});
        let first = plan_event(PostToolUseFailure, failure, &Files::default());
        let files = after(&Files::default(), &first);
        let batch = json!({"tool_calls": [edit("c1")]});
        let plan = plan_event(PostToolBatch, batch, &files);
        assert_eq!(put_of::<Errors>(&plan, &()), None);
        assert_eq!(own_record(&plan).errors_encountered, 1);
    }

    #[test]
    fn a_batch_without_such_a_call_changes_nothing() {
        let batch = json!({"tool_calls": [read("c2")]});
        let plan = plan_event(PostToolBatch, batch, &Files::default());
        assert!(plan.changes.is_empty() && plan.reply == Default::default());
    }

    #[test]
    fn another_session_is_left_alone() {
        let batch = json!({"tool_calls": [edit("c1")]});
        let plan = plan_beside_other(PostToolBatch, batch, None);
        assert_eq!(put_of::<Errors>(&plan, &()).unwrap().summary.total, 2);
    }
}
