//! The books on disk. The only room that touches state files.
//!
//! One event, step by step, and what each step survives:
//!
//! 1. **Open** `.claude/state` name by name, no symlink followed. The first one there makes the
//!    directory, hides it from git, and only then makes the lock: a kill in between is made good
//!    by the next event, which finds no lock.
//! 2. **Lock** `.claude/state/.lock` with `flock`, at most a second. Not had in time: the event
//!    goes to the [`spool`] and nothing else is touched. A dead holder frees it.
//! 3. **Sweep**: remove `.new`, which a killed process may have left. There is one such name for
//!    all documents, because there is one writer.
//! 4. **Play** what waits in the spool.
//! 5. **Load** the documents that the hook asks for. Only `NotFound` means "none yet". What cannot
//!    be read goes to [`quarantine`]; what models write too stays where it is and is not written.
//! 6. **Replace** each changed document: create `.new` (`O_EXCL`, 0600), write, sync if the
//!    document is durable, exchange it with the old one ([`Dir::replace`]) and remove that. A kill
//!    leaves the old one or the new one under the document's name.
//!    Documents whose bytes would not change are not written. The order is the plan's: first what
//!    is primary, then the copies that the next event derives again.
//! 7. **Log** one line, let go of the lock by exiting.

pub mod dir;
pub mod layout;
pub mod lock;
pub mod log;
pub mod quarantine;
pub mod rejected;
pub mod spool;
pub mod view;

use std::io;
use std::path::Path;

use crate::books::settings::{Durability, Settings};
use crate::error::{Error, Result};
use crate::json::Object;
use crate::plan::Change;
use crate::time::Time;
use dir::Dir;
use layout::{Doc, Room};
use lock::{Lock, Taken};

const LOCK: &str = ".lock";
const NEW: &str = ".new";
const ARCHIVED_SESSIONS: usize = 20;
/// How much of the metrics archive is searched for a line that a killed process already wrote.
const ARCHIVE_TAIL: usize = 64 << 10;

/// The books of one project, locked.
pub struct Store {
    claude: Dir,
    state: Dir,
    _lock: Lock,
    rooms: Vec<(Room, Dir)>,
    /// The bytes of every document that was loaded, to compare with.
    loaded: Vec<(Doc, Vec<u8>)>,
    /// Documents that must stay as they are.
    pub frozen: Vec<Doc>,
    pub settings: Settings,
    /// What the user should hear of: a key and a text.
    pub remarks: Vec<(String, String)>,
    /// Documents that were replaced, removed or moved.
    pub wrote: Vec<String>,
    now: Time,
}

pub enum Opened {
    Locked(Box<Store>),
    /// The lock was not to be had; only the spool may be used.
    Busy(Dir),
}

/// Opens `.claude/state` below a project's root, and makes it if need be.
pub fn state_dir(root: &Path, home: Option<&Path>) -> Result<(Dir, Dir)> {
    let claude = claude_dir(root, home)?;
    let state = claude.make("state")?;
    Ok((claude, state))
}

impl Store {
    pub fn open(root: &Path, home: Option<&Path>, now: Time) -> Result<Opened> {
        let (claude, state) = state_dir(root, home)?;
        let file = match state.open_lock(LOCK)? {
            Some(file) => file,
            None => first_lock(&state)?,
        };
        let lock = match lock::take(file) {
            Ok(Taken::Yes(lock)) => lock,
            Ok(Taken::Busy) => return Ok(Opened::Busy(state)),
            Err(error) => return Err(Error::io("lock", &state.path_of(LOCK), error)),
        };
        sweep(&state)?;
        let mut store = Self {
            claude,
            state,
            _lock: lock,
            rooms: Vec::new(),
            loaded: Vec::new(),
            frozen: Vec::new(),
            settings: Settings::default(),
            remarks: Vec::new(),
            wrote: Vec::new(),
            now,
        };
        store.load_settings()?;
        Ok(Opened::Locked(Box::new(store)))
    }

    pub fn state(&self) -> &Dir {
        &self.state
    }

    /// Forgets what was loaded: the next event reads again.
    pub fn forget(&mut self, now: Time) {
        self.loaded.clear();
        self.now = now;
    }

    /// Loads a document. `None`: there is none, or none that can be read.
    pub fn load<T>(
        &mut self,
        doc: &Doc,
        parse: impl FnOnce(&[u8]) -> std::result::Result<T, String>,
    ) -> Result<Option<T>> {
        if !self.find_room(doc.room())? {
            return Ok(None);
        }
        let Some(bytes) = self.room(doc.room())?.read(&doc.file())? else { return Ok(None) };
        let newer = is_newer(&bytes);
        match parse(&bytes) {
            Ok(document) => {
                if newer {
                    self.freeze(doc, "was written by a newer version; it is read but not changed");
                }
                self.loaded.push((doc.clone(), bytes));
                Ok(Some(document))
            }
            Err(_) if newer => {
                self.freeze(doc, "was written by a newer version; it is left alone");
                Ok(None)
            }
            Err(why) if doc.is_shared() => {
                self.freeze(doc, &format!("cannot be read ({why}); it is left as it is"));
                Ok(None)
            }
            Err(why) => {
                self.quarantine(doc, &why)?;
                Ok(None)
            }
        }
    }

