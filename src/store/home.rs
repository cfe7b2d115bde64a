//! Where the state lives: finding `.claude/state`, making it, and its lock file.
//!
//! A `.claude` that is a link is asked about in git's index whenever it is opened, at every event;
//! only then. One that git tracks is not followed, and one event of a session says so. Nor is one
//! where the index does not tell.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::core::error::{Error, Result};
use crate::core::settings::Settings;
use crate::core::settings::table::Trust;
use crate::git::index;
use crate::store::NEW;
use crate::store::dir::Dir;
use crate::store::lock::{self, Lock, Taken};
use crate::store::origin::Origin;
use crate::store::rotate::first_free;
use crate::store::untrusted::{self, Chosen};

pub const LOCK: &str = ".lock";
pub const IGNORE: &str = ".gitignore";
/// Our own settings, beside the client's.
pub const SETTINGS: &str = "hookkeeper.json";

/// What comes after the name of something that was moved aside.
pub const ODD: &str = ".odd";
const MOST_ODD: usize = 8;
const UNCLEAR_LINK: &str =
    "a symlink, and git's index cannot be read, which says whether it came with the checkout";

/// Every hook reads them.
pub const LARGEST_SETTINGS: u64 = 64 << 10;

/// Opens `.claude/state` below a project's root, and makes it if need be.
pub fn open(root: &Path, home: Option<&Path>) -> Result<(Dir, Dir)> {
    let claude = claude_dir(root, home)?;
    let state = claude.make("state")?;
    Ok((claude, state))
}

/// The state directory, locked. What is in it was made here.
pub struct Home {
    pub claude: Dir,
    pub state: Dir,
    pub lock: Lock,
    pub origin: Origin,
    /// There was no state of this machine's before.
    pub is_new: bool,
}

pub enum Entered {
    Locked(Box<Home>),
    /// The lock was not to be had: `.claude` and the state directory.
    Busy(Dir, Dir),
}

/// Opens `.claude/state`, locks it, and sees to it that it is this machine's. What is no file in the
/// place of one that this needs is moved aside.
pub fn enter(root: &Path, home: Option<&Path>, patience: Duration) -> Result<Entered> {
    let mut odd = Vec::new();
    loop {
        match try_enter(root, home, patience, &odd) {
            // Only a process that plants again and again comes to the limit.
            Err(error) if odd.len() < MOST_ODD => {
                let moved = move_odd(root, home, patience)?;
                if moved.is_empty() {
                    return Err(error);
                }
                odd.extend(moved);
            }
            other => return other,
        }
    }
}

/// Entries of the state that are no files and have the names of files without which nothing can be
/// written; by the names that they have then.
fn move_odd(root: &Path, home: Option<&Path>, patience: Duration) -> Result<Vec<String>> {
    let claude = existing_claude_dir(root, home)?;
    let state = claude.map_or(Ok(None), |claude| claude.sub("state"))?;
    let Some(state) = state.filter(|state| [LOCK, NEW].iter().any(|name| state.is_odd(name)))
    else {
        return Ok(Vec::new());
    };
    // Who has a lock has the directory's too, where there is such a thing.
    let failed = |error| Error::io("lock", state.path(), error);
    let held = state.lockable()?.map(|dir| lock::acquire_for(dir, patience));
    let _held = match held.transpose().map_err(failed)? {
        Some(Taken::Busy) => return Err(Error::Busy),
        Some(Taken::Yes(lock)) => Some(lock),
        None => None,
    };
    let odd = [LOCK, NEW].into_iter().filter(|name| state.is_odd(name));
    odd.map(|name| move_odd_entry(&state, name)).collect()
}

/// Gives something another name, beside its own.
pub fn move_odd_entry(state: &Dir, name: &str) -> Result<String> {
    first_free(&format!("{name}{ODD}"), |free| {
        state.rename_new(name, state, free).map(|()| free.to_owned())
    })
}

/// Whether something has the name that odd entries get.
pub fn is_moved_odd(name: &str) -> bool {
    [LOCK, NEW].iter().any(|file| name.strip_prefix(file).is_some_and(|end| end.starts_with(ODD)))
}

