//! What git has of an execution, and how the state is brought in line with it.
//! Attempts, errors and feedback are only in the file, so they are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::execute::document::{
    Execution, MAX_ATTEMPTS, QueueStatus, QueuedMerge, TaskRecord, TaskStatus,
};

/// What the repository has of an execution.
#[derive(Debug, Default)]
pub struct GitFacts {
    /// Tasks that the base branch has, in the order in which it got them.
    pub merged: Vec<MergedTask>,
    /// Branches of tasks: id and commit.
    pub branches: BTreeMap<String, String>,
    /// Worktrees that git knows and that are there: id and path.
    pub worktrees: BTreeMap<String, String>,
    /// Branches that have a commit that the base branch has not.
    pub ahead: BTreeSet<String>,
}

/// A task that the base branch has: by which commit, and since when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergedTask {
    pub id: String,
    pub commit: String,
    pub at: String,
}

/// What was wrong in the file: which task, and what it says now.
#[derive(Debug, PartialEq)]
pub struct Correction {
    pub id: String,
    pub text: String,
}

/// What marks the commit by which a task came to the base branch.
pub const TASK_ID_TRAILER: &str = "Task-Id";
/// Beside it, where the execution began: another one may have tasks of the same ids.
pub const TASK_BASE_TRAILER: &str = "Task-Base";

/// The branch that a task is worked on.
pub fn task_branch(id: &str) -> String {
    format!("worktree-{id}")
}

/// Brings the state in line with the facts, and says what was wrong. Tasks that somebody is at right
/// now (`busy`) are left alone.
pub fn reconcile(
    state: &mut Execution,
    facts: &GitFacts,
    busy: &BTreeSet<String>,
) -> Vec<Correction> {
    let mut corrections = Vec::new();
    let merged: BTreeMap<&str, &MergedTask> =
        facts.merged.iter().map(|merged| (merged.id.as_str(), merged)).collect();
    let worktree_dir = state.worktree_dir.clone();
    for (id, task) in state.tasks.iter_mut().filter(|(id, _)| !busy.contains(*id)) {
        let before = task.clone();
        task.claim = None;
        match merged.get(id.as_str()) {
            Some(merged) => set_merged(task, merged),
            None => set_unmerged(id, task, facts, &worktree_dir),
        }
        let text = match facts.worktrees.contains_key(id) && !facts.branches.contains_key(id) {
            true if before != *task => Some(explain_lost_branch(id, &before, task)),
            _ => explain_difference(&before, task),
        };
        corrections.extend(text.map(|text| Correction { id: id.clone(), text }));
    }
    let before = state.merge_queue.clone();
    rebuild_queue(state, &facts.merged, busy);
    if corrections.is_empty() && by_turn(&before) != by_turn(&state.merge_queue) {
        let text = "the merge queue did not fit the tasks and was put right".to_owned();
        corrections.push(Correction { id: "merge_queue".into(), text });
    }
    corrections
}

/// A queue without whose turn it is: that is computed, and nothing to put right.
fn by_turn(queue: &[QueuedMerge]) -> Vec<QueuedMerge> {
    let waiting = |queued: &QueuedMerge| match queued.status {
        QueueStatus::Ready => QueuedMerge { status: QueueStatus::Pending, ..queued.clone() },
        _ => queued.clone(),
    };
    queue.iter().map(waiting).collect()
}

/// The base branch has it.
pub fn set_merged(task: &mut TaskRecord, merged: &MergedTask) {
    if task.status != TaskStatus::Completed || task.merged_at.is_none() {
        task.merged_at = Some(merged.at.clone());
    }
    task.status = TaskStatus::Completed;
    task.merge_commit = Some(merged.commit.clone());
    task.attempts = task.attempts.max(1);
    (task.worktree_path, task.branch) = (None, None);
}

