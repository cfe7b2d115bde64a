//! Opening and reading files that are not ours. Whatever is wrong with them, they are just not
//! there: a hook does not fail because a transcript is missing.
#![expect(clippy::disallowed_methods, reason = "facts read what others wrote, and write nothing")]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A regular file, opened. Pipes and devices could make us wait for ever.
pub fn open(path: &Path) -> Option<File> {
    let is_file = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
    if is_file { File::open(path).ok() } else { None }
}

/// Whether there is something at a path, if only a link.
pub fn is_there(path: &Path) -> bool {
    !path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// When a file was last written to.
pub fn modified(path: &Path) -> Option<crate::core::time::Time> {
    std::fs::metadata(path).ok()?.modified().ok().map(crate::core::time::Time::from)
}

/// All of a file, however long, for commands that a person gave it to.
pub fn read_all(path: &Path) -> std::io::Result<Vec<u8>> {
    match std::fs::metadata(path)?.is_file() {
        true => std::fs::read(path),
        false => Err(std::io::Error::other("it is not a file")),
    }
}

pub use crate::process::system::entries;

/// A path as people and other programs write it: Windows puts `\\?\` before a path that it has
/// resolved.
pub fn without_prefix(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|path| path.strip_prefix("\\\\?\\")) {
        Some(plain) if cfg!(windows) && !plain.starts_with("UNC\\") => PathBuf::from(plain),
        _ => path,
    }
}

/// A file itself; or the files below a directory that end in one of these, in order of their names.
pub fn below(path: &Path, ends: &[&str]) -> std::io::Result<Vec<PathBuf>> {
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in entries(path)? {
        // Half-written files have a dot before their name.
        if entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
            continue;
        }
        let ends_well = || entry.extension().is_some_and(|end| ends.iter().any(|e| end == *e));
        // A link to a directory could lead round in a circle.
        if entry.is_dir() && !entry.is_symlink() {
            found.extend(below(&entry, ends)?);
        } else if ends_well() {
            found.push(entry);
        }
    }
    found.sort();
    Ok(found)
}

/// Those of the named files that exist below one of these directories and are not empty.
pub fn present(places: &[PathBuf], names: Vec<&str>) -> BTreeSet<String> {
    let there = |name: &&str| {
        places.iter().any(|place| {
            std::fs::metadata(place.join(name)).is_ok_and(|file| file.is_file() && file.len() > 0)
        })
    };
    names.into_iter().filter(there).map(str::to_owned).collect()
}

/// The names of the folders in a directory, in their order; not more than `most`.
pub fn folders(path: &Path, most: usize) -> Vec<String> {
    let is_folder = |entry: &PathBuf| entry.symlink_metadata().is_ok_and(|found| found.is_dir());
    let folders = entries(path).unwrap_or_default().into_iter().filter(is_folder).take(most);
    let mut names: Vec<String> =
        folders.filter_map(|entry| entry.file_name()?.to_str().map(str::to_owned)).collect();
    names.sort();
    names
}

/// At most the first `most` bytes of a file.
pub fn head(path: &Path, most: u64) -> Option<Vec<u8>> {
    // Without room to begin with it would be read in steps of 32, 64, 128 bytes.
    let mut bytes = Vec::with_capacity(most.min(8 << 10) as usize);
    open(path)?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A small text file, trimmed.
pub fn small(path: &Path) -> Option<String> {
    let text = String::from_utf8(head(path, 64 << 10)?).ok()?;
    Some(text.trim().to_owned())
}
