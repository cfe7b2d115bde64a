//! How a task goes on: what a signal makes of the unit at work, and which unit is next. Everything
//! happens by entries in the log, so that the log can tell it again.

use crate::core::gate::shell_word;
use crate::core::text::clip;
use crate::loops::iterative::document::Unit;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::progress::{Entry, STARTED, Step};
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::rules::signal::{Signal, UnitSignal};
use crate::loops::iterative::rules::{output, review};
use crate::loops::kind::MOST_ITERATIONS;

/// Verifications that may find gaps before a person has to look.
pub const VERIFICATIONS: u64 = 3;

/// Takes a signal. An error names the rule that forbids it.
///
/// `changed`: a file was changed since the unit was last said to be done.
pub fn signal(
    documents: &mut TaskDocuments,
    said: &UnitSignal,
    changed: bool,
) -> Result<(), String> {
    let current = documents.state.current().map(str::to_owned);
    let named = said.unit.clone().or_else(|| current.clone());
    let Some(id) = named else {
        return Err("no unit is at work".into());
    };
    let Some(unit) = documents.state.unit(&id) else {
        return Err(no_unit(documents, &id));
    };
    let text = said.signal.text(&id);
    let (is, n) = (unit.status(), unit.iterations_used);
    let refused = |rule: &str| Err(format!("{text} is refused: {id} is {}; {rule}", unit.status));
    let mut entry = Entry { signal: Some(text.clone()), ..Entry::of_unit(&id, n) };
    let mut did = |words: &str| entry.did = Some(words.to_owned());
    let output = output::problem(documents, &id);
    let (from, to) = match (is, &said.signal) {
        (Some(Status::InProgress), Signal::Done) if output.is_some() => {
            return refused(&output.unwrap_or_default());
        }
        (Some(Status::Confirming), Signal::Done) | (Some(Status::Verifying), Signal::Verified)
            if output.is_some() =>
        {
            let problem = output.unwrap_or_default();
            did(&format!("Not so: {problem}."));
            entry.remaining = Some(problem);
            return another(documents, entry, Status::InProgress);
        }
        (Some(Status::InProgress), Signal::Done) => {
            did("Said to be done.");
            (Status::InProgress, Status::Confirming)
        }
        (Some(Status::Confirming), Signal::Done) if changed => {
            did("Files were changed or committed since it was said to be done.");
            return another(documents, entry, Status::InProgress);
        }
        (Some(Status::Confirming), Signal::Done) => {
            match &documents.seen.trouble {
                None => did("Said to be done again, and nothing was changed in between."),
                Some(why) => did(&format!(
                    "Said to be done again. No tool changed a file in between; what commands changed was not seen: {why}."
                )),
            }
            (Status::Confirming, Status::Verifying)
        }
        (Some(Status::Verifying), Signal::Verified) => {
            did("The verification passed.");
            entry.remaining = Some("None".into());
            (Status::Verifying, Status::Done)
        }
        (Some(Status::Verifying), Signal::Gaps)
            if unit.verifications_failed + 1 >= VERIFICATIONS =>
        {
            did("The verification found gaps.");
            entry.blockers = Some(format!("{VERIFICATIONS} verifications found gaps"));
            (Status::Verifying, Status::Blocked)
        }
        (Some(Status::Verifying), Signal::Gaps) => {
            did("The verification found gaps.");
            return another(documents, entry, Status::InProgress);
        }
        (Some(status), Signal::Blocked(why)) if status.is_at_work() => {
            did("It cannot go on.");
            entry.blockers = Some(why.clone());
            (status, Status::Blocked)
        }
        (Some(Status::Verifying), Signal::Done) => {
            return refused(&format!("what is being verified is {id}_VERIFIED or {id}_GAPS"));
        }
        (Some(status), Signal::Verified | Signal::Gaps) if status.is_at_work() => {
            return refused(
                "a unit is verified only after it was confirmed: in_progress → confirming → verifying → done",
            );
        }
        (Some(Status::Done), _) => return refused("a unit that is done stays done"),
        _ => return refused("only the unit at work can be signalled"),
    };
    entry.step = Some(Step::new(from, to, None));
    documents.record(entry)
}

/// A turn without a signal that counts.
pub fn no_signal(documents: &mut TaskDocuments) -> Result<(), String> {
    let Some((id, is)) = at_work(documents) else { return Ok(()) };
    let n = documents.state.current_iteration;
    let mut entry = Entry::of_unit(&id, n);
    entry.did = Some("The turn ended without a signal that counts.".into());
    // A confirmation that is not confirmed is work again.
    another(documents, entry, if is == Status::Confirming { Status::InProgress } else { is })
}

/// The next iteration of the unit, or its end if there is none left.
fn another(documents: &mut TaskDocuments, mut entry: Entry, to: Status) -> Result<(), String> {
    let Some((_, from)) = at_work(documents) else { return Ok(()) };
    let (used, most) = documents
        .state
        .unit(&entry.subject)
        .map_or((0, 0), |unit| (unit.iterations_used, unit.max_iterations));
    entry.step = Some(if used < most {
        Step::new(from, to, Some(used + 1))
    } else {
        entry.blockers = Some(used_up(used, most));
        Step::new(from, Status::Timeout, None)
    });
    documents.record(entry)
}

fn used_up(used: u64, most: u64) -> String {
    format!("{used} of {most} iterations used")
}

fn at_work(documents: &TaskDocuments) -> Option<(String, Status)> {
    let id = documents.state.current()?;
    Some((id.to_owned(), documents.state.unit(id)?.status()?))
}