fn set_unmerged(id: &str, task: &mut TaskRecord, facts: &GitFacts, worktree_dir: &str) {
    (task.merged_at, task.merge_commit) = (None, None);
    let tip = facts.branches.get(id);
    let is_ahead = facts.ahead.contains(id);
    let has_worktree = facts.worktrees.contains_key(id);
    let verified = tip.is_some()
        && task.verification.as_ref().is_some_and(|v| v.passed && v.commit.as_ref() == tip);
    task.status = match task.status {
        TaskStatus::Failed | TaskStatus::Abandoned if task.attempts >= MAX_ATTEMPTS => {
            TaskStatus::Abandoned
        }
        TaskStatus::Failed | TaskStatus::Abandoned => TaskStatus::Failed,
        TaskStatus::Verified | TaskStatus::Merging if verified => TaskStatus::Verified,
        // An empty branch without a worktree holds nothing that could be gone on with.
        _ if tip.is_some() && (is_ahead || has_worktree) => TaskStatus::InProgress,
        _ => TaskStatus::Pending,
    };
    if tip.is_some() && (task.status != TaskStatus::Pending) {
        task.attempts = task.attempts.max(1);
        let path = Path::new(worktree_dir).join(id).display().to_string();
        task.worktree_path = Some(facts.worktrees.get(id).cloned().unwrap_or(path));
        task.branch = Some(task_branch(id));
    } else {
        (task.worktree_path, task.branch) = (None, None);
    }
    if !is_ahead {
        task.commits.clear();
    }
}

/// A worktree whose branch somebody deleted: its files are still there.
fn explain_lost_branch(id: &str, before: &TaskRecord, after: &TaskRecord) -> String {
    let branch = task_branch(id);
    let commit = before.commits.last().map_or("COMMIT", |commit| commit.hash.as_str());
    format!(
        "was {}, is {}: its branch is gone, its worktree is not; `git branch {branch} {}` brings it back, `reset-task --force` takes both away",
        before.status,
        after.status,
        commit.get(..12).unwrap_or(commit)
    )
}

/// What people should hear of; fields that follow from the rest are not worth a word.
fn explain_difference(before: &TaskRecord, after: &TaskRecord) -> Option<String> {
    let was = before.status;
    let commit = after.merge_commit.as_deref().unwrap_or_default();
    let short = commit.get(..7).unwrap_or(commit);
    if before.status != after.status {
        let why = match after.status {
            TaskStatus::Completed => format!("the base branch has it ({short})"),
            TaskStatus::InProgress if before.status == TaskStatus::Completed => {
                "the base branch does not have it, its branch has".into()
            }
            TaskStatus::Pending if before.status == TaskStatus::Completed => {
                "the base branch does not have it, and there is no branch of it".into()
            }
            TaskStatus::Pending => "its branch and worktree are gone".into(),
            TaskStatus::InProgress if before.status == TaskStatus::Pending => {
                "there is a branch of it".into()
            }
            TaskStatus::InProgress if before.status == TaskStatus::Verifying => {
                "the verification did not end".into()
            }
            TaskStatus::InProgress => "its branch is not what was verified".into(),
            TaskStatus::Verified => "the merge did not happen".into(),
            _ => format!("it has {} attempts", after.attempts),
        };
        return Some(format!("was {was}, is {}: {why}", after.status));
    }
    if before.attempts != after.attempts {
        return Some(format!("attempts were {}, are {}", before.attempts, after.attempts));
    }
    if before.merge_commit != after.merge_commit {
        return Some(format!("its merge commit is {short}"));
    }
    let places = |task: &TaskRecord| (task.worktree_path.clone(), task.branch.clone());
    (places(before) != places(after)).then(|| match &after.branch {
        Some(branch) => format!("its branch is {branch}"),
        None => "it has no worktree and no branch".into(),
    })
}

