//! Files that take another name, or each other's.

use std::io;

use rustix::io::{Errno, retry_on_intr};

use crate::core::error::{Error, Result};
use crate::store::dir::{Dir, plain};

/// What is copied from another file system, before it is whole.
const COPY: &str = ".copy";

impl Dir {
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
        #[cfg(target_os = "linux")]
        {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match retry_on_intr(|| {
                rustix::fs::renameat_with(&self.fd, plain(from)?, &to.fd, plain(name)?, flags)
            }) {
                Ok(()) => return Ok(()),
                // A file system that cannot: then we look first.
                Err(error) if is_unable(error) => {}
                Err(error) => return Err(Error::io("move to", &to.path_of(name), error)),
            }
        }
        if to.exists(name)? {
            return Err(Error::io("move to", &to.path_of(name), Errno::EXIST));
        }
        self.rename(from, to, name)
    }

    /// Two files take each other's name at once. `false`: this file system cannot do that.
    pub fn exchange(&self, one: &str, other: &str) -> Result<bool> {
        #[cfg(target_os = "linux")]
        {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            let exchanged = retry_on_intr(|| {
                rustix::fs::renameat_with(&self.fd, plain(one)?, &self.fd, plain(other)?, flags)
            });
            match exchanged {
                Ok(()) => Ok(true),
                Err(error) if is_unable(error) => Ok(false),
                Err(error) => Err(Error::io("replace", &self.path_of(other), error)),
            }
        }
        #[cfg(not(target_os = "linux"))]
        Ok(false)
    }

    /// Puts a new file in the place of an old one, atomically.
    ///
    /// On ext4 a rename over a file waits until the new file's blocks are allocated, three times
    /// what all the rest costs. Exchanging the two names does not, and is atomic too; the old file
    /// is then removed under the temporary name. What has to survive a power cut is synced before.
    pub fn replace(&self, new: &str, to: &Self, name: &str) -> Result<()> {
        #[cfg(target_os = "linux")]
        {
            let exchange = rustix::fs::RenameFlags::EXCHANGE;
            let exchanged = retry_on_intr(|| {
                rustix::fs::renameat_with(&self.fd, plain(new)?, &to.fd, plain(name)?, exchange)
            });
            if exchanged.is_ok() {
                // A kill before this leaves the old file to the next event's sweep.
                return self.remove(new).map_err(|error| {
                    let Error::Io { cause, .. } = &error else { return error };
                    if cause.kind() != io::ErrorKind::IsADirectory {
                        return error;
                    }
                    // Somebody planted a directory at the name: put it back.
                    let _ = rustix::fs::renameat_with(&self.fd, new, &to.fd, name, exchange);
                    let _ = self.remove(new);
                    Error::Planted { path: to.path_of(name), is: "not a file" }
                });
            }
        }
        // There is no old file, or a file system that cannot exchange.
        self.rename(new, to, name)
    }
}

/// What kernels, file systems and sandboxes say that do not know these flags.
#[cfg(target_os = "linux")]
fn is_unable(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP | Errno::XDEV)
}
