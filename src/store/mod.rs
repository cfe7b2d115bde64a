//! The documents on disk. The only room that touches state files.
//!
//! One event, step by step, and what each step survives:
//!
//! 1. **Open** `.claude/state` name by name, no symlink followed; who finds none makes it.
//! 2. **Lock** `.claude/state/.lock` and the directory itself with `flock`, at most a second. Not
//!    had in time: the event goes to the [`spool`] and nothing else is touched. A dead holder frees
//!    it. A lock that no longer has its name is taken again; one that is removed later is made anew
//!    by somebody who then waits for the directory. Then the mark in it ([`origin`]): what was not
//!    made here is moved away ([`untrusted`]), `.gitignore` and a new mark are made. A kill in
//!    between leaves no mark, and the next event goes on with that.
//! 3. **Sweep**: remove `.new`, which a killed process may have left. There is one such name for
//!    all documents, because there is one writer. A directory there, or in the place of the lock, is
//!    moved away ([`home::enter`]).
//! 4. **Play** what waits in the spool.
//! 5. **Read** the documents that the hook asks for ([`State`]). Only `NotFound` means "none yet".
//!    What cannot be read goes to [`quarantine`]; what models write too stays where it is and is
//!    not written.
//! 6. **Replace** each changed document: create `.new` (`O_EXCL`, 0600), write, sync if the
//!    document is durable, exchange it with the old one ([`Dir::replace`]) and remove that. A kill
//!    leaves the old one or the new one under the document's name.
//!    Documents whose bytes would not change are not written. The order is the plan's: first what
//!    is primary, then the copies that the next event derives again.
//! 7. **Tell** the session's [`journal`], in one append. Let go of the lock by exiting.
//!
//! Two decisions that one would not guess:
//!
//! - **One name for new files.** A killed process leaves at most this one file, and the next event
//!   removes it with one system call. A temporary file beside each document would have to be looked
//!   for in every directory.
//! - **Exchange, not rename.** On ext4 a rename over an existing file waits for the new file's
//!   blocks to be allocated: about 190 µs, against 55 µs for an atomic exchange of the two names
//!   and the removal of the old file. What has to survive a power cut is synced before that, the
//!   rest does not have to be.
//!
//! An event that was written to state which is no longer there begins again: at the end the
//! directory is compared with its path. `uninstall --purge` moves everything to another name under
//! the lock before it deletes.

pub mod archive;
pub mod dir;
pub mod entries;
pub mod exclude;
pub mod execution;
pub mod export;
pub mod folders;
pub mod home;
pub mod journal;
pub mod lock;
pub mod log;
pub mod origin;
pub mod projects;
pub mod quarantine;
pub mod recorded;
pub mod rejected;
pub mod repair;
mod rotate;
pub mod scratch;
pub mod set_aside;
pub mod settings_file;
pub mod slash_commands;
pub mod spool;
pub mod untrusted;
pub mod user_settings;
pub mod view;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::core::error::{Error, Result};
use crate::core::journal::Entry;
use crate::core::pieces::Pieces;
use crate::core::settings::{Durability, Settings};
use crate::core::time::Time;
use crate::state::Documents;
use crate::state::declared::parses_as;
use crate::state::plan::Change;
use crate::state::{Aside, Doc, Source, State, Write};
use dir::Dir;
use folders::Folders;
use home::Entered;
use journal::prune::Limits;
use origin::Origin;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add_file::<Entry>(&journal::ROW, |_, _| Ok(()));
    all.add_file::<spool::Entry>(&spool::ROW, parses_as::<spool::Entry>);
}

/// Where every new document is written before it takes its place.
pub const NEW: &str = ".new";

/// The documents of one project, locked.
pub struct Store {
    folders: Folders,
    pub settings: Settings,
    /// What the user should hear of: a key and a text.
    remarks: RefCell<Vec<(String, String)>>,
    /// Documents that were replaced, removed or moved.
    wrote: RefCell<Vec<String>>,
    now: Cell<Time>,
    /// There was none of this machine's before.
    pub is_new: bool,
}

pub enum Opened {
    Locked(Box<Store>),
    /// The lock was not to be had; only the spool may be used.
    Busy(Dir, Box<Settings>),
}

