//! The repository that a command is about.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::git::command::{Git, explain_start_error};

/// That of a directory.
pub fn open_git(dir: &Path) -> anyhow::Result<Git> {
    let git = Git::in_dir(dir);
    let answer = git.answer(&["rev-parse", "--is-inside-work-tree"]);
    let answer = answer.map_err(|error| anyhow::Error::msg(explain_start_error(&error)))?;
    if answer.as_deref() != Some("true") {
        bail!("{} is in no git repository", dir.display());
    }
    Ok(git)
}

/// That of the working directory, if that is in a linked worktree of the project's repository; else
/// that of the project.
pub fn around(root: &Path, cwd: Option<&Path>) -> anyhow::Result<Git> {
    let own = open_git(root)?;
    let common =
        |git: &Git| git.answer(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    let Some(here) = cwd.and_then(|cwd| open_git(cwd).ok()) else { return Ok(own) };
    match common(&here)? {
        answer @ Some(_) if common(&own)? == answer => Ok(here),
        _ => Ok(own),
    }
}

/// The checkout that it is asked in.
pub fn top(git: &Git) -> anyhow::Result<PathBuf> {
    let top = git.answer(&["rev-parse", "--show-toplevel"])?;
    Ok(top.context("git does not say where its checkout is")?.into())
}
