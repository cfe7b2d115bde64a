//! Files that take another name, or each other's.

use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::{Errno, retry_on_intr};

use super::{Dir, plain, system};
use crate::core::error::{Error, Result};

/// What is copied from another file system, before it is whole.
const COPY: &str = ".copy";

impl Dir {
    /// Moves a file or a folder, in the place of a file that has the name. From one file system to
    /// another it is copied.
    pub fn rename(&self, from: &str, to: &Self, name: &str) -> Result<()> {
        match retry_on_intr(|| rustix::fs::renameat(&self.fd, plain(from)?, &to.fd, plain(name)?)) {
            Ok(()) => Ok(()),
            Err(Errno::XDEV) => self.move_across(from, to, name),
            Err(error) => Err(Error::io("replace", &to.path_of(name), error)),
        }
    }

    /// A folder that is a mount of its own, or one that an overlay has from below: nothing can be
    /// renamed to or from it. What is copied takes its name only when it is whole.
    fn move_across(&self, from: &str, to: &Self, name: &str) -> Result<()> {
        to.remove_any(COPY)?;
        let copied = self.copy_as(from, to, COPY).and_then(|()| {
            retry_on_intr(|| rustix::fs::renameat(&to.fd, COPY, &to.fd, name))
                .map_err(|error| Error::io("replace", &to.path_of(name), error))
        });
        copied.inspect_err(|_| {
            let _ = to.remove_any(COPY);
        })?;
        self.remove_any(from)
    }

    /// Moves a file to a name that nobody has; `AlreadyExists` if somebody has it.
    pub fn rename_new(&self, from: &str, to: &Self, name: &str) -> Result<()> {
        let flags = RenameFlags::NOREPLACE;
        match retry_on_intr(|| renameat_with(&self.fd, plain(from)?, &to.fd, plain(name)?, flags)) {
            Ok(()) => return Ok(()),
            // A file system that cannot: then we look first.
            Err(error) if system::is_unable(error) => {}
            Err(error) => return Err(Error::io("move to", &to.path_of(name), error)),
        }
        if to.exists(name)? {
            return Err(Error::io("move to", &to.path_of(name), Errno::EXIST));
        }
        self.rename(from, to, name)
    }

    /// Two files take each other's name at once. `false`: this file system cannot do that.
    pub fn exchange(&self, one: &str, other: &str) -> Result<bool> {
        let flags = RenameFlags::EXCHANGE;
        let exchanged =
            retry_on_intr(|| renameat_with(&self.fd, plain(one)?, &self.fd, plain(other)?, flags));
        match exchanged {
            Ok(()) => Ok(true),
            Err(error) if system::is_unable(error) => Ok(false),
            Err(error) => Err(Error::io("replace", &self.path_of(other), error)),
        }
    }

    /// Puts a new file in the place of an old one, atomically.
    pub fn replace(&self, new: &str, to: &Self, name: &str) -> Result<()> {
        match system::replace(self, new, to, name) {
            Some(replaced) => replaced,
            None => self.rename(new, to, name),
        }
    }
}
