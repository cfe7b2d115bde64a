//! What a checkout tracks, read from git's index without starting git: versions 2 to 4, split ones
//! too. As a rule 64 KiB of it are read.

use std::path::{Path, PathBuf};

use crate::git::refs;
use crate::process::files;

/// An index of two million files has about this size.
const LARGEST: u64 = 256 << 20;
/// Enough for what is in a directory whose name begins with a dot.
const FIRST_READ: u64 = 64 << 10;
const GITLINK: u32 = 0o160_000;
/// In the first byte of an entry's flags.
const STAGE: u8 = 0x30;

/// A file that git tracks, as git last wrote or added it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tracked {
    /// From the directory that was asked for. A repository in a repository stands for all that is in it.
    pub path: String,
    /// Of its content; empty if that is not to be had.
    pub id: String,
    /// Seconds and nanoseconds of its modification time, and its size.
    pub modified: (u32, u32),
    pub size: u32,
    /// A merge could not settle it: git knows neither time nor size, and has written what it liked.
    pub is_unmerged: bool,
}

/// What git tracks below a directory, which must be named without links. An index that cannot be read
/// tracks nothing.
pub fn tracked_below(dir: &Path) -> Vec<Tracked> {
    tracked(dir, "").unwrap_or_default()
}

/// Whether git tracks something of this name in a directory, which must be named without links; `None`
/// if the index does not tell.
pub fn is_tracked(dir: &Path, name: &str) -> Option<bool> {
    Some(tracked(dir, name)?.iter().any(|entry| entry.path.is_empty()))
}

/// What git tracks below a directory and begins with `name` there, by what comes after that; `None` if
/// there is an index that cannot be read.
fn tracked(dir: &Path, name: &str) -> Option<Vec<Tracked>> {
    let Some((top, git)) = dir.ancestors().find_map(|top| Some((top, refs::git_dir(top)?))) else {
        return Some(Vec::new());
    };
    let index = git.join("index");
    if !files::is_there(&index) {
        return Some(Vec::new());
    }
    let mut prefix = Vec::new();
    for part in dir.strip_prefix(top).ok()? {
        prefix.extend_from_slice(part.as_encoded_bytes());
        prefix.push(b'/');
    }
    prefix.extend_from_slice(name.as_bytes());
    let id_length = if is_sha256(&git) { 32 } else { 20 };
    let is_split = has_shared_index(&git);
    let (bytes, read) = read_as_far_as_needed(&index, id_length, &prefix, is_split)?;
    let mut found = read.found;
    if let Some(shared) = read.end.and_then(|end| shared_index(&bytes, end, id_length, &git)) {
        let (_, read) = read_as_far_as_needed(&shared, id_length, &prefix, false)?;
        // The index may have other contents for these, under no name.
        found.extend(read.found.into_iter().map(|entry| Tracked { id: String::new(), ..entry }));
    }
    Some(found)
}

/// Entries are in the order of their names, so most of a large index need not be read: a little of it
/// first, then more. `None` if it is no index, or cut off.
fn read_as_far_as_needed(
    index: &Path,
    id: usize,
    prefix: &[u8],
    to_the_end: bool,
) -> Option<(Vec<u8>, Entries)> {
    let mut most = if to_the_end { LARGEST } else { FIRST_READ };
    loop {
        let bytes = files::head(index, most)?;
        match read_entries(&bytes, id, prefix, to_the_end) {
            Some(entries) => return Some((bytes, entries)),
            None if (bytes.len() as u64) < most || most >= LARGEST => return None,
            None => most = (most * 8).min(LARGEST),
        }
    }
}

fn has_shared_index(git: &Path) -> bool {
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b"sharedindex.")
    };
    files::entries(git).is_ok_and(|entries| entries.iter().any(is_one))
}

fn is_sha256(git: &Path) -> bool {
    let config = files::small(&refs::common_dir(git).join("config")).unwrap_or_default();
    config.to_lowercase().replace([' ', '\t'], "").contains("objectformat=sha256")
}

/// What was found of an index.
struct Entries {
    found: Vec<Tracked>,
    /// Where the entries end, if all were read.
    end: Option<usize>,
}

/// Those that begin with the prefix. Reads no further than they can be, unless it is to read all. `None`
/// if that is no index, or one that is cut off before.
fn read_entries(bytes: &[u8], id: usize, prefix: &[u8], to_the_end: bool) -> Option<Entries> {
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(bytes, 4)?, number(bytes, 8)?);
    let mut found = Vec::new();
    let mut at = 12;
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let flags = at + 40 + id;
        let is_extended = version >= 3 && bytes.get(flags)? & 0x40 != 0;
        let mut name = flags + if is_extended { 4 } else { 2 };
        let kept = match version {
            // Names are written as what is different from the one before.
            4 => path.len().checked_sub(varint(bytes, &mut name)?)?,
            _ => 0,
        };
        let rest = bytes.get(name..)?;
        let length = memchr::memchr(0, rest)?;
        path.truncate(kept);
        path.extend_from_slice(rest.get(..length)?);
        if let Some(below) = path.strip_prefix(prefix) {
            found.push(Tracked {
                path: String::from_utf8_lossy(below).into_owned(),
                id: hex(bytes.get(at + 40..flags)?),
                modified: (number(bytes, at + 8)?, number(bytes, at + 12)?),
                size: match number(bytes, at + 24)? {
                    GITLINK => 0,
                    _ => number(bytes, at + 36)?,
                },
                is_unmerged: bytes.get(flags)? & STAGE != 0,
            });
        } else if !to_the_end && path.as_slice() > prefix {
            return Some(Entries { found, end: None });
        }
        let end = name + length;
        at = if version == 4 { end + 1 } else { at + (end - at + 8) / 8 * 8 };
    }
    Some(Entries { found, end: Some(at) })
}

/// The index that this one says only the differences to.
fn shared_index(bytes: &[u8], mut at: usize, id: usize, git: &Path) -> Option<PathBuf> {
    while at > 0 && at + 8 + id <= bytes.len() {
        let size = usize::try_from(number(bytes, at + 4)?).ok()?;
        if bytes.get(at..at + 4)? == b"link" {
            return Some(git.join(format!("sharedindex.{}", hex(bytes.get(at + 8..at + 8 + id)?))));
        }
        at += 8 + size;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Git's own: each further byte counts one more.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = usize::from(*bytes.get(*at)?);
        *at += 1;
        value = value.checked_mul(128)?.checked_add(byte & 127)?;
        if byte & 128 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
