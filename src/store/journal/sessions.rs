//! The journals of a project: which there are, one of them, or all of them as one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use memchr::memrchr;

use crate::core::journal::Entry;
use crate::core::time;
use crate::store::dir::Dir;
use crate::store::journal::read::{Blocks, Entries, Order, PassedOver, parse};
use crate::store::journal::{Journal, earlier_name, file_name};

/// Seconds that a line may be older than the file it is in says: what waited in the spool is told
/// with its own time.
const SLACK: i64 = 120;

/// The journal of one session: a file, or two if it was turned over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFiles {
    /// The session's id, or a digest of it.
    pub stem: String,
    pub bytes: u64,
    /// When something was last added, in seconds since 1970.
    pub modified: i64,
    /// Whether there is an earlier file.
    has_earlier: bool,
    has_present: bool,
}

impl SessionFiles {
    /// The files, oldest first.
    pub fn files(&self) -> Vec<String> {
        let earlier = self.has_earlier.then(|| earlier_name(&self.stem));
        let present = self.has_present.then(|| file_name(&self.stem));
        earlier.into_iter().chain(present).collect()
    }
}

/// All journals in a folder, the one that was last added to first.
pub fn list(folder: &Dir) -> Vec<SessionFiles> {
    let mut sessions: BTreeMap<String, SessionFiles> = BTreeMap::new();
    for name in folder.names().unwrap_or_default() {
        let Some(whole) = name.strip_suffix(".jsonl") else { continue };
        let stem = whole.strip_suffix(".1").unwrap_or(whole);
        let session = sessions.entry(stem.to_owned()).or_insert_with(|| SessionFiles {
            stem: stem.to_owned(),
            bytes: 0,
            modified: 0,
            has_earlier: false,
            has_present: false,
        });
        session.bytes += folder.size(&name);
        session.modified = session.modified.max(folder.modified(&name));
        match whole.len() == stem.len() {
            true => session.has_present = true,
            false => session.has_earlier = true,
        }
    }
    let mut sessions: Vec<SessionFiles> = sessions.into_values().collect();
    sessions.sort_by(|one, other| (other.modified, &one.stem).cmp(&(one.modified, &other.stem)));
    sessions
}

/// A journal that is there and cannot be read: no file of ours, or the system does not let us.
pub struct Unreadable;

impl Journal {
    /// All sessions that have a journal, the one that was last added to first.
    pub fn sessions(&self) -> Vec<SessionFiles> {
        self.folder.as_ref().map(|folder| list(folder)).unwrap_or_default()
    }

    /// The stems of all sessions that have a journal, in order.
    pub fn stems(&self) -> Vec<String> {
        let names = self.folder.as_ref().and_then(|folder| folder.names().ok());
        let stem = |name: &String| {
            let whole = name.strip_suffix(".jsonl")?;
            Some(whole.strip_suffix(".1").unwrap_or(whole).to_owned())
        };
        let stems: BTreeSet<String> = names.unwrap_or_default().iter().filter_map(stem).collect();
        stems.into_iter().collect()
    }

    /// What happened in one session, by the stem of its file ([`super::stem`]); nothing if it has no
    /// journal.
    pub fn of_stem(&self, stem: &str, order: Order) -> SessionEntries<'_> {
        let mut names = vec![earlier_name(stem), file_name(stem)];
        // They are taken from the end.
        if order == Order::OldestFirst {
            names.reverse();
        }
        let passed_over = self.passed_over();
        let texts = Vec::new();
        SessionEntries { journal: self, names, order, texts, open: None, passed_over }
    }

    /// A file as blocks of whole lines; `None` if it is not there.
    pub fn blocks(&self, name: &str, order: Order) -> Result<Option<Blocks>, Unreadable> {
        let Some(folder) = &self.folder else { return Ok(None) };
        match folder.open_read(name) {
            Ok(None) if folder.is_symlink(name) => Err(Unreadable),
            Ok(None) => Ok(None),
            Ok(Some(file)) => match file.metadata() {
                Ok(meta) if meta.is_file() => {
                    Blocks::new(file, order).map(Some).map_err(|_| Unreadable)
                }
                _ => Err(Unreadable),
            },
            Err(_) => Err(Unreadable),
        }
    }

    /// What happened in all sessions, newest first. Only as many files are open at a time as
    /// sessions overlap.
    pub fn newest_first(&self) -> AllEntries<'_> {
        self.newest_since(None)
    }

    /// All entries of the sessions that something was added to since then. Of those all comes:
    /// where a clock was set, lines of one file are not in the order of their times.
    pub fn newest_since(&self, since: Option<&str>) -> AllEntries<'_> {
        let since = since.and_then(time::parse).map(|time| time.timestamp());
        let mut waiting = self.sessions();
        waiting.retain(|files| {
            since.is_none_or(|since| files.modified.saturating_add(SLACK) >= since)
        });
        waiting.reverse();
        AllEntries { journal: self, waiting, open: Vec::new(), passed_over: self.passed_over() }
    }
}

