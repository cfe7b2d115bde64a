//! Which step leads from where to where: a task goes only where `STEPS` leads. Besides, git may
//! correct any of it (`rebuild`, `resume`), and `reset-task` makes anything but a merged task
//! `pending`.

use crate::execute::Result;
use crate::execute::document::{Execution, MAX_ATTEMPTS, QueueStatus, TaskRecord, TaskStatus};

/// From, to, and by what.
const STEPS: [(TaskStatus, TaskStatus); 14] = [
    // `start`
    (TaskStatus::Pending, TaskStatus::InProgress),
    // `verify` begins
    (TaskStatus::InProgress, TaskStatus::Verifying),
    // `fail`
    (TaskStatus::InProgress, TaskStatus::Failed),
    // all its commands exit with 0
    (TaskStatus::Verifying, TaskStatus::Verified),
    // a command fails or takes too long
    (TaskStatus::Verifying, TaskStatus::Failed),
    // `resume`, when the process was killed
    (TaskStatus::Verifying, TaskStatus::InProgress),
    // `merge`, when it is first in the queue
    (TaskStatus::Verified, TaskStatus::Merging),
    // `fail`, when somebody saw what no command did
    (TaskStatus::Verified, TaskStatus::Failed),
    // the base branch has it
    (TaskStatus::Merging, TaskStatus::Completed),
    // a conflict, or nothing to merge
    (TaskStatus::Merging, TaskStatus::Failed),
    // its branch is not what was verified
    (TaskStatus::Merging, TaskStatus::InProgress),
    // `resume`, when the process was killed
    (TaskStatus::Merging, TaskStatus::Verified),
    // `start`, after fewer than five attempts
    (TaskStatus::Failed, TaskStatus::InProgress),
    // at once, after five attempts
    (TaskStatus::Failed, TaskStatus::Abandoned),
];

/// Takes a step that there is.
pub fn advance(id: &str, task: &mut TaskRecord, to: TaskStatus) -> Result<()> {
    if !STEPS.contains(&(task.status, to)) {
        refuse!("{id}: it is {}", task.status);
    }
    task.status = to;
    Ok(())
}

/// How an attempt failed.
pub struct FailedAttempt<'a> {
    pub message: &'a str,
    pub details: Option<String>,
    pub feedback: Option<String>,
    /// A rate limit says nothing about the work: that attempt is not counted.
    pub counts: bool,
}

/// Ends an attempt: the task is failed, or abandoned if that was its last one.
pub fn fail_attempt(
    state: &mut Execution,
    id: &str,
    failed: FailedAttempt,
    now: &str,
) -> Result<()> {
    state.dequeue(id);
    let task = state.task_mut(id)?;
    advance(id, task, TaskStatus::Failed)?;
    task.claim = None;
    task.add_error(failed.message, failed.details, now.to_owned());
    if !failed.counts {
        task.attempts = task.attempts.saturating_sub(1);
    }
    if task.attempts >= MAX_ATTEMPTS {
        // There is no next attempt that could use what was learned.
        return advance(id, task, TaskStatus::Abandoned);
    }
    if let Some(feedback) = &failed.feedback {
        task.add_feedback(feedback);
    }
    Ok(())
}

/// The base branch has it, and its worktree and branch are gone.
pub fn complete_task(state: &mut Execution, id: &str, commit: &str, now: &str) -> Result<()> {
    state.set_queue_status(id, QueueStatus::Merged);
    let task = state.task_mut(id)?;
    advance(id, task, TaskStatus::Completed)?;
    task.merged_at = Some(now.to_owned());
    task.merge_commit = Some(commit.to_owned());
    (task.worktree_path, task.branch, task.claim) = (None, None, None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-29T10:30:00Z";

    fn with_task(status: TaskStatus, attempts: u64) -> Execution {
        let task = TaskRecord { status, attempts, ..TaskRecord::default() };
        let mut state = Execution::default();
        state.tasks.insert("a".into(), task);
        state
    }

    fn failed(counts: bool) -> FailedAttempt<'static> {
        FailedAttempt { message: "no", details: None, feedback: Some("do".into()), counts }
    }

    #[test]
    fn the_fifth_failure_is_the_last() {
        let mut state = with_task(TaskStatus::InProgress, 4);
        fail_attempt(&mut state, "a", failed(true), NOW).unwrap();
        let task = &state.tasks["a"];
        assert_eq!(
            (task.status, task.attempts, task.retry_feedback[0].attempt),
            (TaskStatus::Failed, 4, 5)
        );
        let mut state = with_task(TaskStatus::Verifying, 5);
        fail_attempt(&mut state, "a", failed(true), NOW).unwrap();
        assert_eq!(state.tasks["a"].status, TaskStatus::Abandoned);
        assert!(state.tasks["a"].retry_feedback.is_empty(), "there is no attempt 6");
        let mut state = with_task(TaskStatus::InProgress, 5);
        fail_attempt(&mut state, "a", failed(false), NOW).unwrap();
        let task = &state.tasks["a"];
        assert_eq!(
            (task.status, task.attempts, task.retry_feedback[0].attempt),
            (TaskStatus::Failed, 4, 5)
        );
        assert_eq!(fail_attempt(&mut state, "a", failed(true), NOW), Err("a: it is failed".into()));
    }
}
