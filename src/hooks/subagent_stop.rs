//! SubagentStop: what the agent found becomes a result, and the result part of the synthesis.

use crate::books::agent::{Agent, ENDING};
use crate::books::live::Live;
use crate::books::plural;
use crate::books::result::{AgentResult, FAILED, INTERRUPTED, SUCCESS};
use crate::event::Event;
use crate::facts::{findings, side_file};
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;

use super::witness::{self, Witness};
use super::{at_task, desk, drive, subagent_start, synthesis};

pub fn asks(event: &Event, snapshot: &Snapshot, context: &Context) -> Vec<Ask> {
    let mut asks = vec![Ask::Live];
    asks.extend(event.agent_id.clone().map(Ask::Result));
    if !snapshot.has(&Ask::Live) || reason_to_skip(event, snapshot).is_some() {
        return asks;
    }
    asks.extend(desk::asks_with_copies(event, snapshot));
    asks.extend(synthesis::asks(snapshot.own(event), snapshot));
    asks.extend(drive::queue::asks_for_items(snapshot));
    asks.extend(at_task::asks_at_end(event, snapshot));
    if let Some(agent_id) = event.agent_id.clone() {
        asks.extend(side_file_of(event, &agent_id));
        let path = event.text("agent_transcript_path").map(Into::into);
        asks.extend(path.map(|path| Ask::AgentWork { agent_id, path }));
    }
    match running(event, snapshot) {
        Some(agent) => asks.extend(witness::asks([agent], context)),
        None => asks.extend(witness::asks_here(context)),
    }
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    if let Some(reason) = reason_to_skip(event, snapshot) {
        return Plan::because(reason);
    }
    let id = event.agent_id.clone().unwrap_or_default();
    let mut live = desk::take(event, snapshot, context);
    let mut plan = Plan::default();
    if live.agent(&id).is_none() {
        // Its start was never seen. What is about to happen is written down first: if we are
        // killed, the next Stop sees by the result whether it happened.
        live.agents_spawned += 1;
        let agent = subagent_start::agent(event, id.clone(), &live, None, context);
        let branch = witness::folder(snapshot);
        live.add_agent(Agent { status: ENDING.into(), branch, ..agent });
        plan.put(Doc::live(&live.session_id), &live);
    }
    at_task::end(&mut plan, event, snapshot, context);
    let result = result(event, &id, &mut live, snapshot, context);
    plan.outcome = format!(
        "agent {} ended: {}, {}",
        result.agent_id,
        result.status,
        plural(result.findings.len(), "finding")
    );
    desk::seen(&mut live, context);
    let words = event.text("last_assistant_message").map(|words| context.redact.text(&words));
    let mut witness = Witness::new(snapshot);
    witness.end(&result, words.as_deref());
    end(&mut plan, &mut live, &[result], snapshot, context);
    witness.put(&mut plan);
    desk::put(&mut plan, snapshot, &live);
    plan
}

/// Writes down how agents ended: their results, the session's counts, the synthesis. The record
/// itself is put by the caller, last.
pub fn end(
    plan: &mut Plan,
    live: &mut Live,
    results: &[AgentResult],
    snapshot: &Snapshot,
    context: &Context,
) {
    for result in results {
        count(live, result);
        plan.put(Doc::result(&result.agent_id), result);
    }
    synthesis::fold(plan, live, results, snapshot, context);
    enqueue(plan, live, results, snapshot);
}

/// What is urgent becomes a work item, once: without a loop it waits for one.
fn enqueue(plan: &mut Plan, live: &Live, results: &[AgentResult], snapshot: &Snapshot) {
    if !snapshot.has(&Ask::Queue) || snapshot.frozen.contains(&Doc::Queue) {
        return;
    }
    let mut queue = snapshot.queue.clone().unwrap_or_default();
    let findings = results.iter().flat_map(|result| &result.findings);
    let urgent = findings.filter(|finding| matches!(finding.severity.as_str(), "S0" | "S1"));
    let added = urgent.filter(|finding| queue.add_finding(finding, &live.session_id)).count();
    if added > 0 {
        drive::queue::put_items(plan, &queue, snapshot);
    }
}

