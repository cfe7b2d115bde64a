//! Directories of Linux and macOS: a descriptor each, and every name looked up relative to it.

#[cfg(target_vendor = "apple")]
#[path = "apple.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;

mod owner;
mod place;
mod rename;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::fs::{Access, AtFlags, Dir as Entries, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::{Errno, retry_on_intr};

use crate::core::error::{Error, Result};
use crate::store::dir::append::End;
use crate::store::dir::seen::Seen;
use crate::store::dir::{Audience, Kind, name, read_end, write_all};

pub use system::seen_file;

const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);
const PRIVATE_DIR: Mode = Mode::from_raw_mode(0o700);

#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
    /// Whose all that is made in it shall be, if we may say so.
    owner: Option<(Uid, Gid)>,
}

impl Dir {
    /// Any directory, symlinks resolved: the project's root, which the user chose.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))
            .map_err(|error| Error::io("open the directory", path, error))?;
        Ok(Self { fd, path: path.to_owned(), owner: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A directory in this one. `None` if there is none; an error if it is anything else.
    pub fn sub(&self, name: &str) -> Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match retry_on_intr(|| rustix::fs::openat(&self.fd, plain(name)?, flags, Mode::empty())) {
            Ok(fd) => Ok(Some(Self { fd, path: self.path_of(name), owner: self.owner })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                let is = if self.is_symlink(name) { "a symlink" } else { "not a directory" };
                Err(Error::Planted { path: self.path_of(name), is })
            }
            Err(error) => Err(Error::io("open the directory", &self.path_of(name), error)),
        }
    }

    /// A directory in this one, made if need be.
    pub(super) fn make_for(&self, name: &str, audience: Audience) -> Result<Self> {
        let mode = match audience {
            Audience::Owner => PRIVATE_DIR,
            Audience::Usual => Mode::from_raw_mode(0o777),
        };
        for _ in 0..3 {
            if let Some(dir) = self.sub(name)? {
                return Ok(dir);
            }
            match retry_on_intr(|| rustix::fs::mkdirat(&self.fd, plain(name)?, mode)) {
                Ok(()) => self.give_named(name),
                Err(Errno::EXIST) => {}
                Err(error) => {
                    return Err(Error::io("make the directory", &self.path_of(name), error));
                }
            }
        }
        Err(Error::io("make the directory", &self.path_of(name), Errno::NOENT))
    }

    /// A directory that was not there before: what somebody else made is not used.
    pub fn make_new(&self, name: &str) -> Result<Self> {
        retry_on_intr(|| rustix::fs::mkdirat(&self.fd, plain(name)?, PRIVATE_DIR))
            .map_err(|error| Error::io("make the directory", &self.path_of(name), error))?;
        self.give_named(name);
        self.make(name)
    }

    /// The bytes of a file that is not larger than that. Only `NotFound` means that there is none.
    pub fn read_up_to(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        // Without NONBLOCK a planted pipe would hold us up for ever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = || self.path_of(name);
        let file = match self.open_file(name, flags) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Error::Planted { path: path(), is: "a symlink" }),
            Err(error) => return Err(Error::io("read", &path(), error)),
        };
        let failed = |error: Errno| Error::io("read", &path(), error);
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(Error::Planted { path: path(), is: "not a file" });
        }
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > most {
            return Err(Error::TooLarge { path: path(), most });
        }
        // Documents are replaced, never changed: the size is the size.
        let size = usize::try_from(size).unwrap_or(0);
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            let read = retry_on_intr(|| rustix::io::read(&file, spare_capacity(&mut bytes)));
            if read.map_err(failed)? == 0 {
                return Err(Error::io("read", &path(), io::ErrorKind::UnexpectedEof));
            }
        }
        Ok(Some(bytes))
    }

    /// A file, opened for reading; `None` if there is none, or something else in its place.
    pub fn open_read(&self, name: &str) -> Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match self.open_file(name, flags) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT | Errno::LOOP) => Ok(None),
            Err(error) => Err(Error::io("open", &self.path_of(name), error)),
        }
    }

    /// The last bytes of a file; nothing if there is none.
    pub fn read_tail(&self, name: &str, most: usize) -> Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let failed = |error: io::Error| Error::io("read", &self.path_of(name), error);
        let file = match self.open_file(name, flags) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error.into())),
        };
        let size = file.metadata().map_err(failed)?.len();
        read_end(&file, size, most).map_err(failed)
    }

    /// A new file with this content; an error if there is one already.
    pub(super) fn create_for(
        &self,
        name: &str,
        pieces: &mut [IoSlice],
        sync: bool,
        audience: Audience,
    ) -> Result<()> {
        let mode = match audience {
            Audience::Owner => PRIVATE_FILE,
            Audience::Usual => Mode::from_raw_mode(0o666),
        };
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = |error: io::Error| Error::io("write", &self.path_of(name), error);
        let opened = retry_on_intr(|| rustix::fs::openat(&self.fd, plain(name)?, flags, mode));
        let mut file = File::from(opened.map_err(|error| failed(error.into()))?);
        self.give(&file);
        let written = write_all(&mut file, pieces).and_then(|()| match sync {
            true => system::sync_data(&file).map_err(io::Error::from),
            false => Ok(()),
        });
        written.map_err(|error| {
            let _ = self.remove(name);
            failed(error)
        })
    }

    /// Waits until what was added to a file is on the disk.
    pub fn sync_file(&self, name: &str) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let synced = self.open_file(name, flags).and_then(|file| system::sync_data(&file));
        synced.map_err(|error| Error::io("sync", &self.path_of(name), error))
    }

    /// The lock file, opened for reading and writing; made by whoever comes first.
    pub fn open_lock(&self, name: &str) -> Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match self.open_file(name, flags) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(Error::Planted { path: self.path_of(name), is: "a symlink" }),
            Err(error) => Err(Error::io("open the lock", &self.path_of(name), error)),
        }
    }

    /// What a name stands for; only `NotFound` means that it stands for nothing.
    pub(super) fn kind(&self, name: &str) -> Result<Option<Kind>> {
        match self.stat(name) {
            Ok(stat) => Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Folder,
                FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(Error::io("look at", &self.path_of(name), error)),
        }
    }

    /// Whether nobody may write to a file, or at least we may not.
    pub fn is_read_only(&self, name: &str) -> bool {
        let Ok(stat) = self.stat(name) else {
            return false;
        };
        stat.st_mode & 0o222 == 0
            || rustix::fs::accessat(&self.fd, name, Access::WRITE_OK, AtFlags::empty()).is_err()
    }

    pub fn is_writable(&self) -> bool {
        rustix::fs::accessat(&self.fd, ".", Access::WRITE_OK, AtFlags::empty()).is_ok()
    }

    /// What is at a name, itself: a link is a link.
    fn stat(&self, name: &str) -> std::result::Result<rustix::fs::Stat, Errno> {
        rustix::fs::statat(&self.fd, plain(name)?, AtFlags::SYMLINK_NOFOLLOW)
    }

    pub fn sync(&self) -> Result<()> {
        system::sync_dir(&self.fd)
            .map_err(|error| Error::io("sync the directory", &self.path, error))
    }

    /// The names in this directory, in order. What is not UTF-8 is not ours.
    pub fn names(&self) -> Result<Vec<String>> {
        let failed = |error: Errno| Error::io("list", &self.path, error);
        let mut names = Vec::new();
        for entry in retry_on_intr(|| Entries::read_from(&self.fd)).map_err(failed)? {
            let entry = match entry {
                Err(Errno::INTR) => continue,
                entry => entry.map_err(failed)?,
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_str();
            names.extend(name.filter(|name| !matches!(*name, "." | "..")).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    pub fn is_empty(&self) -> Result<bool> {
        let failed = |error: Errno| Error::io("list", &self.path, error);
        for entry in retry_on_intr(|| Entries::read_from(&self.fd)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// When something was last changed, in seconds since 1970.
    pub fn modified(&self, name: &str) -> i64 {
        self.stat(name).map_or(0, |stat| stat.st_mtime)
    }

    /// How many bytes a file has.
    pub fn size(&self, name: &str) -> u64 {
        self.stat(name).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// When something came here or was changed, whichever was later: seconds and nanoseconds.
    pub fn arrived(&self, name: &str) -> (i64, i64) {
        self.stat(name).map_or((0, 0), |stat| (stat.st_ctime, stat.st_ctime_nsec as i64))
    }

    fn open_file(&self, name: &str, flags: OFlags) -> std::result::Result<File, Errno> {
        let fd = retry_on_intr(|| rustix::fs::openat(&self.fd, plain(name)?, flags, PRIVATE_FILE))?;
        Ok(File::from(fd))
    }

    /// Removes a file; it is fine if there is none.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.unlink(name, AtFlags::empty())
    }

    /// Removes an empty directory; it is fine if there is none.
    pub(super) fn remove_folder(&self, name: &str) -> Result<()> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    /// A file that is written to at its end, made if need be, and its size. A file with a second name
    /// could be somebody else's: refused.
    pub(super) fn open_end(&self, name: &str, end: End) -> Result<(File, u64)> {
        let access = match end {
            End::Write => OFlags::WRONLY,
            End::ReadAndWrite => OFlags::RDWR,
        };
        let flags = access
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let failed = |error: Errno| Error::io("append to", &self.path_of(name), error);
        let file = self.open_file(name, flags).map_err(failed)?;
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        if stat.st_nlink != 1 || !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(Error::Planted { path: self.path_of(name), is: "not a file of its own" });
        }
        if stat.st_size == 0 {
            self.give(&file);
        }
        Ok((file, u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// What a name stands for; a link stands for itself. Only what is not there is `None`: who cannot
    /// look must not take something for absent, or for his own.
    pub fn seen(&self, name: &str) -> Result<Option<Seen>> {
        match system::look(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(seen) => Ok(Some(seen)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(Error::io("look at", &self.path_of(name), error)),
        }
    }

    pub fn seen_itself(&self) -> io::Result<Seen> {
        Ok(system::look(&self.fd, ".", AtFlags::empty())?)
    }

    fn unlink(&self, name: &str, flags: AtFlags) -> Result<()> {
        match retry_on_intr(|| rustix::fs::unlinkat(&self.fd, plain(name)?, flags)) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(Error::io("remove", &self.path_of(name), error)),
        }
    }
}

/// A name in this directory.
fn plain(name: &str) -> std::result::Result<&str, Errno> {
    if name::is_plain(name) { Ok(name) } else { Err(Errno::PERM) }
}
