//! The end of a session: SessionEnd, or the next SessionStart for one whose client is gone.
//!
//! Metrics first, then results, then errors, then the record itself: a kill in between leaves the
//! record, and whoever finds it does the rest again with the same outcome.

use crate::books::errors::Errors;
use crate::books::live::Live;
use crate::books::metrics::{Entry, Metrics};
use crate::books::result::{AgentResult, LOST};
use crate::plan::{Change, Plan};
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time::Time;

use super::witness::{self, Witness};
use super::{desk, subagent_stop};

/// What has to be seen to close a session.
pub fn asks(live: &Live, context: &Context) -> Vec<Ask> {
    let mut asks = vec![Ask::Errors, Ask::Queue];
    asks.extend(live.worked.then_some(Ask::Metrics));
    asks.extend(cost(live));
    asks.extend(agents(live, context));
    asks
}

/// The results that its running agents may have left already, and the books that they are in.
pub fn agents(live: &Live, context: &Context) -> Vec<Ask> {
    let results = live.agents.iter().map(|agent| Ask::Result(agent.id.clone()));
    results.chain(witness::asks(&live.agents, context)).collect()
}

/// What a session cost is in its transcript; a session that did nothing cost nothing.
fn cost(live: &Live) -> Option<Ask> {
    let transcript = live.transcript_path.as_ref().filter(|_| live.worked)?;
    Some(Ask::Cost { session_id: live.session_id.clone(), transcript: transcript.into() })
}

/// Closes one session or several, in one go.
pub struct Closing {
    others: bool,
    had_errors: bool,
    metrics: Metrics,
    errors: Option<Errors>,
    too_old: Vec<String>,
    measured: bool,
    lost: Vec<AgentResult>,
    closed: Vec<String>,
    /// Those of them that had agents.
    with_results: Vec<String>,
}

impl Closing {
    /// `others`: whether sessions stay live. Without any, the errors go as a whole.
    pub fn new(snapshot: &Snapshot, others: bool) -> Self {
        Self {
            others,
            had_errors: snapshot.errors.is_some(),
            metrics: snapshot.metrics.clone().unwrap_or_default(),
            errors: snapshot.errors.as_ref().filter(|_| others).cloned(),
            too_old: Vec::new(),
            measured: false,
            lost: Vec::new(),
            closed: Vec::new(),
            with_results: Vec::new(),
        }
    }

    pub fn session(&mut self, live: &Live, ended: &str, witness: &mut Witness, end: Time) {
        let mut live = live.clone();
        let snapshot = witness.snapshot;
        self.lost.extend(end_agents(&mut live, witness, end));
        // An error whose hook was killed before it came to the record is counted now.
        if let Some(errors) = &snapshot.errors {
            desk::count_errors(&mut live, errors);
        }
        if live.worked {
            let cost = snapshot.costs.get(&live.session_id).cloned().unwrap_or_default();
            let work = snapshot.queue.as_ref().map(|queue| queue.of(&live.session_id));
            let entry = Entry::new(&live, ended, cost, work.unwrap_or_default(), end);
            self.too_old.extend(self.metrics.put(entry));
            self.measured = true;
        }
        if let Some(errors) = &mut self.errors {
            errors.clear(&live.session_id);
        }
        if live.agents_spawned > 0 {
            self.with_results.push(live.session_id.clone());
        }
        self.closed.push(live.session_id);
    }

    pub fn finish(self, plan: &mut Plan) {
        if !self.too_old.is_empty() {
            plan.changes.push(Change::Archive(self.too_old));
        }
        if self.measured {
            plan.changes.push(Change::Put(Doc::Metrics, self.metrics.to_bytes()));
        }
        for result in &self.lost {
            plan.put(Doc::result(&result.agent_id), result);
        }
        let alone = !self.others && self.closed.len() == 1;
        for session_id in &self.with_results {
            let session_id = session_id.clone();
            plan.changes.push(Change::ArchiveResults { session_id, alone });
        }
        match self.errors {
            Some(errors) if errors.is_empty() => plan.changes.push(Change::Remove(Doc::Errors)),
            Some(errors) => plan.put_bytes(Doc::Errors, errors.to_bytes()),
            None if self.had_errors => plan.changes.push(Change::Remove(Doc::Errors)),
            None => {}
        }
        for session_id in &self.closed {
            plan.changes.push(Change::Remove(Doc::live(session_id)));
        }
    }
}

/// Ends a session's running agents with it. Those without a result are lost: these are given back.
pub fn end_agents(live: &mut Live, witness: &mut Witness, end: Time) -> Vec<AgentResult> {
    let mut lost = Vec::new();
    for agent in std::mem::take(&mut live.agents) {
        match subagent_stop::result_of_this_run(&agent, witness.snapshot) {
            // Its SubagentStop was killed before it was struck off.
            Some(result) => {
                witness.end(result, None);
                subagent_stop::count(live, result);
            }
            None if subagent_stop::take_back(live, &agent) => {}
            None => {
                let result = AgentResult::of(agent, LOST, end);
                witness.end(&result, None);
                subagent_stop::count(live, &result);
                lost.push(result);
            }
        }
    }
    lost
}
