//! What finished sessions leave: old metrics entries and their agents' results.

use crate::error::Result;
use crate::id::FileStem;
use crate::json::Object;
use crate::store::Store;
use crate::store::dir::Dir;
use crate::store::layout::{Doc, Room};

const ARCHIVED_SESSIONS: usize = 20;
/// How much of the metrics archive is searched for a line that a killed process already wrote.
const ARCHIVE_TAIL: usize = 16 << 10;

impl Store {
    /// Adds lines to the metrics archive, but not those that are at its end already: the process
    /// that wrote them may have been killed before it took them out of `metrics.json`.
    pub(super) fn archive_metrics(&mut self, lines: &[String]) -> Result<()> {
        let doc = Doc::MetricsArchive;
        self.make_room(doc.room())?;
        let room = self.room(doc.room())?;
        let tail = room.read_tail(&doc.file(), ARCHIVE_TAIL)?;
        let is_there = |line: &&String| memchr::memmem::find(&tail, line.as_bytes()).is_some();
        // A line that was cut off by a full disk or a power cut ends here.
        let torn = tail.last().is_some_and(|last| *last != b'\n');
        let mut text = String::new();
        for line in lines.iter().filter(|line| !is_there(line)) {
            text.push_str(line);
            text.push('\n');
        }
        if !text.is_empty() {
            text.insert_str(0, if torn { "\n" } else { "" });
            room.append(&doc.file(), text.as_bytes())?;
            self.wrote.push(doc.name());
        }
        Ok(())
    }

    /// Moves a session's results to `results-archive/{session}`. If it was alone, the whole folder
    /// is renamed, whatever is in it; else its own files move one by one.
    pub(super) fn archive_results(&mut self, session_id: &str, alone: bool) -> Result<()> {
        let name = FileStem::of(session_id);
        let parked = self.find_room(Room::Parked)?;
        if !self.find_room(Room::Results)? || self.room(Room::Results)?.is_empty()? {
            return Ok(());
        }
        self.make_room(Room::ResultsArchive)?;
        self.find_room(Room::Agents)?;
        let archive = self.room(Room::ResultsArchive)?;
        if alone && archive.sub(name.as_str())?.is_none() {
            self.room(Room::Agents)?.rename("results", archive, name.as_str())?;
            self.rooms.retain(|(room, _)| *room != Room::Results);
        } else {
            let from = self.room(Room::Results)?;
            for file in from.names()? {
                if alone || belongs(from, &file, session_id)? {
                    from.rename(&file, &archive.make(name.as_str())?, &file)?;
                }
            }
        }
        if parked && let Some(to) = self.room(Room::ResultsArchive)?.sub(name.as_str())? {
            let parked = self.room(Room::Parked)?;
            let file = name.json();
            // What moved with the results is newer than what was parked.
            if to.read("synthesis.json")?.is_none() && parked.read(&file)?.is_some() {
                parked.rename(&file, &to, "synthesis.json")?;
            }
            parked.remove(&file)?;
        }
        self.unpark()?;
        self.wrote.push(format!("agents/results-archive/{name}"));
        self.prune_archive()
    }

    /// A result that a closed session has left.
    pub fn archived_result(&mut self, session_id: &str, agent_id: &str) -> Result<Option<Vec<u8>>> {
        if !self.find_room(Room::ResultsArchive)? {
            return Ok(None);
        }
        let session = FileStem::of(session_id);
        match self.room(Room::ResultsArchive)?.sub(session.as_str())? {
            Some(archive) => archive.read(&Doc::result(agent_id).file()),
            None => Ok(None),
        }
    }

    /// If the last synthesis has just gone, the newest parked one takes its place.
    fn unpark(&mut self) -> Result<()> {
        let gone = !self.find_room(Room::Results)?
            || self.room(Room::Results)?.read("synthesis.json")?.is_none();
        if !gone || !self.find_room(Room::Parked)? {
            return Ok(());
        }
        let parked = self.room(Room::Parked)?;
        let newest = parked.names()?.into_iter().max_by_key(|name| parked.modified(name));
        if let Some(file) = newest {
            self.make_room(Room::Results)?;
            let parked = self.room(Room::Parked)?;
            parked.rename(&file, self.room(Room::Results)?, "synthesis.json")?;
        }
        Ok(())
    }

    /// The way back: what a session left when it was closed is its own again. Its synthesis is
    /// parked, because another session's may be in its place.
    pub(super) fn restore_results(&mut self, session_id: &str) -> Result<()> {
        let name = FileStem::of(session_id);
        if !self.find_room(Room::ResultsArchive)? {
            return Ok(());
        }
        let Some(from) = self.room(Room::ResultsArchive)?.sub(name.as_str())? else {
            return Ok(());
        };
        self.make_room(Room::Results)?;
        self.make_room(Room::Parked)?;
        for file in from.names()? {
            match file.as_str() {
                "synthesis.json" => from.rename(&file, self.room(Room::Parked)?, &name.json())?,
                _ => from.rename(&file, self.room(Room::Results)?, &file)?,
            }
        }
        self.wrote.push(format!("-agents/results-archive/{name}"));
        self.room(Room::ResultsArchive)?.remove_empty(name.as_str())
    }

    fn prune_archive(&mut self) -> Result<()> {
        let archive = self.room(Room::ResultsArchive)?;
        let names = archive.names()?;
        if names.len() <= ARCHIVED_SESSIONS {
            return Ok(());
        }
        let mut by_age: Vec<(i64, &String)> =
            names.iter().map(|name| (archive.modified(name), name)).collect();
        by_age.sort();
        for (_, name) in by_age.iter().take(names.len() - ARCHIVED_SESSIONS) {
            archive.remove_dir(name)?;
        }
        Ok(())
    }
}

fn belongs(room: &Dir, file: &str, session_id: &str) -> Result<bool> {
    let bytes = room.read(file)?.unwrap_or_default();
    Ok(Object::parse(&bytes)
        .is_ok_and(|result| result.text("session_id").as_deref() == Some(session_id)))
}
