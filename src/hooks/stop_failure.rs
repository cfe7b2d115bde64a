//! StopFailure: an API error ended the turn. Nothing can be printed here, so what the user should
//! hear of waits for the next event.

use crate::books::Extra;
use crate::books::clip_block;
use crate::books::errors::{Class, Failure};
use crate::event::Event;
use crate::facts::{classify, retry};
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};

use super::desk;
use super::post_tool_use_failure::{LONGEST_MESSAGE, record};

/// The tool's name for failures of the API itself; a turn that ends well recovers them.
pub const API: &str = "API";

pub fn asks(event: &Event, snapshot: &Snapshot, _: &Context) -> Vec<Ask> {
    if event.agent_id.is_some() {
        return Vec::new();
    }
    let mut asks = desk::asks_with_copies(event, snapshot);
    asks.push(Ask::Errors);
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("a subagent's turn, not the session's");
    }
    let live = desk::take(event, snapshot, context);
    let error = event.text("error").unwrap_or_else(|| "unknown".into());
    let message = event.text("last_assistant_message").unwrap_or_default();
    let class = match classify::stop_failure(&error, &message) {
        // There is no source file behind an API error.
        Class::Syntax | Class::Answer => Class::Unknown,
        class => class,
    };
    let mut details = Extra::new();
    details.insert("error".into(), error.clone().into());
    let failure = Failure {
        class,
        tool: API.into(),
        target: format!("{API} {error}"),
        message: clip_block(&context.redact.text(&message), LONGEST_MESSAGE),
        context: details,
        session_id: event.session_id.clone(),
        agent_id: None,
        // The turn is what failed; a repeated report of the same turn is the same failure.
        tool_use_id: event.prompt_id(),
        not_before: match class {
            Class::RateLimit => retry::at(&message, context.now),
            _ => None,
        },
    };
    let mut plan = record(failure, live, snapshot, context);
    plan.reply.context = None;
    if let Some(text) = plan.reply.message.take() {
        plan.notices.push((format!("escalated/{}", context.fresh_id), text));
    }
    plan
}
