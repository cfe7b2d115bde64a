//! The end of a session: SessionEnd, or the next SessionStart for one whose client is gone.
//!
//! Metrics first, then results, errors and work items, then the record itself: a kill in between
//! leaves the record, and whoever finds it closes the session again. The outcome is the same, because
//! an entry of the metrics is replaced by its id.

use std::path::Path;

use crate::agents::result::{AgentResult, LOST};
use crate::branch::witness::Witness;
use crate::client::transcript::usage::{self, Cost};
use crate::core::journal::{Entry, EntryKind};
use crate::core::time::Time;
use crate::errors::document::Errors;
use crate::hooks::{lost_agents, subagent_stop};
use crate::loops::queue::document::Queue;
use crate::loops::queue::drive;
use crate::session::live::Live;
use crate::session::metrics::{self, Metrics};
use crate::session::record;
use crate::state::plan::{Change, Plan};
use crate::state::{Doc, State};
use crate::turn::context::Context;

/// Rows of what a session used, in the journal and in the metrics.
const USAGE_TOLD: usize = 200;
const USAGE_KEPT: usize = 30;

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
    /// Their lines for the journal.
    ends: Vec<Entry>,
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
            ends: Vec::new(),
            with_results: Vec::new(),
        }
    }

    pub fn close(&mut self, live: &Live, ended: &str, witness: &mut Witness, end: Time) {
        self.close_as(live, ended, witness, end, |_| {});
    }

    fn close_as(
        &mut self,
        live: &Live,
        ended: &str,
        witness: &mut Witness,
        end: Time,
        amend: impl FnOnce(&mut metrics::Entry),
    ) {
        let mut live = live.clone();
        let lost = end_agents(&mut live, witness, end, self.state, self.context);
        self.lost.extend(lost);
        // An error whose hook was killed before it came to the record is counted now.
        if let Some(errors) = self.state.get::<Errors>() {
            record::count_errors(&mut live, errors);
        }
        let mut line = Entry::new(EntryKind::End).of_session(&live.session_id).what(ended);
        if live.worked {
            let work = self.state.get::<Queue>().map(|queue| queue.work_of(&live.session_id));
            let cost = self.cost(&live);
            let mut entry = metrics::Entry::new(&live, ended, cost, work.unwrap_or_default(), end);
            amend(&mut entry);
            let before = || self.state.get::<Metrics>().cloned().unwrap_or_default();
            let metrics = self.metrics.get_or_insert_with(before);
            if entry.tokens.is_none() && entry.cost_usd.is_none() {
                metrics.find(&live.session_id).iter().for_each(|known| entry.keep_cost(known));
            }
            // Told once with all agents; the metrics are written anew at every end.
            entry.usage = usage::at_most(&entry.usage, USAGE_TOLD);
            line = line.target(entry.task.as_deref().unwrap_or_default()).record(&entry);
            entry.usage = usage::without_agents(&entry.usage, USAGE_KEPT);
            self.too_old.extend(metrics.put(entry));
        }
        if let Some(errors) = &mut self.errors {
            errors.clear(&live.session_id);
        }
        if live.agents_spawned > 0 {
            self.with_results.push(live.session_id.clone());
        }
        self.ends.push(line);
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
            plan.tell(result.journal_line());
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
        if let Some(queue) = self.state.read::<Queue>(&()).writable() {
            let mut queue = queue.clone();
            if queue.expire(&self.closed) {
                drive::put_items(plan, &queue, self.state);
            }
        }
        plan.told.extend(self.ends);
        for session_id in &self.closed {
            plan.remove(&self.state.read::<Live>(session_id));
        }
    }
}

/// Ends a session's running agents with it. Their results are given back, but for those that are
/// written already; who was lost is noted in the record.
pub fn end_agents(
    live: &mut Live,
    witness: &mut Witness,
    end: Time,
    state: &State,
    context: &Context,
) -> Vec<AgentResult> {
    let ids: Vec<String> = live.agents.iter().map(|agent| agent.id.clone()).collect();
    let mut ended = lost_agents::end_unseen(live, &ids, end, state, context);
    for result in &ended {
        witness.end(result, None);
        subagent_stop::count(live, result);
        if result.status == LOST {
            live.add_lost(&result.agent_id);
        }
    }
    // Its SubagentStop was killed before it was struck off.
    ended.retain(|result| state.get_by::<AgentResult>(&result.agent_id) != Some(result));
    ended
}

/// A session that had ended was opened by an event that came late, and ends again as it had ended.
pub fn close_again(
    plan: &mut Plan,
    live: &Live,
    earlier: &metrics::Entry,
    mut witness: Witness,
    state: &State,
    context: &Context,
) {
    let others = record::others(&live.session_id, state);
    let mut closing = Closing::new(state, context, others.clone().next().is_some());
    closing.close_as(live, &earlier.ended, &mut witness, context.now, |entry| {
        entry.date.clone_from(&earlier.date);
        entry.duration_minutes = earlier.duration_minutes;
    });
    witness.put(plan);
    closing.put(plan);
    record::put_copies(plan, others, state);
}