/// Moves odd entries to a room, those too that a killed process has only given another name; by the
/// names that they have there.
pub fn clear_odd(root: &Path, home: Option<&Path>, patience: Duration) -> Result<Vec<String>> {
    move_odd(root, home, patience)?;
    let claude = existing_claude_dir(root, home)?;
    let state = claude.map_or(Ok(None), |claude| claude.sub("state"))?;
    let mut names = state.map_or(Ok(Vec::new()), |state| state.names())?;
    names.retain(|name| is_moved_odd(name));
    if names.is_empty() {
        return Ok(names);
    }
    let Entered::Locked(home) = enter(root, home, patience)? else { return Err(Error::Busy) };
    // A state without a mark has been emptied by now.
    let left: Vec<String> = names.iter().filter(|name| home.state.is_odd(name)).cloned().collect();
    untrusted::put_odd_away(&home.state, &left)?;
    Ok(names)
}

/// `odd` are entries of the state that were moved aside.
fn try_enter(
    root: &Path,
    home: Option<&Path>,
    patience: Duration,
    odd: &[String],
) -> Result<Entered> {
    let (claude, state, lock) = lock::acquire_in(patience, || open(root, home))?;
    let Some(lock) = lock else { return Ok(Entered::Busy(claude, state)) };
    let known = Origin::read(&state, lock.file())?;
    let is_new = known.is_none();
    let origin = match known {
        Some(mut origin) => {
            origin.follow_clock(&claude, &state, &lock)?;
            if origin.is_unmarked {
                origin.write(&state, &lock)?;
            }
            origin.untold.extend(untrusted::put_odd_away(&state, odd)?);
            origin
        }
        None => {
            let room = untrusted::clear(&state)?;
            Origin::make(&state, &lock, room)?
        }
    };
    Ok(Entered::Locked(Box::new(Home { claude, state, lock, origin, is_new })))
}

/// A person believes what is there: see [`untrusted::take_up`].
pub fn take_up(root: &Path, home: Option<&Path>, chosen: &Chosen) -> Result<Vec<String>> {
    if !chosen.is_all() {
        // What is not chosen has to be out of the way before there is a mark.
        let Entered::Locked(home) = enter(root, home, lock::PATIENCE)? else {
            return Err(Error::Busy);
        };
        let Home { claude, state, lock, origin, .. } = *home;
        return untrusted::take_up(&claude, &state, &lock, Some(origin), chosen);
    }
    let (claude, state, Some(lock)) = lock::acquire_in(lock::PATIENCE, || open(root, home))? else {
        return Err(Error::Busy);
    };
    let origin = Origin::read(&state, lock.file())?;
    untrusted::take_up(&claude, &state, &lock, origin, chosen)
}

/// The lock file, made by whoever comes first.
pub fn lock_file(state: &Dir) -> Result<File> {
    match state.open_lock(LOCK)? {
        Some(file) => Ok(file),
        None => make_lock(state, LOCK),
    }
}

/// `.claude`, which may be a symlink if it leads to somewhere in the project or in the home
/// directory (people keep it in a dotfiles repository), and a person has made it: one that came with
/// a checkout could lead to another project's state.
fn claude_dir(root: &Path, home: Option<&Path>) -> Result<Dir> {
    match existing_claude_dir(root, home)? {
        Some(dir) => Ok(dir),
        // The directory is the project's, and its settings are shared: no secret of ours.
        None => Ok(Dir::open(root)?.for_its_owner().make_usual(".claude")?.for_its_owner()),
    }
}

/// The project's `.claude`, if it exists.
pub fn existing_claude_dir(root: &Path, home: Option<&Path>) -> Result<Option<Dir>> {
    let root_dir = Dir::open(root)?;
    match root_dir.sub(".claude") {
        Err(_) if root_dir.is_symlink(".claude") => {}
        other => return Ok(other?.map(Dir::for_its_owner)),
    }
    let path = root.join(".claude");
    let named = root.canonicalize().map_err(|error| Error::io("resolve", root, error))?;
    match index::is_tracked(&named, ".claude") {
        Some(false) => {}
        Some(true) => return Err(Error::TrackedLink { path }),
        None => return Err(Error::Planted { path, is: UNCLEAR_LINK }),
    }
    let real = path.canonicalize().map_err(|error| Error::io("resolve", &path, error))?;
    let inside = |dir: &Path| dir.canonicalize().is_ok_and(|dir| real.starts_with(dir));
    if inside(root) || home.is_some_and(inside) {
        return Ok(Some(Dir::open(&real)?.for_its_owner()));
    }
    Err(Error::Planted { path, is: "a symlink out of the project and the home directory" })
}

