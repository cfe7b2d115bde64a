//! What was committed since a task began, as git tells it.

use crate::core::redaction::Redactor;
use crate::core::text::keep_newest;
use crate::loops::iterative::document::progress::Log;
use crate::loops::iterative::document::{COMMITS, Task};
use crate::turn::context::Facts;

const LONGEST: usize = 200;

/// Whether something may have been committed since the task was last looked at: what is checked out
/// is neither what it began at nor the last commit that is recorded.
pub fn may_be_new(task: &Task, log: &Log, head: &str) -> bool {
    let known = [log.base(), last_recorded(task)];
    !task.is_knowledge() && !known.into_iter().flatten().any(|known| head.starts_with(known))
}

/// `abc1234: subject` for each, the oldest first; none if git says no. An error says why it could
/// not be asked.
pub fn collect(
    facts: &dyn Facts,
    task: &Task,
    log: &Log,
    redact: &Redactor,
) -> Result<Vec<String>, String> {
    if let Some(last) = last_recorded(task)
        && is_elsewhere(facts, last)?
    {
        return Ok(Vec::new());
    }
    let ask = |range: &[&str]| {
        let fixed = ["log", "--no-merges", "--first-parent", "--reverse", "--format=%h: %s"];
        let args: Vec<&str> = fixed.iter().chain(range).copied().collect();
        facts.ask_git(&args)
    };
    // What it began at may be gone, after a rebase; then its time has to do.
    let since = format!("--since={}", task.created);
    let text = match log.base().filter(is_hash).map(|base| format!("{base}..HEAD")) {
        Some(range) => ask(&[&range, "--"])?,
        None => None,
    };
    let text = match text {
        Some(text) => Some(text),
        None => ask(&[&since, "HEAD", "--"])?,
    };
    let text = text.unwrap_or_default();
    let mut commits: Vec<String> = text.lines().map(|line| redact.line(line, LONGEST)).collect();
    keep_newest(&mut commits, COMMITS);
    Ok(commits)
}

fn last_recorded(task: &Task) -> Option<&str> {
    task.commits.iter().filter_map(|commit| commit.split(':').next()).rfind(is_hash)
}

fn is_hash(text: &&str) -> bool {
    text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether the work goes on somewhere else than in this checkout: a commit that was recorded is not
/// in it, and is unknown or on another branch. One that no branch has any more was rewritten.
fn is_elsewhere(facts: &dyn Facts, commit: &str) -> Result<bool, String> {
    if facts.ask_git(&["merge-base", "--is-ancestor", commit, "HEAD"])?.is_some() {
        return Ok(false);
    }
    let branches =
        ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit, "refs/heads"];
    Ok(facts.ask_git(&branches)?.is_none_or(|branch| !branch.trim().is_empty()))
}
