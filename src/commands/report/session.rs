//! A session as a report tells it: its journal, and what the documents say of it.

use crate::agents::result::AgentResult;
use crate::core::journal::{Entry, EntryKind};
use crate::core::spelling::short_id;
use crate::core::time;
use crate::history::compactions::compactions;
use crate::history::ledger::{self, Sum};
use crate::report::lane::{self, Lane};
use crate::report::text::line;
use crate::session::ending::ending_in_words;
use crate::session::metrics;
use crate::store::journal::read::PassedOver;

pub struct Session {
    pub id: String,
    /// What happened, oldest first.
    pub entries: Vec<Entry>,
    pub lanes: Vec<Lane>,
    /// What it came to, or has come to so far.
    pub known: Option<ledger::Session>,
    /// Where it was, in a report on all projects.
    pub project: Option<String>,
    pub passed_over: PassedOver,
    /// As much of its id as tells it from the others.
    pub short_id: String,
}

impl Session {
    /// `entries` are in the order of their times.
    pub fn new(
        id: String,
        entries: Vec<Entry>,
        known: Option<ledger::Session>,
        since: Option<&str>,
    ) -> Self {
        let lanes = lane::lanes(&entries);
        // The journal's own copy is there when the document's has been moved away.
        let ended = || {
            let ends = entries.iter().rev().filter(|entry| entry.kind == EntryKind::End);
            ends.filter_map(|entry| entry.record.as_ref()?.read::<metrics::Entry>()).next()
        };
        let of_end = || ended().map(|entry| ledger::Session::of_entry(entry, since));
        let known = known.or_else(of_end);
        let passed_over = PassedOver::default();
        let short_id = short_id(&id, &[]);
        Self { id, entries, lanes, known, project: None, passed_over, short_id }
    }

    /// Whether its figures are all that is known of it.
    pub fn is_untold(&self) -> bool {
        self.entries.is_empty() && self.known.is_some()
    }

    pub fn is_live(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_live)
    }

    fn metrics(&self) -> Option<&metrics::Entry> {
        self.known.as_ref().map(|known| &known.entry)
    }

    pub fn count(&self, kind: EntryKind) -> usize {
        self.entries.iter().filter(|entry| entry.kind == kind).count()
    }

    pub fn compactions(&self) -> usize {
        compactions(&self.entries)
    }

    pub fn agents(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.agent.is_some()).count()
    }

    /// Of a session whose journal is gone.
    fn has_agents(&self) -> bool {
        let counted = self.metrics().filter(|_| self.is_untold());
        self.agents() > 0 || counted.is_some_and(|entry| entry.agents.spawned > 0)
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
        let task = self.metrics().and_then(metrics::Entry::title);
        let typed = |entry: &&Entry| {
            entry.kind == EntryKind::Prompt && entry.what.as_deref() != Some("machine")
        };
        let prompt = || self.entries.iter().find(typed).and_then(|entry| entry.text.as_deref());
        task.or_else(prompt).unwrap_or("no prompt yet")
    }

    /// What it used; `None` if nobody knows.
    pub fn sum(&self) -> Option<Sum> {
        self.known.as_ref().filter(|known| !known.usage.is_empty()).map(ledger::Session::sum)
    }

    /// What an agent used, or the main thread; `None` if nobody can tell.
    pub fn used_by(&self, agent: Option<&str>) -> Option<Sum> {
        let known = self.known.as_ref()?;
        // Where no agent has a row, they are all in the main thread's.
        if self.has_agents() && known.usage.iter().all(|row| row.agent.is_none()) {
            return None;
        }
        let mut rows = known.usage.iter().filter(|row| row.agent.as_deref() == agent).peekable();
        rows.peek()?;
        let mut sum = Sum::default();
        rows.for_each(|row| sum.add(known, row));
        Some(sum)
    }

    /// How it ended, in the words of `sessions`.
    pub fn ending(&self) -> String {
        let told = || self.entries.iter().rev().find(|entry| entry.kind == EntryKind::End);
        let of_metrics = self.metrics().map(|entry| entry.ended.as_str());
        let reason = of_metrics.filter(|reason| !reason.is_empty());
        match reason.or_else(|| told()?.what.as_deref()) {
            _ if self.is_live() => "live".to_owned(),
            Some(reason) => line(&ending_in_words(reason), 60),
            None => "end not known".to_owned(),
        }
    }

    /// The day on which it began, of one that is not told.
    pub fn day(&self) -> &str {
        self.metrics().map_or("", |entry| entry.date.as_str())
    }
}

/// A moment in milliseconds since 1970; `None` if nobody can tell.
pub fn millis(entry: &Entry) -> Option<i64> {
    time::parse(&entry.time).map(|time| time.timestamp_millis())
}
