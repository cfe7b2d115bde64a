//! What is known of each session: its record while it lives, its metrics when it has ended, and when
//! that was from its journal.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::client::transcript::Tokens;
use crate::client::transcript::usage::Cost;
use crate::core::journal::EntryKind;
use crate::core::time::{self, Time};
use crate::errors::document::Tally;
use crate::history::ledger::{self, Sum};
use crate::session::ending::ABANDONED;
use crate::session::live::Live;
use crate::session::metrics::{self, Entry, Metrics};
use crate::session::record::archived_metrics;
use crate::session::record::lives;
use crate::store::journal::read::Order;
use crate::store::journal::{self, Journal};
use crate::store::view::View;

/// What a session came to, or has come to so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionSummary {
    pub session_id: String,
    pub is_live: bool,
    /// In UTC; only the day if its journal is gone.
    pub started: String,
    /// In UTC; `None` if it lives or its journal is gone.
    pub ended: Option<String>,
    /// How long it took, without the time between its stretches.
    pub seconds: Option<u64>,
    /// What it was about, and the last prompt if that is another.
    pub task: Option<String>,
    pub last_prompt: Option<String>,
    /// Why it ended, as the client said.
    pub reason: Option<String>,
    pub agents: metrics::Agents,
    pub errors: Tally,
    pub findings: u64,
    pub files_modified: u64,
    pub last_files: Vec<String>,
    pub compactions: u64,
    pub tokens: Option<Tokens>,
    pub cost_usd: Option<f64>,
    /// Whether the dollars are made of the price table, at least in part.
    pub cost_estimated: bool,
    /// Whether there was more than was counted.
    pub usage_partial: bool,
    /// Models whose price is not known: they are not in the dollars.
    pub unpriced: BTreeSet<String>,
    pub model: Option<String>,
    /// The models that it used, as `cost` counts them; the one that was used most first.
    pub models: Vec<String>,
    pub loop_verdict: Option<String>,
}

impl SessionSummary {
    fn from_live(live: &Live, now: Time) -> Self {
        Self {
            session_id: live.session_id.clone(),
            is_live: true,
            started: live.started.clone(),
            seconds: Some(live.earlier.minutes * 60 + time::age(&live.started, now)),
            task: live.task.clone(),
            last_prompt: live.last_prompt.clone().filter(|last| live.task.as_ref() != Some(last)),
            agents: metrics::Agents {
                spawned: live.agents_spawned,
                completed: live.agents_completed,
                failed: live.agents_failed,
                ..Default::default()
            },
            errors: Tally {
                total: live.errors_encountered,
                recovered: live.errors_recovered,
                escalated: live.errors_escalated,
                ..Default::default()
            },
            findings: live.findings,
            files_modified: live.earlier.files + live.files_modified.len() as u64,
            last_files: live.files_modified.clone(),
            compactions: live.compactions,
            model: live.model_use.as_ref().map(|model| model.name.clone()),
            loop_verdict: live.loop_verdict.clone(),
            ..Self::default()
        }
    }

    /// A session that has ended.
    pub fn from_entry(entry: &Entry, journal: &Journal) -> Self {
        let span = Span::read(journal, &entry.session_id);
        let verdict = entry.loop_verdict.as_ref();
        let known = ledger::Session::of_entry(entry.clone(), None);
        let one = Self {
            session_id: entry.session_id.clone(),
            is_live: false,
            started: span.first.clone().unwrap_or_else(|| entry.date.clone()),
            ended: span.last.clone(),
            seconds: Some(span.seconds(entry, journal)),
            task: entry.task.clone(),
            last_prompt: entry.last_prompt.clone(),
            reason: Some(entry.ended.clone()),
            agents: entry.agents.clone(),
            errors: entry.errors.clone(),
            findings: entry.findings(),
            files_modified: entry.files_modified,
            last_files: entry.last_files.clone(),
            compactions: entry.compactions,
            model: entry.model.clone(),
            loop_verdict: verdict.map(|verdict| match verdict.as_str() {
                Some(text) => text.to_owned(),
                None => verdict.to_string(),
            }),
            ..Self::default()
        };
        one.with_used(&known)
    }

    /// With what it used, as `cost` counts it.
    pub fn with_used(self, known: &ledger::Session) -> Self {
        let used = known.sum();
        let Cost { tokens, usd, is_estimate, is_partial, .. } = used.cost;
        Self {
            tokens,
            cost_usd: usd,
            cost_estimated: is_estimate,
            usage_partial: is_partial,
            unpriced: used.unpriced,
            models: known.models(),
            ..self
        }
    }

    /// The model that it used last, where the client has said so; else those that it used.
    pub fn model_in_words(&self) -> String {
        self.model.clone().unwrap_or_else(|| self.models.join(", "))
    }

