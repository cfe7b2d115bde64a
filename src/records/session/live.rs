//! `session/live/{session_id}.json`: the primary record of a live session, its counts and its
//! running agents. `active.json` and `current.json` are copies derived from these records, so that
//! one atomic replace settles an event and a kill between two writes only leaves a copy behind.
//!
//! Running agents are here, and not only in `active.json`, where the v3.0 documents look for them.
//! So the totals cannot disagree with the list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agents::agent::{Agent, Call};
use crate::agents::workflow_run::WorkflowRun;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, clip, is_zero, keep_newest};
use crate::errors::document::Tally;
pub use crate::process::client::Client;
use crate::session::model::ModelUse;
use crate::session::panels;
use crate::session::queue_note::QueueNote;
use crate::session::task;
use crate::session::waiting::Waiting;
use crate::session::workflow::Workflow;
use crate::state::panel::StatusPart;
use crate::state::{Doc, Row, document};

pub const HOOKS_VERSION: &str = "3.0";
const COMMANDS: usize = 500;
const COMMAND_NAMES: usize = 200;
const FILES: usize = 500;
const CALLS: usize = 50;
const OPEN_TARGETS: usize = 100;
const RUNNING: usize = 1000;

/// The record of a live session: its counts, its running agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "session_id", "started", "git_branch", "git_commit_start", "working_directory",
    "hooks_version", "commands_executed", "agents_spawned", "files_modified",
    "errors_encountered", "errors_recovered"
])))]
pub struct Live {
    // The seed's schema, in its order.
    pub session_id: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub started: String,
    pub git_branch: Option<String>,
    pub git_commit_start: Option<String>,
    pub working_directory: String,
    pub hooks_version: String,
    pub commands_executed: Vec<String>,
    pub agents_spawned: u64,
    pub files_modified: Vec<String>,
    pub errors_encountered: u64,
    pub errors_recovered: u64,
    // Ours.
    /// How it began: `startup`, `resume`, `clear`, `compact`, `fork`.
    pub source: String,
    pub client: Client,
    pub transcript_path: Option<String>,
    /// What the session is about: the first prompt with substance, until somebody turns to
    /// something new.
    pub task: Option<String>,
    /// The last prompt that a person typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_prompt: Option<String>,
    pub lineage: Option<Lineage>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
    pub last_seen: String,
    pub agents_completed: u64,
    pub agents_failed: u64,
    pub errors_escalated: u64,
    pub compactions: u64,
    /// Findings of its agents.
    pub findings: u64,
    /// Whether a prompt or a tool call was seen: without one a session leaves no metrics.
    pub worked: bool,
    pub command_counts: BTreeMap<String, u64>,
    /// The prompt whose command was counted last: a slash prompt fires two events.
    pub command_prompt_id: Option<String>,
    /// The last command was told of by its expansion, and its prompt has not come yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub command_expanded: bool,
    /// The last command was told of by its prompt, and its expansion has not come yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub command_awaits_expansion: bool,
    /// What earlier stretches of a session came to that was closed and goes on.
    pub earlier: Earlier,
    pub agents: Vec<Agent>,
    pub calls: Vec<Call>,
    /// Workflows that it has started, as long as the client lists them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workflow_runs: Vec<WorkflowRun>,
    /// Agents that were lost with its client, and that the model was not told of yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_agents: Vec<String>,
    /// `tool target` of every error that a success would make `recovered`.
    pub open_targets: Vec<String>,
    /// Findings that the parent was not told of yet.
    pub untold_findings: u64,
    /// Digest of the last compaction, so that one that is reported twice counts once.
    pub last_compaction: Option<String>,
    pub last_backup: Option<LastBackup>,
    /// How often we have blocked a stop in a row without a tool call in between.
    #[serde(skip_serializing_if = "is_zero")]
    pub blocks: u64,
    /// How far its loop has come, by loop: a model may write the loop's file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub loop_iterations: BTreeMap<String, u64>,
    /// A tool call has changed a file in this iteration of its loop.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub loop_changed: bool,
    /// The user has read how to end its loop, and has typed nothing since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub loop_exit_told: bool,
    /// Somebody else gave it its loop, and the model was not told of it yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub loop_untold: bool,
    /// Loops that a person left while their documents could not be read: they do not go on when those
    /// are back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops_left: Vec<String>,
    /// What it keeps of the queue loop that it drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_queue: Option<QueueNote>,
    /// The folder of the branch whose loop it drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_branch: Option<String>,
    /// The iterative task that it drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_task: Option<String>,
    /// How often files were changed since the task's unit was last said to be done.
    #[serde(skip_serializing_if = "is_zero")]
    pub loop_edits: u64,
    /// What the checkout held when the task's unit was last said to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_tree: Option<String>,
    /// A command has moved the task's unit in this turn: once is enough.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub loop_signalled: bool,
    /// That it waits for a person, since the client has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// How full the context was, in percent, when the user was warned; until a compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_warned: Option<u64>,
    /// The model was told of that, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub context_told: bool,
    /// The last slash command, and whether it is still what the session does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Workflow>,
    /// Which model it uses, where the client has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_use: Option<ModelUse>,
    /// How the last loop that it drove has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_verdict: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// What cannot be seen any more in a session that goes on, because it was cleared at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Earlier {
    pub minutes: u64,
    pub files: u64,
    pub fixed: u64,
    pub errors: Tally,
    #[serde(flatten)]
    pub extra: Extra,
}

