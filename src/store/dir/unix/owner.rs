//! Whose files are.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, Gid, Mode, Uid};
use rustix::io::Errno;

use super::Dir;
use crate::core::error::{Error, Result};
use crate::store::dir::Standing;

impl Dir {
    /// As root, what is made in a directory and below it belongs to the directory's owner: they could
    /// not read or replace it else.
    pub fn for_its_owner(mut self) -> Self {
        if rustix::process::geteuid().is_root() {
            let stat = rustix::fs::fstat(&self.fd).ok().filter(|stat| stat.st_uid != 0);
            self.owner = stat.map(|stat| (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid)));
        }
        self
    }

    pub(super) fn give(&self, file: &File) {
        if let Some((owner, group)) = self.owner {
            let _ = rustix::fs::fchown(file, Some(owner), Some(group));
        }
    }

    pub(super) fn give_named(&self, name: &str) {
        if let Some((owner, group)) = self.owner {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let _ = rustix::fs::chownat(&self.fd, name, Some(owner), Some(group), flags);
        }
    }

    /// Gives a new file the mode and the owner of an old one, if there is one.
    pub fn copy_mode_to(&self, old: &str, to: &Self, new: &str) -> Result<()> {
        let failed = |error: Errno| Error::io("set the mode of", &to.path_of(new), error);
        let stat = match rustix::fs::statat(&self.fd, old, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            other => other.map_err(failed)?,
        };
        // Only root can give files away, and only then it matters.
        let owner = Some(Uid::from_raw(stat.st_uid));
        let group = Some(Gid::from_raw(stat.st_gid));
        let _ = rustix::fs::chownat(&to.fd, new, owner, group, AtFlags::SYMLINK_NOFOLLOW);
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        rustix::fs::chmodat(&to.fd, new, mode, AtFlags::empty()).map_err(failed)
    }

    /// Who may do what here.
    pub fn standing(&self) -> io::Result<Standing> {
        let us = rustix::process::geteuid();
        let stat = rustix::fs::statat(rustix::fs::CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Standing {
            ours: stat.st_uid == us.as_raw() || us.is_root(),
            writable: Self::may_write_at(&self.path),
            open: stat.st_mode & 0o022 != 0,
        })
    }

    pub fn may_write_at(path: &Path) -> bool {
        let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::access(path, all).is_ok()
    }
}
