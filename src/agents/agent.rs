//! One agent as the ledger has it: the seed's six fields, and ours.

use serde::{Deserialize, Serialize};

use crate::agents::result::Finding;
#[cfg(test)]
use crate::core::schema_fields;
use crate::core::text::{Extra, clip, is_zero};
use crate::core::time::{self, Time};

pub const LONGEST_NUDGE: usize = 1000;

pub const RUNNING: &str = "running";
/// Its call has been answered, but its SubagentStop has not come (yet).
pub const ANSWERED: &str = "answered";
/// Its start was never seen, its end is being written down.
pub const ENDING: &str = "ending";

/// An agent that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = [
    "id", "type", "task", "started", "status", "parent_task"
])))]
pub struct Agent {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// The description of the call that started it; `null` until that is certain.
    pub task: Option<String>,
    #[cfg_attr(test, schemars(schema_with = "schema_fields::time"))]
    pub started: String,
    #[cfg_attr(test, schemars(extend("enum" = [RUNNING, ANSWERED, ENDING])))]
    pub status: String,
    /// What the session that started it works on.
    pub parent_task: Option<String>,
    pub session_id: String,
    /// The call that started it, once that is certain.
    pub tool_use_id: Option<String>,
    pub background: Option<bool>,
    #[cfg_attr(test, schemars(schema_with = "schema_fields::time_or_empty"))]
    pub last_seen: String,
    /// The folder of the branch that it was started on: its entry is in the `agents.json` there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// How often it was taken up again after it had ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub run: u64,
    /// How often a person nudged it.
    #[serde(skip_serializing_if = "is_zero")]
    pub nudge_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(schema_with = "schema_fields::time"))]
    pub last_nudge: Option<String>,
    /// What it has reported so far, with the client's tool for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<Finding>,
    /// What it is to be told after its next tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nudge: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Agent {
    /// A person wants to hear from it.
    pub fn nudge(&mut self, message: Option<&str>, now: &str) {
        self.nudge_count += 1;
        self.last_nudge = Some(now.to_owned());
        let text = message.map_or_else(
            || {
                "if it is blocked or has something to report, an answer with what is known so far \
                 is welcome"
                    .to_owned()
            },
            |text| clip(text, LONGEST_NUDGE),
        );
        // A note that was not read yet stays.
        self.nudge = Some(match self.nudge.take() {
            Some(earlier) => clip(&format!("{earlier} / {text}"), LONGEST_NUDGE),
            None => text,
        });
    }

    /// What it is to be told now, once.
    pub fn take_nudge(&mut self) -> Option<String> {
        let text = self.nudge.take()?;
        Some(format!("A note from the user to this agent (`hookkeeper agents nudge`): {text}"))
    }

    /// Whether it runs, and has been silent, for longer than a threshold in seconds.
    pub fn is_stuck(&self, silent: u64, now: Time, threshold: u64) -> bool {
        self.status == RUNNING && silent > threshold && time::age(&self.started, now) > threshold
    }
}

/// An `Agent` call that was announced (PreToolUse), or that answered before its agent's start was
/// seen: then `agent_id` is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = ["tool_use_id"])))]
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
