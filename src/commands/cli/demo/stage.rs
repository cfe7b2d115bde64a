//! The scratch project that a session is played in, with a directory beside it that is the client's:
//! `shop/` and `client/` in one new directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use crate::client::hook_runs;
use crate::core::error::Result;
use crate::git::command::Git;
use crate::store::dir::Dir;
use crate::store::scratch::Scratch;

/// As much of an id as tells one demo from another.
const DIGITS: usize = 8;
const GIT: Duration = Duration::from_secs(10);

pub struct Stage {
    scratch: Scratch,
}

impl Stage {
    /// Empty but for git, where there is git.
    pub fn build(holder: &Path, id: &str) -> Result<Self> {
        let short: String = id.chars().take(DIGITS).collect();
        // The client gives paths without links, and so do payloads.
        let holder = holder.canonicalize().unwrap_or_else(|_| holder.to_owned());
        let scratch = Scratch::new(&holder, "demo", &short)?;
        let stage = Self { scratch };
        stage.scratch.dir().make("shop")?;
        stage.scratch.dir().make("client")?;
        // Without git the session has no branch, and that is all.
        let _ = Git::within(&stage.project(), GIT).ask(&["init", "--quiet", "-b", "main"]);
        Ok(stage)
    }

    /// From now on it is the user's.
    pub fn leave(&mut self) {
        self.scratch.leave();
    }

    pub fn top(&self) -> &Path {
        self.scratch.path()
    }

    pub fn project(&self) -> PathBuf {
        self.top().join("shop")
    }

    pub fn client(&self) -> PathBuf {
        self.top().join("client")
    }

    /// Where the client would keep the transcripts of this project.
    pub fn transcripts(&self) -> PathBuf {
        hook_runs::dir_of(&self.client(), &self.project())
    }

    pub fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let (dir, name) = self.place(path)?;
        dir.remove(&name)?;
        Ok(dir.create(&name, text.as_bytes(), false)?)
    }

    pub fn append(&self, path: &str, line: &str) -> anyhow::Result<()> {
        let (dir, name) = self.place(path)?;
        dir.append_lines(&name, format!("{line}\n").as_bytes())?;
        Ok(())
    }

    /// The directory of a file, made if need be; only below the scratch directory.
    fn place(&self, path: &str) -> anyhow::Result<(Dir, String)> {
        let below = Path::new(path).strip_prefix(self.top())?;
        let mut names: Vec<String> =
            below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let name = names.pop().context("a file has no name")?;
        let mut dir = Dir::open(self.top())?;
        for folder in &names {
            dir = dir.make(folder)?;
        }
        Ok((dir, name))
    }
}
