//! How a task gets to the base branch. `git merge-tree` and `git commit-tree` write objects only,
//! and their commit is noted in the claim. Then `git merge --ff-only` moves branch and checkout to
//! it in one step, which git does only if nothing of the user's is in the way. After a kill the
//! base branch has the commit or not, and git says which; the checkout may be on its way from one
//! to the other (`partial_checkout`).

use std::collections::BTreeSet;

use crate::execute::reconcile::{TASK_BASE_TRAILER, TASK_ID_TRAILER};
use crate::execute::{LockedRepository, Repository, Result, partial_checkout};

pub enum PreparedMerge {
    Commit(String),
    /// The files that do not go together.
    Conflict(Vec<String>),
}

/// What the merge commit says of its task.
pub struct MergeMessage<'a> {
    pub id: &'a str,
    pub name: Option<&'a str>,
    /// Where its execution began.
    pub begun: Option<&'a str>,
}

/// Merges two commits; nothing but objects is written.
pub fn prepare(
    repository: &LockedRepository,
    onto: &str,
    tip: &str,
    message: &MergeMessage,
) -> Result<PreparedMerge> {
    let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", onto, tip];
    let output = repository.try_change(&args)?;
    let mut fields = output.out.split('\0').filter(|field| !field.is_empty());
    let tree = fields.next().unwrap_or_default().to_owned();
    match output.code {
        Some(0) => {}
        Some(1) => {
            let files: BTreeSet<String> = fields.map(str::to_owned).collect();
            return Ok(PreparedMerge::Conflict(files.into_iter().collect()));
        }
        _ => {
            let why = output.complaint();
            refuse!("git merge-tree: {why} (git 2.38 or newer is needed)");
        }
    }
    let name = message.name.map(|name| format!(": {}", crate::core::text::clip(name, 60)));
    let subject = format!("Merge task {}{}", message.id, name.unwrap_or_default());
    let begun =
        message.begun.map(|commit| format!("\n{TASK_BASE_TRAILER}: {commit}")).unwrap_or_default();
    let trailer = format!("{TASK_ID_TRAILER}: {}{begun}", message.id);
    let args = ["commit-tree", &tree, "-p", onto, "-p", tip, "-m", &subject, "-m", &trailer];
    let output = repository.try_change(&args)?;
    if !output.is_good() {
        refuse!("git cannot make the merge commit: {}", output.complaint());
    }
    Ok(PreparedMerge::Commit(output.out.trim().to_owned()))
}

/// Moves the base branch and its checkout to the merge commit.
pub fn fast_forward(repository: &LockedRepository, commit: &str) -> Result<()> {
    repository.change(&["merge", "--quiet", "--no-stat", "--ff-only", commit])
}

/// What people should hear of after a merge: git leaves submodules where they are.
pub fn submodule_hint(repository: &Repository, onto: &str, commit: &str) -> Result<Option<String>> {
    let changes = partial_checkout::changed_files(repository, onto, commit)?;
    let moved: Vec<&str> =
        changes.iter().filter(|file| file.is_submodule).map(|file| file.path.as_str()).collect();
    Ok((!moved.is_empty()).then(|| {
        format!("`git submodule update` brings {} to the merged commit", moved.join(", "))
    }))
}
