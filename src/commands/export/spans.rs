//! Lines of the journal as spans: a session is a trace, with its turns, agents and tool calls in it.
//!
//! A span is sent when it is over. What has only begun is shown by a mark: a span without length
//! below the one that will follow ([`names::PENDING`]), so that a trace view shows what runs now.
//!
//! What a span needs from earlier lines (when its turn, its agent, its session began) is in the
//! cursor ([`Track`]), so no line is read twice.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::agents::result::{AgentResult, SUCCESS};
use crate::core::journal::{Entry, EntryKind};
use crate::core::time;
use crate::export::clean;
use crate::export::ids;
use crate::export::logs::{common, end_attributes, kind_word};
use crate::export::names;
use crate::export::otlp::{Attributes, FAILED, INTERNAL, Span, Status, nanos, spelled_nanos};
use crate::export::what_to_send::WhatToSend;
use crate::session::metrics;

/// Agents of a session that are remembered while they run.
const RUNNING: usize = 500;

/// What is remembered of a session between two looks at its journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Track {
    /// When its first line was written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub started: String,
    /// How often it has ended.
    #[serde(skip_serializing_if = "crate::core::text::is_zero")]
    pub ends: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// Agents that run: since when, and in which turn they were started.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Turn>,
}

/// The turn that goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    pub prompt_id: String,
    pub started: String,
}

/// The span that a line belongs to.
pub fn span_of(entry: &Entry) -> String {
    let session = &entry.session;
    match (entry.kind, &entry.call, &entry.agent, &entry.prompt_id) {
        (EntryKind::Tool, Some(call), ..) => ids::tool_span(session, call),
        (_, _, Some(agent), _) => ids::agent_span(session, agent, 0),
        (EntryKind::End | EntryKind::Start, ..) => ids::session_span(session),
        (.., Some(prompt)) => ids::turn_span(session, prompt),
        _ => ids::session_span(session),
    }
}

/// The tool of a tool call: the first word of what it was aimed at.
pub fn tool_name(entry: &Entry) -> &str {
    let target = entry.target.as_deref().unwrap_or_default();
    target.split([' ', ':']).next().unwrap_or_default()
}

impl Track {
    /// The spans that a line brings to an end, or marks.
    pub fn spans(&mut self, entry: &Entry, send: WhatToSend) -> Vec<Span> {
        if self.started.is_empty() {
            self.started.clone_from(&entry.time);
        }
        match entry.kind {
            EntryKind::Start => vec![self.session_mark(entry)],
            EntryKind::End => vec![self.session(entry)],
            EntryKind::Prompt => self.turn_begins(entry),
            EntryKind::Stop if entry.agent.is_none() => self.turn_ends(entry),
            EntryKind::Tool => vec![self.tool(entry)],
            EntryKind::AgentStart => self.agent_begins(entry),
            EntryKind::AgentEnd => vec![self.agent(entry)],
            EntryKind::Notification
            | EntryKind::Compact
            | EntryKind::Loop
            | EntryKind::Gate
            | EntryKind::Model => vec![self.moment(entry, send)],
            EntryKind::Command
            | EntryKind::Call
            | EntryKind::Error
            | EntryKind::Recovered
            | EntryKind::Compacted
            | EntryKind::Stop
            | EntryKind::Handoff
            | EntryKind::Rejected
            | EntryKind::Spooled
            | EntryKind::Run
            | EntryKind::Other => Vec::new(),
        }
    }

    fn session_mark(&self, entry: &Entry) -> Span {
        let parent = ids::session_span(&entry.session);
        let mut mark = moment_span(entry, "session begins", parent);
        mark.attributes.flag(names::PENDING, entry.what.as_deref() != Some("compact"));
        mark.attributes.optional(names::SOURCE, entry.what.as_ref());
        mark
    }

    fn session(&mut self, entry: &Entry) -> Span {
        let root = ids::session_span(&entry.session);
        // A session that was closed, went on and is closed again has one root all the same.
        let (span_id, parent, name) = match self.ends {
            0 => (root, String::new(), "session"),
            _ => (ids::other_span("session", entry), root, "session goes on"),
        };
        let mut span = span(entry, span_id, parent, name.to_owned());
        span.start_time_unix_nano = spelled_nanos(&self.started);
        span.attributes.text(names::KIND, "session");
        span.attributes.optional(names::REASON, entry.what.as_ref());
        let end = entry.record.as_ref().and_then(|record| record.read::<metrics::Entry>());
        if let Some(end) = end {
            end_attributes(&mut span.attributes, &end);
        }
        *self = Self { ends: self.ends + 1, ..Self::default() };
        span
    }

