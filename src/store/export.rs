//! `state/export/`: what whoever sends the journals elsewhere remembers (`export/cursor.rs`), with a
//! lock of its own, so that the state's lock is never held while a network is waited for. Hooks make
//! nothing of it; they only note there which journals went ([`lost`]).

use std::time::Duration;

use crate::core::error::Result;
use crate::store::dir::Dir;
use crate::store::home;
use crate::store::journal::lost::{self, Lost};
use crate::store::lock::{self, Lock, Taken};
use crate::store::view::View;

pub const FOLDER: &str = "export";
pub const CURSOR: &str = "cursor.json";
const LOCK: &str = ".lock";
const NEW: &str = ".new";
/// What is being taken into account.
const TAKEN: &str = "lost.taken.jsonl";

/// The files of ours in the folder.
pub fn is_file_name(name: &str) -> bool {
    [CURSOR, LOCK, NEW, TAKEN, lost::FILE].contains(&name)
}

/// The folder while nobody else sends.
pub struct LockedExport {
    dir: Dir,
    /// Held until dropped.
    _lock: Lock,
}

/// Takes the folder, and makes it if need be; `None` if somebody else has it for longer than this.
pub fn enter(view: &View, patience: Duration) -> Result<Option<LockedExport>> {
    let Some(state) = view.folder("state") else { return Ok(None) };
    let dir = state.make(FOLDER)?;
    let file = match dir.open_lock(LOCK)? {
        Some(file) => file,
        None => home::make_lock(&dir, LOCK)?,
    };
    let failed = |error| crate::core::error::Error::io("lock", &dir.path_of(LOCK), error);
    match lock::acquire_for(file, patience).map_err(failed)? {
        Taken::Busy => Ok(None),
        Taken::Yes(lock) => {
            dir.remove(NEW)?;
            Ok(Some(LockedExport { dir, _lock: lock }))
        }
    }
}

/// What is remembered, for who only looks.
pub fn peek(view: &View) -> Result<Option<Vec<u8>>> {
    match view.folder(&format!("state/{FOLDER}")) {
        Some(dir) => dir.read(CURSOR),
        None => Ok(None),
    }
}

/// The journals that went and were not taken into account yet, for who only looks.
pub fn peek_lost(view: &View) -> Vec<Lost> {
    let Some(dir) = view.folder(&format!("state/{FOLDER}")) else { return Vec::new() };
    [TAKEN, lost::FILE].iter().flat_map(|name| read_lost(&dir, name)).collect()
}

fn read_lost(dir: &Dir, name: &str) -> Vec<Lost> {
    let bytes = dir.read(name).ok().flatten().unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

impl LockedExport {
    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        self.dir.read(CURSOR)
    }

    /// Puts a new cursor in the place of the old one: after a kill it is one of the two.
    pub fn replace(&self, bytes: &[u8]) -> Result<()> {
        self.dir.remove(NEW)?;
        self.dir.create(NEW, bytes, false)?;
        self.dir.replace(NEW, &self.dir, CURSOR)
    }

    /// What hooks noted since it was last taken into account, put aside so that they can go on.
    pub fn lost(&self) -> Result<Vec<Lost>> {
        if !self.dir.exists(TAKEN)? && self.dir.exists(lost::FILE)? {
            self.dir.rename(lost::FILE, &self.dir, TAKEN)?;
        }
        Ok(read_lost(&self.dir, TAKEN))
    }

    /// It is in the cursor now. A kill before this counts it twice at worst.
    pub fn forget_lost(&self) -> Result<()> {
        self.dir.remove(TAKEN)
    }
}
