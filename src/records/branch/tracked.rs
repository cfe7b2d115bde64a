//! One agent of a branch as its `agents.json` has it, in the seed's schema, and the branch's counts.

use serde::{Deserialize, Serialize};

use crate::core::entries::{Entry, Field};
use crate::core::json::scan::Span;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;
use crate::core::time;

pub const RUNNING: &str = "running";
pub const STUCK: &str = "stuck";
pub const COMPLETED: &str = "completed";
pub const FAILED: &str = "failed";

/// The agents of a branch, those that run and the ones that finished last.
#[cfg(feature = "testing")]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is wanted: the file is read as raw text")]
pub struct File {
    /// The branch's real name; its folder has another one.
    branch: Option<String>,
    #[schemars(required)]
    agents: Vec<Tracked>,
    #[schemars(required)]
    stats: Stats,
    #[schemars(flatten)]
    extra: Extra,
}

/// One agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "id", "type", "description", "spawned_at", "spawned_epoch", "background", "status",
    "completed_at", "result", "nudge_count", "last_nudge"
])))]
pub struct Tracked {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// What it was called for; `null` until that is certain.
    pub description: Option<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub spawned_at: String,
    pub spawned_epoch: i64,
    pub background: Option<bool>,
    #[cfg_attr(feature = "testing", schemars(extend("enum" = [RUNNING, STUCK, COMPLETED, FAILED])))]
    pub status: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub completed_at: Option<String>,
    /// How its last message begins, or how it ended without one.
    pub result: Option<String>,
    pub nudge_count: u64,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub last_nudge: Option<String>,
    /// The session that started it; entries of other tools do not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// All agents of the branch so far, dropped entries too. `stuck` counts those that are stuck now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "total_spawned", "completed", "failed", "stuck"
])))]
pub struct Stats {
    pub total_spawned: u64,
    pub completed: u64,
    pub failed: u64,
    pub stuck: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Where an entry has its id and its status.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outline {
    pub id: Span,
    pub status: Span,
}

#[derive(Clone, Copy)]
pub enum Key {
    Id,
    Status,
    Other,
}

impl Entry for Tracked {
    type Outline = Outline;
    type Key = Key;

    fn key(_: usize, key: &[u8]) -> Key {
        match key {
            b"id" => Key::Id,
            b"status" => Key::Status,
            _ => Key::Other,
        }
    }

    fn outline(outline: &mut Outline, field: &Field<Key>) {
        match field.key {
            Key::Id => outline.id = field.span,
            Key::Status => outline.status = field.span,
            Key::Other => {}
        }
    }
}

impl Tracked {
    pub fn is_open(&self) -> bool {
        matches!(self.status.as_str(), RUNNING | STUCK)
    }

    /// Seconds since it was started.
    pub fn age(&self, now: time::Time) -> u64 {
        time::age(&self.spawned_at, now)
    }

    pub fn new(id: &str, kind: &str, started: &str) -> Self {
        Self {
            id: id.to_owned(),
            kind: kind.to_owned(),
            spawned_at: started.to_owned(),
            spawned_epoch: time::parse(started).map_or(0, |then| then.timestamp()),
            status: RUNNING.into(),
            ..Self::default()
        }
    }

    /// It had ended, and runs again.
    pub fn restart(&mut self, started: &str) {
        let fresh = Self::new(&self.id, &self.kind, started);
        (self.spawned_at, self.spawned_epoch) = (fresh.spawned_at, fresh.spawned_epoch);
        (self.status, self.completed_at, self.result) = (fresh.status, None, None);
    }

    /// What has become certain about it.
    pub fn describe(&mut self, description: Option<&String>, background: Option<bool>) {
        self.description = description.cloned().or(self.description.take());
        self.background = background.or(self.background);
    }
}
