//! The `git` program, asked by commands. Hooks read `.git` themselves.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::process::Process;
use crate::process::child::{self, Run};

const PATIENCE: Duration = Duration::from_secs(30);

pub struct Git<'a> {
    program: PathBuf,
    dir: &'a Path,
}

impl<'a> Git<'a> {
    /// For the working directory, if that is in a linked worktree of the project's repository; else
    /// for the project.
    pub fn around(
        process: &Process,
        root: &'a Path,
        cwd: Option<&'a Path>,
    ) -> anyhow::Result<Self> {
        let own = Self::of(process, root)?;
        let common =
            |git: &Self| git.ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let here = cwd.and_then(|cwd| Self::of(process, cwd).ok());
        match here {
            Some(here) if common(&here)?.is_some() && common(&here)? == common(&own)? => Ok(here),
            _ => Ok(own),
        }
    }

    /// The checkout that it is asked in.
    pub fn top(&self) -> anyhow::Result<PathBuf> {
        let top = self.ask(&["rev-parse", "--show-toplevel"])?;
        Ok(top.context("git does not say where its checkout is")?.into())
    }

    /// For the repository that a directory is in.
    pub fn of(process: &Process, dir: &'a Path) -> anyhow::Result<Self> {
        let program = process.on_path("git").context("there is no git on the PATH")?;
        let git = Self { program, dir };
        if git.ask(&["rev-parse", "--is-inside-work-tree"])?.as_deref() != Some("true") {
            bail!("{} is in no git repository", dir.display());
        }
        Ok(git)
    }

    /// What it answers, without the last line break; `None` if it says no.
    pub fn ask(&self, args: &[&str]) -> anyhow::Result<Option<String>> {
        // A configured file system monitor is a program, too.
        let args: Vec<&str> = ["--literal-pathspecs", "-c", "core.fsmonitor=false"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let run = Run {
            program: &self.program,
            args: &args,
            dir: self.dir,
            env: &[("GIT_DIR", ""), ("GIT_WORK_TREE", ""), ("GIT_INDEX_FILE", ""), ("LC_ALL", "C")],
            stdin: b"",
            limit: PATIENCE,
        };
        let ended = child::run(&run).context("git cannot be run")?;
        let text = String::from_utf8_lossy(&ended.stdout).trim_end_matches('\n').to_owned();
        Ok((ended.code == Some(0)).then_some(text))
    }

    pub fn says_yes(&self, args: &[&str]) -> anyhow::Result<bool> {
        Ok(self.ask(args)?.is_some())
    }
}
