//! Making and removing the worktree and the branch of a task.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::execute::document::Execution;
use crate::execute::{LockedRepository, Repository, Result, task_branch};
use crate::git::command::Git;
use crate::process::files;
use crate::store::dir::Dir;

/// Makes a task's worktree: on the branch that it has, else on a new one from `onto`. A worktree that
/// is there stays, unless it was only just begun (`unfinished`) and is not whole.
pub fn create(
    repository: &LockedRepository,
    id: &str,
    path: &Path,
    onto: &str,
    unfinished: bool,
) -> Result<()> {
    let branch = task_branch(id);
    if unfinished {
        remove_torn(repository, id, path)?;
    }
    if is_registered(repository, path)? {
        let untouched = repository.branch_tip(&branch)?.is_some_and(|tip| tip == onto);
        let is_complete = is_complete(repository, path, &branch);
        if !unfinished || is_complete || !untouched {
            return Ok(());
        }
    }
    if unfinished {
        remove_directory(repository, id, path)?;
    }
    if path.exists() && !is_empty(path) {
        let (path, top) = (path.display(), repository.top.display());
        refuse!("{path} exists and is no worktree of {top}; move it away");
    }
    let place = path.display().to_string();
    if repository.common.join("worktrees").join(id).exists() {
        // A worktree whose directory was deleted is still registered, and in the way.
        let _ = repository.try_change(&["worktree", "remove", "--force", "--force", &place])?;
    }
    let mut args = vec!["worktree", "add", "--quiet"];
    let had_branch = repository.branch_exists(id)?;
    match had_branch {
        true => args.extend([place.as_str(), &branch]),
        false => args.extend(["-b", &branch, &place, onto]),
    }
    let made = repository.change(&args);
    if made.is_err() {
        // What fails may be heard of when everything is made.
        let _ = remove_directory(repository, id, path);
        if !had_branch && repository.branch_tip(&branch)?.is_some_and(|tip| tip == onto) {
            let _ = repository.try_change(&["branch", "-D", "--quiet", &branch]);
        }
    }
    made
}

/// Removes a task's worktree and then its branch. What the branch has must be safe elsewhere.
pub fn remove(repository: &LockedRepository, id: &str, path: Option<&Path>) -> Result<()> {
    let branch = task_branch(id);
    let own = |(_, on): &(PathBuf, Option<String>)| on.as_ref() == Some(&branch);
    let registered = repository.worktrees()?.into_iter().find(own).map(|(path, _)| path);
    // Never the main checkout, whatever is checked out there.
    let paths: BTreeSet<&Path> = registered.iter().map(PathBuf::as_path).chain(path).collect();
    for path in paths.into_iter().filter(|path| *path != repository.top) {
        remove_directory(repository, id, path)?;
    }
    if repository.branch_exists(id)? {
        repository.change(&["branch", "-D", "--quiet", &branch])?;
    }
    Ok(())
}

/// Removes a worktree, even one that git was killed while making. A directory that git does not take
/// for one is removed only if it is at a task's place and leads to this repository.
fn remove_directory(repository: &LockedRepository, id: &str, path: &Path) -> Result<()> {
    let place = path.display().to_string();
    let _ = repository.try_change(&["worktree", "remove", "--force", "--force", &place])?;
    let is_place = path.file_name().is_some_and(|name| name == id);
    if !path.exists() || !is_place {
        return Ok(());
    }
    let leads_here = files::small(&path.join(".git")).is_some_and(|text| {
        text.strip_prefix("gitdir:").is_some_and(|dir| {
            Path::new(dir.trim()).starts_with(repository.common.join("worktrees"))
                || Path::new(dir.trim()).starts_with(&repository.git_dir)
        })
    });
    if let (Some(parent), true) = (path.parent(), leads_here || is_empty(path)) {
        let _ = repository.try_change(&["worktree", "unlock", &place])?;
        Dir::open(parent)?.remove_tree(id)?;
        let _ = repository.try_change(&["worktree", "remove", "--force", "--force", &place])?;
    }
    Ok(())
}

/// Worktrees and repository find each other again where one of them was moved.
pub fn repair(repository: &LockedRepository, state: &Execution) -> Result<()> {
    let dir = Path::new(&state.worktree_dir);
    let known: BTreeSet<PathBuf> =
        repository.worktrees()?.into_iter().map(|(path, _)| path).collect();
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let lost = state.tasks.keys().map(|id| dir.join(id));
    let lost = lost.filter(|path| path.join(".git").is_file() && !known.contains(&real(path)));
    for path in lost {
        // What git does not take for one of its own, it leaves as it is.
        repository.try_change(&["worktree", "repair", &path.display().to_string()])?;
    }
    Ok(())
}

fn is_registered(repository: &Repository, path: &Path) -> Result<bool> {
    let real = path.canonicalize();
    let is = |(have, _): &(PathBuf, Option<String>)| {
        have == path || real.as_ref().is_ok_and(|real| have == real)
    };
    Ok(repository.worktrees()?.iter().any(is))
}

/// A git that was killed in the first moments of a worktree leaves files of its own half written, and
/// then no git can read the list of worktrees any more. Nobody can have worked in such a place.
fn remove_torn(repository: &Repository, id: &str, path: &Path) -> Result<()> {
    let admin = repository.common.join("worktrees").join(id);
    let is_torn = |name: &&str| files::small(&admin.join(name)).is_none_or(|text| text.is_empty());
    if admin.is_dir() && ["HEAD", "commondir", "gitdir"].iter().any(is_torn) {
        Dir::open(&repository.common.join("worktrees"))?.remove_tree(id)?;
    }
    let names = if path.is_dir() { Dir::open(path)?.names()? } else { return Ok(()) };
    let only_begun = names.iter().all(|name| name == ".git") && !path.join(".git").is_dir();
    if let (Some(parent), true, false) = (path.parent(), only_begun, admin.is_dir()) {
        Dir::open(parent)?.remove_tree(id)?;
    }
    Ok(())
}

/// Everything is checked out.
fn is_complete(repository: &Repository, path: &Path, branch: &str) -> bool {
    let git = Git::in_dir(path);
    let head = git.ask(&["symbolic-ref", "-q", "HEAD"]);
    if !head.is_ok_and(|output| output.out.trim() == format!("refs/heads/{branch}")) {
        return false;
    }
    let has = |name: &str| {
        let file = git.ask(&["rev-parse", "--git-path", name]);
        file.is_ok_and(|output| path.join(output.out.trim()).exists())
    };
    let is_unmodified = || repository.modified_files(path).is_ok_and(|files| files.is_empty());
    !has("index.lock") && !has("locked") && is_unmodified()
}

fn is_empty(path: &Path) -> bool {
    Dir::open(path).and_then(|dir| dir.is_empty()).unwrap_or(false)
}
