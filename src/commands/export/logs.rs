//! Lines of the journal as log records. Quiet hook runs are none: their times are in the metrics.

use crate::agents::result::AgentResult;
use crate::client::transcript::Tokens;
use crate::client::transcript::usage::Usage;
use crate::core::journal::{Entry, EntryKind};
use crate::core::text::clip;
use crate::core::time::Time;
use crate::errors::document::Record;
use crate::export::names;
use crate::export::otlp::{Attributes, LogRecord, Value, nanos, spelled_nanos};
use crate::export::what_to_send::WhatToSend;
use crate::export::{clean, ids, spans};
use crate::session::metrics;

/// Characters of a failure's message.
const LONGEST_MESSAGE: usize = 500;

const INFO: (u8, &str) = (9, "INFO");
const WARN: (u8, &str) = (13, "WARN");
const ERROR: (u8, &str) = (17, "ERROR");

/// What a line comes to: none, its own record, and those of what its session used.
pub fn records(entry: &Entry, send: WhatToSend, now: Time) -> Vec<LogRecord> {
    if matches!(entry.kind, EntryKind::Run | EntryKind::Spooled) {
        return Vec::new();
    }
    let mut all = vec![record(entry, send, now)];
    if entry.kind == EntryKind::End {
        let end = entry.record.as_ref().and_then(|record| record.read::<metrics::Entry>());
        let rows = end.map(|end| end.usage).unwrap_or_default();
        all.extend(rows.iter().map(|row| usage(entry, row, now)));
    }
    all
}

/// The word for a kind of line, as the journal spells it.
pub fn kind_word(kind: EntryKind) -> String {
    let word = serde_json::to_string(&kind).unwrap_or_default();
    word.trim_matches('"').to_owned()
}

fn record(entry: &Entry, send: WhatToSend, now: Time) -> LogRecord {
    let kind = kind_word(entry.kind);
    let mut attributes = Attributes::default();
    attributes.text(names::RECORD_UID, ids::record(entry));
    common(&mut attributes, entry);
    attributes.text(names::KIND, &kind);
    attributes.text(names::EVENT, &entry.event);
    attributes.optional(names::WHAT, entry.what.as_ref());
    let target = entry.target.as_ref().filter(|_| send.has_target(entry.kind));
    attributes.optional(names::TARGET, target);
    attributes.optional(names::LOOP, entry.loop_kind.as_ref());
    attributes.number(names::DURATION, entry.ms);
    attributes.number(names::HOOK_TIME, entry.us);
    if entry.has_failed() {
        attributes.text(names::OUTCOME, &entry.outcome);
    }
    let text = entry.text.as_ref().filter(|_| send.has_text(entry.kind));
    attributes.optional(names::TEXT, text);
    of_kind(&mut attributes, entry, send);
    let (severity_number, severity_text) = severity(entry);
    LogRecord {
        time_unix_nano: spelled_nanos(&entry.time),
        observed_time_unix_nano: nanos(now),
        severity_number,
        severity_text,
        event_name: format!("hookkeeper.{kind}"),
        body: Value::Text(body(entry, target, &kind)),
        attributes,
        trace_id: ids::trace(&entry.session),
        span_id: spans::span_of(entry),
    }
}

/// Whose it is.
pub fn common(attributes: &mut Attributes, entry: &Entry) {
    attributes.text(names::SESSION, &entry.session);
    attributes.text(names::CONVERSATION, &entry.session);
    attributes.optional(names::PROMPT, entry.prompt_id.as_ref());
    attributes.optional(names::AGENT_ID, entry.agent.as_ref());
    attributes.optional(names::TOOL_CALL, entry.call.as_ref());
}

