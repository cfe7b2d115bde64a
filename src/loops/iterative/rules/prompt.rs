//! What the model is told about its unit. It may have just lost its context.

use crate::core::gate::{Words, shell_word};
use crate::core::text::{clip, plural};
use crate::loops::SHORT_FROM;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::{Part, Unit, VERIFY};
use crate::loops::iterative::rules::review;

const LONGEST: usize = 600;
const FILES: usize = 12;

/// What comes now, for whoever asked.
pub fn what_is_next(documents: &TaskDocuments) -> Words {
    let (slug, word, state) = (&documents.slug, documents.slug.word(), &documents.state);
    if let Some(verdict) = &state.ending.verdict {
        let why = state.ending.verdict_reason.as_deref().unwrap_or("no reason given");
        return format!("The task {slug} is {verdict}: {why}.").into();
    }
    match state.phase.as_str() {
        "execute" => match of_unit(documents, false) {
            Some(lines) => Words::lines(lines),
            None => question(documents).trim_start_matches("HookKeeper: ").into(),
        },
        VERIFY if review::is_on(documents) => match of_review(documents) {
            Some(lines) => Words::lines(lines),
            None => question(documents).trim_start_matches("HookKeeper: ").into(),
        },
        "discover" | "plan" if state.units().is_empty() => format!(
            "The task {slug} is in its phase {}. Fill in {}, then add units: \
             `hookkeeper iterative unit {word} '{}: title | criteria | max 5'`, and begin: \
             `hookkeeper iterative phase {word} execute`.",
            state.phase,
            documents.file(Part::Brief),
            state.first_unit()
        )
        .into(),
        phase => format!(
            "The task {slug} is in its phase {phase}; its units go on with `hookkeeper iterative phase {word} execute`."
        )
        .into(),
    }
}

/// How the whole task is reviewed, line by line; `None` when a person has to look.
pub fn of_review(documents: &TaskDocuments) -> Option<Vec<String>> {
    if review::waits(documents) {
        return None;
    }
    let (word, state) = (documents.slug.word(), &documents.state);
    let (done, all) = state.done();
    Some(vec![
        format!("Task {}: {}", documents.slug, clip(&state.task, 200)),
        format!(
            "{done} of {} done. Review the whole now, as somebody would who did not do it: look at the work \
             itself, run what checks it, and hold it against what {} wants (Done When, Constraints).",
            plural(all, "unit"),
            documents.file(Part::Brief),
        ),
        format!(
            "All of it holds: <signal>{}_VERIFIED</signal>. Something is missing: add a unit for it, which then \
             is next (`hookkeeper iterative unit {word} 'ID: title | criteria | max 5'`). If you cannot go on: \
             <signal>BLOCKED: why</signal>.",
            review::WHOLE,
        ),
    ])
}

/// What to do about the unit at work, line by line; `is_known`: the model has heard of it before.
pub fn of_unit(documents: &TaskDocuments, is_known: bool) -> Option<Vec<String>> {
    let id = documents.state.current()?;
    let unit = documents.state.unit(id)?;
    Some(match unit.status()? {
        Status::Verifying => verification(documents, id, unit),
        // A confirmation is the first prompt again: who is told that it is one finds what they expect.
        Status::Confirming => work(documents, id, unit),
        _ if unit.iterations_used <= 1 => work(documents, id, unit),
        _ if is_known && unit.iterations_used >= SHORT_FROM => more_work(documents, id, unit),
        _ => {
            let mut lines = work(documents, id, unit);
            lines.insert(0, where_it_stands(documents, id, unit));
            lines
        }
    })
}

fn work(documents: &TaskDocuments, id: &str, unit: &Unit) -> Vec<String> {
    let mut lines = about(documents, id, unit);
    lines.push(format!(
        "Read first: {}, {} (lessons) and {} (what was done).",
        documents.file(Part::Context),
        Part::Guardrails.file_name(),
        Part::Progress.file_name(),
    ));
    lines.push(format!("Do what is next, then note it: `{}`.", log_command(documents, id)));
    lines.push(format!(
        "When every criterion holds, and you have seen that it does, end your message with \
         <signal>{id}_DONE</signal>. If you cannot go on: <signal>BLOCKED: why</signal>."
    ));
    lines
}

/// By the third time the rest is known.
fn more_work(documents: &TaskDocuments, id: &str, unit: &Unit) -> Vec<String> {
    let mut lines = vec![where_it_stands(documents, id, unit)];
    lines.extend(criteria(documents, unit));
    lines.push(format!(
        "Note what you did: `{}`. Every criterion holds: <signal>{id}_DONE</signal>. You cannot go on: \
         <signal>BLOCKED: why</signal>.",
        log_command(documents, id)
    ));
    lines
}

