//! Executions: tasks in layers, each in a worktree of its own, verified and merged one by one. The
//! state is a copy of what git knows, and `rebuild` makes it one again. `commands/` has the command
//! line; nothing else here knows it.

#[macro_use]
mod error;

mod base_log;
pub(crate) mod commands;
mod counts;
pub mod document;
pub mod graph;
mod locate;
mod merge;
mod merge_commit;
mod partial_checkout;
pub mod plan;
mod plan_files;
mod plan_sync;
mod preconditions;
mod rebuild;
mod reconcile;
mod recover;
mod repository;
mod reset;
mod resume;
mod schedule;
mod setup;
pub mod task_file;
mod tasks_folder;
mod transitions;
mod verification;
mod worktree;
mod worktree_status;
mod xml;

use error::{Error, Result};
use reconcile::{Correction, GitFacts, MergedTask, task_branch};
use repository::{LockedRepository, Repository, ensure_started};
use tasks_folder::TasksFolder;
