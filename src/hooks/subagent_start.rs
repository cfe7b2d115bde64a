//! SubagentStart: an agent runs. Its task is not in the payload; see `PostToolUse`.

use crate::agents::agent::{Agent, RUNNING};
use crate::agents::result::AgentResult;
use crate::branch::witness::Witness;
use crate::core::event::Event;
use crate::hooks::subagent_stop::{find_result, uncount};
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

const REQUEST: &str = "When you report, end with a fenced JSON block: {\"findings\": [{\"severity\": \"S0|S1|S2|S3\", \
\"category\": \"security|quality|testing|performance|accessibility|general\", \"title\": \"…\", \"details\": \"…\", \
\"recommendation\": \"…\", \"file\": \"…\", \"line\": 1}], \"recommendations\": [\"…\"], \"files_analyzed\": [\"…\"]}. \
An empty findings list is a good answer.";

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    let id = event.agent_id.clone().unwrap_or_default();
    let mut live = record::open_session(event, state, context);
    let mut plan = Plan::because(format!("agent {id} runs"));
    let mut witness = Witness::new(state, context);
    witness.name(&live);
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
        plan.tell(agent.journal_line());
        let is_its_call = |id: &String| agent.tool_use_id.as_ref() == Some(id);
        live.calls.retain(|call| {
            call.agent_id.as_ref() != Some(&agent.id) && !is_its_call(&call.tool_use_id)
        });
        live.forget_lost(&agent.id);
        live.add_agent(agent);
        record::mark_seen(&mut live, context);
    }
    record::put_with_copies(&mut plan, &live, state);
    witness.put(&mut plan);
    if context.settings.request_findings {
        plan.reply.context = Some(REQUEST.into());
    }
    plan
}

/// A new entry for the ledger. What is known about it already: an earlier run's task, a call that
/// has named its agent, or the only call that waits for one.
pub fn agent(
    event: &Event,
    id: String,
    live: &Live,
    earlier: Option<&AgentResult>,
    context: &Context,
) -> Agent {
    let mut agent = Agent {
        kind: event.text("agent_type").unwrap_or_default(),
        started: context.spelled(),
        status: RUNNING.into(),
        parent_task: live.task.clone(),
        session_id: live.session_id.clone(),
        last_seen: context.spelled(),
        id,
        ..Agent::default()
    };
    if let Some(was) = earlier.map(AgentResult::running_again) {
        let (started, parent_task) = (agent.started, agent.parent_task);
        let (kind, last_seen) = (agent.kind, agent.last_seen);
        agent = Agent { run: was.run + 1, kind, started, parent_task, last_seen, ..was };
    }
    if let Some(call) = live.calls.iter().find(|call| call.agent_id.as_ref() == Some(&agent.id)) {
        agent.take_call(call);
    } else if let Some(call) =
        live.only_call_for(&agent.kind, &agent.id).filter(|_| earlier.is_none())
    {
        agent.take_likely(call);
    }
    agent
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::agent::Call;
    use crate::core::event::Kind::SubagentStart;
    use crate::hooks::testing::*;
    use crate::session::active::Active;
    use crate::state::map::Files;

    fn started() -> serde_json::Value {
        json!({"agent_id": "a1", "agent_type": "Explore"})
    }

    #[test]
    fn it_runs_with_the_task_of_the_call_that_named_it() {
        let call = |id: &str, task: &str| Call {
            tool_use_id: format!("call-{id}"),
            task: Some(task.into()),
            agent_id: Some(id.into()),
            ..Call::default()
        };
        let mut before = own_session(&["a0"]);
        before.calls = vec![call("a1", "Map"), call("a2", "Test")];
        let plan =
            plan_event(SubagentStart, started(), &Files::default().with::<Live>(OWN, &before));
        let live = own_record(&plan);
        assert_eq!((live.agents_spawned, live.agents[1].task.as_deref()), (2, Some("Map")));
        assert_eq!(live.agents[1].tool_use_id.as_deref(), Some("call-a1"));
        assert_eq!(live.calls, [call("a2", "Test")]);
    }

    #[test]
    fn an_empty_state_gets_a_record_with_the_agent() {
        let plan = plan_event(SubagentStart, started(), &Files::default());
        let live = own_record(&plan);
        assert_eq!((live.agents[0].id.as_str(), live.agents[0].started.as_str()), ("a1", NOW));
        assert_eq!(put_of::<Active>(&plan, &()).unwrap().agents, live.agents);
    }

    #[test]
    fn the_agents_of_another_session_stay_in_the_copy() {
        let plan = plan_beside_other(SubagentStart, started(), Some(&own_session(&["a0"])));
        let active = put_of::<Active>(&plan, &()).unwrap();
        let mut ids: Vec<&str> = active.agents.iter().map(|running| running.id.as_str()).collect();
        ids.sort_unstable();
        assert_eq!(ids, ["a0", "a1", OTHER_AGENT]);
        assert_eq!((active.total_spawned, active.total_completed), (4, 1));
    }

    #[test]
    fn a_result_of_another_session_is_no_earlier_run() {
        let event = json!({"agent_id": "other-result", "agent_type": "Explore"});
        let live = own_record(&plan_beside_other(SubagentStart, event, Some(&own_session(&[]))));
        assert_eq!((live.agents_spawned, live.agents[0].run), (1, 0));
    }
}
