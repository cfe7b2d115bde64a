//! What is not this machine's: found, moved out of the way, and taken up when a person says so.
//!
//! **State without a mark** is moved to `.claude/state/untrusted-N` as a whole, under the lock,
//! entry by entry, so that directory and lock stay the same for who waits. The mark comes last.
//! Nothing there is read before `hookkeeper trust`. For who reads without the lock (`View`) such a
//! directory is no state at all.
//!
//! **What git brings later** (tracked files overwrite ignored ones) is found in git's index at
//! SessionStart and by commands. What is tracked, and has the time and size that git left or is not
//! merged yet, is not believed. In the state directory it is moved away. Beside it, its path is
//! noted in the mark, which all events read. What a person trusted is remembered by git's id of the
//! content (`.trusted`).
//!
//! The user hears once of every room that was made, and `doctor` (HK010) names it.

use std::collections::BTreeSet;

use crate::core::error::{Error, Result};
use crate::git::index::{self, Tracked};
use crate::store::NEW;
use crate::store::dir::Dir;
use crate::store::dir::seen::Seen;
use crate::store::home::{IGNORE, LOCK, SETTINGS, is_moved_odd};
use crate::store::lock::Lock;
use crate::store::origin::{Origin, is_in};

/// Where it is kept: `untrusted-1` and so on, in the state directory, each with paths from `.claude`.
pub const ROOM: &str = "untrusted-";
/// The contents of tracked files that a person has believed: an id of git's on each line.
pub const TRUSTED: &str = ".trusted";
/// Folders in `.claude` with a folder for each branch or task.
const SHELVES: [&str; 2] = ["branches", "iterative"];
pub const PLANS: &str = "plans";
const FILES: [&str; 2] = ["autonomous-loop.json", SETTINGS];

/// A state directory that was not made here is emptied; the room that has what was in it.
pub fn clear(state: &Dir) -> Result<Option<String>> {
    let mut names = state.names()?;
    names.retain(|name| !matches!(name.as_str(), LOCK | IGNORE | NEW));
    if names.is_empty() {
        return Ok(None);
    }
    let (room, to) = new_room(state)?;
    let to = to.make("state")?;
    for name in names {
        state.rename(&name, &to, &name)?;
    }
    Ok(Some(room))
}

/// Moves entries of the state directory to a room that nobody has yet; its name, if there are any.
pub fn put_odd_away(state: &Dir, names: &[String]) -> Result<Option<String>> {
    if names.is_empty() {
        return Ok(None);
    }
    let (room, to) = new_room(state)?;
    let to = to.make("state")?;
    names.iter().try_for_each(|name| state.rename(name, &to, name))?;
    Ok(Some(room))
}

pub fn new_room(state: &Dir) -> Result<(String, Dir)> {
    for n in 1..10_000 {
        let name = format!("{ROOM}{n}");
        if state.seen(&name)?.is_none() {
            let dir = state.make_new(&name)?;
            return Ok((name, dir));
        }
    }
    Err(Error::io("find a free name in", state.path(), std::io::ErrorKind::AlreadyExists))
}

/// What is beside the state and not believed, by paths below `.claude`.
pub fn beside(claude: &Dir, origin: &Origin) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut look = |dir: &Dir, name: &str, path: String| -> Result<()> {
        if dir.seen(name)?.is_some_and(|seen| !origin.believes(&path, &seen)) {
            found.push(path);
        }
        Ok(())
    };
    FILES.iter().try_for_each(|name| look(claude, name, (*name).to_owned()))?;
    for shelf in SHELVES.into_iter().chain([PLANS]) {
        let dir = match claude.sub(shelf) {
            Ok(Some(dir)) => dir,
            // Nobody reads through a link.
            Ok(None) | Err(Error::Planted { .. }) => continue,
            Err(error) => return Err(error),
        };
        let mut names = dir.names()?;
        names.retain(|name| name != IGNORE);
        names.iter().try_for_each(|name| look(&dir, name, format!("{shelf}/{name}")))?;
    }
    Ok(found)
}

/// Whether a path below `.claude` is one that we read.
fn is_ours(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or_default();
    let kept = [format!("state/{LOCK}"), format!("state/{IGNORE}")];
    let is_shelf = top == "state" || top == PLANS || SHELVES.contains(&top);
    (is_shelf || FILES.contains(&path)) && !kept.iter().any(|kept| kept == path)
}

