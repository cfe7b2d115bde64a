//! `errors/classified.json`: failures worth remembering, how often they were tried, what became of
//! them. The seed's schema, plus what is needed to recognise the same failure again.

pub mod class;
pub mod record;
pub mod tally;
#[cfg(test)]
pub mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::entries::{self, Entries, Shared, Slot};
use crate::core::pieces::Pieces;
use crate::core::text::Extra;
use crate::core::time::Time;
use crate::errors::panel;
use crate::state::panel::StatusPart;
use crate::state::{Row, document};

pub use class::Class;
pub use record::{Failure, Record};
pub use tally::{Summary, Tally};

const RECORDS: usize = 200;

pub const PENDING: &str = "pending_retry";
pub const RECOVERED: &str = "recovered";
pub const ESCALATED: &str = "escalated";
pub const QUEUED: &str = "queued";
pub const LOGGED: &str = "logged";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    entries: Entries<Record>,
    pub summary: Summary,
    /// Records that had to go, by session: the summary counts them too.
    dropped: BTreeMap<String, Tally>,
    extra: Extra,
}

/// Failures worth remembering, and what became of them.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["errors", "summary"])))]
pub struct File {
    errors: Vec<Record>,
    summary: Summary,
    /// Records that had to go, by session: the summary counts them too.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    dropped: BTreeMap<String, Tally>,
    #[serde(flatten)]
    extra: Extra,
}

