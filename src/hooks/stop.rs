//! Stop: the turn is over. `background_tasks` is the truth about what still runs.

use crate::books::agent::ANSWERED;
use crate::books::live::Live;
use crate::books::plural;
use crate::books::result::{AgentResult, LOST, SUCCESS};
use crate::context::Context;
use crate::event::Event;
use crate::facts::side_file;
use crate::plan::Plan;
use crate::state::State;

use super::stop_failure::API;
use super::witness::Witness;
use super::{drive, session_record, subagent_stop};

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("not the main thread");
    }
    let mut plan = Plan::because("the turn is over");
    let mut live = session_record::open_session(event, state, context);
    session_record::mark_seen(&mut live, context);
    let mut witness = Witness::new(state, context);
    name_tasks(event, &mut live, &mut witness, context);
    let ended = end_missing(event, &mut live, state, context);
    if !ended.is_empty() {
        plan.outcome = format!("the turn is over, {} had gone", plural(ended.len(), "agent"));
        subagent_stop::end(&mut plan, &mut live, &ended, state, context);
        ended.iter().for_each(|result| witness.end(result, None));
    }
    witness.put(&mut plan);
    let targets = api_failures(&live);
    if !targets.is_empty() {
        session_record::recover_errors(&mut plan, &mut live, &targets, state);
    }
    drive::at_stop(&mut plan, event, &mut live, state, context);
    session_record::put_with_copies(&mut plan, &live, state);
    plan
}

/// Running agents that the client does not list: their SubagentStop never came.
fn missing(event: &Event, live: &Live) -> Vec<String> {
    let Some(tasks) = event.background_tasks() else { return Vec::new() };
    let over = |status: &str| {
        matches!(status, "completed" | "failed" | "killed" | "stopped" | "cancelled" | "error")
    };
    let listed = |id: &str| {
        let task = tasks.iter().find(|task| task.id == id);
        task.is_some_and(|task| !task.status.as_deref().is_some_and(over))
    };
    let missing = live.agents.iter().filter(|agent| !listed(&agent.id));
    missing.map(|agent| agent.id.clone()).collect()
}

/// Closes them: as the client's files tell (after an API error there is no SubagentStop), else as
/// lost. An agent that left a result was only not struck off, its hook having been killed in
/// between, and that result holds.
fn end_missing(
    event: &Event,
    live: &mut Live,
    state: &State,
    context: &Context,
) -> Vec<AgentResult> {
    let mut ended = Vec::new();
    for id in missing(event, live) {
        let Some(mut agent) = live.take_agent(&id) else { continue };
        let side_file = subagent_stop::side_file_of(event, &id, context);
        subagent_stop::identify(&mut agent, side_file.as_ref(), context);
        let result = match subagent_stop::result_of_this_run(&agent, state) {
            Some(result) => result.clone(),
            None if subagent_stop::take_back(live, &agent) => continue,
            None => {
                let transcript = event.text("transcript_path");
                let path = transcript.and_then(|path| side_file::transcript_path(&path, &id));
                let work = path.map(|path| context.facts.agent_work(&path)).unwrap_or_default();
                let otherwise = if agent.status == ANSWERED { SUCCESS } else { LOST };
                let status =
                    subagent_stop::how_it_ended(&work, side_file.as_ref()).unwrap_or(otherwise);
                AgentResult::of(agent, status, context.now)
            }
        };
        ended.push(result);
    }
    ended
}

/// The client's own list names tasks for certain.
fn name_tasks(event: &Event, live: &mut Live, witness: &mut Witness, context: &Context) {
    for task in event.background_tasks().unwrap_or_default() {
        if let (Some(agent), Some(text)) = (live.agent_mut(&task.id), task.description)
            && agent.task.is_none()
        {
            agent.task = Some(context.task(&text));
            agent.background = Some(true);
            witness.know(agent);
        }
    }
}

/// Failures of the API that this turn's end has made good.
fn api_failures(live: &Live) -> Vec<String> {
    let is_api =
        |target: &&String| target.strip_prefix(API).is_some_and(|rest| rest.starts_with(' '));
    live.open_targets.iter().filter(is_api).cloned().collect()
}