    fn turn_begins(&mut self, entry: &Entry) -> Vec<Span> {
        let prompt_id = entry.prompt_id.clone().unwrap_or_else(|| entry.time.clone());
        let parent = ids::turn_span(&entry.session, &prompt_id);
        let mut mark = moment_span(entry, "turn begins", parent);
        mark.attributes.flag(names::PENDING, true);
        mark.attributes.text(names::AGENT_NAME, names::MAIN_AGENT);
        self.turn = Some(Turn { prompt_id, started: entry.time.clone() });
        vec![mark]
    }

    fn turn_ends(&mut self, entry: &Entry) -> Vec<Span> {
        if entry.what.as_deref() == Some("blocked") {
            return Vec::new();
        }
        let turn = self.turn.take();
        let known = turn
            .filter(|turn| entry.prompt_id.as_ref().is_none_or(|prompt| *prompt == turn.prompt_id));
        let turn = known.unwrap_or_else(|| Turn {
            prompt_id: entry.prompt_id.clone().unwrap_or_else(|| entry.time.clone()),
            started: entry.time.clone(),
        });
        let span_id = ids::turn_span(&entry.session, &turn.prompt_id);
        let name = format!("{} {}", names::INVOKE_AGENT, names::MAIN_AGENT);
        let mut span = span(entry, span_id, ids::session_span(&entry.session), name);
        span.start_time_unix_nano = spelled_nanos(&turn.started);
        span.attributes.text(names::KIND, "turn");
        span.attributes.text(names::OPERATION, names::INVOKE_AGENT);
        span.attributes.text(names::PROVIDER, names::ANTHROPIC);
        span.attributes.text(names::AGENT_NAME, names::MAIN_AGENT);
        if entry.failed {
            fail(&mut span, entry.what.as_deref().unwrap_or("error"));
        }
        vec![span]
    }

    fn tool(&self, entry: &Entry) -> Span {
        let session = &entry.session;
        let span_id = match &entry.call {
            Some(call) => ids::tool_span(session, call),
            None => ids::other_span("tool", entry),
        };
        let name = format!("{} {}", names::EXECUTE_TOOL, tool_name(entry));
        let mut span = span(entry, span_id, self.parent(entry), name);
        span.start_time_unix_nano = before(&entry.time, entry.ms);
        span.attributes.text(names::KIND, "tool");
        span.attributes.text(names::OPERATION, names::EXECUTE_TOOL);
        span.attributes.text(names::TOOL_NAME, tool_name(entry));
        span.attributes.optional(names::TARGET, entry.target.as_ref());
        if entry.failed {
            fail(&mut span, "tool_error");
        }
        span
    }

    fn agent_begins(&mut self, entry: &Entry) -> Vec<Span> {
        let Some(agent) = &entry.agent else { return Vec::new() };
        let turn = self.turn.as_ref().map(|turn| turn.prompt_id.clone()).unwrap_or_default();
        if self.agents.len() < RUNNING {
            let begun = Turn { prompt_id: turn, started: entry.time.clone() };
            self.agents.insert(agent.clone(), begun);
        }
        let name = entry.what.as_deref().unwrap_or("agent");
        let parent = ids::agent_span(&entry.session, agent, 0);
        let mut mark = moment_span(entry, &format!("{name} begins"), parent);
        mark.attributes.flag(names::PENDING, true);
        mark.attributes.optional(names::AGENT_NAME, entry.what.as_ref());
        mark.attributes.optional(names::AGENT_TASK, entry.target.as_ref());
        vec![mark]
    }

