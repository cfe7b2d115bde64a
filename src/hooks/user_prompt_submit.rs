//! UserPromptSubmit: what a person wants now, or the client's word that a background agent ended.

use crate::books::live::Lineage;
use crate::books::saved::{IDLE, Workflow};
use crate::event::Event;
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};

use super::{desk, drive, session_start, synthesis, tell};

pub fn asks(event: &Event, snapshot: &Snapshot, _: &Context) -> Vec<Ask> {
    let mut asks = desk::asks_with_copies(event, snapshot);
    asks.extend(drive::asks_to_adopt());
    if let Some(live) = snapshot.own(event) {
        if is_machine_made(&prompt(event)) && tell::is_due(live) {
            asks.extend(synthesis::asks(Some(live), snapshot));
        }
        if live.source == "fork" && live.lineage.is_none() {
            asks.extend(session_start::fork_parent(event));
        }
    }
    let drives = snapshot.own(event).is_some_and(|live| live.loop_task.is_some());
    asks.extend((snapshot.has(&Ask::Live) && !drives).then_some(Ask::Iterative));
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    let prompt = prompt(event);
    let mut live = desk::take(event, snapshot, context);
    let mut plan = Plan::because("a prompt");
    desk::seen(&mut live, context);
    if let (None, Some(parent)) = (&live.lineage, &snapshot.fork_parent) {
        live.lineage = Some(Lineage::new(parent.clone(), "fork"));
    }
    if is_machine_made(&prompt) {
        plan.outcome = "a notification".into();
        if tell::is_due(&live) {
            let synthesis = synthesis::of(&live, snapshot);
            plan.reply.context = tell::tell(&mut live, &synthesis);
        }
    } else if !prompt.trim().is_empty() {
        // Calls that never became agents (denied, interrupted) end with their turn.
        live.calls.clear();
        // So does what a signal has moved.
        live.loop_signalled = false;
        live.task = Some(context.task(&prompt));
        if let Some(command) = slash_command(&prompt) {
            live.add_command(command, event.prompt_id(), false);
            let args = prompt.get(command.len() + 1..).unwrap_or_default();
            live.workflow = Some(Workflow::of(command, args, &context.redact));
            plan.outcome = format!("a prompt: /{command}");
        } else if let Some(workflow) = &mut live.workflow {
            workflow.phase = Some(IDLE.into());
        }
    }
    let took = drive::adopt(&mut plan, &mut live, snapshot) == Some(drive::Name::Autonomous);
    let approved = match is_machine_made(&prompt) {
        true => None,
        false => drive::autonomous::hear(&mut plan, &live, snapshot, &prompt, took, context),
    };
    desk::put(&mut plan, snapshot, &live);
    if let Some(approved) = approved {
        approved.put(&mut plan);
    }
    plan
}

fn prompt(event: &Event) -> String {
    event.text("prompt").unwrap_or_default()
}

/// Turns that the client starts by itself are wrapped in a tag.
fn is_machine_made(prompt: &str) -> bool {
    let tags = ["task-notification", "system-reminder", "local-command-", "command-name", "bash-"];
    let prompt = prompt.trim_start();
    prompt.strip_prefix('<').is_some_and(|rest| tags.iter().any(|tag| rest.starts_with(tag)))
}

/// The name in `/name arguments`. A path is no command.
fn slash_command(prompt: &str) -> Option<&str> {
    let name = prompt.strip_prefix('/')?.split_whitespace().next()?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    (name.len() <= 64 && name.chars().all(plain)).then_some(name)
}
