//! The lines of journals that hold something: found in the raw bytes, so that the others need not be
//! parsed.

use memchr::{memchr, memrchr};

use crate::store::journal::Journal;
use crate::store::journal::read::{LARGEST_BLOCK, Order};
use crate::store::journal::sessions::SessionFiles;

impl Journal {
    /// Calls `each` with the lines of a session in which `find` finds something; the newest first, or
    /// nearly. `find` gives the place of what it finds first.
    pub fn matching(
        &self,
        files: &SessionFiles,
        find: &impl Fn(&[u8]) -> Option<usize>,
        mut each: impl FnMut(&[u8]),
    ) {
        for name in files.files().iter().rev() {
            let Some(mut blocks) = self.blocks(name, Order::NewestFirst) else { continue };
            while let Some(block) = blocks.next_block(LARGEST_BLOCK) {
                lines_with(block, find, &mut each);
            }
        }
    }
}

fn lines_with(block: &[u8], find: &impl Fn(&[u8]) -> Option<usize>, each: &mut impl FnMut(&[u8])) {
    let mut rest = block;
    while let Some(at) = find(rest) {
        let (before, behind) = rest.split_at(at.min(rest.len()));
        let begin = memrchr(b'\n', before).map_or(0, |end| end + 1);
        let end = at + memchr(b'\n', behind).unwrap_or(behind.len());
        each(rest.get(begin..end).unwrap_or_default());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
}
