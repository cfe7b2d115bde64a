//! Looks through all the books and says what is wrong with them; mends them if asked to.
//!
//! `place` knows which file is what, `document` what may be in it, `repair` what to do about it.

mod document;
pub mod place;
mod repair;

use std::collections::BTreeSet;
use std::path::Path;

pub use repair::repair;

use crate::books::execute;
use crate::books::executions::Executions;
use crate::error::{Error, Result};
use crate::facts::files;
use crate::schema::checker::Fault;
use crate::store::is_newer;
use crate::store::view::{Is, View};
use document::Documents;
use place::Place;

/// What the books look like.
#[derive(Debug, Default)]
pub struct Report {
    pub documents: usize,
    pub problems: Vec<Problem>,
    /// What is worth a word but is not wrong.
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Below `.claude/state`; the settings have a name of their own.
    pub file: String,
    /// In files that have one document on each line.
    pub line: Option<usize>,
    /// A JSON pointer; empty for the document itself.
    pub pointer: String,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub file: String,
    pub message: String,
}

/// The settings are beside the state, and belong to the user.
pub const SETTINGS: &str = ".claude/hookkeeper.json";

/// Everything that is wrong with the books. Nothing is changed and no lock is needed.
pub fn problems(view: &View) -> Result<Report> {
    let documents = Documents::new()?;
    let mut report = Report::default();
    report.add(&documents, SETTINGS, &Place::Document("settings"), view.settings_bytes());
    for found in view.everything(place::is_room)? {
        let path = &found.path;
        match (place::of(path), &found.is) {
            (_, Is::OutOfReach(cause)) => {
                report.broken_file(path, &format!("{UNREADABLE}: {cause}"));
            }
            (Place::Beside, _) => {}
            (_, Is::File) if place::is_room(path) => {
                report.broken_file(path, "must be a folder");
            }
            (Place::Foreign, _) => report.note(path, "is no document of HookKeeper"),
            (Place::Left, _) => {
                report
                    .note(path, "was left by a process that was killed; the next event removes it");
            }
            (_, Is::Folder) => report.broken_file(path, "is a folder, must be a file"),
            (place, Is::File) => report.add(&documents, path, &place, view.read(path)),
        }
    }
    report.add_executions(&documents, view);
    Ok(report)
}

impl Report {
    /// Files that have a problem.
    pub fn broken(&self) -> BTreeSet<&str> {
        self.problems.iter().map(|problem| problem.file.as_str()).collect()
    }

    fn add(
        &mut self,
        documents: &Documents,
        path: &str,
        place: &Place,
        read: Result<Option<Vec<u8>>>,
    ) {
        let bytes = match read {
            Ok(Some(bytes)) => bytes,
            // It went away since the folder was listed.
            Ok(None) => return,
            Err(Error::Planted { is, .. }) => {
                return self.broken_file(path, &format!("is {is}, must be a file"));
            }
            Err(Error::Io { cause, .. }) => {
                return self.broken_file(path, &format!("{UNREADABLE}: {cause}"));
            }
            Err(error) => return self.broken_file(path, &error.to_string()),
        };
        self.documents += 1;
        match place {
            Place::Document(_) if is_newer(&bytes) => {
                self.note(path, "was written by a newer version; it is left alone");
            }
            Place::Document(schema) => {
                for fault in documents.faults(schema, path, &bytes) {
                    self.fault(path, None, fault);
                }
            }
            Place::Lines(schema) => {
                for (number, line) in lines(&bytes) {
                    for fault in documents.faults(schema, path, line) {
                        self.fault(path, Some(number), fault);
                    }
                }
            }
            Place::Beside | Place::Foreign | Place::Left => {}
        }
    }

    /// The states of the project's executions, which are where their users said.
    fn add_executions(&mut self, documents: &Documents, view: &View) {
        let known: Executions = view.document("executions.json").unwrap_or_default();
        for known in known.executions {
            let path = Path::new(&known.tasks_path).join(execute::FILE);
            let read = match files::read_all(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                other => other.map(Some).map_err(|error| Error::io("read", &path, error)),
            };
            let place = Place::Document("execute-state");
            self.add(documents, &path.display().to_string(), &place, read);
        }
    }

    fn fault(&mut self, file: &str, line: Option<usize>, fault: Fault) {
        let Fault { pointer, message } = fault;
        self.problems.push(Problem { file: file.to_owned(), line, pointer, message });
    }

    /// What cannot even be looked into counts as a document all the same.
    fn broken_file(&mut self, file: &str, message: &str) {
        self.documents += 1;
        self.fault(file, None, Fault { pointer: String::new(), message: message.to_owned() });
    }

    fn note(&mut self, file: &str, message: &str) {
        self.notes.push(Note { file: file.to_owned(), message: message.to_owned() });
    }
}

/// How the problem of a file begins that the system does not let us read.
const UNREADABLE: &str = "cannot be read";

/// The lines that say something, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines.map(|(n, line)| (n + 1, line)).filter(|(_, line)| !line.trim_ascii().is_empty())
}
