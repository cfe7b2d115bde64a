//! PermissionDenied: auto mode did not let a call through. The client tells the model why; the error
//! is recorded, and a person is called when the same is denied again. What the user should hear of
//! waits for the next event that can say it.

use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::errors::document::Class;
use crate::hooks::failures::{self, FailedCall};
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let mut live = record::open_session(event, state, context);
    let tool_use_id = event.text("tool_use_id");
    if let (true, Some(call)) = (event.is_agent_tool(), &tool_use_id) {
        live.drop_call(call);
    }
    let mut witness = Witness::new(state, context);
    witness.mark_seen(event, &mut live);
    let call = FailedCall {
        tool: event.tool_name(),
        input: event.tool_input(),
        message: event.text("reason").unwrap_or_else(|| "Permission denied".into()),
        tool_use_id,
        class: Class::Permission,
    };
    let mut plan = failures::record(vec![call.failure(event, context)], live, state, context);
    witness.put(&mut plan);
    plan.reply.context = None;
    if let Some(text) = plan.reply.take_message() {
        plan.notices.push((format!("escalated/{}", context.fresh_id), text));
    }
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::core::event::Kind::{PermissionDenied, PostToolBatch};
    use crate::errors::document::{ESCALATED, Errors};
    use crate::hooks::testing::*;
    use crate::state::map::Files;

    fn denied(call: &str) -> Value {
        json!({"tool_name": "Bash", "tool_use_id": call,
            "tool_input": {"command": "git push --force"}, "reason": "It rewrites history"})
    }

    #[test]
    fn a_denied_call_is_recorded_and_a_person_called_the_second_time() {
        let first = plan_event(PermissionDenied, denied("c1"), &Files::default());
        let record = put_of::<Errors>(&first, &()).unwrap().records().remove(0);
        assert_eq!(
            (record.status.as_str(), record.message.as_str()),
            (ESCALATED, "It rewrites history")
        );
        assert!(first.notices.is_empty() && first.reply == Default::default());
        let files = after(&Files::default(), &first);
        // The batch that the call was in says the same.
        let batch = json!({"tool_calls": [{"tool_name": "Bash", "tool_use_id": "c1",
            "tool_response": "Permission for this action was denied by the auto mode classifier"}]});
        assert_eq!(put_of::<Errors>(&plan_event(PostToolBatch, batch, &files), &()), None);
        let again = plan_event(PermissionDenied, denied("c2"), &files);
        let errors = put_of::<Errors>(&again, &()).unwrap();
        assert_eq!((errors.records()[0].occurrences, errors.summary.total), (2, 1));
        assert!(again.notices[0].1.contains("needs you") && again.reply.message.is_none());
    }

    #[test]
    fn another_session_is_left_alone() {
        plan_beside_other(PermissionDenied, denied("c1"), None);
    }
}
