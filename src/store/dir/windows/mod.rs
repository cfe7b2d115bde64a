//! Directories of Windows. There is no way in std to open a name relative to a handle, so each
//! directory on the way is held open without sharing its deletion: as long as it is, nobody can
//! rename it, remove it or put a link in its place, and its path leads to it. Whatever is opened by
//! name is opened itself, never what it leads to, and is refused if it is a link (a symlink, a
//! junction, a mount point).
//!
//! Whoever moves or removes a folder of ours lets go of it first (`Folders::forget`,
//! `archive_results`, `purge`).

#![expect(clippy::disallowed_methods, reason = "this is how Windows names files")]

mod rename;
mod seen;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, IoSlice, Read as _};
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::core::error::{Error, Result};
use crate::store::dir::append::End;
use crate::store::dir::{Audience, Kind, Standing, name, read_end, write_all};

pub use seen::seen_file;
use seen::{moment, set_own_birth};

/// Opens a directory, or anything else, as it is.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const SHARE_READ_AND_WRITE: u32 = 0x1 | 0x2;
const READ_ATTRIBUTES: u32 = 0x80;
const APPEND_DATA: u32 = 0x4;
const GENERIC_READ: u32 = 0x8000_0000;
const SYNCHRONIZE: u32 = 0x0010_0000;
/// Somebody has it open in a way that does not go with what we want.
const SHARING_VIOLATION: i32 = 32;
#[derive(Debug)]
pub struct Dir {
    held: File,
    path: PathBuf,
}

impl Dir {
    /// Any directory, links resolved: the project's root, which the user chose.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error| Error::io("open the directory", path, error);
        let held = hold(path, BACKUP_SEMANTICS).map_err(failed)?;
        match held.metadata().map_err(failed)?.is_dir() {
            true => Ok(Self { held, path: path.to_owned() }),
            false => Err(failed(io::ErrorKind::NotADirectory.into())),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Files have no owner that we could give them.
    pub fn for_its_owner(self) -> Self {
        self
    }

    /// A directory in this one. `None` if there is none; an error if it is anything else.
    pub fn sub(&self, name: &str) -> Result<Option<Self>> {
        let path = self.path_of(name);
        let failed = |error| Error::io("open the directory", &path, error);
        let held = match self.plain(name).and_then(|path| hold(&path, AS_IT_IS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(failed)?,
        };
        let kind = held.metadata().map_err(failed)?.file_type();
        match (kind.is_symlink(), kind.is_dir()) {
            (true, _) => Err(Error::Planted { path, is: "a symlink" }),
            (false, true) => Ok(Some(Self { held, path })),
            (false, false) => Err(Error::Planted { path, is: "not a directory" }),
        }
    }

    /// A directory in this one, made if need be. Who may use it follows from the directory above.
    pub(super) fn make_for(&self, name: &str, _: Audience) -> Result<Self> {
        let failed = |error| Error::io("make the directory", &self.path_of(name), error);
        for _ in 0..3 {
            if let Some(dir) = self.sub(name)? {
                return Ok(dir);
            }
            match self.plain(name).and_then(std::fs::create_dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                _ => {}
            }
        }
        Err(failed(io::ErrorKind::NotFound.into()))
    }

    /// A directory that was not there before: what somebody else made is not used.
    pub fn make_new(&self, name: &str) -> Result<Self> {
        self.plain(name)
            .and_then(std::fs::create_dir)
            .map_err(|error| Error::io("make the directory", &self.path_of(name), error))?;
        self.make(name)
    }

    /// The bytes of a file that is not larger than that. Only `NotFound` means that there is none.
    pub fn read_up_to(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let path = || self.path_of(name);
        let failed = |error: io::Error| Error::io("read", &path(), error);
        let Some((mut file, found)) = self.open_if_there(name).map_err(failed)? else {
            return Ok(None);
        };
        match kind_of(&found) {
            Kind::File => {}
            Kind::Link => return Err(Error::Planted { path: path(), is: "a symlink" }),
            Kind::Folder | Kind::Other => {
                return Err(Error::Planted { path: path(), is: "not a file" });
            }
        }
        if found.len() > most {
            return Err(Error::TooLarge { path: path(), most });
        }
        let mut bytes = vec![0; usize::try_from(found.len()).unwrap_or(0)];
        file.read_exact(&mut bytes).map_err(failed)?;
        Ok(Some(bytes))
    }

    /// A file, opened for reading; `None` if there is none, or something else in its place.
    pub fn open_read(&self, name: &str) -> Result<Option<File>> {
        let opened = self.open_if_there(name);
        let opened = opened.map_err(|error| Error::io("open", &self.path_of(name), error))?;
        Ok(opened.filter(|(_, found)| kind_of(found) != Kind::Link).map(|(file, _)| file))
    }

    /// The last bytes of a file; nothing if there is none.
    pub fn read_tail(&self, name: &str, most: usize) -> Result<Vec<u8>> {
        let failed = |error: io::Error| Error::io("read", &self.path_of(name), error);
        let Some((file, found)) = self.open_if_there(name).map_err(failed)? else {
            return Ok(Vec::new());
        };
        if kind_of(&found) != Kind::File {
            return Err(Error::Planted { path: self.path_of(name), is: "not a file" });
        }
        read_end(&file, found.len(), most).map_err(failed)
    }

    /// A new file with this content; an error if there is one already.
    pub(super) fn create_for(
        &self,
        name: &str,
        pieces: &mut [IoSlice],
        sync: bool,
        _: Audience,
    ) -> Result<()> {
        let failed = |error: io::Error| Error::io("write", &self.path_of(name), error);
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).custom_flags(OPEN_REPARSE_POINT);
        let opened = self.plain(name).and_then(|path| options.open(path));
        let mut file = opened.map_err(failed)?;
        set_own_birth(&file).map_err(failed)?;
        let written = write_all(&mut file, pieces).and_then(|()| match sync {
            true => file.sync_data(),
            false => Ok(()),
        });
        written.map_err(|error| {
            let _ = self.remove(name);
            failed(error)
        })
    }

    /// Waits until what was added to a file is on the disk.
    pub fn sync_file(&self, name: &str) -> Result<()> {
        let synced = self.open_end(name, End::Write).map(|(file, _)| file.sync_data())?;
        synced.map_err(|error| Error::io("sync", &self.path_of(name), error))
    }

    /// The lock file, opened for reading and writing; made by whoever comes first.
    pub fn open_lock(&self, name: &str) -> Result<Option<File>> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).custom_flags(OPEN_REPARSE_POINT);
        let failed = |error| Error::io("open the lock", &self.path_of(name), error);
        let file = match self.plain(name).and_then(|path| options.open(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(failed)?,
        };
        match file.metadata().map_err(failed)?.is_symlink() {
            true => Err(Error::Planted { path: self.path_of(name), is: "a symlink" }),
            false => Ok(Some(file)),
        }
    }

