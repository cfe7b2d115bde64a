//! What macOS does in its own way: birth times are in `stat`, and only `F_FULLFSYNC` reaches the disk.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::{Errno, Result, retry_on_intr};

use super::Dir;
use crate::store::dir::seen::{Moment, Seen};

/// An open file.
pub fn seen_file(file: &File) -> io::Result<Seen> {
    Ok(seen(&retry_on_intr(|| rustix::fs::fstat(file))?))
}

pub fn look(at: impl AsFd, name: &str, flags: AtFlags) -> Result<Seen> {
    Ok(seen(&retry_on_intr(|| rustix::fs::statat(&at, name, flags))?))
}

fn seen(stat: &Stat) -> Seen {
    let moment = |seconds: i64, nanos: i64| -> Moment { (seconds, nanos.try_into().unwrap_or(0)) };
    Seen {
        ino: stat.st_ino,
        // Zero where the file system does not keep it.
        birth: Some(moment(stat.st_birthtime, stat.st_birthtime_nsec)).filter(|birth| birth.0 > 0),
        changed: moment(stat.st_ctime, stat.st_ctime_nsec),
        modified: moment(stat.st_mtime, stat.st_mtime_nsec),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        links: stat.st_nlink.into(),
        is_dir: FileType::from_raw_mode(stat.st_mode).is_dir(),
    }
}

/// Waits until a file's bytes are on the disk. `fsync` stops at the disk's own cache here, and what
/// is synced is promised to survive a power cut.
pub fn sync_data(file: &File) -> Result<()> {
    full_sync(file)
}

/// Waits until a directory's names are on the disk.
pub fn sync_dir(dir: &OwnedFd) -> Result<()> {
    full_sync(dir)
}

/// File systems that do not know it (SMB, FAT) get what they know.
fn full_sync(what: impl AsFd) -> Result<()> {
    match retry_on_intr(|| rustix::fs::fcntl_fullfsync(&what)) {
        Err(error) if is_unable(error) => retry_on_intr(|| rustix::fs::fsync(&what)),
        other => other,
    }
}

/// What file systems and sandboxes say that cannot do it.
pub fn is_unable(error: Errno) -> bool {
    matches!(
        error,
        Errno::INVAL
            | Errno::NOSYS
            | Errno::PERM
            | Errno::NOTSUP
            | Errno::OPNOTSUPP
            | Errno::NOTTY
            | Errno::XDEV
    )
}

/// A rename over a file waits for nothing here.
pub fn replace(_: &Dir, _: &str, _: &Dir, _: &str) -> Option<crate::core::error::Result<()>> {
    None
}