    fn agent(&mut self, entry: &Entry) -> Span {
        let session = &entry.session;
        let result = entry.record.as_ref().and_then(|record| record.read::<AgentResult>());
        let result = result.unwrap_or_default();
        let agent = entry.agent.clone().unwrap_or_default();
        let begun = self.agents.remove(&agent);
        let turn = begun.as_ref().map(|begun| &begun.prompt_id).filter(|turn| !turn.is_empty());
        let parent = match (&result.parent_agent, turn) {
            (Some(parent), _) => ids::agent_span(session, parent, 0),
            (None, Some(turn)) => ids::turn_span(session, turn),
            (None, None) => ids::session_span(session),
        };
        let name = clean::name(&result.kind);
        let kind = if name.is_empty() { "agent" } else { &name };
        let name = format!("{} {kind}", names::INVOKE_AGENT);
        let span_id = ids::agent_span(session, &agent, result.run);
        let mut span = span(entry, span_id, parent, name);
        // The journal's own times have milliseconds, the others whole seconds.
        span.start_time_unix_nano = match (begun, entry.ms) {
            (Some(begun), _) => spelled_nanos(&begun.started),
            (None, Some(_)) => before(&entry.time, entry.ms),
            (None, None) if !result.started.is_empty() => spelled_nanos(&result.started),
            (None, None) => spelled_nanos(&entry.time),
        };
        span.attributes.text(names::KIND, "agent");
        span.attributes.text(names::OPERATION, names::INVOKE_AGENT);
        span.attributes.text(names::PROVIDER, names::ANTHROPIC);
        span.attributes.text(names::AGENT_NAME, kind);
        span.attributes.optional(names::AGENT_TASK, result.task.as_ref());
        span.attributes.optional(names::STATUS, entry.what.as_ref());
        span.attributes.number(names::FINDINGS, result.findings.len() as u64);
        let status = entry.what.as_deref().unwrap_or(SUCCESS);
        if status != SUCCESS {
            fail(&mut span, status);
        }
        span
    }

    fn moment(&self, entry: &Entry, send: WhatToSend) -> Span {
        let kind = kind_word(entry.kind);
        let name = match &entry.what {
            Some(what) => format!("{kind} {what}"),
            None => kind,
        };
        let mut span = moment_span(entry, &name, self.parent(entry));
        let target = entry.target.as_ref().filter(|_| send.has_target(entry.kind));
        span.attributes.optional(names::TARGET, target);
        span.attributes.optional(names::LOOP, entry.loop_kind.as_ref());
        if entry.kind == EntryKind::Notification {
            span.attributes.optional(names::TEXT, entry.text.as_ref());
        }
        span
    }

    /// The span above a line: its agent's, its turn's, its session's.
    fn parent(&self, entry: &Entry) -> String {
        let session = &entry.session;
        let turn = self.turn.as_ref().map(|turn| &turn.prompt_id);
        match (&entry.agent, entry.prompt_id.as_ref().or(turn)) {
            (Some(agent), _) => ids::agent_span(session, agent, 0),
            (None, Some(prompt)) => ids::turn_span(session, prompt),
            (None, None) => ids::session_span(session),
        }
    }
}

fn span(entry: &Entry, span_id: String, parent_span_id: String, name: String) -> Span {
    let mut attributes = Attributes::default();
    common(&mut attributes, entry);
    let time = spelled_nanos(&entry.time);
    Span {
        trace_id: ids::trace(&entry.session),
        span_id,
        parent_span_id,
        name,
        kind: INTERNAL,
        start_time_unix_nano: time.clone(),
        end_time_unix_nano: time,
        attributes,
        status: Status::default(),
    }
}

/// A span without length.
fn moment_span(entry: &Entry, name: &str, parent: String) -> Span {
    let mut span = span(entry, ids::other_span("moment", entry), parent, name.to_owned());
    span.attributes.text(names::KIND, kind_word(entry.kind));
    span.attributes.optional(names::WHAT, entry.what.as_ref());
    span
}

fn fail(span: &mut Span, why: &str) {
    span.status = Status { code: FAILED, message: why.to_owned() };
    span.attributes.text(names::ERROR_TYPE, why);
}

/// So many milliseconds before a spelled time.
fn before(text: &str, ms: Option<u64>) -> String {
    let took = ms.and_then(|ms| TimeDelta::try_milliseconds(i64::try_from(ms).ok()?));
    match (time::parse(text), took) {
        (Some(time), Some(took)) => {
            time.checked_sub_signed(took).map_or_else(|| nanos(time), nanos)
        }
        _ => spelled_nanos(text),
    }
}

#[cfg(test)]
#[path = "spans_tests.rs"]
mod tests;
