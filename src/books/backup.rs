//! `compaction/backup_{stamp}.json`: what must survive a compaction, in the seed's schema.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Extra;
use crate::id::sha256_hex;

/// Backups of all sessions together.
pub const IN_ALL: usize = 30;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backup {
    pub timestamp: String,
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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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

/// A backup and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub file: String,
    pub session_id: String,
}

/// Which files have to go, so that `per_session` of a session's own and [`IN_ALL`] in all stay. Both
/// lists are oldest first; `own` is shortened.
pub fn too_many(mut all: Vec<String>, own: &mut Vec<String>, per_session: usize) -> Vec<String> {
    let mut gone: Vec<String> = own.drain(..own.len().saturating_sub(per_session)).collect();
    all.retain(|file| !gone.contains(file));
    gone.extend(all.drain(..all.len().saturating_sub(IN_ALL)));
    own.retain(|file| !gone.contains(file));
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_a_session_and_thirty_in_all_stay() {
        let names = |range: std::ops::Range<u32>| range.map(|n| format!("{n:02}")).collect();
        let mut own: Vec<String> = names(36..40);
        let gone = too_many(names(0..40), &mut own, 3);
        assert_eq!(gone.len(), 10);
        assert!(gone.contains(&"36".to_owned()), "the oldest of its own four");
        assert!(gone.contains(&"00".to_owned()) && !gone.contains(&"09".to_owned()));
        assert_eq!(own, ["37", "38", "39"]);
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
