//! What the answer of an `Agent` call says about its agent. Usually SubagentStop has said it before;
//! where that did not come, nobody else does.

use serde_json::Value;

use crate::agents::agent::Agent;
use crate::agents::findings;
use crate::agents::result::{AgentResult, SUCCESS};
use crate::core::event::Event;
use crate::hooks::subagent_stop;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

/// What the client puts before a report.
const CLIENTS_OWN: &str = "<tools-used-before-summary>";

/// Keeps what an agent has answered whose end was not seen: whoever ends it finds it in its result.
pub fn keep(plan: &mut Plan, agent: &Agent, event: &Event, state: &State, context: &Context) {
    let mut result = AgentResult::from_agent(agent.clone(), SUCCESS, context.now);
    result.provisional = true;
    if !add_report(&mut result, event, context) {
        return;
    }
    add_figures(&mut result, event, context);
    if let Some(earlier) = subagent_stop::earlier_run(agent, state) {
        result.add_findings(earlier.findings.clone());
    }
    plan.put(&state.read::<AgentResult>(&agent.id), &result);
}

/// Takes the report out of the answer; whether there is one.
pub fn add_report(result: &mut AgentResult, event: &Event, context: &Context) -> bool {
    let parts = event.tool_response().objects("content").unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.word("text"));
    let texts: Vec<String> = texts.filter(|text| !text.starts_with(CLIENTS_OWN)).collect();
    let report = texts.join("\n");
    if report.trim().is_empty() {
        return false;
    }
    let found = findings::read(&report, &context.redact);
    result.keep_report(&report, &context.redact);
    result.add_findings(found.findings);
    result.recommendations = found.recommendations;
    result.add_files(found.files);
    true
}

/// Takes in the prompt, if nobody knew it, and the figures.
pub fn add_figures(result: &mut AgentResult, event: &Event, context: &Context) {
    if let (None, Some(prompt)) = (&result.prompt, event.tool_input().word("prompt")) {
        result.keep_prompt(&prompt, &context.redact);
    }
    let response = event.tool_response();
    let reads = response.object("toolStats").and_then(|stats| stats.number("readCount"));
    result.metrics.files_read = result.metrics.files_read.max(reads.unwrap_or(0));
    for (key, name) in [
        ("totalToolUseCount", "tool_uses"),
        ("totalTokens", "tokens"),
        ("totalDurationMs", "duration_ms"),
    ] {
        if let Some(number) = response.number(key) {
            result.metrics.extra.insert(name.into(), Value::from(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::result::LOST;
    use crate::core::event::Kind::{PostToolUse, Stop, SubagentStop};
    use crate::hooks::testing::*;
    use crate::session::live::Live;
    use crate::state::map::Files;

    fn answer() -> Value {
        json!({"tool_name": "Agent", "tool_use_id": "c1",
            "tool_input": {"description": "Audit", "prompt": "Audit the login"},
            "tool_response": {"agentId": "a1", "agentType": "Explore", "status": "completed",
                "totalTokens": 1020, "content": [
                    {"type": "text", "text": "<tools-used-before-summary>Bash</tools-used-before-summary>\n"},
                    {"type": "text", "text": "- **[S1]** No rate limit in src/login.rs:42"}]}})
    }

    fn check(result: &AgentResult) {
        assert_eq!((result.status.as_str(), result.provisional), (SUCCESS, true));
        assert_eq!(result.prompt.as_deref(), Some("Audit the login"));
        assert_eq!(result.report.as_deref(), Some("- **[S1]** No rate limit in src/login.rs:42"));
        assert_eq!((result.findings.len(), result.report_lines), (1, 1));
        assert_eq!(result.metrics.extra["tokens"], 1020);
        assert_eq!(result.task.as_deref(), Some("Audit"));
    }

    #[test]
    fn without_a_subagent_stop_the_report_is_kept() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1"]));
        let files = after(&files, &plan_event(PostToolUse, answer(), &files));
        let plan = plan_event(Stop, json!({"background_tasks": []}), &files);
        check(&put_of::<AgentResult>(&plan, "a1").unwrap());
        let live = own_record(&plan);
        assert_eq!((live.agents_completed, live.findings, live.agents.len()), (1, 1, 0));
        // One that comes after all has the last word.
        let files = after(&files, &plan);
        let late =
            json!({"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": "Fine."});
        let plan = plan_event(SubagentStop, late, &files);
        let result = put_of::<AgentResult>(&plan, "a1").unwrap();
        assert_eq!((result.report.as_deref(), result.provisional), (Some("Fine."), false));
        assert_eq!((own_record(&plan).agents_completed, own_record(&plan).findings), (1, 0));
    }

    #[test]
    fn an_agent_that_was_given_up_has_answered() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1"]));
        let plan = plan_event(Stop, json!({"background_tasks": []}), &files);
        assert_eq!(put_of::<AgentResult>(&plan, "a1").unwrap().status, LOST);
        let plan = plan_event(PostToolUse, answer(), &after(&files, &plan));
        check(&put_of::<AgentResult>(&plan, "a1").unwrap());
        let live = own_record(&plan);
        assert_eq!((live.agents_completed, live.agents_failed, live.findings), (1, 0, 1));
    }
}
