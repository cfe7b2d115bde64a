//! One task of an execution: where it stands, what it has behind it, and who is at it.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::execute::document::remote::SeenClaim;
use crate::process::client::Client;

/// A task that failed so often is abandoned.
pub const MAX_ATTEMPTS: u64 = 5;
const ERRORS: usize = 20;
const COMMITS: usize = 500;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["status", "attempts"])))]
pub struct TaskRecord {
    pub status: TaskStatus,
    /// Attempts that were begun; one that a rate limit ended does not count.
    pub attempts: u64,
    pub worktree_path: Option<String>,
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<TaskCommit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub merged_at: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<AttemptError>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retry_feedback: Vec<Feedback>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Within the layer; the lowest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u64>,
    /// The task's text, below `tasks_path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The merge commit on the base branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_commit: Option<String>,
    /// The agent that works on it, where the hooks saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// A step that a process is at, or was at when it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Its claim on the remote, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<SeenClaim>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub enum TaskStatus {
    #[default]
    Pending,
    InProgress,
    Verifying,
    Verified,
    Merging,
    Completed,
    Failed,
    Abandoned,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["hash", "type", "attempt"])))]
pub struct TaskCommit {
    pub hash: String,
    /// `implementation` in the first attempt, `fix` in a later one.
    #[serde(rename = "type")]
    pub kind: String,
    pub attempt: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub created_at: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["attempt", "message"])))]
pub struct AttemptError {
    pub attempt: u64,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub timestamp: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the next attempt should know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["attempt", "feedback"])))]
pub struct Feedback {
    pub attempt: u64,
    pub feedback: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the last verification came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Verification {
    /// The commit that was verified; another one would have to be verified again.
    pub commit: Option<String>,
    pub passed: bool,
    pub commands: u64,
    pub seconds: u64,
    /// The end of what the commands printed.
    pub output: String,
    /// What the commands left in the worktree that nobody tracks: it goes with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
    pub at: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A step is claimed in the file before it is done, so that two callers never do it twice, and so
/// that whoever comes after a kill knows what was begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Claim {
    pub step: ClaimedStep,
    pub by: Client,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
    pub at: String,
    /// Where the base branch was: a branch that is still there was never worked on, a merge starts
    /// from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// The merge commit that the base branch is moved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Git was writing the files of the merge when it was killed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub enum ClaimedStep {
    #[default]
    Start,
    Verify,
    Merge,
    Reset,
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl TaskStatus {
    /// Nothing more will be done.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Abandoned)
    }

    /// Its last attempt failed.
    pub fn is_failed(self) -> bool {
        matches!(self, Self::Failed | Self::Abandoned)
    }

    /// An agent works on it.
    pub fn is_running(self) -> bool {
        matches!(self, Self::InProgress | Self::Verifying)
    }
}

impl ClaimedStep {
    /// As in "it is being started".
    pub fn participle(self) -> &'static str {
        match self {
            Self::Start => "started",
            Self::Verify => "verified",
            Self::Merge => "merged",
            Self::Reset => "reset",
        }
    }
}

impl TaskRecord {
    /// What was done of a task, with what the plan says about it from another record.
    pub fn with_plan_of(self, planned: Self) -> Self {
        let Self { layer, name, priority, file, depends_on, .. } = planned;
        Self { layer, name, priority, file, depends_on, ..self }
    }

    /// Another clone has it.
    pub fn is_elsewhere(&self) -> bool {
        self.remote.as_ref().is_some_and(SeenClaim::is_elsewhere)
    }

    /// Its worktree, if that is there.
    pub fn existing_worktree(&self) -> Option<&Path> {
        self.worktree_path.as_deref().map(Path::new).filter(|path| path.is_dir())
    }

    /// The attempt that is going on, or the one that comes next.
    pub fn attempt(&self) -> u64 {
        match self.status {
            TaskStatus::Pending | TaskStatus::Failed => self.attempts.saturating_add(1),
            _ => self.attempts,
        }
    }

    pub fn add_error(&mut self, message: &str, details: Option<String>, at: String) {
        self.errors.push(AttemptError {
            attempt: self.attempts,
            message: message.to_owned(),
            details,
            timestamp: Some(at),
            ..AttemptError::default()
        });
        keep_newest(&mut self.errors, ERRORS);
    }

    /// For the attempt after this one.
    pub fn add_feedback(&mut self, feedback: &str) {
        self.retry_feedback.push(Feedback {
            attempt: self.attempts.saturating_add(1),
            feedback: feedback.to_owned(),
            ..Feedback::default()
        });
        keep_newest(&mut self.retry_feedback, ERRORS);
    }

    /// The commits on its branch, oldest first: those that were known keep their attempt.
    pub fn set_commits(&mut self, found: Vec<(String, String)>) {
        let known = std::mem::take(&mut self.commits);
        let attempt = self.attempts.max(1);
        let kind = if attempt == 1 { "implementation" } else { "fix" };
        let commit = |(hash, created_at): (String, String)| {
            let before = known.iter().find(|commit| is_hash_of(&commit.hash, &hash)).cloned();
            before.unwrap_or_else(|| TaskCommit {
                hash,
                kind: kind.into(),
                attempt,
                created_at: Some(created_at),
                ..TaskCommit::default()
            })
        };
        self.commits = found.into_iter().map(commit).collect();
        keep_newest(&mut self.commits, COMMITS);
    }
}

/// Files of other tools have abbreviated hashes.
fn is_hash_of(known: &str, hash: &str) -> bool {
    known.len() >= 7 && hash.starts_with(known)
}
