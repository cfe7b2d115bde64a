//! The repository of an execution, and what it has.

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
    /// The command that follows a project or a branch which is elsewhere now.
    rebuild: String,
}

impl Repository {
    pub fn open(dir: &Path, rebuild: String) -> anyhow::Result<Self> {
        if !dir.is_dir() {
            bail!(
                "the project {} is not there; {rebuild} with --project-path DIR says where it is",
                dir.display()
            );
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
            rebuild,
        })
    }

    /// The branch that is checked out; none if HEAD is detached.
    pub fn head(&self) -> anyhow::Result<Option<String>> {
        // In full: a short name has something before it where a tag has the same one.
        let said = run(self.git.ask(&["symbolic-ref", "-q", "HEAD"]))?;
        let name = said.out.trim();
        Ok(said.is_good().then(|| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()))
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
                "{} has no branch {base}, which tasks start from and are merged to; `git branch {base} COMMIT` makes it again, {} with --base BRANCH takes another",
                self.top.display(),
                self.rebuild
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
        let args = ["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/worktree-*"];
        let said = self.good(self.git.ask(&args))?;
        for (branch, tip) in said.out.lines().filter_map(|line| line.split_once(' ')) {
            let id = branch.strip_prefix("refs/heads/worktree-").unwrap_or_default();
            if !state.tasks.contains_key(id) {
                continue;
            }
            if !self.contains(&base, tip)? {
                facts.ahead.insert(id.to_owned());
            }
            facts.branches.insert(id.to_owned(), tip.to_owned());
        }
        let places = Path::new(&state.worktree_dir);
        let places = places.canonicalize().unwrap_or_else(|_| places.to_owned());
        for (path, branch) in self.worktrees()? {
            let by_branch = branch.as_deref().and_then(|branch| branch.strip_prefix("worktree-"));
            // One that is not on its branch now, as in a rebase, is still its task's.
            let by_place = path.strip_prefix(&places).ok().and_then(Path::to_str);
            let is_task = |id: &&str| state.tasks.contains_key(*id);
            if let Some(id) = by_branch.filter(is_task).or(by_place.filter(is_task)) {
                facts.worktrees.insert(id.to_owned(), path.display().to_string());
            }
        }
        Ok(facts)
    }

    /// Whether a commit is in the history of another.
    pub fn contains(&self, tip: &str, commit: &str) -> anyhow::Result<bool> {
        Ok(run(self.git.ask(&["merge-base", "--is-ancestor", commit, tip]))?.is_good())
    }

    /// The base branch since the execution began, newest first. If that was rewritten: since where
    /// the old history and the new one part.
    pub fn log(&self, state: &Execution, base: &str) -> anyhow::Result<String> {
        let from = match &state.base_commit {
            Some(begun) => Some(run(self.git.ask(&["merge-base", begun, base]))?),
            None => None,
        };
        let range = match from.filter(Said::is_good) {
            Some(from) => format!("{}..{base}", from.out.trim()),
            None => base.to_owned(),
        };
        Ok(self.good(self.git.ask(&["log", "--topo-order", log::LOG_FORMAT, &range, "--"]))?.out)
    }

    /// Orders what is changed in the repository; git inherits it.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        let busy =
            || format!("another command of an execution holds {} for long", self.common.display());
        execution::repository(&self.common).with_context(busy)
    }

    /// Whether a git that was killed since then has left the index locked: it was writing files.
    pub fn has_torn_index(&self, begun: &str) -> anyhow::Result<bool> {
        Ok(execution::is_newer(&self.git_dir.join("index.lock"), seconds(begun))?)
    }

    /// Removes the locks that a git left which was killed at a step that began then. Whoever calls this
    /// holds our own lock, so no git of ours runs; if another one does, the locks are its.
    pub fn unlock(&self, base: &str, id: &str, begun: &str) -> anyhow::Result<()> {
        if processes::run_in("git", &[&self.top, &self.git_dir]) {
            return Ok(());
        }
        let since = seconds(begun);
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

    pub fn good(&self, said: std::io::Result<Said>) -> anyhow::Result<Said> {
        let said = run(said)?;
        if !said.is_good() {
            bail!("git in {}: {}", self.top.display(), said.complaint());
        }
        Ok(said)
    }
}

fn seconds(time: &str) -> i64 {
    time::parse(time).map_or(i64::MAX, |at| at.timestamp())
}

fn run(said: std::io::Result<Said>) -> anyhow::Result<Said> {
    said.map_err(cannot_run)
}
