//! `quarantine/`: documents of ours that could not be read, moved out of the way under the lock.

use crate::error::Result;
use crate::store::dir::Dir;
use crate::store::layout::Doc;
use crate::time::{self, Time};

/// Copies of one document.
const COPIES: usize = 3;

/// Moves a document away and gives its new name.
pub fn put(state: &Dir, room: &Dir, doc: &Doc, now: Time) -> Result<String> {
    let quarantine = state.make("quarantine")?;
    let prefix = format!("{}.", doc.name().replace('/', "-"));
    let name = format!("{prefix}{}", time::stamp(now));
    room.rename(&doc.file(), &quarantine, &name)?;
    let names = quarantine.names()?;
    let copies: Vec<&String> = names.iter().filter(|have| have.starts_with(&prefix)).collect();
    for old in copies.iter().take(copies.len().saturating_sub(COPIES)) {
        quarantine.remove(old)?;
    }
    Ok(name)
}
