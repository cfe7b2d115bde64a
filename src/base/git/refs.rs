//! Branch and commit of a checkout, read from `.git` without starting git: a subprocess would cost
//! more than all the rest of a hook.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::process::files;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Git {
    /// None on a detached HEAD and without git.
    pub branch: Option<String>,
    pub commit: Option<String>,
}

/// The checkout that `dir` is in.
pub fn read(dir: &Path) -> Git {
    dir.ancestors().find_map(git_dir).map(|git| from_git_dir(&git)).unwrap_or_default()
}

/// Whether a checkout begins there.
pub fn is_checkout(dir: &Path) -> bool {
    git_dir(dir).is_some()
}

/// A name for what is checked out: the branch, `detached-` and the commit, or `unknown`.
pub fn branch_name(git: &Git) -> String {
    match (&git.branch, &git.commit) {
        (Some(branch), Some(_)) => branch.clone(),
        (None, Some(commit)) => format!("detached-{}", commit.get(..7).unwrap_or(commit)),
        // Unborn, or not to be read.
        _ => "unknown".into(),
    }
}

/// `.git` as a directory, or as a file that names one (worktrees, submodules).
pub fn git_dir(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    if git.metadata().ok()?.is_dir() {
        return Some(git);
    }
    let named = files::small(&git)?;
    Some(dir.join(named.strip_prefix("gitdir:")?.trim()))
}

fn from_git_dir(git: &Path) -> Git {
    let Some(head) = files::small(&git.join("HEAD")) else { return Git::default() };
    let Some(name) = head.strip_prefix("ref:").map(str::trim) else {
        return Git { branch: None, commit: is_commit(&head).then_some(head) };
    };
    // A reftable repository has a placeholder here, and its refs where we do not look.
    let Some(branch) = name.strip_prefix("refs/heads/").filter(|branch| *branch != ".invalid")
    else {
        return Git::default();
    };
    let common = common_dir(git);
    let commit = loose(&common, name).or_else(|| packed(&common, name));
    Git { branch: Some(branch.to_owned()), commit }
}

/// Where all worktrees of a repository have their branches.
pub fn common_dir(git: &Path) -> PathBuf {
    files::small(&git.join("commondir")).map_or_else(|| git.to_owned(), |common| git.join(common))
}

fn loose(common: &Path, name: &str) -> Option<String> {
    files::small(&common.join(name)).filter(|commit| is_commit(commit))
}

fn packed(common: &Path, name: &str) -> Option<String> {
    let refs = String::from_utf8(files::head(&common.join("packed-refs"), 16 << 20)?).ok()?;
    let line =
        refs.lines().find(|line| line.strip_suffix(name).is_some_and(|l| l.ends_with(' ')))?;
    line.split(' ').next().filter(|commit| is_commit(commit)).map(str::to_owned)
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// What tells the repository that a directory is in from others: where all its worktrees have their
/// branches.
pub fn repository_of(dir: &Path) -> Option<PathBuf> {
    common_dir(&dir.ancestors().find_map(git_dir)?).canonicalize().ok()
}

/// Whether the repository that `dir` is in has a branch of this name.
pub fn has_branch(dir: &Path, branch: &str) -> bool {
    let Some(git) = dir.ancestors().find_map(git_dir) else { return false };
    let name = format!("refs/heads/{branch}");
    let common = common_dir(&git);
    loose(&common, &name).or_else(|| packed(&common, &name)).is_some()
}

/// The checkout that a linked worktree belongs to.
pub fn main_checkout(dir: &Path) -> Option<PathBuf> {
    let git = dir.ancestors().find_map(git_dir)?;
    let common = git.join(files::small(&git.join("commondir"))?);
    common.canonicalize().ok()?.parent().map(Path::to_owned)
}
