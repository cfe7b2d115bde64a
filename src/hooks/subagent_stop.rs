//! SubagentStop: what the agent found becomes a result, and the result part of the synthesis.

use std::path::PathBuf;

use crate::agents::agent::{Agent, ENDING};
use crate::agents::findings;
use crate::agents::result::{AgentResult, ArchivedResult, FAILED, Finding, INTERRUPTED, SUCCESS};
use crate::branch::agents_document::LONGEST_RESULT;
use crate::branch::witness::Witness;
use crate::client::side_file::{self, SideFile};
use crate::client::transcript::AgentWork;
use crate::core::event::Event;
use crate::core::text::plural;
use crate::hooks::{execution_task, subagent_start, synthesis};
use crate::loops::queue::document::Queue;
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if let Some(reason) = reason_to_skip(event, state) {
        return Plan::because(reason);
    }
    let id = event.agent_id.clone().unwrap_or_default();
    let mut live = record::open_session(event, state, context);
    let mut plan = Plan::default();
    let mut witness = Witness::new(state, context);
    if live.agent(&id).is_none() {
        // Its start was never seen. What is about to happen is written down first: if we are
        // killed, the next Stop sees by the result whether it happened.
        live.agents_spawned += 1;
        let agent = subagent_start::agent(event, id.clone(), &live, None, context);
        let branch = witness.current_folder();
        live.add_agent(Agent { status: ENDING.into(), branch, ..agent });
        plan.put(&state.read::<Live>(&live.session_id), &live);
    }
    execution_task::end(&mut plan, event, state, context);
    let message = event.text("last_assistant_message");
    let result = result(event, &id, message.as_deref(), &mut live, context);
    plan.outcome = format!(
        "agent {} ended: {}, {}",
        result.agent_id,
        result.status,
        plural(result.findings.len(), "finding")
    );
    record::mark_seen(&mut live, context);
    let words = message.map(|message| context.redact.line(&message, LONGEST_RESULT));
    witness.end(&result, words.as_deref());
    end(&mut plan, &mut live, &[result], state, context);
    witness.put(&mut plan);
    record::put_with_copies(&mut plan, &live, state);
    plan
}

/// Writes down how agents ended: their results, the session's counts, the synthesis, and what is
/// urgent as work items. The record itself is put by the caller, last.
pub fn end(
    plan: &mut Plan,
    live: &mut Live,
    results: &[AgentResult],
    state: &State,
    context: &Context,
) {
    for result in results {
        count(live, result);
        plan.put(&state.read::<AgentResult>(&result.agent_id), result);
    }
    synthesis::fold(plan, live, results, state, context);
    enqueue(plan, live, results, state);
}

/// What is urgent becomes a work item, once: without a loop it waits for one.
pub fn enqueue(plan: &mut Plan, live: &Live, results: &[AgentResult], state: &State) {
    let findings = results.iter().flat_map(|result| &result.findings);
    let urgent: Vec<&Finding> =
        findings.filter(|finding| matches!(finding.severity.as_str(), "S0" | "S1")).collect();
    if urgent.is_empty() {
        return;
    }
    let read = state.read::<Queue>(&());
    if read.is_frozen() {
        return;
    }
    let mut queue = read.value.cloned().unwrap_or_default();
    let added = urgent.iter().filter(|finding| queue.add_finding(finding, &live.session_id));
    if added.count() > 0 {
        crate::loops::queue::drive::put_items(plan, &queue, state);
    }
}

/// Whether the session's record has this agent as running.
pub fn runs(event: &Event, agent_id: &str, state: &State) -> bool {
    record::own_record(event, state).is_some_and(|live| live.agent(agent_id).is_some())
}

/// The result of an agent. Events may come after their session was closed, and its results moved.
pub fn find_result<'s>(id: &str, event: &Event, state: &'s State) -> Option<&'s AgentResult> {
    let archived = || {
        let key = (event.session_id.clone(), id.to_owned());
        Some(&state.get_by::<ArchivedResult>(&key)?.0)
    };
    match state.get_by::<AgentResult>(id) {
        None if !record::is_live(&event.session_id, state) => archived(),
        result => result,
    }
}

/// The result that an agent's present run has already left.
pub fn result_of_this_run<'s>(agent: &Agent, state: &'s State) -> Option<&'s AgentResult> {
    let result = state.get_by::<AgentResult>(&agent.id)?;
    let own = result.session_id == agent.session_id && result.run == agent.run;
    (own && result.completed >= agent.started).then_some(result)
}

/// Takes back the entry of an agent whose end was about to be written down, and was not.
pub fn take_back(live: &mut Live, agent: &Agent) -> bool {
    let never_happened = agent.status == ENDING;
    live.agents_spawned -= u64::from(never_happened).min(live.agents_spawned);
    never_happened
}

/// Adds an ended agent to the session's counts.
pub fn count(live: &mut Live, result: &AgentResult) {
    if result.succeeded() {
        live.agents_completed += 1;
    } else {
        live.agents_failed += 1;
    }
    live.findings += result.findings.len() as u64;
    live.untold_findings += result.findings.len() as u64;
}

fn reason_to_skip(event: &Event, state: &State) -> Option<&'static str> {
    let id = event.agent_id.as_deref().unwrap_or_default();
    if runs(event, id, state) {
        return None;
    }
    let result = find_result(id, event, state);
    if result.is_some_and(|was| was.session_id == event.session_id) {
        return Some("the agent had ended already");
    }
    event.text("agent_type").is_none().then_some("not an agent: the client's own helper")
}

