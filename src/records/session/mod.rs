//! Sessions: their records, the copies that follow from them, the metrics they leave, and what the
//! user is told of them.
//!
//! # What is primary
//!
//! Each fact is kept in one document. What is derived from it is written anew by the events that
//! change it.
//!
//! - Sessions, counts, running agents, task: `session/live/{id}.json`. Derived from it are
//!   `current.json` and `active.json`, which every event rewrites that changes a record.
//! - What an agent found: `agents/results/{id}.json`. Derived: `synthesis.json`, and the session's
//!   finding count.
//! - Failures and retries: `errors/classified.json`. Derived: the error counts in the live record.
//! - Finished sessions: `session/metrics.json`.
//! - What happened, when: `journal/{session}.jsonl`, which is never read to decide anything.
//!   Derived is what `log` prints. Error records and results in it are copies of what the documents
//!   said then.
//! - Where this user has projects: `hookkeeper/projects/{digest}` in the client's directory.
//!   Derived is what `--all-projects` shows.
//! - What the client told the user: `notifications.json`, whether or not the session is open.
//! - That a session waits for a person: `waiting` in the live record. Notification sets it; the
//!   next event that opens the record takes it off, unless that is of an agent in the background.
//! - How full a context is: the client's transcript, and the model for the size of the window. That
//!   the user was warned of it is in the live record.
//! - The loop and the hand-offs of a branch: `.claude/branches/{branch}/state.json`.
//! - Where a session stood (workflow, plan, todos): the live record, the plan file, the transcript.
//!   PreCompact writes it anew into the branch's `state.json`.
//! - Nudges, last words and counts of a branch's agents: `.claude/branches/{branch}/agents.json`.
//!   Its `running` entries follow the live records.
//! - An iterative task: `.claude/iterative/{slug}/progress.md` for what happened; `tasks.md` or
//!   `plan.md`, and `brief.md`, for what it is about. Derived: `state.json`, and the checkboxes and
//!   counts in the plan.
//!
//! Writes are ordered so that the next event makes good a kill between two of them. Where the order
//! matters the file says why: `hooks/subagent_stop.rs`, `hooks/session_closing.rs`,
//! `hooks/failures.rs`.

pub mod active;
pub mod cleared;
pub mod current;
pub mod ending;
pub mod lineage;
pub mod live;
pub mod locked_store;
pub mod metrics;
pub mod model;
pub mod new_project;
pub mod notices;
pub mod notifications;
pub mod panels;
pub mod queue_note;
pub mod record;
pub mod running_agents;
pub mod task;
pub mod waiting;
pub mod workflow;

use crate::state::Documents;
use crate::state::declared::parses_as;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add::<live::Live>();
    all.add::<current::CurrentFile>();
    all.add::<active::Active>();
    all.add::<metrics::Metrics>();
    all.add_file::<metrics::Entry>(&metrics::ARCHIVE, parses_as::<metrics::Entry>);
    all.add::<notices::Notices>();
    all.add::<notifications::Notifications>();
    all.add::<cleared::Cleared>();
}
