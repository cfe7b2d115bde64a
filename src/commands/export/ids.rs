//! Ids that are digests of what they stand for: the same session, turn, agent or call has the same id
//! on every machine and at every try, so that what is sent twice can be recognised.

use sha2::{Digest as _, Sha256};

use crate::core::journal::Entry;

/// 16 bytes, in hexadecimal: a session is a trace.
pub fn trace(session: &str) -> String {
    hex(&["trace", session], 16)
}

/// The span of a whole session: the root of its trace.
pub fn session_span(session: &str) -> String {
    hex(&["session", session], 8)
}

/// The span of a turn, by the client's id of its prompt.
pub fn turn_span(session: &str, prompt_id: &str) -> String {
    hex(&["turn", session, prompt_id], 8)
}

/// The span of an agent. It may run again: its first run is 0.
pub fn agent_span(session: &str, agent: &str, run: u64) -> String {
    match run {
        0 => hex(&["agent", session, agent], 8),
        run => hex(&["agent", session, agent, &run.to_string()], 8),
    }
}

/// The span of a tool call.
pub fn tool_span(session: &str, call: &str) -> String {
    hex(&["tool", session, call], 8)
}

/// A span of something that has no id of its own.
pub fn other_span(what: &str, entry: &Entry) -> String {
    hex(&[what, &record(entry)], 8)
}

/// What tells one line of a journal from every other.
pub fn record(entry: &Entry) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let kind = format!("{:?}", entry.kind);
    let (agent, call) = (text(&entry.agent), text(&entry.call));
    let (what, target) = (text(&entry.what), text(&entry.target));
    hex(&[&entry.session, &entry.time, &kind, &entry.event, &agent, &call, &what, &target], 16)
}

/// A digest of several parts, so long in bytes, in hexadecimal. Parts cannot run into each other.
pub fn hex(parts: &[&str], bytes: usize) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    let mut text = String::with_capacity(bytes * 2);
    for byte in digest.finalize().iter().take(bytes) {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::journal::EntryKind;

    #[test]
    fn ids_have_the_lengths_of_otlp_and_differ_by_what_they_stand_for() {
        assert_eq!(trace("s1").len(), 32);
        let spans = [
            session_span("s1"),
            turn_span("s1", "p"),
            agent_span("s1", "p", 0),
            agent_span("s1", "p", 1),
            tool_span("s1", "p"),
            turn_span("s", "1p"),
            turn_span("s2", "p"),
        ];
        for (at, span) in spans.iter().enumerate() {
            assert_eq!(span.len(), 16);
            assert!(spans.iter().skip(at + 1).all(|other| other != span), "{at}");
        }
        assert_eq!(trace("s1"), trace("s1"));
        let line = Entry::new(EntryKind::Tool).target("Bash make").of_session("s1");
        assert_eq!(record(&line), record(&line.clone()));
        assert_ne!(record(&line), record(&line.clone().target("Bash test")));
    }
}
