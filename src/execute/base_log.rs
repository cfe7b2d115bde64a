//! The log of the base branch: which tasks it has.
//!
//! A task is merged if the base branch itself, since the execution began, has a commit with its
//! `Task-Id:` trailer, or a merge of `worktree-ID`, or its last known commit. Where nobody knows
//! where the execution began (another tool's state), a commit whose subject names it will do
//! (`feat(L2-001): …`). `Task-Base:` beside the trailer names the commit that the execution began
//! with, because another one may have the same ids; two unfinished ones may not.

use std::collections::{BTreeMap, BTreeSet};

use crate::execute::MergedTask;
use crate::execute::document::Execution;

/// A commit on the base branch, as [`LOG_FORMAT`] prints it.
#[derive(Debug, PartialEq)]
struct LoggedCommit<'a> {
    commit: &'a str,
    parents: Vec<&'a str>,
    at: &'a str,
    ids: Vec<&'a str>,
    /// Where the execution began that made it, if it says.
    begun: &'a str,
    subject: &'a str,
}

pub const LOG_FORMAT: &str = "--format=%H%x1f%P%x1f%ct%x1f%(trailers:key=Task-Id,valueonly,separator=%x1d)%x1f%(trailers:key=Task-Base,valueonly,separator=%x1d)%x1f%s%x1e";

fn parse_log(log: &str) -> impl Iterator<Item = LoggedCommit<'_>> {
    log.split('\u{1e}').filter_map(|record| {
        let mut fields = record.trim_start().split('\u{1f}');
        Some(LoggedCommit {
            commit: fields.next().filter(|commit| !commit.is_empty())?,
            parents: fields.next()?.split_whitespace().collect(),
            at: fields.next()?,
            ids: fields
                .next()?
                .split('\u{1d}')
                .map(str::trim)
                .filter(|id| !id.is_empty())
                .collect(),
            begun: fields.next()?.trim(),
            subject: fields.next()?,
        })
    })
}

/// The tasks that the base branch has, from its log, newest first: by the trailer on one of its own
/// commits, by the name of the branch that was merged, or because it has the commit itself. Where
/// nobody knows where the execution began, another tool began it, whose commits say it in their
/// subjects.
pub fn merged_tasks(state: &Execution, log: &str) -> Vec<MergedTask> {
    let entries: Vec<LoggedCommit> = parse_log(log).collect();
    let mut found: Vec<MergedTask> = Vec::new();
    let mut own = entries.first().map(|entry| entry.commit);
    for entry in &entries {
        // Only commits of the branch itself say what it has; others came with a merge.
        if own == Some(entry.commit) {
            own = entry.parents.first().copied();
            let by_name = (entry.parents.len() > 1).then(|| merged_branch(entry.subject)).flatten();
            // Another execution's task may have the same id. Older merges do not say whose they are.
            let begun = state.base_commit.as_deref().unwrap_or_default();
            let is_own = begun.is_empty() || entry.begun.is_empty() || entry.begun == begun;
            let by_subject = subject_scope(entry.subject).filter(|_| begun.is_empty());
            let ids = entry.ids.iter().filter(|_| is_own).copied().chain(by_name).chain(by_subject);
            found.extend(ids.filter(|id| state.tasks.contains_key(*id)).map(|id| entry.merged(id)));
        }
    }
    let by_commit: BTreeMap<&str, &LoggedCommit> = entries.iter().map(|e| (e.commit, e)).collect();
    for (id, task) in &state.tasks {
        // Files of other tools have abbreviated hashes.
        let last = task.commits.last().filter(|commit| commit.hash.len() >= 7).and_then(|commit| {
            let (found, entry) = by_commit.range(commit.hash.as_str()..).next()?;
            found.starts_with(&commit.hash).then_some(entry)
        });
        if let Some(entry) = last.filter(|_| !found.iter().any(|have| have.id == *id)) {
            found.push(entry.merged(id));
        }
    }
    found.reverse();
    let mut seen = BTreeSet::new();
    found.retain(|merged| seen.insert(merged.id.clone()));
    found
}

impl LoggedCommit<'_> {
    fn merged(&self, id: &str) -> MergedTask {
        let at = crate::core::time::from_seconds(self.at);
        MergedTask { id: id.to_owned(), commit: self.commit.to_owned(), at }
    }
}

/// `Merge branch 'worktree-L2-001'` and the like.
fn merged_branch(subject: &str) -> Option<&str> {
    let words = subject.split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ':'));
    words.filter_map(|word| word.rsplit('/').next()?.strip_prefix("worktree-")).next()
}

/// `L2-001` of `feat(L2-001): Add the form`.
fn subject_scope(subject: &str) -> Option<&str> {
    let (kind, rest) = subject.split_once('(')?;
    let (scope, rest) = rest.split_once(')')?;
    let is_kind = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase());
    (is_kind && rest.trim_start_matches('!').starts_with(':')).then_some(scope)
}

#[cfg(test)]
mod tests {
    use super::super::document::TaskRecord;
    use super::*;

    #[test]
    fn the_log_of_the_base_branch_tells_what_it_has() {
        let mut s = Execution::default();
        for id in ["a", "b", "c", "d"] {
            s.tasks.insert(id.into(), TaskRecord::default());
        }
        s.base_commit = Some("here".into());
        let record = |fields: [&str; 6]| fields.join("\u{1f}") + "\u{1e}\n";
        let log = [
            record(["m5", "m4 x5", "1200", "d", "elsewhere", "Merge task d"]),
            record(["m4", "m3 x4", "1100", "c", "here", "Merge task c"]),
            record(["m3", "m2 x3", "1000", "b", "", "Merge task b"]),
            record(["x3", "m2", "990", "d", "", "a commit that came with b"]),
            record(["m2", "m1", "900", "zz", "", "of another execution"]),
            record(["m1", "m0 x1", "800", "", "", "Merge branch 'worktree-a'"]),
            record(["m0", "", "700", "", "", "Mention worktree-c"]),
        ];
        let found = merged_tasks(&s, &log.concat());
        let found: Vec<(&str, &str)> =
            found.iter().map(|m| (m.id.as_str(), m.commit.as_str())).collect();
        assert_eq!(found, [("a", "m1"), ("b", "m3"), ("c", "m4")]);
    }
}
