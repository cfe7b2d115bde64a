//! What has to hold before a repository is changed: nothing of a person's is under way in it, or in
//! the way.

use std::path::Path;

use crate::execute::document::FILE;
use crate::execute::{Repository, Result, ensure_started};
use crate::git::command::Git;

/// What git leaves while one of these is under way.
const OPERATIONS: [(&str, &str, &str); 6] = [
    ("MERGE_HEAD", "a merge", "git merge --abort"),
    ("rebase-merge", "a rebase", "git rebase --abort"),
    ("rebase-apply", "a rebase", "git rebase --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "git revert --abort"),
    ("BISECT_LOG", "a bisection", "git bisect reset"),
];

/// What is under way in a checkout with this git directory, and the way out of it.
pub fn operation_in_progress(git_dir: &Path) -> Option<(&'static str, &'static str)> {
    let found = OPERATIONS.iter().find(|(file, ..)| git_dir.join(file).exists());
    found.map(|(_, what, way_out)| (*what, *way_out))
}

impl Repository {
    /// Nothing of a person's is under way in it.
    pub fn ensure_idle(&self) -> Result<()> {
        match operation_in_progress(&self.git_dir) {
            Some((what, way_out)) => {
                refuse!("{what} is under way in {}; finish it or `{way_out}`", self.top.display())
            }
            None => Ok(()),
        }
    }

    /// The main checkout is on the base branch.
    pub fn ensure_on_branch(&self, base: &str) -> Result<()> {
        let is = match self.current_branch()? {
            Some(head) if head == base => return Ok(()),
            Some(head) => format!("{} is on branch {head}", self.top.display()),
            None => format!("HEAD of {} is detached", self.top.display()),
        };
        refuse!("{is}, tasks are merged to {base}; `git checkout {base}` first")
    }

    /// Git knows in whose name it commits.
    pub fn ensure_identity(&self) -> Result<()> {
        let output = self.try_query(&["var", "GIT_COMMITTER_IDENT"])?;
        if output.is_good() {
            return Ok(());
        }
        let why = output.complaint();
        refuse!("git does not know who commits: set user.name and user.email ({why})")
    }

    /// No tracked file is modified, but for the state in the folder of the tasks.
    pub fn ensure_clean(&self, tasks: &Path) -> Result<()> {
        let own = [FILE.to_owned(), format!("{FILE}.bak")].map(|name| tasks.join(name));
        let mut modified = self.modified_files(&self.top)?;
        modified.retain(|path| !own.contains(&self.top.join(path)));
        let Some(first) = modified.first() else { return Ok(()) };
        let more = match modified.len() {
            1 => String::new(),
            several => format!(" and {} more", several - 1),
        };
        refuse!(
            "{} has changes that are not committed ({first}{more}); commit or stash them first",
            self.top.display()
        )
    }

    /// Tracked files that differ from HEAD, in a checkout.
    pub fn modified_files(&self, checkout: &Path) -> Result<Vec<String>> {
        self.changed_paths(checkout, "--untracked-files=no")
    }

    /// What differs from HEAD, in a checkout. A submodule is a checkout of its own: after a merge that
    /// moves it, it is merely behind.
    pub fn changed_paths(&self, checkout: &Path, untracked: &str) -> Result<Vec<String>> {
        let args = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"];
        let git = Git::in_dir(checkout);
        let status =
            self.ensure_success(ensure_started(git.ask(&[&args[..], &[untracked]].concat()))?)?;
        Ok(status.out.split('\0').filter_map(|entry| entry.get(3..)).map(str::to_owned).collect())
    }
}
