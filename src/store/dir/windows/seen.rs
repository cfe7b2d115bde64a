//! What Windows knows of a file.

use std::fs::{File, FileTimes, OpenOptions};
use std::io;
use std::os::windows::fs::{FileTimesExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::{AS_IT_IS, Dir, READ_ATTRIBUTES};
use crate::core::error::{Error, Result};
use crate::store::dir::seen::{Moment, Seen};

/// Intervals of a hundred nanoseconds from 1601 to 1970, and in a second.
const TO_1970: i64 = 116_444_736_000_000_000;
const IN_A_SECOND: i64 = 10_000_000;

impl Dir {
    /// What a name stands for; a link stands for itself. Only what is not there is `None`: who cannot
    /// look must not take something for absent, or for his own.
    pub fn seen(&self, name: &str) -> Result<Option<Seen>> {
        let failed = |error| Error::io("look at", &self.path_of(name), error);
        let file = match self.plain(name).and_then(|path| look_at(&path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(failed)?,
        };
        seen_file(&file).map(Some).map_err(failed)
    }

    pub fn seen_itself(&self) -> io::Result<Seen> {
        seen_file(&self.held)
    }

    /// Whether a file that was opened here is still what its path leads to.
    pub fn is_named(&self, name: &str, file: &File) -> bool {
        match (self.seen(name), seen_file(file)) {
            (Ok(named), Ok(held)) => named.is_some_and(|named| named.ino == held.ino),
            // Who cannot look has not seen that it went.
            _ => true,
        }
    }

    /// Whether this directory is still what its path leads to: as long as it is held.
    pub fn is_in_place(&self) -> bool {
        true
    }
}

/// Opens something to see what it is, which nobody can forbid by having it open.
fn look_at(path: &Path) -> io::Result<File> {
    OpenOptions::new().access_mode(READ_ATTRIBUTES).custom_flags(AS_IT_IS).open(path)
}

/// An open file.
pub fn seen_file(file: &File) -> io::Result<Seen> {
    let found = winapi_util::file::information(file)?;
    let modified = moment(found.last_write_time().unwrap_or(0));
    Ok(Seen {
        ino: found.file_index(),
        // Who keeps none says the last change instead: some network drives, and Wine.
        birth: found.creation_time().map(moment).filter(|at| at.0 > 0 && *at != modified),
        changed: modified,
        modified,
        size: found.file_size(),
        links: found.number_of_links(),
        is_dir: file.metadata()?.is_dir(),
    })
}

/// A file whose name was in use a moment ago is given the birth time of the one before.
pub fn set_own_birth(file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    match found.creation_time() == found.last_write_time() {
        true => Ok(()),
        false => file.set_times(FileTimes::new().set_created(found.modified()?)),
    }
}

pub fn moment(time: u64) -> Moment {
    let since = i64::try_from(time).unwrap_or(0) - TO_1970;
    let nanos = since.rem_euclid(IN_A_SECOND) * 100;
    (since.div_euclid(IN_A_SECOND), u32::try_from(nanos).unwrap_or(0))
}
