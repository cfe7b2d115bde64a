//! How a task gets to the base branch. The merge commit is made first, without touching anything that
//! can be seen; then the checkout is moved to it in one step, which git does only if nothing of the
//! user's is in its way. A kill leaves the old commit or the new one, or a checkout on its way from
//! one to the other, which [`finish`] brings to its end.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};

use super::repository::Repository;
use crate::execute::truth::TRAILER;
use crate::store::lock::Lock;

pub enum Prepared {
    Commit(String),
    /// The files that do not go together.
    Conflict(Vec<String>),
}

/// Merges two commits, and nothing but objects is written.
pub fn prepare(
    repository: &Repository,
    lock: &Lock,
    onto: &str,
    tip: &str,
    id: &str,
    name: Option<&str>,
) -> anyhow::Result<Prepared> {
    let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", onto, tip];
    let said = repository.act(&args, lock)?;
    let mut fields = said.out.split('\0').filter(|field| !field.is_empty());
    let tree = fields.next().unwrap_or_default().to_owned();
    match said.code {
        Some(0) => {}
        Some(1) => {
            let files: BTreeSet<String> = fields.map(str::to_owned).collect();
            return Ok(Prepared::Conflict(files.into_iter().collect()));
        }
        _ => bail!("git merge-tree: {} (git 2.38 or newer is needed)", said.complaint()),
    }
    let name = name.map(|name| format!(": {}", crate::books::clip(name, 60))).unwrap_or_default();
    let subject = format!("Merge task {id}{name}");
    let trailer = format!("{TRAILER}: {id}");
    let args = ["commit-tree", &tree, "-p", onto, "-p", tip, "-m", &subject, "-m", &trailer];
    let said = repository.act(&args, lock)?;
    if !said.is_good() {
        bail!("git cannot make the merge commit: {}", said.complaint());
    }
    Ok(Prepared::Commit(said.out.trim().to_owned()))
}

/// Moves the base branch and its checkout to the merge commit.
pub fn bring(repository: &Repository, lock: &Lock, commit: &str) -> anyhow::Result<()> {
    repository.must(&["merge", "--quiet", "--no-stat", "--ff-only", commit], lock)
}

/// A checkout that git was killed in on its way from `onto` to `commit`: brought to its end. `None` if
/// it was never begun. A file with any other content was somebody's work: it is kept as an object of
/// git, and the answer says where.
pub fn finish(
    repository: &Repository,
    lock: &Lock,
    base: &str,
    onto: &str,
    commit: &str,
) -> anyhow::Result<Option<String>> {
    let changes = changes(repository, onto, commit)?;
    let args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    let status = repository.ask(&args)?;
    let touched: BTreeSet<&str> = status.split('\0').filter_map(|entry| entry.get(3..)).collect();
    let moved: Vec<&Change> =
        changes.iter().filter(|change| touched.contains(change.path.as_str())).collect();
    if moved.is_empty() {
        return Ok(None);
    }
    let mut kept = Vec::new();
    for change in moved {
        if let Some(object) = foreign(repository, change)? {
            let args = ["hash-object", "-w", "--", &change.path];
            repository.must(&args, lock)?;
            kept.push(format!(
                "{} (git show {})",
                change.path,
                object.get(..12).unwrap_or(&object)
            ));
        }
    }
    let gone = changes.iter().filter(|change| change.new.is_none());
    let gone: Vec<&str> = gone.map(|change| change.path.as_str()).collect();
    for paths in gone.chunks(200) {
        let args = ["--literal-pathspecs", "rm", "--quiet", "--force", "--ignore-unmatch", "--"];
        repository.must(&[&args[..], paths].concat(), lock)?;
    }
    let there = changes.iter().filter(|change| change.new.is_some());
    let there: Vec<&str> = there.map(|change| change.path.as_str()).collect();
    let source = format!("--source={commit}");
    for paths in there.chunks(200) {
        let args = ["--literal-pathspecs", "restore", &source, "--staged", "--worktree", "--"];
        repository.must(&[&args[..], paths].concat(), lock)?;
    }
    let name = format!("refs/heads/{base}");
    let reason = "hookkeeper: an interrupted merge";
    repository.must(&["update-ref", "-m", reason, &name, commit, onto], lock)?;
    Ok(Some(match kept.is_empty() {
        true => String::new(),
        false => format!("; what else was in these files is kept: {}", kept.join(", ")),
    }))
}

/// A file that differs between two commits, by its object in each.
struct Change {
    path: String,
    old: Option<String>,
    new: Option<String>,
}

fn changes(repository: &Repository, onto: &str, commit: &str) -> anyhow::Result<Vec<Change>> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", onto, commit];
    let raw = repository.ask(&args)?;
    let mut fields = raw.split('\0').filter(|field| !field.is_empty());
    let mut changes = Vec::new();
    while let Some(record) = fields.next() {
        let path = fields.next().context("git diff-tree said something strange")?.to_owned();
        let mut words = record.split(' ').skip(2);
        let mut object = || {
            let hash = words.next().unwrap_or_default();
            (!hash.bytes().all(|b| b == b'0')).then(|| hash.to_owned())
        };
        changes.push(Change { path, old: object(), new: object() });
    }
    Ok(changes)
}

/// What a file holds that is of neither commit.
fn foreign(repository: &Repository, change: &Change) -> anyhow::Result<Option<String>> {
    let file = repository.top.join(&change.path);
    if !file.is_file() || file.is_symlink() {
        return Ok(None);
    }
    let said = repository.try_ask(&["hash-object", "--", &change.path])?;
    let is = said.out.trim().to_owned();
    let known = change.old.as_ref() == Some(&is) || change.new.as_ref() == Some(&is);
    Ok((said.is_good() && !known).then_some(is))
}
