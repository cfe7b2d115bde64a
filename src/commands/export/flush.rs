//! Sending what has not been sent: a batch, then the cursor, then the next batch. A batch is built
//! from a copy of the cursor, which takes the cursor's place when the batch was taken. Whatever
//! ends it in between, the next one goes on behind the last batch that was taken; a batch may then
//! arrive twice, under the same ids.
//!
//! Logs and traces have one place as long as both are taken. One that is not stays behind with a
//! place of its own (`Cursor::behind`, one at most), and the other one goes on; when it has caught
//! up, they go together again. A line that is refused is given up only when a later one was taken:
//! before that it may be the endpoint.

use serde::Serialize;

use crate::core::error::Result;
use crate::core::time::{self, Time};
use crate::export::answer::{self, Answer, Verdict};
use crate::export::batch::{Batch, LIMITS, Limits, Source, Way};
use crate::export::cursor::{Behind, Cursor, Position, Positions};
use crate::export::faults::Faults;
use crate::export::otlp::{Attributes, Metric, Request, Signal, Span};
use crate::export::step::{Sending, Step, decide};
use crate::export::what_to_send::WhatToSend;
use crate::process::deadline::Deadline;
use crate::store::journal::sessions::SessionFiles;

/// Lines in a row that an endpoint may refuse, one by one, before its newest line is tried.
const REFUSED_IN_A_ROW: usize = 25;
/// Of the newest journal, where its last lines are looked for.
const NEWEST: u64 = 64 << 10;

/// The way to an endpoint.
pub trait Transport {
    fn post(&mut self, signal: Signal, body: &[u8]) -> Answer;
}

/// Where the cursor is kept.
pub trait Keep {
    fn keep(&self, cursor: &Cursor) -> Result<()>;
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
    /// Signals that are left alone: it is too early after a failure.
    pub resting: Vec<Signal>,
    pub faults: Faults,
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
    /// Bytes as they went out.
    #[serde(skip)]
    pub sent: u64,
    pub refused: u64,
    /// Why it ended before all was sent.
    pub trouble: Option<String>,
    /// Its time was over.
    pub is_cut: bool,
}

/// Which of the two places is moved.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Ahead,
    Behind,
}

/// Single lines that were refused. They are given up only when a later one is taken: else it is the
/// endpoint that refuses, not the line that is wrong.
struct Held {
    signal: Signal,
    lines: usize,
    records: u64,
    why: String,
    /// The cursor behind them.
    then: Option<Cursor>,
}

impl Default for Held {
    fn default() -> Self {
        Self { signal: Signal::Logs, lines: 0, records: 0, why: String::new(), then: None }
    }
}

