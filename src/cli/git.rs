//! The `git` program, asked by commands what only git knows. Hooks read `.git` themselves.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::process::git;

pub struct Git(git::Git);

impl Git {
    /// For the repository that a directory is in.
    pub fn of(dir: &Path) -> anyhow::Result<Self> {
        let git = Self(git::Git { dir: dir.to_owned() });
        if git.ask(&["rev-parse", "--is-inside-work-tree"])?.as_deref() != Some("true") {
            bail!("{} is in no git repository", dir.display());
        }
        Ok(git)
    }

    /// For the working directory, if that is in a linked worktree of the project's repository; else
    /// for the project.
    pub fn around(root: &Path, cwd: Option<&Path>) -> anyhow::Result<Self> {
        let own = Self::of(root)?;
        let common =
            |git: &Self| git.ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        match cwd.and_then(|cwd| Self::of(cwd).ok()) {
            Some(here) if common(&here)? == common(&own)? => Ok(here),
            _ => Ok(own),
        }
    }

    /// The checkout that it is asked in.
    pub fn top(&self) -> anyhow::Result<PathBuf> {
        let top = self.ask(&["rev-parse", "--show-toplevel"])?;
        Ok(top.context("git does not say where its checkout is")?.into())
    }

    /// What it answers, without the last line break; `None` if it says no.
    pub fn ask(&self, args: &[&str]) -> anyhow::Result<Option<String>> {
        // Paths are meant as they are. A configured file system monitor is a program, too.
        let set = ["--literal-pathspecs", "-c", "core.fsmonitor=false"];
        let args: Vec<&str> = set.iter().chain(args).copied().collect();
        let said = self.0.ask(&args).context("git cannot be run")?;
        Ok(said.is_good().then(|| said.out.trim_end_matches('\n').to_owned()))
    }

    pub fn says_yes(&self, args: &[&str]) -> anyhow::Result<bool> {
        Ok(self.ask(args)?.is_some())
    }
}