    /// What a name stands for; only `NotFound` means that it stands for nothing.
    pub(super) fn kind(&self, name: &str) -> Result<Option<Kind>> {
        match self.look(name) {
            Ok(found) => Ok(Some(kind_of(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("look at", &self.path_of(name), error)),
        }
    }

    /// Whether nobody may write to a file.
    pub fn is_read_only(&self, name: &str) -> bool {
        self.look(name).is_ok_and(|found| found.permissions().readonly())
    }

    /// Only who tries knows: the attribute of a directory means something else.
    pub fn is_writable(&self) -> bool {
        true
    }

    /// Directories are synced by the file system's own log.
    pub fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// The names in this directory, in order. What is not Unicode is not ours.
    pub fn names(&self) -> Result<Vec<String>> {
        let failed = |error| Error::io("list", &self.path, error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            names.extend(entry.map_err(failed)?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.names()?.is_empty())
    }

    /// When something was last changed, in seconds since 1970.
    pub fn modified(&self, name: &str) -> i64 {
        self.look(name).map_or(0, |found| moment(found.last_write_time()).0)
    }

    /// How many bytes a file has.
    pub fn size(&self, name: &str) -> u64 {
        self.look(name).map_or(0, |found| found.len())
    }

    /// When something came to be or was changed, whichever was later: seconds and nanoseconds. A move
    /// leaves no trace here.
    pub fn arrived(&self, name: &str) -> (i64, i64) {
        let times = |found: Metadata| found.creation_time().max(found.last_write_time());
        self.look(name).map_or((0, 0), |found| {
            let (seconds, nanos) = moment(times(found));
            (seconds, i64::from(nanos))
        })
    }

    /// Removes a file or a link; it is fine if there is none.
    pub fn remove(&self, name: &str) -> Result<()> {
        let is_folder_link = self.look(name).is_ok_and(|found| is_folder_link(&found));
        let removed = self.plain(name).and_then(|path| match is_folder_link {
            true => std::fs::remove_dir(path),
            false => std::fs::remove_file(path),
        });
        self.removed(name, removed)
    }

    /// Removes an empty directory; it is fine if there is none, and one that somebody else has open
    /// counts as not empty.
    pub(super) fn remove_folder(&self, name: &str) -> Result<()> {
        let removed = self.plain(name).and_then(|path| match self.kind(name) {
            Ok(Some(Kind::File | Kind::Other)) => Err(io::ErrorKind::NotADirectory.into()),
            _ => std::fs::remove_dir(path),
        });
        let removed = removed.map_err(|error| match error.raw_os_error() {
            Some(SHARING_VIOLATION) => io::ErrorKind::DirectoryNotEmpty.into(),
            _ => error,
        });
        self.removed(name, removed)
    }

    fn removed(&self, name: &str, removed: io::Result<()>) -> Result<()> {
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &self.path_of(name), error))
            }
            _ => Ok(()),
        }
    }

    /// A file that is written to at its end, made if need be, and its size. A file with a second name
    /// could be somebody else's: refused.
    pub(super) fn open_end(&self, name: &str, end: End) -> Result<(File, u64)> {
        let failed = |error: io::Error| Error::io("append to", &self.path_of(name), error);
        let access = match end {
            End::Write => APPEND_DATA | READ_ATTRIBUTES | SYNCHRONIZE,
            End::ReadAndWrite => APPEND_DATA | GENERIC_READ | SYNCHRONIZE,
        };
        let mut options = OpenOptions::new();
        let options = options.append(true).create(true).access_mode(access);
        let options = options.custom_flags(OPEN_REPARSE_POINT);
        let file = self.plain(name).and_then(|path| options.open(path)).map_err(failed)?;
        let seen = seen_file(&file).map_err(failed)?;
        let kind = file.metadata().map_err(failed)?.file_type();
        if seen.links != 1 || !kind.is_file() {
            return Err(Error::Planted { path: self.path_of(name), is: "not a file of its own" });
        }
        Ok((file, seen.size))
    }

    /// Directories cannot be locked, and nobody can remove a file that is held as the lock is.
    pub fn lockable(&self) -> Result<Option<File>> {
        Ok(None)
    }

    /// Gives a new file what an old one has, if there is one: nothing but who may use it, which
    /// follows from the directory.
    pub fn copy_mode_to(&self, _: &str, _: &Self, _: &str) -> Result<()> {
        Ok(())
    }

    /// Who may do what here. Rights are lists here, which nobody of us reads.
    pub fn standing(&self) -> io::Result<Standing> {
        Ok(Standing { ours: true, writable: Self::may_write_at(&self.path), open: false })
    }

    /// Only who tries knows.
    pub fn may_write_at(path: &Path) -> bool {
        path.is_dir()
    }

    /// A file and what it is, opened for reading.
    fn open_if_there(&self, name: &str) -> io::Result<Option<(File, Metadata)>> {
        let opened = self.plain(name).and_then(|path| {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(AS_IT_IS).open(path)
        });
        match opened {
            Ok(file) => file.metadata().map(|found| Some((file, found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is at a name, itself: a link is a link.
    fn look(&self, name: &str) -> io::Result<Metadata> {
        self.plain(name)?.symlink_metadata()
    }

    /// The path of a name in this directory.
    fn plain(&self, name: &str) -> io::Result<PathBuf> {
        match name::is_plain(name) {
            true => Ok(self.path_of(name)),
            false => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

const AS_IT_IS: u32 = BACKUP_SEMANTICS | OPEN_REPARSE_POINT;

/// Opens something so that it keeps its name until it is closed.
fn hold(path: &Path, flags: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).share_mode(SHARE_READ_AND_WRITE).custom_flags(flags).open(path)
}

fn kind_of(found: &Metadata) -> Kind {
    let kind = found.file_type();
    match (kind.is_symlink(), kind.is_dir(), kind.is_file()) {
        (true, ..) => Kind::Link,
        (_, true, _) => Kind::Folder,
        (.., true) => Kind::File,
        _ => Kind::Other,
    }
}

/// Links to folders are removed as folders are.
fn is_folder_link(found: &Metadata) -> bool {
    use std::os::windows::fs::FileTypeExt as _;
    found.file_type().is_symlink_dir()
}