impl Flush<'_> {
    /// Sends all there is. The cursor is kept after each batch.
    pub fn run(&mut self, cursor: &mut Cursor) -> Result<Flushed> {
        let mut done = Flushed::default();
        self.part_those_who_rest(cursor);
        if !self.all_rest(self.send(cursor, Place::Ahead)) {
            self.pass(cursor, Place::Ahead, &mut done)?;
        }
        let may_follow = cursor.behind.as_ref().is_some_and(|behind| self.may_send(behind.signal));
        if may_follow && !done.is_cut {
            self.pass(cursor, Place::Behind, &mut done)?;
        }
        if cursor.has_caught_up() {
            cursor.behind = None;
        }
        self.keep.keep(cursor)?;
        Ok(done)
    }

    /// Whether a signal may be tried at all.
    pub fn may_send(&self, signal: Signal) -> bool {
        !self.faults.is_away() && !self.faults.has(signal) && !self.resting.contains(&signal)
    }

    /// Sends metrics, which stand for all that was counted so far: what is refused of them is not lost.
    pub fn metrics(&mut self, cursor: &mut Cursor, metrics: &[Metric], done: &mut Flushed) {
        match self.post(Signal::Metrics, metrics, done) {
            Sending::Taken { refused, why, .. } => {
                done.points = metrics.len() as u64;
                cursor.last_success = Some(time::spell(self.now));
                note_refused(cursor, done, refused, why);
            }
            Sending::Refused(why) => self.faults.note(Signal::Metrics, why, None),
            Sending::Later => {}
        }
    }

    /// Notes what was wrong, and when it is tried again.
    pub fn settle(&mut self, cursor: &mut Cursor, done: &mut Flushed) -> Result<()> {
        let has_metrics = done.points > 0 || !self.source.send.metrics;
        if let Some(what) = self.faults.what() {
            self.faults.trouble(cursor, &self.resting, self.dice, self.now);
            done.trouble = Some(what);
        } else if self.resting.is_empty() {
            // It is over when what was tried was taken, not when there was nothing to try.
            cursor.trouble.take_if(|it| {
                it.is_here
                    || done.requests > 0 && (has_metrics || !it.signals.contains(&Signal::Metrics))
            });
        }
        self.keep.keep(cursor)
    }

    /// What goes the one way, and what the other.
    fn send(&self, cursor: &Cursor, place: Place) -> WhatToSend {
        let behind = cursor.behind.as_ref().map(|behind| behind.signal);
        let goes = |signal| (behind == Some(signal)) == (place == Place::Behind);
        let all = self.source.send;
        WhatToSend {
            logs: all.logs && goes(Signal::Logs),
            traces: all.traces && goes(Signal::Traces),
            ..all
        }
    }

    fn all_rest(&self, send: WhatToSend) -> bool {
        let mut ways = send.signals().filter(|signal| *signal != Signal::Metrics).peekable();
        ways.peek().is_some() && ways.all(|signal| self.resting.contains(&signal))
    }

    /// Who rests stays behind while the other one goes on; who is sent no more has no place.
    fn part_those_who_rest(&self, cursor: &mut Cursor) {
        cursor.behind.take_if(|behind| !self.source.send.has(behind.signal));
        let both = self.source.send.logs && self.source.send.traces;
        let rest = |signal| self.resting.contains(&signal);
        match (rest(Signal::Logs), rest(Signal::Traces)) {
            (true, false) if both && cursor.behind.is_none() => part(cursor, Signal::Logs),
            (false, true) if both && cursor.behind.is_none() => part(cursor, Signal::Traces),
            _ => {}
        }
    }

    fn read(&self, cursor: &mut Cursor, place: Place, limits: Limits) -> Batch {
        let send = self.send(cursor, place);
        let Cursor { sessions, behind, counters, .. } = cursor;
        let mut way = match (place, behind) {
            (Place::Behind, Some(behind)) => {
                Way { sessions: &mut behind.sessions, counters: None, send }
            }
            (Place::Behind, None) => return Batch::default(),
            (Place::Ahead, _) => Way { sessions, counters: Some(counters), send },
        };
        self.source.next_batch(&mut way, limits)
    }

    /// Goes on in one of the two places until there is no more, or nobody takes it.
    fn pass(&mut self, cursor: &mut Cursor, place: Place, done: &mut Flushed) -> Result<()> {
        let mut limits = LIMITS;
        let mut held = Held::default();
        // It refuses lines, and not everything.
        let mut takes_newer = false;
        loop {
            let mut next = held.then.clone().unwrap_or_else(|| cursor.clone());
            let batch = self.read(&mut next, place, limits);
            if batch.lines == 0 && held.lines == 0 {
                *cursor = next;
                break;
            }
            if batch.lines > 0 && held.lines >= REFUSED_IN_A_ROW && !takes_newer {
                takes_newer = self.takes_newest(held.signal, done);
            }
            if let Some(mut then) = held.then.take_if(|_| held.lines > 0 && takes_newer) {
                let Held { records, why, .. } = std::mem::take(&mut held);
                note_refused(&mut then, done, records, Some(why));
                *cursor = then;
                self.keep.keep(cursor)?;
                continue;
            }
            if batch.lines == 0 || held.lines >= REFUSED_IN_A_ROW {
                self.faults.note(held.signal, held.why, None);
                break;
            }
            let send = self.send(&next, place);
            let logs = self.post(Signal::Logs, &batch.logs, done);
            let spans = match self.faults.is_away() {
                true => Sending::Later,
                false => self.post(Signal::Traces, &batch.spans, done),
            };
            let has_arrived = logs.has_arrived() || spans.has_arrived();
            match decide(&logs, &spans, send.logs && send.traces, batch.lines) {
                Step::Take => {
                    self.note_taken(&mut next, &batch, [logs, spans], place, done);
                    limits.lines = (limits.lines * 2).min(LIMITS.lines);
                    if held.lines > 0 && !has_arrived {
                        held.then = Some(next);
                        continue;
                    }
                    let held = std::mem::take(&mut held);
                    let why = (held.lines > 0).then_some(held.why);
                    note_refused(&mut next, done, held.records, why);
                }
                Step::TakeBut(signal) => {
                    part(cursor, signal);
                    next.behind.clone_from(&cursor.behind);
                    self.note_taken(&mut next, &batch, [logs, spans], place, done);
                }
                Step::Part(signal) => {
                    part(cursor, signal);
                    continue;
                }
                Step::Split => {
                    limits = Limits { lines: (batch.lines / 4).max(1), ..limits };
                    continue;
                }
                Step::Hold(signal, why) => {
                    let records = (batch.logs.len() + batch.spans.len()) as u64;
                    (held.lines, held.records) = (held.lines + 1, held.records + records);
                    (held.signal, held.why, held.then) = (signal, why, Some(next));
                    continue;
                }
                Step::Stop => break,
            }
            *cursor = next;
            self.keep.keep(cursor)?;
            if self.faults.is_away() {
                break;
            }
            if self.deadline.is_over() {
                done.is_cut = true;
                break;
            }
        }
        self.keep.keep(cursor)
    }

    /// Whether the newest line there is would be taken: then older ones are refused for what they are
    /// (too old, say), and newer ones must not wait behind them. It comes once more in its turn, under
    /// the same ids.
    fn takes_newest(&mut self, signal: Signal, done: &mut Flushed) -> bool {
        let sessions = &self.source.sessions;
        let Some(newest) = sessions.last() else { return false };
        let has_seen = |session: &SessionFiles| {
            (session.stem.clone(), Position { seen: session.bytes, ..Position::default() })
        };
        let mut positions: Positions = sessions.iter().map(has_seen).collect();
        let (file, end) = self.source.journal.end_of(&newest.stem);
        let position = Position { file, at: end.saturating_sub(NEWEST), ..Position::default() };
        positions.insert(newest.stem.clone(), position);
        let is_it = |other| other == signal;
        let (logs, traces) = (is_it(Signal::Logs), is_it(Signal::Traces));
        let send = WhatToSend { logs, traces, ..self.source.send };
        let mut way = Way { sessions: &mut positions, counters: None, send };
        let batch = self.source.next_batch(&mut way, LIMITS);
        // Of what began before these lines nothing is known here: a tool call has its span in one.
        let is_whole = |span: &&Span| span.is_of_kind("tool");
        let sending = match signal {
            Signal::Logs => self.post(signal, &Vec::from_iter(batch.logs.last()), done),
            _ => self.post(signal, &Vec::from_iter(batch.spans.iter().rfind(is_whole)), done),
        };
        sending.has_arrived()
    }

    /// Counts what the endpoint has now.
    fn note_taken(
        &self,
        next: &mut Cursor,
        batch: &Batch,
        [logs, spans]: [Sending; 2],
        place: Place,
        done: &mut Flushed,
    ) {
        // A line counts once, whenever the rest of it comes.
        if place == Place::Ahead {
            next.sent.lines += batch.lines as u64;
            next.sent.bytes += batch.bytes;
            done.lines += batch.lines as u64;
        }
        let mut arrived = [0; 2];
        for (count, sending) in arrived.iter_mut().zip([logs, spans]) {
            let Sending::Taken { records, refused, why } = sending else { continue };
            *count = records;
            note_refused(next, done, refused, why);
            if records > 0 {
                next.last_success = Some(time::spell(self.now));
            }
        }
        let [logs, spans] = arrived;
        next.sent.logs += logs;
        next.sent.spans += spans;
        done.logs += logs;
        done.spans += spans;
    }

    fn post<T: Serialize>(&mut self, signal: Signal, records: &[T], done: &mut Flushed) -> Sending {
        let count = records.len() as u64;
        if count == 0 {
            return Sending::Taken { records: 0, refused: 0, why: None };
        }
        let body = Request { signal, resource: self.resource, records }.to_bytes();
        done.requests += 1;
        done.bytes += body.len() as u64;
        let answer = self.transport.post(signal, &body);
        let (why, after) = match answer::judge(signal, &answer, self.now) {
            // Nobody can refuse more than there was.
            Verdict::Taken { refused, why } => {
                return Sending::Taken { records: count, refused: refused.min(count), why };
            }
            Verdict::Refused(why) => return Sending::Refused(why),
            Verdict::TooLarge => return Sending::Refused("it is too large for it (413)".into()),
            // The transport has tried both ways.
            Verdict::NotCompressed => ("it does not read JSON (415)".into(), None),
            Verdict::Later { why, after } => (why, after),
        };
        match answer {
            Answer::None(_) => self.faults.note_away(why),
            Answer::Http { .. } => self.faults.note(signal, why, after),
        }
        Sending::Later
    }
}

/// From here on a signal has a place of its own.
fn part(cursor: &mut Cursor, signal: Signal) {
    cursor.behind = Some(Behind { signal, sessions: cursor.sessions.clone() });
}

fn note_refused(cursor: &mut Cursor, done: &mut Flushed, refused: u64, why: Option<String>) {
    cursor.dropped.refused = cursor.dropped.refused.saturating_add(refused);
    done.refused += refused;
    if why.is_some() {
        cursor.dropped.why = why;
    }
}
