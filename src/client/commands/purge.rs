//! Deletes what is ours in a project, and in the client's own directory.

use std::path::Path;

use crate::core::error::{Error, Result};
use crate::loops::autonomous::document::Autonomous;
use crate::loops::iterative::folder::TASKS;
use crate::state::Document;
use crate::store::dir::Dir;
use crate::store::home::{SETTINGS, existing_claude_dir, lock_file};
use crate::store::lock::{self, Taken};

/// Deletes the state and our settings of a project; `.claude` too if nothing else is in it.
pub fn purge_project(root: &Path, home: Option<&Path>) -> Result<()> {
    let Some(claude) = existing_claude_dir(root, home)? else { return Ok(()) };
    if let Some(state) = claude.sub("state")? {
        let lock = lock::acquire(lock_file(&state)?);
        if !matches!(lock, Ok(Taken::Yes(_))) {
            return Err(Error::Busy);
        }
        claude.remove_tree("state")?;
    }
    claude.remove_tree("branches")?;
    purge_loop(&claude)?;
    purge_tasks(&claude)?;
    claude.remove(SETTINGS)?;
    if root.join(".claude").is_symlink() {
        return Ok(());
    }
    Dir::open(root)?.remove_empty(".claude")
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
