//! What the file system knows of a file and no checkout, archive or copy can bring with it.

use std::fs::File;
use std::io;

use rustix::fs::AtFlags;
use rustix::io::{Errno, Result, retry_on_intr};

use crate::core::error::Error;
use crate::store::dir::Dir;

/// A moment on the file system's clock: seconds and nanoseconds.
pub type Moment = (i64, u32);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub ino: u64,
    /// `None` where the file system does not keep that.
    pub birth: Option<Moment>,
    pub changed: Moment,
    pub modified: Moment,
    pub size: u64,
    /// Under how many names it goes.
    pub links: u64,
    pub is_dir: bool,
}

impl Seen {
    /// When it came to be, as far as that is known.
    pub fn born(&self) -> Moment {
        self.birth.unwrap_or(self.changed)
    }
}

impl Dir {
    /// What a name stands for; a link stands for itself. Only what is not there is `None`: who cannot
    /// look must not take something for absent, or for his own.
    pub fn seen(&self, name: &str) -> crate::core::error::Result<Option<Seen>> {
        match look(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(seen) => Ok(Some(seen)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(Error::io("look at", &self.path_of(name), error)),
        }
    }

    pub fn seen_itself(&self) -> io::Result<Seen> {
        Ok(look(&self.fd, ".", AtFlags::empty())?)
    }
}

/// An open file.
#[cfg(target_os = "linux")]
pub fn seen_file(file: &File) -> io::Result<Seen> {
    Ok(look(file, "", AtFlags::EMPTY_PATH)?)
}

#[cfg(target_os = "linux")]
fn look(at: impl std::os::fd::AsFd, name: &str, flags: AtFlags) -> Result<Seen> {
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

#[cfg(not(target_os = "linux"))]
pub fn seen_file(file: &File) -> io::Result<Seen> {
    Ok(of_stat(retry_on_intr(|| rustix::fs::fstat(file))?))
}

#[cfg(not(target_os = "linux"))]
fn look(at: impl std::os::fd::AsFd, name: &str, flags: AtFlags) -> Result<Seen> {
    Ok(of_stat(retry_on_intr(|| rustix::fs::statat(&at, name, flags))?))
}

#[cfg(not(target_os = "linux"))]
fn of_stat(stat: rustix::fs::Stat) -> Seen {
    let nanos = |nanos| u32::try_from(nanos).unwrap_or(0);
    Seen {
        ino: stat.st_ino as u64,
        birth: None,
        changed: (stat.st_ctime as i64, nanos(stat.st_ctime_nsec)),
        modified: (stat.st_mtime as i64, nanos(stat.st_mtime_nsec)),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        links: stat.st_nlink as u64,
        is_dir: rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir(),
    }
}
