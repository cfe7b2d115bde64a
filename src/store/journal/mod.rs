//! `journal/{session}.jsonl`: what happened in a session, one line for each thing, only ever added
//! to ([`Entry`]). What belongs to no session (a payload that could not be read) is in
//! `journal/no-session.jsonl`.
//!
//! A hook run makes one append, of all its lines, after its documents are committed and before it
//! answers: what was acknowledged is here, unless the machine or the process died in the middle of
//! the write. Such a line is passed over by [`read`] and ended by the next append. Who has the lock
//! also limits the folder ([`prune`]); an event that goes to the spool tells so without the lock,
//! because an append of one write needs none. Nothing here is synced, and nothing here fails a
//! hook: the documents matter more.

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