    /// What it used; `None` if nobody knows.
    pub fn used(&self) -> Option<Sum> {
        let cost = Cost {
            tokens: self.tokens.clone(),
            usd: self.cost_usd,
            is_estimate: self.cost_estimated,
            is_partial: self.usage_partial,
            ..Cost::default()
        };
        let is_known = cost.tokens.is_some() || cost.usd.is_some();
        is_known.then(|| Sum { cost, unpriced: self.unpriced.clone(), ..Sum::default() })
    }

    /// A session of which only the journal is left.
    pub fn from_journal(session_id: &str, journal: &Journal) -> Self {
        let span = Span::read(journal, session_id);
        let seconds = span.first.as_ref().zip(span.last.as_ref());
        Self {
            session_id: session_id.to_owned(),
            seconds: seconds.and_then(|(first, last)| time::seconds_between(first, last)),
            started: span.first.unwrap_or_default(),
            ended: span.last,
            ..Self::default()
        }
    }

    /// What people are told that it was about.
    pub fn title(&self) -> Option<&str> {
        self.task.as_deref().or(self.last_prompt.as_deref())
    }
}

/// When the first and the last thing happened.
struct Span {
    first: Option<String>,
    last: Option<String>,
}

impl Span {
    fn read(journal: &Journal, session_id: &str) -> Self {
        let stem = journal::stem(session_id);
        let edge = |order| journal.of_stem(&stem, order).next().map(|entry| entry.time);
        Self { first: edge(Order::OldestFirst), last: edge(Order::NewestFirst) }
    }

    /// The metrics know whole minutes, without the time between two stretches of a session; the
    /// journal knows the seconds, of one that was interrupted if all of it is read.
    fn seconds(&self, entry: &Entry, journal: &Journal) -> u64 {
        let known = entry.duration_minutes.saturating_mul(60);
        let span = self.first.as_ref().zip(self.last.as_ref());
        let span = span.and_then(|(first, last)| time::seconds_between(first, last));
        if let Some(span) = span.filter(|span| span.abs_diff(known) <= 60) {
            return span;
        }
        let stretches = stretches(journal, &entry.session_id);
        // Each was rounded for itself.
        let most_off = 60 * stretches.len().max(1) as u64;
        let sum: u64 = stretches.iter().sum();
        if sum.abs_diff(known) <= most_off { sum } else { known }
    }
}

/// The seconds of each time that a session was open.
fn stretches(journal: &Journal, session_id: &str) -> Vec<u64> {
    let mut open: Option<(String, String)> = None;
    let mut found = Vec::new();
    let seconds = |(first, last): (String, String)| time::seconds_between(&first, &last);
    for line in journal.of_stem(&journal::stem(session_id), Order::OldestFirst) {
        let is_end = line.kind == EntryKind::End;
        // Somebody else has noticed, later.
        let is_late = is_end && line.what.as_deref() == Some(ABANDONED);
        let stretch = match open.take() {
            Some(open) if is_late => open,
            Some((first, _)) => (first, line.time),
            None => (line.time.clone(), line.time),
        };
        match is_end {
            true => found.extend(seconds(stretch)),
            false => open = Some(stretch),
        }
    }
    found.extend(open.and_then(seconds));
    found
}

/// The metrics of all sessions that have ended, newest first, those in the archive too.
pub fn ended_sessions(view: &View) -> Vec<Entry> {
    let mut ended = view.get::<Metrics>().unwrap_or_default().newest(usize::MAX);
    ended.extend(archived_metrics(view).0);
    ended
}

/// The ids of all sessions that anything is known of; of those with a journal alone, its stem.
pub fn known_ids(view: &View, ended: &[Entry]) -> Vec<String> {
    let mut ids: Vec<String> = lives(view).into_iter().map(|live| live.session_id).collect();
    ids.extend(ended.iter().map(|entry| entry.session_id.clone()));
    let known: std::collections::HashSet<String> = ids.iter().map(|id| journal::stem(id)).collect();
    let stems = view.journal().sessions().into_iter().map(|files| files.stem);
    ids.extend(stems.filter(|stem| !known.contains(stem)));
    ids
}

/// One that lives, with what its transcripts say that it used.
pub fn live_summary(view: &View, live: &Live, metrics: &Metrics, now: Time) -> SessionSummary {
    let lives = std::slice::from_ref(live);
    let known = ledger::session(view, lives, metrics, &live.session_id, None, now);
    let summary = SessionSummary::from_live(live, now);
    match known {
        Some(known) => summary.with_used(&known),
        None => summary,
    }
}

/// What is known of a session, by its whole id; `ended` are those that have ended.
pub fn summarize(view: &View, ended: &[Entry], session_id: &str, now: Time) -> SessionSummary {
    let lives = lives(view);
    if let Some(live) = lives.iter().find(|live| live.session_id == session_id) {
        let metrics = view.get::<Metrics>().unwrap_or_default();
        return live_summary(view, live, &metrics, now);
    }
    let journal = view.journal();
    match ended.iter().find(|entry| entry.session_id == session_id) {
        Some(entry) => SessionSummary::from_entry(entry, &journal),
        None => SessionSummary::from_journal(session_id, &journal),
    }
}
