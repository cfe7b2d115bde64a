//! Whether the state was made here, on this file system, by this program; ARCHITECTURE.md, "Trust".
//!
//! A mark names the inode of a file, the moment when it came to be, and since when things beside the
//! state are believed. The lock file has its own mark in it, so that one look and one short read
//! prove it; `.gitignore` has that of the directory, for when somebody has removed the lock. Where a
//! file system keeps no birth times, the lock stays empty and `.gitignore` has the moment of the
//! lock's last change.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::core::error::{Error, Result};
use crate::process::wall_clock;
use crate::store::dir::Dir;
use crate::store::dir::seen::{Moment, Seen, seen_file};
use crate::store::home::{IGNORE, LOCK};
use crate::store::lock::Lock;

/// As much as is read of a mark at every event.
const LONGEST: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// What is beside the state is believed if it is not older.
    since: Moment,
    /// Paths below `.claude` that git brought.
    pub tracked: Vec<String>,
    /// Paths below `.claude` that were older when the clock was set back.
    older: Vec<String>,
    /// Rooms with what was moved away and the user has not heard of.
    pub untold: Vec<String>,
    /// Loops that a command started here and no session drives yet.
    pub begun: Vec<String>,
    /// The lock has no mark: somebody has made it anew.
    pub is_unmarked: bool,
}

impl Origin {
    /// `None`: there is no proof that this state was made here.
    pub fn read(state: &Dir, lock: &File) -> Option<Self> {
        let seen = seen_file(lock)?;
        let mut text = [0; LONGEST];
        // Something else may be in its place.
        let length = lock.read_at(&mut text, 0).unwrap_or(0);
        parse(text.get(..length)?, &[seen]).or_else(|| Self::read_ignored(state, Some(seen)))
    }

    /// By the mark in `.gitignore`.
    fn read_ignored(state: &Dir, lock: Option<Seen>) -> Option<Self> {
        let ignore = state.read(IGNORE).ok()??;
        let proofs: Vec<Seen> = state.seen_itself().into_iter().chain(lock).collect();
        Some(Self { is_unmarked: true, ..parse(&ignore, &proofs)? })
    }

    /// Nothing beside the state is believed.
    pub fn never() -> Self {
        Self { since: (i64::MAX, 0), ..Self::default() }
    }

    /// The same for who does not take the lock.
    pub fn peek(state: &Dir) -> Option<Self> {
        match state.open_read(LOCK) {
            Some(lock) => Self::read(state, &lock),
            None => Self::read_ignored(state, None),
        }
    }

    /// A mark for what is in the state directory now. What is beside it is older than that.
    /// `room` has what was there before.
    pub fn make(state: &Dir, lock: &Lock, room: Option<String>) -> Result<Self> {
        let untold = room.into_iter().collect();
        let origin = Self { since: tick(state)?, untold, ..Self::default() };
        origin.write(state, lock)?;
        Ok(origin)
    }

    pub fn write(&self, state: &Dir, lock: &Lock) -> Result<()> {
        let missing = || Error::io("look at", state.path(), std::io::ErrorKind::NotFound);
        let seen = seen_file(lock.file()).ok_or_else(missing)?;
        let of_dir = state.seen_itself().ok_or_else(missing)?;
        let failed = |error| Error::io("mark", &state.path_of(LOCK), error);
        let lines = self.lines();
        let own = mark('b', &seen, own_birth(&seen), self.since);
        let (directory, kept) = match own.is_some() {
            true => (mark('b', &of_dir, of_dir.birth, self.since), ""),
            false => (mark('c', &seen, Some(seen.changed), self.since), lines.as_str()),
        };
        if let Some(own) = own {
            let text = format!("{own}\n{lines}");
            lock.file().write_all_at(text.as_bytes(), 0).map_err(failed)?;
            lock.file().set_len(text.len() as u64).map_err(failed)?;
        }
        let mut ignore = "*\n".to_owned();
        for line in directory.as_deref().into_iter().chain(kept.lines()) {
            ignore.push_str(&format!("# {line}\n"));
        }
        if state.read(IGNORE).ok().flatten().as_deref() == Some(ignore.as_bytes()) {
            return Ok(());
        }
        state.remove(IGNORE).or_else(|_| state.remove_tree(IGNORE))?;
        state.create(IGNORE, ignore.as_bytes(), true)
    }

    /// If the clock was set back, what comes now would look older than the mark: then the mark is
    /// set back too, and what is older by then is written down.
    pub fn follow_clock(&mut self, claude: &Dir, state: &Dir, lock: &Lock) -> Result<()> {
        let now = wall_clock();
        // File systems have a coarser clock, and that of another machine may be a little behind.
        if (now.0.saturating_add(60), now.1) >= self.since {
            return Ok(());
        }
        let mut older = super::untrusted::beside(claude, self);
        older.append(&mut self.older);
        older.sort();
        older.dedup();
        self.older = older;
        self.since = tick(state)?;
        self.write(state, lock)
    }

