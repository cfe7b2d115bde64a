//! The disk under a directory.

use std::path::{Component, Path, Prefix};

/// Bytes that a user may still write there.
pub fn free(dir: &Path) -> Option<u64> {
    fs2::available_space(dir).ok()
}

/// Whether it is another machine's, by its name; a share that has a letter is not seen.
pub fn network(dir: &Path) -> Option<&'static str> {
    let whole = dir.canonicalize().ok()?;
    match whole.components().next()? {
        Component::Prefix(prefix) => match prefix.kind() {
            Prefix::UNC(..) | Prefix::VerbatimUNC(..) => Some("SMB"),
            _ => None,
        },
        _ => None,
    }
}
