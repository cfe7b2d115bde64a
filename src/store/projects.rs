//! `hookkeeper/projects` in the client's own directory: where HookKeeper has kept state. A file for
//! each project, named by the digest of its path and made once, so that two who write at once do not
//! disturb each other. It is written when a project is new, and is never the reason that something
//! fails.
//!
//! What is in it is a hint: whoever follows a path opens the state there as everywhere else, and
//! believes it only if it was made on this machine.

use std::path::{Path, PathBuf};

use crate::core::error::Result;
use crate::core::id::sha256_hex;
use crate::store::dir::Dir;
use crate::store::home;
use crate::store::settings_file::installs;

pub const FOLDER: &str = "projects";
/// Nobody has more; scratch directories that are gone go with `gc`.
const MOST: usize = 1000;
const LONGEST: usize = 4096;
/// As much of the digest as tells one path from another.
const DIGITS: usize = 32;

/// Notes a project. The client's own directory is not made for it.
pub fn note(client: &Path, root: &Path) {
    let _ = try_note(client, root);
}

fn try_note(client: &Path, root: &Path) -> Result<()> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let Some(path) = root.to_str().filter(|path| is_plausible(path)) else { return Ok(()) };
    let folder = Dir::open(client)?.make(installs::FOLDER)?.make(FOLDER)?;
    home::hide_from_git(&folder)?;
    let names = folder.names()?;
    if names.len() > MOST || names.contains(&file_name(path)) {
        return Ok(());
    }
    folder.create(&file_name(path), path.as_bytes(), false)
}

/// The paths that were noted, in order, whether or not something is there.
pub fn list(client: &Path) -> Vec<PathBuf> {
    let Ok(Some(folder)) = open(client) else { return Vec::new() };
    let mut names = folder.names().unwrap_or_default();
    names.retain(|name| is_name(name));
    names.truncate(MOST);
    let path = |name: &String| {
        let bytes = folder.read_up_to(name, LONGEST as u64).ok()??;
        let path = String::from_utf8(bytes).ok()?;
        // What is torn or was put there by somebody else does not have this name.
        (is_plausible(&path) && file_name(&path) == *name).then(|| PathBuf::from(path))
    };
    let mut paths: Vec<PathBuf> = names.iter().filter_map(path).collect();
    paths.sort();
    paths
}

/// Takes a project out, by the path that it was noted with.
pub fn forget(client: &Path, root: &Path) -> Result<()> {
    let (Some(folder), Some(path)) = (open(client)?, root.to_str()) else { return Ok(()) };
    folder.remove(&file_name(path))
}

/// Whether a project certainly has no state any more. What cannot be looked at may have some.
pub fn is_gone(root: &Path) -> bool {
    matches!(root.join(".claude/state").try_exists(), Ok(false))
}

fn open(client: &Path) -> Result<Option<Dir>> {
    if !client.is_dir() {
        return Ok(None);
    }
    Dir::open(client)?.below(&format!("{}/{FOLDER}", installs::FOLDER))
}

fn is_plausible(path: &str) -> bool {
    path.starts_with('/') && path.len() <= LONGEST && !path.contains('\0')
}

fn file_name(path: &str) -> String {
    sha256_hex(path.as_bytes()).chars().take(DIGITS).collect()
}

fn is_name(name: &str) -> bool {
    name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
