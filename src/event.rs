//! Payload bytes to an [`Event`]. Unknown fields and events are normal, wrong types in optional
//! fields are absent fields; only the ids that everything hangs on are required.

use crate::json::{self, Object};

/// The events that we keep books about. `PostToolBatch` and the rest are nobody's business here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    SessionStart,
    SessionEnd,
    SubagentStart,
    SubagentStop,
    UserPromptSubmit,
    UserPromptExpansion,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PreCompact,
    PostCompact,
    Stop,
    StopFailure,
}

impl Kind {
    pub const ALL: [Self; 13] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::UserPromptSubmit,
        Self::UserPromptExpansion,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PreCompact,
        Self::PostCompact,
        Self::Stop,
        Self::StopFailure,
    ];

    /// The name on the wire: `SubagentStop`.
    pub fn wire(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::UserPromptExpansion => "UserPromptExpansion",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Stop => "Stop",
            Self::StopFailure => "StopFailure",
        }
    }

    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.wire() == name)
    }

    /// From `SubagentStop` or `subagent-stop`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.wire() == name || kind.command() == name)
    }

    /// The name as a command and as argv\[0\]: `subagent-stop`.
    pub fn command(self) -> String {
        let mut command = String::with_capacity(24);
        for letter in self.wire().chars() {
            if letter.is_ascii_uppercase() && !command.is_empty() {
                command.push('-');
            }
            command.push(letter.to_ascii_lowercase());
        }
        command
    }
}

/// One thing that is running behind the conversation, as Stop and SubagentStop list it.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundTask {
    pub id: String,
    pub kind: Option<String>,
    pub status: Option<String>,
    pub description: Option<String>,
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

/// `expected` is the event that the command names, if it does. The error is one plain sentence.
pub fn parse(bytes: &[u8], expected: Option<Kind>) -> Result<Parsed<'_>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
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
    let agent_id = match kind {
        Kind::SubagentStart | Kind::SubagentStop => Some(id("agent_id")?),
        _ => fields.word("agent_id"),
    };
    Ok(Parsed::Event(Box::new(Event { kind, session_id, agent_id, fields })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_wire(kind.wire()), Some(kind));
            assert_eq!(Kind::from_name(&kind.command()), Some(kind));
            assert_eq!(Kind::from_name(kind.wire()), Some(kind));
        }
        assert_eq!(Kind::PostToolUseFailure.command(), "post-tool-use-failure");
        assert_eq!(Kind::from_name("status"), None);
    }

    #[test]
    fn what_is_required() {
        let why = |bytes: &str, kind| parse(bytes.as_bytes(), kind).err().unwrap_or_default();
        assert!(why("", None).contains("no payload"));
        assert!(why("[1]", None).contains("not a JSON object"));
        assert!(why(r#"{"session_id":"s"}"#, None).contains("hook_event_name"));
        assert!(why(r#"{"hook_event_name":"Stop"}"#, None).contains("session_id"));
        assert!(why(r#"{"session_id":"s"}"#, Some(Kind::SubagentStop)).contains("agent_id"));
        let wrong = r#"{"session_id":"s","hook_event_name":"Stop"}"#;
        assert!(why(wrong, Some(Kind::SessionEnd)).contains("for Stop"));
        assert!(matches!(
            parse(br#"{"hook_event_name":"PostToolBatch"}"#, None),
            Ok(Parsed::Foreign(name)) if name == "PostToolBatch"
        ));
    }
}
