//! What a session keeps of the queue loop that it drives, in case the loop's file is lost, and the
//! phase that its tool calls have led to. The file itself follows at the next Stop or command.

use serde::{Deserialize, Serialize};

use crate::core::text::Extra;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct QueueNote {
    pub task: String,
    pub phase: String,
    pub started_at: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    #[serde(flatten)]
    pub extra: Extra,
}
