//! A log that was kept without us: its signals tell how far the work has come, and the plan which
//! units its keeper has closed.

use crate::loops::iterative::document::Task;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::progress::{Entry, Log};
use crate::loops::iterative::document::rebuild::untouched;
use crate::loops::iterative::document::unit::spoken_reason;

/// `ticked`: the units that the plan has ticked off.
pub fn by_signals(task: &Task, log: &Log, ticked: &[String]) -> Task {
    let mut state = untouched(task);
    state.phase = if state.units().is_empty() { "discover" } else { "execute" }.into();
    for entry in &log.entries {
        if let Some(at) = entry.time() {
            state.updated = at.to_owned();
        }
        let updated = state.updated.clone();
        let signal = entry.signal.clone().unwrap_or_default();
        let Some(unit) = state.units_mut().get_mut(&entry.subject) else { continue };
        let word = signal.strip_prefix(&format!("{}_", entry.subject)).unwrap_or(&signal);
        // Who goes on with what was blocked has taken it up again.
        let is = unit.stands().filter(|is| *is != Status::Blocked).unwrap_or(Status::Pending);
        unit.iterations_used = unit.iterations_used.max(entry.iteration().unwrap_or(0));
        let to = match (word, is) {
            ("DONE", Status::Pending | Status::InProgress) => Status::Confirming,
            ("DONE", Status::Confirming) => Status::Verifying,
            ("VERIFIED", Status::Verifying) => Status::Done,
            (word, _) if word.starts_with("BLOCKED") => Status::Blocked,
            (_, Status::Pending) | ("GAPS", Status::Verifying) => Status::InProgress,
            _ => is,
        };
        unit.status = to.name().into();
        unit.reason = (to == Status::Blocked).then(|| blocker(entry, word));
        match to {
            Status::Confirming if is != to => unit.confirmations_used += 1,
            Status::Done => {
                unit.verification_passed = Some(true);
                unit.completed_at = Some(updated);
            }
            _ => {}
        }
    }
    close_ticked(&mut state, log, ticked);
    only_one_at_work(&mut state);
    state.settle();
    state
}

/// A unit that was said to be done, and that the plan has ticked off, is done: whoever kept both had
/// their own way to be sure of it. One of the two alone says nothing.
fn close_ticked(state: &mut Task, log: &Log, ticked: &[String]) {
    for id in ticked {
        let own = log.entries.iter().rev().filter(|entry| entry.subject == *id);
        let at = own.filter_map(Entry::time).next().map(str::to_owned);
        let Some(unit) = state.units_mut().get_mut(id) else { continue };
        if unit.is(Status::Confirming) || unit.is(Status::Verifying) {
            unit.status = Status::Done.name().into();
            unit.verification_passed = Some(true);
            unit.completed_at = at;
        }
    }
}

fn blocker(entry: &Entry, word: &str) -> String {
    let why = word.strip_prefix("BLOCKED").unwrap_or(word).trim_start_matches([':', ' ']);
    match (why, &entry.blockers) {
        ("", Some(blockers)) => spoken_reason(blockers),
        ("", None) => "no reason given".into(),
        (why, _) => spoken_reason(why),
    }
}

/// The newest unit is at work; the ones before it wait until somebody goes back to them.
fn only_one_at_work(state: &mut Task) {
    let at_work = state.units().iter().filter(|(_, unit)| unit.is_at_work());
    let ids: Vec<String> = at_work.map(|(id, _)| id.clone()).collect();
    for id in ids.iter().rev().skip(1) {
        if let Some(unit) = state.units_mut().get_mut(id) {
            unit.status = Status::Pending.name().into();
        }
    }
}