/// The session that this one goes on from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Lineage {
    pub parent: String,
    pub by: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Lineage {
    pub fn new(parent: String, by: &str) -> Self {
        Self { parent, by: by.to_owned(), extra: Extra::new() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct LastBackup {
    pub file: String,
    pub checksum: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Live {
    pub fn agent(&self, id: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == id)
    }

    pub fn agent_mut(&mut self, id: &str) -> Option<&mut Agent> {
        self.agents.iter_mut().find(|agent| agent.id == id)
    }

    pub fn take_agent(&mut self, id: &str) -> Option<Agent> {
        let at = self.agents.iter().position(|agent| agent.id == id)?;
        Some(self.agents.remove(at))
    }

    pub fn add_agent(&mut self, agent: Agent) {
        self.agents.push(agent);
        // Nobody runs a thousand agents; the oldest of them was lost.
        if self.agents.len() > RUNNING {
            self.agents.remove(0);
            self.agents_failed += 1;
        }
    }

    /// Counts a command once per prompt; `expanded`: told of by the expansion, not the prompt.
    pub fn add_command(&mut self, name: &str, prompt_id: Option<String>, expanded: bool) {
        let is_last = self.commands_executed.last().is_some_and(|last| last == name);
        let is_same_prompt = prompt_id == self.command_prompt_id;
        let was_expanded = std::mem::replace(&mut self.command_expanded, false);
        let is_counted = match (&prompt_id, expanded) {
            // Some clients send the expansion first, perhaps with the id of the prompt before.
            (_, false) if was_expanded && is_last => true,
            (Some(_), _) => is_same_prompt,
            // Clients that do not number their prompts: a prompt and its expansion say the same.
            (None, true) => is_last && !was_expanded && self.command_awaits_expansion,
            (None, false) => false,
        };
        self.command_awaits_expansion = prompt_id.is_none() && !expanded && !is_counted;
        self.command_prompt_id = prompt_id;
        if is_counted {
            return;
        }
        self.command_expanded = expanded;
        self.commands_executed.push(name.to_owned());
        keep_newest(&mut self.commands_executed, COMMANDS);
        if self.command_counts.len() < COMMAND_NAMES || self.command_counts.contains_key(name) {
            *self.command_counts.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// The model as it was asked for.
    pub fn asked_model(&self) -> Option<&str> {
        self.model_use.as_ref().map(|model| model.name.as_str())
    }

    /// What people and models are told that it is about.
    pub fn title(&self) -> Option<&str> {
        self.task.as_deref().or(self.last_prompt.as_deref())
    }

    /// What was asked last, where that says more than the task.
    pub fn asked_last(&self) -> Option<&str> {
        let last = self.last_prompt.as_deref()?;
        (self.task.as_deref() != Some(last) && task::has_substance(last)).then_some(last)
    }

    pub fn add_file(&mut self, file: String) {
        if !self.files_modified.contains(&file) {
            self.files_modified.push(file);
            keep_newest(&mut self.files_modified, FILES);
        }
    }

    pub fn add_call(&mut self, call: Call) {
        if self.calls.iter().all(|known| known.tool_use_id != call.tool_use_id) {
            self.calls.push(call);
            keep_newest(&mut self.calls, CALLS);
        }
    }

    pub fn drop_call(&mut self, tool_use_id: &str) {
        self.calls.retain(|call| call.tool_use_id != tool_use_id);
    }

    pub fn open_target(&mut self, target: &str) {
        if !self.open_targets.iter().any(|open| open == target) {
            self.open_targets.push(target.to_owned());
            keep_newest(&mut self.open_targets, OPEN_TARGETS);
        }
    }

    pub fn close_target(&mut self, target: &str) {
        self.open_targets.retain(|open| open != target);
    }
}

document!(Live by str, Row {
    name: "live",
    path: "state/session/live/{session-id}.json",
    schema: "live",
    title: "Live session",
    about: "the record of a live session",
    status: Some(StatusPart { place: 10, read: panels::sessions }),
    ..Row::EPHEMERAL
}, Doc::by_id, parse: |doc, bytes| {
    let live: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    // Another id in it would lead its changes elsewhere.
    match Self::doc(&live.session_id) == *doc {
        true => Ok(live),
        false => Err(format!("its session_id is {:?}", clip(&live.session_id, 80))),
    }
});
