//! What a task's worktree holds that its branch does not have. A worktree with anything else in it
//! is not verified, not merged and not removed; only what the verification's own commands left goes
//! with it.

use std::path::Path;

use crate::core::text::plural;
use crate::execute::document::TaskRecord;
use crate::execute::preconditions::operation_in_progress;
use crate::execute::{LockedRepository, Repository, Result, ensure_started, task_branch, worktree};
use crate::git::command::Git;

/// A worktree, as it is now.
pub struct WorktreeStatus {
    /// What is checked out is not the task's branch, or not yet.
    wrong_branch: Option<String>,
    /// Changes that are not committed, by git's two letters for them.
    changes: Vec<(String, String)>,
}

/// Looks at a task's worktree; `None` if there is none, or only what is left of one.
pub fn inspect(repository: &Repository, path: &Path, id: &str) -> Result<Option<WorktreeStatus>> {
    if !path.join(".git").exists() {
        return Ok(None);
    }
    let git = Git::in_dir(path);
    let args = ["rev-parse", "--absolute-git-dir", "--symbolic-full-name", "HEAD"];
    let output = ensure_started(git.ask(&args))?;
    let mut lines = output.out.lines();
    let (git_dir, head) = (Path::new(lines.next().unwrap_or_default()), lines.next());
    if !is_worktree_of(repository, git_dir) {
        return Ok(None);
    }
    let branch = task_branch(id);
    let on_it = head.and_then(|head| head.strip_prefix("refs/heads/")) == Some(&branch);
    let wrong_branch = match operation_in_progress(git_dir) {
        Some((what, way_out)) => {
            Some(format!("{what} is under way in its worktree; finish it or `{way_out}`"))
        }
        None if !on_it => Some(format!(
            "its worktree is not on branch {branch}; `git checkout {branch}` there (`git merge` takes along what was committed elsewhere)"
        )),
        None => None,
    };
    let args = ["status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames"];
    let Some(status) = ensure_started(git.answer(&args))? else {
        return Ok(None);
    };
    let entries = status.split('\0').filter_map(|entry| Some((entry.get(..2)?, entry.get(3..)?)));
    let changes = entries.map(|(how, path)| (how.to_owned(), path.to_owned())).collect();
    Ok(Some(WorktreeStatus { wrong_branch, changes }))
}

/// The commit that is checked out in a worktree of this repository.
pub fn head_commit(repository: &Repository, path: &Path) -> Option<String> {
    let output = Git::in_dir(path).ask(&["rev-parse", "--absolute-git-dir", "HEAD"]).ok()?;
    let mut lines = output.out.lines();
    let is_own = is_worktree_of(repository, Path::new(lines.next()?));
    lines.next().filter(|_| is_own && output.is_good()).map(str::to_owned)
}

/// Why a task's worktree cannot be verified or merged as it is.
pub fn merge_obstacle(
    repository: &Repository,
    path: &Path,
    id: &str,
    task: &TaskRecord,
) -> Result<Option<String>> {
    let Some(status) = inspect(repository, path, id)? else {
        return Ok(Some(format!(
            "{} is no worktree of the repository any more; move it away, and `resume` makes it again",
            path.display()
        )));
    };
    let uncommitted = explain_uncommitted(&status.changes(task));
    Ok(status.wrong_branch.or(uncommitted))
}

/// Removes a task's worktree and branch, unless work would be lost: why. What is merely missing in a
/// worktree is no work.
pub fn remove_unless_used(
    repository: &LockedRepository,
    id: &str,
    path: Option<&Path>,
    task: &TaskRecord,
) -> Result<Option<String>> {
    let status = path.map(|path| inspect(repository, path, id)).transpose()?.flatten();
    let obstacle = status.and_then(|status| {
        let exists = |(how, _): &(&str, &str)| !matches!(*how, " D" | "D ");
        let changes: Vec<(&str, &str)> = status.changes(task).into_iter().filter(exists).collect();
        explain_uncommitted(&changes).or(status.wrong_branch)
    });
    if obstacle.is_none() {
        worktree::remove(repository, id, path)?;
    }
    Ok(obstacle)
}

impl WorktreeStatus {
    /// Why it holds more than its branch has.
    pub fn uncommitted(&self, task: &TaskRecord) -> Option<String> {
        explain_uncommitted(&self.changes(task))
    }

    /// What nobody tracks, and nothing ignores.
    pub fn untracked(&self) -> impl Iterator<Item = &String> {
        self.changes.iter().filter(|(how, _)| how == "??").map(|(_, path)| path)
    }

    /// All changes but what the commands left that verified it.
    fn changes(&self, task: &TaskRecord) -> Vec<(&str, &str)> {
        let left = task.verification.as_ref().map(|done| done.left.as_slice()).unwrap_or_default();
        let changes = self.changes.iter().filter(|(how, path)| how != "??" || !left.contains(path));
        changes.map(|(how, path)| (how.as_str(), path.as_str())).collect()
    }
}

/// Without its own `.git`, what is in a directory would be taken for the main checkout's.
fn is_worktree_of(repository: &Repository, git_dir: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(git_dir).starts_with(real(&repository.common.join("worktrees")))
}

fn explain_uncommitted(changes: &[(&str, &str)]) -> Option<String> {
    let (how, first) = changes.first()?;
    let hint = if *how == "??" { ", ignored or removed" } else { "" };
    Some(format!(
        "{} in its worktree {} not committed{hint} ({first})",
        plural(changes.len(), "change"),
        if changes.len() == 1 { "is" } else { "are" }
    ))
}
