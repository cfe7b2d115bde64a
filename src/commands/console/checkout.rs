//! The repository that a command is about.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::git::command::{Git, explain_start_error};
use crate::store::exclude;

/// So long for an answer that needs to look at nothing but a directory.
const PATIENCE: Duration = Duration::from_secs(5);

/// That of a directory.
pub fn open_git(dir: &Path) -> anyhow::Result<Git> {
    let git = Git::in_dir(dir);
    let asked = Git::within(dir, PATIENCE).ask(&["rev-parse", "--is-inside-work-tree"]);
    let asked = asked.map_err(|error| anyhow::Error::msg(explain_start_error(&error)))?;
    if asked.code.is_none() {
        bail!("git does not answer");
    }
    if !asked.is_good() || asked.out.trim_end() != "true" {
        bail!("{} is in no git repository", dir.display());
    }
    Ok(git)
}

/// That of the working directory, if that is in a linked worktree of the project's repository; else
/// that of the project.
pub fn around(root: &Path, cwd: Option<&Path>) -> anyhow::Result<Git> {
    let own = open_git(root)?;
    let Some(here) = cwd.and_then(|cwd| open_git(cwd).ok()) else { return Ok(own) };
    match common_dir(&here)? {
        answer @ Some(_) if common_dir(&own)? == answer => Ok(here),
        _ => Ok(own),
    }
}

/// The git directory that all worktrees share.
fn common_dir(git: &Git) -> anyhow::Result<Option<PathBuf>> {
    let dir = git.answer(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    Ok(dir.map(PathBuf::from))
}

/// Hides a file of one person from git, by its path in the project. Without git there is nothing to
/// hide from.
pub fn hide_from_git(root: &Path, path: &str) -> anyhow::Result<()> {
    let Ok(git) = open_git(root) else { return Ok(()) };
    if git.ask(&["check-ignore", "--quiet", "--", path])?.is_good() {
        return Ok(());
    }
    match common_dir(&git)? {
        Some(dir) => Ok(exclude::add(&dir, &hidden(path))?),
        None => Ok(()),
    }
}

/// Takes our line for a path out of git's list of hidden files; says which.
pub fn show_to_git(root: &Path, path: &str) -> anyhow::Result<Vec<String>> {
    let Ok(git) = open_git(root) else { return Ok(Vec::new()) };
    match common_dir(&git)? {
        Some(dir) => Ok(exclude::clean(&dir, |pattern| pattern != hidden(path))?),
        None => Ok(Vec::new()),
    }
}

/// How a path of a project stands in git's list, wherever in the repository the project is.
fn hidden(path: &str) -> String {
    format!("**/{path}")
}

/// Takes out of git's list of hidden files what we put there, where nothing is left to hide.
pub fn unhide(root: &Path) -> anyhow::Result<Vec<String>> {
    let Ok(git) = open_git(root) else { return Ok(Vec::new()) };
    let (Some(dir), top) = (common_dir(&git)?, top(&git)?) else { return Ok(Vec::new()) };
    let is_needed = |pattern: &str| {
        let path = pattern.strip_prefix("**/").unwrap_or(pattern).trim_matches('/');
        [root, &top].iter().any(|base| base.join(path).symlink_metadata().is_ok())
    };
    Ok(exclude::clean(&dir, is_needed)?)
}

/// Whether git has a path of the project in its index.
pub fn is_tracked(root: &Path, path: &str) -> anyhow::Result<bool> {
    let Ok(git) = open_git(root) else { return Ok(false) };
    Ok(git.ask(&["ls-files", "--error-unmatch", "--", path])?.is_good())
}

/// The checkout that it is asked in.
pub fn top(git: &Git) -> anyhow::Result<PathBuf> {
    let top = git.answer(&["rev-parse", "--show-toplevel"])?;
    Ok(top.context("git does not say where its checkout is")?.into())
}
