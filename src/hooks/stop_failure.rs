//! StopFailure: an API error ended the turn, or a subagent. Nothing can be printed here, so what the
//! user should hear of waits for the next event.

use crate::books::Extra;
use crate::books::errors::{Class, Failure};
use crate::books::result::{AgentResult, FAILED};
use crate::books::{clip, clip_block};
use crate::context::Context;
use crate::event::Event;
use crate::facts::classify;
use crate::plan::Plan;
use crate::state::State;

use super::post_tool_use_failure::{LONGEST_MESSAGE, not_before, record};
use super::witness::Witness;
use super::{session_record, subagent_stop};

const LONGEST_NAME: usize = 80;

/// The tool's name for failures of the API itself; a turn that ends well recovers them.
pub const API: &str = "API";

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if let Some(id) = &event.agent_id {
        return agent_failed(event, id, state, context);
    }
    let live = session_record::open_session(event, state, context);
    let error = event.text("error").unwrap_or_else(|| "unknown".into());
    let error = clip(&context.redact.text(&error), LONGEST_NAME);
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
        not_before: not_before(class, &message, context),
    };
    let mut plan = record(failure, live, state, context);
    plan.reply.context = None;
    if let Some(text) = plan.reply.message.take() {
        plan.notices.push((format!("escalated/{}", context.fresh_id), text));
    }
    plan
}

/// An API error has ended a subagent; its SubagentStop will not come.
fn agent_failed(event: &Event, id: &str, state: &State, context: &Context) -> Plan {
    if !subagent_stop::runs(event, id, state) {
        return Plan::because("a subagent that is not in the books");
    }
    let mut plan = Plan::because(format!("agent {id} ended: {FAILED}"));
    let mut live = session_record::open_session(event, state, context);
    let mut agent = live.take_agent(id).unwrap_or_default();
    let side_file = subagent_stop::side_file_of(event, id, context);
    subagent_stop::identify(&mut agent, side_file.as_ref(), context);
    let result = AgentResult::of(agent, FAILED, context.now);
    let message = event.text("last_assistant_message").map(|text| context.redact.text(&text));
    let mut witness = Witness::new(state, context);
    witness.end(&result, message.as_deref());
    subagent_stop::end(&mut plan, &mut live, &[result], state, context);
    witness.put(&mut plan);
    session_record::put_with_copies(&mut plan, &live, state);
    plan
}
