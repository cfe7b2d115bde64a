//! Opening and reading files that are not ours. Whatever is wrong with them, they are just not
//! there: a hook does not fail because a transcript is missing.
#![expect(clippy::disallowed_methods, reason = "facts read what others wrote, and write nothing")]

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A regular file, opened. Pipes and devices could make us wait for ever.
pub fn open(path: &Path) -> Option<File> {
    let is_file = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
    if is_file { File::open(path).ok() } else { None }
}

/// At most the first `most` bytes of a file.
pub fn head(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A small text file, trimmed.
pub fn small(path: &Path) -> Option<String> {
    let text = String::from_utf8(head(path, 64 << 10)?).ok()?;
    Some(text.trim().to_owned())
}
