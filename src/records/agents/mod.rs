//! Agents: their results, the findings in them, and what all of a session's agents found together.
//!
//! A teammate is an agent whose type is its name. SubagentStart and SubagentStop come for each of
//! its turns, so it is ended while it is idle, and a message from its team is another run of it.
//!
//! Events of the client about agents that stay foreign:
//!
//! - `TeammateIdle` comes right after the teammate's SubagentStop and says nothing more. Who
//!   handles it can keep the teammate from resting.
//! - `TaskCreated` and `TaskCompleted` are about the client's todo list. That is read from the
//!   transcript where it is needed, and PostToolUse of `TaskCreate` and `TaskUpdate` has the same.
//!   Who handles these events can refuse the task.
//! - `WorktreeCreate` replaces the client's own work. `WorktreeRemove`: nothing of ours lies in a
//!   worktree.

pub mod agent;
pub mod category;
pub mod findings;
pub mod markdown;
pub mod marks;
pub mod panel;
pub mod report;
pub mod result;
pub mod synthesis;
pub mod table;
pub mod tree;
pub mod workflow_run;

use crate::state::Documents;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add::<result::AgentResult>();
    all.add::<synthesis::Synthesis>();
    all.add::<result::ArchivedResult>();
    all.add::<synthesis::ParkedSynthesis>();
}
