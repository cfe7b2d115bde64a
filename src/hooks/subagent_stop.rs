//! SubagentStop: what the agent found becomes a result, and the result part of the synthesis.
//!
//! The result is written before the record. A result without its count is found again at the next
//! Stop, whose `background_tasks` no longer list the agent. An agent whose start was never seen is
//! first entered as `ending`: the next Stop sees by the result whether the end was written.

use std::path::PathBuf;

use crate::agents::agent::{Agent, ENDING};
use crate::agents::findings;
use crate::agents::result::{AgentResult, ArchivedResult, Finding, INTERRUPTED, SUCCESS};
use crate::branch::agents_document::LONGEST_RESULT;
use crate::branch::witness::Witness;
use crate::client::side_file::SideFile;
use crate::core::event::Event;
use crate::core::text::plural;
use crate::hooks::lost_agents::how_it_ended;
use crate::hooks::{execution_task, session_closing, subagent_start, synthesis};
use crate::loops::queue::document::Queue;
use crate::session::live::Live;
use crate::session::metrics::{Entry, Metrics};
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let Some(id) = event.agent_id.clone() else { return unnamed(event, state, context) };
    if let Some(reason) = reason_to_skip(event, &id, state) {
        return Plan::because(reason);
    }
    let mut live = record::open_session(event, state, context);
    let mut plan = Plan::default();
    let mut witness = Witness::new(state, context);
    let closed = closed_entry(event, state);
    if live.agent(&id).is_none() {
        // What is about to happen is written down first: if we are killed, the next Stop sees by
        // the result whether it happened.
        record::restore_results(&mut plan, &live, state);
        let run = unseen_run(event, &id, &live, &mut witness, state, context);
        // Nothing else is in that but what is about to happen.
        let before = record::own_record(event, state);
        plan.put(&state.read::<Live>(&live.session_id), &run.begun(before.unwrap_or(&live)));
        live = run.begun(&live);
    }
    execution_task::end(&mut plan, event, state, context);
    let message = event.text("last_assistant_message");
    // Each turn of a teammate is a run of its own: what it found before is not gone.
    let teammate = live.agent(&id).filter(|agent| agent.team.is_some());
    let earlier = teammate.and_then(|agent| earlier_run(agent, state));
    let mut result = result(event, &id, message.as_deref(), &mut live, context);
    result.add_findings(earlier.map(|was| was.findings.clone()).unwrap_or_default());
    plan.outcome = format!(
        "agent {} ended: {}, {}",
        result.agent_id,
        result.status,
        plural(result.findings.len(), "finding")
    );
    record::mark_seen(&mut live, context);
    let words = message.map(|message| context.redact.line(&message, LONGEST_RESULT));
    witness.end(&result, words.as_deref());
    witness.name(&live);
    live.forget_lost(&id);
    end(&mut plan, &mut live, &[result], state, context);
    match closed {
        // It was late: its session has ended, and stays that way.
        Some(entry) => {
            session_closing::close_again(&mut plan, &live, &entry, witness, state, context)
        }
        None => {
            witness.put(&mut plan);
            record::put_with_copies(&mut plan, &live, state);
        }
    }
    plan
}

/// A run that nobody has seen begin: the agent, and how it was said to have ended if it was given up.
struct UnseenRun<'s> {
    agent: Agent,
    guess: Option<&'s AgentResult>,
}

impl UnseenRun<'_> {
    /// The session's record with the agent in it.
    fn begun(&self, live: &Live) -> Live {
        let mut live = live.clone();
        match self.guess {
            Some(guess) => uncount(&mut live, guess),
            None => live.agents_spawned += 1,
        }
        live.add_agent(self.agent.clone());
        live
    }
}

/// An agent that is not known to run, and has just stopped, did run: its start was never seen, or it
/// was given up, which is taken back.
fn unseen_run<'s>(
    event: &Event,
    id: &str,
    live: &Live,
    witness: &mut Witness,
    state: &'s State,
    context: &Context,
) -> UnseenRun<'s> {
    let guess = find_result(id, event, state).filter(|was| was.session_id == live.session_id);
    if let Some(guess) = guess {
        let agent = guess.running_again();
        witness.start(&agent, Some(guess));
        return UnseenRun { agent, guess: Some(guess) };
    }
    let agent = subagent_start::agent(event, id.to_owned(), live, None, context);
    let branch = witness.current_folder();
    UnseenRun { agent: Agent { status: ENDING.into(), branch, ..agent }, guess: None }
}

/// What the event's session came to, if it has ended.
fn closed_entry(event: &Event, state: &State) -> Option<Entry> {
    if record::is_live(&event.session_id, state) {
        return None;
    }
    state.get::<Metrics>()?.find(&event.session_id)
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
        plan.tell(result.journal_line());
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

/// How the run before an agent's present one ended.
pub fn earlier_run<'s>(agent: &Agent, state: &'s State) -> Option<&'s AgentResult> {
    let result = state.get_by::<AgentResult>(&agent.id)?;
    let own = result.session_id == agent.session_id && result.run < agent.run;
    own.then_some(result)
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

/// Takes an ended agent out of the session's counts: it is counted when it ends the next time.
pub fn uncount(live: &mut Live, result: &AgentResult) {
    let count = match result.succeeded() {
        true => &mut live.agents_completed,
        false => &mut live.agents_failed,
    };
    *count = count.saturating_sub(1);
    live.findings = live.findings.saturating_sub(result.findings.len() as u64);
}

/// Clients before 2.0.42 do not say which agent it was: the session is alive, and that is all.
fn unnamed(event: &Event, state: &State, context: &Context) -> Plan {
    let mut plan = Plan::because("no agent is named");
    let mut live = record::open_session(event, state, context);
    record::mark_seen(&mut live, context);
    record::put_record(&mut plan, &live, state);
    plan
}

fn reason_to_skip(event: &Event, id: &str, state: &State) -> Option<&'static str> {
    if runs(event, id, state) {
        return None;
    }
    let result = find_result(id, event, state);
    if let Some(was) = result.filter(|was| was.session_id == event.session_id) {
        return (!was.is_guess()).then_some("the agent had ended already");
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
    if let Some(side) = &side_file {
        agent.identify(side, &context.redact);
    }
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
    if let Some(message) = message {
        result.keep_report(message, &context.redact);
    }
    result.files_analyzed = found.files;
    result.add_work(&work, &context.redact, |file| context.relative(file));
    result.add_findings(reported);
    result.add_findings(found.findings);
    result.recommendations = found.recommendations;
    result
}

/// What the client's side file says about an agent.
pub fn side_file_of(event: &Event, agent_id: &str, context: &Context) -> Option<SideFile> {
    context.facts.side_file(&event.text("transcript_path")?, agent_id)
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
