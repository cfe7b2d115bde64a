//! The repository of an execution: what it has, and whether it may be touched now.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::books::execute::Execution;
use crate::cli::checkout::cannot_run;
use crate::execute::log;
use crate::execute::truth::{Facts, branch_of};
use crate::facts::processes;
use crate::process::git::{Git, Said};
use crate::store::execution;
use crate::store::lock::Lock;
use crate::time;

pub struct Repository {
    git: Git,
    /// The main checkout.
    pub top: PathBuf,
    pub git_dir: PathBuf,
    pub common: PathBuf,
    /// Where the project is in the checkout, if not at its top.
    pub prefix: String,
}

/// What git leaves while one of these is under way.
const UNDER_WAY: [(&str, &str, &str); 6] = [
    ("MERGE_HEAD", "a merge", "git merge --abort"),
    ("rebase-merge", "a rebase", "git rebase --abort"),
    ("rebase-apply", "a rebase", "git rebase --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "git revert --abort"),
    ("BISECT_LOG", "a bisection", "git bisect reset"),
];

impl Repository {
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        if !dir.is_dir() {
            bail!("the project {} is not there; --project-path of `init` names it", dir.display());
        }
        let git = Git::in_dir(dir);
        let args = [
            "rev-parse",
            "--show-toplevel",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-prefix",
        ];
        let said = run(git.ask(&args))?;
        if !said.is_good() {
            bail!(
                "{} is no git checkout ({}); `git init` and a first commit make it one",
                dir.display(),
                said.complaint()
            );
        }
        let mut lines = said.out.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        let (top, git_dir, common, prefix) = (next(), next(), next(), next());
        let top = PathBuf::from(top);
        Ok(Self {
            git: Git::in_dir(&top),
            git_dir: git_dir.into(),
            common: dir.join(common),
            prefix,
            top,
        })
    }

    /// Nothing of a person's is under way in it.
    pub fn calm(&self) -> anyhow::Result<()> {
        for (file, what, way_out) in UNDER_WAY {
            if self.git_dir.join(file).exists() {
                bail!("{what} is under way in {}; finish it or `{way_out}`", self.top.display());
            }
        }
        Ok(())
    }

    /// The branch that is checked out; none if HEAD is detached.
    pub fn head(&self) -> anyhow::Result<Option<String>> {
        let said = run(self.git.ask(&["symbolic-ref", "-q", "--short", "HEAD"]))?;
        Ok(said.is_good().then(|| said.out.trim().to_owned()))
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

    /// Tracked files that differ from HEAD, in a checkout.
    pub fn modified(&self, checkout: &Path) -> anyhow::Result<Vec<String>> {
        let args = ["status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"];
        let said = self.good(Git::in_dir(checkout).ask(&args))?;
        let entries = said.out.split('\0').filter(|entry| entry.len() > 3);
        Ok(entries.filter_map(|entry| entry.get(3..)).map(str::to_owned).collect())
    }

    /// The commit that a branch is at.
    pub fn tip(&self, branch: &str) -> anyhow::Result<Option<String>> {
        let name = format!("refs/heads/{branch}^{{commit}}");
        let said = run(self.git.ask(&["rev-parse", "-q", "--verify", &name]))?;
        Ok(said.is_good().then(|| said.out.trim().to_owned()))
    }

    pub fn base_tip(&self, base: &str) -> anyhow::Result<String> {
        let missing = || {
            format!(
                "{} has no branch {base}, which tasks start from and are merged to; `git branch {base} COMMIT` makes it again",
                self.top.display()
            )
        };
        self.tip(base)?.with_context(missing)
    }

    /// The commits of a branch that the base has not, oldest first, with their times.
    pub fn ahead(&self, base: &str, tip: &str) -> anyhow::Result<Vec<(String, String)>> {
        let range = format!("{base}..{tip}");
        let args = ["log", "--reverse", "--topo-order", "--format=%H %ct", &range, "--"];
        let said = self.good(self.git.ask(&args))?;
        let commits = said.out.lines().filter_map(|line| line.split_once(' '));
        Ok(commits.map(|(hash, at)| (hash.to_owned(), time::from_seconds(at))).collect())
    }

    /// Worktrees that git knows: path and branch. Those whose directory is gone are left out.
    pub fn worktrees(&self) -> anyhow::Result<Vec<(PathBuf, Option<String>)>> {
        let said = self.good(self.git.ask(&["worktree", "list", "--porcelain"]))?;
        let worktree = |block: &str| {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            let path = PathBuf::from(field("worktree ")?);
            let branch = field("branch refs/heads/").map(str::to_owned);
            path.is_dir().then_some((path, branch))
        };
        Ok(said.out.split("\n\n").filter_map(worktree).collect())
    }

    /// Everything that git knows of an execution.
    pub fn facts(&self, state: &Execution) -> anyhow::Result<Facts> {
        let base = self.base_tip(state.base())?;
        let mut facts =
            Facts { merged: log::merged(state, &self.log(state, &base)?), ..Facts::default() };
        let args =
            ["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/worktree-*"];
        let said = self.good(self.git.ask(&args))?;
        for (branch, tip) in said.out.lines().filter_map(|line| line.split_once(' ')) {
            let id = branch.strip_prefix("worktree-").unwrap_or_default();
            if !state.tasks.contains_key(id) {
                continue;
            }
            if !self.contains(&base, tip)? {
                facts.ahead.insert(id.to_owned());
            }
            facts.branches.insert(id.to_owned(), tip.to_owned());
        }
        for (path, branch) in self.worktrees()? {
            let id = branch.as_deref().and_then(|branch| branch.strip_prefix("worktree-"));
            if let Some(id) = id.filter(|id| state.tasks.contains_key(*id)) {
                facts.worktrees.insert(id.to_owned(), path.display().to_string());
            }
        }
        Ok(facts)
    }

    /// Whether a commit is in the history of another.
    pub fn contains(&self, tip: &str, commit: &str) -> anyhow::Result<bool> {
        Ok(run(self.git.ask(&["merge-base", "--is-ancestor", commit, tip]))?.is_good())
    }

    /// The base branch since the execution began, newest first.
    pub fn log(&self, state: &Execution, base: &str) -> anyhow::Result<String> {
        let range = match &state.base_commit {
            Some(from) if self.contains(base, from)? => format!("{from}..{base}"),
            _ => base.to_owned(),
        };
        Ok(self.good(self.git.ask(&["log", "--topo-order", log::LOG_FORMAT, &range, "--"]))?.out)
    }

    /// Orders what is changed in the repository; git inherits it.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        let busy =
            || format!("another command of an execution holds {} for long", self.common.display());
        execution::repository(&self.common).with_context(busy)
    }

    /// Removes the locks that a git left which was killed at a step that began then. Whoever calls this
    /// holds our own lock, so no git of ours runs; if another one does, the locks are its.
    pub fn unlock(&self, base: &str, id: &str, begun: &str) -> anyhow::Result<()> {
        if processes::run_in("git", &[&self.top, &self.git_dir]) {
            return Ok(());
        }
        let since = time::parse(begun).map_or(i64::MAX, |at| at.timestamp());
        let own = ["index.lock", "HEAD.lock", "ORIG_HEAD.lock"].map(|name| self.git_dir.join(name));
        let heads = self.common.join("refs/heads");
        let shared = [
            self.common.join("packed-refs.lock"),
            self.common.join("config.lock"),
            heads.join(format!("{base}.lock")),
            heads.join(format!("{}.lock", branch_of(id))),
        ];
        for path in own.iter().chain(&shared) {
            execution::remove_stale_lock(path, since)?;
        }
        Ok(())
    }

    /// Asks git; its complaint is an error.
    pub fn ask(&self, args: &[&str]) -> anyhow::Result<String> {
        Ok(self.good(self.git.ask(args))?.out)
    }

    /// Asks git; what it says is for the caller to judge.
    pub fn try_ask(&self, args: &[&str]) -> anyhow::Result<Said> {
        run(self.git.ask(args))
    }

    /// Lets git change something.
    pub fn act(&self, args: &[&str], lock: &Lock) -> anyhow::Result<Said> {
        run(self.git.act(args, lock.file()))
    }

    /// The same; its complaint is an error.
    pub fn must(&self, args: &[&str], lock: &Lock) -> anyhow::Result<()> {
        self.good(self.git.act(args, lock.file())).map(|_| ())
    }

    pub fn branch_exists(&self, id: &str) -> anyhow::Result<bool> {
        Ok(self.tip(&branch_of(id))?.is_some())
    }

    fn good(&self, said: std::io::Result<Said>) -> anyhow::Result<Said> {
        let said = run(said)?;
        if !said.is_good() {
            bail!("git in {}: {}", self.top.display(), said.complaint());
        }
        Ok(said)
    }
}

fn run(said: std::io::Result<Said>) -> anyhow::Result<Said> {
    said.map_err(cannot_run)
}
