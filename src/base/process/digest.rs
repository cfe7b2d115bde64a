//! What is in files that are not ours, in a few characters.

use std::fs::Metadata;
use std::path::Path;

use crate::core::id::sha256_hex;
use crate::process::files;

/// A file that is larger is known by its size and time.
const READ: u64 = 4 << 20;
/// So many entries of a folder are looked at, at so many levels.
const ENTRIES: usize = 500;
const DEPTH: usize = 8;
const DIGITS: usize = 16;

/// A digest of what a file, or a folder, has in it; `None` if there is nothing.
pub fn digest(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok()?;
    if found.is_file() {
        return (found.len() > 0).then(|| short(&of_file(path, &found)));
    }
    let mut lines = Vec::new();
    if found.is_dir() {
        of_folder(path, "", DEPTH, &mut lines);
    }
    (!lines.is_empty()).then(|| short(&sha256_hex(lines.join("\n").as_bytes())))
}

fn short(digest: &str) -> String {
    digest.chars().take(DIGITS).collect()
}

fn of_file(path: &Path, found: &Metadata) -> String {
    match files::head(path, READ).filter(|_| found.len() <= READ) {
        Some(bytes) => sha256_hex(&bytes),
        None => sha256_hex(format!("{} {:?}", found.len(), found.modified()).as_bytes()),
    }
}

/// The files below a folder that have something in them, in order. A link leads nowhere: it could
/// lead round in a circle.
fn of_folder(path: &Path, name: &str, depth: usize, lines: &mut Vec<String>) {
    let mut entries = files::entries(path).unwrap_or_default();
    entries.truncate(ENTRIES);
    entries.sort();
    for entry in entries {
        let Ok(found) = std::fs::symlink_metadata(&entry) else { continue };
        let own = entry.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{name}/{own}");
        if found.is_dir() && depth > 0 {
            of_folder(&entry, &name, depth - 1, lines);
        } else if found.is_file() && found.len() > 0 && lines.len() < ENTRIES {
            lines.push(format!("{name} {}", of_file(&entry, &found)));
        }
    }
}