    /// Whether something of this path below `.claude` may be believed at all.
    pub fn allows(&self, path: &str) -> bool {
        !self.tracked.iter().chain(&self.older).any(|bad| is_in(path, bad))
    }

    /// Whether git has brought this, or something in it.
    pub fn has_tracked_in(&self, path: &str) -> bool {
        self.tracked.iter().any(|bad| is_in(bad, path))
    }

    /// Whether what is at this path below `.claude` was made here: a file in `.claude` itself, a plan,
    /// or the folder of a branch or task.
    pub fn believes(&self, path: &str, seen: &Seen) -> bool {
        self.allows(path) && seen.born() >= self.since
    }

    /// A person believes all that is there. Which loop was started here is not known any more.
    pub fn forgive_all(&mut self) {
        self.tracked.clear();
        self.older.clear();
        self.begun.clear();
    }

    /// What is at this path is not there any more; whether that is new.
    pub fn forgive(&mut self, path: &str) -> bool {
        let before = self.tracked.len() + self.older.len();
        self.tracked.retain(|bad| !is_in(bad, path));
        self.older.retain(|bad| !is_in(bad, path));
        self.tracked.len() + self.older.len() < before
    }

    fn lines(&self) -> String {
        let mut lines = Vec::new();
        let (begun, untold) = (("+", &self.begun), ("?", &self.untold));
        for (sign, paths) in [("-", &self.tracked), ("!", &self.older), begun, untold] {
            lines.extend(paths.iter().map(|path| format!("{sign} {path}\n")));
        }
        // Too many to name: then all that is with them.
        if lines.iter().map(String::len).sum::<usize>() > LONGEST - 200 {
            for line in &mut lines {
                let top = line.split('/').next().unwrap_or_default().trim_end();
                *line = format!("{top}\n");
            }
            lines.sort();
            lines.dedup();
        }
        lines.concat()
    }
}

/// The note beside a file's own mark; `None` if it has none.
pub fn marked_note(file: &File) -> Option<String> {
    let mut text = [0; 300];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = text.get(..length)?;
    parse(text, &[seen_file(file)?])?;
    let text = std::str::from_utf8(text).ok()?;
    Some(text.lines().nth(1).unwrap_or_default().to_owned())
}

/// Writes its own mark and a note into a file; nothing where the file system keeps no birth times.
pub fn mark_file(file: &File, note: &str) -> std::io::Result<()> {
    match seen_file(file).and_then(|seen| mark('b', &seen, own_birth(&seen), (0, 0))) {
        Some(own) => {
            let text = format!("{own}\n{note}\n");
            file.write_all_at(text.as_bytes(), 0)?;
            file.set_len(text.len() as u64)
        }
        None => Ok(()),
    }
}

/// Whether a path is that of a folder, or of something in it.
fn is_in(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A file with a second name could be somebody else's: nothing is written into it.
fn own_birth(seen: &Seen) -> Option<Moment> {
    seen.birth.filter(|_| seen.links == 1)
}

fn mark(kind: char, seen: &Seen, at: Option<Moment>, since: Moment) -> Option<String> {
    let (at, ino) = (at?, seen.ino);
    Some(format!("{kind} {ino} {}.{:09} since {}.{:09}", at.0, at.1, since.0, since.1))
}

fn parse(text: &[u8], proofs: &[Seen]) -> Option<Origin> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
    let since = lines.find_map(|line| proofs.iter().find_map(|seen| since(line, seen)))?;
    let mut origin = Origin { since, ..Origin::default() };
    for line in lines {
        match line.split_once(' ') {
            Some(("-", path)) => origin.tracked.push(path.to_owned()),
            Some(("!", path)) => origin.older.push(path.to_owned()),
            Some(("+", begun)) => origin.begun.push(begun.to_owned()),
            Some(("?", room)) => origin.untold.push(room.to_owned()),
            _ => {}
        }
    }
    Some(origin)
}

/// Since when things are believed, if the mark is that of what was seen.
fn since(line: &str, seen: &Seen) -> Option<Moment> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    let (kind, ino, at, word, since) = (next()?, next()?, next()?, next()?, next()?);
    let own = match kind {
        "b" => seen.birth,
        "c" => Some(seen.changed),
        _ => None,
    };
    let is_own = own == Some(moment(at)?) && ino.parse() == Ok(seen.ino) && word == "since";
    if is_own { moment(since) } else { None }
}

fn moment(text: &str) -> Option<Moment> {
    let (seconds, nanos) = text.split_once('.')?;
    Some((seconds.parse().ok()?, nanos.parse().ok()?))
}

/// The file system's own clock, a tick after everything that is there: file systems count in steps of
/// a few milliseconds.
fn tick(state: &Dir) -> Result<Moment> {
    const PROBE: &str = ".new";
    std::thread::sleep(std::time::Duration::from_millis(10));
    state.remove(PROBE)?;
    state.create(PROBE, b"", false)?;
    let seen = state.seen(PROBE).map(|seen| seen.born());
    state.remove(PROBE)?;
    seen.ok_or_else(|| Error::io("look at", &state.path_of(PROBE), std::io::ErrorKind::NotFound))
}
