//! How much waits to be sent.

use serde::Serialize;

use crate::core::time::Time;
use crate::export::cursor::{Cursor, Position, Positions};
use crate::store::journal::Journal;
use crate::store::journal::sessions::SessionFiles;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Backlog {
    pub bytes: u64,
    pub sessions: usize,
}

/// What the cursor has not come to yet; of two signals, the one that is further behind.
pub fn measure(journal: &Journal, cursor: &Cursor) -> Backlog {
    let late = cursor.behind.as_ref().map(|behind| behind_of(journal, &behind.sessions));
    let backlog = behind_of(journal, &cursor.sessions);
    late.filter(|late| late.bytes > backlog.bytes).unwrap_or(backlog)
}

fn behind_of(journal: &Journal, sessions: &Positions) -> Backlog {
    let mut backlog = Backlog::default();
    let nothing = Position::default();
    for session in journal.sessions() {
        let position = sessions.get(&session.stem).unwrap_or(&nothing);
        if position.seen == session.bytes {
            continue;
        }
        let parts = journal.behind(&session.stem, &position.file, position.at);
        let left: u64 = parts.iter().map(|part| part.left()).sum();
        backlog.bytes += left;
        backlog.sessions += usize::from(left > 0);
    }
    backlog
}

/// A session that ended so many seconds ago may be the one that the first flush comes from.
const JUST_NOW: i64 = 600;

/// Where a first flush begins: a session that lives, or has just ended, is sent from its start; those
/// that ended before are left to `backfill`.
pub fn begin(journal: &Journal, is_live: impl Fn(&SessionFiles) -> bool, now: Time) -> Cursor {
    let mut cursor = Cursor::default();
    for session in journal.sessions() {
        let is_new = session.modified >= now.timestamp() - JUST_NOW;
        let position = match is_new || is_live(&session) {
            true => Position::default(),
            false => {
                let (file, at) = journal.end_of(&session.stem);
                Position { file, at, seen: session.bytes, ..Position::default() }
            }
        };
        cursor.sessions.insert(session.stem, position);
    }
    cursor
}
