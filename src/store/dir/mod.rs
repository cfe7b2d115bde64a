//! A directory that is held open. Every file of ours is reached through one of these, name by
//! name, and no name is followed if it is a symlink: what somebody plants between two steps leads
//! nowhere.

mod append;
mod owner;
mod place;
mod remove;
mod rename;
pub mod seen;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::fs::{Access, AtFlags, Dir as Entries, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::{Errno, retry_on_intr};

use crate::core::error::{Error, Result};

const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);
const PRIVATE_DIR: Mode = Mode::from_raw_mode(0o700);
/// No document of ours comes near this; what is larger is not ours to read.
const LARGEST_FILE: u64 = 64 << 20;

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

    /// A directory some levels below this one, by its path. `None` if it is not there.
    pub fn below(&self, path: &str) -> Result<Option<Self>> {
        let mut dir: Option<Self> = None;
        for segment in path.split('/') {
            let next = dir.as_ref().unwrap_or(self).sub(segment)?;
            let Some(next) = next else { return Ok(None) };
            dir = Some(next);
        }
        Ok(dir)
    }

    /// A directory in this one, made if need be.
    pub fn make(&self, name: &str) -> Result<Self> {
        self.make_as(name, PRIVATE_DIR)
    }

    /// A directory in this one, made if need be, with the mode that the user's umask leaves.
    pub fn make_usual(&self, name: &str) -> Result<Self> {
        self.make_as(name, Mode::from_raw_mode(0o777))
    }

    fn make_as(&self, name: &str, mode: Mode) -> Result<Self> {
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

    pub fn is_symlink(&self, name: &str) -> bool {
        self.file_type(name).is_some_and(FileType::is_symlink)
    }

    /// The bytes of a file. Only `NotFound` means that there is none.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.read_up_to(name, LARGEST_FILE)
    }

    /// The same, if it is not larger than that.
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
        let mut bytes = vec![0; most.min(usize::try_from(size).unwrap_or(most))];
        let from = size - bytes.len() as u64;
        file.read_exact_at(&mut bytes, from).map_err(failed)?;
        Ok(bytes)
    }

    /// A new file with this content; an error if there is one already.
    pub fn create(&self, name: &str, bytes: &[u8], sync: bool) -> Result<()> {
        self.create_as(name, &mut [IoSlice::new(bytes)], sync, PRIVATE_FILE)
    }

    /// The same for content in pieces.
    pub fn create_of(&self, name: &str, pieces: &[&[u8]], sync: bool) -> Result<()> {
        let mut slices: Vec<IoSlice> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        self.create_as(name, &mut slices, sync, PRIVATE_FILE)
    }

    /// A new file with the mode that the user's umask leaves; an error if there is one already.
    pub fn create_usual(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.create_as(name, &mut [IoSlice::new(bytes)], true, Mode::from_raw_mode(0o666))
    }

    fn create_as(&self, name: &str, pieces: &mut [IoSlice], sync: bool, mode: Mode) -> Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = |error: io::Error| Error::io("write", &self.path_of(name), error);
        let opened = retry_on_intr(|| rustix::fs::openat(&self.fd, plain(name)?, flags, mode));
        let mut file = File::from(opened.map_err(|error| failed(error.into()))?);
        self.give(&file);
        let written = write_all(&mut file, pieces).and_then(|()| match sync {
            true => retry_on_intr(|| rustix::fs::fdatasync(&file)).map_err(io::Error::from),
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
        let synced = self
            .open_file(name, flags)
            .and_then(|file| retry_on_intr(|| rustix::fs::fdatasync(&file)));
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

    pub fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.kind(name)?.is_some())
    }

    /// What a name stands for; only `NotFound` means that it stands for nothing.
    fn kind(&self, name: &str) -> Result<Option<FileType>> {
        match self.stat(name) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(Error::io("look at", &self.path_of(name), error)),
        }
    }

    pub fn is_dir(&self, name: &str) -> bool {
        self.file_type(name).is_some_and(FileType::is_dir)
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

    fn file_type(&self, name: &str) -> Option<FileType> {
        let stat = self.stat(name).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode))
    }

    pub fn sync(&self) -> Result<()> {
        retry_on_intr(|| rustix::fs::fsync(&self.fd))
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

    fn unlink(&self, name: &str, flags: AtFlags) -> Result<()> {
        match retry_on_intr(|| rustix::fs::unlinkat(&self.fd, plain(name)?, flags)) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(Error::io("remove", &self.path_of(name), error)),
        }
    }
}

fn write_all(file: &mut File, mut pieces: &mut [IoSlice]) -> io::Result<()> {
    // A piece without bytes would look like a file that takes no more.
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        match file.write_vectored(pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => IoSlice::advance_slices(&mut pieces, n),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A name in this directory. One with a `/` in it would be a way through links, and out of here.
fn plain(name: &str) -> std::result::Result<&str, Errno> {
    if matches!(name, "" | "." | "..") || name.contains('/') {
        return Err(Errno::PERM);
    }
    Ok(name)
}
