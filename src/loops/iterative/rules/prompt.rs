//! What the model is told about its unit. It may have just lost its context.

use crate::core::text::{clip, plural};
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::{Part, Unit};

const LONGEST: usize = 600;
const FILES: usize = 12;

/// What comes now, for whoever asked.
pub fn what_is_next(documents: &TaskDocuments) -> String {
    let (slug, state) = (&documents.slug, &documents.state);
    if let Some(verdict) = &state.ending.verdict {
        let why = state.ending.verdict_reason.as_deref().unwrap_or("no reason given");
        return format!("The task {slug} is {verdict}: {why}.");
    }
    match state.phase.as_str() {
        "execute" => of_unit(documents)
            .unwrap_or_else(|| question(documents).trim_start_matches("HookKeeper: ").to_owned()),
        "discover" | "plan" if state.units().is_empty() => format!(
            "The task {slug} is in its phase {}. Fill in {}, then add units: \
             `hookkeeper iterative unit {slug} '{}: title | criteria | max 5'`, and begin: \
             `hookkeeper iterative phase {slug} execute`.",
            state.phase,
            documents.file(Part::Brief),
            state.first_unit()
        ),
        phase => format!(
            "The task {slug} is in its phase {phase}; its units go on with `hookkeeper iterative phase {slug} execute`."
        ),
    }
}

/// What to do about the unit at work.
pub fn of_unit(documents: &TaskDocuments) -> Option<String> {
    let id = documents.state.current()?;
    let unit = documents.state.unit(id)?;
    Some(match unit.status()? {
        Status::Verifying => verification(documents, id, unit),
        // A confirmation is the first prompt again: who is told that it is one finds what they expect.
        Status::Confirming => work(documents, id, unit),
        _ if unit.iterations_used <= 1 => work(documents, id, unit),
        _ => format!("{}{}", where_it_stands(documents, id, unit), work(documents, id, unit)),
    })
}

fn work(documents: &TaskDocuments, id: &str, unit: &Unit) -> String {
    let slug = &documents.slug;
    format!(
        "{}Read first: {}, {} (lessons) and {} (what was done).\n\
         Do what is next, then note it: `hookkeeper iterative log {slug} {id} --did '…' --remaining '…'`.\n\
         When every criterion holds, and you have seen that it does, end your message with \
         <signal>{id}_DONE</signal>. If you cannot go on: <signal>BLOCKED: why</signal>.",
        about(documents, id, unit),
        documents.file(Part::Context),
        Part::Guardrails.file_name(),
        Part::Progress.file_name(),
    )
}

fn verification(documents: &TaskDocuments, id: &str, unit: &Unit) -> String {
    let slug = &documents.slug;
    format!(
        "{}It is said to be done. Verify it now: look at the work itself, run what checks it, and hold it \
         against each criterion, as somebody would who did not do it.\n\
         All of them hold: <signal>{id}_VERIFIED</signal>. Something is missing: note what \
         (`hookkeeper iterative log {slug} {id} --did '…' --remaining '…'`), then <signal>{id}_GAPS</signal>.",
        about(documents, id, unit),
    )
}

fn about(documents: &TaskDocuments, id: &str, unit: &Unit) -> String {
    let title = clip(&unit.title, LONGEST);
    let title = if title.is_empty() { String::new() } else { format!(": {title}") };
    let mut out = format!(
        "Task {}: {}\nUnit {id}{title}\n",
        documents.slug,
        clip(&documents.state.task, 200)
    );
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{key}: {}\n", clip(value, LONGEST)));
        }
    };
    line("Criteria", &unit.criteria);
    line("Files", &unit.files.iter().take(FILES).cloned().collect::<Vec<_>>().join(", "));
    line("Output", &unit.output);
    line("Model", &unit.model);
    if unit.criteria.is_empty() {
        let part = documents.state.plan_part();
        line("Criteria", &format!("see {}", documents.file(part)));
    }
    out
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
    out.push('\n');
    out
}

/// What a person has to decide, where no unit can go on.
pub fn question(documents: &TaskDocuments) -> String {
    let slug = &documents.slug;
    let mut out = format!("HookKeeper: the task {slug} waits for you.");
    for (id, unit) in documents.state.units().iter() {
        let why = clip(unit.reason.as_deref().unwrap_or("no reason given"), 200);
        match unit.status() {
            Some(Status::Timeout) => out.push_str(&format!(
                " {id} is out of iterations ({why}): `hookkeeper iterative set {slug} {id} max={}` gives it more; or make its criteria simpler in {}, then `hookkeeper iterative rebuild {slug}`.",
                unit.max_iterations + 5,
                documents.state.plan_file(),
            )),
            Some(Status::Blocked) if !unit.skipped && !unit.is_waiting() => out.push_str(&format!(
                " {id} is blocked ({why}): `hookkeeper iterative unblock {slug} {id}` when that is settled."
            )),
            _ => {}
        }
    }
    out.push_str(&format!(" To do without a unit: `hookkeeper iterative skip {slug} UNIT`."));
    out
}
