//! What a flush ran into, signal by signal, and when it is tried again.

use std::time::Duration;

use crate::core::time::{self, Time};
use crate::export::answer;
use crate::export::cursor::{Cursor, Trouble};
use crate::export::otlp::Signal;

#[derive(Default)]
pub struct Faults {
    /// Nobody answers: nothing else need be tried.
    away: Option<String>,
    of: Vec<(Signal, String)>,
    /// The longest wait that the endpoint asked for.
    after: Option<Duration>,
}

impl Faults {
    pub fn note(&mut self, signal: Signal, why: String, after: Option<Duration>) {
        if !self.has(signal) {
            self.of.push((signal, why));
        }
        self.after = self.after.max(after);
    }

    pub fn has(&self, signal: Signal) -> bool {
        self.of.iter().any(|(known, _)| *known == signal)
    }

    pub fn note_away(&mut self, why: String) {
        self.away.get_or_insert(why);
    }

    pub fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// All of it in words, with the signals that it is about: `logs and traces: it answers 404`.
    pub fn what(&self) -> Option<String> {
        if let Some(away) = &self.away {
            return Some(away.clone());
        }
        let mut said: Vec<(Vec<&str>, &str)> = Vec::new();
        for (signal, why) in &self.of {
            match said.iter_mut().find(|(_, known)| known == why) {
                Some((signals, _)) => signals.push(signal.name()),
                None => said.push((vec![signal.name()], why)),
            }
        }
        let said = said.iter().map(|(signals, why)| format!("{}: {why}", signals.join(" and ")));
        Some(said.collect::<Vec<_>>().join("; ")).filter(|said| !said.is_empty())
    }

    /// Notes it in the cursor; `resting` were not tried, so what is wrong with them still is.
    pub fn trouble(&self, cursor: &mut Cursor, resting: &[Signal], dice: u64, now: Time) {
        let Some(mut what) = self.what() else { return };
        let earlier = cursor.trouble.take();
        let mut signals = Vec::new();
        if self.away.is_none() {
            signals.extend(self.of.iter().map(|(signal, _)| *signal));
            let kept = earlier.as_ref().filter(|_| !resting.is_empty());
            if let Some(kept) = kept {
                what = format!("{what}; {}", kept.what);
                signals.extend(resting);
            }
        }
        let fresh = Trouble { what, signals, ..Trouble::default() };
        cursor.trouble = Some(again(earlier, fresh, self.after, dice, now));
    }
}

/// What is wrong here, before anybody is asked: headers that cannot be fetched, a file that is gone.
pub fn note_here(cursor: &mut Cursor, what: String, dice: u64, now: Time) {
    let fresh = Trouble { what, is_here: true, ..Trouble::default() };
    cursor.trouble = Some(again(cursor.trouble.take(), fresh, None, dice, now));
}

fn again(
    earlier: Option<Trouble>,
    fresh: Trouble,
    after: Option<Duration>,
    dice: u64,
    now: Time,
) -> Trouble {
    let (since, tries) = match earlier {
        Some(earlier) => (earlier.since, earlier.tries.saturating_add(1)),
        None => (time::spell(now), 1),
    };
    Trouble { next: answer::next_try(tries, after, dice, now), since, tries, ..fresh }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Time {
        time::parse("2026-01-29T10:30:00Z").unwrap()
    }

    #[test]
    fn what_is_wrong_names_its_signals() {
        let mut faults = Faults::default();
        assert_eq!(faults.what(), None);
        faults.note(Signal::Logs, "it answers 404".into(), None);
        faults.note(Signal::Traces, "it answers 404".into(), Some(Duration::from_secs(600)));
        faults.note(Signal::Metrics, "it answers 400".into(), Some(Duration::from_secs(60)));
        let said = "logs and traces: it answers 404; metrics: it answers 400";
        assert_eq!(faults.what().as_deref(), Some(said));
        let mut cursor = Cursor::default();
        faults.trouble(&mut cursor, &[], 0, now());
        let trouble = cursor.trouble.clone().unwrap();
        assert_eq!((trouble.what.as_str(), trouble.tries), (said, 1));
        assert_eq!(trouble.signals.len(), 3);
        assert_eq!(trouble.next, "2026-01-29T10:40:00.000Z");
        faults.note_away("nobody".into());
        faults.trouble(&mut cursor, &[], 0, now());
        let trouble = cursor.trouble.unwrap();
        assert_eq!((trouble.what.as_str(), trouble.tries), ("nobody", 2));
        assert!(trouble.signals.is_empty());
    }

    #[test]
    fn who_rests_keeps_what_was_wrong() {
        let mut cursor = Cursor::default();
        let mut first = Faults::default();
        first.note(Signal::Traces, "it answers 404".into(), None);
        first.trouble(&mut cursor, &[], 0, now());
        let mut second = Faults::default();
        second.note(Signal::Logs, "it answers 500".into(), None);
        second.trouble(&mut cursor, &[Signal::Traces], 0, now());
        let trouble = cursor.trouble.unwrap();
        assert_eq!(trouble.what, "logs: it answers 500; traces: it answers 404");
        assert_eq!(trouble.signals, [Signal::Logs, Signal::Traces]);
    }
}
