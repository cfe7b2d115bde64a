//! Looks through all the books and says what is wrong with them; mends them if asked to.
//!
//! `place` knows which file is what, `document` what may be in it, `repair` what to do about it.

mod document;
pub mod place;
mod repair;

use std::collections::BTreeSet;
use std::path::Path;

pub use repair::repair;

use crate::books::autonomous::{self, Autonomous};
use crate::books::executions::Executions;
use crate::error::{Error, Result};
use crate::facts::execution;
use crate::facts::files;
use crate::json::Object;
use crate::schema::checker::Fault;
use crate::store::is_newer;
use crate::store::layout::BRANCHES;
use crate::store::layout::Doc;
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
    /// Below `.claude/state`; what is beside that begins with `.claude/`.
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

/// How the paths of what is beside the state begin.
pub const BESIDE: &str = ".claude/";

/// Everything that is wrong with the books. Nothing is changed and no lock is needed.
pub fn problems(view: &View) -> Result<Report> {
    let documents = Documents::new()?;
    let mut report = Report::default();
    report.add(&documents, SETTINGS, &Place::Document("settings"), view.settings_bytes());
    report.autonomous(&documents, view.read_beside(&Doc::Autonomous.file()));
    for found in view.everything(place::is_room)? {
        let (place, is_room) = (place::of(&found.path), place::is_room(&found.path));
        report.look(&documents, &found.path, place, &found.is, is_room, || view.read(&found.path));
    }
    for found in view.everything_in(BRANCHES, place::is_room_beside)? {
        let path = format!("{BESIDE}{}", found.path);
        let is_room = found.path == BRANCHES || place::is_room_beside(&found.path);
        let is_room = is_room && place::beside(&found.path) == Place::Foreign;
        let read = || view.read_beside(&found.path);
        report.look(&documents, &path, place::beside(&found.path), &found.is, is_room, read);
    }
    for (path, read) in view.task_states()? {
        report.add(&documents, &path, &Place::Document("iterative"), read);
    }
    report.add_executions(&documents, view);
    Ok(report)
}

impl Report {
    /// Files that have a problem.
    pub fn broken(&self) -> BTreeSet<&str> {
        self.problems.iter().map(|problem| problem.file.as_str()).collect()
    }

    /// Takes what was found at a path.
    fn look(
        &mut self,
        documents: &Documents,
        path: &str,
        place: Place,
        is: &Is,
        is_room: bool,
        read: impl FnOnce() -> Result<Option<Vec<u8>>>,
    ) {
        match (place, is) {
            (_, Is::OutOfReach(cause)) => {
                self.broken_file(path, &format!("{UNREADABLE}: {cause}"));
            }
            (Place::Beside, _) => {}
            (_, Is::File) if is_room => self.broken_file(path, "must be a folder"),
            (Place::Foreign, _) => self.note(path, "is no document of HookKeeper"),
            (Place::Left, _) => {
                self.note(path, "was left by a process that was killed; the next event removes it");
            }
            (_, Is::Folder) => self.broken_file(path, "is a folder, must be a file"),
            (place, Is::File) => self.add(documents, path, &place, read()),
        }
    }

    /// A file that other tools use too, in other formats.
    fn autonomous(&mut self, documents: &Documents, read: Result<Option<Vec<u8>>>) {
        let path = Doc::Autonomous.path();
        let bytes = read.as_ref().ok().and_then(Option::as_deref);
        let fields = bytes.and_then(|bytes| Object::parse(bytes).ok());
        let whose = fields.map(|fields| {
            let ours = fields.raw("feature").is_some() && fields.raw("phase").is_some();
            (ours, fields.float("version").unwrap_or(1.0))
        });
        let usable = bytes.is_some_and(|bytes| Autonomous::parse(bytes).is_ok());
        match whose {
            Some((false, _)) => self.note(&path, "belongs to another tool; it is left alone"),
            Some((_, version)) if usable && version < autonomous::VERSION as f64 => {
                self.note(&path, "is of an older version; the next change of the loop renews it");
            }
            _ => self.add(documents, &path, &Place::Document(AUTONOMOUS), read),
        }
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
            Place::Document(schema) if is_newer(&bytes, known_version(schema)) => {
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
            let path = Path::new(&known.tasks_path).join(execution::FILE);
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

const AUTONOMOUS: &str = "autonomous-loop";

fn known_version(schema: &str) -> u64 {
    if schema == AUTONOMOUS { Doc::Autonomous.version() } else { 1 }
}

/// How the problem of a file begins that the system does not let us read.
const UNREADABLE: &str = "cannot be read";

/// The lines that say something, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines.map(|(n, line)| (n + 1, line)).filter(|(_, line)| !line.trim_ascii().is_empty())
}
