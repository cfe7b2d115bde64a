//! Reading the books without the lock, for people: every document is whole because it is replaced,
//! never changed in place. What cannot be read is left out here and reported by the next hook.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::books::agent_book::AgentBook;
use crate::books::autonomous::Autonomous;
use crate::books::backup::Kept;
use crate::books::branch::BranchState;
use crate::books::executions::{Executions, Known};
use crate::books::live::Live;
use crate::books::metrics::Metrics;
use crate::books::settings::Settings;
use crate::error::{Error, Result};
use crate::id::BranchKey;
use crate::json::Object;
use crate::store::dir::Dir;
use crate::store::layout::{BRANCH_AGENTS, BRANCHES, Doc, ITERATIVE, Room};
use crate::store::log::{self, Past};

pub struct View {
    pub(super) claude: Dir,
    /// Other tools write their books beside it.
    state: Option<Dir>,
}

/// A file or folder below `.claude/state`.
#[derive(Debug)]
pub struct Found {
    pub path: String,
    pub is: Is,
}

#[derive(Debug)]
pub enum Is {
    Folder,
    /// Anything that is no folder: links too.
    File,
    /// A folder that the system does not let us open, and why.
    OutOfReach(String),
}

/// What came of reading a document.
pub enum Read<T> {
    Good(T),
    None,
    /// It is there, and it cannot be read.
    Bad,
}

impl View {
    /// `None` if there are no books. Nothing is made.
    pub fn open(root: &Path, home: Option<&Path>) -> Result<Option<Self>> {
        let Some(claude) = super::home::existing_claude_dir(root, home)? else { return Ok(None) };
        let state = claude.sub("state")?;
        let has = |room: &str| claude.sub(room).is_ok_and(|dir| dir.is_some());
        let is_loop = || claude.read(&Doc::Autonomous.file()).is_ok_and(|bytes| bytes.is_some());
        let any = state.is_some() || has(BRANCHES) || has(ITERATIVE) || is_loop();
        Ok(any.then_some(Self { claude, state }))
    }

