//! One failure in `errors/classified.json`: how often it happened, whether a retry makes sense.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::core::entries::{Entry, Field};
use crate::core::journal::{self, EntryKind};
use crate::core::json::scan::Span;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::core::time::{self, Time};
use crate::errors::document::class::Class;
#[cfg(feature = "testing")]
use crate::errors::document::{ESCALATED, QUEUED};
use crate::errors::document::{LOGGED, PENDING, RECOVERED};

const TOOL_USE_IDS: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "id", "timestamp", "classification", "tool", "message", "retry_count", "max_retries",
    "status", "next_retry", "context"
])))]
pub struct Record {
    pub id: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub timestamp: String,
    #[cfg_attr(feature = "testing", schemars(extend("enum" = Class::NAMES)))]
    pub classification: String,
    pub tool: String,
    pub message: String,
    pub retry_count: u64,
    pub max_retries: u64,
    #[cfg_attr(feature = "testing", schemars(extend("enum" = [PENDING, RECOVERED, ESCALATED, QUEUED, LOGGED])))]
    pub status: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub next_retry: Option<String>,
    /// What the call was about: a URL, a file, a command.
    pub context: Extra,
    pub session_id: String,
    pub agent_id: Option<String>,
    /// Class, tool and target: the same failure again has the same one.
    pub fingerprint: String,
    /// `tool target`: what a later success is compared with.
    pub target: String,
    /// How often it happened, the first time included.
    pub occurrences: u64,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
    pub last_seen: String,
    /// The calls that were counted, so that an event that is played twice counts once.
    pub tool_use_ids: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A failure as an event reports it.
pub struct Failure {
    pub class: Class,
    pub tool: String,
    pub target: String,
    pub message: String,
    pub context: Extra,
    pub session_id: String,
    pub agent_id: Option<String>,
    pub tool_use_id: Option<String>,
    /// When the message itself says that a retry makes sense.
    pub not_before: Option<Time>,
    /// The file of the project, and the line, that the message names.
    pub place: Option<(String, u64)>,
    /// Waiting does not help: something has to change before a retry makes sense.
    pub needs_change: bool,
}

impl Failure {
    /// What makes two failures the same: class, tool and target.
    pub fn fingerprint(&self) -> String {
        format!("{} {}", self.class.name(), self.target)
    }
}

impl Record {
    pub fn new(failure: &Failure, id: String, now: Time) -> Self {
        let mut record = Self {
            id: format!("error-{id}"),
            timestamp: time::spell(now),
            classification: failure.class.name().to_owned(),
            tool: failure.tool.clone(),
            max_retries: failure.class.max_retries(),
            session_id: failure.session_id.clone(),
            agent_id: failure.agent_id.clone(),
            fingerprint: failure.fingerprint(),
            target: failure.target.clone(),
            ..Self::default()
        };
        record.repeat(failure, now);
        record
    }

    /// What the journal says of it: the record as it is now.
    pub fn journal_line(&self) -> journal::Entry {
        let line = journal::Entry::new(EntryKind::Error)
            .of_session(&self.session_id)
            .of_agent(self.agent_id.clone())
            .what(&self.classification)
            .target(&self.target)
            .record(self);
        journal::Entry { failed: true, ..line }
    }

    /// What the journal says when a person has seen to it.
    pub fn recovered_by_hand(&self) -> journal::Entry {
        journal::Entry::new(EntryKind::Recovered)
            .of_agent(self.agent_id.clone())
            .what("by hand")
            .target(&self.target)
            .record(self)
    }

    /// Whether a line of the journal says that this one has recovered: with all others on its target,
    /// or by itself.
    pub fn is_recovered_by(&self, line: &journal::Entry) -> bool {
        match line.record.as_ref().and_then(|record| record.read::<Self>()) {
            Some(one) => one.id == self.id,
            None => line.target.as_ref() == Some(&self.target),
        }
    }

    /// It has recovered: its tool succeeded on its target, or a person has seen to it.
    pub fn recover(&mut self) {
        self.status = RECOVERED.into();
        self.next_retry = None;
    }

    /// The failure has happened (again): grant a retry, or say what becomes of it.
    pub fn repeat(&mut self, failure: &Failure, now: Time) {
        self.occurrences += 1;
        self.last_seen = time::spell(now);
        self.message.clone_from(&failure.message);
        self.context.clone_from(&failure.context);
        if let Some((file, line)) = &failure.place
            && !self.context.contains_key("file")
        {
            self.context.insert("file".into(), file.as_str().into());
            self.context.insert("line".into(), (*line).into());
        }
        self.tool_use_ids.extend(failure.tool_use_id.clone());
        keep_newest(&mut self.tool_use_ids, TOOL_USE_IDS);
        let class = failure.class;
        if self.retry_count < self.max_retries {
            self.retry_count += 1;
            let wait = TimeDelta::seconds(class.wait(self.retry_count));
            let at = failure.not_before.unwrap_or(now + wait);
            self.next_retry = (!failure.needs_change).then(|| time::spell(at));
            self.status = PENDING.into();
        } else {
            self.next_retry = None;
            self.status = match class {
                // What was mistyped on a command line is no work for later.
                Class::Syntax if failure.place.is_none() => LOGGED.into(),
                _ => class.exhausted().into(),
            };
        }
    }
}

/// What a record says by which it is found and counted, without being parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outline {
    pub status: Span,
    pub session_id: Span,
    pub fingerprint: Span,
    pub target: Span,
    fields: usize,
    is_foreign: bool,
}