/// Makes a lock file, or opens the one that somebody made in the meantime.
pub fn make_lock(dir: &Dir, name: &str) -> Result<File> {
    match dir.create(name, b"", false) {
        Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    let missing = || Error::io("open the lock", &dir.path_of(name), io::ErrorKind::NotFound);
    dir.open_lock(name)?.ok_or_else(missing)
}

/// The project's settings, and what is wrong with them. A file that cannot be read is a bad one; of
/// one that was not made here only that holds which can do no harm.
pub fn settings(claude: &Dir, origin: Option<&Origin>) -> (Settings, Option<String>) {
    match read_settings(claude, origin) {
        Ok(None) => (Settings::default(), None),
        Ok(Some((bytes, Trust::Harmless))) => Settings::read_harmless(&bytes),
        Ok(Some((bytes, _))) => Settings::read(&bytes),
        Err(error) => (Settings::default(), Some(error.to_string())),
    }
}

/// The bytes of the project's settings, and how far they are believed.
fn read_settings(claude: &Dir, origin: Option<&Origin>) -> Result<Option<(Vec<u8>, Trust)>> {
    let Some(bytes) = claude.read_up_to(SETTINGS, LARGEST_SETTINGS)? else { return Ok(None) };
    let is_believed = origin.is_some_and(|origin| believes_settings(claude, origin));
    Ok(Some((bytes, if is_believed { Trust::Own } else { Trust::Harmless })))
}

fn believes_settings(claude: &Dir, origin: &Origin) -> bool {
    claude.seen(SETTINGS).ok().flatten().is_some_and(|seen| origin.believes(SETTINGS, &seen))
}

/// Whether the project's settings were made on this machine. Without a state nothing proves it.
pub fn made_settings(claude: &Dir) -> Result<bool> {
    let state = claude.sub("state")?;
    let origin = state.as_ref().map_or(Ok(None), Origin::peek)?;
    Ok(origin.is_some_and(|origin| believes_settings(claude, &origin)))
}

/// The settings that hold, for who has not opened anything.
pub fn current_settings(root: &Path, home: Option<&Path>) -> Result<(Settings, Option<String>)> {
    let Some((claude, origin)) = claude_and_origin(root, home)? else {
        return Ok(Default::default());
    };
    Ok(settings(&claude, origin.as_ref()))
}

/// The bytes behind [`current_settings`], and how far they are believed.
pub fn current_bytes(root: &Path, home: Option<&Path>) -> Result<Option<(Vec<u8>, Trust)>> {
    let Some((claude, origin)) = claude_and_origin(root, home)? else { return Ok(None) };
    read_settings(&claude, origin.as_ref())
}

fn claude_and_origin(root: &Path, home: Option<&Path>) -> Result<Option<(Dir, Option<Origin>)>> {
    let Some(claude) = existing_claude_dir(root, home)? else { return Ok(None) };
    let state = claude.sub("state")?;
    let origin = state.as_ref().map_or(Ok(None), Origin::peek)?;
    Ok(Some((claude, origin)))
}

/// Whether there is state that was not made here: in its place, or in a room.
pub fn has_unbelieved(root: &Path, home: Option<&Path>) -> bool {
    let Ok(Some((claude, origin))) = claude_and_origin(root, home) else { return false };
    let names = claude.sub("state").ok().flatten().and_then(|state| state.names().ok());
    let is_ours = |name: &str| matches!(name, LOCK | IGNORE | NEW);
    names
        .unwrap_or_default()
        .iter()
        .any(|name| untrusted::is_room(name) || origin.is_none() && !is_ours(name))
}

/// Hides a directory of ours from git.
pub fn hide_from_git(state: &Dir) -> Result<()> {
    if state.read(IGNORE)?.is_some() {
        return Ok(());
    }
    match state.create(IGNORE, b"*\n", false) {
        Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
