//! UserPromptExpansion: a slash command. UserPromptSubmit has usually counted it already.

use crate::books::clip;
use crate::books::saved::Workflow;
use crate::event::Event;
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};

use super::desk;

const LONGEST_NAME: usize = 64;

pub fn asks(event: &Event, snapshot: &Snapshot, _: &Context) -> Vec<Ask> {
    desk::asks_with_copies(event, snapshot)
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    let Some(name) = event.text("command_name") else {
        return Plan::because("no command is named");
    };
    let name = clip(name.trim_start_matches('/'), LONGEST_NAME);
    let mut live = desk::take(event, snapshot, context);
    live.add_command(&name, event.prompt_id(), true);
    let args = event.text("command_args").unwrap_or_default();
    live.workflow = Some(Workflow::of(&name, &args, &context.redact));
    desk::seen(&mut live, context);
    let mut plan = Plan::because(format!("/{name}"));
    desk::put(&mut plan, snapshot, &live);
    plan
}