/// What git tracks of ours, is as git brought it, and nobody has believed yet.
pub fn tracked(claude: &Dir, state: &Dir) -> Vec<Tracked> {
    let Ok(real) = claude.path().canonicalize() else { return Vec::new() };
    let mut found = index::tracked_below(&real);
    found.retain(|entry| is_ours(&entry.path));
    if found.is_empty() {
        return found;
    }
    let trusted = state.read(TRUSTED).ok().flatten().unwrap_or_default();
    let trusted: BTreeSet<&[u8]> = trusted.split(|byte| *byte == b'\n').collect();
    found.retain(|entry| {
        let is_trusted = !entry.id.is_empty() && trusted.contains(entry.id.as_bytes());
        !is_trusted && is_as_brought(claude, entry)
    });
    found
}

/// What we or a person have written in its place since is not git's.
fn is_as_brought(claude: &Dir, entry: &Tracked) -> bool {
    let Some(seen) = find(claude, &entry.path) else { return false };
    let same_time = seen.modified.0 as u32 == entry.modified.0
        && (entry.modified.1 == 0 || seen.modified.1 == entry.modified.1);
    seen.is_dir || entry.is_unmerged || (same_time && seen.size as u32 == entry.size)
}

/// Whether git tracks a file in a directory, and it is as git brought it.
pub fn is_brought(dir: &Dir, name: &str) -> bool {
    let Ok(real) = dir.path().canonicalize() else { return false };
    let mut tracked = index::tracked_below(&real);
    tracked.retain(|entry| entry.path == name);
    tracked.iter().any(|entry| is_as_brought(dir, entry))
}

/// Moves something away, by its path below `.claude`.
pub fn move_to(room: &Dir, claude: &Dir, path: &str) -> Result<()> {
    let (folder, name) = split(path);
    let (mut from, mut to): (Option<Dir>, Option<Dir>) = (None, None);
    for segment in folder.split('/').filter(|segment| !segment.is_empty()) {
        let Some(next) = from.as_ref().unwrap_or(claude).sub(segment)? else { return Ok(()) };
        to = Some(to.as_ref().unwrap_or(room).make(segment)?);
        from = Some(next);
    }
    let from = from.as_ref().unwrap_or(claude);
    match from.seen(name)? {
        Some(_) => from.rename(name, to.as_ref().unwrap_or(room), name),
        None => Ok(()),
    }
}

/// Something that waits for a person to say whose it is.
#[derive(Debug)]
pub struct Item {
    /// Below `.claude`, as it would be when it is taken up.
    pub path: String,
    pub size: u64,
    pub is_dir: bool,
    pub source: From,
}

#[derive(Clone, Debug, PartialEq)]
pub enum From {
    /// It is where it belongs.
    Place,
    /// It is in this room.
    Room(String),
}

/// All that is not believed: what is in the state's own place, in the rooms, beside, and tracked.
pub fn list(claude: &Dir, state: Option<&Dir>, origin: Option<&Origin>) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    let never = Origin::never();
    for path in beside(claude, origin.unwrap_or(&never))? {
        add(claude, &path, &path, &From::Place, &mut items);
    }
    let Some(state) = state else { return Ok(items) };
    if origin.is_none() {
        let mut names = state.names().unwrap_or_default();
        names.retain(|name| !matches!(name.as_str(), LOCK | IGNORE | NEW) && !is_room(name));
        for name in names {
            add(state, &name, &format!("state/{name}"), &From::Place, &mut items);
        }
    } else {
        for entry in tracked(claude, state) {
            if !items.iter().any(|item| item.path == entry.path) {
                add(claude, &entry.path, &entry.path, &From::Place, &mut items);
            }
        }
    }
    for room in rooms(state) {
        let Ok(Some(dir)) = state.sub(&room) else { continue };
        for name in dir.names().unwrap_or_default() {
            add(&dir, &name, &name, &From::Room(room.clone()), &mut items);
        }
    }
    Ok(items)
}

/// The rooms, the newest first.
fn rooms(state: &Dir) -> Vec<String> {
    let mut rooms = state.names().unwrap_or_default();
    rooms.retain(|name| is_room(name));
    rooms.sort_by_key(|name| std::cmp::Reverse((name.len(), name.clone())));
    rooms
}

pub fn is_room(name: &str) -> bool {
    name.strip_prefix(ROOM).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Adds what is at a path in a directory: files, and what is in folders.
fn add(dir: &Dir, at: &str, path: &str, source: &From, items: &mut Vec<Item>) {
    let (folder, name) = split(at);
    let below = if folder.is_empty() { None } else { dir.below(folder).ok().flatten() };
    let dir = below.as_ref().unwrap_or(dir);
    let Ok(Some(seen)) = dir.seen(name) else { return };
    items.push(Item {
        path: path.to_owned(),
        size: seen.size,
        is_dir: seen.is_dir,
        source: source.clone(),
    });
    if let (true, Ok(Some(sub))) = (seen.is_dir, dir.sub(name)) {
        for name in sub.names().unwrap_or_default() {
            add(&sub, &name, &format!("{path}/{name}"), source, items);
        }
    }
}

/// What a person has chosen to believe, by paths below `.claude`; all of it if none is named.
pub struct Chosen<'a>(pub &'a [String]);