impl Errors {
    /// For tests, which have bytes of their own.
    #[cfg(feature = "testing")]
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::parse_shared(&Shared::new(bytes.to_vec()))
    }

    /// Parses a document without a copy of its bytes. Records in the form in which they are written
    /// stay text. A document with others in it is parsed as a whole, and so refused if any of them
    /// is wrong.
    pub fn parse_shared(bytes: &Shared) -> Result<Self, String> {
        if let Some(errors) = Self::splice(bytes) {
            return Ok(errors);
        }
        let file: File = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        Ok(Self {
            entries: file.errors.into(),
            summary: file.summary,
            dropped: file.dropped,
            extra: file.extra,
        })
    }

    fn splice(bytes: &Shared) -> Option<Self> {
        let (entries, fields) = Entries::<Record>::parse(bytes, "errors")?;
        let is_ours = |slot: &Slot<Record>| match slot {
            Slot::Raw(_, outline) => outline.is_ours(),
            Slot::Typed(_) => true,
        };
        if !entries.slots.iter().all(is_ours) {
            return None;
        }
        let mut errors = Self { entries, ..Self::default() };
        for (key, raw) in fields {
            match key.as_str() {
                "summary" => errors.summary = serde_json::from_str(&raw).ok()?,
                "dropped" => errors.dropped = serde_json::from_str(&raw).ok()?,
                _ => {
                    errors.extra.insert(key, serde_json::from_str(&raw).ok()?);
                }
            }
        }
        Some(errors)
    }

    /// A document of these records, counted.
    #[cfg(feature = "testing")]
    pub fn with_records(records: Vec<Record>) -> Self {
        let mut errors = Self { entries: records.into(), ..Self::default() };
        errors.recount();
        errors
    }

    fn to_pieces(&self) -> Pieces {
        let mut pieces = Pieces::default();
        pieces.push("{\n  \"errors\": ");
        self.entries.write(&mut pieces, |record| entries::indented(record, 2));
        pieces.push(&format!(",\n  \"summary\": {}", entries::indented(&self.summary, 1)));
        if !self.dropped.is_empty() {
            pieces.push(&format!(",\n  \"dropped\": {}", entries::indented(&self.dropped, 1)));
        }
        for (key, value) in &self.extra {
            let value = entries::indented(value, 1);
            pieces.push(&format!(",\n  {}: {value}", entries::line(key)));
        }
        pieces.push("\n}\n");
        pieces
    }

    /// All records, oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.entries.read_all().collect()
    }

    /// Takes a failure in, and gives its record. `None` if this call was counted before.
    pub fn record(&mut self, failure: Failure, id: String, now: Time) -> Option<Record> {
        if self.find_by_call(&failure.session_id, failure.tool_use_id.as_ref()).is_some() {
            return None;
        }
        let known = self.position(|slot| self.is_open(slot, &failure));
        let record = match known.and_then(|at| self.entries.edit(at)) {
            Some(record) => {
                record.repeat(&failure, now);
                record.clone()
            }
            None => {
                let record = Record::new(&failure, id, now);
                self.entries.push(record.clone());
                record
            }
        };
        self.recount();
        Some(record)
    }

    /// The open record of the same failure.
    pub fn find_open(&self, failure: &Failure) -> Option<Record> {
        self.find(|slot| self.is_open(slot, failure))
    }

    /// The record that counted a call.
    pub fn find_by_call(&self, session_id: &str, tool_use_id: Option<&String>) -> Option<Record> {
        let id = tool_use_id?;
        let counted = |slot: &Slot<Record>| {
            self.is_of(slot, session_id)
                && self.entries.may_have(slot, id)
                && self.entries.read(slot).is_some_and(|record| record.tool_use_ids.contains(id))
        };
        self.find(counted)
    }

    /// What failed on a target has recovered: its tool succeeded there.
    pub fn recover(&mut self, session_id: &str, target: &str) -> usize {
        let mut recovered = 0;
        while let Some(at) = self.position(|slot| self.is_open_at(slot, session_id, target)) {
            let Some(record) = self.entries.edit(at) else { break };
            record.recover();
            recovered += 1;
        }
        self.recount();
        recovered
    }

    /// A person has seen to it.
    pub fn resolve(&mut self, id: &str) -> Option<Record> {
        let at =
            self.position(|slot| self.entries.read(slot).is_some_and(|record| record.id == id))?;
        let record = self.entries.edit(at)?;
        record.recover();
        let record = record.clone();
        self.recount();
        Some(record)
    }

    /// Whether something that failed on a target has not recovered.
    pub fn is_open_on(&self, session_id: &str, target: &str) -> bool {
        self.position(|slot| self.is_open_at(slot, session_id, target)).is_some()
    }

    /// Forgets a session that has ended.
    pub fn clear(&mut self, session_id: &str) {
        let mut slots = std::mem::take(&mut self.entries.slots);
        slots.retain(|slot| !self.is_of(slot, session_id));
        self.entries.slots = slots;
        self.dropped.remove(session_id);
        self.recount();
    }

    pub fn is_empty(&self) -> bool {
        self.entries.slots.is_empty() && self.dropped.is_empty()
    }

    pub fn tally(&self, session_id: &str) -> Tally {
        let mut tally = self.dropped.get(session_id).cloned().unwrap_or_default();
        for slot in self.entries.slots.iter().filter(|slot| self.is_of(slot, session_id)) {
            tally.add(self.status(slot));
        }
        tally
    }

    /// Drops what is too much, closed records first, and counts anew.
    fn recount(&mut self) {
        while self.entries.slots.len() > RECORDS {
            let is_closed = |slot: &Slot<Record>| matches!(self.status(slot), RECOVERED | LOGGED);
            let slot = self.entries.slots.remove(self.position(is_closed).unwrap_or(0));
            let session_id = match &slot {
                Slot::Raw(_, outline) => self.entries.string(outline.session_id),
                Slot::Typed(record) => record.session_id.clone(),
            };
            let mut tally = self.dropped.remove(&session_id).unwrap_or_default();
            tally.add(self.status(&slot));
            self.dropped.insert(session_id, tally);
        }
        let (mut all, mut pending) = (Tally::default(), 0);
        self.dropped.values().for_each(|tally| all.join(tally));
        for slot in &self.entries.slots {
            all.add(self.status(slot));
            pending += u64::from(self.status(slot) == PENDING);
        }
        self.summary.total = all.total;
        self.summary.recovered = all.recovered;
        self.summary.escalated = all.escalated;
        self.summary.pending = pending;
    }

    fn position(&self, is_wanted: impl Fn(&Slot<Record>) -> bool) -> Option<usize> {
        self.entries.slots.iter().position(is_wanted)
    }

    fn find(&self, is_wanted: impl Fn(&Slot<Record>) -> bool) -> Option<Record> {
        let slot = self.entries.slots.iter().find(|slot| is_wanted(slot))?;
        self.entries.read(slot)
    }

    fn status<'a>(&'a self, slot: &'a Slot<Record>) -> &'a str {
        match slot {
            Slot::Raw(_, outline) => self.entries.word(outline.status),
            Slot::Typed(record) => &record.status,
        }
    }

    fn is_of(&self, slot: &Slot<Record>, session_id: &str) -> bool {
        match slot {
            Slot::Raw(_, outline) => self.entries.is_string(outline.session_id, session_id),
            Slot::Typed(record) => record.session_id == session_id,
        }
    }

    /// Whether a record is about the same failure, and it has not recovered.
    fn is_open(&self, slot: &Slot<Record>, failure: &Failure) -> bool {
        let fingerprint = failure.fingerprint();
        let is_same = match slot {
            Slot::Raw(_, outline) => self.entries.is_string(outline.fingerprint, &fingerprint),
            Slot::Typed(record) => record.fingerprint == fingerprint,
        };
        is_same && self.is_of(slot, &failure.session_id) && self.status(slot) != RECOVERED
    }

    fn is_open_at(&self, slot: &Slot<Record>, session_id: &str, target: &str) -> bool {
        let is_there = match slot {
            Slot::Raw(_, outline) => self.entries.is_string(outline.target, target),
            Slot::Typed(record) => record.target == target,
        };
        is_there && self.is_of(slot, session_id) && self.status(slot) != RECOVERED
    }
}

document!(Errors, Row {
    name: "errors",
    is_on: |systems| systems.errors,
    path: "state/errors/classified.json",
    schema: "errors",
    title: "Classified errors",
    about: "failures, and what became of them",
    status: Some(StatusPart { place: 30, read: panel::section }),
    ..Row::EPHEMERAL
}, schema: File, parse: |_, bytes| Self::parse_shared(bytes), pieces: Self::to_pieces);

impl<'de> Deserialize<'de> for Errors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        entries::deserialize(deserializer, Self::parse_shared)
    }
}

impl Serialize for Errors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let file = File {
            errors: self.records(),
            summary: self.summary.clone(),
            dropped: self.dropped.clone(),
            extra: self.extra.clone(),
        };
        file.serialize(serializer)
    }
}
