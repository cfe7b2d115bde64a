//! Stop: the turn is over. `background_tasks` is the truth about what still runs.

use crate::agents::agent::ANSWERED;
use crate::agents::result::{AgentResult, LOST, SUCCESS};
use crate::branch::witness::Witness;
use crate::client::side_file;
use crate::core::event::Event;
use crate::core::text::plural;
use crate::hooks::stop_failure::API;
use crate::hooks::subagent_stop;
use crate::loops::drive;
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("not the main thread");
    }
    let mut plan = Plan::because("the turn is over");
    let mut live = record::open_session(event, state, context);
    record::mark_seen(&mut live, context);
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
        record::recover_errors(&mut plan, &mut live, &targets, state);
    }
    drive::at_stop(&mut plan, event, &mut live, state, context);
    record::put_with_copies(&mut plan, &live, state);
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
                AgentResult::from_agent(agent, status, context.now)
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
            witness.describe(agent);
        }
    }
}

/// Failures of the API that this turn's end has made good.
fn api_failures(live: &Live) -> Vec<String> {
    let is_api =
        |target: &&String| target.strip_prefix(API).is_some_and(|rest| rest.starts_with(' '));
    live.open_targets.iter().filter(is_api).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::event::Kind::Stop;
    use crate::hooks::testing::*;
    use crate::loops::queue::document::Queue;
    use crate::state::map::Files;

    #[test]
    fn the_loop_goes_on_and_an_agent_that_is_not_listed_is_lost() {
        let files = Files::default().with::<Live>(OWN, &own_session(&["a1", "a2"]));
        let files = files.with::<Queue>(&(), &queue_of(OWN));
        let listed =
            json!({"background_tasks": [{"id": "a2", "type": "shell", "status": "running"}]});
        let plan = plan_event(Stop, listed, &files);
        assert!(plan.reply.block.clone().unwrap().contains("work-001"), "{:?}", plan.reply);
        assert_eq!(put_of::<Queue>(&plan, &()).unwrap().iteration, 4);
        assert_eq!(put_of::<AgentResult>(&plan, "a1").unwrap().status, LOST);
        let live = own_record(&plan);
        assert_eq!(
            (live.agents, live.agents_failed, live.blocks),
            (own_session(&["a2"]).agents, 1, 1)
        );
    }

    #[test]
    fn an_empty_state_gets_a_record_and_nothing_is_said() {
        let plan = plan_event(Stop, json!({"background_tasks": []}), &Files::default());
        assert_eq!(
            (own_record(&plan).last_seen.as_str(), plan.outcome.as_str()),
            (NOW, "the turn is over")
        );
        assert_eq!(plan.reply, crate::core::reply::Reply::default());
    }

    #[test]
    fn another_session_s_loop_agents_and_errors_stay() {
        let mut own = own_session(&["a1"]);
        own.open_target("API rate_limit");
        let plan = plan_beside_other(Stop, json!({"background_tasks": []}), Some(&own));
        assert_eq!(put_of::<Queue>(&plan, &()), None);
        assert_eq!(put_of::<AgentResult>(&plan, OTHER_AGENT), None);
        let live = own_record(&plan);
        assert_eq!((live.agents_failed, live.open_targets), (1, vec![]));
    }
}
