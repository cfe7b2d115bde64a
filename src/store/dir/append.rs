//! Adding to the end of files.

use std::io::{self, Write as _};

use super::Dir;
use crate::core::error::{Error, Result};
use crate::process::positioned::FileExt as _;

/// What a file was and is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub size_before: u64,
    pub size: u64,
}

/// What is done at the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Write,
    ReadAndWrite,
}

impl Dir {
    /// Adds to the end of a file. A file with a second name could be somebody else's: refused.
    pub fn append(&self, name: &str, bytes: &[u8]) -> Result<u64> {
        let (mut file, size) = self.open_end(name, End::Write)?;
        file.write_all(bytes).map_err(|error| self.append_failed(name, error))?;
        Ok(size + bytes.len() as u64)
    }

    /// Adds whole lines, in one write. A last line that was cut off (by a kill, a full disk, a power
    /// cut) is ended first. Without the lock somebody else may be writing meanwhile: at worst that
    /// leaves an empty line.
    pub fn append_lines(&self, name: &str, lines: &[u8]) -> Result<Appended> {
        let (mut file, size_before) = self.open_end(name, End::ReadAndWrite)?;
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

    fn append_failed(&self, name: &str, error: io::Error) -> Error {
        Error::io("append to", &self.path_of(name), error)
    }
}
