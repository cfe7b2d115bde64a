//! Whether what is held open is still what its path leads to.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;

use super::Dir;
use crate::core::error::{Error, Result};

impl Dir {
    /// This directory once more, for who is to lock it.
    pub fn lockable(&self) -> Result<Option<File>> {
        let fd = self.fd.try_clone().map_err(|error| Error::io("hold", &self.path, error))?;
        Ok(Some(File::from(fd)))
    }

    /// Whether a file that was opened here is still what its path leads to.
    pub fn is_named(&self, name: &str, file: &File) -> bool {
        is_at(&self.path_of(name), file)
    }

    /// Whether this directory is still what its path leads to.
    pub fn is_in_place(&self) -> bool {
        is_at(&self.path, &self.fd)
    }
}

fn is_at(path: &Path, fd: impl AsFd) -> bool {
    match (rustix::fs::stat(path), rustix::fs::fstat(fd)) {
        (Ok(named), Ok(held)) => (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino),
        (Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP), _) => false,
        // Who cannot look has not seen that it went.
        _ => true,
    }
}
