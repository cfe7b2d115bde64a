//! Payload bytes to an [`Event`]. Unknown fields and events are normal, wrong types in optional
//! fields are absent fields; only the ids that everything hangs on are required.

pub mod batch;
pub mod table;

pub use table::{EventRow, Kind, Output};

use crate::core::json::scan::Scanner;
use crate::core::json::{self, Object};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A task that is running behind the conversation, as Stop and SubagentStop list it.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundTask {
    pub id: String,
    pub kind: Option<String>,
    pub status: Option<String>,
    pub description: Option<String>,
}

impl BackgroundTask {
    pub fn is_running(&self) -> bool {
        let is_over = |status: &str| {
            matches!(status, "completed" | "failed" | "killed" | "stopped" | "cancelled" | "error")
        };
        !self.status.as_deref().is_some_and(is_over)
    }

    /// Whether agents may be behind it. Of a kind that is not known that has to be assumed.
    pub fn may_start_agents(&self) -> bool {
        !matches!(self.kind.as_deref(), Some("shell" | "monitor" | "MCP task"))
    }
}

pub struct Event<'a> {
    pub kind: Kind,
    pub session_id: String,
    /// In a subagent, or about one.
    pub agent_id: Option<String>,
    pub fields: Object<'a>,
}

impl<'a> Event<'a> {
    pub fn text(&self, key: &str) -> Option<String> {
        self.fields.word(key)
    }

    pub fn prompt_id(&self) -> Option<String> {
        self.text("prompt_id")
    }

    pub fn tool_name(&self) -> String {
        self.text("tool_name").unwrap_or_default()
    }

    /// `Agent`, or `Task` in older clients.
    pub fn is_agent_tool(&self) -> bool {
        self.fields.raw("tool_name").is_some_and(|raw| matches!(raw, "\"Agent\"" | "\"Task\""))
    }

    pub fn tool_input(&self) -> Object<'a> {
        self.fields.object("tool_input").unwrap_or_default()
    }

    pub fn tool_response(&self) -> Object<'a> {
        self.fields.object("tool_response").unwrap_or_default()
    }

    /// `None` if the client did not say: older ones do not.
    pub fn background_tasks(&self) -> Option<Vec<BackgroundTask>> {
        let tasks = self.fields.objects("background_tasks")?;
        Some(tasks.iter().filter_map(background_task).collect())
    }
}

fn background_task(task: &Object) -> Option<BackgroundTask> {
    Some(BackgroundTask {
        id: task.word("id")?,
        kind: task.word("type"),
        status: task.word("status"),
        description: task.word("description"),
    })
}

/// What some bytes turned out to be.
pub enum Parsed<'a> {
    Event(Box<Event<'a>>),
    /// A payload for an event that is not ours.
    Foreign(String),
}

/// Whether an event's row says that a payload has nothing in it for us. It is not parsed for that, nor
/// is what follows its name.
pub fn says_nothing(bytes: &[u8], expected: Option<Kind>) -> bool {
    let kind = named_event(bytes).and_then(Kind::from_wire);
    kind.filter(|kind| expected.is_none_or(|expected| expected == *kind))
        .and_then(|kind| kind.row().may_matter)
        .is_some_and(|may_matter| !may_matter(bytes))
}

/// The event that a payload names, which may be cut off behind the name.
pub fn named_event(bytes: &[u8]) -> Option<&str> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut scanner = Scanner::new(bytes);
    let mut is_first = true;
    while let Some(key) = scanner.next_key(is_first)? {
        is_first = false;
        let value = scanner.value()?;
        if bytes.get(key.start..key.end) == Some(b"hook_event_name") {
            let name = bytes.get(value.start..value.end)?;
            let name = name.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            return std::str::from_utf8(name).ok();
        }
    }
    None
}

/// `expected` is the event that the command names, if it does. The error is one plain sentence.
pub fn parse(bytes: &[u8], expected: Option<Kind>) -> Result<Parsed<'_>, String> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        return Err("there is no payload on stdin".into());
    }
    let fields = Object::parse(bytes)
        .map_err(|error| format!("the payload is not a JSON object: {error}"))?;
    let named = fields.raw("hook_event_name").and_then(json::text);
    let kind = match (named.as_deref(), expected) {
        (None, None) => return Err("the payload has no hook_event_name".into()),
        (None, Some(kind)) => kind,
        (Some(name), expected) => match (Kind::from_wire(name), expected) {
            (Some(kind), None) => kind,
            (Some(kind), Some(expected)) if kind == expected => kind,
            (None, None) => return Ok(Parsed::Foreign(name.to_owned())),
            (_, Some(expected)) => {
                return Err(format!(
                    "the payload is for {name}, the command for {}",
                    expected.wire()
                ));
            }
        },
    };
    let id = |key: &str| fields.word(key).ok_or_else(|| format!("the payload has no {key}"));
    let session_id = id("session_id")?;
    let agent_id =
        if kind.row().needs_agent_id { Some(id("agent_id")?) } else { fields.word("agent_id") };
    Ok(Parsed::Event(Box::new(Event { kind, session_id, agent_id, fields })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required() {
        let why = |bytes: &str, kind| parse(bytes.as_bytes(), kind).err().unwrap_or_default();
        assert!(why("", None).contains("no payload"));
        assert!(why("[1]", None).contains("not a JSON object"));
        assert!(why(r#"{"session_id":"s"}"#, None).contains("hook_event_name"));
        assert!(why(r#"{"hook_event_name":"Stop"}"#, None).contains("session_id"));
        assert!(why(r#"{"session_id":"s"}"#, Some(Kind::SubagentStart)).contains("agent_id"));
        let wrong = r#"{"session_id":"s","hook_event_name":"Stop"}"#;
        assert!(why(wrong, Some(Kind::SessionEnd)).contains("for Stop"));
        assert!(matches!(
            parse(br#"{"hook_event_name":"PermissionRequest"}"#, None),
            Ok(Parsed::Foreign(name)) if name == "PermissionRequest"
        ));
    }

    #[test]
    fn a_batch_without_a_refusal_is_not_parsed() {
        let quiet = br#"{"session_id":"s","hook_event_name":"PostToolBatch","tool_calls":[cut off"#;
        let loud = br#"{"hook_event_name":"PostToolBatch","tool_response":"<tool_use_error>"#;
        assert!(says_nothing(quiet, None) && says_nothing(quiet, Some(Kind::PostToolBatch)));
        assert!(!says_nothing(quiet, Some(Kind::Stop)) && !says_nothing(loud, None));
        for other in [
            r#"{"tool_input":{"hook_event_name":"PostToolBatch"},"hook_event_name":"PostToolUse"}"#,
            r#"{"hook_event_name":7}"#,
            "[]",
            "",
        ] {
            assert!(!says_nothing(other.as_bytes(), None), "{other}");
        }
    }
}
