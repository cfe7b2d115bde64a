//! One agent as the ledger has it: the seed's six fields, and ours.

use serde::{Deserialize, Serialize};

use super::Extra;

pub const RUNNING: &str = "running";
/// Its call has been answered, but its SubagentStop has not come (yet).
pub const ANSWERED: &str = "answered";
/// Its start was never seen, its end is being written down.
pub const ENDING: &str = "ending";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// The description of the call that started it; `null` until that is certain.
    pub task: Option<String>,
    pub started: String,
    pub status: String,
    pub parent_task: Option<String>,
    pub session_id: String,
    pub tool_use_id: Option<String>,
    pub background: Option<bool>,
    pub last_seen: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// An `Agent` call that was announced (PreToolUse), or that answered before its agent's start was
/// seen: then `agent_id` is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    pub tool_use_id: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub task: Option<String>,
    pub background: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}
