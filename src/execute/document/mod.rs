//! `{tasks_path}/execute-state.json`, schema 2.0: tasks in layers, each on a branch of its own, and
//! the queue in which they are merged.
//!
//! Counts in `layers` and `metrics`, the state of a layer and of the whole, and whose turn it is in the
//! queue are computed from the tasks before every write ([`derived`]); what a file says about them is
//! never believed.

pub mod derived;
pub mod remote;
pub mod task;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;
use crate::execute::Error;
pub use crate::execute::unfinished::FILE;
pub use remote::{ClaimState, SeenClaim, SharedRemote, holder};
#[cfg(feature = "testing")]
pub use task::{AttemptError, Feedback, TaskCommit};
pub use task::{Claim, ClaimedStep, MAX_ATTEMPTS, TaskRecord, TaskStatus, Verification};

pub const VERSION: &str = "2.0";

/// Tasks in layers, each on a branch of its own, and the queue in which they are merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "schema_version", "prd_slug", "project_path", "worktree_dir", "tasks_path", "status",
    "current_layer", "current_batch", "started_at", "updated_at", "completed_at", "layers", "tasks", "merge_queue", "metrics"
])))]
pub struct Execution {
    #[cfg_attr(feature = "testing", schemars(extend("enum" = [VERSION])))]
    pub schema_version: String,
    pub prd_slug: String,
    pub project_path: String,
    pub worktree_dir: String,
    pub tasks_path: String,
    pub status: ExecutionStatus,
    pub current_layer: Option<String>,
    pub current_batch: u64,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub started_at: Option<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub updated_at: Option<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub completed_at: Option<String>,
    pub layers: BTreeMap<String, Layer>,
    pub tasks: BTreeMap<String, TaskRecord>,
    /// In the order of completion.
    pub merge_queue: Vec<QueuedMerge>,
    #[serde(deserialize_with = "derived::read_metrics")]
    pub metrics: ExecutionMetrics,
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
    /// Where other clones work on it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<SharedRemote>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub enum ExecutionStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
    Stopped,
    Abandoned,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub enum LayerStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "status", "tasks_total", "tasks_completed", "tasks_failed"
])))]
pub struct Layer {
    pub status: LayerStatus,
    pub tasks_total: u64,
    pub tasks_completed: u64,
    pub tasks_failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub completed_at: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A task that was verified, in the queue to be merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["task_id", "priority", "status"])))]
pub struct QueuedMerge {
    pub task_id: String,
    /// The order of completion, from 1.
    pub priority: u64,
    pub status: QueueStatus,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub enum QueueStatus {
    #[default]
    Pending,
    Ready,
    Merging,
    Merged,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "total_tasks", "completed_tasks", "failed_tasks", "total_attempts", "total_commits",
    "elapsed_time_seconds"
])))]
pub struct ExecutionMetrics {
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

    /// The branch that tasks start from and are merged to; empty where the file does not say.
    pub fn base(&self) -> &str {
        self.base_branch.as_deref().unwrap_or_default()
    }

    pub fn task(&self, id: &str) -> Result<&TaskRecord, Error> {
        self.tasks
            .get(id)
            .ok_or_else(|| format!("there is no task {id} in {}", self.prd_slug).into())
    }

    pub fn task_mut(&mut self, id: &str) -> Result<&mut TaskRecord, Error> {
        self.tasks.get_mut(id).ok_or_else(|| format!("there is no task {id}").into())
    }

    /// Where a task's worktree is made.
    pub fn worktree_path(&self, id: &str) -> PathBuf {
        Path::new(&self.worktree_dir).join(id)
    }

    /// The tasks that wait to be merged or are being merged, in order.
    pub fn open_merges(&self) -> impl Iterator<Item = &QueuedMerge> {
        self.merge_queue.iter().filter(|queued| queued.status != QueueStatus::Merged)
    }

    /// Puts a verified task at the end of the queue.
    pub fn enqueue(&mut self, id: &str) {
        self.dequeue(id);
        let last = self.merge_queue.iter().map(|queued| queued.priority).max().unwrap_or(0);
        self.merge_queue.push(QueuedMerge {
            task_id: id.to_owned(),
            priority: last.saturating_add(1),
            ..QueuedMerge::default()
        });
    }

    pub fn dequeue(&mut self, id: &str) {
        self.merge_queue.retain(|queued| queued.task_id != id);
    }

    pub fn set_queue_status(&mut self, id: &str, status: QueueStatus) {
        for queued in self.merge_queue.iter_mut().filter(|queued| queued.task_id == id) {
            queued.status = status;
        }
    }
}

impl fmt::Display for ExecutionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
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
