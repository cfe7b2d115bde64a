//! Every document and every other file of ours, one line each. What `schema`, `validate`, the schema
//! generator and the fault suite know of files comes from here.
//!
//! The declaration of a document stands beside its type (`document!`); a test holds that none is
//! missing here.

use crate::books::active::Active;
use crate::books::agent_book::AgentBook;
use crate::books::autonomous::Autonomous;
use crate::books::backup::Backup;
use crate::books::branch::BranchState;
use crate::books::cleared::Cleared;
use crate::books::current::CurrentFile;
use crate::books::errors::Errors;
use crate::books::executions::Executions;
use crate::books::iterative::{Task, TaskText};
use crate::books::live::Live;
use crate::books::metrics::{self, Metrics};
use crate::books::notices::Notices;
use crate::books::queue::{LoopStateText, Queue};
use crate::books::result::{AgentResult, ArchivedResult};
use crate::books::settings::Settings;
use crate::books::synthesis::{ParkedSynthesis, Synthesis};
use crate::books::watched::Watched;
use crate::books::wiring;
use crate::execute::document as execution;
use crate::state::{Doc, Document, Row};
use crate::store::{log, spool};

/// Our own settings, which people write.
const SETTINGS: Row = Row {
    name: "settings",
    path: "hookkeeper.json",
    schema: "settings",
    title: "HookKeeper settings",
    about: "what a project may set",
    ..Row::SHARED
};

/// A row, and how a hook reads what is in such a file.
#[derive(Clone, Copy)]
pub struct Declared {
    pub row: &'static Row,
    /// A schema lets a few things through that a hook cannot read: a key that is there twice, a
    /// whole number that is spelled 2.0, an id that is another file's.
    pub check: fn(&Doc, &[u8]) -> Result<(), String>,
}

/// All of them, in the order in which people see them.
pub fn all() -> Vec<Declared> {
    let mut all = Vec::new();
    add::<Live>(&mut all);
    add::<CurrentFile>(&mut all);
    add::<Active>(&mut all);
    add::<AgentResult>(&mut all);
    add::<Synthesis>(&mut all);
    add::<ArchivedResult>(&mut all);
    add::<ParkedSynthesis>(&mut all);
    add::<Errors>(&mut all);
    add::<Metrics>(&mut all);
    add_file(&mut all, &metrics::ARCHIVE, parses_as::<metrics::Entry>);
    add::<Queue>(&mut all);
    add::<LoopStateText>(&mut all);
    add::<Backup>(&mut all);
    add::<Autonomous>(&mut all);
    add::<Watched>(&mut all);
    add::<BranchState>(&mut all);
    add::<AgentBook>(&mut all);
    add::<Task>(&mut all);
    add::<TaskText>(&mut all);
    add_file(&mut all, &execution::ROW, |_, bytes| execution::parse(bytes).map(drop));
    add::<Executions>(&mut all);
    add::<Notices>(&mut all);
    add::<Cleared>(&mut all);
    add_file(&mut all, &SETTINGS, |_, bytes| Settings::read(bytes).1.map_or(Ok(()), Err));
    add_file(&mut all, &log::ROW, |_, _| Ok(()));
    add_file(&mut all, &wiring::ROW, parses_as::<wiring::Wiring>);
    add_file(&mut all, &spool::ROW, parses_as::<spool::Entry>);
    all
}

/// What stands at a path below `.claude`.
pub fn at(path: &str) -> Option<(Declared, Doc)> {
    let fits = |declared: Declared| {
        let key = declared.row.key_at(path)?;
        Some((declared, Doc::new(declared.row, key)))
    };
    let found: Vec<(Declared, Doc)> = all().into_iter().filter_map(fits).collect();
    // A name that stands in a row is no key of another one.
    let named = found.iter().find(|(_, doc)| path.ends_with(doc.row.file()));
    named.or(found.first()).cloned()
}

/// Whether a folder below `.claude` has documents in it, or folders that have.
pub fn has_documents(folder: &str) -> bool {
    let fits = |pattern: &&str| {
        let mut patterns = pattern.split('/');
        folder.split('/').all(|segment| {
            patterns.next().is_some_and(|pattern| pattern.starts_with('{') || pattern == segment)
        }) && patterns.next().is_some()
    };
    all().iter().any(|Declared { row, .. }| {
        std::iter::once(&row.path).chain(row.also_at).any(|pattern| fits(pattern))
    })
}

fn add<T: Document>(all: &mut Vec<Declared>) {
    let check = |doc: &Doc, bytes: &[u8]| T::parse(doc, bytes).map(drop);
    all.extend(T::ROWS.iter().map(|row| Declared { row, check }));
}

/// A file that is not read through the handle.
fn add_file(
    all: &mut Vec<Declared>,
    row: &'static Row,
    check: fn(&Doc, &[u8]) -> Result<(), String>,
) {
    all.push(Declared { row, check });
}

fn parses_as<T: serde::de::DeserializeOwned>(_: &Doc, bytes: &[u8]) -> Result<(), String> {
    serde_json::from_slice::<T>(bytes).map(drop).map_err(|error| error.to_string())
}
