//! `quarantine/`: documents of ours that could not be read, moved out of the way under the lock.

use crate::core::error::Result;
use crate::core::time::{self, Time};
use crate::store::dir::Dir;
use crate::store::rotate::{Age, first_free, keep_newest, keep_within};

/// Copies of one document.
const COPIES: usize = 3;
/// Of all documents together.
const IN_ALL: usize = 100;
const BYTES: u64 = 64 << 20;

/// Moves a document away and gives its new name. `path` is below `.claude/state`, `room` is where
/// its last part is.
pub fn put(state: &Dir, room: &Dir, path: &str, now: Time) -> Result<String> {
    let quarantine = state.make("quarantine")?;
    let (prefix, name) = names(path, now);
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = first_free(&name, |name| {
        room.rename_new(file, &quarantine, name).map(|()| name.to_owned())
    })?;
    drop_oldest(&quarantine, &prefix, &name)?;
    Ok(name)
}

/// Keeps a copy of a document that stays, and gives the copy's name.
pub fn copy(state: &Dir, bytes: &[u8], path: &str, now: Time) -> Result<String> {
    let quarantine = state.make("quarantine")?;
    let (prefix, name) = names(path, now);
    let name =
        first_free(&name, |name| quarantine.create(name, bytes, true).map(|()| name.to_owned()))?;
    drop_oldest(&quarantine, &prefix, &name)?;
    Ok(name)
}

fn names(path: &str, now: Time) -> (String, String) {
    let prefix = format!("{}.", path.replace('/', "-"));
    let name = format!("{prefix}{}", time::stamp(now));
    (prefix, name)
}

fn drop_oldest(quarantine: &Dir, prefix: &str, just: &str) -> Result<()> {
    let is_copy = |name: &str| name.starts_with(prefix);
    keep_newest(quarantine, COPIES, Age::ByName, just, is_copy, Dir::remove_any)?;
    keep_within(quarantine, IN_ALL, BYTES, just)
}
