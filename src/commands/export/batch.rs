//! The next lines to send, of all sessions together, and what they come to.

use crate::core::journal::Entry;
use crate::core::time::Time;
use crate::export::clean::without_secrets;
use crate::export::counters::Counters;
use crate::export::cursor::{Position, Positions};
use crate::export::logs;
use crate::export::otlp::{LogRecord, Span};
use crate::export::what_to_send::WhatToSend;
use crate::store::journal::Journal;
use crate::store::journal::read;
use crate::store::journal::sessions::SessionFiles;

/// How much one request may be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub lines: usize,
    /// Of the journal; a request is two to three times as large.
    pub bytes: u64,
}

pub const LIMITS: Limits = Limits { lines: 1000, bytes: 1 << 20 };

#[derive(Default)]
pub struct Batch {
    pub lines: usize,
    pub bytes: u64,
    pub logs: Vec<LogRecord>,
    pub spans: Vec<Span>,
}

/// What lines are taken.
pub struct Source<'a> {
    pub journal: &'a Journal,
    /// The oldest first.
    pub sessions: Vec<SessionFiles>,
    /// Not what is older.
    pub since: Option<&'a str>,
    pub send: WhatToSend,
    /// Whether lines are counted for the metrics.
    pub counts: bool,
    pub now: Time,
}

/// A way through the journals: how far it is, and what is made of the lines.
pub struct Way<'a> {
    pub sessions: &'a mut Positions,
    /// What counts lines for the metrics: one way does, each line once.
    pub counters: Option<&'a mut Counters>,
    pub send: WhatToSend,
}

impl Source<'_> {
    /// Takes the lines that come next on a way and moves it; an empty batch means that there are no
    /// more.
    pub fn next_batch(&self, way: &mut Way, limits: Limits) -> Batch {
        let mut batch = Batch::default();
        let mut buffer = Vec::new();
        for session in &self.sessions {
            let position = way.sessions.entry(session.stem.clone()).or_default();
            if position.seen == session.bytes {
                continue;
            }
            let mut position = std::mem::take(position);
            let is_done =
                self.read(&session.stem, &mut position, way, limits, &mut batch, &mut buffer);
            if is_done && self.journal.can_be_opened(&session.stem) {
                position.seen = session.bytes;
            }
            way.sessions.insert(session.stem.clone(), position);
            if !is_done {
                break;
            }
        }
        batch
    }

    /// Reads one session; `false` if the batch is full before its end.
    fn read(
        &self,
        stem: &str,
        position: &mut Position,
        way: &mut Way,
        limits: Limits,
        batch: &mut Batch,
        buffer: &mut Vec<u8>,
    ) -> bool {
        for mut part in self.journal.behind(stem, &position.file, position.at) {
            position.file.clone_from(&part.file);
            position.at = part.at;
            while part.next_lines(buffer) {
                // What was passed over counts as read.
                position.at = part.at;
                for line in buffer.split_inclusive(|byte| *byte == b'\n') {
                    if batch.lines >= limits.lines || batch.bytes >= limits.bytes {
                        return false;
                    }
                    if let Some(entry) = read::parse(line) {
                        self.add_line(&without_secrets(entry), position, way, batch);
                    }
                    batch.lines += 1;
                    batch.bytes += line.len() as u64;
                    position.at += line.len() as u64;
                }
                part.at = position.at;
            }
        }
        true
    }

    fn add_line(&self, entry: &Entry, position: &mut Position, way: &mut Way, batch: &mut Batch) {
        let is_wanted = self.since.is_none_or(|since| entry.time.as_str() >= since);
        let spans = position.track.spans(entry, way.send);
        if let Some(counters) = way.counters.as_deref_mut().filter(|_| self.counts) {
            counters.count(entry, &mut position.used);
        }
        if is_wanted && way.send.traces {
            batch.spans.extend(spans);
        }
        if is_wanted && way.send.logs {
            batch.logs.extend(logs::records(entry, way.send, self.now));
        }
    }
}
