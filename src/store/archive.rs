//! What finished sessions leave: old metrics entries and their agents' results.

use crate::core::error::Result;
use crate::core::id::FileStem;
use crate::core::json::Object;
use crate::state::{Doc, left_out_remark};
use crate::store::Store;
use crate::store::dir::Dir;
use crate::store::folders::LARGEST_DOCUMENT;
use crate::store::rotate::{Age, keep_newest};

const ARCHIVED_SESSIONS: usize = 20;
/// How much of an archive is searched for a line that a killed process already wrote.
const ARCHIVE_TAIL: usize = 16 << 10;

const AGENTS: &str = "state/agents";
const RESULTS: &str = "state/agents/results";
const RESULTS_ARCHIVE: &str = "state/agents/results-archive";
const PARKED: &str = "state/agents/synthesis";
const SYNTHESIS: &str = "synthesis.json";

impl Store {
    /// Adds lines to a document, but not those that are at its end already: the process that wrote
    /// them may have been killed before it took them out of where they were.
    pub fn add_lines(&self, doc: &Doc, lines: &[String]) -> Result<()> {
        let (folder, file) = doc.place();
        let folder = self.folders.make(&folder)?;
        let tail = folder.read_tail(&file, ARCHIVE_TAIL)?;
        let starts =
            || std::iter::once(0).chain(memchr::memchr_iter(b'\n', &tail).map(|end| end + 1));
        let begins = |at: usize, line: &str| {
            tail.get(at..).is_some_and(|rest| rest.starts_with(line.as_bytes()))
        };
        let is_there = |line: &&String| starts().any(|at| begins(at, line));
        let mut text = String::new();
        for line in lines.iter().filter(|line| !is_there(line)) {
            text.push_str(line);
            text.push('\n');
        }
        if !text.is_empty() {
            folder.append_lines(&file, text.as_bytes())?;
            self.note_written(doc.name());
        }
        Ok(())
    }

    /// Moves a session's results to `results-archive/{session}`. If it was alone, the whole folder
    /// is renamed, whatever is in it; else its own files move one by one.
    pub fn archive_results(&self, session_id: &str, alone: bool) -> Result<()> {
        let name = FileStem::from_id(session_id);
        let parked = self.folders.find(PARKED)?;
        let Some(results) = self.folders.find(RESULTS)? else { return Ok(()) };
        if results.is_empty()? {
            return Ok(());
        }
        let archive = self.folders.make(RESULTS_ARCHIVE)?;
        if alone && archive.sub(name.as_str())?.is_none() {
            // Windows does not move what somebody has open.
            drop(results);
            self.folders.forget(RESULTS);
            self.folders.make(AGENTS)?.rename("results", &archive, name.as_str())?;
        } else {
            for file in results.names()? {
                if alone || self.belongs(&results, &file, session_id)? {
                    results.rename(&file, &archive.make(name.as_str())?, &file)?;
                }
            }
        }
        if let (Some(parked), Some(to)) = (parked, archive.sub(name.as_str())?) {
            let file = name.json();
            // What moved with the results is newer than what was parked.
            if !to.exists(SYNTHESIS)? && parked.exists(&file)? {
                parked.rename(&file, &to, SYNTHESIS)?;
            }
            parked.remove(&file)?;
        }
        self.unpark()?;
        self.note_written(format!("agents/results-archive/{name}"));
        let just = name.as_str();
        keep_newest(&archive, ARCHIVED_SESSIONS, Age::ByTime, just, |_| true, Dir::remove_dir)
    }

    /// If the last synthesis has just gone, the newest parked one takes its place.
    fn unpark(&self) -> Result<()> {
        if self.has_entry(RESULTS, SYNTHESIS)? {
            return Ok(());
        }
        let Some(parked) = self.folders.find(PARKED)? else { return Ok(()) };
        let newest = parked.names()?.into_iter().max_by_key(|name| parked.modified(name));
        match newest {
            Some(file) => parked.rename(&file, &*self.folders.make(RESULTS)?, SYNTHESIS),
            None => Ok(()),
        }
    }

    /// The way back: what a session left when it was closed is its own again. Its synthesis is
    /// parked, because another session's may be in its place.
    pub fn restore_results(&self, session_id: &str) -> Result<()> {
        let name = FileStem::from_id(session_id);
        let Some(archive) = self.folders.find(RESULTS_ARCHIVE)? else { return Ok(()) };
        let Some(from) = archive.sub(name.as_str())? else { return Ok(()) };
        let results = self.folders.make(RESULTS)?;
        let parked = self.folders.make(PARKED)?;
        for file in from.names()? {
            match file.as_str() {
                SYNTHESIS => from.rename(&file, &parked, &name.json())?,
                _ => from.rename(&file, &results, &file)?,
            }
        }
        self.note_written(format!("-agents/results-archive/{name}"));
        archive.remove_empty(name.as_str())
    }

    /// Whether a result is this session's. One that can never be read is nobody's, and that is said.
    fn belongs(&self, folder: &Dir, file: &str, session_id: &str) -> Result<bool> {
        let bytes = match folder.read_up_to(file, LARGEST_DOCUMENT) {
            Err(error) if error.may_pass() => return Err(error),
            Err(error) => {
                let (key, text) = left_out_remark(&format!("agents/results/{file}"), &error);
                self.remark(key, text);
                return Ok(false);
            }
            Ok(bytes) => bytes.unwrap_or_default(),
        };
        let result = Object::parse(&bytes);
        Ok(result.is_ok_and(|result| result.text("session_id").as_deref() == Some(session_id)))
    }
}