fn of_kind(attributes: &mut Attributes, entry: &Entry, send: WhatToSend) {
    match entry.kind {
        EntryKind::Tool => attributes.text(names::TOOL_NAME, spans::tool_name(entry)),
        EntryKind::AgentStart | EntryKind::Call => {
            attributes.optional(names::AGENT_NAME, entry.what.as_ref());
            attributes.optional(names::AGENT_TASK, entry.target.as_ref());
        }
        EntryKind::AgentEnd => {
            let result = entry.record.as_ref().and_then(|record| record.read::<AgentResult>());
            if let Some(result) = result {
                attributes.text(names::AGENT_NAME, clean::name(&result.kind));
                attributes.optional(names::AGENT_TASK, result.task.as_ref());
                attributes.number(names::FINDINGS, result.findings.len() as u64);
                attributes.optional(names::TEXT, result.report.as_ref().filter(|_| send.reports));
            }
        }
        EntryKind::Error => {
            attributes.optional(names::ERROR_TYPE, entry.what.as_ref());
            let record = entry.record.as_ref().and_then(|record| record.read::<Record>());
            if let Some(record) = record {
                attributes.text(names::MESSAGE, clip(&record.message, LONGEST_MESSAGE));
                attributes.text(names::STATUS, &record.status);
                attributes.text(names::TOOL_NAME, clean::name(&record.tool));
            }
        }
        EntryKind::End => {
            let end = entry.record.as_ref().and_then(|record| record.read::<metrics::Entry>());
            if let Some(end) = end {
                end_attributes(attributes, &end);
            }
        }
        EntryKind::Start
        | EntryKind::Prompt
        | EntryKind::Command
        | EntryKind::Recovered
        | EntryKind::Compact
        | EntryKind::Compacted
        | EntryKind::Stop
        | EntryKind::Loop
        | EntryKind::Gate
        | EntryKind::Handoff
        | EntryKind::Model
        | EntryKind::Notification
        | EntryKind::Rejected
        | EntryKind::Spooled
        | EntryKind::Run
        | EntryKind::Other => {}
    }
}

/// What a session came to.
pub fn end_attributes(attributes: &mut Attributes, end: &metrics::Entry) {
    attributes.optional(names::MODEL, end.model.as_ref());
    attributes.optional(names::BRANCH, end.git_branch.as_ref());
    attributes.float(names::COST, end.cost_usd);
    attributes.flag(names::COST_ESTIMATED, end.cost_estimated);
    if let Some(tokens) = &end.tokens {
        token_attributes(attributes, tokens);
    }
    attributes.number("hookkeeper.duration_minutes", end.duration_minutes);
    attributes.number("hookkeeper.agents.spawned", end.agents.spawned);
    attributes.number("hookkeeper.agents.failed", end.agents.failed);
    attributes.number("hookkeeper.errors.total", end.errors.total);
    attributes.number("hookkeeper.errors.recovered", end.errors.recovered);
    attributes.number(names::FINDINGS, end.quality.findings);
    attributes.number("hookkeeper.files_modified", end.files_modified);
    attributes.number("hookkeeper.compactions", end.compactions);
}

/// The conventions count what came from a cache as input too.
fn token_attributes(attributes: &mut Attributes, tokens: &Tokens) {
    let read = tokens.cache_read.saturating_add(tokens.cache_creation);
    attributes.number(names::INPUT_TOKENS, tokens.input.saturating_add(read));
    attributes.number(names::OUTPUT_TOKENS, tokens.output);
    attributes.number(names::CACHE_READ_TOKENS, tokens.cache_read);
    attributes.number(names::CACHE_CREATION_TOKENS, tokens.cache_creation);
}

/// What one model used on one day, in the main thread or an agent. A session that goes on and ends
/// again tells it again, under the same uid: the newest counts.
fn usage(entry: &Entry, row: &Usage, now: Time) -> LogRecord {
    let agent = row.agent.clone().unwrap_or_default();
    let uid = ids::hex(&["usage", &entry.session, &agent, &row.day, &row.model], 16);
    let mut attributes = Attributes::default();
    attributes.text(names::RECORD_UID, uid);
    attributes.text(names::SESSION, &entry.session);
    attributes.text(names::CONVERSATION, &entry.session);
    attributes.text(names::KIND, "usage");
    attributes.text(names::DAY, &row.day);
    attributes.text(names::MODEL, &row.model);
    attributes.text(names::AGENT_ID, &agent);
    attributes.float(names::COST, row.usd);
    token_attributes(&mut attributes, &row.tokens);
    LogRecord {
        time_unix_nano: spelled_nanos(&entry.time),
        observed_time_unix_nano: nanos(now),
        severity_number: INFO.0,
        severity_text: INFO.1,
        event_name: "hookkeeper.usage".into(),
        body: Value::Text(format!("usage: {} {}", row.day, row.model)),
        attributes,
        trace_id: ids::trace(&entry.session),
        span_id: ids::session_span(&entry.session),
    }
}

fn severity(entry: &Entry) -> (u8, &'static str) {
    match entry.kind {
        EntryKind::Error | EntryKind::Rejected => ERROR,
        EntryKind::Stop if entry.failed => ERROR,
        EntryKind::AgentEnd if entry.what.as_deref().is_some_and(|what| what != "success") => WARN,
        _ if entry.has_failed() => ERROR,
        _ if entry.failed => WARN,
        EntryKind::Notification | EntryKind::Loop => WARN,
        _ => INFO,
    }
}