fn result(
    event: &Event,
    id: &str,
    message: Option<&str>,
    live: &mut Live,
    context: &Context,
) -> AgentResult {
    let mut agent = live.take_agent(id).unwrap_or_default();
    let listed = event.background_tasks().unwrap_or_default();
    let listed = listed.into_iter().find(|task| task.id == agent.id);
    if let (None, Some(task)) = (&agent.task, listed.and_then(|task| task.description)) {
        agent.task = Some(context.task(&task));
    }
    let side_file = side_file_of(event, id, context);
    identify(&mut agent, side_file.as_ref(), context);
    if agent.kind.is_empty() {
        agent.kind = event.text("agent_type").unwrap_or_default();
    }

    let transcript = event.text("agent_transcript_path").map(PathBuf::from);
    let work = transcript.map(|path| context.facts.agent_work(&path)).unwrap_or_default();
    let otherwise = if message.is_some() { SUCCESS } else { INTERRUPTED };
    let status = how_it_ended(&work, side_file.as_ref()).unwrap_or(otherwise);
    let found = findings::read(message.unwrap_or_default(), &context.redact);
    let reported = std::mem::take(&mut agent.reported);
    let mut result = AgentResult::from_agent(agent, status, context.now);
    if let Some(prompt) = &work.prompt {
        result.keep_prompt(prompt, &context.redact);
    }
    if let Some(message) = message {
        result.keep_report(message, &context.redact);
    }
    if let Some(tokens) = work.tokens {
        result.metrics.extra.insert("tokens".into(), tokens.into());
    }
    result.files_analyzed = found.files;
    for file in work.files.iter().rev() {
        let file = context.relative(file);
        if !result.files_analyzed.contains(&file) {
            result.files_analyzed.push(file);
        }
    }
    result.metrics.files_read = work.reads;
    result.add_findings(reported);
    result.add_findings(found.findings);
    result.recommendations = found.recommendations;
    result
}

/// What the client's side file says about an agent.
pub fn side_file_of(event: &Event, agent_id: &str, context: &Context) -> Option<SideFile> {
    let path = side_file::path(&event.text("transcript_path")?, agent_id)?;
    context.facts.side_file(&path)
}

/// Fills in what the side file says for certain and nobody said before.
pub fn identify(agent: &mut Agent, side: Option<&SideFile>, context: &Context) {
    let Some(side) = side else { return };
    if let (None, Some(task)) = (&agent.task, &side.description) {
        agent.task = Some(context.task(task));
    }
    agent.tool_use_id = agent.tool_use_id.take().or_else(|| side.tool_use_id.clone());
    agent.background = agent.background.or(side.background);
}

/// The end that the client's files tell of; `None` if they tell of none.
pub fn how_it_ended(work: &AgentWork, side: Option<&SideFile>) -> Option<&'static str> {
    if work.ended_in_api_error {
        return Some(FAILED);
    }
    side.filter(|side| side.stopped_by_user).map(|_| INTERRUPTED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::synthesis::{ParkedSynthesis, Synthesis};
    use crate::core::event::Kind::SubagentStop;
    use crate::hooks::testing::*;
    use crate::state::map::Files;

    const REPORT: &str = "Done.\n```json\n{\"findings\": [{\"severity\": \"S1\", \"category\": \
        \"security\", \"title\": \"Empty passwords pass\", \"file\": \"src/login.ts\"}]}\n```";

    fn ended() -> serde_json::Value {
        json!({"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": REPORT})
    }

    #[test]
    fn what_it_found_is_a_result_a_synthesis_and_work() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1", "a2"]));
        let plan = plan_event(SubagentStop, ended(), &files);
        let result = put_of::<AgentResult>(&plan, "a1").unwrap();
        assert_eq!((result.status.as_str(), result.duration_seconds), (SUCCESS, 3600));
        assert_eq!(result.findings[0].title, "Empty passwords pass");
        let synthesis = put_of::<Synthesis>(&plan, &()).unwrap();
        assert_eq!((synthesis.summary.s1, synthesis.complete), (1, false));
        let queue = put_of::<Queue>(&plan, &()).unwrap();
        assert_eq!(queue.items[0].file.as_deref(), Some("src/login.ts"));
        let live = own_record(&plan);
        assert_eq!((live.agents_completed, live.findings, live.agents.len()), (1, 1, 1));
    }

    #[test]
    fn an_empty_state_counts_an_agent_whose_start_was_not_seen() {
        let plan = plan_event(SubagentStop, ended(), &Files::default());
        let live = own_record(&plan);
        assert_eq!((live.agents_spawned, live.agents_completed), (1, 1));
        assert_eq!(live.agents, []);
        assert_eq!(put_of::<AgentResult>(&plan, "a1").unwrap().session_id, OWN);
        let helper = plan_event(
            SubagentStop,
            json!({"agent_id": "a1", "last_assistant_message": REPORT}),
            &Files::default(),
        );
        assert_eq!(helper, Plan::because("not an agent: the client's own helper"));
    }

    #[test]
    fn the_synthesis_of_another_session_is_parked_and_not_folded_into() {
        let plan = plan_beside_other(SubagentStop, ended(), Some(&own_session(&["a1"])));
        let synthesis = put_of::<Synthesis>(&plan, &()).unwrap();
        let ids: Vec<&str> = synthesis.agents.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!((synthesis.session_id.as_str(), ids), (OWN, vec!["a1"]));
        let parked = put_of::<ParkedSynthesis>(&plan, OTHER).unwrap();
        assert_eq!(parked.0.agents[0].id, "other-result");
        assert_eq!(put_of::<Queue>(&plan, &()).unwrap().items[1].session_id.as_deref(), Some(OWN));
    }
}
