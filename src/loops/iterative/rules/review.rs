//! The end of a task: when all its units are closed, the whole is reviewed (phase `verify`), and
//! what it made is delivered (`deliver`) at `TASK_VERIFIED`. A unit that is added in between is
//! next.

use crate::core::text::{capital, plural};
use crate::loops::Verdict;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::progress::{Entry, NONE, REVIEW};
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::{DELIVER, VERIFY};
use crate::loops::iterative::rules::output;
use crate::loops::iterative::rules::signal::{Signal, UnitSignal};

/// Turns that a review may take before a person has to look.
pub const TURNS: usize = 5;
/// What a signal about the whole task names.
pub const WHOLE: &str = "TASK";

/// All units are closed: the whole is looked at.
pub fn begin(documents: &mut TaskDocuments) -> Result<(), String> {
    let mut entry = Entry::of_task("Phase");
    entry.did = Some(format!("{}; the whole is reviewed.", capital(&closed(documents))));
    entry.phase = Some(VERIFY.into());
    documents.record(entry)
}

/// Whether the whole task is under review.
pub fn is_on(documents: &TaskDocuments) -> bool {
    documents.state.phase == VERIFY && documents.state.all_closed()
}

/// Whether a person has to look: the review went on for too long, or cannot go on.
pub fn waits(documents: &TaskDocuments) -> bool {
    let reviews = documents.log.reviews();
    let is_blocked = |entry: &&Entry| entry.blockers.as_deref().is_some_and(|why| why != NONE);
    reviews.len() >= TURNS || reviews.last().is_some_and(is_blocked)
}

/// Takes what was said of the whole. An error says why that does not count; the turn does.
pub fn record_verdict(documents: &mut TaskDocuments, said: &[UnitSignal]) -> Result<(), String> {
    let of_whole = |said: &&UnitSignal| said.unit.as_deref().is_none_or(|unit| unit == WHOLE);
    let blocked = said.iter().filter(of_whole).find_map(|said| match &said.signal {
        Signal::Blocked(why) => Some(why.clone()),
        _ => None,
    });
    let says = |signal: Signal| said.iter().filter(of_whole).any(|said| said.signal == signal);
    let mut entry = Entry::of_task(REVIEW);
    let refused = match (blocked, says(Signal::Gaps), says(Signal::Verified)) {
        (Some(why), ..) => {
            entry.did = Some("The review cannot go on.".into());
            entry.blockers = Some(why);
            None
        }
        (None, true, _) => {
            entry.did = Some("The review found gaps.".into());
            None
        }
        (None, false, true) => match output::first_missing(documents) {
            None => return deliver(documents),
            Some(problem) => {
                entry.did = Some(capital(&format!("{problem}.")));
                Some(format!("{WHOLE}_VERIFIED is refused: {problem}"))
            }
        },
        (None, false, false) => {
            entry.did = Some("The turn ended without a signal that counts.".into());
            None
        }
    };
    entry.phase = Some(VERIFY.into());
    documents.record(entry)?;
    refused.map_or(Ok(()), Err)
}

/// The review has passed: what was made is named, and the task is over.
fn deliver(documents: &mut TaskDocuments) -> Result<(), String> {
    let mut entry = Entry::of_task("Verified");
    entry.did = Some("The review passed.".into());
    entry.signal = Some(format!("{WHOLE}_VERIFIED"));
    entry.phase = Some(DELIVER.into());
    documents.record(entry)?;
    let made = made(documents);
    let mut entry = Entry::of_task("Delivered");
    let skipped: Vec<&str> = {
        let units = documents.state.units().iter();
        units.filter(|(_, unit)| unit.skipped).map(|(id, _)| id.as_str()).collect()
    };
    entry.remaining = Some(match skipped.as_slice() {
        [] => "None".into(),
        skipped => format!("Skipped: {}", skipped.join(", ")),
    });
    let mut why = closed(documents);
    if !made.is_empty() {
        why.push_str(&format!("; delivered: {}", made.join(", ")));
    }
    entry.did = Some(capital(&format!("{why}.")));
    entry.verdict = Some(format!("{}: {why}", Verdict::Complete.name()));
    documents.record(entry)
}

/// The outputs of the units that are done, and the commits.
fn made(documents: &TaskDocuments) -> Vec<String> {
    let done = documents.state.units().iter().filter(|(_, unit)| unit.is(Status::Done));
    let mut made: Vec<String> =
        done.flat_map(|(_, unit)| unit.output_paths()).map(str::to_owned).collect();
    let commits = documents.state.commits.len();
    made.extend((commits > 0).then(|| plural(commits, "commit")));
    made
}

fn closed(documents: &TaskDocuments) -> String {
    let (done, all) = documents.state.done();
    let units = plural(all, "unit");
    match all - done {
        0 if all == 1 => "its unit is done".into(),
        0 => format!("all {units} are done"),
        skipped => format!("{done} of {units} done, {skipped} skipped"),
    }
}
