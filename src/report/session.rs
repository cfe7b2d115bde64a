//! A session as a report tells it: its journal, and what the documents say of it.

use crate::agents::result::AgentResult;
use crate::core::journal::{Entry, EntryKind};
use crate::core::time;
use crate::report::lane::{self, Lane};
use crate::session::metrics;
use crate::store::journal::read::PassedOver;

pub struct Session {
    pub id: String,
    /// What happened, oldest first.
    pub entries: Vec<Entry>,
    pub lanes: Vec<Lane>,
    /// What it came to, if it has ended.
    pub metrics: Option<metrics::Entry>,
    pub passed_over: PassedOver,
}

impl Session {
    /// `entries` are in the order of their times.
    pub fn new(id: String, entries: Vec<Entry>, metrics: Option<metrics::Entry>) -> Self {
        let lanes = lane::lanes(&entries);
        // The journal's own copy is there when the document's has been moved away.
        let ended = || {
            let ends = entries.iter().rev().filter(|entry| entry.kind == EntryKind::End);
            ends.filter_map(|entry| entry.record.as_ref()?.read::<metrics::Entry>()).next()
        };
        let metrics = metrics.or_else(ended);
        Self { id, entries, lanes, metrics, passed_over: PassedOver::default() }
    }

    pub fn count(&self, kind: EntryKind) -> usize {
        self.entries.iter().filter(|entry| entry.kind == kind).count()
    }

    /// A compaction is told before and after; one that was refused only before.
    pub fn compactions(&self) -> usize {
        self.count(EntryKind::Compacted).max(self.count(EntryKind::Compact))
    }

    pub fn agents(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.agent.is_some()).count()
    }

    /// The last result of each agent.
    pub fn results(&self) -> Vec<AgentResult> {
        let mut results: Vec<AgentResult> = Vec::new();
        let ends = self.entries.iter().filter(|entry| entry.kind == EntryKind::AgentEnd);
        for result in ends.filter_map(|entry| entry.record.as_ref()?.read::<AgentResult>()) {
            results.retain(|earlier| earlier.agent_id != result.agent_id);
            results.push(result);
        }
        results
    }

    /// The first and the last moment, in milliseconds since 1970.
    pub fn span(&self) -> Option<(i64, i64)> {
        let from = self.lanes.iter().map(|lane| lane.from).min()?;
        let to = self.lanes.iter().map(|lane| lane.to).max()?;
        Some((from, to))
    }

    pub fn title(&self) -> &str {
        let task = self.metrics.as_ref().and_then(metrics::Entry::title);
        let typed = |entry: &&Entry| {
            entry.kind == EntryKind::Prompt && entry.what.as_deref() != Some("machine")
        };
        let prompt = || self.entries.iter().find(typed).and_then(|entry| entry.text.as_deref());
        task.or_else(prompt).unwrap_or("no prompt yet")
    }

    pub fn tokens(&self) -> Option<u64> {
        let tokens = self.metrics.as_ref()?.tokens.as_ref()?;
        Some(
            [tokens.output, tokens.cache_creation, tokens.cache_read]
                .iter()
                .fold(tokens.input, |sum, part| sum.saturating_add(*part)),
        )
    }

    pub fn usd(&self) -> Option<f64> {
        self.metrics.as_ref().and_then(|entry| entry.cost_usd)
    }

    pub fn short_id(&self) -> String {
        self.id.chars().take(8).collect()
    }
}

/// A moment in milliseconds since 1970; `None` if nobody can tell.
pub fn millis(entry: &Entry) -> Option<i64> {
    time::parse(&entry.time).map(|time| time.timestamp_millis())
}
