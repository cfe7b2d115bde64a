//! Executions: tasks in layers, each in a worktree of its own, verified and merged one by one. The
//! state is a copy of what git knows, and `rebuild` makes it one again. `commands/` has the command
//! line; nothing else here knows it.

#[macro_use]
pub mod error;
pub mod base_log;
pub mod counts;
pub mod document;
pub mod foreign;
pub mod graph;
pub mod locate;
pub mod merge;
pub mod merge_commit;
pub mod panel;
pub mod partial_checkout;
pub mod plan;
pub mod plan_files;
pub mod plan_sync;
pub mod preconditions;
pub mod rebuild;
pub mod reconcile;
pub mod recover;
pub mod registry;
pub mod remote;
pub mod repository;
pub mod reset;
pub mod resume;
pub mod schedule;
pub mod setup;
pub mod task_file;
pub mod tasks_folder;
pub mod transitions;
pub mod unfinished;
pub mod verification;
pub mod worktree;
pub mod worktree_status;
pub mod xml;

use crate::state::Documents;
pub use error::{Error, Result};
pub use reconcile::{Correction, GitFacts, MergedTask, task_branch};
pub use repository::{LockedRepository, Repository, ensure_started};
pub use tasks_folder::TasksFolder;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add_file::<document::Execution>(&document::ROW, |_, bytes| {
        document::parse(bytes).map(drop)
    });
    all.add::<registry::Executions>();
}
