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

mod archive;
pub mod branches;
pub mod dir;
pub mod exclude;
pub mod execution;
pub mod home;
pub mod iterative;
pub mod layout;
pub mod lock;
pub mod log;
pub mod quarantine;
pub mod recorded;
pub mod rejected;
mod repair;
pub mod scratch;
pub mod set_aside;
pub mod settings_file;
pub mod spool;
pub mod survey;
pub mod view;

use std::io;
use std::path::Path;

use crate::books::entries::Shared;
use crate::books::settings::{Durability, Settings};
use crate::error::{Error, Result};
use crate::json::Object;
use crate::plan::Change;
use crate::time::Time;
use dir::Dir;
use layout::{Doc, Room};
use lock::{Lock, Taken};

/// Where every new document is written before it takes its place.
const NEW: &str = ".new";

/// The books of one project, locked.
pub struct Store {
    claude: Dir,
    state: Dir,
    _lock: Lock,
    rooms: Vec<(Room, Dir)>,
    /// The bytes of every document that was loaded, to compare with.
    loaded: Vec<(Doc, Shared)>,
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
    Busy(Dir, Settings),
}

impl Store {
    pub fn open(root: &Path, home: Option<&Path>, now: Time) -> Result<Opened> {
        let (claude, state) = home::open(root, home)?;
        let file = home::lock_file(&state)?;
        let lock = match lock::take(file) {
            Ok(Taken::Yes(lock)) => lock,
            Ok(Taken::Busy) => return Ok(Opened::Busy(state, home::settings(&claude).0)),
            Err(error) => return Err(Error::io("lock", &state.path_of(home::LOCK), error)),
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
        store.load_settings();
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
        self.load_shared(doc, |bytes| parse(bytes))
    }

    /// Loads a document that keeps its bytes.
    pub fn load_shared<T>(
        &mut self,
        doc: &Doc,
        parse: impl FnOnce(&Shared) -> std::result::Result<T, String>,
    ) -> Result<Option<T>> {
        if !self.find_room(doc.room())? {
            return Ok(None);
        }
        let Some(bytes) = self.room(doc.room())?.read(&doc.file())? else { return Ok(None) };
        let bytes = Shared::new(bytes);
        let newer = is_newer(&bytes, doc.version());
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

    /// Our own settings as they are; `None` if there are none.
    pub fn settings_bytes(&self) -> Result<Option<Vec<u8>>> {
        self.claude.read(home::SETTINGS)
    }

    /// Puts our own settings in the place of the old ones. The file is its user's: its mode stays.
    pub fn put_settings(&mut self, bytes: &[u8]) -> Result<()> {
        self.state.create(NEW, bytes, true)?;
        let put = self
            .claude
            .copy_mode_to(home::SETTINGS, &self.state, NEW)
            .and_then(|()| self.state.rename(NEW, &self.claude, home::SETTINGS));
        if put.is_err() {
            let _ = self.state.remove(NEW);
        }
        put
    }

    /// The names of the documents in a room.
    pub fn names(&mut self, room: Room) -> Result<Vec<String>> {
        if self.find_room(room.clone())? { self.room(room)?.names() } else { Ok(Vec::new()) }
    }

    /// Carries a plan's changes out, in their order.
    pub fn commit(&mut self, changes: &[Change]) -> Result<()> {
        for change in changes {
            match change {
                Change::Put(doc, bytes) => self.put(doc, bytes)?,
                Change::Remove(doc) => self.remove(doc)?,
                Change::Append(doc, text) => self.append(doc, text)?,
                Change::Archive(lines) => self.archive_metrics(lines)?,
                Change::RestoreResults { session_id } => self.restore_results(session_id)?,
                Change::ArchiveResults { session_id, alone } => {
                    self.archive_results(session_id, *alone)?;
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, doc: &Doc, bytes: &[u8]) -> Result<()> {
        let same = |(have, was): &(Doc, Shared)| have == doc && was.as_slice() == bytes;
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

    fn quarantine(&mut self, doc: &Doc, why: &str) -> Result<()> {
        let name = quarantine::put(&self.state, self.room(doc.room())?, &doc.name(), self.now)?;
        let text = format!(
            "HookKeeper could not read .claude/state/{} ({why}). It was moved to \
             .claude/state/quarantine/{name} and started anew.",
            doc.name()
        );
        self.remarks.push((format!("quarantine/{name}"), text));
        self.wrote.push(format!("quarantine/{name}"));
        Ok(())
    }

    /// A document that must stay as it is, and why; who uses the client is told once.
    pub fn freeze(&mut self, doc: &Doc, why: &str) {
        let name = doc.name();
        let text = format!("HookKeeper: {} {why}.", doc.path());
        self.remarks.push((format!("frozen/{name}/{why}"), text));
        self.frozen.push(doc.clone());
    }

    fn load_settings(&mut self) {
        let (settings, wrong) = home::settings(&self.claude);
        self.settings = settings;
        if let Some(wrong) = wrong {
            let text =
                format!("HookKeeper: .claude/hookkeeper.json: {wrong}. Defaults hold for that.");
            self.remarks.push((format!("settings/{wrong}"), text));
        }
    }

    /// Opens a room, once; whether it exists.
    fn find_room(&mut self, room: Room) -> Result<bool> {
        if matches!(room, Room::State | Room::Claude)
            || self.rooms.iter().any(|(have, _)| *have == room)
        {
            return Ok(true);
        }
        let base = if room.is_beside_state() { &self.claude } else { &self.state };
        let mut dir = None;
        for segment in room.segments() {
            let next = dir.as_ref().unwrap_or(base).sub(segment)?;
            let Some(next) = next else { return Ok(false) };
            dir = Some(next);
        }
        self.rooms.extend(dir.map(|dir| (room, dir)));
        Ok(true)
    }

    fn make_room(&mut self, room: Room) -> Result<()> {
        if !self.find_room(room.clone())? {
            let beside = room.is_beside_state();
            let base = if beside { &self.claude } else { &self.state };
            let mut dir: Option<Dir> = None;
            for segment in room.segments() {
                let next = dir.as_ref().unwrap_or(base).make(segment)?;
                if beside && dir.is_none() {
                    home::hide(&next)?;
                }
                dir = Some(next);
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
            (Room::Claude, _) => Ok(&self.claude),
            (_, Some(dir)) => Ok(dir),
            (_, None) => Err(Error::io("open", self.state.path(), io::ErrorKind::NotFound)),
        }
    }
}

/// Removes what a killed process may have left behind. If somebody planted a directory at a
/// document's name, the exchange has brought it here.
fn sweep(state: &Dir) -> Result<()> {
    state.remove(NEW).or_else(|_| state.remove_empty(NEW))
}

/// A document from a later version of the format: `version` above the one we know, `hooks_version`
/// above 3.0.
pub fn is_newer(bytes: &[u8], known: u64) -> bool {
    if memchr::memmem::find(bytes, b"version\"").is_none() {
        return false;
    }
    let Ok(document) = Object::parse(bytes) else { return false };
    let hooks = document.text("hooks_version").and_then(|version| version.parse::<f64>().ok());
    document.float("version").is_some_and(|version| version > known as f64)
        || hooks.is_some_and(|version| version > 3.0)
}
