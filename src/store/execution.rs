//! `{tasks_path}/execute-state.json`: the one document that lives where its user says, with a lock
//! of its own beside it. Same protocol as for other documents: lock, sweep, load, replace.
//!
//! The lock is held for as long as the document is read and written, never while a command or git
//! runs. What orders changes to the repository is a second lock, in the repository ([`lock_repository`]).

use std::path::Path;

use crate::core::error::{Error, Result};
use crate::core::id::sha256_hex;
use crate::store::dir::Dir;
use crate::store::home;
use crate::store::lock::{self, Lock, Taken};
use crate::store::{origin, untrusted};

/// The state of an execution, in the folder that its user named.
pub const FILE: &str = "execute-state.json";

pub const LOCK: &str = ".execute-state.lock";
const NEW: &str = ".execute-state.new";
/// Commands wait longer than hooks: in seconds.
const STATE_PATIENCE: u32 = 30;
/// A checkout of a large repository takes its time.
const GIT_PATIENCE: u32 = 600;

/// The state in the folder of an execution.
pub struct StateFile {
    dir: Dir,
}

/// The state while nobody else changes it.
pub struct LockedStateFile<'a> {
    dir: &'a Dir,
    lock: Lock,
}

impl StateFile {
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { dir: Dir::open(path)? })
    }

    /// The folder that it is in.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// The document; it is whole because it is replaced, never changed in place.
    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        self.dir.read(FILE)
    }

    pub fn lock(&self) -> Result<LockedStateFile<'_>> {
        let lock = wait_for_lock(&self.dir, LOCK, STATE_PATIENCE)?;
        self.dir.remove(NEW)?;
        Ok(LockedStateFile { dir: &self.dir, lock })
    }

    /// Whether the document is this machine's: the lock beside it proves that this program works on it
    /// here, or the caller knows; and it is as this program left it, or at least not what git brought.
    pub fn is_own(&self, is_known: impl FnOnce() -> bool) -> Result<bool> {
        let failed = |error| Error::io("look at", &self.dir.path_of(LOCK), error);
        let note = match self.dir.open_read(LOCK)? {
            Some(lock) => origin::marked_note(&lock).map_err(failed)?,
            None => None,
        };
        if note.is_none() && !is_known() {
            return Ok(false);
        }
        let as_left = || self.read().ok().flatten().map(|bytes| sha256_hex(&bytes)) == note;
        Ok(!untrusted::is_brought(&self.dir, FILE) || as_left())
    }
}

impl LockedStateFile<'_> {
    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        self.dir.read(FILE)
    }

    /// Puts a new document in the place of the old one.
    pub fn replace(&self, bytes: &[u8]) -> Result<()> {
        self.write(FILE, bytes)
    }

    /// Copies the document to `.bak`, if there is one; where to.
    pub fn write_backup(&self) -> Result<Option<std::path::PathBuf>> {
        let Some(bytes) = self.read()? else { return Ok(None) };
        let name = format!("{FILE}.bak");
        self.write(&name, &bytes)?;
        Ok(Some(self.dir.path_of(&name)))
    }

    pub fn remove(&self) -> Result<()> {
        self.dir.remove(FILE)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.dir.create_usual(NEW, bytes)?;
        self.dir.replace(NEW, self.dir, name).inspect_err(|_| drop(self.dir.remove(NEW)))?;
        let failed = |error| Error::io("mark", &self.dir.path_of(LOCK), error);
        match name {
            FILE => origin::mark_file(self.lock.file(), &sha256_hex(bytes)).map_err(failed),
            _ => Ok(()),
        }
    }
}

/// Orders what executions change in a repository. `git` inherits this lock, so whoever has it knows
/// that no git of a killed command is still at work.
pub fn lock_repository(common: &Path) -> Result<Lock> {
    wait_for_lock(&Dir::open(common)?, "hookkeeper-execute.lock", GIT_PATIENCE)
}

/// Removes a lock file that a killed git left, if it is not older than what was begun then.
pub fn remove_stale_lock(path: &Path, since: i64) -> Result<()> {
    match find_since(path, since)? {
        Some((dir, name)) => dir.remove(name),
        None => Ok(()),
    }
}

/// Whether a file is there that is not older than what was begun then.
pub fn exists_since(path: &Path, since: i64) -> Result<bool> {
    Ok(find_since(path, since)?.is_some())
}

fn find_since(path: &Path, since: i64) -> Result<Option<(Dir, &str)>> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(None);
    };
    if !dir.is_dir() {
        return Ok(None);
    }
    let dir = Dir::open(dir)?;
    let is = dir.exists(name)? && dir.modified(name) >= since;
    Ok(is.then_some((dir, name)))
}

fn wait_for_lock(dir: &Dir, name: &str, seconds: u32) -> Result<Lock> {
    for _ in 0..seconds {
        let file = match dir.open_lock(name)? {
            Some(file) => file,
            None => home::make_lock(dir, name)?,
        };
        match lock::acquire(file) {
            Ok(Taken::Yes(lock)) if dir.is_named(name, lock.file()) => return Ok(lock),
            // Somebody has it, or has removed the file that we waited for.
            Ok(Taken::Yes(_) | Taken::Busy) => {}
            Err(error) => return Err(Error::io("lock", &dir.path_of(name), error)),
        }
    }
    Err(Error::Busy)
}
