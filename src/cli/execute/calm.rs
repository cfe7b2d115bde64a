//! Whether a repository may be touched now: nothing of a person's is under way in it, or in the way.

use std::path::Path;

use anyhow::bail;

use super::repository::Repository;
use crate::process::git::Git;

/// What git leaves while one of these is under way.
const UNDER_WAY: [(&str, &str, &str); 6] = [
    ("MERGE_HEAD", "a merge", "git merge --abort"),
    ("rebase-merge", "a rebase", "git rebase --abort"),
    ("rebase-apply", "a rebase", "git rebase --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "git revert --abort"),
    ("BISECT_LOG", "a bisection", "git bisect reset"),
];

/// What is under way in a checkout with this git directory, and the way out of it.
pub fn under_way(git_dir: &Path) -> Option<(&'static str, &'static str)> {
    let found = UNDER_WAY.iter().find(|(file, ..)| git_dir.join(file).exists());
    found.map(|(_, what, way_out)| (*what, *way_out))
}

impl Repository {
    /// Nothing of a person's is under way in it.
    pub fn calm(&self) -> anyhow::Result<()> {
        match under_way(&self.git_dir) {
            Some((what, way_out)) => {
                bail!("{what} is under way in {}; finish it or `{way_out}`", self.top.display())
            }
            None => Ok(()),
        }
    }

    /// The main checkout is on the base branch.
    pub fn on(&self, base: &str) -> anyhow::Result<()> {
        match self.head()? {
            Some(head) if head == base => Ok(()),
            Some(head) => bail!(
                "{} is on branch {head}, tasks are merged to {base}; `git checkout {base}` first",
                self.top.display()
            ),
            None => bail!(
                "HEAD of {} is detached, tasks are merged to {base}; `git checkout {base}` first",
                self.top.display()
            ),
        }
    }

    /// No tracked file is modified, but for our own.
    pub fn clean(&self, own: &Path) -> anyhow::Result<()> {
        let modified = self.modified(&self.top)?;
        let own = own.strip_prefix(&self.top).ok();
        let is_own = |path: &String| {
            own.is_some_and(|own| {
                Path::new(path).strip_prefix(own).is_ok_and(|name| {
                    name.to_str().is_some_and(|name| {
                        matches!(name, "execute-state.json" | "execute-state.json.bak")
                    })
                })
            })
        };
        let modified: Vec<String> = modified.into_iter().filter(|path| !is_own(path)).collect();
        if let Some(first) = modified.first() {
            let more = if modified.len() > 1 {
                format!(" and {} more", modified.len() - 1)
            } else {
                String::new()
            };
            bail!(
                "{} has changes that are not committed ({first}{more}); commit or stash them first",
                self.top.display()
            );
        }
        Ok(())
    }

    /// Tracked files that differ from HEAD, in a checkout. A submodule is a checkout of its own: after
    /// a merge that moves it, it is merely behind.
    pub fn modified(&self, checkout: &Path) -> anyhow::Result<Vec<String>> {
        let args = [
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=no",
            "--no-renames",
            "--ignore-submodules=all",
        ];
        let said = self.good(Git::in_dir(checkout).ask(&args))?;
        let entries = said.out.split('\0').filter(|entry| entry.len() > 3);
        Ok(entries.filter_map(|entry| entry.get(3..)).map(str::to_owned).collect())
    }
}
