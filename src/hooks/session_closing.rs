//! The end of a session: SessionEnd, or the next SessionStart for one whose client is gone.
//!
//! Metrics first, then results, then errors, then the record itself: a kill in between leaves the
//! record, and whoever finds it does the rest again with the same outcome.

use std::path::Path;

use crate::agents::result::{AgentResult, LOST};
use crate::branch::witness::Witness;
use crate::client::transcript::Cost;
use crate::core::time::Time;
use crate::errors::document::Errors;
use crate::hooks::subagent_stop;
use crate::loops::queue::document::Queue;
use crate::session::live::Live;
use crate::session::metrics::{self, Entry, Metrics};
use crate::session::record;
use crate::state::plan::{Change, Plan};
use crate::state::{Doc, State};
use crate::turn::context::Context;

/// Closes one session or several, in one go.
pub struct Closing<'a> {
    state: &'a State<'a>,
    context: &'a Context<'a>,
    /// Whether sessions stay live. Without any, the errors go as a whole.
    others: bool,
    metrics: Option<Metrics>,
    errors: Option<Errors>,
    too_old: Vec<String>,
    lost: Vec<AgentResult>,
    closed: Vec<String>,
    /// Those of them that had agents.
    with_results: Vec<String>,
}

impl<'a> Closing<'a> {
    pub fn new(state: &'a State<'a>, context: &'a Context<'a>, others: bool) -> Self {
        Self {
            state,
            context,
            others,
            metrics: None,
            errors: state.get::<Errors>().filter(|_| others).cloned(),
            too_old: Vec::new(),
            lost: Vec::new(),
            closed: Vec::new(),
            with_results: Vec::new(),
        }
    }

    pub fn close(&mut self, live: &Live, ended: &str, witness: &mut Witness, end: Time) {
        let mut live = live.clone();
        self.lost.extend(end_agents(&mut live, witness, self.state, end));
        // An error whose hook was killed before it came to the record is counted now.
        if let Some(errors) = self.state.get::<Errors>() {
            record::count_errors(&mut live, errors);
        }
        if live.worked {
            let work = self.state.get::<Queue>().map(|queue| queue.work_of(&live.session_id));
            let cost = self.cost(&live);
            let entry = Entry::new(&live, ended, cost, work.unwrap_or_default(), end);
            let before = || self.state.get::<Metrics>().cloned().unwrap_or_default();
            self.too_old.extend(self.metrics.get_or_insert_with(before).put(entry));
        }
        if let Some(errors) = &mut self.errors {
            errors.clear(&live.session_id);
        }
        if live.agents_spawned > 0 {
            self.with_results.push(live.session_id.clone());
        }
        self.closed.push(live.session_id);
    }

    /// What a session cost is in its transcript.
    fn cost(&self, live: &Live) -> Cost {
        let transcript = live.transcript_path.as_ref();
        transcript.map(|path| self.context.facts.cost(Path::new(path))).unwrap_or_default()
    }

    pub fn put(self, plan: &mut Plan) {
        if !self.too_old.is_empty() {
            plan.changes.push(Change::AddLines(Doc::new(&metrics::ARCHIVE, ""), self.too_old));
        }
        if let Some(metrics) = &self.metrics {
            plan.put(&self.state.read::<Metrics>(&()), metrics);
        }
        for result in &self.lost {
            plan.put(&self.state.read::<AgentResult>(&result.agent_id), result);
        }
        let alone = !self.others && self.closed.len() == 1;
        for session_id in &self.with_results {
            let session_id = session_id.clone();
            plan.changes.push(Change::ArchiveResults { session_id, alone });
        }
        let read = self.state.read::<Errors>(&());
        match self.errors {
            Some(errors) if !errors.is_empty() => plan.put(&read, &errors),
            _ if read.value.is_some() => plan.remove(&read),
            _ => {}
        }
        for session_id in &self.closed {
            plan.remove(&self.state.read::<Live>(session_id));
        }
    }
}

/// Ends a session's running agents with it. Those without a result are lost: these are given back.
pub fn end_agents(
    live: &mut Live,
    witness: &mut Witness,
    state: &State,
    end: Time,
) -> Vec<AgentResult> {
    let mut lost = Vec::new();
    for agent in std::mem::take(&mut live.agents) {
        match subagent_stop::result_of_this_run(&agent, state) {
            // Its SubagentStop was killed before it was struck off.
            Some(result) => {
                witness.end(result, None);
                subagent_stop::count(live, result);
            }
            None if subagent_stop::take_back(live, &agent) => {}
            None => {
                let result = AgentResult::from_agent(agent, LOST, end);
                witness.end(&result, None);
                subagent_stop::count(live, &result);
                lost.push(result);
            }
        }
    }
    lost
}
