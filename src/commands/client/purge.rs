//! Deletes what is ours in a project, and in the client's own directory: files by their names, then
//! the folders that are empty. What is not ours stays, and is said.

use std::path::Path;

use crate::core::error::{Error, Result};
use crate::loops::autonomous::document::Autonomous;
use crate::loops::iterative::folder::TASKS;
use crate::state::Document;
use crate::store::dir::Dir;
use crate::store::home::{LOCK, SETTINGS, clear_odd, existing_claude_dir, made_settings};
use crate::store::lock;
use crate::store::projects;
use crate::store::settings_file::installs;
use crate::validate::place::{is_our_folder, is_ours};

/// Where what goes is moved to first, beside the state.
pub const PURGED: &str = ".hookkeeper-purged";

/// Folders of ours below `.claude`. The lock is in the last one: who waits for it finds nothing
/// that is half gone.
const FOLDERS: [&str; 2] = ["branches", "state"];

/// Whether it is done, or only said what would be.
#[derive(Clone, Copy, PartialEq)]
pub enum Mode {
    Do,
    Preview,
}

/// Deletes the state and our settings of a project; `.claude` too if nothing else is in it. Gives
/// the paths below `.claude` of what is not ours and stays. Settings that git has or that came with
/// a checkout are the team's.
///
/// All of it takes another name first, under the lock: who waits for that makes new state, and
/// nothing of that is deleted.
pub fn purge_project(
    root: &Path,
    home: Option<&Path>,
    has_git_settings: bool,
    mode: Mode,
) -> Result<Vec<String>> {
    let mut kept = Vec::new();
    let Some(claude) = existing_claude_dir(root, home)? else { return Ok(kept) };
    if root.join(".claude").is_symlink() {
        let path = root.join(".claude");
        return Err(Error::Planted { path, is: "a link; nothing is deleted through it" });
    }
    let keeps_settings = claude.exists(SETTINGS)? && (has_git_settings || !made_settings(&claude)?);
    if keeps_settings {
        kept.push(SETTINGS.to_owned());
    }
    if mode == Mode::Preview {
        for name in FOLDERS {
            purge_folder(&claude, name, name, mode, &mut kept)?;
        }
        return Ok(kept);
    }
    let lock = match claude.sub("state")? {
        Some(_) => {
            clear_odd(root, home, lock::PATIENCE)?;
            lock_state(root, home)?
        }
        None => None,
    };
    // What a killed purge has left.
    purge_moved(&claude, PURGED, &mut kept)?;
    let room = free_name(&claude)?;
    let purged = claude.make_new(&room)?;
    purge_loop(&claude)?;
    purge_tasks(&claude)?;
    if !keeps_settings {
        claude.remove(SETTINGS)?;
    }
    for name in FOLDERS {
        // What is a mount of its own cannot be moved, nor, on Windows, what the lock is in.
        if claude.exists(name)? && claude.rename_new(name, &purged, name).is_err() {
            purge_folder(&claude, name, name, mode, &mut kept)?;
        }
    }
    drop(purged);
    purge_moved(&claude, &room, &mut kept)?;
    if cfg!(windows) {
        // There a file that is removed keeps its folder until nobody has it open.
        drop(lock);
        purge_moved(&claude, &room, &mut Vec::new())?;
        claude.remove_empty("state")?;
    }
    drop(claude);
    Dir::open(root)?.remove_empty(".claude")?;
    Ok(kept)
}

/// What an earlier purge could not put back has the name itself.
fn free_name(claude: &Dir) -> Result<String> {
    let mut name = PURGED.to_owned();
    let mut number = 1;
    while claude.exists(&name)? {
        number += 1;
        name = format!("{PURGED}-{number}");
    }
    Ok(name)
}

/// Deletes what is ours of what was moved away. The rest goes back, unless somebody has made that
/// folder anew.
fn purge_moved(claude: &Dir, room: &str, kept: &mut Vec<String>) -> Result<()> {
    let Some(purged) = claude.sub(room)? else { return Ok(()) };
    for name in purged.names()? {
        let mut left = Vec::new();
        purge_folder(&purged, &name, &name, Mode::Do, &mut left)?;
        let is_back = !left.is_empty() && purged.rename_new(&name, claude, &name).is_ok();
        let place = |path| if is_back { path } else { format!("{room}/{path}") };
        kept.extend(left.into_iter().map(place));
    }
    drop(purged);
    claude.remove_empty(room)
}

/// Deletes what is ours in a folder, and the folder if nothing else is in it. `path` is what it is
/// called below `.claude`.
fn purge_folder(
    holder: &Dir,
    name: &str,
    path: &str,
    mode: Mode,
    kept: &mut Vec<String>,
) -> Result<()> {
    let Some(dir) = holder.sub(name)? else { return Ok(()) };
    let mut names = dir.names()?;
    // The lock goes last: who waits for it finds nothing that is half gone.
    names.sort_by_key(|name| name == LOCK);
    for name in names {
        let below = format!("{path}/{name}");
        match dir.is_dir(&name) {
            true if is_our_folder(&below) => purge_folder(&dir, &name, &below, mode, kept)?,
            false if is_ours(&below) => match mode {
                Mode::Do => dir.remove(&name)?,
                Mode::Preview => {}
            },
            _ => kept.push(below),
        }
    }
    drop(dir);
    match mode {
        Mode::Do => holder.remove_empty(name),
        Mode::Preview => Ok(()),
    }
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

/// Deletes what we keep in the client's own directory, which is laid out as the state is. Gives what
/// stays there.
pub fn purge_client(client: &Path, mode: Mode) -> Result<Vec<String>> {
    let mut kept = Vec::new();
    if !client.is_dir() {
        return Ok(kept);
    }
    let client = Dir::open(client)?;
    if mode == Mode::Do {
        client.remove(SETTINGS)?;
    }
    if let (Some(own), Mode::Do) = (client.sub(installs::FOLDER)?, mode) {
        own.remove(installs::FILE)?;
        own.remove_tree(projects::FOLDER)?;
    }
    purge_folder(&client, installs::FOLDER, "state", mode, &mut kept)?;
    let below = |path: &String| path.strip_prefix("state/").unwrap_or(path).to_owned();
    let mut kept: Vec<String> = kept.iter().map(below).collect();
    kept.retain(|name| name != installs::FILE && !name.starts_with(projects::FOLDER));
    Ok(kept)
}
