//! Which step leads from where to where. ARCHITECTURE.md has the same table; a test compares them.

use crate::books::execute::{Claim, Execution, MAX_ATTEMPTS, Status, Step, Task, Turn};
use crate::books::live::Client;

/// From, by what, to.
pub const TABLE: [(Status, &str, Status); 14] = [
    (Status::Pending, "`start`", Status::InProgress),
    (Status::InProgress, "`verify` begins", Status::Verifying),
    (Status::InProgress, "`fail`", Status::Failed),
    (Status::Verifying, "all its commands exit with 0", Status::Verified),
    (Status::Verifying, "a command fails or takes too long", Status::Failed),
    (Status::Verifying, "`resume`, when the process was killed", Status::InProgress),
    (Status::Verified, "`merge`, when it is first in the queue", Status::Merging),
    (Status::Verified, "`fail`, when somebody saw what no command did", Status::Failed),
    (Status::Merging, "the base branch has it", Status::Completed),
    (Status::Merging, "a conflict, or nothing to merge", Status::Failed),
    (Status::Merging, "its branch is not what was verified", Status::InProgress),
    (Status::Merging, "`resume`, when the process was killed", Status::Verified),
    (Status::Failed, "`start`, after fewer than five attempts", Status::InProgress),
    (Status::Failed, "at once, after five attempts", Status::Abandoned),
];

pub fn is_allowed(from: Status, to: Status) -> bool {
    TABLE.iter().any(|(have, _, leads)| (*have, *leads) == (from, to))
}

/// Takes a step that the table has.
pub fn go(task: &mut Task, to: Status) -> Result<(), String> {
    if !is_allowed(task.status, to) {
        return Err(format!("it is {}", task.status.word()));
    }
    task.status = to;
    Ok(())
}

pub fn claim(step: Step, by: Client, at: &str) -> Claim {
    Claim { step, by, at: at.to_owned(), ..Claim::default() }
}

/// How an attempt failed.
pub struct Failed<'a> {
    pub message: &'a str,
    pub details: Option<String>,
    pub feedback: Option<String>,
    /// A rate limit says nothing about the work: that attempt is not counted.
    pub counts: bool,
}

/// Ends an attempt: the task is failed, or abandoned if that was its last one.
pub fn fail(state: &mut Execution, id: &str, failed: Failed, now: &str) -> Result<(), String> {
    state.dequeue(id);
    let task = state.tasks.get_mut(id).ok_or_else(|| format!("there is no task {id}"))?;
    go(task, Status::Failed)?;
    task.claim = None;
    task.add_error(failed.message, failed.details, now.to_owned());
    if !failed.counts {
        task.attempts = task.attempts.saturating_sub(1);
    }
    if let Some(feedback) = &failed.feedback {
        task.add_feedback(feedback);
    }
    if task.attempts >= MAX_ATTEMPTS {
        go(task, Status::Abandoned)?;
    }
    Ok(())
}

/// The base branch has it, and its worktree and branch are gone.
pub fn complete(state: &mut Execution, id: &str, commit: &str, now: &str) -> Result<(), String> {
    state.set_turn(id, Turn::Merged);
    let task = state.tasks.get_mut(id).ok_or_else(|| format!("there is no task {id}"))?;
    go(task, Status::Completed)?;
    task.merged_at = Some(now.to_owned());
    task.merge_commit = Some(commit.to_owned());
    (task.worktree_path, task.branch, task.claim) = (None, None, None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-29T10:30:00Z";

    fn one(status: Status, attempts: u64) -> Execution {
        let task = Task { status, attempts, ..Task::default() };
        let mut state = Execution::default();
        state.tasks.insert("a".into(), task);
        state
    }

    fn failed(counts: bool) -> Failed<'static> {
        Failed { message: "no", details: None, feedback: Some("do".into()), counts }
    }

    #[test]
    fn the_fifth_failure_is_the_last() {
        let mut state = one(Status::InProgress, 4);
        fail(&mut state, "a", failed(true), NOW).unwrap();
        let task = &state.tasks["a"];
        assert_eq!(
            (task.status, task.attempts, task.retry_feedback[0].attempt),
            (Status::Failed, 4, 5)
        );
        let mut state = one(Status::Verifying, 5);
        fail(&mut state, "a", failed(true), NOW).unwrap();
        assert_eq!(state.tasks["a"].status, Status::Abandoned);
        let mut state = one(Status::InProgress, 5);
        fail(&mut state, "a", failed(false), NOW).unwrap();
        let task = &state.tasks["a"];
        assert_eq!(
            (task.status, task.attempts, task.retry_feedback[0].attempt),
            (Status::Failed, 4, 5)
        );
        assert_eq!(fail(&mut state, "a", failed(true), NOW), Err("it is failed".into()));
    }

    #[test]
    fn the_architecture_has_the_same_table() {
        let text = include_str!("../../ARCHITECTURE.md");
        for (from, by, to) in TABLE {
            let row = format!("| `{}` | {by} | `{}` |", from.word(), to.word());
            assert!(text.contains(&row), "ARCHITECTURE.md lacks {row}");
        }
    }
}
