//! The state directory as a doctor sees it: nothing is made, nothing is changed, and whatever is
//! wrong is an answer, not a failure.

use std::path::Path;
use std::rc::Rc;

use crate::core::error::{Error, Result};
use crate::core::journal::Entry;
use crate::core::settings::layers::{Fault, Layers, Remark};
use crate::core::settings::table::TABLE;
use crate::session::live::Live;
use crate::session::record::lives;
use crate::store::NEW;
use crate::store::dir::{Dir, Standing};
use crate::store::home::{self, IGNORE, LOCK};
use crate::store::journal::{self, Journal};
use crate::store::lock::{self, Taken};
use crate::store::origin::Origin;
use crate::store::untrusted;
use crate::store::view::View;

#[derive(Default)]
pub struct Survey {
    pub place: StatePlace,
    pub lock: LockFile,
    /// What is there was not made on this machine.
    pub is_foreign: bool,
    /// Where such things are kept that were moved away.
    pub rooms: Vec<String>,
    /// There is a `.gitignore` in it.
    pub hidden: bool,
    pub options: Options,
    pub quarantine: Vec<String>,
    pub rejected: Vec<String>,
    pub spool: Vec<String>,
    pub lives: Vec<Live>,
    /// The newest hook runs, newest first.
    pub runs: Vec<Entry>,
}

#[derive(Default)]
pub enum StatePlace {
    #[default]
    Unknown,
    NotYet {
        can_make: bool,
    },
    There {
        ours: bool,
        writable: bool,
        /// Others may write to it.
        open: bool,
    },
    Bad(String),
    /// A link that git tracks.
    TrackedLink(String),
}

#[derive(Default)]
pub enum LockFile {
    #[default]
    None,
    Free,
    Held,
    Bad(String),
}

/// `.claude/hookkeeper.json`
#[derive(Default)]
pub struct Options {
    pub exists: bool,
    pub wrong: Option<String>,
    /// What else is in it and does not hold: misspelt keys, those of a newer version, and what a file
    /// that came with a checkout may not set.
    pub remarks: Vec<Remark>,
}

const RUNS: usize = 1000;

pub fn survey(root: &Path, home: Option<&Path>) -> Survey {
    let mut seen = Survey::default();
    let claude = match home::existing_claude_dir(root, home) {
        Ok(Some(claude)) => claude,
        Ok(None) => {
            seen.place = StatePlace::NotYet { can_make: writable(root) };
            return seen;
        }
        Err(error @ Error::TrackedLink { .. }) => {
            seen.place = StatePlace::TrackedLink(error.to_string());
            return seen;
        }
        Err(error) => {
            seen.place = StatePlace::Bad(error.to_string());
            return seen;
        }
    };
    seen.options.exists = !matches!(claude.read(home::SETTINGS), Ok(None));
    seen.options.wrong = home::current_settings(root, home).ok().and_then(|found| found.1);
    seen.options.remarks = option_remarks(root, home);
    let state = match claude.sub("state") {
        Ok(Some(state)) => state,
        Ok(None) => {
            seen.place = StatePlace::NotYet { can_make: writable(claude.path()) };
            return seen;
        }
        Err(error) => {
            seen.place = StatePlace::Bad(error.to_string());
            return seen;
        }
    };
    seen.place = place(&state);
    seen.lock = lock_file(&state);
    seen.hidden = matches!(state.read(".gitignore"), Ok(Some(_)));
    seen.rooms = state.names().unwrap_or_default();
    seen.rooms.retain(|name| untrusted::is_room(name));
    if matches!(Origin::peek(&state), Ok(None)) {
        let is_bad = matches!(seen.lock, LockFile::Bad(_));
        seen.is_foreign = !is_bad
            && state.names().is_ok_and(|names| {
                names.iter().any(|name| !matches!(name.as_str(), LOCK | IGNORE | NEW))
            });
        return seen;
    }
    let names = |room: &str| {
        let names = state.sub(room).ok().flatten().and_then(|room| room.names().ok());
        names.unwrap_or_default()
    };
    seen.quarantine = names("quarantine");
    seen.rejected = names("rejected");
    seen.spool = names("spool");
    // What a process that is spooling right now has not finished yet does not wait.
    seen.spool.retain(|name| !name.starts_with('.'));
    seen.lives = View::open(root, home).ok().flatten().map(|view| lives(&view)).unwrap_or_default();
    let journal = Journal::new(state.sub(journal::FOLDER).map(|folder| folder.map(Rc::new)));
    seen.runs = journal.newest_first().filter(Entry::is_run).take(RUNS).collect();
    seen
}

fn option_remarks(root: &Path, home: Option<&Path>) -> Vec<Remark> {
    let Ok(Some((bytes, trust))) = home::current_bytes(root, home) else { return Vec::new() };
    let project = Some(bytes.as_slice());
    let layers = Layers { table: TABLE, user: None, project, trust, env: &|_| None };
    let mut remarks = layers.resolve().remarks;
    // What is wrong is said already.
    remarks.retain(|remark| !matches!(remark.what, Fault::Wrong(_) | Fault::ForPersons));
    remarks
}

/// Hides the state directory from git, if there is one.
pub fn hide_from_git(root: &Path, home: Option<&Path>) -> Result<()> {
    let Some(claude) = home::existing_claude_dir(root, home)? else { return Ok(()) };
    let Some(state) = claude.sub("state")? else { return Ok(()) };
    home::hide_from_git(&state)
}

fn place(state: &Dir) -> StatePlace {
    match state.standing() {
        Ok(Standing { ours, writable, open }) => StatePlace::There { ours, writable, open },
        Err(error) => StatePlace::Bad(format!("{}: {error}", state.path().display())),
    }
}

fn writable(dir: &Path) -> bool {
    Dir::may_write_at(dir)
}

/// Taken and let go of again, as a hook would.
fn lock_file(state: &Dir) -> LockFile {
    let bad = |why: &str| LockFile::Bad(format!("{}: {why}", state.path_of(LOCK).display()));
    let file = match state.open_lock(LOCK) {
        Ok(Some(file)) => file,
        Ok(None) => return LockFile::None,
        Err(error) => return LockFile::Bad(error.to_string()),
    };
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return bad("it is not a plain file");
    }
    match lock::acquire(file) {
        Ok(Taken::Yes(_)) => LockFile::Free,
        Ok(Taken::Busy) => LockFile::Held,
        Err(error) => bad(&error.to_string()),
    }
}
