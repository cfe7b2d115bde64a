//! SubagentStart: an agent runs. Its task is not in the payload; see `PostToolUse`.

use crate::books::agent::{Agent, RUNNING};
use crate::books::live::Live;
use crate::books::result::AgentResult;
use crate::context::Context;
use crate::event::Event;
use crate::plan::Plan;
use crate::state::State;

use super::session_record;
use super::subagent_stop::find_result;
use super::witness::Witness;

const REQUEST: &str = "When you report, end with a fenced JSON block: {\"findings\": [{\"severity\": \"S0|S1|S2|S3\", \
\"category\": \"security|quality|testing|performance|accessibility|general\", \"title\": \"…\", \"details\": \"…\", \
\"recommendation\": \"…\", \"file\": \"…\", \"line\": 1}], \"recommendations\": [\"…\"], \"files_analyzed\": [\"…\"]}. \
An empty findings list is a good answer.";

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let id = event.agent_id.clone().unwrap_or_default();
    let mut live = session_record::open_session(event, state, context);
    let mut plan = Plan::because(format!("agent {id} runs"));
    let mut witness = Witness::new(state, context);
    if live.agent(&id).is_some() {
        plan.outcome = format!("agent {id} runs already");
    } else {
        let earlier =
            find_result(&id, event, state).filter(|was| was.session_id == live.session_id);
        match earlier {
            Some(earlier) => {
                plan.outcome = format!("agent {id} runs again");
                uncount(&mut live, earlier);
            }
            None => live.agents_spawned += 1,
        }
        let mut agent = agent(event, id, &live, earlier, context);
        agent.branch = witness.current_folder();
        witness.start(&agent, earlier);
        agent.nudge_count = witness.nudges(&agent);
        live.calls.retain(|call| call.agent_id != Some(agent.id.clone()));
        live.add_agent(agent);
        session_record::mark_seen(&mut live, context);
    }
    session_record::put_with_copies(&mut plan, &live, state);
    witness.put(&mut plan);
    if context.settings.request_findings {
        plan.reply.context = Some(REQUEST.to_owned());
    }
    plan
}

/// A new entry for the ledger. What is certain about it already: an earlier run's task, or a call
/// that has named its agent.
pub fn agent(
    event: &Event,
    id: String,
    live: &Live,
    earlier: Option<&AgentResult>,
    context: &Context,
) -> Agent {
    let call = live.calls.iter().find(|call| call.agent_id.as_ref() == Some(&id));
    Agent {
        kind: event.text("agent_type").unwrap_or_default(),
        task: call
            .and_then(|call| call.task.clone())
            .or_else(|| earlier.and_then(|was| was.task.clone())),
        started: context.spelled(),
        status: RUNNING.into(),
        parent_task: live.task.clone(),
        session_id: live.session_id.clone(),
        tool_use_id: call
            .map(|call| call.tool_use_id.clone())
            .or_else(|| earlier.and_then(|was| was.tool_use_id.clone())),
        background: call
            .and_then(|call| call.background)
            .or_else(|| earlier.and_then(|was| was.background)),
        last_seen: context.spelled(),
        run: earlier.map_or(0, |was| was.run + 1),
        id,
        ..Agent::default()
    }
}

/// The agent had ended and runs again: it is counted when it ends the next time.
fn uncount(live: &mut Live, earlier: &AgentResult) {
    let count = match earlier.succeeded() {
        true => &mut live.agents_completed,
        false => &mut live.agents_failed,
    };
    *count = count.saturating_sub(1);
    live.findings = live.findings.saturating_sub(earlier.findings.len() as u64);
}
