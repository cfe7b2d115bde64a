//! What was committed since a task began, as git tells it.

use std::path::Path;

use crate::core::redaction::Redactor;
use crate::core::text::keep_newest;
use crate::git::command::Git;
use crate::loops::iterative::document::progress::Log;
use crate::loops::iterative::document::{COMMITS, Task};

const LONGEST: usize = 200;

/// `abc1234: subject` for each, the oldest first; `None` if git cannot tell. No lock is held.
pub fn collect_commits(
    root: &Path,
    task: &Task,
    log: &Log,
    redact: &Redactor,
) -> Option<Vec<String>> {
    let git = Git::in_dir(root);
    let mut hashes = task.commits.iter().filter_map(|commit| commit.split(':').next());
    let last = hashes.rfind(is_hash);
    if task.is_knowledge() || last.is_some_and(|last| is_elsewhere(&git, last)) {
        return None;
    }
    let ask = |range: &[&str]| {
        let fixed = ["log", "--no-merges", "--first-parent", "--reverse", "--format=%h: %s"];
        let args: Vec<&str> = fixed.iter().chain(range).copied().collect();
        git.answer(&args).ok().flatten()
    };
    // What it began at may be gone, after a rebase; then its time has to do.
    let since = format!("--since={}", task.created);
    let base = log.base().filter(is_hash).map(|base| format!("{base}..HEAD"));
    let text =
        base.and_then(|range| ask(&[&range, "--"])).or_else(|| ask(&[&since, "HEAD", "--"]))?;
    let mut commits: Vec<String> = text.lines().map(|line| redact.line(line, LONGEST)).collect();
    keep_newest(&mut commits, COMMITS);
    Some(commits)
}

fn is_hash(text: &&str) -> bool {
    text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether the work goes on somewhere else than in this checkout: a commit that was recorded is not
/// in it, and is unknown or on another branch. One that no branch has any more was rewritten.
fn is_elsewhere(git: &Git, commit: &str) -> bool {
    let says = |args: &[&str]| git.answer(args).ok().flatten();
    if says(&["merge-base", "--is-ancestor", commit, "HEAD"]).is_some() {
        return false;
    }
    let branches =
        ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit, "refs/heads"];
    says(&branches).is_none_or(|branch| !branch.is_empty())
}
