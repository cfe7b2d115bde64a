//! A line of the journal in words.

use crate::agents::result::AgentResult;
use crate::core::journal::{Entry, EntryKind};
use crate::core::table::Tone;
use crate::core::text::plural;
use crate::core::time;
use crate::errors::document::Record;
use crate::session::ending::ending_in_words;

/// What a line tells, in one line, and how it is meant.
pub fn describe(entry: &Entry) -> (Tone, String) {
    let what = entry.what.as_deref().unwrap_or_default();
    let target = entry.target.as_deref().unwrap_or_default();
    let text = entry.text.as_deref().unwrap_or_default();
    let took = took(entry);
    match entry.kind {
        EntryKind::Start => (Tone::Strong, joined("session starts", &[("", what)])),
        EntryKind::End => (
            Tone::Strong,
            joined("session ended", &[(": ", &ending_in_words(what)), (": ", target)]),
        ),
        EntryKind::Prompt if what == "machine" => (Tone::Dim, joined("message", &[(": ", text)])),
        EntryKind::Prompt => (Tone::Strong, joined("prompt", &[(": ", text)])),
        EntryKind::Command => (Tone::Plain, joined(&format!("/{what}"), &[(" ", text)])),
        EntryKind::Call => {
            (Tone::Plain, joined("asks for an agent", &[("", what), (": ", target)]))
        }
        EntryKind::Tool if entry.failed => (Tone::Warn, format!("{target}: failed{took}")),
        EntryKind::Tool => (Tone::Plain, format!("{target}{took}")),
        EntryKind::AgentStart => {
            (Tone::Good, joined("agent starts", &[("", what), (": ", target)]))
        }
        EntryKind::AgentEnd => agent_end(entry, what, target, &took),
        EntryKind::Error => {
            let record = entry.record.as_ref().and_then(|record| record.read::<Record>());
            let message = record.map(|record| record.message).unwrap_or_default();
            let class = what.replace('_', " ");
            (Tone::Bad, joined(&format!("{class} error"), &[(": ", target), (": ", &message)]))
        }
        EntryKind::Recovered => (Tone::Good, joined("recovered", &[("", what), (": ", target)])),
        EntryKind::Compact => (Tone::Warn, joined("compaction", &[("", what)])),
        EntryKind::Compacted => (Tone::Warn, joined("compacted", &[(": ", text)])),
        EntryKind::Stop if entry.failed => {
            (Tone::Bad, joined("the turn failed", &[(": ", what), (": ", text)]))
        }
        EntryKind::Stop if what == "blocked" => {
            (Tone::Warn, joined("the turn goes on", &[(": ", &entry.outcome)]))
        }
        EntryKind::Stop => (Tone::Plain, joined("the turn is over", &[(": ", text)])),
        EntryKind::Loop => (Tone::Warn, joined(target, &[(": ", what), (": ", text)])),
        EntryKind::Gate => {
            let tone = if entry.failed { Tone::Bad } else { Tone::Good };
            (tone, format!("gate {target}: {what}{took}"))
        }
        EntryKind::Handoff => (Tone::Plain, joined("hand-off", &[("", what), (": ", target)])),
        EntryKind::Notification => (Tone::Dim, joined("notification", &[(": ", text)])),
        EntryKind::Model => {
            (Tone::Warn, joined("the model is now", &[(" ", what), (", not ", target)]))
        }
        EntryKind::Rejected => (Tone::Bad, entry.outcome.clone()),
        EntryKind::Spooled => (Tone::Dim, joined(&entry.event, &[(": ", &entry.outcome)])),
        EntryKind::Run | EntryKind::Other => {
            (Tone::Dim, joined(&entry.event, &[(": ", &entry.outcome)]))
        }
    }
}

fn agent_end(entry: &Entry, what: &str, target: &str, took: &str) -> (Tone, String) {
    let result = entry.record.as_ref().and_then(|record| record.read::<AgentResult>());
    let findings = result.map_or(0, |result| result.findings.len());
    let found = match findings {
        0 => String::new(),
        count => format!(", {}", plural(count, "finding")),
    };
    let tone = if entry.failed { Tone::Bad } else { Tone::Good };
    (tone, format!("{}{found}{took}", joined("agent ended", &[(": ", what), (": ", target)])))
}

/// Parts behind what comes first, those that say something; one without a mark is in parentheses.
fn joined(first: &str, parts: &[(&str, &str)]) -> String {
    let mut all = first.to_owned();
    for (mark, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
        match *mark {
            "" => all.push_str(&format!(" ({part})")),
            mark => all.push_str(&format!("{mark}{part}")),
        }
    }
    all
}

/// ` (1.2 s)`, for what took long enough to be of interest.
fn took(entry: &Entry) -> String {
    match entry.ms {
        Some(ms @ 100..) => format!(" ({})", time::duration(ms)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(entry: Entry) -> String {
        describe(&entry).1
    }

    #[test]
    fn every_kind_has_words_of_its_own() {
        let entry = |kind| Entry::new(kind).what("w").target("Bash make").text("t");
        let with = |kind| words(Entry { outcome: "o".into(), event: "E".into(), ..entry(kind) });
        assert_eq!(with(EntryKind::Start), "session starts (w)");
        assert_eq!(with(EntryKind::End), "session ended: w: Bash make");
        assert_eq!(with(EntryKind::Prompt), "prompt: t");
        assert_eq!(with(EntryKind::Command), "/w t");
        assert_eq!(with(EntryKind::Call), "asks for an agent (w): Bash make");
        assert_eq!(with(EntryKind::Error), "w error: Bash make");
        assert_eq!(with(EntryKind::Loop), "Bash make: w: t");
        assert_eq!(with(EntryKind::Gate), "gate Bash make: w");
        assert_eq!(with(EntryKind::Run), "E: o");
        assert_eq!(with(EntryKind::Other), "E: o");
        let blocked = Entry { outcome: "blocked: 2 of 5".into(), ..entry(EntryKind::Stop) };
        assert_eq!(words(blocked.what("blocked")), "the turn goes on: blocked: 2 of 5");
    }

    #[test]
    fn what_took_long_says_so() {
        let tool = |ms, failed| {
            words(Entry { ms: Some(ms), failed, ..Entry::new(EntryKind::Tool).target("Read a") })
        };
        assert_eq!(tool(30, false), "Read a");
        assert_eq!(tool(300, false), "Read a (300 ms)");
        assert_eq!(tool(1500, true), "Read a: failed (1.5 s)");
        assert_eq!(tool(600_000, false), "Read a (10 min)");
        let result =
            AgentResult { findings: vec![Default::default(); 2], ..AgentResult::default() };
        let end = Entry::new(EntryKind::AgentEnd).what("success").target("Look").record(&result);
        assert_eq!(words(end), "agent ended: success: Look, 2 findings");
    }
}