/// A few words for people; what may not go out is not in them.
fn body(entry: &Entry, target: Option<&String>, kind: &str) -> String {
    let words = [entry.loop_kind.as_deref(), entry.what.as_deref(), target.map(String::as_str)];
    let words: Vec<&str> = words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
    if words.is_empty() { kind.to_owned() } else { format!("{kind}: {}", words.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time;

    fn now() -> Time {
        time::parse("2026-01-29T10:30:00Z").unwrap()
    }

    fn text_of(record: &LogRecord) -> String {
        serde_json::to_string(record).unwrap()
    }

    #[test]
    fn a_tool_call_is_a_record_and_a_quiet_run_is_none() {
        let line = Entry::new(EntryKind::Tool).target("Bash make").at(now(), "s1");
        let line = Entry { call: Some("t1".into()), prompt_id: Some("p1".into()), ..line };
        let records = records(&line, WhatToSend::default(), now());
        let text = text_of(&records[0]);
        for part in ["hookkeeper.tool", "gen_ai.tool.name", "\"Bash\"", "prompt.id", "\"p1\""] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(records[0].span_id, ids::tool_span("s1", "t1"));
        assert!(
            super::records(&Entry::new(EntryKind::Run), WhatToSend::default(), now()).is_empty()
        );
    }

    #[test]
    fn prompts_and_reports_go_out_only_if_they_are_asked_for() {
        let quiet = WhatToSend::default();
        let open = WhatToSend { prompts: true, reports: true, ..quiet };
        let result = AgentResult { report: Some("secret plan".into()), ..AgentResult::default() };
        let lines = [
            Entry::new(EntryKind::Prompt).text("secret plan"),
            Entry::new(EntryKind::Command).what("/x").text("secret plan"),
            Entry::new(EntryKind::Call).text("secret plan"),
            Entry::new(EntryKind::Stop).text("secret plan"),
            Entry::new(EntryKind::Compacted).text("secret plan"),
            Entry::new(EntryKind::Handoff).text("secret plan"),
            Entry::new(EntryKind::AgentEnd).record(&result),
        ];
        for line in lines {
            let kind = line.kind;
            assert!(!text_of(&records(&line, quiet, now())[0]).contains("secret"), "{kind:?}");
            assert!(text_of(&records(&line, open, now())[0]).contains("secret"), "{kind:?}");
        }
        let task = metrics::Entry { task: Some("secret plan".into()), ..Default::default() };
        let end = Entry::new(EntryKind::End).record(&task);
        assert!(!text_of(&records(&end, open, now())[0]).contains("secret"));
        for kind in [EntryKind::End, EntryKind::Loop] {
            let line = Entry::new(kind).target("secret plan");
            assert!(!text_of(&records(&line, quiet, now())[0]).contains("secret"), "{kind:?}");
            assert!(text_of(&records(&line, open, now())[0]).contains("secret"), "{kind:?}");
        }
    }

    #[test]
    fn an_end_tells_what_was_used_by_day_and_model_under_ids_that_stay() {
        let tokens = Tokens {
            input: 10,
            output: 5,
            cache_read: 100,
            cache_creation: 1,
            ..Default::default()
        };
        let row = Usage {
            day: "2026-01-29".into(),
            model: "opus".into(),
            tokens: tokens.clone(),
            usd: Some(0.25),
            ..Usage::default()
        };
        let end = metrics::Entry {
            usage: vec![row],
            tokens: Some(tokens),
            cost_usd: Some(0.25),
            ..metrics::Entry::default()
        };
        let line = Entry::new(EntryKind::End).what("other").record(&end).at(now(), "s1");
        let sent = records(&line, WhatToSend::default(), now());
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[1].event_name, "hookkeeper.usage");
        let text = text_of(&sent[1]);
        assert!(text.contains(r#""key":"gen_ai.usage.input_tokens","value":{"intValue":"111"}"#));
        assert!(text.contains(r#""key":"hookkeeper.cost.usd","value":{"doubleValue":0.25}"#));
        let later = Entry { time: "2026-01-30T10:30:00Z".into(), ..line };
        let again = records(&later, WhatToSend::default(), now());
        assert_eq!(again[1].attributes.0[0], sent[1].attributes.0[0]);
        assert_ne!(again[0].attributes.0[0], sent[0].attributes.0[0]);
    }
}
