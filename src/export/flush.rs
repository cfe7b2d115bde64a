//! Sending what has not been sent: a batch, then the cursor, then the next batch. Whatever ends it in
//! between, the next one goes on behind the last batch that was taken; a batch may then arrive twice,
//! under the same ids.

use serde::Serialize;

use crate::core::time::{self, Time};
use crate::export::answer::{self, Answer, Verdict};
use crate::export::batch::{Batch, LIMITS, Limits, Source};
use crate::export::cursor::{Cursor, Trouble};
use crate::export::otlp::{Attributes, Metric, Request, Signal};
use crate::process::deadline::Deadline;

/// Lines that an endpoint may refuse, one by one, before it is left alone for a while.
const REFUSED_AT_ONCE: u32 = 100;

/// The way to an endpoint.
pub trait Transport {
    fn post(&mut self, signal: Signal, body: &[u8]) -> Answer;
}

/// Where the cursor is kept.
pub trait Keep {
    fn keep(&self, cursor: &Cursor) -> crate::core::error::Result<()>;
}

pub struct Flush<'a> {
    pub source: Source<'a>,
    pub transport: &'a mut dyn Transport,
    pub keep: &'a dyn Keep,
    pub resource: &'a Attributes,
    pub deadline: Deadline,
    /// Spreads the tries of those who fail at the same time.
    pub dice: u64,
    pub now: Time,
}

/// What one flush came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Flushed {
    pub lines: u64,
    pub logs: u64,
    pub spans: u64,
    pub points: u64,
    pub requests: u64,
    /// Bytes that were sent, before they were compressed.
    pub bytes: u64,
    pub refused: u64,
    /// Why it ended before all was sent.
    pub trouble: Option<String>,
    /// Its time was over.
    pub is_cut: bool,
}

/// How the sending of a batch ended.
enum Sending {
    Taken {
        refused: u64,
        why: Option<String>,
    },
    /// Smaller ones may be taken.
    Refused(String),
    Later(String, Option<std::time::Duration>),
}

impl Flush<'_> {
    /// Sends all there is. The cursor is kept after each batch.
    pub fn run(&mut self, cursor: &mut Cursor) -> crate::core::error::Result<Flushed> {
        let mut done = Flushed::default();
        let mut limits = LIMITS;
        let mut dropped = 0;
        loop {
            let mut next = cursor.clone();
            let batch = self.source.next_batch(&mut next, limits);
            if batch.lines == 0 {
                *cursor = next;
                break;
            }
            match self.send(&batch, &mut done) {
                Sending::Taken { refused, why } => {
                    self.take(&mut next, &batch, &mut done);
                    note_refused(&mut next, &mut done, refused, why);
                    limits.lines = (limits.lines * 2).min(LIMITS.lines);
                }
                Sending::Refused(_) if batch.lines > 1 => {
                    limits = Limits { lines: (batch.lines / 4).max(1), ..limits };
                    continue;
                }
                // An endpoint that has never taken anything is the wrong one, not the line.
                Sending::Refused(why)
                    if cursor.last_success.is_some() && dropped < REFUSED_AT_ONCE =>
                {
                    dropped += 1;
                    let records = (batch.logs.len() + batch.spans.len()) as u64;
                    note_refused(&mut next, &mut done, records, Some(why));
                }
                Sending::Refused(why) => {
                    self.note_trouble(cursor, &mut done, why, None);
                    break;
                }
                Sending::Later(why, after) => {
                    self.note_trouble(cursor, &mut done, why, after);
                    break;
                }
            }
            *cursor = next;
            self.keep.keep(cursor)?;
            if self.deadline.is_over() {
                done.is_cut = true;
                break;
            }
        }
        self.keep.keep(cursor)?;
        Ok(done)
    }

    /// Sends metrics, which stand for all that was counted so far.
    pub fn metrics(
        &mut self,
        cursor: &mut Cursor,
        metrics: &[Metric],
    ) -> crate::core::error::Result<Flushed> {
        let mut done = Flushed::default();
        match self.post(Signal::Metrics, metrics, &mut done) {
            Sending::Taken { refused, why } => {
                done.points = metrics.len() as u64;
                self.succeed(cursor);
                note_refused(cursor, &mut done, refused, why);
            }
            Sending::Refused(why) if cursor.last_success.is_some() => {
                note_refused(cursor, &mut done, metrics.len() as u64, Some(why));
            }
            Sending::Refused(why) => self.note_trouble(cursor, &mut done, why, None),
            Sending::Later(why, after) => self.note_trouble(cursor, &mut done, why, after),
        }
        self.keep.keep(cursor)?;
        Ok(done)
    }

    fn take(&self, next: &mut Cursor, batch: &Batch, done: &mut Flushed) {
        let (lines, bytes) = (batch.lines as u64, batch.bytes);
        let (logs, spans) = (batch.logs.len() as u64, batch.spans.len() as u64);
        next.sent.lines += lines;
        next.sent.bytes += bytes;
        next.sent.logs += logs;
        next.sent.spans += spans;
        done.lines += lines;
        done.logs += logs;
        done.spans += spans;
        if logs + spans > 0 {
            self.succeed(next);
        }
    }

    fn succeed(&self, cursor: &mut Cursor) {
        cursor.last_success = Some(time::spell(self.now));
        cursor.trouble = None;
    }

    fn send(&mut self, batch: &Batch, done: &mut Flushed) -> Sending {
        let logs = self.post(Signal::Logs, &batch.logs, done);
        let Sending::Taken { refused, why } = logs else { return logs };
        match self.post(Signal::Traces, &batch.spans, done) {
            Sending::Taken { refused: more, why: other } => {
                Sending::Taken { refused: refused + more, why: other.or(why) }
            }
            other => other,
        }
    }

    fn post<T: Serialize>(&mut self, signal: Signal, records: &[T], done: &mut Flushed) -> Sending {
        if records.is_empty() {
            return Sending::Taken { refused: 0, why: None };
        }
        let body = Request { signal, resource: self.resource, records }.to_bytes();
        done.requests += 1;
        done.bytes += body.len() as u64;
        let answer = self.transport.post(signal, &body);
        match answer::judge(signal, &answer, self.now) {
            Verdict::Taken { refused, why } => Sending::Taken { refused, why },
            Verdict::Refused(why) => Sending::Refused(why),
            Verdict::TooLarge => Sending::Refused("it is too large for it (413)".into()),
            // The transport has tried both ways.
            Verdict::NotCompressed => Sending::Later("it does not read JSON (415)".into(), None),
            Verdict::Later { why, after } => Sending::Later(why, after),
        }
    }

    fn note_trouble(
        &self,
        cursor: &mut Cursor,
        done: &mut Flushed,
        why: String,
        after: Option<std::time::Duration>,
    ) {
        let earlier = cursor
            .trouble
            .take()
            .unwrap_or_else(|| Trouble { since: time::spell(self.now), ..Trouble::default() });
        let tries = earlier.tries.saturating_add(1);
        let next = answer::next_try(tries, after, self.dice, self.now);
        done.trouble = Some(why.clone());
        cursor.trouble = Some(Trouble { what: why, tries, next, ..earlier });
    }
}

fn note_refused(cursor: &mut Cursor, done: &mut Flushed, refused: u64, why: Option<String>) {
    cursor.dropped.refused += refused;
    done.refused += refused;
    if why.is_some() {
        cursor.dropped.why = why;
    }
}