/// The queue as the tasks say: merged ones in git's order, then who waits, in order of completion.
pub fn rebuild_queue(state: &mut Execution, merged: &[MergedTask], busy: &BTreeSet<String>) {
    let old = std::mem::take(&mut state.merge_queue);
    let queue_status = |id: &str| match state.tasks.get(id)?.status {
        TaskStatus::Completed => Some(QueueStatus::Merged),
        TaskStatus::Merging if busy.contains(id) => Some(QueueStatus::Merging),
        TaskStatus::Verified => Some(QueueStatus::Pending),
        _ => None,
    };
    let mut queue: Vec<QueuedMerge> = Vec::new();
    let known: BTreeMap<&str, &QueuedMerge> =
        old.iter().map(|queued| (queued.task_id.as_str(), queued)).collect();
    let mut waiting: Vec<&QueuedMerge> = old.iter().collect();
    waiting.sort_by_key(|queued| queued.priority);
    let waiting = waiting.into_iter().map(|queued| queued.task_id.as_str());
    let lost = state.tasks.iter().filter(|(_, task)| task.status == TaskStatus::Verified);
    let lost = lost.map(|(id, _)| id.as_str());
    let merged = merged.iter().map(|merged| merged.id.as_str());
    let mut seen = BTreeSet::new();
    for id in merged.chain(waiting).chain(lost).filter(|id| seen.insert(*id)) {
        let Some(status) = queue_status(id) else { continue };
        let entry = known.get(id).map(|queued| (*queued).clone()).unwrap_or_default();
        queue.push(QueuedMerge { task_id: id.to_owned(), status, ..entry });
    }
    // Priorities stay where they are in order already.
    let mut last = 0;
    for queued in &mut queue {
        if queued.priority <= last {
            queued.priority = last.saturating_add(1);
        }
        last = queued.priority;
    }
    state.merge_queue = queue;
}

#[cfg(test)]
mod tests {
    use super::super::document::Verification;
    use super::*;

    fn state(tasks: &[(&str, TaskStatus)]) -> Execution {
        let mut state = Execution { worktree_dir: "/w".into(), ..Execution::default() };
        for (id, status) in tasks {
            state.tasks.insert(
                (*id).into(),
                TaskRecord { status: *status, attempts: 2, ..TaskRecord::default() },
            );
        }
        state
    }

    #[test]
    fn what_is_claimed_without_a_merge_is_taken_back() {
        let mut s = state(&[
            ("a", TaskStatus::Completed),
            ("b", TaskStatus::Completed),
            ("c", TaskStatus::Completed),
            ("d", TaskStatus::Verified),
            ("e", TaskStatus::Verified),
            ("f", TaskStatus::InProgress),
            ("g", TaskStatus::Abandoned),
            ("h", TaskStatus::Pending),
        ]);
        let passed =
            Verification { passed: true, commit: Some("t".into()), ..Verification::default() };
        for id in ["d", "e"] {
            s.tasks.get_mut(id).unwrap().verification = Some(passed.clone());
        }
        s.merge_queue = ["a", "b", "d", "d"]
            .map(|id| QueuedMerge {
                task_id: id.into(),
                status: QueueStatus::Merged,
                ..QueuedMerge::default()
            })
            .to_vec();
        let facts = GitFacts {
            merged: vec![MergedTask {
                id: "b".into(),
                commit: "0123456789".into(),
                at: "2026-01-29T10:30:00Z".into(),
            }],
            branches: [("c", "x"), ("d", "t"), ("e", "other"), ("h", "y")]
                .map(|(id, tip)| (id.into(), tip.into()))
                .into(),
            worktrees: [("h".to_owned(), "/w/h".to_owned())].into(),
            ahead: ["c", "d", "e"].map(str::to_owned).into(),
        };
        let found = reconcile(&mut s, &facts, &BTreeSet::new());
        let found: Vec<String> = found.iter().map(|c| format!("{} {}", c.id, c.text)).collect();
        assert_eq!(
            found,
            [
                "a was completed, is pending: the base branch does not have it, and there is no branch of it",
                "b its merge commit is 0123456",
                "c was completed, is in_progress: the base branch does not have it, its branch has",
                "d its branch is worktree-d",
                "e was verified, is in_progress: its branch is not what was verified",
                "f was in_progress, is pending: its branch and worktree are gone",
                "g was abandoned, is failed: it has 2 attempts",
                "h was pending, is in_progress: there is a branch of it",
            ]
        );
        let queue: Vec<(&str, u64, QueueStatus)> =
            s.merge_queue.iter().map(|q| (q.task_id.as_str(), q.priority, q.status)).collect();
        assert_eq!(queue, [("b", 1, QueueStatus::Merged), ("d", 2, QueueStatus::Pending)]);
        assert_eq!(s.tasks["b"].attempts, 2, "attempts are kept");
        assert_eq!(reconcile(&mut s, &facts, &BTreeSet::new()), []);
    }
}
