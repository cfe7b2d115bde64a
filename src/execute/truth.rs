//! Git is the truth: what the repository has, and how the state is brought in line with it.
//! Attempts, errors and feedback are only in the file, so they are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::books::execute::{Execution, MAX_ATTEMPTS, Queued, Status, Task, Turn};

/// What the repository has of an execution.
#[derive(Debug, Default)]
pub struct Facts {
    /// Tasks that the base branch has, in the order in which it got them.
    pub merged: Vec<Merged>,
    /// Branches of tasks: id and commit.
    pub branches: BTreeMap<String, String>,
    /// Worktrees that git knows and that are there: id and path.
    pub worktrees: BTreeMap<String, String>,
    /// Branches that have a commit that the base branch has not.
    pub ahead: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
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
pub const TRAILER: &str = "Task-Id";
/// Beside it, where the execution began: another one may have tasks of the same ids.
pub const BEGUN: &str = "Task-Base";

/// The branch that a task is worked on.
pub fn branch_of(id: &str) -> String {
    format!("worktree-{id}")
}

/// Brings the state in line with the facts, and says what was wrong. Tasks that somebody is at right
/// now (`busy`) are left alone.
pub fn correct(state: &mut Execution, facts: &Facts, busy: &BTreeSet<String>) -> Vec<Correction> {
    let mut corrections = Vec::new();
    let merged: BTreeMap<&str, &Merged> =
        facts.merged.iter().map(|merged| (merged.id.as_str(), merged)).collect();
    let worktree_dir = state.worktree_dir.clone();
    for (id, task) in state.tasks.iter_mut().filter(|(id, _)| !busy.contains(*id)) {
        let before = task.clone();
        task.claim = None;
        match merged.get(id.as_str()) {
            Some(merged) => arrived(task, merged),
            None => open(id, task, facts, &worktree_dir),
        }
        let text = match facts.worktrees.contains_key(id) && !facts.branches.contains_key(id) {
            true if before != *task => Some(without_branch(id, &before, task)),
            _ => difference(&before, task),
        };
        corrections.extend(text.map(|text| Correction { id: id.clone(), text }));
    }
    let before = state.merge_queue.clone();
    requeue(state, facts, busy);
    if corrections.is_empty() && before != state.merge_queue {
        let text = "the merge queue did not fit the tasks and was put right".to_owned();
        corrections.push(Correction { id: "merge_queue".into(), text });
    }
    corrections
}

fn arrived(task: &mut Task, merged: &Merged) {
    if task.status != Status::Completed || task.merged_at.is_none() {
        task.merged_at = Some(merged.at.clone());
    }
    task.status = Status::Completed;
    task.merge_commit = Some(merged.commit.clone());
    task.attempts = task.attempts.max(1);
    (task.worktree_path, task.branch) = (None, None);
}

fn open(id: &str, task: &mut Task, facts: &Facts, worktree_dir: &str) {
    (task.merged_at, task.merge_commit) = (None, None);
    let tip = facts.branches.get(id);
    let is_ahead = facts.ahead.contains(id);
    let has_worktree = facts.worktrees.contains_key(id);
    let verified = tip.is_some()
        && task.verification.as_ref().is_some_and(|v| v.passed && v.commit.as_ref() == tip);
    task.status = match task.status {
        Status::Failed | Status::Abandoned if task.attempts >= MAX_ATTEMPTS => Status::Abandoned,
        Status::Failed | Status::Abandoned => Status::Failed,
        Status::Verified | Status::Merging if verified => Status::Verified,
        // An empty branch without a worktree holds nothing that could be gone on with.
        _ if tip.is_some() && (is_ahead || has_worktree) => Status::InProgress,
        _ => Status::Pending,
    };
    if tip.is_some() && (task.status != Status::Pending) {
        task.attempts = task.attempts.max(1);
        let path = Path::new(worktree_dir).join(id).display().to_string();
        task.worktree_path = Some(facts.worktrees.get(id).cloned().unwrap_or(path));
        task.branch = Some(branch_of(id));
    } else {
        (task.worktree_path, task.branch) = (None, None);
    }
    if !is_ahead {
        task.commits.clear();
    }
}

/// A worktree whose branch somebody deleted: its files are still there.
fn without_branch(id: &str, before: &Task, after: &Task) -> String {
    let branch = branch_of(id);
    let commit = before.commits.last().map_or("COMMIT", |commit| commit.hash.as_str());
    format!(
        "was {}, is {}: its branch is gone, its worktree is not; `git branch {branch} {}` brings it back, `reset-task --force` takes both away",
        before.status.word(),
        after.status.word(),
        commit.get(..12).unwrap_or(commit)
    )
}

/// What people should hear of; fields that follow from the rest are not worth a word.
fn difference(before: &Task, after: &Task) -> Option<String> {
    let was = before.status.word();
    let commit = after.merge_commit.as_deref().unwrap_or_default();
    let short = commit.get(..7).unwrap_or(commit);
    if before.status != after.status {
        let why = match after.status {
            Status::Completed => format!("the base branch has it ({short})"),
            Status::InProgress if before.status == Status::Completed => {
                "the base branch does not have it, its branch has".into()
            }
            Status::Pending if before.status == Status::Completed => {
                "the base branch does not have it, and there is no branch of it".into()
            }
            Status::Pending => "its branch and worktree are gone".into(),
            Status::InProgress if before.status == Status::Pending => {
                "there is a branch of it".into()
            }
            Status::InProgress if before.status == Status::Verifying => {
                "the verification did not end".into()
            }
            Status::InProgress => "its branch is not what was verified".into(),
            Status::Verified => "the merge did not happen".into(),
            _ => format!("it has {} attempts", after.attempts),
        };
        return Some(format!("was {was}, is {}: {why}", after.status.word()));
    }
    if before.attempts != after.attempts {
        return Some(format!("attempts were {}, are {}", before.attempts, after.attempts));
    }
    if before.merge_commit != after.merge_commit {
        return Some(format!("its merge commit is {short}"));
    }
    let places = |task: &Task| (task.worktree_path.clone(), task.branch.clone());
    (places(before) != places(after)).then(|| match &after.branch {
        Some(branch) => format!("its branch is {branch}"),
        None => "it has no worktree and no branch".into(),
    })
}

/// The queue as the tasks say: merged ones in git's order, then who waits, in order of completion.
fn requeue(state: &mut Execution, facts: &Facts, busy: &BTreeSet<String>) {
    let old = std::mem::take(&mut state.merge_queue);
    let turn = |id: &str| match state.tasks.get(id)?.status {
        Status::Completed => Some(Turn::Merged),
        Status::Merging if busy.contains(id) => Some(Turn::Merging),
        Status::Verified => Some(Turn::Pending),
        _ => None,
    };
    let mut queue: Vec<Queued> = Vec::new();
    let known: BTreeMap<&str, &Queued> =
        old.iter().map(|queued| (queued.task_id.as_str(), queued)).collect();
    let mut waiting: Vec<&Queued> = old.iter().collect();
    waiting.sort_by_key(|queued| queued.priority);
    let waiting = waiting.into_iter().map(|queued| queued.task_id.as_str());
    let lost = state.tasks.iter().filter(|(_, task)| task.status == Status::Verified);
    let lost = lost.map(|(id, _)| id.as_str());
    let arrived = facts.merged.iter().map(|merged| merged.id.as_str());
    let mut seen = BTreeSet::new();
    for id in arrived.chain(waiting).chain(lost).filter(|id| seen.insert(*id)) {
        let Some(status) = turn(id) else { continue };
        let entry = known.get(id).map(|queued| (*queued).clone()).unwrap_or_default();
        queue.push(Queued { task_id: id.to_owned(), status, ..entry });
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
    use super::*;
    use crate::books::execute::Verification;

    fn state(tasks: &[(&str, Status)]) -> Execution {
        let mut state = Execution { worktree_dir: "/w".into(), ..Execution::default() };
        for (id, status) in tasks {
            state
                .tasks
                .insert((*id).into(), Task { status: *status, attempts: 2, ..Task::default() });
        }
        state
    }

    #[test]
    fn what_is_claimed_without_a_merge_is_taken_back() {
        let mut s = state(&[
            ("a", Status::Completed),
            ("b", Status::Completed),
            ("c", Status::Completed),
            ("d", Status::Verified),
            ("e", Status::Verified),
            ("f", Status::InProgress),
            ("g", Status::Abandoned),
            ("h", Status::Pending),
        ]);
        let passed =
            Verification { passed: true, commit: Some("t".into()), ..Verification::default() };
        for id in ["d", "e"] {
            s.tasks.get_mut(id).unwrap().verification = Some(passed.clone());
        }
        s.merge_queue = ["a", "b", "d", "d"]
            .map(|id| Queued { task_id: id.into(), status: Turn::Merged, ..Queued::default() })
            .to_vec();
        let facts = Facts {
            merged: vec![Merged {
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
        let said = correct(&mut s, &facts, &BTreeSet::new());
        let said: Vec<String> = said.iter().map(|c| format!("{} {}", c.id, c.text)).collect();
        assert_eq!(
            said,
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
        let queue: Vec<(&str, u64, Turn)> =
            s.merge_queue.iter().map(|q| (q.task_id.as_str(), q.priority, q.status)).collect();
        assert_eq!(queue, [("b", 1, Turn::Merged), ("d", 2, Turn::Pending)]);
        assert_eq!(s.tasks["b"].attempts, 2, "attempts are kept");
        assert_eq!(correct(&mut s, &facts, &BTreeSet::new()), []);
    }
}
