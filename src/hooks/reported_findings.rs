//! The client's tool `ReportFindings`: what it was given is what was found, by an agent or by the
//! session itself.

use crate::agents::agent::Agent;
use crate::agents::findings;
use crate::agents::result::{AgentResult, Finding, SUCCESS};
use crate::core::event::Event;
use crate::core::json::Object;
use crate::core::text::keep_newest;
use crate::hooks::{subagent_stop, synthesis};
use crate::session::live::Live;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

const TOOL: &str = "ReportFindings";
const MOST: usize = 100;

/// Takes down what a call of the tool has reported, once; how much it was.
pub fn note(
    plan: &mut Plan,
    event: &Event,
    live: &mut Live,
    state: &State,
    context: &Context,
) -> Option<usize> {
    if event.tool_name() != TOOL {
        return None;
    }
    let found = findings::from_list(event.tool_input().raw("findings")?, &context.redact, reported);
    let count = found.len();
    if let Some(agent) = event.agent_id.as_deref().and_then(|id| live.agent_mut(id)) {
        // They are in its result when it ends.
        agent.reported.retain(|have| !found.contains(have));
        agent.reported.extend(found);
        keep_newest(&mut agent.reported, MOST);
        return Some(count);
    }
    let id = format!("report-{}", event.text("tool_use_id")?);
    if subagent_stop::find_result(&id, event, state).is_some() {
        return None;
    }
    let reporter = Agent {
        id,
        kind: TOOL.into(),
        task: live.task.clone(),
        started: context.spelled(),
        session_id: live.session_id.clone(),
        ..Agent::default()
    };
    let mut result = AgentResult::from_agent(reporter, SUCCESS, context.now);
    result.add_findings(found);
    live.findings += result.findings.len() as u64;
    plan.put(&state.read::<AgentResult>(&result.agent_id), &result);
    let results = [result];
    synthesis::fold(plan, live, &results, state, context);
    subagent_stop::enqueue(plan, live, &results, state);
    Some(count)
}

/// One entry of the call. The tool has no severities; what was confirmed is urgent, what is fixed
/// or was refuted is not.
fn reported(entry: &Object) -> Option<Finding> {
    let mut finding = findings::stated(entry)?;
    let word = |key: &str| entry.word(key).unwrap_or_default().to_ascii_lowercase();
    let (verdict, outcome) = (word("verdict"), word("outcome"));
    if verdict.starts_with("refuted") || verdict.starts_with("rejected") {
        return None;
    }
    finding.severity = match (verdict.as_str(), outcome.as_str()) {
        (_, "fixed") => "S3",
        ("confirmed", _) => "S1",
        _ => "S2",
    }
    .into();
    for (key, value) in [("verdict", verdict), ("outcome", outcome)] {
        if !value.is_empty() {
            finding.extra.insert(key.into(), crate::core::text::clip(&value, 40).into());
        }
    }
    Some(finding)
}
