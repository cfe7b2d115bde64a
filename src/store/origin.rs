//! Whether the state was made here, on this file system, by this program. State is this machine's
//! only if this program made it here: a checkout, an archive or a copy can bring any bytes, but not
//! an inode number and a birth time of its own choice.
//!
//! **The mark** names the inode of a file, its birth time, and since when things beside the state
//! are believed. The lock file has its own mark in it. It is open at every event anyway, so one
//! `statx` and one short read prove it. `.gitignore` has the mark of the directory, for when
//! somebody has removed the lock. Where a file system keeps no birth times, the lock stays empty
//! and `.gitignore` has the moment of the lock's last change (so `chown -R` needs a
//! `hookkeeper trust` there). On Windows the lock stays empty too: nobody could read it while it is
//! held.
//!
//! There is no registry: a throw-away home, another user or a renamed project change nothing. A
//! move to another file system is a copy; `hookkeeper trust` mends that. Who can make a disk image
//! or a snapshot, or is this user, can make a mark. State of a version without marks counts as
//! unmarked: a planted one would look the same.
//!
//! **Beside the state** (`branches/X`, `iterative/X`, `plans/X.md`, `autonomous-loop.json`,
//! `hookkeeper.json`) models and people write too. What came to be after the mark was written here.
//! What is older came with the checkout and is not there for any reader, until its place is needed:
//! then it is moved to a room ([`untrusted`](crate::store::untrusted)). If the clock is set back,
//! the mark follows, and what was older by then is written down in it.
//!
//! **An execution's state** lies where its user says. The lock beside it has a mark and the digest
//! of what was written last; else the project's own `executions.json` must know it, and git must
//! not have brought it.

use std::fs::File;
use std::io;

use crate::core::error::{Error, Result};
use crate::process::positioned::FileExt;
use crate::process::wall_clock;
use crate::store::NEW;
use crate::store::dir::Dir;
use crate::store::dir::seen::{LOCKED_IS_READABLE, Moment, Seen, seen_file};
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
    /// `None`: there is no proof that this state was made here. That a mark cannot be looked at
    /// proves nothing: an error, and all stays where it is.
    pub fn read(state: &Dir, lock: &File) -> Result<Option<Self>> {
        let failed = |error| Error::io("look at", &state.path_of(LOCK), error);
        let seen = seen_file(lock).map_err(failed)?;
        let text = read_mark(lock).map_err(failed)?;
        match parse(&text, &[seen]) {
            Some(origin) => Ok(Some(origin)),
            None => Self::read_ignored(state, Some(seen)),
        }
    }

    /// By the mark in `.gitignore`.
    fn read_ignored(state: &Dir, lock: Option<Seen>) -> Result<Option<Self>> {
        let ignore = match state.read(IGNORE) {
            Ok(Some(ignore)) => ignore,
            Err(error @ Error::Io { .. }) => return Err(error),
            // Nothing, or something that we did not make.
            Ok(None) | Err(_) => return Ok(None),
        };
        let failed = |error| Error::io("look at", state.path(), error);
        let itself = state.seen_itself().map_err(failed)?;
        let proofs: Vec<Seen> = [itself].into_iter().chain(lock).collect();
        Ok(parse(&ignore, &proofs).map(|origin| Self { is_unmarked: true, ..origin }))
    }

    /// Nothing beside the state is believed.
    pub fn never() -> Self {
        Self { since: (i64::MAX, 0), ..Self::default() }
    }

    /// Whose the state is, for who does not take the lock.
    pub fn peek(state: &Dir) -> Result<Option<Self>> {
        match state.open_read(LOCK)? {
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
        let unseen = |error| Error::io("look at", state.path(), error);
        let seen = seen_file(lock.file()).map_err(unseen)?;
        let of_dir = state.seen_itself().map_err(unseen)?;
        let failed = |error| Error::io("mark", &state.path_of(LOCK), error);
        let lines = self.lines();
        let own = mark('b', &seen, own_birth(&seen), self.since);
        // The lock may have been removed under our hands, or have a second name: then `.gitignore` has
        // all of it. Without birth times it is the lock's last change that proves it.
        let directory = mark('b', &of_dir, of_dir.birth, self.since)
            .or_else(|| mark('c', &seen, Some(seen.changed), self.since));
        let kept = if own.is_some() { "" } else { lines.as_str() };
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
        if state.is_dir(IGNORE) {
            state.remove_tree(IGNORE)?;
        }
        state.remove(NEW)?;
        state.write_and(NEW, &[ignore.as_bytes()], true, || state.rename(NEW, state, IGNORE))
    }

    /// If the clock was set back, what comes now would look older than the mark: then the mark is
    /// set back too, and what is older by then is written down.
    pub fn follow_clock(&mut self, claude: &Dir, state: &Dir, lock: &Lock) -> Result<()> {
        let now = wall_clock();
        // File systems have a coarser clock, and that of another machine may be a little behind.
        if (now.0.saturating_add(60), now.1) >= self.since {
            return Ok(());
        }
        let mut older = super::untrusted::beside(claude, self)?;
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
pub fn marked_note(file: &File) -> io::Result<Option<String>> {
    let text = read_mark(file)?;
    if parse(&text, &[seen_file(file)?]).is_none() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&text);
    Ok(Some(text.lines().nth(1).unwrap_or_default().to_owned()))
}

/// What is in a file that may have a mark; nothing if it is no file.
fn read_mark(file: &File) -> io::Result<Vec<u8>> {
    if !LOCKED_IS_READABLE {
        return Ok(Vec::new());
    }
    let mut text = vec![0; LONGEST];
    let length = loop {
        match file.read_at(&mut text, 0) {
            Ok(length) => break length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => break 0,
            Err(error) => return Err(error),
        }
    };
    text.truncate(length);
    Ok(text)
}

/// Writes its own mark and a note into a file; nothing where the file system keeps no birth times.
pub fn mark_file(file: &File, note: &str) -> std::io::Result<()> {
    let seen = seen_file(file)?;
    match mark('b', &seen, own_birth(&seen), (0, 0)) {
        Some(own) => {
            let text = format!("{own}\n{note}\n");
            file.write_all_at(text.as_bytes(), 0)?;
            file.set_len(text.len() as u64)
        }
        None => Ok(()),
    }
}

/// Whether a path is that of a folder, or of something in it.
pub fn is_in(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A file with a second name could be somebody else's: nothing is written into it. Nor into one that
/// others could not read.
fn own_birth(seen: &Seen) -> Option<Moment> {
    seen.birth.filter(|_| seen.links == 1 && LOCKED_IS_READABLE)
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
    std::thread::sleep(std::time::Duration::from_millis(10));
    state.remove(NEW)?;
    state.create(NEW, b"", false)?;
    let seen = state.seen(NEW)?.map(|seen| seen.born());
    state.remove(NEW)?;
    seen.ok_or_else(|| Error::io("look at", &state.path_of(NEW), std::io::ErrorKind::NotFound))
}
