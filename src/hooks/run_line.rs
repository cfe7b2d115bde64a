//! The line of the journal that every hook run has: what came, as far as it is worth telling. What it
//! led to is told by the plan.

use crate::core::event::{Event, Kind};
use crate::core::journal::{Entry, EntryKind, LONGEST_TEXT};
use crate::errors::target;
use crate::session::task;
use crate::turn::context::Context;

/// Characters of a last message that are kept; an agent's is in its result.
const LONGEST_MESSAGE: usize = 1000;
const LONGEST_NAME: usize = 80;

/// What an event tells by itself.
pub fn entry(event: &Event, context: &Context) -> Entry {
    let mut entry = Entry::new(event.kind.row().tells);
    entry.agent.clone_from(&event.agent_id);
    entry.prompt_id = event.prompt_id();
    entry.ms = event.fields.number("duration_ms");
    let name = |key: &str| {
        event.text(key).map(|text| context.redact.line(&text, LONGEST_NAME)).unwrap_or_default()
    };
    let text = |key: &str, most: usize| {
        event.text(key).map(|text| context.redact.block(&text, most)).unwrap_or_default()
    };
    entry = match entry.kind {
        EntryKind::Start => entry.what(name("source")),
        EntryKind::Prompt => prompt(entry, event, context),
        EntryKind::Command => {
            entry.what(name("command_name")).text(text("command_args", LONGEST_TEXT))
        }
        EntryKind::Call if event.is_agent_tool() => call(entry, event, context),
        // Whoever wires it for other tools has nothing to tell by that.
        EntryKind::Call => Entry { kind: EntryKind::Run, ..entry },
        EntryKind::Tool => {
            entry.target = Some(target::describe_target(
                &event.tool_name(),
                &event.tool_input(),
                &context.root,
                &context.redact,
            ));
            entry.failed = event.kind != Kind::PostToolUse;
            entry
        }
        EntryKind::Compact => entry.what(name("trigger")),
        EntryKind::Compacted => {
            entry.what(name("trigger")).text(text("compact_summary", LONGEST_TEXT))
        }
        EntryKind::Stop => {
            entry.failed = event.kind == Kind::StopFailure;
            entry.what(name("error")).text(text("last_assistant_message", LONGEST_MESSAGE))
        }
        EntryKind::Model => entry.what(name("to_model")).target(name("from_model")),
        EntryKind::Notification => {
            entry.what(name("notification_type")).text(text("message", LONGEST_TEXT))
        }
        EntryKind::End
        | EntryKind::AgentStart
        | EntryKind::AgentEnd
        | EntryKind::Error
        | EntryKind::Recovered
        | EntryKind::Loop
        | EntryKind::Gate
        | EntryKind::Handoff
        | EntryKind::Rejected
        | EntryKind::Spooled
        | EntryKind::Run
        | EntryKind::Other => entry,
    };
    entry.call = event.text("tool_use_id");
    event.kind.wire().clone_into(&mut entry.event);
    entry
}

fn prompt(entry: Entry, event: &Event, context: &Context) -> Entry {
    let prompt = event.text("prompt").unwrap_or_default();
    let typed = task::typed(&prompt);
    let is_machine_made = task::is_machine_made(typed, event.text("source").as_deref());
    let entry = entry.text(context.redact.block(typed, LONGEST_TEXT));
    if is_machine_made { entry.what("machine") } else { entry }
}

/// What an agent is asked to do.
fn call(entry: Entry, event: &Event, context: &Context) -> Entry {
    let input = event.tool_input();
    let text = |key: &str, most: usize| {
        input.word(key).map(|text| context.redact.block(&text, most)).unwrap_or_default()
    };
    entry
        .what(text("subagent_type", LONGEST_NAME))
        .target(input.word("description").map(|task| context.task(&task)).unwrap_or_default())
        .text(text("prompt", LONGEST_TEXT))
}
