//! UserPromptExpansion: a slash command. UserPromptSubmit has usually counted it already.

use crate::books::clip;
use crate::books::workflow::Workflow;
use crate::context::Context;
use crate::event::Event;
use crate::plan::Plan;
use crate::state::State;

use super::session_record;

const LONGEST_NAME: usize = 64;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let Some(name) = event.text("command_name") else {
        return Plan::because("no command is named");
    };
    let name = clip(name.trim_start_matches('/'), LONGEST_NAME);
    let mut live = session_record::open_session(event, state, context);
    live.add_command(&name, event.prompt_id(), true);
    let args = event.text("command_args").unwrap_or_default();
    live.workflow = Some(Workflow::of(&name, &args, &context.redact));
    session_record::mark_seen(&mut live, context);
    let mut plan = Plan::because(format!("/{name}"));
    session_record::put_with_copies(&mut plan, &live, state);
    plan
}
