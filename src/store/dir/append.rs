//! Adding to the end of files.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FileType, OFlags};

use super::Dir;
use crate::core::error::{Error, Result};

/// What a file was and is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub size_before: u64,
    pub size: u64,
}

impl Dir {
    /// Adds to the end of a file. A file with a second name could be somebody else's: refused.
    pub fn append(&self, name: &str, bytes: &[u8]) -> Result<u64> {
        let (mut file, size) = self.open_end(name, OFlags::WRONLY)?;
        file.write_all(bytes).map_err(|error| self.append_failed(name, error))?;
        Ok(size + bytes.len() as u64)
    }

    /// Adds whole lines, in one write. A last line that was cut off (by a kill, a full disk, a power
    /// cut) is ended first. Without the lock somebody else may be writing meanwhile: at worst that
    /// leaves an empty line.
    pub fn append_lines(&self, name: &str, lines: &[u8]) -> Result<Appended> {
        let (mut file, size_before) = self.open_end(name, OFlags::RDWR)?;
        let mut last = [b'\n'];
        if size_before > 0 {
            let read = file.read_at(&mut last, size_before - 1);
            read.map_err(|error| self.append_failed(name, error))?;
        }
        let written = match last {
            [b'\n'] => file.write_all(lines).map(|()| lines.len()),
            _ => {
                let mended = [b"\n", lines].concat();
                file.write_all(&mended).map(|()| mended.len())
            }
        };
        let written = written.map_err(|error| self.append_failed(name, error))?;
        Ok(Appended { size_before, size: size_before + written as u64 })
    }

    /// A file that is written to at its end, made if need be, and its size.
    fn open_end(&self, name: &str, access: OFlags) -> Result<(File, u64)> {
        let flags = access
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let failed = |error: io::Error| self.append_failed(name, error);
        let file = self.open_file(name, flags).map_err(|error| failed(error.into()))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
        if stat.st_nlink != 1 || !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(Error::Planted { path: self.path_of(name), is: "not a file of its own" });
        }
        if stat.st_size == 0 {
            self.give(&file);
        }
        Ok((file, u64::try_from(stat.st_size).unwrap_or(0)))
    }

    fn append_failed(&self, name: &str, error: io::Error) -> Error {
        Error::io("append to", &self.path_of(name), error)
    }
}
