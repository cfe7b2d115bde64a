//! Reading a journal in either direction, a block of whole lines at a time. What is no line of ours
//! (cut off, damaged, longer than any that we write, of a newer version) is passed over and counted.

use std::fs::File;
use std::io;
use std::ops::Range;

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use crate::core::journal::{Entry, VERSION};
use crate::core::text::plural;
use crate::core::time;
use crate::process::positioned::FileExt;

/// Bytes that are read at once, as long as a line fits in them.
const SMALL_BLOCK: usize = 64 << 10;
/// A line that does not fit in this was not written here.
pub const LARGEST_BLOCK: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    OldestFirst,
    NewestFirst,
}

/// What was passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// Lines, cut off or damaged.
    pub damaged: u64,
    /// Lines written by a version that knows more.
    pub newer: u64,
    /// Files that are there and cannot be read.
    pub unreadable: u64,
}

impl PassedOver {
    /// What has to be said where lines that are left out need not be.
    pub fn only_unreadable(self) -> Self {
        Self { unreadable: self.unreadable, ..Self::default() }
    }

    /// `Left out: 2 lines cut off or damaged.`; nothing if none was.
    pub fn in_words(self) -> Option<String> {
        let parts = [
            (self.damaged, "line", "cut off or damaged"),
            (self.newer, "line", "of a newer version"),
            (self.unreadable, "journal", "that cannot be read"),
        ];
        let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
        let in_words = |(count, what, how): (u64, &str, &str)| {
            format!("{} {how}", plural(usize::try_from(count).unwrap_or(usize::MAX), what))
        };
        let all: Vec<String> = parts.map(in_words).collect();
        (!all.is_empty()).then(|| format!("Left out: {}.", all.join(", ")))
    }
}

impl std::ops::AddAssign for PassedOver {
    fn add_assign(&mut self, other: Self) {
        self.damaged += other.damaged;
        self.newer += other.newer;
        self.unreadable += other.unreadable;
    }
}

enum Line {
    Good(Box<Entry>),
    Empty,
    Damaged,
    Newer,
}

/// A line of ours.
pub fn parse(line: &[u8]) -> Option<Entry> {
    match read_line(line) {
        Line::Good(entry) => Some(*entry),
        Line::Empty | Line::Damaged | Line::Newer => None,
    }
}

fn read_line(line: &[u8]) -> Line {
    if line.trim_ascii().is_empty() {
        return Line::Empty;
    }
    match serde_json::from_slice::<Entry>(line) {
        Ok(entry) if entry.v > VERSION => Line::Newer,
        Ok(entry) if time::parse(&entry.time).is_some() => Line::Good(Box::new(entry)),
        Err(_) if is_newer(line) => Line::Newer,
        _ => Line::Damaged,
    }
}

/// Whether a line says that it is of a newer version, whatever else is in it.
pub fn is_newer(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Version {
        v: u64,
    }
    serde_json::from_slice::<Version>(line).is_ok_and(|version| version.v > VERSION)
}

/// Blocks of whole lines of a file.
pub struct Blocks {
    /// Until all of it was read.
    file: Option<File>,
    order: Order,
    /// What has not been read yet.
    rest: Range<u64>,
    buffer: Vec<u8>,
    damaged: u64,
}

impl Blocks {
    pub fn new(file: File, order: Order) -> io::Result<Self> {
        let rest = 0..file.metadata()?.len();
        Ok(Self { file: Some(file), order, rest, buffer: Vec::new(), damaged: 0 })
    }

    /// The next block of whole lines.
    pub fn next_block(&mut self, most: usize) -> Option<&[u8]> {
        let block = self.advance(most)?;
        self.buffer.get(block)
    }