    /// The names of the documents in a room.
    pub fn names(&mut self, room: Room) -> Result<Vec<String>> {
        if self.find_room(room)? { self.room(room)?.names() } else { Ok(Vec::new()) }
    }

    /// Carries a plan's changes out, in their order.
    pub fn commit(&mut self, changes: &[Change]) -> Result<()> {
        for change in changes {
            match change {
                Change::Put(doc, bytes) => self.put(doc, bytes)?,
                Change::Remove(doc) => self.remove(doc)?,
                Change::Archive(lines) => self.archive_metrics(lines)?,
                Change::ArchiveResults { session_id, alone } => {
                    self.archive_results(session_id, *alone)?;
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, doc: &Doc, bytes: &[u8]) -> Result<()> {
        let same = |(have, was): &(Doc, Vec<u8>)| have == doc && was == bytes;
        if self.frozen.contains(doc) || self.loaded.iter().any(same) {
            return Ok(());
        }
        if bytes.trim_ascii().is_empty() {
            let cause = io::Error::other("there is nothing to write");
            return Err(Error::io("write", Path::new(&doc.name()), cause));
        }
        let sync = match self.settings.durability {
            Durability::None => false,
            Durability::Classed => doc.is_durable(),
            Durability::Data | Durability::Full => true,
        };
        self.make_room(doc.room())?;
        self.state.create(NEW, bytes, sync)?;
        let full = self.settings.durability == Durability::Full;
        let room = self.room(doc.room())?;
        let renamed = self.state.replace(NEW, room, &doc.file());
        if renamed.is_err() {
            let _ = self.state.remove(NEW);
        } else if full {
            room.sync()?;
        }
        renamed?;
        self.loaded.retain(|(have, _)| have != doc);
        self.wrote.push(doc.name());
        Ok(())
    }

    fn remove(&mut self, doc: &Doc) -> Result<()> {
        if self.frozen.contains(doc) {
            return Ok(());
        }
        if !self.find_room(doc.room())? {
            return Ok(());
        }
        self.room(doc.room())?.remove(&doc.file())?;
        self.loaded.retain(|(have, _)| have != doc);
        self.wrote.push(format!("-{}", doc.name()));
        Ok(())
    }

    /// Adds lines to the metrics archive, but not those that are at its end already: the process
    /// that wrote them may have been killed before it took them out of `metrics.json`.
    fn archive_metrics(&mut self, lines: &[String]) -> Result<()> {
        let doc = Doc::MetricsArchive;
        self.make_room(doc.room())?;
        let room = self.room(doc.room())?;
        let tail = room.read_tail(&doc.file(), ARCHIVE_TAIL)?;
        let is_there = |line: &&String| memchr::memmem::find(&tail, line.as_bytes()).is_some();
        let mut text = String::new();
        for line in lines.iter().filter(|line| !is_there(line)) {
            text.push_str(line);
            text.push('\n');
        }
        if !text.is_empty() {
            room.append(&doc.file(), text.as_bytes())?;
            self.wrote.push(doc.name());
        }
        Ok(())
    }

    /// Moves a session's results to `results-archive/{session}`. If it was alone, the whole folder
    /// is renamed, whatever is in it; else its own files move one by one.
    fn archive_results(&mut self, session_id: &str, alone: bool) -> Result<()> {
        if self.names(Room::Results)?.is_empty() {
            return Ok(());
        }
        let name = crate::id::FileStem::of(session_id);
        self.make_room(Room::ResultsArchive)?;
        self.find_room(Room::Agents)?;
        let archive = self.room(Room::ResultsArchive)?;
        if alone && archive.sub(name.as_str())?.is_none() {
            self.room(Room::Agents)?.rename("results", archive, name.as_str())?;
            self.rooms.retain(|(room, _)| *room != Room::Results);
        } else {
            let to = archive.make(name.as_str())?;
            let from = self.room(Room::Results)?;
            for file in from.names()? {
                if alone || belongs(from, &file, session_id)? {
                    from.rename(&file, &to, &file)?;
                }
            }
        }
        self.wrote.push(format!("agents/results-archive/{name}"));
        self.prune_archive()
    }

    fn prune_archive(&mut self) -> Result<()> {
        let archive = self.room(Room::ResultsArchive)?;
        let names = archive.names()?;
        if names.len() <= ARCHIVED_SESSIONS {
            return Ok(());
        }
        let mut by_age: Vec<(i64, &String)> =
            names.iter().map(|name| (archive.modified(name), name)).collect();
        by_age.sort();
        for (_, name) in by_age.iter().take(names.len() - ARCHIVED_SESSIONS) {
            archive.remove_dir(name)?;
        }
        Ok(())
    }

    fn quarantine(&mut self, doc: &Doc, why: &str) -> Result<()> {
        let name = quarantine::put(&self.state, self.room(doc.room())?, doc, self.now)?;
        let text = format!(
            "HookKeeper could not read .claude/state/{} ({why}). It was moved to \
             .claude/state/quarantine/{name} and started anew.",
            doc.name()
        );
        self.remarks.push((format!("quarantine/{name}"), text));
        self.wrote.push(format!("quarantine/{name}"));
        Ok(())
    }

    fn freeze(&mut self, doc: &Doc, why: &str) {
        let name = doc.name();
        let text = format!("HookKeeper: .claude/state/{name} {why}.");
        self.remarks.push((format!("frozen/{name}/{why}"), text));
        self.frozen.push(doc.clone());
    }

    fn load_settings(&mut self) -> Result<()> {
        let Some(bytes) = self.claude.read("hookkeeper.json")? else { return Ok(()) };
        let (settings, wrong) = Settings::read(&bytes);
        self.settings = settings;
        if let Some(wrong) = wrong {
            let text =
                format!("HookKeeper: .claude/hookkeeper.json: {wrong}. Defaults hold for that.");
            self.remarks.push((format!("settings/{wrong}"), text));
        }
        Ok(())
    }

    /// Opens a room, once; whether it exists.
    fn find_room(&mut self, room: Room) -> Result<bool> {
        if room == Room::State || self.rooms.iter().any(|(have, _)| *have == room) {
            return Ok(true);
        }
        let mut dir = None;
        for segment in room.segments() {
            let next = dir.as_ref().unwrap_or(&self.state).sub(segment)?;
            let Some(next) = next else { return Ok(false) };
            dir = Some(next);
        }
        self.rooms.extend(dir.map(|dir| (room, dir)));
        Ok(true)
    }

    fn make_room(&mut self, room: Room) -> Result<()> {
        if !self.find_room(room)? {
            let mut dir = None;
            for segment in room.segments() {
                dir = Some(dir.as_ref().unwrap_or(&self.state).make(segment)?);
            }
            self.rooms.extend(dir.map(|dir| (room, dir)));
        }
        Ok(())
    }

    /// A room that was found or made before.
    fn room(&self, room: Room) -> Result<&Dir> {
        let found = self.rooms.iter().find(|(have, _)| *have == room).map(|(_, dir)| dir);
        match (room, found) {
            (Room::State, _) => Ok(&self.state),
            (_, Some(dir)) => Ok(dir),
            (_, None) => Err(Error::io("open", self.state.path(), io::ErrorKind::NotFound)),
        }
    }
}

/// `.claude`, which may be a symlink if it leads to somewhere in the project or in the home
/// directory (people keep it in a dotfiles repository).
fn claude_dir(root: &Path, home: Option<&Path>) -> Result<Dir> {
    match existing_claude_dir(root, home)? {
        Some(dir) => Ok(dir),
        None => Dir::open(root)?.make(".claude"),
    }
}

/// The same, if it exists.
fn existing_claude_dir(root: &Path, home: Option<&Path>) -> Result<Option<Dir>> {
    let root_dir = Dir::open(root)?;
    match root_dir.sub(".claude") {
        Err(_) if root_dir.is_symlink(".claude") => {}
        other => return other,
    }
    let path = root.join(".claude");
    let real = path.canonicalize().map_err(|error| Error::io("resolve", &path, error))?;
    let inside = |dir: &Path| dir.canonicalize().is_ok_and(|dir| real.starts_with(dir));
    if inside(root) || home.is_some_and(inside) {
        return Dir::open(&real).map(Some);
    }
    Err(Error::Planted { path, is: "a symlink out of the project and the home directory" })
}

/// Nobody has used this state directory yet: hide it from git, then make the lock.
fn first_lock(state: &Dir) -> Result<std::fs::File> {
    hide(state)?;
    match state.create(LOCK, b"", false) {
        Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    let missing = || Error::io("open the lock", &state.path_of(LOCK), io::ErrorKind::NotFound);
    state.open_lock(LOCK)?.ok_or_else(missing)
}

/// Removes what a killed process may have left behind. If somebody planted a directory at a
/// document's name, the exchange has brought it here.
fn sweep(state: &Dir) -> Result<()> {
    state.remove(NEW).or_else(|_| state.remove_empty(NEW))
}

/// Hides a directory of ours from git.
pub fn hide(state: &Dir) -> Result<()> {
    if state.read(".gitignore")?.is_some() {
        return Ok(());
    }
    match state.create(".gitignore", b"*\n", false) {
        Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// A document from a later version of the format: `version` above 1, `hooks_version` above 3.0.
fn is_newer(bytes: &[u8]) -> bool {
    // No SIMD search here: asking the processor what it can do costs more than the search.
    if !bytes.windows(8).any(|window| window == b"version\"") {
        return false;
    }
    let Ok(document) = Object::parse(bytes) else { return false };
    let hooks = document.text("hooks_version").and_then(|version| version.parse::<f64>().ok());
    document.float("version").is_some_and(|version| version > 1.0)
        || hooks.is_some_and(|version| version > 3.0)
}

fn belongs(room: &Dir, file: &str, session_id: &str) -> Result<bool> {
    let bytes = room.read(file)?.unwrap_or_default();
    Ok(Object::parse(&bytes)
        .is_ok_and(|result| result.text("session_id").as_deref() == Some(session_id)))
}
