//! Executions: tasks in layers, each in a worktree of its own, verified and merged one by one. One
//! document is kept outside of `.claude`: `{tasks_path}/execute-state.json`. `commands/` has the
//! command line; nothing else here knows it.
//!
//! - **Two locks.** The state's own (`.execute-state.lock` in `tasks_path`) is held while the
//!   document is read and replaced, never while a command or git runs. So every step is claimed in
//!   the document first (`claim`: which step, which process); who finds a claim of a process that
//!   is gone takes it over. Changes to the repository are ordered by a second lock in its git
//!   directory, without which they do not compile (`LockedRepository`). Git is started with that
//!   lock as its stdin and so holds it too: a git that outlives the command that was killed is
//!   waited for before anybody looks at what it left.
//! - **A merge is made before it is seen**: [`merge_commit`], [`partial_checkout`]. No git hook
//!   runs at any of this (`core.hooksPath`), and the merge commit is not signed.
//! - **Git is the truth** ([`base_log`]): the state is a copy of what git knows, and `rebuild`
//!   makes it one again. Attempts, errors and feedback are only in the document and are kept. Which
//!   tasks there are, in which layers, is the plan's to say ([`plan_sync`]).
//! - **Only what is committed on its branch is a task's work** ([`worktree_status`]).
//! - **Facts are applied to the state that they were read for.** `resume` and `rebuild` ask git
//!   under the repository's lock and write only if the document has not changed since; else they
//!   ask again.
//!
//! `.claude/state/executions.json` names the executions of a project. SessionStart mentions an
//! unfinished one. PostToolUse and SubagentStop note there which agent is at which task, and
//! `execute` commands copy that to the tasks.

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
