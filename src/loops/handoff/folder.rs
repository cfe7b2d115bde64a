//! The hand-offs of a branch: all of them, and those that nobody was told of yet.

use crate::branch::folder::BRANCHES;
use crate::core::error::Result;
use crate::core::id::BranchKey;
use crate::handoff::file::{self, HandoffFile};
use crate::state::Source;
use crate::store::Store;

/// Those that are looked at: the last ones by name, which has their day.
const MOST: usize = 200;

fn folder(key: &BranchKey) -> String {
    format!("{BRANCHES}/{}/handoffs", key.as_str())
}

/// The hand-offs of a branch, the oldest first.
pub fn read_all(source: &dyn Source, key: &BranchKey) -> Vec<HandoffFile> {
    let folder = folder(key);
    let mut names = source.names(&folder).unwrap_or_default();
    names.retain(|name| name.ends_with(".md"));
    let read = |name: &String| {
        let bytes = source.bytes(&format!("{folder}/{name}")).ok()??;
        Some(HandoffFile::parse(name, &String::from_utf8_lossy(&bytes)))
    };
    let skip = names.len().saturating_sub(MOST);
    let mut found: Vec<HandoffFile> = names.iter().skip(skip).filter_map(read).collect();
    file::sort(&mut found);
    found
}

/// Gives a hand-off another status.
pub fn set_handoff_status(store: &Store, key: &BranchKey, name: &str, status: &str) -> Result<()> {
    let folder = folder(key);
    let bytes = store.bytes(&format!("{folder}/{name}"))?.unwrap_or_default();
    let text = file::with_status(&String::from_utf8_lossy(&bytes), status);
    store.replace_text(&folder, name, &text)
}
