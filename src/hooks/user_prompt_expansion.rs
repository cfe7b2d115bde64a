//! UserPromptExpansion: a slash command. UserPromptSubmit has usually counted it already.

use crate::core::event::Event;
use crate::core::text::clip;
use crate::session::record;
use crate::session::workflow::Workflow;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

const LONGEST_NAME: usize = 64;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let Some(name) = event.text("command_name") else {
        return Plan::because("no command is named");
    };
    let name = clip(name.trim_start_matches('/'), LONGEST_NAME);
    let mut live = record::open_session(event, state, context);
    live.add_command(&name, event.prompt_id(), true);
    let args = event.text("command_args").unwrap_or_default();
    live.workflow = Some(Workflow::started(&name, &args, &context.redact));
    record::mark_seen(&mut live, context);
    let mut plan = Plan::because(format!("/{name}"));
    record::put_with_copies(&mut plan, &live, state);
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::core::event::Kind::UserPromptExpansion;
    use crate::hooks::testing::*;
    use crate::session::live::Live;
    use crate::state::map::Files;

    #[test]
    fn a_command_counts_once_for_a_prompt() {
        let mut before = own_session(&[]);
        before.add_command("plan", Some("p1".into()), false);
        let files = Files::default().with::<Live>(OWN, &before);
        let count = |prompt: &str| {
            let event = json!({"command_name": "/plan", "prompt_id": prompt});
            own_record(&plan_event(UserPromptExpansion, event, &files)).commands_executed
        };
        assert_eq!((count("p1"), count("p2")), (vec!["plan".into()], vec!["plan".into(); 2]));
    }

    #[test]
    fn an_empty_state_gets_a_record_with_the_command() {
        let event = json!({"command_name": "loop", "command_args": "start"});
        let plan = plan_event(UserPromptExpansion, event, &Files::default());
        let live = own_record(&plan);
        assert_eq!((live.commands_executed, live.worked), (vec!["loop".into()], true));
        assert!(live.workflow.is_some());
    }

    #[test]
    fn another_session_does_not_get_the_command() {
        let event = json!({"command_name": "plan"});
        let plan = plan_beside_other(UserPromptExpansion, event, Some(&own_session(&[])));
        assert_eq!(own_record(&plan).commands_executed, ["plan"]);
    }
}
