//! Stop: the turn is over. `background_tasks` is the truth about what still runs.

use crate::books::agent::ANSWERED;
use crate::books::live::Live;
use crate::books::plural;
use crate::books::result::{AgentResult, LOST, SUCCESS};
use crate::event::Event;
use crate::facts::side_file;
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};

use super::stop_failure::API;
use super::witness::{self, Witness};
use super::{desk, drive, subagent_stop, synthesis};

pub fn asks(event: &Event, snapshot: &Snapshot, context: &Context) -> Vec<Ask> {
    if event.agent_id.is_some() {
        return Vec::new();
    }
    let mut asks = desk::asks_with_copies(event, snapshot);
    asks.extend(drive::asks(event, snapshot));
    if let Some(live) = snapshot.own(event) {
        let missing = missing(event, live);
        let touched =
            live.agents.iter().filter(|agent| agent.task.is_none() || missing.contains(&agent.id));
        asks.extend(witness::asks(touched, context));
        if !missing.is_empty() {
            asks.extend(synthesis::asks(Some(live), snapshot));
            for id in missing {
                asks.extend(subagent_stop::side_file_of(event, &id));
                asks.extend(work_of(event, &id));
                asks.push(Ask::Result(id));
            }
        }
        if !api_failures(live).is_empty() {
            asks.push(Ask::Errors);
        }
    }
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("not the main thread");
    }
    let mut plan = Plan::because("the turn is over");
    let mut live = desk::take(event, snapshot, context);
    desk::seen(&mut live, context);
    name_tasks(event, &mut live, context);
    let mut witness = Witness::new(snapshot);
    witness.know(&live.agents);
    let ended = end_missing(event, &mut live, snapshot, context);
    if !ended.is_empty() {
        plan.outcome = format!("the turn is over, {} had gone", plural(ended.len(), "agent"));
        subagent_stop::end(&mut plan, &mut live, &ended, snapshot, context);
        ended.iter().for_each(|result| witness.end(result, None));
    }
    witness.put(&mut plan);
    if let Some(errors) = &snapshot.errors {
        let targets = api_failures(&live);
        if !targets.is_empty() {
            desk::recover(&mut plan, &mut live, errors, &targets);
        }
    }
    drive::at_stop(&mut plan, event, &mut live, snapshot, context);
    desk::put(&mut plan, snapshot, &live);
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
    snapshot: &Snapshot,
    context: &Context,
) -> Vec<AgentResult> {
    let mut ended = Vec::new();
    for id in missing(event, live) {
        let Some(mut agent) = live.take_agent(&id) else { continue };
        subagent_stop::identify(&mut agent, snapshot, context);
        let result = match subagent_stop::result_of_this_run(&agent, snapshot) {
            Some(result) => result.clone(),
            None if subagent_stop::take_back(live, &agent) => continue,
            None => {
                let otherwise = if agent.status == ANSWERED { SUCCESS } else { LOST };
                let status = subagent_stop::how_it_ended(&id, snapshot).unwrap_or(otherwise);
                AgentResult::of(agent, status, context.now)
            }
        };
        ended.push(result);
    }
    ended
}

fn work_of(event: &Event, agent_id: &str) -> Option<Ask> {
    let path = side_file::transcript_path(&event.text("transcript_path")?, agent_id)?;
    Some(Ask::AgentWork { agent_id: agent_id.to_owned(), path })
}

/// The client's own list names tasks for certain.
fn name_tasks(event: &Event, live: &mut Live, context: &Context) {
    for task in event.background_tasks().unwrap_or_default() {
        if let (Some(agent), Some(text)) = (live.agent_mut(&task.id), task.description)
            && agent.task.is_none()
        {
            agent.task = Some(context.task(&text));
            agent.background = Some(true);
        }
    }
}

/// Failures of the API that this turn's end has made good.
fn api_failures(live: &Live) -> Vec<String> {
    let is_api =
        |target: &&String| target.strip_prefix(API).is_some_and(|rest| rest.starts_with(' '));
    live.open_targets.iter().filter(is_api).cloned().collect()
}
