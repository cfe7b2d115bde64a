//! `session/metrics.json`: one entry per session, in the seed's schema, newest last.
//!
//! Two hundred entries are rewritten at every session end, and only one of them is ours to change.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::client::transcript::Tokens;
use crate::client::transcript::usage::{self, Cost, Usage};
use crate::core::entries::{self, Beside, Entries, Field, Shared, Slot};
use crate::core::json;
use crate::core::json::scan::Span;
use crate::core::pieces::Pieces;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, is_zero};
use crate::core::time::{self, Time};
use crate::errors::document::Tally;
use crate::session::live::{Earlier, Live};
use crate::session::model::ModelUse;
use crate::session::panels;
use crate::state::panel::StatusPart;
use crate::state::{Format, Row, document};

const SESSIONS: &str = "sessions";
/// More than this many, and the oldest move to `metrics-archive.jsonl`.
const ENTRIES: usize = 200;
/// Files that an entry names.
const FILES: usize = 25;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    entries: Entries<Entry>,
    beside: Beside,
}

/// One entry per session that ended, newest last.
#[cfg(feature = "testing")]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is wanted: the file is read as raw text")]
pub struct File {
    sessions: Vec<Entry>,
    #[schemars(flatten)]
    extra: Extra,
}

/// What a session came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "session_id", "date", "duration_minutes", "commands", "agents", "quality", "errors"
])))]
pub struct Entry {
    pub session_id: String,
    /// The day on which it started.
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::date"))]
    pub date: String,
    pub duration_minutes: u64,
    /// How often each slash command was used.
    pub commands: BTreeMap<String, u64>,
    pub agents: Agents,
    pub quality: Quality,
    pub errors: Tally,
    /// Why it ended, as the client said.
    pub ended: String,
    pub compactions: u64,
    #[serde(rename = "loop")]
    pub loop_verdict: Option<serde_json::Value>,
    pub tokens: Option<Tokens>,
    pub cost_usd: Option<f64>,
    pub files_modified: u64,
    /// What it was about.
    pub task: Option<String>,
    /// The branch that it began on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// What the tokens and dollars are made of; in the journal also by agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<Usage>,
    /// Whether the dollars are by the price table, at least in part; else they are the client's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_estimated: bool,
    /// Whether the transcripts were too long to be counted as a whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub usage_partial: bool,
    /// The model that it used last, where the client has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How often the client fell back to another model by itself.
    #[serde(skip_serializing_if = "is_zero")]
    pub model_fallbacks: u64,
    /// Agents that were lost with its client: whoever goes on with it is to hear of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_agents: Vec<String>,
    /// The last prompt that a person typed, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_prompt: Option<String>,
    /// The files that were modified last, for when it goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_files: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["spawned", "completed", "failed"])))]
pub struct Agents {
    pub spawned: u64,
    pub completed: u64,
    pub failed: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["issues_found", "issues_fixed", "coverage_delta"])))]
pub struct Quality {
    pub issues_found: u64,
    pub issues_fixed: u64,
    /// Such as `+8%`; `null` if nobody measured it.
    pub coverage_delta: Option<String>,
    /// The part of `issues_found` that agents found; the rest, and what was fixed, is counted in
    /// the work queue. Entries of other tools do not have it.
    pub findings: Option<u64>,
    /// The part of `issues_fixed` that agents did not find: work items of persons and of errors.
    #[serde(skip_serializing_if = "is_zero")]
    pub items_done: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Work items of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    pub added: u64,
    pub done: u64,
    /// Those of `done` that no agent found.
    pub items_done: u64,
    /// By how many points the coverage has changed in its loop.
    pub coverage: Option<f64>,
}

