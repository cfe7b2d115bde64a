//! PreToolUse of the `Agent` tool: a call that will start an agent. Which one is certain only when
//! the call answers, so it is kept as a call, not as an agent's task.

use crate::agents::agent::Call;
use crate::core::event::Event;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let Some(tool_use_id) = event.text("tool_use_id").filter(|_| event.is_agent_tool()) else {
        return Plan::because("nothing to record");
    };
    let mut live = record::open_session(event, state, context);
    let input = event.tool_input();
    live.add_call(Call {
        tool_use_id,
        kind: input.word("subagent_type"),
        task: task(event, context),
        background: input.raw("run_in_background").map(|_| input.flag("run_in_background")),
        parent_agent: event.agent_id.clone(),
        ..Call::default()
    });
    let mut plan = Plan::because("an agent is called for");
    record::put_record(&mut plan, &live, state);
    plan
}

/// The description of an `Agent` call.
pub fn task(event: &Event, context: &Context) -> Option<String> {
    let description = event.tool_input().word("description")?;
    Some(context.task(&description))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::PreToolUse;
    use crate::hooks::testing::*;
    use crate::session::live::Live;
    use crate::state::map::Files;

    fn call() -> serde_json::Value {
        json!({"tool_name": "Agent", "tool_use_id": "c1", "tool_input": {
            "description": "Map the login", "subagent_type": "Explore", "run_in_background": true
        }})
    }

    #[test]
    fn the_call_of_an_agent_is_kept_with_its_task() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1"]));
        let live = own_record(&plan_event(PreToolUse, call(), &files));
        assert_eq!((live.agents_spawned, live.calls.len()), (1, 1));
        assert_eq!(live.calls[0].task.as_deref(), Some("Map the login"));
        assert_eq!(
            (live.calls[0].kind.as_deref(), live.calls[0].background),
            (Some("Explore"), Some(true))
        );
        let other_tool = json!({"tool_name": "Bash", "tool_use_id": "c2"});
        assert_eq!(plan_event(PreToolUse, other_tool, &files), Plan::because("nothing to record"));
    }

    #[test]
    fn an_empty_state_gets_a_record_with_the_call() {
        let live = own_record(&plan_event(PreToolUse, call(), &Files::default()));
        assert_eq!((live.started.as_str(), live.calls[0].tool_use_id.as_str()), (NOW, "c1"));
    }

    #[test]
    fn another_session_does_not_get_the_call() {
        let plan = plan_beside_other(PreToolUse, call(), Some(&own_session(&[])));
        assert_eq!((own_record(&plan).calls.len(), plan.changes.len()), (1, 1));
    }
}
