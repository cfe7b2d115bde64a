//! Deletes what is ours in a project, and in the client's own directory.

use std::path::Path;

use crate::core::error::{Error, Result};
use crate::loops::autonomous::document::Autonomous;
use crate::loops::iterative::folder::TASKS;
use crate::state::Document;
use crate::store::dir::Dir;
use crate::store::home::{SETTINGS, existing_claude_dir};
use crate::store::lock;

/// Where what goes is moved to first, beside the state.
pub const PURGED: &str = ".hookkeeper-purged";

/// Deletes the state and our settings of a project; `.claude` too if nothing else is in it.
///
/// All of it takes another name first, under the lock, the lock last: who waits for that makes new
/// state, and nothing of that is deleted.
pub fn purge_project(root: &Path, home: Option<&Path>) -> Result<()> {
    let Some(claude) = existing_claude_dir(root, home)? else { return Ok(()) };
    let _lock = match claude.sub("state")? {
        Some(_) => lock_state(root, home)?,
        None => None,
    };
    // What a killed purge has left.
    claude.remove_tree(PURGED)?;
    let purged = claude.make_new(PURGED)?;
    purge_loop(&claude)?;
    purge_tasks(&claude)?;
    claude.remove(SETTINGS)?;
    for name in ["branches", "state"] {
        if claude.exists(name)? {
            // What is a mount of its own cannot be moved.
            claude.rename(name, &purged, name).or_else(|_| claude.remove_tree(name))?;
        }
    }
    claude.remove_tree(PURGED)?;
    if root.join(".claude").is_symlink() {
        return Ok(());
    }
    Dir::open(root)?.remove_empty(".claude")
}

/// The state is there, or was a moment ago.
fn lock_state(root: &Path, home: Option<&Path>) -> Result<Option<lock::Lock>> {
    let open = || {
        let claude = existing_claude_dir(root, home)?;
        let state = claude.as_ref().map_or(Ok(None), |claude| claude.sub("state"))?;
        let gone = || Error::io("open", &root.join(".claude/state"), std::io::ErrorKind::NotFound);
        state.map(|state| ((), state)).ok_or_else(gone)
    };
    match lock::acquire_in(lock::PATIENCE, open) {
        Ok((.., Some(lock))) => Ok(Some(lock)),
        Ok((.., None)) => Err(Error::Busy),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Another tool may have a file by that name.
fn purge_loop(claude: &Dir) -> Result<()> {
    let name = Autonomous::doc(&()).below_claude();
    match claude.read(&name)? {
        Some(bytes) if Autonomous::parse(&bytes).is_ok() => claude.remove(&name),
        _ => Ok(()),
    }
}

/// What tasks have produced is the user's: only the empty folder goes.
fn purge_tasks(claude: &Dir) -> Result<()> {
    let Some(tasks) = claude.sub(TASKS)? else { return Ok(()) };
    let mut kept = tasks.names()?;
    kept.retain(|name| name != ".gitignore");
    if let ("archive", Some(archive)) = (kept.concat().as_str(), tasks.sub("archive")?)
        && archive.names()?.is_empty()
    {
        kept.clear();
    }
    if kept.is_empty() { claude.remove_tree(TASKS) } else { Ok(()) }
}

/// Deletes what we keep in the client's own directory.
pub fn purge_client(client: &Path) -> Result<()> {
    if client.is_dir() { Dir::open(client)?.remove_tree("hookkeeper") } else { Ok(()) }
}
