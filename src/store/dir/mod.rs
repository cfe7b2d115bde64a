//! A directory that is held open. Every file of ours is reached through one of these, name by
//! name, and no name is followed if it is a symlink: what somebody plants between two steps leads
//! nowhere.
//!
//! This is the interface. What a system has to do itself is in the file of that system; what can be
//! said with that is here and in the files beside.
//!
//! # Systems
//!
//! What differs between Linux, macOS and Windows is whole files, chosen in three places: here
//! (`unix/` with `linux.rs` and `apple.rs`, `windows/`), in `process/mod.rs` (`system`:
//! `process/unix/`, `process/windows/`) and in `process/processes/mod.rs`. Nothing else may name a
//! system but by `cfg!` in a pure function whose Windows half is tested on Linux (`core/text.rs`,
//! `core/command_line.rs`, `core/id.rs`, `name` here). Our own code has no unsafe on any of them:
//! `rustix` is for Unix, `winapi-util` (index and links of a file), `win32job` (what ends together)
//! and `sysinfo` are for the others, and off the quiet path. `docs/systems.md` has the differences
//! that users see, and what could not be tried.

mod append;
mod name;
mod remove;
pub mod seen;
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fs::File;
use std::io::{self, IoSlice, Write};

use crate::core::error::Result;
use crate::process::positioned::FileExt as _;

#[cfg(unix)]
pub use unix::Dir;
#[cfg(windows)]
pub use windows::Dir;

/// No document of ours comes near this; what is larger is not ours to read.
const LARGEST_FILE: u64 = 64 << 20;

/// What a name stands for; a link stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// What may be done in a directory, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub ours: bool,
    pub writable: bool,
    /// Others may write to it.
    pub open: bool,
}

/// Who may use what is made, where files have modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// Its owner.
    Owner,
    /// Whom the user's umask allows it.
    Usual,
}

impl Dir {
    /// A directory some levels below this one, by its path. `None` if it is not there.
    pub fn below(&self, path: &str) -> Result<Option<Self>> {
        let mut dir: Option<Self> = None;
        for segment in path.split('/') {
            let next = dir.as_ref().unwrap_or(self).sub(segment)?;
            let Some(next) = next else { return Ok(None) };
            dir = Some(next);
        }
        Ok(dir)
    }

    /// A directory in this one, made if need be.
    pub fn make(&self, name: &str) -> Result<Self> {
        self.make_for(name, Audience::Owner)
    }

    /// A directory in this one, made if need be, with the mode that the user's umask leaves.
    pub fn make_usual(&self, name: &str) -> Result<Self> {
        self.make_for(name, Audience::Usual)
    }

    /// The bytes of a file. Only `NotFound` means that there is none.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.read_up_to(name, LARGEST_FILE)
    }

    /// A new file with this content; an error if there is one already.
    pub fn create(&self, name: &str, bytes: &[u8], sync: bool) -> Result<()> {
        self.create_for(name, &mut [IoSlice::new(bytes)], sync, Audience::Owner)
    }

    /// Makes a new file of pieces.
    pub fn create_of(&self, name: &str, pieces: &[&[u8]], sync: bool) -> Result<()> {
        let mut slices: Vec<IoSlice> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        self.create_for(name, &mut slices, sync, Audience::Owner)
    }

    /// A new file with the mode that the user's umask leaves; an error if there is one already.
    pub fn create_usual(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.create_for(name, &mut [IoSlice::new(bytes)], true, Audience::Usual)
    }

    /// Writes a new file under a temporary name and has it put in its place, so that the place has
    /// all of it or nothing. If it cannot be put there, the temporary file goes.
    pub fn write_and<T>(
        &self,
        temporary: &str,
        content: &[&[u8]],
        sync: bool,
        put: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.create_of(temporary, content, sync)?;
        put().inspect_err(|_| {
            let _ = self.remove(temporary);
        })
    }

    pub fn is_symlink(&self, name: &str) -> bool {
        matches!(self.kind(name), Ok(Some(Kind::Link)))
    }

    /// Whether there is something, and it is no file.
    pub fn is_odd(&self, name: &str) -> bool {
        matches!(self.kind(name), Ok(Some(kind)) if kind != Kind::File)
    }

    pub fn is_dir(&self, name: &str) -> bool {
        matches!(self.kind(name), Ok(Some(Kind::Folder)))
    }

    pub fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.kind(name)?.is_some())
    }
}

/// The last bytes of a file of this size.
fn read_end(file: &File, size: u64, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most.min(usize::try_from(size).unwrap_or(most))];
    let from = size - bytes.len() as u64;
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

fn write_all(file: &mut std::fs::File, mut pieces: &mut [IoSlice]) -> io::Result<()> {
    // A piece without bytes would look like a file that takes no more.
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        match file.write_vectored(pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => IoSlice::advance_slices(&mut pieces, n),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