impl Outline {
    /// Whether a record has all our fields, in their order and of their types: then parsing and
    /// printing it would give the same text again.
    pub fn is_ours(&self) -> bool {
        self.fields >= FIELDS.len() && !self.is_foreign
    }
}

/// What the key of a field says about it.
#[derive(Clone, Copy)]
pub enum Key {
    /// It is ours, in its place.
    Ours(Part, Shape),
    /// We do not know it.
    Unknown,
    /// It is ours, in the place of another.
    Misplaced,
}

/// Where the value of a field is noted.
#[derive(Clone, Copy)]
pub enum Part {
    Status,
    SessionId,
    Fingerprint,
    Target,
    Other,
}

impl Entry for Record {
    type Outline = Outline;
    type Key = Key;

    fn key(number: usize, key: &[u8]) -> Key {
        match FIELDS.get(number) {
            Some((name, shape)) if name.as_bytes() == key => {
                let part = match *name {
                    "status" => Part::Status,
                    "session_id" => Part::SessionId,
                    "fingerprint" => Part::Fingerprint,
                    "target" => Part::Target,
                    _ => Part::Other,
                };
                Key::Ours(part, *shape)
            }
            None if FIELDS.iter().all(|(name, _)| name.as_bytes() != key) => Key::Unknown,
            _ => Key::Misplaced,
        }
    }

    fn outline(outline: &mut Outline, field: &Field<Key>) {
        outline.fields += 1;
        match field.key {
            Key::Ours(part, shape) => {
                outline.is_foreign |= !shape.fits(field.value);
                match part {
                    Part::Status => outline.status = field.span,
                    Part::SessionId => outline.session_id = field.span,
                    Part::Fingerprint => outline.fingerprint = field.span,
                    Part::Target => outline.target = field.span,
                    Part::Other => {}
                }
            }
            Key::Unknown => {}
            Key::Misplaced => outline.is_foreign = true,
        }
    }
}

#[derive(Clone, Copy)]
pub enum Shape {
    Text,
    TextOrNull,
    Count,
    Object,
    List,
}

impl Shape {
    fn fits(self, value: &[u8]) -> bool {
        match (self, value) {
            (Self::Text | Self::TextOrNull, [b'"', ..])
            | (Self::TextOrNull, b"null")
            | (Self::Object, [b'{', ..])
            | (Self::List, [b'[', ..]) => true,
            (Self::Count, digits) => digits.len() < 19 && digits.iter().all(u8::is_ascii_digit),
            _ => false,
        }
    }
}

/// The fields of a record in the order in which they are written.
const FIELDS: [(&str, Shape); 17] = [
    ("id", Shape::Text),
    ("timestamp", Shape::Text),
    ("classification", Shape::Text),
    ("tool", Shape::Text),
    ("message", Shape::Text),
    ("retry_count", Shape::Count),
    ("max_retries", Shape::Count),
    ("status", Shape::Text),
    ("next_retry", Shape::TextOrNull),
    ("context", Shape::Object),
    ("session_id", Shape::Text),
    ("agent_id", Shape::TextOrNull),
    ("fingerprint", Shape::Text),
    ("target", Shape::Text),
    ("occurrences", Shape::Count),
    ("last_seen", Shape::Text),
    ("tool_use_ids", Shape::List),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_written_in_the_order_of_its_fields() {
        let text = serde_json::to_string(&Record::default()).unwrap();
        let record = crate::core::json::Object::parse(text.as_bytes()).unwrap();
        let mut outline = Outline::default();
        for (n, (key, _)) in FIELDS.iter().enumerate() {
            let value = record.raw(key).unwrap().as_bytes();
            let at = text.find(&format!("\"{key}\":")).unwrap();
            let span = Span { start: at, end: at };
            let key = Record::key(n, key.as_bytes());
            Record::outline(&mut outline, &Field { key, value, span });
        }
        assert!(outline.is_ours());
        assert!(outline.status.start < outline.session_id.start);
        let keys: Vec<usize> =
            FIELDS.iter().map(|(key, _)| text.find(&format!("\"{key}\":")).unwrap()).collect();
        assert!(keys.is_sorted());
    }
}
