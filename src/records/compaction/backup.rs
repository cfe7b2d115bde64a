//! `compaction/backup_{stamp}.json`: what must survive a compaction, in the seed's schema.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compaction::panel;
use crate::core::id::sha256_hex;
use crate::core::json::Object;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;
use crate::state::panel::StatusPart;
use crate::state::{Bytes, Doc, Document, Row, State, document};

/// Backups of all sessions together.
pub const IN_ALL: usize = 30;

/// What must survive a compaction, as it was just before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "timestamp", "reason", "preserved", "context_tokens_before", "files_in_context"
])))]
pub struct Backup {
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub timestamp: String,
    /// `context_limit_approaching`, `manual`, or `manual: TEXT`.
    pub reason: String,
    pub preserved: Preserved,
    pub context_tokens_before: Option<u64>,
    pub files_in_context: Vec<String>,
    pub session_id: String,
    /// SHA-256 over all of the above but times and token counts.
    pub checksum: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Whole snapshots; `null` for what there was none of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "loop_state", "work_queue", "active_agents", "session"
])))]
pub struct Preserved {
    pub loop_state: Value,
    pub work_queue: Value,
    pub active_agents: Value,
    pub session: Value,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Backup {
    /// The digest that tells whether a second snapshot would say anything new.
    pub fn checksum(&self) -> String {
        let mut timeless = self.clone();
        timeless.timestamp.clear();
        timeless.checksum.clear();
        timeless.context_tokens_before = None;
        forget_times(&mut timeless.preserved.session);
        forget_times(&mut timeless.preserved.active_agents);
        sha256_hex(&serde_json::to_vec(&timeless).unwrap_or_default())
    }
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("last_seen");
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

/// A backup as the clean-up sees it: its file and whose it is, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub file: String,
    pub session_id: String,
}

/// Which files have to go so that `per_session` of each session and [`IN_ALL`] in all stay.
pub fn too_many(kept: &[Kept], per_session: usize) -> Vec<String> {
    let mut stay: Vec<&Kept> = Vec::new();
    for backup in kept.iter().rev() {
        let own = stay.iter().filter(|other| other.session_id == backup.session_id).count();
        if own < per_session && stay.len() < IN_ALL {
            stay.push(backup);
        }
    }
    kept.iter().filter(|backup| !stay.contains(backup)).map(|b| b.file.clone()).collect()
}

document!(Backup by str, Row {
    name: "backup",
    is_on: |systems| systems.compaction,
    path: "state/compaction/backup_{time}.json",
    schema: "backup",
    title: "Compaction backup",
    about: "what must survive a compaction",
    status: Some(StatusPart { place: 110, read: panel::section }),
    ..Row::DURABLE
}, |row, file| Doc::new(row, file.trim_start_matches("backup_").trim_end_matches(".json")));

/// Whose a backup is, read without the rest.
#[derive(PartialEq)]
pub struct BackupOwner(pub String);

impl Document for BackupOwner {
    const ROWS: &'static [&'static Row] = Backup::ROWS;
    type Key = str;

    fn doc(file: &str) -> Doc {
        Backup::doc(file)
    }

    fn parse(_: &Doc, bytes: &Bytes) -> Result<Self, String> {
        let backup = Object::parse(bytes).map_err(|error| error.to_string())?;
        Ok(Self(backup.text("session_id").unwrap_or_default()))
    }

    /// Nothing, which the store refuses to write: it is a part of a document.
    fn to_bytes(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// All backups, oldest first, with their owners.
pub fn kept_backups(state: &State) -> Vec<Kept> {
    let docs = Backup::ROWS.first().map(|row| state.list(row)).unwrap_or_default();
    let kept = docs.iter().filter_map(|doc| {
        let session_id = state.read_listed::<BackupOwner>(doc.clone()).value?.0.clone();
        Some(Kept { file: doc.place().1, session_id })
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_each_and_thirty_in_all_stay() {
        let kept: Vec<Kept> = (0..80)
            .map(|n| Kept { file: format!("{n:02}"), session_id: format!("s{}", n / 4) })
            .collect();
        let gone = too_many(&kept, 3);
        assert_eq!(kept.len() - gone.len(), 30);
        assert!(gone.contains(&"76".to_owned()), "the oldest of the last session's four");
        assert!(!gone.contains(&"79".to_owned()));
    }

    #[test]
    fn times_do_not_count_as_a_difference() {
        let mut backup = Backup { reason: "manual".into(), ..Backup::default() };
        backup.preserved.session = serde_json::json!({"task": "t", "last_seen": "1"});
        let first = backup.checksum();
        backup.timestamp = "later".into();
        backup.context_tokens_before = Some(1);
        backup.preserved.session = serde_json::json!({"task": "t", "last_seen": "2"});
        assert_eq!(backup.checksum(), first);
        backup.preserved.session = serde_json::json!({"task": "u"});
        assert_ne!(backup.checksum(), first);
    }
}
