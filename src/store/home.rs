//! Where the state lives: finding `.claude/state`, making it, and its lock file.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::core::error::{Error, Result};
use crate::core::settings::Settings;
use crate::store::dir::Dir;

pub const LOCK: &str = ".lock";
/// What of ours may be in `.claude` beside the state.
pub const BESIDE: [&str; 3] = ["branches", "iterative", "autonomous-loop.json"];
/// Our own settings, beside the client's.
pub const SETTINGS: &str = "hookkeeper.json";

/// Every hook reads them.
const LARGEST_SETTINGS: u64 = 64 << 10;

/// Opens `.claude/state` below a project's root, and makes it if need be.
pub fn open(root: &Path, home: Option<&Path>) -> Result<(Dir, Dir)> {
    let claude = claude_dir(root, home)?;
    let state = claude.make("state")?;
    Ok((claude, state))
}

/// The lock file, made by whoever comes first.
pub fn lock_file(state: &Dir) -> Result<File> {
    match state.open_lock(LOCK)? {
        Some(file) => Ok(file),
        None => first_lock(state),
    }
}

/// `.claude`, which may be a symlink if it leads to somewhere in the project or in the home
/// directory (people keep it in a dotfiles repository).
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
    let real = path.canonicalize().map_err(|error| Error::io("resolve", &path, error))?;
    let inside = |dir: &Path| dir.canonicalize().is_ok_and(|dir| real.starts_with(dir));
    if inside(root) || home.is_some_and(inside) {
        return Ok(Some(Dir::open(&real)?.for_its_owner()));
    }
    Err(Error::Planted { path, is: "a symlink out of the project and the home directory" })
}

/// Nobody has used this state directory yet: hide it from git, then make the lock.
fn first_lock(state: &Dir) -> Result<File> {
    hide(state)?;
    make_lock(state, LOCK)
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

/// The project's settings, and what is wrong with them. A file that cannot be read is a bad one.
pub fn settings(claude: &Dir) -> (Settings, Option<String>) {
    match claude.read_up_to(SETTINGS, LARGEST_SETTINGS) {
        Ok(None) => (Settings::default(), None),
        Ok(Some(bytes)) => Settings::read(&bytes),
        Err(error) => (Settings::default(), Some(error.to_string())),
    }
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
