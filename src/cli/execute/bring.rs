//! How a task gets to the base branch. The merge commit is made first, without touching anything that
//! can be seen; then the checkout is moved to it in one step, which git does only if nothing of the
//! user's is in its way. A kill leaves the old commit or the new one, or a checkout on its way from
//! one to the other, which [`finish`] brings to its end unless somebody else's work is in it.

use std::collections::BTreeSet;

use anyhow::bail;

use super::halfway::{self, Holds};
use super::repository::Repository;
use crate::execute::truth::{BEGUN, TRAILER};
use crate::store::lock::Lock;

pub enum Prepared {
    Commit(String),
    /// The files that do not go together.
    Conflict(Vec<String>),
}

/// What the merge commit says of its task.
pub struct Named<'a> {
    pub id: &'a str,
    pub name: Option<&'a str>,
    /// Where its execution began.
    pub begun: Option<&'a str>,
}

/// Merges two commits, and nothing but objects is written.
pub fn prepare(
    repository: &Repository,
    lock: &Lock,
    onto: &str,
    tip: &str,
    task: &Named,
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
    let name = task.name.map(|name| format!(": {}", crate::books::clip(name, 60)));
    let subject = format!("Merge task {}{}", task.id, name.unwrap_or_default());
    let begun = task.begun.map(|commit| format!("\n{BEGUN}: {commit}")).unwrap_or_default();
    let trailer = format!("{TRAILER}: {}{begun}", task.id);
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

/// What was done about a checkout that git may have been killed in.
pub enum Found {
    /// The merge was not begun in it.
    Untouched,
    Finished,
    /// These files have somebody else's work: nothing was done.
    Others(Vec<String>),
}

/// A checkout that git was killed in on its way from `onto` to `commit`: brought to its end, if
/// everything in it is of one of the two. With `torn`, git was writing files when it was killed.
pub fn finish(
    repository: &Repository,
    lock: &Lock,
    base: &str,
    onto: &str,
    commit: &str,
    torn: bool,
) -> anyhow::Result<Found> {
    let changes = halfway::changes(repository, onto, commit)?;
    let holds = halfway::look(repository, &changes, commit)?;
    let is_others = |holds: &Holds| match holds {
        Holds::Old | Holds::New => false,
        // Git takes a file away before it writes the new one.
        Holds::Part => !torn,
        Holds::Other => true,
    };
    let others = holds.iter().filter(|(_, holds)| is_others(holds));
    let others: Vec<String> = others.map(|(path, _)| (*path).to_owned()).collect();
    let begun = torn || holds.iter().any(|(_, holds)| *holds == Holds::New);
    if holds.is_empty() || (!begun && others.is_empty()) {
        return Ok(Found::Untouched);
    }
    if !others.is_empty() {
        return Ok(Found::Others(others));
    }
    let gone = changes.iter().filter(|change| change.new.is_none());
    let gone: Vec<&str> = gone.map(|change| change.path.as_str()).collect();
    for paths in gone.chunks(200) {
        let args = ["rm", "--quiet", "--force", "--ignore-unmatch", "--"];
        repository.must(&[&args[..], paths].concat(), lock)?;
    }
    let there = changes.iter().filter(|change| change.new.is_some());
    let there: Vec<&str> = there.map(|change| change.path.as_str()).collect();
    let source = format!("--source={commit}");
    for paths in there.chunks(200) {
        let args = ["restore", &source, "--staged", "--worktree", "--"];
        repository.must(&[&args[..], paths].concat(), lock)?;
    }
    let name = format!("refs/heads/{base}");
    let reason = "hookkeeper: an interrupted merge";
    repository.must(&["update-ref", "-m", reason, &name, commit, onto], lock)?;
    Ok(Found::Finished)
}

/// What people should hear of after a merge: git leaves submodules where they are.
pub fn submodules(
    repository: &Repository,
    onto: &str,
    commit: &str,
) -> anyhow::Result<Option<String>> {
    let changes = halfway::changes(repository, onto, commit)?;
    let moved: Vec<&str> = changes
        .iter()
        .filter(|change| change.is_module)
        .map(|change| change.path.as_str())
        .collect();
    Ok((!moved.is_empty()).then(|| {
        format!("`git submodule update` brings {} to the merged commit", moved.join(", "))
    }))
}