impl Entry {
    /// The entry of a session that ended at `end`.
    pub fn new(live: &Live, ended: &str, cost: Cost, work: Work, end: Time) -> Self {
        let seconds = time::seconds_between(&live.started, &time::spell(end)).unwrap_or(0);
        Self {
            session_id: live.session_id.clone(),
            date: live.started.get(..10).unwrap_or_default().to_owned(),
            duration_minutes: live.earlier.minutes + (seconds + 30) / 60,
            commands: live.command_counts.clone(),
            agents: Agents {
                spawned: live.agents_spawned,
                completed: live.agents_completed,
                failed: live.agents_failed,
                extra: Extra::new(),
            },
            quality: Quality {
                issues_found: live.findings + work.added,
                issues_fixed: live.earlier.fixed + work.done,
                coverage_delta: work.coverage.map(|points| format!("{points:+}%")),
                findings: Some(live.findings),
                items_done: work.items_done,
                extra: Extra::new(),
            },
            errors: Tally {
                total: live.errors_encountered,
                recovered: live.errors_recovered,
                escalated: live.errors_escalated,
                extra: Extra::new(),
            },
            ended: ended.to_owned(),
            compactions: live.compactions,
            loop_verdict: live.loop_verdict.clone().map(Into::into),
            tokens: cost.tokens,
            cost_usd: cost.usd,
            files_modified: live.earlier.files + live.files_modified.len() as u64,
            task: live.task.clone(),
            git_branch: live.git_branch.clone(),
            usage: cost.rows,
            cost_estimated: cost.is_estimate,
            usage_partial: cost.is_partial,
            model: live.model_use.as_ref().map(|model| model.name.clone()),
            model_fallbacks: live.model_use.as_ref().map_or(0, |model| model.fallbacks),
            lost_agents: live.lost_agents.clone(),
            last_prompt: live.last_prompt.clone().filter(|last| live.task.as_ref() != Some(last)),
            last_files: last_files(live),
            extra: Extra::new(),
        }
    }

    /// The transcripts are gone: what they said at its earlier end still holds.
    pub fn keep_cost(&mut self, earlier: &Self) {
        self.tokens.clone_from(&earlier.tokens);
        self.cost_usd = earlier.cost_usd;
        self.usage.clone_from(&earlier.usage);
        self.cost_estimated = earlier.cost_estimated;
        self.usage_partial = earlier.usage_partial;
    }

    /// What its agents found; earlier versions only knew it together with work items.
    pub fn findings(&self) -> u64 {
        self.quality.findings.unwrap_or(self.quality.issues_found)
    }

    /// How many findings were fixed; earlier versions only knew them together with work items.
    pub fn findings_fixed(&self) -> u64 {
        self.quality.issues_fixed.saturating_sub(self.quality.items_done)
    }

    /// What people are told that it was about.
    pub fn title(&self) -> Option<&str> {
        self.task.as_deref().or(self.last_prompt.as_deref())
    }

    /// A closed session goes on: its record takes the counts up where they were.
    pub fn reopen(&self, live: &mut Live) {
        live.worked = true;
        live.task.clone_from(&self.task);
        live.model_use = self.model.clone().map(|name| ModelUse {
            name,
            fallbacks: self.model_fallbacks,
            ..ModelUse::default()
        });
        live.lost_agents.clone_from(&self.lost_agents);
        live.last_prompt.clone_from(&self.last_prompt);
        live.files_modified.clone_from(&self.last_files);
        let verdict = self.loop_verdict.as_ref().and_then(serde_json::Value::as_str);
        live.loop_verdict = verdict.map(str::to_owned);
        live.earlier = Earlier {
            minutes: self.duration_minutes,
            files: self.files_modified.saturating_sub(self.last_files.len() as u64),
            fixed: match self.quality.findings {
                Some(_) => 0,
                None => self.quality.issues_fixed,
            },
            errors: self.errors.clone(),
            extra: Extra::new(),
        };
        live.command_counts.clone_from(&self.commands);
        live.agents_spawned = self.agents.spawned;
        live.agents_completed = self.agents.completed;
        live.agents_failed = self.agents.failed;
        live.findings = self.quality.findings.unwrap_or(self.quality.issues_found);
        live.errors_encountered = self.errors.total;
        live.errors_recovered = self.errors.recovered;
        live.errors_escalated = self.errors.escalated;
        live.compactions = self.compactions;
    }
}

fn last_files(live: &Live) -> Vec<String> {
    let skip = live.files_modified.len().saturating_sub(FILES);
    live.files_modified.iter().skip(skip).cloned().collect()
}

impl entries::Entry for Entry {
    /// Where its session's id stands.
    type Outline = Span;
    /// Whether it is that of the session's id.
    type Key = bool;

    fn key(_: usize, key: &[u8]) -> bool {
        key == b"session_id"
    }