impl Chosen<'_> {
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, path: &str) -> bool {
        self.is_all() || self.0.iter().any(|chosen| is_in(path, chosen))
    }

    /// Or something in it.
    fn concerns(&self, path: &str) -> bool {
        self.has(path) || self.0.iter().any(|chosen| is_in(chosen, path))
    }
}

/// Takes up what is chosen of all that is not believed: what is in its place stays there and is this machine's
/// from now on; what is in a room goes back, unless something is there by now that is ours. What
/// stays in a room is given back.
pub fn take_up(
    claude: &Dir,
    state: &Dir,
    lock: &Lock,
    origin: Option<Origin>,
    chosen: &Chosen,
) -> Result<Vec<String>> {
    let mut origin = match origin {
        Some(origin) => origin,
        None => Origin::make(state, lock, None)?,
    };
    match chosen.is_all() {
        true => origin.forgive_all(),
        false => chosen.0.iter().for_each(|path| {
            origin.forgive(path);
        }),
    }
    let mut found = beside(claude, &origin)?;
    found.retain(|path| chosen.has(path));
    // Folders are made anew, by way of a room: a kill leaves them there for the next try.
    let is_folder = |path: &&String| find(claude, path).is_some_and(|seen| seen.is_dir);
    let mut folders = found.iter().filter(is_folder).peekable();
    if folders.peek().is_some() {
        let (_, room) = new_room(state)?;
        folders.try_for_each(|path| move_to(&room, claude, path))?;
    }
    let mut left = Vec::new();
    for room in rooms(state) {
        let Some(dir) = state.sub(&room)? else { continue };
        bring_back(&dir, claude, "", &room, chosen, &mut left)?;
        state.remove_empty(&room)?;
    }
    let mut ids = state.read(TRUSTED)?.unwrap_or_default();
    let is_meant = |entry: &&Tracked| !entry.id.is_empty() && chosen.has(&entry.path);
    for entry in tracked(claude, state).iter().filter(is_meant) {
        ids.extend_from_slice(format!("{}\n", entry.id).as_bytes());
    }
    if !ids.is_empty() {
        state.remove(TRUSTED)?;
        state.create(TRUSTED, &ids, true)?;
    }
    for path in beside(claude, &origin)?.into_iter().filter(|path| chosen.has(path)) {
        renew(claude, state, &path)?;
    }
    if chosen.is_all() {
        origin.untold.clear();
    }
    origin.write(state, lock)?;
    Ok(left)
}

/// Moves what is in a room to where it belongs, file by file, in folders of here and now.
fn bring_back(
    from: &Dir,
    to: &Dir,
    path: &str,
    room: &str,
    chosen: &Chosen,
    left: &mut Vec<String>,
) -> Result<()> {
    for name in from.names()? {
        let path = format!("{path}{name}");
        if !chosen.concerns(&path) {
            continue;
        }
        // What stood in the place of a file that there is by now.
        if is_moved_odd(&name) {
            left.push(format!(".claude/state/{room}/{path}"));
            continue;
        }
        let there = to.seen(&name)?;
        match from.sub(&name) {
            Ok(Some(inner)) if there.is_none_or(|there| there.is_dir) => {
                let path = format!("{path}/");
                bring_back(&inner, &to.make(&name)?, &path, room, chosen, left)?;
                from.remove_empty(&name)?;
            }
            _ if there.is_none() => from.rename(&name, to, &name)?,
            _ => left.push(format!(".claude/state/{room}/{path}")),
        }
    }
    Ok(())
}

/// Makes a file anew with what is in it, so that it came to be here and now.
fn renew(claude: &Dir, state: &Dir, path: &str) -> Result<()> {
    let (folder, name) = split(path);
    let below = if folder.is_empty() { None } else { claude.below(folder)? };
    let dir = below.as_ref().unwrap_or(claude);
    // A link is never followed, so there is nothing to believe in it.
    let Ok(Some(bytes)) = dir.read(name) else { return Ok(()) };
    state.write_and(NEW, &[&bytes], true, || {
        dir.copy_mode_to(name, state, NEW)?;
        state.rename(NEW, dir, name)
    })
}

/// What is at a path below a directory.
fn find(dir: &Dir, path: &str) -> Option<Seen> {
    let (folder, name) = split(path);
    let below = if folder.is_empty() { None } else { Some(dir.below(folder).ok()??) };
    below.as_ref().unwrap_or(dir).seen(name).ok()?
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
