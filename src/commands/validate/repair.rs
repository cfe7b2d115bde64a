//! Puts what cannot be used out of the way, under the lock, and derives the copies anew.

use std::path::Path;

use crate::core::error::Result;
use crate::core::id::TaskSlug;
use crate::core::text::plural;
use crate::loops::iterative::document::Task;
use crate::process::Process;
use crate::session::active::Active;
use crate::session::current::CurrentFile;
use crate::session::live::Live;
use crate::session::locked_store::unplayed_store;
use crate::session::metrics::{self, Metrics};
use crate::session::notices::keep_remarks;
use crate::session::record;
use crate::state::Declared;
use crate::state::plan::Plan;
use crate::state::{Doc, Document, Source, State};
use crate::store::Store;
use crate::store::view::View;
use crate::validate::document::Checkers;
use crate::validate::documents;
use crate::validate::place::{Place, place_of};
use crate::validate::{Note, Report, SETTINGS, below_claude, is_newer_line, lines, problems};

/// What a repair found, did and left.
#[derive(Debug, Default)]
pub struct Repair {
    pub found: Report,
    pub done: Vec<Note>,
    pub left: Report,
}

/// Looks again when it has the lock, so nothing is moved that was mended in the meantime.
pub fn repair(process: &Process, root: &Path) -> Result<Repair> {
    // Nothing is played: what waits may be what cannot be played before this is done.
    let store = unplayed_store(process, root)?;
    let Some(view) = View::open(root, process.home().as_deref())? else {
        return Ok(Repair::default());
    };
    let checkers = Checkers::new()?;
    let found = problems(&view)?;
    let mut done = Vec::new();
    for file in found.broken() {
        // An execution's state is not ours to move: `execute rebuild` makes it anew.
        let is_outside = Path::new(file).is_absolute();
        if file != SETTINGS && !is_outside && !is_out_of_reach(&found, file) {
            let did = mend(&store, &view, &checkers, file);
            // One file that stays is no reason to leave the others broken.
            done.push(note(
                file,
                did.unwrap_or_else(|error| format!("stays where it is: {error}")),
            ));
        }
    }
    if found.broken().into_iter().any(concerns_copies) {
        done.extend(rebuild_copies(&store)?);
    }
    keep_remarks(&store, &State::new(&store), process.now())?;
    let left = problems(&view)?;
    Ok(Repair { found, done, left })
}

/// A file that the system does not let us read may be whole: it stays.
fn is_out_of_reach(report: &Report, file: &str) -> bool {
    report.problems.iter().any(|problem| problem.file == file && problem.is_out_of_reach)
}

/// Keeps what is good of a file that is a list of documents; moves any other file away.
fn mend(store: &Store, view: &View, checkers: &Checkers, file: &str) -> Result<String> {
    let path = below_claude(file);
    let place = place_of(&path);
    if let Place::Document(_, doc) = &place
        && doc.is::<Task>()
        && let Some(slug) = TaskSlug::known(&doc.key)
    {
        let aside = store.set_document_aside(doc)?.unwrap_or_default();
        let name = aside.strip_prefix(".claude/state/").unwrap_or(&aside);
        let word = slug.word();
        return Ok(format!("moved to {name}; `hookkeeper iterative rebuild {word}` makes it anew"));
    }
    let bytes = view.bytes(&path).ok().flatten().unwrap_or_default();
    let good = match &place {
        Place::Lines(declared, doc) => Some(good_lines(checkers, declared, doc, &bytes)),
        Place::Document(declared, doc) if doc.is::<Metrics>() => {
            good_entries(checkers, declared, doc, &bytes)
        }
        _ => None,
    };
    Ok(match good {
        Some((good, gone, what)) if !good.is_empty() => {
            let name = store.mend(&path, &bytes, &good)?;
            format!("{} taken out; the file as it was is now quarantine/{name}", plural(gone, what))
        }
        _ => format!("moved to quarantine/{}", store.put_in_quarantine(&path)?),
    })
}

/// What is good of a file, how much of it is not, and what that is called.
type GoodPart = (Vec<u8>, usize, &'static str);

fn good_lines(checkers: &Checkers, declared: &Declared, doc: &Doc, bytes: &[u8]) -> GoodPart {
    let mut good = Vec::with_capacity(bytes.len());
    let mut gone = 0;
    for (_, line) in lines(bytes) {
        if is_newer_line(declared, line) || checkers.faults(declared, doc, line).is_empty() {
            good.extend_from_slice(line);
            good.push(b'\n');
        } else {
            gone += 1;
        }
    }
    (good, gone, "line")
}

/// `None` if the file as such is of no use.
fn good_entries(
    checkers: &Checkers,
    declared: &Declared,
    doc: &Doc,
    bytes: &[u8],
) -> Option<GoodPart> {
    let mut metrics = Metrics::parse(bytes).ok()?;
    let entry = documents::all().into_iter().find(|row| row.row.name == metrics::ARCHIVE.name)?;
    let gone = metrics.retain(|raw| checkers.faults(&entry, doc, raw.as_bytes()).is_empty());
    let good = metrics.to_bytes();
    checkers.faults(declared, doc, &good).is_empty().then_some((good, gone, "session"))
}

fn concerns_copies(file: &str) -> bool {
    match place_of(&below_claude(file)) {
        Place::Document(_, doc) => {
            doc.is::<Live>() || doc.is::<Active>() || doc.is::<CurrentFile>()
        }
        _ => false,
    }
}

/// `active.json` and `current.json`, from the live records that are left.
fn rebuild_copies(store: &Store) -> Result<Vec<Note>> {
    let state = State::new(store);
    let mut plan = Plan::default();
    let lives: Vec<&Live> = state.all::<Live>().collect();
    record::put_copies(&mut plan, lives.into_iter(), &state);
    let before = store.written().len();
    store.commit(&plan.changes, &state)?;
    store.take_over_remarks(&state);
    let had_current = state.get::<CurrentFile>().is_some();
    let written = store.written();
    let notes = written.iter().skip(before).filter_map(|name| match name.strip_prefix('-') {
        None => Some(note(name, "rebuilt from the live records".into())),
        // It is removed whether it is there or not.
        Some(name) => had_current.then(|| note(name, "removed: there is no live session".into())),
    });
    Ok(notes.collect())
}

fn note(file: &str, message: String) -> Note {
    Note { file: file.to_owned(), message }
}
