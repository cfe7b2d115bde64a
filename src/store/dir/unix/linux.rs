//! What Linux does in its own way: `statx`, `fdatasync`, and two names that change places.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, RenameFlags, renameat_with};
use rustix::io::{Errno, Result, retry_on_intr};

use super::{Dir, plain};
use crate::core::error::Error;
use crate::store::dir::seen::Seen;

/// An open file.
pub fn seen_file(file: &File) -> io::Result<Seen> {
    Ok(look(file, "", AtFlags::EMPTY_PATH)?)
}

pub fn look(at: impl AsFd, name: &str, flags: AtFlags) -> Result<Seen> {
    use rustix::fs::{FileType, StatxFlags, statx};
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let found = retry_on_intr(|| statx(&at, name, flags, wanted))?;
    let moment = |time: rustix::fs::StatxTimestamp| (time.tv_sec, time.tv_nsec);
    let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    Ok(Seen {
        ino: found.stx_ino,
        // Some say that they know, and then do not.
        birth: Some(moment(found.stx_btime)).filter(|birth| has_birth && birth.0 > 0),
        changed: moment(found.stx_ctime),
        modified: moment(found.stx_mtime),
        size: found.stx_size,
        links: found.stx_nlink.into(),
        is_dir: FileType::from_raw_mode(found.stx_mode.into()).is_dir(),
    })
}

/// Waits until a file's bytes are on the disk.
pub fn sync_data(file: &File) -> Result<()> {
    retry_on_intr(|| rustix::fs::fdatasync(file))
}

/// Waits until a directory's names are on the disk.
pub fn sync_dir(dir: &OwnedFd) -> Result<()> {
    retry_on_intr(|| rustix::fs::fsync(dir))
}

/// What kernels, file systems and sandboxes say that do not know the flags of a rename.
pub fn is_unable(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP | Errno::XDEV)
}

/// On ext4 a rename over a file waits until the new file's blocks are allocated, three times what
/// all the rest costs. Exchanging the two names does not, and is atomic too; the old file is then
/// removed under the temporary name. What has to survive a power cut is synced before. `None`:
/// there is no old file, or a file system that cannot exchange.
pub fn replace(
    dir: &Dir,
    new: &str,
    to: &Dir,
    name: &str,
) -> Option<crate::core::error::Result<()>> {
    let exchange = RenameFlags::EXCHANGE;
    let exchanged =
        retry_on_intr(|| renameat_with(&dir.fd, plain(new)?, &to.fd, plain(name)?, exchange));
    exchanged.ok()?;
    // A kill before this leaves the old file to the next event's sweep.
    Some(dir.remove(new).map_err(|error| {
        let Error::Io { cause, .. } = &error else { return error };
        if cause.kind() != io::ErrorKind::IsADirectory {
            return error;
        }
        // Somebody planted a directory at the name: put it back.
        let _ = renameat_with(&dir.fd, new, &to.fd, name, exchange);
        let _ = dir.remove(new);
        Error::Planted { path: to.path_of(name), is: "not a file" }
    }))
}