/// For who waits for more.
impl Journal {
    /// How large the files are that are written to, by the stems of their sessions.
    pub fn sizes(&self) -> BTreeMap<String, u64> {
        let Some(folder) = &self.folder else { return BTreeMap::new() };
        let names = folder.names().unwrap_or_default();
        let stems = names.iter().filter_map(|name| name.strip_suffix(".jsonl"));
        let stems = stems.filter(|stem| !stem.ends_with(".1"));
        stems.map(|stem| (stem.to_owned(), folder.size(&file_name(stem)))).collect()
    }

    /// The whole lines that were added since the sizes were these, each with its session's stem.
    pub fn added(&self, known: &mut BTreeMap<String, u64>) -> Vec<(String, Entry)> {
        let mut added = Vec::new();
        for (stem, size) in self.sizes() {
            let place = known.entry(stem.clone()).or_default();
            if size < *place {
                // It was turned over meanwhile.
                let lines = self.lines_behind(&earlier_name(&stem), *place).0;
                added.extend(lines.into_iter().map(|entry| (stem.clone(), entry)));
                *place = 0;
            }
            if size > *place {
                let (lines, end) = self.lines_behind(&file_name(&stem), *place);
                added.extend(lines.into_iter().map(|entry| (stem.clone(), entry)));
                *place = end;
            }
        }
        added
    }

    /// The lines behind a place, and where the last whole one ends.
    fn lines_behind(&self, name: &str, place: u64) -> (Vec<Entry>, u64) {
        let folder = self.folder.as_ref();
        let size = folder.map_or(0, |folder| folder.size(name));
        let length = usize::try_from(size.saturating_sub(place)).unwrap_or(0);
        let tail =
            folder.and_then(|folder| folder.read_tail(name, length).ok()).unwrap_or_default();
        let end = memrchr(b'\n', &tail).map_or(0, |last| last + 1);
        let whole = tail.get(..end).unwrap_or_default();
        let lines = whole.split(|byte| *byte == b'\n').filter_map(parse);
        (lines.collect(), place + end as u64)
    }
}

/// The lines of one session.
pub struct SessionEntries<'a> {
    journal: &'a Journal,
    names: Vec<String>,
    order: Order,
    texts: Vec<String>,
    open: Option<Entries>,
    passed_over: PassedOver,
}

impl SessionEntries<'_> {
    /// Only lines that have one of these texts in them: the others are not even parsed, and not
    /// counted if they are damaged.
    pub fn with_any(mut self, texts: &[&str]) -> Self {
        self.texts = texts.iter().map(|&text| text.to_owned()).collect();
        self
    }

    pub fn passed_over(&self) -> PassedOver {
        let mut all = self.passed_over;
        all += self.open.as_ref().map(Entries::passed_over).unwrap_or_default();
        all
    }
}

impl Iterator for SessionEntries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.open.as_mut().and_then(Iterator::next) {
                return Some(entry);
            }
            self.passed_over = self.passed_over();
            self.open = None;
            let name = self.names.pop()?;
            match self.journal.blocks(&name, self.order) {
                Ok(blocks) => self.open = blocks.map(|blocks| Entries::new(blocks, &self.texts)),
                Err(Unreadable) => self.passed_over.unreadable += 1,
            }
        }
    }
}

/// The lines of all sessions, newest first.
pub struct AllEntries<'a> {
    journal: &'a Journal,
    /// Those that were not needed yet; the next one last.
    waiting: Vec<SessionFiles>,
    /// Those that are being read, each with its next line.
    open: Vec<(Entry, SessionEntries<'a>)>,
    passed_over: PassedOver,
}

impl AllEntries<'_> {
    pub fn passed_over(&self) -> PassedOver {
        let mut all = self.passed_over;
        self.open.iter().for_each(|(_, entries)| all += entries.passed_over());
        all
    }

    /// Opens those whose last line may be newer than all that is open.
    fn open_newer(&mut self) {
        loop {
            let newest = self.open.iter().map(|(entry, _)| &entry.time).max();
            let newest = newest.and_then(|time| time::parse(time)).map(|time| time.timestamp());
            let is_needed = |next: &mut SessionFiles| {
                newest.is_none_or(|newest| next.modified.saturating_add(SLACK) >= newest)
            };
            let Some(next) = self.waiting.pop_if(is_needed) else { return };
            let mut entries = self.journal.of_stem(&next.stem, Order::NewestFirst);
            match entries.next() {
                Some(entry) => self.open.push((entry, entries)),
                None => self.passed_over += entries.passed_over(),
            }
        }
    }
}

impl Iterator for AllEntries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.open_newer();
        let newest = self.open.iter().enumerate();
        let (at, _) = newest.max_by_key(|(at, (entry, _))| (&entry.time, Reverse(*at)))?;
        let (entry, entries) = self.open.get_mut(at)?;
        match entries.next() {
            Some(next) => Some(std::mem::replace(entry, next)),
            None => {
                let (entry, entries) = self.open.swap_remove(at);
                self.passed_over += entries.passed_over();
                Some(entry)
            }
        }
    }
}
