//! `export/lost.jsonl`: journals that went while somebody was sending them elsewhere (`export/`). A
//! line says which file went and how large it was, so that the next flush can count what was never
//! sent: exactly in bytes, in lines by their mean. Written only where there is a folder `export/`,
//! and only when a file goes: once in 3 MB when a journal is turned over, or once for a session
//! that is too old; never on the usual path.

use crate::process::positioned::FileExt as _;

use memchr::memchr;
use serde::{Deserialize, Serialize};

use crate::core::id::sha256_hex;
use crate::store::dir::Dir;
use crate::store::export;

pub const FILE: &str = "lost.jsonl";
/// Whoever sends reads and removes it; if nobody does, it is not without end.
const LARGEST: u64 = 256 << 10;
/// So much of a journal tells which one it is.
const HEAD: usize = 512;
const DIGITS: usize = 16;

/// A file that went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lost {
    pub stem: String,
    pub file: String,
    /// The file of the same session that is the oldest now; empty if none is left.
    pub next: String,
    pub bytes: u64,
}

/// Notes that files of one session go, the oldest first; `next` is the one that stays.
pub fn note(state: &Dir, folder: &Dir, stem: &str, gone: &[String], next: Option<&str>) {
    let Ok(Some(export)) = state.sub(export::FOLDER) else { return };
    if export.size(FILE) > LARGEST {
        return;
    }
    let mut lines = Vec::new();
    for (at, name) in gone.iter().enumerate() {
        let Some(file) = identity(folder, name) else { continue };
        let next = gone.get(at + 1).map(String::as_str).or(next);
        let next = next.and_then(|name| identity(folder, name)).unwrap_or_default();
        let lost = Lost { stem: stem.to_owned(), file, next, bytes: folder.size(name) };
        lines.append(&mut serde_json::to_vec(&lost).unwrap_or_default());
        lines.push(b'\n');
    }
    if !lines.is_empty() {
        let _ = export.append_lines(FILE, &lines);
    }
}

fn identity(folder: &Dir, name: &str) -> Option<String> {
    identity_of(&folder.open_read(name).ok()??)
}

/// Which journal a file is, by its first line: it stays the same whatever the file is called, and
/// tells it from a later one of the same name. `None` as long as there is no whole line.
pub fn identity_of(file: &std::fs::File) -> Option<String> {
    let mut head = [0; HEAD];
    let read = file.read_at(&mut head, 0).ok()?;
    let head = head.get(..read)?;
    let end = memchr(b'\n', head).or((read == HEAD).then_some(HEAD))?;
    let digest = sha256_hex(head.get(..end)?);
    Some(digest.chars().take(DIGITS).collect())
}
