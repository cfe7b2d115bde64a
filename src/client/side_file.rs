//! `subagents/agent-{id}.meta.json`, which the client keeps beside a subagent's transcript. It does
//! not exist yet when the agent starts.

use std::path::{Path, PathBuf};

use crate::core::json::Object;
use crate::process::files;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideFile {
    pub description: Option<String>,
    pub tool_use_id: Option<String>,
    pub stopped_by_user: bool,
    pub background: Option<bool>,
}

/// Where it is for an agent of the session with this transcript.
pub fn path(session_transcript: &str, agent_id: &str) -> Option<PathBuf> {
    beside(session_transcript, agent_id, "meta.json")
}

/// Where the agent's own transcript is.
pub fn transcript_path(session_transcript: &str, agent_id: &str) -> Option<PathBuf> {
    beside(session_transcript, agent_id, "jsonl")
}

fn beside(session_transcript: &str, agent_id: &str, extension: &str) -> Option<PathBuf> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if agent_id.is_empty() || !agent_id.bytes().all(plain) {
        return None;
    }
    let session = Path::new(session_transcript).with_extension("");
    Some(session.join("subagents").join(format!("agent-{agent_id}.{extension}")))
}

pub fn read(path: &Path) -> Option<SideFile> {
    let bytes = files::head(path, 256 << 10)?;
    let fields = Object::parse(&bytes).ok()?;
    let background = fields.word("requestShape").and_then(|shape| match shape.as_str() {
        "background" => Some(true),
        "foreground" => Some(false),
        _ => None,
    });
    Some(SideFile {
        description: fields.word("description"),
        tool_use_id: fields.word("toolUseId"),
        stopped_by_user: fields.flag("stoppedByUser"),
        background,
    })
}