impl Store {
    /// The state of a project, if its lock is to be had in time.
    pub fn open(root: &Path, home: Option<&Path>, now: Time, patience: Duration) -> Result<Opened> {
        let mut home = match home::enter(root, home, patience)? {
            Entered::Locked(home) => *home,
            Entered::Busy(claude, state) => {
                let settings =
                    home::settings(&claude, Origin::peek(&state).ok().flatten().as_ref()).0;
                return Ok(Opened::Busy(state, Box::new(settings)));
            }
        };
        home.origin.untold.extend(sweep(&home.state)?);
        let untold = std::mem::take(&mut home.origin.untold);
        if !untold.is_empty() {
            home.origin.write(&home.state, &home.lock)?;
        }
        let (settings, fault) = home::settings(&home.claude, Some(&home.origin));
        let store = Self {
            is_new: home.is_new,
            folders: Folders::new(home.claude, home.state, home.origin, Some(home.lock)),
            settings,
            remarks: RefCell::default(),
            wrote: RefCell::default(),
            now: Cell::new(now),
        };
        untold.iter().for_each(|room| store.remark_untrusted(room));
        if let Some(fault) = fault {
            let text =
                format!("HookKeeper: .claude/hookkeeper.json: {fault}. Defaults hold for that.");
            store.remark(format!("settings/{fault}"), text);
        }
        Ok(Opened::Locked(Box::new(store)))
    }

    /// `.claude/state`
    pub fn state_dir(&self) -> &Dir {
        &self.folders.state
    }

    /// Whether this is still the project's state. Somebody may have moved or removed it under our
    /// hands; then what was written is nowhere.
    pub fn is_in_place(&self) -> bool {
        self.folders.state.is_in_place()
    }

    /// The time that what is put away is named after.
    pub fn set_time(&self, now: Time) {
        self.now.set(now);
    }

    /// Something that the user should hear of.
    pub fn remark(&self, key: String, text: String) {
        self.remarks.borrow_mut().push((key, text));
    }

    /// What reading has found to say, where somebody read with a state of his own.
    pub fn take_over_remarks(&self, state: &State) {
        self.remarks.borrow_mut().extend(state.take_remarks());
    }