fn verification(documents: &TaskDocuments, id: &str, unit: &Unit) -> Vec<String> {
    let mut lines = about(documents, id, unit);
    lines.push(
        "It is said to be done. Verify it now: look at the work itself, run what checks it, and hold it \
         against each criterion, as somebody would who did not do it."
            .to_owned(),
    );
    lines.push(format!(
        "All of them hold: <signal>{id}_VERIFIED</signal>. Something is missing: note what \
         (`{}`), then <signal>{id}_GAPS</signal>.",
        log_command(documents, id)
    ));
    lines
}

fn log_command(documents: &TaskDocuments, id: &str) -> String {
    let (word, id_word) = (documents.slug.word(), shell_word(id));
    format!("hookkeeper iterative log {word} {id_word} --did '…' --remaining '…'")
}

fn about(documents: &TaskDocuments, id: &str, unit: &Unit) -> Vec<String> {
    let title = clip(&unit.title, LONGEST);
    let title = if title.is_empty() { String::new() } else { format!(": {title}") };
    let mut lines = vec![
        format!("Task {}: {}", documents.slug, clip(&documents.state.task, 200)),
        format!("Unit {id}{title}"),
    ];
    lines.extend(criteria(documents, unit));
    lines
}

/// What the unit has to come to, and where.
fn criteria(documents: &TaskDocuments, unit: &Unit) -> Vec<String> {
    let files = unit.files.iter().take(FILES).cloned().collect::<Vec<_>>().join(", ");
    let plan = match unit.criteria.is_empty() {
        true => format!("see {}", documents.file(documents.state.plan_part())),
        false => String::new(),
    };
    let values = [
        ("Criteria", &unit.criteria),
        ("Files", &files),
        ("Output", &unit.output),
        ("Model", &unit.model),
        ("Criteria", &plan),
    ];
    let said = values.iter().filter(|(_, value)| !value.is_empty());
    said.map(|(key, value)| format!("{key}: {}", clip(value, LONGEST))).collect()
}

fn where_it_stands(documents: &TaskDocuments, id: &str, unit: &Unit) -> String {
    let mut out = format!(
        "Unit {id} goes on, iteration {} of {}.",
        unit.iterations_used, unit.max_iterations
    );
    if unit.verifications_failed > 0 {
        let times = plural(unit.verifications_failed as usize, "verification");
        out.push_str(&format!(" {times} found gaps."));
    }
    if let Some(left) = documents.log.remaining(id) {
        out.push_str(&format!(" Remaining, by the log: {}.", clip(left, LONGEST)));
    }
    out
}

/// What a person has to decide, where no unit can go on.
pub fn question(documents: &TaskDocuments) -> String {
    let (slug, word) = (&documents.slug, documents.slug.word());
    let mut out = format!("HookKeeper: the task {slug} waits for you.");
    if review::is_on(documents) {
        let reviews = documents.log.reviews();
        let why = reviews.last().and_then(|entry| entry.blockers.clone());
        let why =
            why.unwrap_or_else(|| format!("it did not pass in {}", plural(reviews.len(), "turn")));
        out.push_str(&format!(
            " The review of the whole has stopped ({}). `hookkeeper iterative phase {word} verify` begins it \
             again, `hookkeeper iterative signal {word} {}_VERIFIED` takes the task as it is, `hookkeeper \
             iterative unit {word} 'ID: title | criteria'` adds what is missing.",
            clip(&why, 200),
            review::WHOLE,
        ));
        return out;
    }
    for (id, unit) in documents.state.units().iter() {
        let id_word = shell_word(id);
        let why = clip(unit.reason.as_deref().unwrap_or("no reason given"), 200);
        match unit.status() {
            Some(Status::Timeout) => out.push_str(&format!(
                " {id} is out of iterations ({why}): `hookkeeper iterative set {word} {id_word} max={}` gives it more; or make its criteria simpler in {}, then `hookkeeper iterative rebuild {word}`.",
                unit.max_iterations + 5,
                documents.state.plan_file(),
            )),
            Some(Status::Blocked) if !unit.skipped && !unit.is_waiting() => out.push_str(&format!(
                " {id} is blocked ({why}): `hookkeeper iterative unblock {word} {id_word}` when that is settled."
            )),
            _ => {}
        }
    }
    out.push_str(&format!(" To do without a unit: `hookkeeper iterative skip {word} UNIT`."));
    out
}
