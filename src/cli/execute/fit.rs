//! What a task's worktree holds that its branch does not have. Only what is on the branch is verified
//! and merged, and whoever takes a worktree away takes the rest away with it.

use std::path::Path;

use super::calm::under_way;
use super::repository::Repository;
use crate::books::execute::Task;
use crate::books::plural;
use crate::execute::truth::branch_of;
use crate::process::git::Git;

/// A worktree, as it is now.
pub struct Worktree {
    /// What is checked out is not the task's branch, or not yet.
    away: Option<String>,
    /// Changes that are not committed, by git's two letters for them.
    changes: Vec<(String, String)>,
}

/// Looks at a task's worktree; `None` if there is none, or only what is left of one.
pub fn look(repository: &Repository, path: &Path, id: &str) -> anyhow::Result<Option<Worktree>> {
    if !path.join(".git").exists() {
        return Ok(None);
    }
    let git = Git::in_dir(path);
    let said = git.ask(&["rev-parse", "--absolute-git-dir", "--symbolic-full-name", "HEAD"]);
    let said = said.map_err(crate::cli::checkout::cannot_run)?;
    let mut lines = said.out.lines();
    let (git_dir, head) = (Path::new(lines.next().unwrap_or_default()), lines.next());
    if !is_worktree_of(repository, git_dir) {
        return Ok(None);
    }
    let branch = branch_of(id);
    let on_it = head.and_then(|head| head.strip_prefix("refs/heads/")) == Some(&branch);
    let away = match under_way(git_dir) {
        Some((what, way_out)) => {
            Some(format!("{what} is under way in its worktree; finish it or `{way_out}`"))
        }
        None if !on_it => Some(format!(
            "its worktree is not on branch {branch}; `git checkout {branch}` there (`git merge` takes along what was committed elsewhere)"
        )),
        None => None,
    };
    let args = ["status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames"];
    let Some(status) = git.answer(&args).map_err(crate::cli::checkout::cannot_run)? else {
        return Ok(None);
    };
    let entries = status.split('\0').filter_map(|entry| Some((entry.get(..2)?, entry.get(3..)?)));
    let changes = entries.map(|(how, path)| (how.to_owned(), path.to_owned())).collect();
    Ok(Some(Worktree { away, changes }))
}

/// The commit that is checked out in a worktree of this repository.
pub fn head(repository: &Repository, path: &Path) -> Option<String> {
    let said = Git::in_dir(path).ask(&["rev-parse", "--absolute-git-dir", "HEAD"]).ok()?;
    let mut lines = said.out.lines();
    let is_own = is_worktree_of(repository, Path::new(lines.next()?));
    lines.next().filter(|_| is_own && said.is_good()).map(str::to_owned)
}

/// Why a task's worktree cannot be verified or merged as it is.
pub fn obstacle(
    repository: &Repository,
    path: &Path,
    id: &str,
    task: &Task,
) -> anyhow::Result<Option<String>> {
    let Some(found) = look(repository, path, id)? else {
        return Ok(Some(format!(
            "{} is no worktree of the repository any more; move it away, and `resume` makes it again",
            path.display()
        )));
    };
    let unsaved = unsaved(&found.changes(task));
    Ok(found.away.or(unsaved))
}

/// Why a worktree is not taken away without a word. What is merely missing in it is no work.
pub fn work_in(
    repository: &Repository,
    path: &Path,
    id: &str,
    task: &Task,
) -> anyhow::Result<Option<String>> {
    let Some(found) = look(repository, path, id)? else { return Ok(None) };
    let there = |(how, _): &(&str, &str)| !matches!(*how, " D" | "D ");
    let changes: Vec<(&str, &str)> = found.changes(task).into_iter().filter(there).collect();
    Ok(unsaved(&changes).or(found.away))
}

impl Worktree {
    /// What nobody tracks, and nothing ignores.
    pub fn untracked(&self) -> impl Iterator<Item = &String> {
        self.changes.iter().filter(|(how, _)| how == "??").map(|(_, path)| path)
    }

    /// All changes but what the commands left that verified it.
    fn changes(&self, task: &Task) -> Vec<(&str, &str)> {
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

fn unsaved(changes: &[(&str, &str)]) -> Option<String> {
    let (how, first) = changes.first()?;
    let hint = if *how == "??" { ", ignored or removed" } else { "" };
    Some(format!(
        "{} in its worktree {} not committed{hint} ({first})",
        plural(changes.len(), "change"),
        if changes.len() == 1 { "is" } else { "are" }
    ))
}
