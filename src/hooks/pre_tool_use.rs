//! PreToolUse of the `Agent` tool: a call that will start an agent. Which one is certain only when
//! the call answers, so it is kept as a call, not as an agent's task.

use crate::books::agent::Call;
use crate::event::Event;
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};

use super::desk;

pub fn asks(event: &Event, snapshot: &Snapshot, _: &Context) -> Vec<Ask> {
    if event.is_agent_tool() { desk::asks(event, snapshot) } else { Vec::new() }
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    let Some(tool_use_id) = event.text("tool_use_id").filter(|_| event.is_agent_tool()) else {
        return Plan::because("nothing to record");
    };
    let mut live = desk::take(event, snapshot, context);
    let input = event.tool_input();
    live.add_call(Call {
        tool_use_id,
        kind: input.word("subagent_type"),
        task: task(event, context),
        background: input.raw("run_in_background").map(|_| input.flag("run_in_background")),
        ..Call::default()
    });
    let mut plan = Plan::because("an agent is called for");
    desk::put(&mut plan, snapshot, &live);
    plan
}

/// The description of an `Agent` call.
pub fn task(event: &Event, context: &Context) -> Option<String> {
    let description = event.tool_input().word("description")?;
    Some(context.task(&description))
}
