//! `{tasks_path}/execute-state.json`, schema 2.0: tasks in layers, each on a branch of its own, and
//! the queue in which they are merged.
//!
//! Counts in `layers` and `metrics`, the state of a layer and of the whole are computed from the
//! tasks before every write ([`Execution::settle`]); what a file says about them is never believed.

mod count;
mod task;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Extra;
#[cfg(test)]
use crate::schema::fields;
pub use task::{Claim, Commit, Failure, Feedback, MAX_ATTEMPTS, Status, Step, Task, Verification};

pub const VERSION: &str = "2.0";
pub const FILE: &str = "execute-state.json";

/// Tasks in layers, each on a branch of its own, and the queue in which they are merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = [
    "schema_version", "prd_slug", "project_path", "worktree_dir", "tasks_path", "status",
    "current_layer", "current_batch", "started_at", "updated_at", "completed_at", "layers", "tasks", "merge_queue", "metrics"
])))]
pub struct Execution {
    #[cfg_attr(test, schemars(extend("enum" = [VERSION])))]
    pub schema_version: String,
    pub prd_slug: String,
    pub project_path: String,
    pub worktree_dir: String,
    pub tasks_path: String,
    pub status: Global,
    pub current_layer: Option<String>,
    pub current_batch: u64,
    #[cfg_attr(test, schemars(schema_with = "fields::time_or_null"))]
    pub started_at: Option<String>,
    #[cfg_attr(test, schemars(schema_with = "fields::time_or_null"))]
    pub updated_at: Option<String>,
    #[cfg_attr(test, schemars(schema_with = "fields::time_or_null"))]
    pub completed_at: Option<String>,
    pub layers: BTreeMap<String, Layer>,
    pub tasks: BTreeMap<String, Task>,
    /// In the order of completion.
    pub merge_queue: Vec<Queued>,
    #[serde(deserialize_with = "count::any_names")]
    pub metrics: Metrics,
    /// The branch that tasks start from and are merged to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// Where that branch was at the beginning: older commits are not of this execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u64>,
    /// The tasks of the current batch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub batch: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Global {
    #[default]
    Pending,
    InProgress,
    Completed,
    Stopped,
    Abandoned,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum LayerStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = [
    "status", "tasks_total", "tasks_completed", "tasks_failed"
])))]
pub struct Layer {
    pub status: LayerStatus,
    pub tasks_total: u64,
    pub tasks_completed: u64,
    pub tasks_failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(schema_with = "fields::time_or_null"))]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(schema_with = "fields::time_or_null"))]
    pub completed_at: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A task that was verified, and its turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = ["task_id", "priority", "status"])))]
pub struct Queued {
    pub task_id: String,
    /// The order of completion, from 1.
    pub priority: u64,
    pub status: Turn,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Turn {
    #[default]
    Pending,
    Ready,
    Merging,
    Merged,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = [
    "total_tasks", "completed_tasks", "failed_tasks", "total_attempts", "total_commits",
    "elapsed_time_seconds"
])))]
pub struct Metrics {
    pub total_tasks: u64,
    pub completed_tasks: u64,
    pub failed_tasks: u64,
    pub total_attempts: u64,
    pub total_commits: u64,
    pub elapsed_time_seconds: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A document of this format, of a version that we may write.
pub fn parse(bytes: &[u8]) -> Result<Execution, String> {
    let state: Execution = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match state.schema_version.as_str() {
        VERSION => Ok(state),
        "" => Err("it has no schema_version".into()),
        other => Err(format!("its schema_version is {other}, this program knows {VERSION}")),
    }
}

/// Layers run in the order of the number that they begin with; then by name.
pub fn layer_order(layer: &str) -> (u64, &str) {
    let digits = layer.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    (digits.parse().unwrap_or(u64::MAX), layer)
}

impl Execution {
    /// The layers in the order in which they run.
    pub fn layer_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.layers.keys().map(String::as_str).collect();
        names.sort_by_key(|name| layer_order(name));
        names
    }

    pub fn base(&self) -> &str {
        self.base_branch.as_deref().unwrap_or_default()
    }

    /// The tasks that wait to be merged or are being merged, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.merge_queue.iter().filter(|queued| queued.status != Turn::Merged)
    }

    /// Puts a verified task at the end of the queue.
    pub fn enqueue(&mut self, id: &str) {
        self.dequeue(id);
        let last = self.merge_queue.iter().map(|queued| queued.priority).max().unwrap_or(0);
        self.merge_queue.push(Queued {
            task_id: id.to_owned(),
            priority: last.saturating_add(1),
            ..Queued::default()
        });
    }

    pub fn dequeue(&mut self, id: &str) {
        self.merge_queue.retain(|queued| queued.task_id != id);
    }

    pub fn set_turn(&mut self, id: &str, turn: Turn) {
        for queued in self.merge_queue.iter_mut().filter(|queued| queued.task_id == id) {
            queued.status = turn;
        }
    }
}

impl Global {
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Abandoned => "abandoned",
        }
    }
}

pub const ROW: crate::state::Row = crate::state::Row {
    name: "execute-state",
    path: "{tasks-path}/execute-state.json",
    schema: "execute-state",
    title: "Execution",
    about: "tasks in layers, and their merges",
    ..crate::state::Row::SHARED
};
