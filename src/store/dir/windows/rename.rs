//! Files that take another name.

#![expect(clippy::disallowed_methods, reason = "this is how Windows names files")]

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::{Dir, SHARING_VIOLATION};
use crate::core::error::{Error, Result};
use crate::store::dir::Kind;

/// Scanners and indexers open new files for a moment, and do not let them be moved.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);
const ACCESS_DENIED: i32 = 5;

impl Dir {
    /// Moves a file or a folder, in the place of a file that has the name. Windows moves files, not
    /// folders, to another volume.
    pub fn rename(&self, from: &str, to: &Self, name: &str) -> Result<()> {
        let moved = self
            .plain(from)
            .and_then(|from| to.plain(name).map(|name| (from, name)))
            .and_then(|(from, name)| move_patiently(&from, &name));
        moved.map_err(|error| Error::io("replace", &to.path_of(name), error))
    }

    /// Moves a file to a name that nobody has; `AlreadyExists` if somebody has it. A second name is
    /// refused where there is one; for folders, and where files have one name only, we look first.
    pub fn rename_new(&self, from: &str, to: &Self, name: &str) -> Result<()> {
        let failed = |error| Error::io("move to", &to.path_of(name), error);
        if to.exists(name)? {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        if self.kind(from)? == Some(Kind::File) {
            let (old, new) = (self.plain(from).map_err(failed)?, to.plain(name).map_err(failed)?);
            match std::fs::hard_link(old, new) {
                Ok(()) => return self.remove(from),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                Err(_) => {}
            }
        }
        self.rename(from, to, name)
    }

    /// Two files cannot take each other's name at once here.
    pub fn exchange(&self, one: &str, other: &str) -> Result<bool> {
        let failed = |error| Error::io("replace", &self.path_of(other), error);
        self.plain(one).and_then(|_| self.plain(other)).map_err(failed)?;
        Ok(false)
    }

    /// Puts a new file in the place of an old one, atomically.
    pub fn replace(&self, new: &str, to: &Self, name: &str) -> Result<()> {
        if to.is_dir(name) {
            return Err(Error::Planted { path: to.path_of(name), is: "not a file" });
        }
        self.rename(new, to, name)
    }
}

fn move_patiently(from: &Path, to: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match std::fs::rename(from, to) {
            Err(error) if tries < TRIES && is_passing(&error) => {
                tries += 1;
                thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(SHARING_VIOLATION | ACCESS_DENIED))
}
