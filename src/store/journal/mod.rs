//! `journal/{session}.jsonl`: what happened in a session, JSON lines that are only ever added
//! ([`Entry`]). It is what people look back on (`log`, `search`, `sessions show`, reports, costs).
//! No hook reads it.
//!
//! - **One append for each run.** A run has one line of its own (`kind` from the event's row: a
//!   tool call, a prompt, a stop, or a mere `run`). Behind it, in the same write, is one for each
//!   thing that came of it (`Plan::tell`: an agent's end, an error, a recovery, a loop's verdict).
//!   So the path without a change writes one line, and nothing is written twice. Commands tell too
//!   (`Store::tell`: gates, hand-offs, loops), after their commit.
//! - **Committed, told, answered.** A run that exits with 0 has told, unless the write itself
//!   failed. History is never a reason to fail, and nothing waits for it or is synced for it: the
//!   documents matter more. A kill before the append loses a line of an event that nobody
//!   acknowledged; its document is there.
//! - **The lock.** Hook runs append under it, because they have it anyway. Who does not get it (its
//!   event goes to the spool, or its payload was rejected) appends without: one `write` with
//!   `O_APPEND` is whole. What changes more than the end of a file (turning it over, removing old
//!   ones: [`prune`]) is only done under the lock.
//! - **Torn lines.** A process that dies in its write, or a full disk, leaves a line without its
//!   end. Before each append the last byte is read; if it is no line break, one is put before the
//!   new lines. Readers pass over what is no line of ours, and count it ([`read`]).
//! - **What waited** is told when it is played, with its own time, after a `spooled` line of the
//!   run that put it aside. It is looked for at the end of the file first, because a player may
//!   have been killed. So lines of one file are nearly in order of time, not quite; who needs the
//!   order sorts.
//! - **Errors, results, findings and verdicts of ended sessions** are read from here (and results,
//!   whole, from `results-archive/` as long as they are there). SessionEnd therefore writes no
//!   further file, only its own lines.
//! - **Bounds.** A text has 4,000 characters (an agent's prompt and report 16 KB, a hand-off 64
//!   KB), a line 512 KB: beyond it its `text` and `record` go. A file is turned over at 3 MB to
//!   `{session}.1.jsonl`, whose predecessor goes. For all of them `keep_sessions` and
//!   `keep_megabytes` hold: looked at when a session's first line is written (sizes at each
//!   sixteenth one), and by `gc`. The oldest go, by when they were last added to, but never a live
//!   session's.
//! - **No session.** A payload that could not be read is told in `no-session.jsonl`. Other stems
//!   are made by `FileStem`, which gives no id that name.
//! - **Newer versions.** A kind or a field that is not known is passed over (`log --json` has the
//!   line). A line with a larger `v` is left out, and counted, whatever else is in it; `validate`
//!   leaves it alone. So is one whose `time` is none.
//! - **Clocks that jump.** A line may be older than the one before it by years. What is asked for
//!   since a time is therefore filtered; only files that nothing was added to since then are not
//!   read.
//! - **Only what is not there is absent.** A journal that cannot be opened, or is no file, is
//!   counted in `passed_over()`; `trouble()` says why the folder cannot be read.
//!
//! To read: `view.journal()`, then `of_stem(stem, Order::NewestFirst)` for a session ([`stem`]) or
//! `newest_first()` for all sessions as one. Both are iterators of [`Entry`], tolerant, with
//! `passed_over()` at the end, and hold 64 KB at a time. `entry.record.read::<AgentResult>()` gives
//! a document back.

pub mod lost;
mod matching;
pub mod prune;
pub mod read;
pub mod sessions;
pub mod unsent;

use std::rc::Rc;

use crate::core::error::{Error, Result};
use crate::core::id::FileStem;
use crate::core::journal::Entry;
use crate::state::{Format, Row};
use crate::store::dir::Dir;
use prune::Limits;
use read::PassedOver;

pub const FOLDER: &str = "journal";
/// The stem of the file of what belongs to no session. No id has it.
const NO_SESSION: &str = "no-session";
/// A file that is larger is turned over; its last one goes. Below what is read as a document.
const LARGEST_FILE: u64 = 3 << 20;
/// No line is longer: beyond it, a line goes without its record and its text.
const LONGEST_LINE: usize = 512 << 10;
/// How much of a file is searched for an event that was played before.
const TAIL: usize = 64 << 10;

