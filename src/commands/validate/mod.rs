//! Looks through all documents and says what is wrong with them; mends them if asked to.
//!
//! `place` knows which file is what, `document` what may be in it, `repair` what to do about it.

pub mod commands;
pub mod document;
pub mod documents;
pub mod place;
pub mod repair;
pub mod schema;

use std::collections::BTreeSet;
use std::path::Path;

pub use repair::repair;

use crate::branch::folder::BRANCHES;
use crate::core::error::{Error, Result};
use crate::core::json::Object;
use crate::core::text::plural;
use crate::execute::document as execution;
use crate::execute::registry::Executions;
use crate::loops::autonomous::document as autonomous;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::iterative::folder::all_tasks;
use crate::process::files;
use crate::state::{Declared, Doc, Document, Source, is_newer};
use crate::store::journal;
use crate::store::view::{Is, View};
use crate::validate::schema::checker::Fault;
use document::Checkers;
use place::{Place, is_folder_of_ours, place_of};

/// What the documents look like.
#[derive(Debug, Default)]
pub struct Report {
    pub documents: usize,
    pub problems: Vec<Problem>,
    /// What is worth a word but is not wrong.
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Below `.claude/state`; what is beside that begins with `.claude/`.
    pub file: String,
    /// In files that have one document on each line.
    pub line: Option<usize>,
    /// A JSON pointer; empty for the document itself.
    pub pointer: String,
    pub message: String,
    /// The system does not let us read the file: it may be whole.
    pub is_out_of_reach: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub file: String,
    pub message: String,
}

/// The settings are beside the state, and belong to the user.
pub const SETTINGS: &str = ".claude/hookkeeper.json";

/// A path below `.claude` as reports have it: below `.claude/state`, or with `.claude/` before it.
fn reported(path: &str) -> String {
    path.strip_prefix("state/").map_or_else(|| format!(".claude/{path}"), str::to_owned)
}

/// The path below `.claude` of a file in a report.
fn below_claude(reported: &str) -> String {
    match reported.strip_prefix(".claude/") {
        Some(path) => path.to_owned(),
        None => format!("state/{reported}"),
    }
}

/// Everything that is wrong with the documents. Nothing is changed and no lock is needed.
pub fn problems(view: &View) -> Result<Report> {
    let checkers = Checkers::new()?;
    let mut report = Report::default();
    report.check_file(&checkers, "hookkeeper.json", view);
    report.check_autonomous(&checkers, view);
    for folder in ["state", BRANCHES] {
        for found in view.everything_in(folder, is_folder_of_ours)? {
            // The folder itself has no row of its own.
            report.look(&checkers, &found.path, &found.is, view);
        }
    }
    for slug in all_tasks(view)? {
        report.check_file(
            &checkers,
            &crate::loops::iterative::document::Task::doc(&slug).below_claude(),
            view,
        );
    }
    report.check_executions(&checkers, view);
    Ok(report)
}

impl Report {
    /// Files that have a problem.
    pub fn broken(&self) -> BTreeSet<&str> {
        self.problems.iter().map(|problem| problem.file.as_str()).collect()
    }

    /// Takes what was found at a path below `.claude`.
    fn look(&mut self, checkers: &Checkers, path: &str, is: &Is, view: &View) {
        let file = reported(path);
        match (place_of(path), is) {
            (_, Is::OutOfReach(cause)) => self.unreadable(&file, cause),
            (Place::Beside, _) => {}
            (Place::Foreign, Is::File) if path == BRANCHES || is_folder_of_ours(path) => {
                self.broken_file(&file, "must be a folder");
            }
            (Place::Foreign, _) => self.note(&file, "is no document of HookKeeper"),
            (Place::Left, _) => {
                self.note(
                    &file,
                    "was left by a process that was killed; the next event removes it",
                );
            }
            (_, Is::Folder) => self.broken_file(&file, "is a folder, must be a file"),
            (_, Is::File) => self.check_file(checkers, path, view),
        }
    }

    /// Checks a file below `.claude`.
    fn check_file(&mut self, checkers: &Checkers, path: &str, view: &View) {
        self.check(checkers, &reported(path), place_of(path), view.bytes(path));
    }

