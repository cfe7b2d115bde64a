//! The repository of an execution, and what it has.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::core::time;
use crate::execute::base_log::{self, LOG_FORMAT};
use crate::execute::document::Execution;
use crate::execute::{Error, GitFacts, MergedTask, Result, task_branch};
use crate::git::command::{Git, GitOutput, explain_start_error};
use crate::process::processes;
use crate::store::execution;
use crate::store::lock::Lock;

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

/// A repository that no other command of an execution changes meanwhile. Git inherits the lock.
pub struct LockedRepository<'a> {
    repository: &'a Repository,
    lock: Lock,
}

impl Repository {
    pub fn open(dir: &Path, rebuild: String) -> Result<Self> {
        if !dir.is_dir() {
            let dir = dir.display();
            refuse!(
                "the project {dir} is not there; {rebuild} with --project-path DIR says where it is"
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
        let output = ensure_started(git.ask(&args))?;
        if !output.is_good() {
            refuse!(
                "{} is no git checkout ({}); `git init` and a first commit make it one",
                dir.display(),
                output.complaint()
            );
        }
        let mut lines = output.out.lines();
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

    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Where the base branch of an execution is: on the remote, if that is where tasks are merged.
    pub fn effective_base(&self, state: &Execution) -> Result<String> {
        let seen = state.remote.as_ref().and_then(|remote| remote.base.as_ref());
        match seen {
            Some(seen) if self.has_commit(seen)? => Ok(seen.clone()),
            _ => self.base_tip(state.base()),
        }
    }

    /// Whether a commit is in this repository.
    pub fn has_commit(&self, commit: &str) -> Result<bool> {
        let name = format!("{commit}^{{commit}}");
        Ok(self.try_query(&["rev-parse", "-q", "--verify", &name])?.is_good())
    }

    /// Whether only a part of its history was fetched.
    pub fn is_shallow(&self) -> Result<bool> {
        Ok(self.query(&["rev-parse", "--is-shallow-repository"])?.trim() == "true")
    }

    /// Whether an object is itself a commit, which another one can have as its parent.
    pub fn is_commit(&self, id: &str) -> Result<bool> {
        let said = self.try_query(&["cat-file", "-t", id])?;
        Ok(said.is_good() && said.out.trim() == "commit")
    }

    /// The branch that is checked out; none if HEAD is detached.
    pub fn current_branch(&self) -> Result<Option<String>> {
        // In full: a short name has something before it where a tag has the same one.
        let output = self.try_query(&["symbolic-ref", "-q", "HEAD"])?;
        let name = output.out.trim();
        Ok(output.is_good().then(|| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()))
    }

    /// The commit that a branch is at.
    pub fn branch_tip(&self, branch: &str) -> Result<Option<String>> {
        let name = format!("refs/heads/{branch}^{{commit}}");
        let output = self.try_query(&["rev-parse", "-q", "--verify", &name])?;
        Ok(output.is_good().then(|| output.out.trim().to_owned()))
    }

    pub fn base_tip(&self, base: &str) -> Result<String> {
        let missing = || {
            format!(
                "{} has no branch {base}, which tasks start from and are merged to; `git branch {base} COMMIT` makes it again, {} with --base BRANCH takes another",
                self.top.display(),
                self.rebuild
            )
        };
        Ok(self.branch_tip(base)?.ok_or_else(missing)?)
    }

    /// The commits of a branch that the base has not, oldest first, with their times.
    pub fn commits_ahead(&self, base: &str, tip: &str) -> Result<Vec<(String, String)>> {
        let range = format!("{base}..{tip}");
        let args = ["log", "--reverse", "--topo-order", "--format=%H %ct", &range, "--"];
        let log = self.query(&args)?;
        let commits = log.lines().filter_map(|line| line.split_once(' '));
        Ok(commits.map(|(hash, at)| (hash.to_owned(), time::from_seconds(at))).collect())
    }

    /// Worktrees that git knows: path and branch. Those whose directory is gone are left out.
    pub fn worktrees(&self) -> Result<Vec<(PathBuf, Option<String>)>> {
        let list = self.query(&["worktree", "list", "--porcelain"])?;
        let worktree = |block: &str| {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            let path = PathBuf::from(field("worktree ")?);
            let branch = field("branch refs/heads/").map(str::to_owned);
            path.is_dir().then_some((path, branch))
        };
        Ok(list.split("\n\n").filter_map(worktree).collect())
    }

    /// Everything that git knows of an execution.
    pub fn read_facts(&self, state: &Execution) -> Result<GitFacts> {
        let base = self.effective_base(state)?;
        let mut facts =
            GitFacts { merged: self.merged_tasks(state, &base)?, ..GitFacts::default() };
        let args = ["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/worktree-*"];
        let refs = self.query(&args)?;
        for (branch, tip) in refs.lines().filter_map(|line| line.split_once(' ')) {
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

    /// The tasks that the base branch has, if it is at this commit.
    pub fn merged_tasks(&self, state: &Execution, base: &str) -> Result<Vec<MergedTask>> {
        Ok(base_log::merged_tasks(state, &self.base_log(state, base)?))
    }

    /// Whether a commit is in the history of another.
    pub fn contains(&self, tip: &str, commit: &str) -> Result<bool> {
        Ok(self.try_query(&["merge-base", "--is-ancestor", commit, tip])?.is_good())
    }

    /// The base branch since the execution began, newest first. If that was rewritten: since where
    /// the old history and the new one part.
    fn base_log(&self, state: &Execution, base: &str) -> Result<String> {
        let from = match &state.base_commit {
            Some(begun) => Some(self.try_query(&["merge-base", begun, base])?),
            None => None,
        };
        let range = match from.filter(GitOutput::is_good) {
            Some(from) => format!("{}..{base}", from.out.trim()),
            None => base.to_owned(),
        };
        self.query(&["log", "--topo-order", LOG_FORMAT, &range, "--"])
    }

    /// Waits until nobody else changes it.
    pub fn lock(&self) -> Result<LockedRepository<'_>> {
        let lock = execution::lock_repository(&self.common).map_err(|error| {
            let dir = self.common.display();
            Error::from(error)
                .context(format!("another command of an execution holds {dir} for long"))
        })?;
        Ok(LockedRepository { repository: self, lock })
    }

    /// Whether a git that was killed since then has left the index locked: it was writing files.
    pub fn has_torn_index(&self, begun: &str) -> Result<bool> {
        Ok(execution::exists_since(&self.git_dir.join("index.lock"), seconds(begun))?)
    }

    /// Removes the locks that a git left which was killed at a step that began then. Whoever calls this
    /// holds our own lock, so no git of ours runs; if another one does, the locks are its.
    pub fn remove_stale_locks(&self, base: &str, id: &str, begun: &str) -> Result<()> {
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
            heads.join(format!("{}.lock", task_branch(id))),
        ];
        for path in own.iter().chain(&shared) {
            execution::remove_stale_lock(path, since)?;
        }
        Ok(())
    }

    pub fn branch_exists(&self, id: &str) -> Result<bool> {
        Ok(self.branch_tip(&task_branch(id))?.is_some())
    }

    /// Asks git; its complaint is an error.
    pub fn query(&self, args: &[&str]) -> Result<String> {
        Ok(self.ensure_success(self.try_query(args)?)?.out)
    }

    /// Asks git; what it says is for the caller to judge.
    pub fn try_query(&self, args: &[&str]) -> Result<GitOutput> {
        ensure_started(self.git.ask(args))
    }

    pub fn ensure_success(&self, output: GitOutput) -> Result<GitOutput> {
        match output.is_good() {
            true => Ok(output),
            false => refuse!("git in {}: {}", self.top.display(), output.complaint()),
        }
    }
}

impl LockedRepository<'_> {
    /// Lets git change something; its complaint is an error.
    pub fn change(&self, args: &[&str]) -> Result<()> {
        self.ensure_success(self.try_change(args)?).map(|_| ())
    }

    /// Lets git change something; what it says is for the caller to judge.
    pub fn try_change(&self, args: &[&str]) -> Result<GitOutput> {
        ensure_started(self.git.act(args, self.lock.file()))
    }
}

impl Deref for LockedRepository<'_> {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        self.repository
    }
}

fn seconds(time: &str) -> i64 {
    time::parse(time).map_or(i64::MAX, |at| at.timestamp())
}

/// A git that ran, whatever it said.
pub fn ensure_started<T>(output: std::io::Result<T>) -> Result<T> {
    output.map_err(|error| explain_start_error(&error).into())
}