pub const ROW: Row = Row {
    name: "journal",
    path: "state/journal/{session}.jsonl",
    schema: "journal",
    title: "Journal line",
    about: "a line: something that happened in a session",
    format: Format::Lines,
    ..Row::EPHEMERAL
};

/// The stem of a session's file.
pub fn stem(session: &str) -> String {
    match session {
        "" => NO_SESSION.to_owned(),
        id => FileStem::from_id(id).as_str().to_owned(),
    }
}

/// The file that is written to, and what it was turned over to.
fn file_name(stem: &str) -> String {
    format!("{stem}.jsonl")
}

fn earlier_name(stem: &str) -> String {
    format!("{stem}.1.jsonl")
}

/// Adds lines, with one append for each session that they are about. `limits` are known to who has
/// the lock.
pub fn add(state: &Dir, entries: &[Entry], limits: Option<Limits>) {
    let mut rest: Vec<&Entry> = entries.iter().collect();
    let Some(folder) = rest.first().and_then(|_| state.make(FOLDER).ok()) else { return };
    while let Some(session) = rest.first().map(|entry| entry.session.clone()) {
        let mut lines = Vec::with_capacity(512);
        rest.retain(|entry| {
            let is_own = entry.session == session;
            if is_own {
                put_line(&mut lines, entry);
            }
            !is_own
        });
        let stem = stem(&session);
        let Ok(appended) = folder.append_lines(&file_name(&stem), &lines) else { continue };
        let Some(limits) = limits else { continue };
        if appended.size > LARGEST_FILE {
            let earlier = [earlier_name(&stem)];
            lost::note(state, &folder, &stem, &earlier, Some(&file_name(&stem)));
            let _ = folder.rename(&file_name(&stem), &folder, &earlier_name(&stem));
        }
        if appended.size_before == 0 {
            prune::at_new_session(state, &folder, &stem, limits);
        }
    }
}

/// Adds what an event told that had waited in the spool, unless it is there: whoever played it before
/// may have been killed before it was taken out.
pub fn add_played(state: &Dir, entries: &[Entry], limits: Limits) {
    let Some(first) = entries.first() else { return };
    let name = file_name(&stem(&first.session));
    let folder = state.sub(FOLDER).ok().flatten();
    let tail = folder.and_then(|folder| folder.read_tail(&name, TAIL).ok()).unwrap_or_default();
    let is_same = |line: &[u8]| {
        read::parse(line).is_some_and(|entry| {
            (&entry.time, entry.kind, &entry.event) == (&first.time, first.kind, &first.event)
                && (&entry.agent, &entry.call) == (&first.agent, &first.call)
        })
    };
    if !tail.split(|byte| *byte == b'\n').any(is_same) {
        add(state, entries, Some(limits));
    }
}

fn put_line(lines: &mut Vec<u8>, entry: &Entry) {
    let mut line = serde_json::to_vec(entry).unwrap_or_default();
    if line.len() > LONGEST_LINE {
        let short = Entry { record: None, text: None, ..entry.clone() };
        line = serde_json::to_vec(&short).unwrap_or_default();
    }
    if !line.is_empty() {
        lines.append(&mut line);
        lines.push(b'\n');
    }
}

/// All journals of a project, for reading.
#[derive(Clone, Default)]
pub struct Journal {
    /// `None` if nothing has been told yet, or if it cannot be read.
    folder: Option<Rc<Dir>>,
    /// Why the folder cannot be read, although it is there.
    trouble: Option<Rc<Error>>,
}

impl Journal {
    /// What came of looking for its folder: only what is not there is absent.
    pub fn new(found: Result<Option<Rc<Dir>>>) -> Self {
        match found {
            Ok(folder) => Self { folder, trouble: None },
            Err(error) => Self { folder: None, trouble: Some(Rc::new(error)) },
        }
    }

    /// Whether there is a folder that can be looked into.
    pub fn is_there(&self) -> bool {
        self.folder.is_some()
    }

    /// Why nothing of it can be read, if that is so.
    pub fn trouble(&self) -> Option<&Error> {
        self.trouble.as_deref()
    }

    /// What is passed over in any case.
    pub fn passed_over(&self) -> PassedOver {
        PassedOver { unreadable: u64::from(self.trouble.is_some()), ..PassedOver::default() }
    }
}

#[cfg(test)]
mod tests;
