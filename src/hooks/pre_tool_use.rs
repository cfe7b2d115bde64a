//! PreToolUse of the `Agent` tool: a call that will start an agent. Which one is certain only when
//! the call answers, so it is kept as a call, not as an agent's task.

use crate::books::agent::Call;
use crate::context::Context;
use crate::event::Event;
use crate::plan::Plan;
use crate::state::State;

use super::session_record;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let Some(tool_use_id) = event.text("tool_use_id").filter(|_| event.is_agent_tool()) else {
        return Plan::because("nothing to record");
    };
    let mut live = session_record::open_session(event, state, context);
    let input = event.tool_input();
    live.add_call(Call {
        tool_use_id,
        kind: input.word("subagent_type"),
        task: task(event, context),
        background: input.raw("run_in_background").map(|_| input.flag("run_in_background")),
        ..Call::default()
    });
    let mut plan = Plan::because("an agent is called for");
    session_record::put_record(&mut plan, &live, state);
    plan
}

/// The description of an `Agent` call.
pub fn task(event: &Event, context: &Context) -> Option<String> {
    let description = event.tool_input().word("description")?;
    Some(context.task(&description))
}