/// Starts the next unit if none is at work, and the review of the whole when all are closed.
pub fn go_on(documents: &mut TaskDocuments) -> Result<(), String> {
    if documents.state.phase != "execute"
        || !documents.state.is_open()
        || documents.state.current().is_some()
    {
        return Ok(());
    }
    while let Some(id) = documents.state.workable().map(str::to_owned) {
        start(documents, &id)?;
        // One that has no iteration left makes room for the next.
        if documents.state.current().is_some() {
            return Ok(());
        }
    }
    if documents.state.all_closed() { review::begin(documents) } else { Ok(()) }
}

fn start(documents: &mut TaskDocuments, id: &str) -> Result<(), String> {
    let unit = find_unit(documents, id)?;
    let (used, most) = (unit.iterations_used, unit.max_iterations.min(MOST_ITERATIONS));
    if used >= most {
        let mut entry = Entry::of_unit(id, used);
        entry.did = Some("No iteration was left to begin again.".into());
        entry.blockers = Some(used_up(used, most));
        entry.step = step(&unit, Status::Timeout, false);
        return documents.record(entry);
    }
    let n = used + 1;
    let mut entry = Entry::of_unit(id, n);
    entry.did = Some(if used == 0 { STARTED } else { "Taken up again." }.into());
    entry.output = output::at_start(documents, id);
    entry.step = Some(Step::new(Status::Pending, Status::InProgress, Some(n)));
    documents.record(entry)
}

/// Somebody does without a unit.
pub fn skip(documents: &mut TaskDocuments, id: &str, why: Option<String>) -> Result<(), String> {
    let unit = find_unit(documents, id)?;
    if unit.is_closed() {
        return Err(format!("{id} is {} already", if unit.skipped { "skipped" } else { "done" }));
    }
    let mut entry = Entry::of_unit(id, unit.iterations_used);
    entry.did = Some("Skipped by a command.".into());
    entry.blockers = Some(why.map_or("Skipped".into(), |why| format!("Skipped: {why}")));
    entry.step = step(&unit, Status::Blocked, true);
    documents.record(entry)
}

/// Takes up a unit that has stopped.
pub fn unblock(documents: &mut TaskDocuments, id: &str) -> Result<(), String> {
    let unit = find_unit(documents, id)?;
    let (used, most) = (unit.iterations_used, unit.max_iterations.min(MOST_ITERATIONS));
    let why = unit.reason.as_deref().unwrap_or_default();
    match unit.status() {
        _ if unit.is_waiting() => {
            return Err(format!("{id} is not blocked by anything else: {why}"));
        }
        Some(Status::Blocked | Status::Timeout) if used >= most => {
            let (word, id_word) = (documents.slug.word(), shell_word(id));
            return Err(format!(
                "{id} has used {used} of {most} iterations; `hookkeeper iterative set {word} {id_word} max={}` gives it more",
                most + 5
            ));
        }
        Some(Status::Blocked | Status::Timeout) => {}
        _ => return Err(format!("{id} is {}, not blocked", unit.status)),
    }
    let mut entry = Entry::of_unit(id, used);
    entry.did = Some("Unblocked by a command.".into());
    entry.step = step(&unit, Status::Pending, false);
    documents.record(entry)
}

/// Another limit for a unit. One that was out of iterations can go on.
pub fn limit(documents: &mut TaskDocuments, id: &str, most: u64) -> Result<(), String> {
    let unit = find_unit(documents, id)?;
    let (used, out) = (unit.iterations_used, unit.is(Status::Timeout));
    // One that has to begin again needs an iteration for that.
    let room = used + u64::from(used > 0 && !unit.is_at_work() && !unit.is(Status::Done));
    if most < room {
        return Err(format!("{id} has used {used} iterations already; give it more"));
    }
    if let Some(unit) = documents.state.units_mut().get_mut(id) {
        unit.max_iterations = most;
    }
    let mut entry = Entry::of_unit(id, used);
    entry.did = Some(format!("Max iterations: {most} (was {}).", unit.max_iterations));
    entry.step = step(&unit, Status::Pending, false).filter(|_| out);
    documents.record(entry)
}

fn find_unit(documents: &TaskDocuments, id: &str) -> Result<Unit, String> {
    let unit = documents.state.unit(id).cloned();
    unit.ok_or_else(|| no_unit(documents, id))
}

fn no_unit(documents: &TaskDocuments, id: &str) -> String {
    if id == review::WHOLE {
        return format!(
            "{id}_VERIFIED counts in phase verify, when all units are closed; the phase is {}",
            documents.state.phase
        );
    }
    if documents.state.units().is_empty() {
        return format!("the task {} has no units yet", documents.slug);
    }
    let ids = documents.state.units().ids().join(", ");
    format!("there is no unit `{}`; there are {ids}", clip(id, 80))
}

fn step(unit: &Unit, to: Status, skipped: bool) -> Option<Step> {
    Some(Step { from: unit.stands()?, to, iteration: None, skipped })
}

/// Says what was done in an iteration. It moves nothing.
pub fn note(documents: &mut TaskDocuments, id: &str, said: Entry) -> Result<(), String> {
    let used = find_unit(documents, id)?.iterations_used;
    let head = Entry::of_unit(id, used);
    documents.record(Entry { subject: head.subject, what: head.what, step: None, ..said })
}

/// The task passes to a session that has not seen what its unit's confirmation changed: it is work
/// again, in the same iteration.
pub fn confirm_anew(documents: &mut TaskDocuments) -> Result<(), String> {
    let Some((id, Status::Confirming)) = at_work(documents) else { return Ok(()) };
    let mut entry = Entry::of_unit(&id, documents.state.current_iteration);
    entry.did =
        Some("Nobody has seen whether files were changed since it was said to be done.".into());
    entry.step = Some(Step::new(Status::Confirming, Status::InProgress, None));
    documents.record(entry)
}
