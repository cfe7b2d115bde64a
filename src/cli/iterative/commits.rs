//! What was committed since a task began, as git tells it.

use std::path::Path;

use crate::books::iterative::progress::Log;
use crate::books::iterative::{COMMITS, Task};
use crate::books::{clip, keep_newest};
use crate::process::git::Git;

const LONGEST: usize = 200;

/// `abc1234: subject` for each, the oldest first; `None` if git cannot tell. No lock is held.
pub fn of(root: &Path, task: &Task, log: &Log) -> Option<Vec<String>> {
    if task.is_knowledge() {
        return None;
    }
    let ask = |range: &[&str]| {
        let fixed = ["log", "--no-merges", "--first-parent", "--reverse", "--format=%h: %s"];
        let args: Vec<&str> = fixed.iter().chain(range).copied().collect();
        Git::in_dir(root).answer(&args).ok().flatten()
    };
    // What it began at may be gone, after a rebase; then its time has to do.
    let since = format!("--since={}", task.created);
    let is_hash = |base: &&str| base.len() >= 7 && base.bytes().all(|b| b.is_ascii_hexdigit());
    let base = log.base().filter(is_hash).map(|base| format!("{base}..HEAD"));
    let text =
        base.and_then(|range| ask(&[&range, "--"])).or_else(|| ask(&[&since, "HEAD", "--"]))?;
    let mut commits: Vec<String> = text.lines().map(|line| clip(line, LONGEST)).collect();
    keep_newest(&mut commits, COMMITS);
    Some(commits)
}
