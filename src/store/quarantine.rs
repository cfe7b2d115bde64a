//! `quarantine/`: documents of ours that could not be read, moved out of the way under the lock.

use crate::core::error::Result;
use crate::core::time::{self, Time};
use crate::store::dir::Dir;
use crate::store::rotate::{Age, keep_newest};

/// Copies of one document.
const COPIES: usize = 3;

/// Moves a document away and gives its new name. `path` is below `.claude/state`, `room` is where
/// its last part is.
pub fn put(state: &Dir, room: &Dir, path: &str, now: Time) -> Result<String> {
    let quarantine = state.make("quarantine")?;
    let (prefix, name) = names(path, now);
    room.rename(path.rsplit('/').next().unwrap_or(path), &quarantine, &name)?;
    drop_oldest(&quarantine, &prefix)?;
    Ok(name)
}

/// Keeps a copy of a document that stays, and gives the copy's name.
pub fn copy(state: &Dir, bytes: &[u8], path: &str, now: Time) -> Result<String> {
    let quarantine = state.make("quarantine")?;
    let (prefix, name) = names(path, now);
    quarantine.remove(&name)?;
    quarantine.create(&name, bytes, true)?;
    drop_oldest(&quarantine, &prefix)?;
    Ok(name)
}

fn names(path: &str, now: Time) -> (String, String) {
    let prefix = format!("{}.", path.replace('/', "-"));
    let name = format!("{prefix}{}", time::stamp(now));
    (prefix, name)
}

fn drop_oldest(quarantine: &Dir, prefix: &str) -> Result<()> {
    keep_newest(quarantine, COPIES, Age::ByName, |name| name.starts_with(prefix), Dir::remove)
}