    pub fn take_remarks(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.remarks.borrow_mut())
    }

    /// Documents that were replaced, removed or moved, by their names.
    pub fn written(&self) -> Vec<String> {
        self.wrote.borrow().clone()
    }

    fn note_written(&self, name: impl Into<String>) {
        self.wrote.borrow_mut().push(name.into());
    }

    fn remark_untrusted(&self, room: &str) {
        let text = format!(
            "HookKeeper: state that was not made on this machine is not read (it came with a \
             checkout, an archive or a copy, or an earlier version made it). It is kept in \
             .claude/state/{room}; `hookkeeper trust` in a terminal shows it and takes it up."
        );
        self.remark(format!("untrusted/{room}"), text);
    }

    /// Looks for files of ours that git has brought since: those in the state directory are moved
    /// away, the others are not read.
    pub fn check_tracked(&mut self) -> Result<()> {
        if let Some(room) = self.folders.check_tracked()? {
            self.remark_untrusted(&room);
        }
        self.settings = self.folders.settings().0;
        Ok(())
    }

    /// Notes that a loop was started here and waits for a session, or that it does so no more.
    pub fn note_begun(&self, the_loop: &str, waits: bool) -> Result<()> {
        self.folders.note_begun(the_loop, waits)
    }

    /// Adds to the journal what a command did. A hook tells by its plan.
    pub fn tell(&self, session: Option<&str>, entry: Entry) {
        if !self.settings.systems.journal {
            return;
        }
        let entry = entry.at(self.now.get(), session.unwrap_or_default());
        journal::add(&self.folders.state, &[entry], Some(Limits::new(&self.settings)));
    }

    /// Our own settings as they are; `None` if there are none.
    pub fn settings_bytes(&self) -> Result<Option<Vec<u8>>> {
        self.folders.claude.read(home::SETTINGS)
    }

    /// Puts our own settings in the place of the old ones. The file is its user's: its mode stays.
    pub fn put_settings(&self, bytes: &[u8]) -> Result<()> {
        self.clear_path(home::SETTINGS)?;
        let Folders { claude, state, .. } = &self.folders;
        state.write_and(NEW, &[bytes], true, || {
            claude.copy_mode_to(home::SETTINGS, state, NEW)?;
            state.rename(NEW, claude, home::SETTINGS)
        })
    }

    /// Carries changes out, in their order. `state` is what they were decided on: where reading it
    /// has failed, nothing is written.
    pub fn commit(&self, changes: &[Change], state: &State) -> Result<()> {
        state.check()?;
        let mut written: Vec<&Doc> = Vec::new();
        for change in changes {
            match change {
                Change::Put(write) => {
                    let (doc, pieces) = (write.doc(), write.pieces());
                    let is_same = !written.contains(&doc) && state.has_bytes(doc, pieces);
                    if !is_same && state.frozen(doc).is_none() {
                        self.put(doc, pieces)?;
                        written.push(doc);
                    }
                }
                Change::Remove(doc) if state.frozen(doc).is_none() => {
                    self.remove(doc)?;
                    written.push(doc);
                }
                Change::Append(doc, text) if state.frozen(doc).is_none() => {
                    self.append(doc, text)?;
                    written.push(doc);
                }
                Change::Remove(_) | Change::Append(..) => {}
                Change::AddLines(doc, lines) => self.add_lines(doc, lines)?,
                Change::RestoreResults { session_id } => self.restore_results(session_id)?,
                Change::ArchiveResults { session_id, alone } => {
                    self.archive_results(session_id, *alone)?;
                }
            }
        }
        Ok(())
    }

    /// Replaces a document even if it must stay as it is: for a person who has set it aside.
    pub fn overwrite(&self, write: &Write) -> Result<()> {
        self.put(write.doc(), write.pieces())
    }

    fn put(&self, doc: &Doc, pieces: &Pieces) -> Result<()> {
        if pieces.is_blank() {
            let cause = io::Error::other("there is nothing to write");
            return Err(Error::io("write", Path::new(&doc.name()), cause));
        }
        let sync = match self.settings.durability() {
            Durability::None => false,
            Durability::Classed => doc.row.is_durable,
            Durability::Data | Durability::Full => true,
        };
        let (folder, file) = doc.place();
        let folder = self.folders.make(&folder)?;
        self.clear_place(doc)?;
        self.replace(pieces, sync, &folder, &file)?;
        if self.settings.durability() == Durability::Full {
            folder.sync()?;
        }
        self.note_written(doc.name());
        Ok(())
    }

    /// What is in the place of a document and is not this machine's is moved away.
    fn clear_place(&self, doc: &Doc) -> Result<()> {
        self.clear_path(&doc.below_claude())
    }

    fn clear_path(&self, path: &str) -> Result<()> {
        if let Some(room) = self.folders.clear_place(path)? {
            self.remark_untrusted(&room);
        }
        Ok(())
    }

    /// Puts bytes in the place of a file, atomically.
    fn replace(&self, pieces: &Pieces, sync: bool, folder: &Dir, file: &str) -> Result<()> {
        let state = &self.folders.state;
        let content: Vec<&[u8]> = pieces.slices().collect();
        state.write_and(NEW, &content, sync, || state.replace(NEW, folder, file))
    }

    fn remove(&self, doc: &Doc) -> Result<()> {
        let (folder, file) = doc.place();
        if let Some(folder) = self.folders.find(&folder)? {
            folder.remove(&file)?;
            self.note_written(format!("-{}", doc.name()));
        }
        Ok(())
    }

    /// Adds to the end of a text, and syncs: what stands there is primary.
    fn append(&self, doc: &Doc, text: &str) -> Result<()> {
        let (folder, file) = doc.place();
        let folder = self.folders.make(&folder)?;
        self.clear_place(doc)?;
        folder.append_lines(&file, text.as_bytes())?;
        if self.settings.durability() != Durability::None {
            folder.sync_file(&file)?;
        }
        self.note_written(doc.name());
        Ok(())
    }
}

impl Source for Store {
    fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.folders.read(path)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.folders.names(folder)
    }

    fn has_folder(&self, folder: &str) -> Result<bool> {
        Ok(self.folders.find(folder)?.is_some())
    }

    fn put_aside(&self, doc: &Doc, _: &str) -> Result<Aside> {
        let (folder, _) = doc.place();
        let gone = || Error::io("open", self.folders.state.path(), io::ErrorKind::NotFound);
        let folder = self.folders.find(&folder)?.ok_or_else(gone)?;
        let name = quarantine::put(&self.folders.state, &folder, &doc.name(), self.now.get())?;
        self.note_written(format!("quarantine/{name}"));
        Ok(Aside::Moved(name))
    }

    fn modified(&self, path: &str) -> i64 {
        self.folders.modified(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        self.folders.is_folder(path) && self.folders.believes(path)
    }

    fn believes(&self, path: &str) -> bool {
        self.folders.believes(path)
    }

    fn has_begun(&self, the_loop: &str) -> bool {
        self.folders.has_begun(the_loop)
    }
}

/// Removes what a killed process may have left behind. If somebody planted a directory at a
/// document's name, the exchange has brought it here. One with something in it is kept; the room
/// that has it.
fn sweep(state: &Dir) -> Result<Option<String>> {
    if state.remove(NEW).is_ok() {
        return Ok(None);
    }
    state.remove_empty(NEW)?;
    match state.exists(NEW)? {
        true => untrusted::put_odd_away(state, &[home::move_odd_entry(state, NEW)?]),
        false => Ok(None),
    }
}
