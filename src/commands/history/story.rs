//! The story of a session: what it was about, what happened, who took part, what failed, how it
//! ended. From its record or metrics, its results, and its journal.

use std::collections::BTreeMap;

use crate::agents::result::AgentResult;
use crate::core::journal::{Entry, EntryKind};
use crate::core::time::Time;
use crate::errors::document::Record;
use crate::history::agents::kept_results;
use crate::history::compactions::compactions;
use crate::history::errors::kept_errors;
use crate::history::sessions::{SessionSummary, summarize};
use crate::session::metrics;
use crate::store::journal;
use crate::store::journal::read::{Order, PassedOver};
use crate::store::view::View;

/// All that is kept of a session.
pub struct Story {
    pub summary: SessionSummary,
    pub agents: Vec<AgentResult>,
    pub errors: Vec<Record>,
    /// What happened, oldest first, without quiet hook runs.
    pub timeline: Vec<Entry>,
    pub passed_over: PassedOver,
}

impl Story {
    /// Of a session by its whole id, or by the stem of its journal; `ended` are those that have ended.
    pub fn read(view: &View, ended: &[metrics::Entry], session_id: &str, now: Time) -> Self {
        let stem = journal::stem(session_id);
        let stem = if session_id == "no-session" { session_id } else { &stem };
        let all = view.journal();
        let mut lines = all.of_stem(stem, Order::OldestFirst);
        let is_told = |entry: &Entry| entry.kind.is_told();
        let mut timeline: Vec<Entry> = lines.by_ref().filter(is_told).collect();
        timeline.sort_by(|one, other| one.time.cmp(&other.time));
        let mut story = Self {
            summary: summarize(view, ended, session_id, now),
            agents: kept_results(view, Some(stem)),
            errors: kept_errors(view, Some(stem), None).records,
            timeline,
            passed_over: lines.passed_over(),
        };
        story.fill_in();
        story
    }

    /// What the metrics do not say is counted in the journal.
    fn fill_in(&mut self) {
        let summary = &mut self.summary;
        let end = self.timeline.iter().rev().find(|entry| entry.kind == EntryKind::End);
        if !summary.is_live && summary.reason.is_none() {
            // Its metrics are gone, or it did no work.
            let record = end.and_then(|end| end.record.as_ref()?.read::<metrics::Entry>());
            summary.reason = end.and_then(|end| end.what.clone());
            summary.task = record.and_then(|entry| entry.task);
            summary.agents.spawned = self.agents.len() as u64;
            summary.errors.total = self.errors.len() as u64;
            summary.findings = self.agents.iter().map(|agent| agent.findings.len() as u64).sum();
            summary.compactions = compactions(&self.timeline) as u64;
        }
        let is_typed = |entry: &&Entry| {
            entry.kind == EntryKind::Prompt && entry.what.as_deref() != Some("machine")
        };
        if summary.title().is_none() {
            let first = self.timeline.iter().find(is_typed);
            summary.task = first.and_then(|entry| entry.text.clone());
        }
    }

    /// How many errors of each class.
    pub fn errors_by_class(&self) -> BTreeMap<&str, usize> {
        let mut classes = BTreeMap::new();
        for record in &self.errors {
            *classes.entry(record.classification.as_str()).or_default() += 1;
        }
        classes
    }

    /// The lines of one kind.
    pub fn told(&self, kind: EntryKind) -> impl Iterator<Item = &Entry> {
        self.timeline.iter().filter(move |entry| entry.kind == kind)
    }
}
