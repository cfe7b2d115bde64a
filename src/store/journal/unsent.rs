//! The part of a session's journal behind a place, whatever the files are called by now.

use crate::process::positioned::FileExt as _;
use std::fs::File;

use memchr::memrchr;

use crate::store::journal::lost::identity_of;
use crate::store::journal::read::LARGEST_BLOCK;
use crate::store::journal::{Journal, earlier_name, file_name};

/// Bytes that are read at once, as long as a line fits in them.
const SMALL_BLOCK: usize = 64 << 10;

/// What is left to read of one file.
pub struct Part {
    /// Which file it is ([`identity_of`]).
    pub file: String,
    /// Where it goes on.
    pub at: u64,
    handle: File,
}

impl Journal {
    /// The files of a session that may have something behind a place, the oldest first. A file that
    /// is no longer there was noted when it went.
    pub fn behind(&self, stem: &str, file: &str, at: u64) -> Vec<Part> {
        // The present one first: if it is turned over meanwhile it is met again, and not missed.
        let present = self.part(&file_name(stem), file, at);
        let earlier = self.part(&earlier_name(stem), file, at);
        match (earlier, present) {
            (Some(earlier), Some(present)) if earlier.file == present.file => vec![present],
            (_, Some(present)) if present.file == file => vec![present],
            (earlier, present) => earlier.into_iter().chain(present).collect(),
        }
    }

    fn part(&self, name: &str, file: &str, at: u64) -> Option<Part> {
        let handle = self.folder.as_ref()?.open_read(name).ok()??;
        let identity = identity_of(&handle)?;
        let size = handle.metadata().map_or(0, |meta| meta.len());
        // One that became shorter is another one: better twice than not at all.
        let at = if identity == file && at <= size { at } else { 0 };
        Some(Part { file: identity, at, handle })
    }

    /// Whether all files of a session that are there can be opened: what cannot waits.
    pub fn can_be_opened(&self, stem: &str) -> bool {
        let opens = |name: &str| self.folder.as_ref().is_none_or(|it| it.open_read(name).is_ok());
        opens(&file_name(stem)) && opens(&earlier_name(stem))
    }

    /// Where a session's journal ends now: the file, and its size.
    pub fn end_of(&self, stem: &str) -> (String, u64) {
        let last = self.behind(stem, "", 0).pop();
        last.map_or_else(Default::default, |part| {
            let left = part.left();
            (part.file, left)
        })
    }
}

impl Part {
    /// How much of it is left, an unfinished line included.
    pub fn left(&self) -> u64 {
        self.handle.metadata().map_or(0, |meta| meta.len()).saturating_sub(self.at)
    }

    /// The next whole lines; none if there are no more. What is longer than any line of ours is
    /// passed over.
    pub fn next_lines(&mut self, buffer: &mut Vec<u8>) -> bool {
        let mut most = SMALL_BLOCK;
        loop {
            buffer.resize(most, 0);
            let mut read = 0;
            while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
                match self.handle.read_at(rest, self.at + read as u64) {
                    Ok(0) => break,
                    Ok(more) => read += more,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            buffer.truncate(read);
            match memrchr(b'\n', buffer) {
                Some(end) => {
                    buffer.truncate(end + 1);
                    return true;
                }
                None if read < most => return false,
                None if most < LARGEST_BLOCK => most = LARGEST_BLOCK,
                None => {
                    self.at += read as u64;
                    most = SMALL_BLOCK;
                }
            }
        }
    }
}
