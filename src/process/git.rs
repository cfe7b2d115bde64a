//! Git, started by the command line. Facts that hooks need are read from files (`facts::git`).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository to run git in.
#[derive(Clone, Debug)]
pub struct Git {
    pub dir: PathBuf,
}

#[derive(Debug)]
pub struct Said {
    /// `None`: a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// What would lead git elsewhere than to `dir`: a command that runs in a git hook has these.
const ELSEWHERE: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
];
/// No work in the background that outlives the command, and names as they are.
const SET: [&str; 6] =
    ["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.quotePath=false"];

impl Git {
    /// Asks git something. An error means that it could not be started.
    pub fn ask<A: AsRef<OsStr>>(&self, args: &[A]) -> io::Result<Said> {
        self.run(args, Stdio::null())
    }

    /// Lets git change something while `held` is locked: git inherits the lock, so that it is held
    /// for as long as git runs, even if we are killed before git is done.
    pub fn act<A: AsRef<OsStr>>(&self, args: &[A], held: &File) -> io::Result<Said> {
        self.run(args, Stdio::from(held.try_clone()?))
    }

    fn run<A: AsRef<OsStr>>(&self, args: &[A], stdin: Stdio) -> io::Result<Said> {
        let mut command = Command::new("git");
        command.args(SET).args(args).current_dir(&self.dir);
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
        let output = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        Ok(Said {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    pub fn at(&self, dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }
}

impl Said {
    pub fn is_good(&self) -> bool {
        self.code == Some(0)
    }

    /// What git complained of, in one line.
    pub fn complaint(&self) -> String {
        let text = if self.err.trim().is_empty() { &self.out } else { &self.err };
        crate::books::clip(text, 300)
    }
}