    /// Reads the next block and says where in the buffer it is.
    fn advance(&mut self, mut most: usize) -> Option<Range<usize>> {
        // Whether what comes next belongs to a line that is too long.
        let mut is_inside = false;
        while !self.rest.is_empty() {
            let left = self.rest.end - self.rest.start;
            let length = most.min(usize::try_from(left).unwrap_or(most));
            let at = match self.order {
                Order::OldestFirst => self.rest.start,
                Order::NewestFirst => self.rest.end - length as u64,
            };
            self.buffer.resize(length, 0);
            let file = self.file.as_ref()?;
            if file.read_exact_at(&mut self.buffer, at).is_err() {
                // Somebody has cut it off, or it cannot be read: nothing more comes of it.
                self.damaged += 1;
                self.rest.start = self.rest.end;
                break;
            }
            let is_last = length as u64 == left;
            let block = match is_inside {
                true => None,
                false if is_last => Some(0..length),
                false => self.whole_lines(),
            };
            match block {
                Some(block) => {
                    self.drop_from_rest(at, &block);
                    return Some(block);
                }
                None if is_inside => {
                    let end = self.end_of_long_line();
                    is_inside = end.is_none();
                    self.drop_from_rest(at, &end.unwrap_or(0..length));
                }
                None if length < LARGEST_BLOCK => most = LARGEST_BLOCK,
                None => {
                    is_inside = true;
                    self.damaged += 1;
                    self.drop_from_rest(at, &(0..length));
                }
            }
        }
        self.file = None;
        None
    }

    /// Whole lines in the buffer, if there are any.
    fn whole_lines(&self) -> Option<Range<usize>> {
        let length = self.buffer.len();
        match self.order {
            Order::OldestFirst => memrchr(b'\n', &self.buffer).map(|last| 0..last + 1),
            Order::NewestFirst => {
                let begin = memchr(b'\n', &self.buffer).map(|first| first + 1);
                begin.filter(|begin| *begin < length).map(|begin| begin..length)
            }
        }
    }

    /// The part of the buffer that still belongs to a line that is too long, if it ends there.
    fn end_of_long_line(&self) -> Option<Range<usize>> {
        match self.order {
            Order::OldestFirst => memchr(b'\n', &self.buffer).map(|first| 0..first + 1),
            Order::NewestFirst => {
                memrchr(b'\n', &self.buffer).map(|last| last + 1..self.buffer.len())
            }
        }
    }

    fn drop_from_rest(&mut self, at: u64, part: &Range<usize>) {
        match self.order {
            Order::OldestFirst => self.rest.start = at + part.end as u64,
            Order::NewestFirst => self.rest.end = at + part.start as u64,
        }
        if self.rest.is_empty() {
            self.file = None;
        }
    }
}

/// The lines of a file, one by one.
pub struct Entries {
    blocks: Blocks,
    /// The part of the buffer that has not been given yet.
    block: Range<usize>,
    passed_over: PassedOver,
    /// Only lines with one of these texts are read; without any, all.
    texts: Vec<Finder<'static>>,
}

impl Entries {
    pub fn new(blocks: Blocks, texts: &[String]) -> Self {
        let texts = texts.iter().map(|text| Finder::new(text).into_owned()).collect();
        Self { blocks, block: 0..0, passed_over: PassedOver::default(), texts }
    }

    pub fn passed_over(&self) -> PassedOver {
        let mut all = self.passed_over;
        all.damaged += self.blocks.damaged;
        all
    }

    /// Takes the next line out of the block.
    fn take_line(&mut self) -> Range<usize> {
        let block = self.blocks.buffer.get(self.block.clone()).unwrap_or_default();
        let Range { start, end } = self.block;
        match self.blocks.order {
            Order::OldestFirst => {
                let length = memchr(b'\n', block).unwrap_or(block.len());
                self.block.start = (start + length + 1).min(end);
                start..start + length
            }
            Order::NewestFirst => {
                let end = if block.last() == Some(&b'\n') { end - 1 } else { end };
                let lines = block.get(..end - start).unwrap_or_default();
                let begin = memrchr(b'\n', lines).map_or(start, |at| start + at + 1);
                self.block.end = begin;
                begin..end
            }
        }
    }
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if self.block.is_empty() {
                self.block = self.blocks.advance(SMALL_BLOCK)?;
            }
            let line = self.take_line();
            let line = self.blocks.buffer.get(line).unwrap_or_default();
            let is_wanted = |text: &Finder| text.find(line).is_some();
            if !self.texts.is_empty() && !self.texts.iter().any(is_wanted) {
                continue;
            }
            match read_line(line) {
                Line::Good(entry) => return Some(*entry),
                Line::Empty => {}
                Line::Damaged => self.passed_over.damaged += 1,
                Line::Newer => self.passed_over.newer += 1,
            }
        }
    }
}
