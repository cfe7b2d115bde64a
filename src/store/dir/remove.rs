//! Files and folders that go, and copies of them.

use std::io;

use crate::core::error::{Error, Result};
use crate::store::dir::{Dir, Kind};

impl Dir {
    /// Removes an empty directory; it is fine if there is none, or if it is not empty.
    pub fn remove_empty(&self, name: &str) -> Result<()> {
        match self.remove_folder(name) {
            Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Ok(())
            }
            other => other,
        }
    }

    /// Removes a directory of files.
    pub fn remove_dir(&self, name: &str) -> Result<()> {
        if let Some(dir) = self.sub(name)? {
            for file in dir.names()? {
                dir.remove(&file)?;
            }
        }
        self.remove_folder(name)
    }

    /// Removes a directory and all that is in it. Symlinks are removed, not followed.
    pub fn remove_tree(&self, name: &str) -> Result<()> {
        if let Some(dir) = self.sub(name)? {
            for entry in dir.names()? {
                if dir.is_dir(&entry) {
                    dir.remove_tree(&entry)?;
                } else {
                    dir.remove(&entry)?;
                }
            }
        }
        self.remove_folder(name)
    }

    /// Removes whatever has this name.
    pub fn remove_any(&self, name: &str) -> Result<()> {
        if self.is_dir(name) { self.remove_tree(name) } else { self.remove(name) }
    }

    /// Copies a plain file or a directory of such to another directory. Nothing is followed.
    pub fn copy_item(&self, name: &str, to: &Self) -> Result<()> {
        self.copy_as(name, to, name).or_else(|error| match error {
            Error::Planted { .. } => Ok(()),
            error => Err(error),
        })
    }

    /// Copies a file or a folder under another name; what is neither is refused.
    pub fn copy_as(&self, name: &str, to: &Self, new: &str) -> Result<()> {
        match self.kind(name)? {
            Some(Kind::Folder) => {
                let Some(from) = self.sub(name)? else { return Ok(()) };
                let to = to.make(new)?;
                from.names()?.iter().try_for_each(|name| from.copy_item(name, &to))
            }
            Some(Kind::File) => match self.read(name)? {
                Some(bytes) => to.create(new, &bytes, true),
                None => Ok(()),
            },
            _ => Err(Error::Planted { path: self.path_of(name), is: "not a file" }),
        }
    }
}