    fn outline(id: &mut Span, field: &Field<bool>) {
        if field.key {
            *id = field.span;
        }
    }
}

impl Metrics {
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::parse_shared(&Shared::new(bytes.to_vec()))
    }

    /// Parses a document without a copy of its bytes.
    pub fn parse_shared(bytes: &Shared) -> Result<Self, String> {
        let (entries, beside) = Entries::parse(bytes, SESSIONS)
            .ok_or_else(|| json::refusal(bytes, SESSIONS).to_string())?;
        Ok(Self { entries, beside })
    }

    pub fn find(&self, session_id: &str) -> Option<Entry> {
        self.entries.read(self.entries.slots.get(self.position(session_id)?)?)
    }

    /// Puts an entry in, in place of the session's earlier one, and returns what became too old,
    /// one line each. Fields of the earlier entry that we do not know stay.
    pub fn put(&mut self, mut entry: Entry) -> Vec<String> {
        if let Some(at) = self.position(&entry.session_id) {
            let earlier = self.entries.slots.remove(at);
            if let Some(earlier) = self.entries.read(&earlier) {
                entry.extra = earlier.extra;
                entry.agents.extra = earlier.agents.extra;
                entry.quality.extra = earlier.quality.extra;
                entry.errors.extra = earlier.errors.extra;
                usage::keep_extra(&mut entry.usage, earlier.usage);
                if let (Some(tokens), Some(earlier)) = (&mut entry.tokens, earlier.tokens) {
                    tokens.extra = earlier.extra;
                }
                entry.quality.coverage_delta =
                    entry.quality.coverage_delta.or(earlier.quality.coverage_delta);
            }
        }
        self.entries.push(entry);
        let too_many = self.entries.slots.len().saturating_sub(ENTRIES);
        let oldest: Vec<Slot<Entry>> = self.entries.slots.drain(..too_many).collect();
        oldest.iter().map(|slot| one_line(&self.entries.text(slot))).collect()
    }

    /// Keeps the entries that are good, and says how many were not.
    pub fn retain(&mut self, is_good: impl Fn(&str) -> bool) -> usize {
        let before = self.entries.slots.len();
        let mut slots = std::mem::take(&mut self.entries.slots);
        slots.retain(|slot| is_good(&self.entries.text(slot)));
        self.entries.slots = slots;
        before - self.entries.slots.len()
    }

    fn to_pieces(&self) -> Pieces {
        let mut pieces = Pieces::default();
        pieces.push("{\n  \"sessions\": ");
        self.entries.write(&mut pieces, entries::line);
        entries::write_beside(&mut pieces, &self.beside);
        pieces
    }

    /// The newest entry first; `most` of them.
    pub fn newest(&self, most: usize) -> Vec<Entry> {
        let newest = self.entries.slots.iter().rev().take(most);
        newest.filter_map(|slot| self.entries.read(slot)).collect()
    }

    fn position(&self, session_id: &str) -> Option<usize> {
        let is_session = |slot: &Slot<Entry>| match slot {
            Slot::Raw(_, id) => self.entries.is_string(*id, session_id),
            Slot::Typed(entry) => entry.session_id == session_id,
        };
        self.entries.slots.iter().rposition(is_session)
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        entries::deserialize(deserializer, Self::parse_shared)
    }
}

fn one_line(raw: &str) -> String {
    serde_json::from_str(raw)
        .and_then(|value: serde_json::Value| serde_json::to_string(&value))
        .unwrap_or_else(|_| raw.replace('\n', " "))
}

document!(Metrics, Row {
    name: "metrics",
    path: "state/session/metrics.json",
    schema: "metrics",
    title: "Session metrics",
    about: "what the last sessions came to",
    status: Some(StatusPart { place: 120, read: panels::earlier }),
    ..Row::DURABLE
}, schema: File, parse: |_, bytes| Self::parse_shared(bytes), pieces: Self::to_pieces);

/// Entries that are too old for `metrics.json`.
pub const ARCHIVE: Row = Row {
    name: "metrics-entry",
    path: "state/session/metrics-archive.jsonl",
    schema: "metrics-entry",
    title: "Session metrics entry",
    about: "a line: what an older session came to",
    format: Format::Lines,
    ..Row::DURABLE
};

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
