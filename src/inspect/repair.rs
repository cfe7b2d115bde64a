//! Puts what cannot be used out of the way, under the lock, and derives the copies anew.

use std::path::Path;

use super::document::Documents;
use super::place::{self, Place};
use super::{BESIDE, Note, Report, SETTINGS, UNREADABLE, lines, problems};
use crate::books::metrics::Metrics;
use crate::books::plural;
use crate::error::Result;
use crate::gather;
use crate::hook_path::locked_store;
use crate::hooks::desk;
use crate::plan::Plan;
use crate::process::Process;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::store::iterative::task_of;
use crate::store::layout::Part;
use crate::store::view::View;

/// What a repair found, did and left.
#[derive(Debug, Default)]
pub struct Repair {
    pub found: Report,
    pub done: Vec<Note>,
    pub left: Report,
}

/// Looks again when it has the lock, so nothing is moved that was mended in the meantime.
pub fn repair(process: &Process, root: &Path) -> Result<Repair> {
    // The spool is played by `locked_store`: events that waited come first.
    let mut store = locked_store(process, root)?;
    let Some(view) = View::open(root, process.home().as_deref())? else {
        return Ok(Repair::default());
    };
    let documents = Documents::new()?;
    let found = problems(&view)?;
    let mut done = Vec::new();
    for file in found.broken() {
        // An execution's state is not ours to move: `execute rebuild` makes it anew.
        let is_outside = Path::new(file).is_absolute();
        if file != SETTINGS && !is_outside && !is_out_of_reach(&found, file) {
            let did = mend(&mut store, &view, &documents, file);
            // One file that stays is no reason to leave the others broken.
            done.push(note(
                file,
                did.unwrap_or_else(|error| format!("stays where it is: {error}")),
            ));
        }
    }
    if found.broken().into_iter().any(concerns_copies) {
        done.extend(rebuild(&mut store)?);
    }
    let left = problems(&view)?;
    Ok(Repair { found, done, left })
}

/// A file that the system does not let us read may be whole: it stays.
fn is_out_of_reach(report: &Report, file: &str) -> bool {
    let mut own = report.problems.iter().filter(|problem| problem.file == file);
    own.any(|problem| problem.message.starts_with(UNREADABLE))
}

/// Keeps what is good of a file that is a list of documents; moves any other file away.
fn mend(store: &mut Store, view: &View, documents: &Documents, file: &str) -> Result<String> {
    if let Some(slug) = task_of(file) {
        let aside = store.set_task_aside(&slug, Part::State)?.unwrap_or_default();
        let name = aside.strip_prefix(".claude/state/").unwrap_or(&aside);
        return Ok(format!("moved to {name}; `hookkeeper iterative rebuild {slug}` makes it anew"));
    }
    if let Some(path) = file.strip_prefix(BESIDE) {
        return Ok(format!("moved to quarantine/{}", store.put_beside_in_quarantine(path)?));
    }
    let bytes = view.read(file).ok().flatten().unwrap_or_default();
    let kept = match place::of(file) {
        Place::Lines(schema) => Some(good_lines(documents, schema, file, &bytes)),
        Place::Document("metrics") => good_entries(documents, file, &bytes),
        _ => None,
    };
    Ok(match kept {
        Some((good, gone, what)) if !good.is_empty() => {
            let name = store.mend(file, &bytes, &good)?;
            format!("{} taken out; the file as it was is now quarantine/{name}", plural(gone, what))
        }
        _ => format!("moved to quarantine/{}", store.put_in_quarantine(file)?),
    })
}

type Kept = (Vec<u8>, usize, &'static str);

fn good_lines(documents: &Documents, schema: &str, file: &str, bytes: &[u8]) -> Kept {
    let mut good = Vec::with_capacity(bytes.len());
    let mut gone = 0;
    for (_, line) in lines(bytes) {
        if documents.faults(schema, file, line).is_empty() {
            good.extend_from_slice(line);
            good.push(b'\n');
        } else {
            gone += 1;
        }
    }
    (good, gone, "line")
}

/// `None` if the file as such is of no use.
fn good_entries(documents: &Documents, file: &str, bytes: &[u8]) -> Option<Kept> {
    let mut metrics = Metrics::parse(bytes).ok()?;
    let gone =
        metrics.retain(|raw| documents.faults("metrics-entry", file, raw.as_bytes()).is_empty());
    let good = metrics.to_bytes();
    documents.faults("metrics", file, &good).is_empty().then_some((good, gone, "session"))
}

fn concerns_copies(file: &str) -> bool {
    matches!(place::of(file), Place::Document("live" | "active" | "current"))
}

/// `active.json` and `current.json`, from the live records that are left.
fn rebuild(store: &mut Store) -> Result<Vec<Note>> {
    let mut snapshot = Snapshot::default();
    gather::copies(&mut snapshot, store)?;
    let mut plan = Plan::default();
    desk::put_copies(&mut plan, &snapshot, snapshot.lives.values());
    let before = store.wrote.len();
    store.commit(&plan.changes)?;
    let wrote = store.wrote.iter().skip(before);
    let notes = wrote.filter_map(|name| match name.strip_prefix('-') {
        None => Some(note(name, "rebuilt from the live records".into())),
        // It is removed whether it is there or not.
        Some(name) => snapshot
            .current
            .is_some()
            .then(|| note(name, "removed: there is no live session".into())),
    });
    Ok(notes.collect())
}

fn note(file: &str, message: String) -> Note {
    Note { file: file.to_owned(), message }
}