/// The agent of this event, if the books have it as running.
fn running<'a>(event: &Event, snapshot: &'a Snapshot) -> Option<&'a Agent> {
    snapshot.own(event)?.agent(event.agent_id.as_deref()?)
}

/// Whether the books have this agent as running.
pub fn runs(event: &Event, agent_id: &str, snapshot: &Snapshot) -> bool {
    snapshot.own(event).is_some_and(|live| live.agent(agent_id).is_some())
}

/// The result that an agent's present run has already left.
pub fn result_of_this_run<'a>(agent: &Agent, snapshot: &'a Snapshot) -> Option<&'a AgentResult> {
    let result = snapshot.results.get(&agent.id)?;
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

fn reason_to_skip(event: &Event, snapshot: &Snapshot) -> Option<&'static str> {
    let id = event.agent_id.as_deref().unwrap_or_default();
    let ended = snapshot.results.get(id).is_some_and(|was| was.session_id == event.session_id);
    match (runs(event, id, snapshot), ended) {
        (true, _) => None,
        (false, true) => Some("the agent had ended already"),
        (false, false) if event.text("agent_type").is_none() => {
            Some("not an agent: the client's own helper")
        }
        (false, false) => None,
    }
}

fn result(
    event: &Event,
    id: &str,
    live: &mut Live,
    snapshot: &Snapshot,
    context: &Context,
) -> AgentResult {
    let mut agent = live.take_agent(id).unwrap_or_default();
    let listed = event.background_tasks().unwrap_or_default();
    let listed = listed.into_iter().find(|task| task.id == agent.id);
    if let (None, Some(task)) = (&agent.task, listed.and_then(|task| task.description)) {
        agent.task = Some(context.task(&task));
    }
    identify(&mut agent, snapshot, context);
    if agent.kind.is_empty() {
        agent.kind = event.text("agent_type").unwrap_or_default();
    }

    let message = event.text("last_assistant_message");
    let work = snapshot.works.get(&agent.id).cloned().unwrap_or_default();
    let otherwise = if message.is_some() { SUCCESS } else { INTERRUPTED };
    let status = how_it_ended(&agent.id, snapshot).unwrap_or(otherwise);
    let found = findings::read(&message.unwrap_or_default(), &context.redact);
    let mut result = AgentResult::of(agent, status, context.now);
    result.files_analyzed = found.files;
    for file in work.files.iter().rev() {
        let file = context.relative(file);
        if !result.files_analyzed.contains(&file) {
            result.files_analyzed.push(file);
        }
    }
    result.metrics.files_read = work.reads;
    result.metrics.issues_found = found.findings.len() as u64;
    result.findings = found.findings;
    result.recommendations = found.recommendations;
    result
}

/// Where an agent's side file would be.
pub fn side_file_of(event: &Event, agent_id: &str) -> Option<Ask> {
    let path = side_file::path(&event.text("transcript_path")?, agent_id)?;
    Some(Ask::SideFile { agent_id: agent_id.to_owned(), path })
}

/// Fills in what the side file says for certain and nobody said before.
pub fn identify(agent: &mut Agent, snapshot: &Snapshot, context: &Context) {
    let Some(side) = snapshot.side_files.get(&agent.id) else { return };
    if let (None, Some(task)) = (&agent.task, &side.description) {
        agent.task = Some(context.task(task));
    }
    agent.tool_use_id = agent.tool_use_id.take().or_else(|| side.tool_use_id.clone());
    agent.background = agent.background.or(side.background);
}

/// The end that the client's files tell of; `None` if they tell of none.
pub fn how_it_ended(agent_id: &str, snapshot: &Snapshot) -> Option<&'static str> {
    if snapshot.works.get(agent_id).is_some_and(|work| work.ended_in_api_error) {
        return Some(FAILED);
    }
    snapshot.side_files.get(agent_id).filter(|side| side.stopped_by_user).map(|_| INTERRUPTED)
}
