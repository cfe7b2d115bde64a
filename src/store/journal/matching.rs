//! The lines of journals that hold something: found in the raw bytes, so that the others need not be
//! parsed.

use std::ops::ControlFlow;

use memchr::{memchr, memrchr};

use crate::store::journal::Journal;
use crate::store::journal::read::{LARGEST_BLOCK, Order};
use crate::store::journal::sessions::{SessionFiles, Unreadable};

impl Journal {
    /// Calls `each` with the lines of a session in which `find` finds something; the newest first, or
    /// nearly; `each` says whether to go on. `find` gives the place of what it finds first. How many
    /// files cannot be read.
    pub fn matching(
        &self,
        files: &SessionFiles,
        find: &impl Fn(&[u8]) -> Option<usize>,
        mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> usize {
        let mut unreadable = 0;
        for name in files.files().iter().rev() {
            let mut blocks = match self.blocks(name, Order::NewestFirst) {
                Ok(Some(blocks)) => blocks,
                Ok(None) => continue,
                Err(Unreadable) => {
                    unreadable += 1;
                    continue;
                }
            };
            while let Some(block) = blocks.next_block(LARGEST_BLOCK) {
                if lines_with(block, find, &mut each).is_break() {
                    return unreadable;
                }
            }
        }
        unreadable
    }
}

fn lines_with(
    block: &[u8],
    find: &impl Fn(&[u8]) -> Option<usize>,
    each: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut rest = block;
    while let Some(at) = find(rest) {
        let (before, behind) = rest.split_at(at.min(rest.len()));
        let begin = memrchr(b'\n', before).map_or(0, |end| end + 1);
        let end = at + memchr(b'\n', behind).unwrap_or(behind.len());
        each(rest.get(begin..end).unwrap_or_default())?;
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    ControlFlow::Continue(())
}
