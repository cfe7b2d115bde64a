//! The running agents of a session, as its record and the client's side files together tell of
//! them: the one way to learn who does what, for hooks and for views.
//!
//! Who does what is learnt in four ways:
//!
//! 1. the call that names its agent (PostToolUse);
//! 2. the only call of its type that waits when an agent starts (`task_likely`, until the client's
//!    files confirm it);
//! 3. the client's list at a Stop;
//! 4. the agent's side file (`client/side_file.rs`).
//!
//! Only `Agent::identify` and `Agent::take_call` write it down. [`identify`] looks at side files
//! for whoever opens a record, hooks and views alike, and only while an agent runs whose task is
//! not certain.

use crate::agents::agent::{Agent, Call, RUNNING};
use crate::agents::workflow_run::WorkflowRun;
use crate::client::side_file::{self, SideFile};
use crate::core::redaction::Redactor;
use crate::core::text::keep_newest;
use crate::session::live::Live;

const WORKFLOW_RUNS: usize = 20;
const LOST: usize = 20;
/// The type of an agent whose call names none.
const DEFAULT_KIND: &str = "general-purpose";

/// So many agents are looked for at once; the others are left to the next event.
const LOOKED_FOR: usize = 20;

/// Fills in what the side files say of agents whose task is not certain. While there are none,
/// nothing is read.
pub fn identify(
    live: &mut Live,
    side_file: impl Fn(&str, &str) -> Option<SideFile>,
    redact: &Redactor,
) {
    let Some(transcript) = live.transcript_path.as_deref() else { return };
    let unknown = live.agents.iter_mut().filter(|agent| !agent.is_identified());
    let mut answered = Vec::new();
    for agent in unknown.take(LOOKED_FOR) {
        if let Some(side) = side_file(transcript, &agent.id) {
            agent.identify(&side, redact);
            answered.extend(agent.tool_use_id.clone());
        }
    }
    // These calls wait for no agent any more.
    answered.iter().for_each(|call| live.drop_call(call));
    if !answered.is_empty() {
        live.match_only_calls();
    }
}

/// Names the tasks of running agents for people, who look without an event.
pub fn identify_all(lives: &mut [Live], redact: &Redactor) {
    lives.iter_mut().for_each(|live| identify(live, side_file::find, redact));
}

/// Whether agents of a record are better known than in an earlier one.
pub fn is_better_known(live: &Live, before: &Live) -> bool {
    let known = |live: &Live, id: &str| live.agent(id).is_some_and(|agent| agent.is_identified());
    let unknown = before.agents.iter().filter(|agent| !agent.is_identified());
    unknown.into_iter().any(|agent| known(live, &agent.id))
}

impl Live {
    /// The call that an agent of this type must come from: the only one of its type that waits,
    /// while no other agent waits for its call and no workflow could have started it.
    pub fn only_call_for(&self, kind: &str, agent_id: &str) -> Option<&Call> {
        let fits = |call: &&Call| call.kind.as_deref().unwrap_or(DEFAULT_KIND) == kind;
        let mut waiting =
            self.calls.iter().filter(|call| call.agent_id.is_none()).filter(fits).fuse();
        let (only, another) = (waiting.next(), waiting.next());
        let is_open =
            |agent: &Agent| agent.kind == kind && agent.task.is_none() && agent.id != agent_id;
        let is_certain =
            another.is_none() && self.workflow_runs.is_empty() && !self.agents.iter().any(is_open);
        only.filter(|_| is_certain)
    }

    /// A call that was one of several may be the only one now, and so may be an agent.
    fn match_only_calls(&mut self) {
        let is_open = |agent: &&Agent| {
            let is_first_run = agent.run == 0 && agent.status == RUNNING;
            agent.task.is_none() && agent.parent_agent.is_none() && is_first_run
        };
        let open = self.agents.iter().filter(is_open);
        let open: Vec<(String, String)> =
            open.map(|agent| (agent.id.clone(), agent.kind.clone())).collect();
        for (id, kind) in open {
            let Some(call) = self.only_call_for(&kind, &id).cloned() else { continue };
            self.drop_call(&call.tool_use_id);
            if let Some(agent) = self.agent_mut(&id) {
                agent.take_likely(&call);
            }
        }
    }

    /// The turn is over: what the main thread called for and has not got by now never comes.
    pub fn drop_waiting_calls(&mut self) {
        self.calls.retain(|call| call.agent_id.is_some() || call.parent_agent.is_some());
    }

    pub fn add_workflow_run(&mut self, run: WorkflowRun) {
        self.workflow_runs.retain(|known| known.id != run.id);
        self.workflow_runs.push(run);
        keep_newest(&mut self.workflow_runs, WORKFLOW_RUNS);
    }

    /// An agent was lost with the client: the model is to hear of it.
    pub fn add_lost(&mut self, id: &str) {
        self.forget_lost(id);
        self.lost_agents.push(id.to_owned());
        keep_newest(&mut self.lost_agents, LOST);
    }

    pub fn forget_lost(&mut self, id: &str) {
        self.lost_agents.retain(|lost| lost != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(calls: &[&str], agents: &[&str]) -> Live {
        let call = |id: &&str| Call {
            tool_use_id: (*id).into(),
            kind: Some("Plan".into()),
            task: Some(format!("task of {id}")),
            ..Call::default()
        };
        let agent = |id: &&str| Agent {
            id: (*id).into(),
            kind: "Plan".into(),
            status: RUNNING.into(),
            ..Agent::default()
        };
        Live {
            transcript_path: Some("/t.jsonl".into()),
            calls: calls.iter().map(call).collect(),
            agents: agents.iter().map(agent).collect(),
            ..Live::default()
        }
    }

    fn identified(mut live: Live) -> Vec<(Option<String>, bool)> {
        let side = |_: &str, id: &str| {
            (id == "a3").then(|| SideFile {
                kind: Some("Plan".into()),
                description: Some("task of c3".into()),
                tool_use_id: Some("c3".into()),
                ..SideFile::default()
            })
        };
        identify(&mut live, side, &Redactor::default());
        live.agents.into_iter().map(|agent| (agent.task, agent.task_likely)).collect()
    }

    #[test]
    fn the_last_call_is_the_last_agents() {
        let two = identified(waiting(&["c3", "c4"], &["a3", "a4"]));
        assert_eq!(two, [(Some("task of c3".into()), false), (Some("task of c4".into()), true)]);
        // With two calls or two agents left nobody knows.
        let calls = identified(waiting(&["c3", "c4", "c5"], &["a3", "a4"]));
        assert_eq!(calls[1], (None, false));
        let agents = identified(waiting(&["c3", "c4"], &["a3", "a4", "a5"]));
        assert_eq!((&agents[1], &agents[2]), (&(None, false), &(None, false)));
    }
}
