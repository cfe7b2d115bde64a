//! One agent as the ledger has it: the seed's six fields, and ours.

use serde::{Deserialize, Serialize};

use crate::agents::result::Finding;
use crate::client::side_file::SideFile;
use crate::core::journal::{Entry, EntryKind};
use crate::core::redaction::Redactor;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, clip, is_zero};
use crate::core::time::{self, Time};
use crate::turn::context::task_line;

pub const LONGEST_NUDGE: usize = 1000;

pub const RUNNING: &str = "running";
/// Its call has been answered, but its SubagentStop has not come (yet).
pub const ANSWERED: &str = "answered";
/// Its start was never seen, its end is being written down.
pub const ENDING: &str = "ending";

/// The type of agents that a workflow starts, unless it asks for another one.
const WORKFLOW_AGENT: &str = "workflow-subagent";

/// An agent that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "id", "type", "task", "started", "status", "parent_task"
])))]
pub struct Agent {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// The description of the call that started it; `null` until that is certain.
    pub task: Option<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub started: String,
    #[cfg_attr(feature = "testing", schemars(extend("enum" = [RUNNING, ANSWERED, ENDING])))]
    pub status: String,
    /// What the session that started it works on.
    pub parent_task: Option<String>,
    pub session_id: String,
    /// The call that started it, once that is certain.
    pub tool_use_id: Option<String>,
    /// Its task is that of the only call that waited for an agent; the client's files have not
    /// confirmed that yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub task_likely: bool,
    pub background: Option<bool>,
    /// The agent that started it; without one it was the session itself, or a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent: Option<String>,
    /// The run of a workflow that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The team that it is a teammate of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
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
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
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
    /// What it does, for people and models.
    pub fn task_text(&self) -> &str {
        self.task.as_deref().unwrap_or("task not known yet")
    }

    /// Whether its task is certain.
    pub fn is_identified(&self) -> bool {
        self.task.is_some() && !self.task_likely
    }

    /// Takes the call that it must come from, unless the client's files say otherwise.
    pub fn take_likely(&mut self, call: &Call) {
        self.take_call(call);
        self.task_likely = true;
    }

    /// Takes the call that it comes from.
    pub fn take_call(&mut self, call: &Call) {
        self.task = call.task.clone().or(self.task.take());
        self.tool_use_id = Some(call.tool_use_id.clone()).filter(|id| !id.is_empty());
        self.background = call.background.or(self.background);
        self.parent_agent.clone_from(&call.parent_agent);
        self.team = call.team.clone().or(self.team.take());
        self.task_likely = false;
    }

    /// Fills in what the client's side file says for certain and nobody said before. A file of
    /// another agent says nothing.
    pub fn identify(&mut self, side: &SideFile, redact: &Redactor) {
        let is_other = |kind: &String| !self.kind.is_empty() && *kind != self.kind;
        if side.kind.as_ref().is_some_and(is_other) {
            return;
        }
        if std::mem::take(&mut self.task_likely) && side.tool_use_id != self.tool_use_id {
            (self.task, self.tool_use_id, self.parent_agent) = (None, None, None);
            self.background = None;
        }
        let description = side.description.as_deref();
        let task = self.task.take();
        self.task = task.or_else(|| description.map(|text| task_line(text, redact)));
        self.tool_use_id = self.tool_use_id.take().or_else(|| side.tool_use_id.clone());
        self.background = self.background.or(side.background);
        self.parent_agent = self.parent_agent.take().or_else(|| side.parent_agent.clone());
        self.workflow = self.workflow.take().or_else(|| side.workflow.clone());
        self.team = self.team.take().or_else(|| side.team.clone());
    }

    /// Whether it is known to have been started by a call of the session itself. Such an agent runs
    /// within a turn, or is in the client's list.
    pub fn is_of_main_thread(&self) -> bool {
        let has_other_owner =
            self.parent_agent.is_some() || self.is_of_workflow() || self.team.is_some();
        self.tool_use_id.is_some() && !has_other_owner
    }

    pub fn is_of_workflow(&self) -> bool {
        self.workflow.is_some() || self.kind == WORKFLOW_AGENT
    }

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

    /// What the journal says of its start.
    pub fn journal_line(&self) -> Entry {
        Entry::new(EntryKind::AgentStart)
            .of_agent(self.id.clone())
            .what(&self.kind)
            .target(self.task.as_deref().unwrap_or_default())
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
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["tool_use_id"])))]
pub struct Call {
    pub tool_use_id: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub task: Option<String>,
    pub background: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The agent that called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent: Option<String>,
    /// The team that it called a teammate for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}