    /// A document by its path below `.claude/state`.
    pub fn document<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        serde_json::from_slice(&self.bytes(path)?).ok()
    }

    /// The same, for who has to tell a document that is not there from one that cannot be read.
    pub fn look<T: DeserializeOwned>(&self, path: &str) -> Read<T> {
        match self.read(path) {
            Ok(None) => Read::None,
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_or(Read::Bad, Read::Good),
            Err(_) => Read::Bad,
        }
    }

    /// The same for a path below `.claude`.
    pub fn look_beside<T>(
        &self,
        path: &str,
        parse: impl FnOnce(&[u8]) -> std::result::Result<T, String>,
    ) -> Read<T> {
        match self.read_beside(path) {
            Ok(None) => Read::None,
            Ok(Some(bytes)) => parse(&bytes).map_or(Read::Bad, Read::Good),
            Err(_) => Read::Bad,
        }
    }

    /// The hand-offs of a branch by their names, the oldest first.
    pub fn handoffs(&self, key: &BranchKey) -> Vec<String> {
        let room = Room::Handoffs(key.clone()).segments().join("/");
        let Ok(Some(dir)) = self.claude.below(&room) else { return Vec::new() };
        let mut names = dir.names().unwrap_or_default();
        names.retain(|name| name.ends_with(".md"));
        names.sort_by_key(|name| dir.modified(name));
        names
    }

    pub fn settings(&self) -> Settings {
        super::home::settings(&self.claude).0
    }

    /// What the last hooks did, newest first.
    pub fn log(&self, most: usize) -> Vec<Past> {
        let Some(room) = self.dir("log") else { return Vec::new() };
        log::newest(&room, most)
    }

    /// The states of all branches that have one, by folder.
    pub fn branches(&self) -> Vec<BranchState> {
        let Ok(Some(branches)) = self.claude.sub(BRANCHES) else { return Vec::new() };
        let names = branches.names().unwrap_or_default();
        let state = |name: &String| {
            let bytes = branches.sub(name).ok()??.read("state.json").ok()??;
            serde_json::from_slice(&bytes).ok()
        };
        names.iter().filter_map(state).collect()
    }

    /// The autonomous loop, if its file can be read.
    pub fn autonomous(&self) -> Option<Autonomous> {
        Autonomous::parse(&self.claude.read(&Doc::Autonomous.file()).ok()??).ok()
    }

    /// The executions of the project, the one that was begun last comes last.
    pub fn executions(&self) -> Vec<Known> {
        let known: Executions = self.document(&Doc::Executions.name()).unwrap_or_default();
        known.executions
    }

    pub fn metrics(&self) -> Option<Metrics> {
        Metrics::parse(&self.bytes("session/metrics.json")?).ok()
    }

    /// Live sessions, the one that started first first.
    pub fn lives(&self) -> Vec<Live> {
        let names = self.names("session/live");
        let mut lives: Vec<Live> = names
            .iter()
            .filter_map(|name| self.document(&format!("session/live/{name}")))
            .collect();
        lives.sort_by(|a, b| a.started.cmp(&b.started));
        lives
    }

    pub fn backups(&self) -> Vec<Kept> {
        let names = self.names("compaction");
        let backups = names.into_iter().filter_map(|file| {
            let bytes = self.bytes(&format!("compaction/{file}"))?;
            let session_id = Object::parse(&bytes).ok()?.text("session_id")?;
            Some(Kept { file, session_id })
        });
        backups.collect()
    }

    /// Everything below `.claude/state`; folders that are not to be entered stand for what is in
    /// them.
    pub fn everything(&self, enter: impl Fn(&str) -> bool) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        if let Some(state) = &self.state {
            list(state, "", &enter, &mut found)?;
        }
        Ok(found)
    }

    /// The same for a folder beside the state; paths are below `.claude`.
    pub fn everything_in(&self, room: &str, enter: impl Fn(&str) -> bool) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        match self.claude.sub(room) {
            Ok(Some(dir)) => list(&dir, &format!("{room}/"), &enter, &mut found)?,
            Ok(None) => {}
            Err(Error::Io { cause, .. }) => {
                let is = Is::OutOfReach(cause.to_string());
                found.push(Found { path: room.to_owned(), is });
            }
            Err(_) => found.push(Found { path: room.to_owned(), is: Is::File }),
        }
        Ok(found)
    }

    /// The bytes of a file below `.claude/state`, and why there are none.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        match &self.state {
            Some(state) => read(state, path),
            None => Ok(None),
        }
    }

    /// The same below `.claude`.
    pub fn read_beside(&self, path: &str) -> Result<Option<Vec<u8>>> {
        read(&self.claude, path)
    }

    /// The folder of a branch of this checkout.
    pub fn branch_key(&self, branch: &str, checkout: &Path) -> Result<BranchKey> {
        super::branches::key(&self.claude, branch, checkout)
    }

    pub fn has_branch_folder(&self, key: &BranchKey) -> bool {
        self.claude.below(&format!("{BRANCHES}/{}", key.as_str())).is_ok_and(|dir| dir.is_some())
    }

    /// The agents of all branches, by folder.
    pub fn agent_books(&self) -> Vec<(String, AgentBook)> {
        let Ok(Some(branches)) = self.claude.sub(BRANCHES) else { return Vec::new() };
        let book = |folder: String| {
            let bytes = branches.sub(&folder).ok()??.read(BRANCH_AGENTS).ok()??;
            Some((folder, AgentBook::parse(&bytes).ok()?))
        };
        branches.names().unwrap_or_default().into_iter().filter_map(book).collect()
    }

    /// The bytes of `.claude/hookkeeper.json`.
    pub fn settings_bytes(&self) -> Result<Option<Vec<u8>>> {
        self.claude.read(super::home::SETTINGS)
    }

    pub fn count(&self, room: &str) -> usize {
        self.names(room).len()
    }

    /// The names in a folder below `.claude/state`, in order.
    pub fn names(&self, room: &str) -> Vec<String> {
        self.dir(room).and_then(|dir| dir.names().ok()).unwrap_or_default()
    }

    /// What a file below `.claude/state` holds, if it can be read.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.read(path).ok()?
    }

    fn dir(&self, room: &str) -> Option<Dir> {
        self.state.as_ref()?.below(room).ok()?
    }
}

fn read(base: &Dir, path: &str) -> Result<Option<Vec<u8>>> {
    match path.rsplit_once('/') {
        None => base.read(path),
        Some((room, file)) => match base.below(room)? {
            Some(dir) => dir.read(file),
            None => Ok(None),
        },
    }
}

fn list(
    dir: &Dir,
    above: &str,
    enter: &impl Fn(&str) -> bool,
    found: &mut Vec<Found>,
) -> Result<()> {
    for name in dir.names()? {
        let path = format!("{above}{name}");
        let is = match dir.sub(&name) {
            Ok(Some(sub)) if enter(&path) => {
                list(&sub, &format!("{path}/"), enter, found)?;
                continue;
            }
            Ok(Some(_)) => Is::Folder,
            // It went away in the meantime.
            Ok(None) => continue,
            Err(Error::Io { cause, .. }) => Is::OutOfReach(cause.to_string()),
            Err(_) => Is::File,
        };
        found.push(Found { path, is });
    }
    Ok(())
}
