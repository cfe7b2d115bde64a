//! UserPromptSubmit: what a person wants now, or the client's word that a background agent ended.

use crate::core::event::Event;
use crate::hooks::{context_warning, findings_report, synthesis};
use crate::loops::{Loop as _, drive, leave};
use crate::session::lineage::complete_fork;
use crate::session::record;
use crate::session::task;
use crate::session::workflow::{IDLE, Workflow};
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let prompt = event.text("prompt").unwrap_or_default();
    let prompt = task::typed(&prompt);
    let source = event.text("source");
    let is_machine_made = task::is_machine_made(prompt, source.as_deref());
    let may_decide = task::may_decide(prompt, source.as_deref(), event.agent_id.as_deref());
    let mut live = record::open_session(event, state, context);
    let mut plan = Plan::because("a prompt");
    record::mark_seen(&mut live, context);
    complete_fork(&mut live, event, context);
    if is_machine_made {
        plan.outcome = "a notification".into();
        if findings_report::is_due(&live) {
            let synthesis = synthesis::synthesis_of(&live, state);
            plan.reply.context = findings_report::report(&mut live, &synthesis);
        }
    } else if !prompt.is_empty() {
        // Calls that never became agents (denied, interrupted) end with their turn.
        live.calls.clear();
        // So does what a signal has moved.
        live.loop_signalled = false;
        live.last_prompt = Some(context.task(prompt));
        if !leave::is_asked(prompt) && task::is_task(prompt, live.task.as_deref()) {
            live.task.clone_from(&live.last_prompt);
        }
        let command = task::slash_command(prompt);
        if command.is_none() {
            live.command_expanded = false;
        }
        if let Some(command) = command {
            live.add_command(command, event.prompt_id(), false);
            let args = prompt.get(command.len() + 1..).unwrap_or_default();
            live.workflow = Some(Workflow::started(command, args, &context.redact));
            plan.outcome = format!("a prompt: /{command}");
        } else if let Some(workflow) = &mut live.workflow {
            workflow.phase = Some(IDLE.into());
        }
    }
    let turn = drive::Turn { event, state, context };
    // What nobody may decide by is only a text.
    let decision = if may_decide { prompt } else { "" };
    let is_paused = !is_machine_made && drive::at_prompt(&mut plan, &mut live, &turn, decision);
    let adopted = match is_paused {
        true => None,
        false => drive::adopt(&mut plan, event, &mut live, state, context),
    };
    let decided = match !may_decide || is_paused {
        true => None,
        false => crate::loops::autonomous::drive::decide_by_prompt(
            &mut plan, &live, &turn, prompt, adopted,
        ),
    };
    if decided.is_some() {
        live.loop_verdict = None;
    }
    context_warning::at_prompt(&mut plan, &mut live, context);
    record::put_with_copies(&mut plan, &live, state);
    if let Some(decided) = decided {
        decided.put(&mut plan, state);
    }
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::core::event::Kind::UserPromptSubmit;
    use crate::hooks::testing::*;
    use crate::loops::queue::document::Queue;
    use crate::session::live::Live;
    use crate::state::map::Files;

    #[test]
    fn a_command_is_the_task_and_counts() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1"]));
        let plan = plan_event(UserPromptSubmit, json!({"prompt": "/plan the login"}), &files);
        let live = own_record(&plan);
        assert_eq!(live.task.as_deref(), Some("/plan the login"));
        assert_eq!((live.commands_executed, live.command_counts["plan"]), (vec!["plan".into()], 1));
        assert_eq!(live.agents, own_session(&["a1"]).agents);
    }

    #[test]
    fn an_empty_state_gets_a_record_with_the_task() {
        let plan = plan_event(UserPromptSubmit, json!({"prompt": "Add login"}), &Files::default());
        let live = own_record(&plan);
        assert_eq!((live.task.as_deref(), live.worked), (Some("Add login"), true));
        assert_eq!(live.commands_executed, Vec::<String>::new());
    }

    #[test]
    fn the_loop_of_another_session_is_not_adopted_and_one_of_nobody_only_alone() {
        let prompt = || json!({"prompt": "go on"});
        let beside = plan_beside_other(UserPromptSubmit, prompt(), Some(&own_session(&[])));
        assert_eq!(put_of::<Queue>(&beside, &()), None);
        let nobody = Queue { session_id: None, ..queue_of(OTHER) };
        let shared = other().with::<Live>(OWN, &own_session(&[])).with::<Queue>(&(), &nobody);
        assert_eq!(put_of::<Queue>(&plan_event(UserPromptSubmit, prompt(), &shared), &()), None);
        let alone =
            Files::default().with::<Live>(OWN, &own_session(&[])).with::<Queue>(&(), &nobody);
        let not_ours = plan_event(UserPromptSubmit, prompt(), &alone);
        assert_eq!((put_of::<Queue>(&not_ours, &()), not_ours.notices.len()), (None, 1));
        let alone = alone.with_begun("hookkeeper loop");
        let adopted =
            put_of::<Queue>(&plan_event(UserPromptSubmit, prompt(), &alone), &()).unwrap();
        assert_eq!(adopted, queue_of(OWN));
    }
}
