//! Stop: the turn is over. `background_tasks` is the truth about what still runs.

use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::core::text::plural;
use crate::hooks::context_warning;
use crate::hooks::stop_failure::API;
use crate::hooks::{lost_agents, subagent_stop};
use crate::loops::drive;
use crate::session::lineage::complete_fork;
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
    complete_fork(&mut live, event, context);
    let mut witness = Witness::new(state, context);
    witness.name(&live);
    name_tasks(event, &mut live, &mut witness, context);
    let missing = lost_agents::missing(event, &live);
    let ended = lost_agents::end_unseen(&mut live, &missing, context.now, state, context);
    if !ended.is_empty() {
        plan.outcome = format!("the turn is over, {} had gone", plural(ended.len(), "agent"));
        subagent_stop::end(&mut plan, &mut live, &ended, state, context);
        ended.iter().for_each(|result| witness.end(result, None));
    }
    witness.put(&mut plan);
    live.drop_waiting_calls();
    end_workflows(event, &mut live);
    let targets = api_failures(&live);
    if !targets.is_empty() {
        record::recover_errors(&mut plan, &mut live, &targets, state);
    }
    drive::at_stop(&mut plan, event, &mut live, state, context);
    context_warning::at_stop(&mut plan, event, &mut live, context);
    record::put_with_copies(&mut plan, &live, state);
    plan
}

/// The client's own list names tasks for certain.
fn name_tasks(event: &Event, live: &mut Live, witness: &mut Witness, context: &Context) {
    for task in event.background_tasks().unwrap_or_default() {
        if let (Some(agent), Some(text)) = (live.agent_mut(&task.id), task.description)
            && !agent.is_identified()
        {
            agent.task = Some(context.task(&text));
            agent.background = Some(true);
            agent.task_likely = false;
            witness.describe(agent);
        }
    }
}

/// Workflows that the client lists no longer are over.
fn end_workflows(event: &Event, live: &mut Live) {
    let Some(tasks) = event.background_tasks() else { return };
    let runs = |id: &String| tasks.iter().any(|task| task.id == *id && task.is_running());
    live.workflow_runs.retain(|run| run.task_id.as_ref().is_some_and(runs));
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
    use crate::agents::result::{AgentResult, LOST};
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