    /// A file that other tools use too, in other formats.
    fn check_autonomous(&mut self, checkers: &Checkers, view: &View) {
        let doc = Autonomous::doc(&());
        let (file, read) = (doc.path(), view.bytes(&doc.below_claude()));
        let bytes = read.as_ref().ok().and_then(Option::as_deref);
        let fields = bytes.and_then(|bytes| Object::parse(bytes).ok());
        let whose = fields.map(|fields| {
            let ours = fields.raw("feature").is_some() && fields.raw("phase").is_some();
            (ours, fields.float("version").unwrap_or(1.0))
        });
        let usable = bytes.is_some_and(|bytes| Autonomous::parse(bytes).is_ok());
        match whose {
            Some((false, _)) => self.note(&file, "belongs to another tool; it is left alone"),
            Some((_, version)) if usable && version < autonomous::VERSION as f64 => {
                self.note(&file, "is of an older version; the next change of the loop renews it");
            }
            _ => self.check(checkers, &file, place_of(&doc.below_claude()), read),
        }
    }

    fn check(
        &mut self,
        checkers: &Checkers,
        file: &str,
        place: Place,
        read: Result<Option<Vec<u8>>>,
    ) {
        let bytes = match read {
            Ok(Some(bytes)) => bytes,
            // It went away since the folder was listed.
            Ok(None) => return,
            Err(Error::Planted { is, .. }) => {
                return self.broken_file(file, &format!("is {is}, must be a file"));
            }
            Err(Error::Io { cause, .. }) => return self.unreadable(file, &cause.to_string()),
            Err(error) => return self.broken_file(file, &error.to_string()),
        };
        self.documents += 1;
        match place {
            Place::Document(declared, _) if is_newer(&bytes, declared.row.version) => {
                self.note(file, "was written by a newer version; it is left alone");
            }
            Place::Document(declared, doc) => {
                for fault in checkers.faults(&declared, &doc, &bytes) {
                    self.fault(file, None, fault);
                }
            }
            Place::Lines(declared, doc) => {
                let newer =
                    lines(&bytes).filter(|(_, line)| is_newer_line(&declared, line)).count();
                if newer > 0 {
                    let newer = plural(newer, "line");
                    self.note(file, &format!("{newer} of a newer version; left alone"));
                }
                for (number, line) in lines(&bytes) {
                    if is_newer_line(&declared, line) {
                        continue;
                    }
                    for fault in checkers.faults(&declared, &doc, line) {
                        self.fault(file, Some(number), fault);
                    }
                }
            }
            Place::Beside | Place::Foreign | Place::Left => {}
        }
    }

    /// The states of the project's executions, which are where their users said.
    fn check_executions(&mut self, checkers: &Checkers, view: &View) {
        let known = view.get::<Executions>().unwrap_or_default();
        let row = documents::all().into_iter().find(|known| known.row.name == execution::ROW.name);
        let Some(declared) = row else { return };
        for known in known.executions {
            let path = Path::new(&known.tasks_path).join(execution::FILE);
            let read = match files::read_all(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                other => other.map(Some).map_err(|error| Error::io("read", &path, error)),
            };
            let place = Place::Document(declared, Doc::new(declared.row, ""));
            self.check(checkers, &path.display().to_string(), place, read);
        }
    }

    fn fault(&mut self, file: &str, line: Option<usize>, fault: Fault) {
        let Fault { pointer, message } = fault;
        let file = file.to_owned();
        self.problems.push(Problem { file, line, pointer, message, is_out_of_reach: false });
    }

    /// What cannot even be looked into counts as a document all the same.
    fn broken_file(&mut self, file: &str, message: &str) {
        self.documents += 1;
        self.fault(file, None, Fault { pointer: String::new(), message: message.to_owned() });
    }

    /// A file that the system does not let us read.
    fn unreadable(&mut self, file: &str, cause: &str) {
        self.broken_file(file, &format!("cannot be read: {cause}"));
        if let Some(problem) = self.problems.last_mut() {
            problem.is_out_of_reach = true;
        }
    }

    fn note(&mut self, file: &str, message: &str) {
        self.notes.push(Note { file: file.to_owned(), message: message.to_owned() });
    }
}

/// A line that a newer version wrote says so itself, and may have anything else in it.
fn is_newer_line(declared: &Declared, line: &[u8]) -> bool {
    declared.row.name == journal::ROW.name && journal::read::is_newer(line)
}

/// The lines that say something, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines.map(|(n, line)| (n + 1, line)).filter(|(_, line)| !line.trim_ascii().is_empty())
}
