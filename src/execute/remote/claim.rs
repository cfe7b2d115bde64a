//! What a claim says, and what the record of an execution says: JSON in the message of a commit. Others
//! may have written it, so sizes and forms are checked before anything is believed.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::core::text::clip;
use crate::execute::document::{ClaimState, Execution, SeenClaim};
use crate::execute::graph::validate_task_id;
use crate::execute::remote::remote_name::is_ref_name;

/// The claim to merge has the place of a task of this name.
pub const MERGE: &str = "merge";
pub const VERSION: u64 = 1;
const LONGEST_NAME: usize = 100;
const LONGEST_TEXT: usize = 2000;
/// Nobody counts so far: a task is abandoned after a few.
const MOST_ATTEMPTS: u64 = 1000;
/// So long a lease may be, in seconds.
pub const LONGEST_LEASE: u64 = 30 * 24 * 60 * 60;
/// An agent may work for an hour without a command; who has a heartbeat may choose less.
pub const DEFAULT_LEASE: u64 = 2 * 60 * 60;

/// A claim on a task, or on the merge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimRecord {
    pub version: u64,
    pub execution: String,
    pub task: String,
    pub state: ClaimState,
    pub attempts: u64,
    pub host: String,
    pub user: String,
    pub clone_id: String,
    /// Of this push alone.
    pub epoch: String,
    /// By the clock of who made it, like the end of its lease: for people.
    pub at: String,
    pub lease_end: String,
    pub lease_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Why the attempt failed, and what the next one should do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// What all clones agree on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecutionRecord {
    pub version: u64,
    pub execution: String,
    pub slug: String,
    pub base_branch: String,
    pub base_commit: String,
    pub lease_seconds: u64,
    pub host: String,
    pub user: String,
    pub at: String,
    pub tasks: Vec<PlannedRecord>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedRecord {
    pub id: String,
    pub layer: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Of its text; older records have none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

impl ClaimRecord {
    /// The message of its commit.
    pub fn message(&self) -> String {
        let subject =
            format!("hookkeeper: {} {} by {}", self.task, state_name(self.state), self.host);
        message(&clip(&subject, 150), self)
    }

    /// As a clone notes it that sees it at this commit.
    pub fn seen(&self, commit: &str, own_clone: &str, seen_at: &str) -> SeenClaim {
        SeenClaim {
            commit: commit.to_owned(),
            state: self.state,
            own: !self.clone_id.is_empty() && self.clone_id == own_clone,
            host: self.host.clone(),
            user: self.user.clone(),
            attempts: self.attempts,
            at: self.at.clone(),
            lease_seconds: self.lease_seconds,
            head: self.head.clone(),
            seen_at: seen_at.to_owned(),
            ..SeenClaim::default()
        }
    }
}

impl ExecutionRecord {
    pub fn message(&self) -> String {
        message(&clip(&format!("hookkeeper: execution {}", self.execution), 150), self)
    }

    /// The tasks of a state, as all clones have to have them, with the digests of their texts.
    pub fn plan_of(state: &Execution, digests: &BTreeMap<String, String>) -> Vec<PlannedRecord> {
        let planned = state.tasks.iter().map(|(id, task)| {
            let mut needs = task.depends_on.clone();
            needs.sort();
            PlannedRecord {
                id: id.clone(),
                layer: task.layer.clone().unwrap_or_default(),
                needs,
                digest: digests.get(id).cloned().unwrap_or_default(),
            }
        });
        planned.collect()
    }
}

impl PlannedRecord {
    /// Whether both are the same task of a plan, whatever its text says.
    pub fn has_place_of(&self, other: &Self) -> bool {
        (&self.id, &self.layer, &self.needs) == (&other.id, &other.layer, &other.needs)
    }

    /// Whether the texts differ, as far as both are known.
    pub fn has_other_text(&self, other: &Self) -> bool {
        !self.digest.is_empty() && !other.digest.is_empty() && self.digest != other.digest
    }
}

/// The claim in a commit; one that nobody can read holds what it is on, for somebody unknown.
pub fn parse_claim(commit: &[u8], execution: &str, task: &str) -> ClaimRecord {
    let parsed: Option<ClaimRecord> = parse_message(commit);
    let unknown = || ClaimRecord { host: "somebody".into(), ..ClaimRecord::default() };
    let is_it = |claim: &ClaimRecord| {
        claim.version == VERSION && claim.execution == execution && claim.task == task
    };
    let mut claim = parsed.filter(is_it).unwrap_or_else(unknown);
    let ClaimRecord { host, user, clone_id, epoch, at, lease_end, .. } = &mut claim;
    for text in [host, user, clone_id, epoch, at, lease_end] {
        *text = clip(text, LONGEST_NAME);
    }
    claim.attempts = claim.attempts.min(MOST_ATTEMPTS);
    let text = |text: Option<String>| text.map(|text| clip(&text, LONGEST_TEXT));
    (claim.error, claim.feedback) = (text(claim.error), text(claim.feedback));
    claim.head = claim.head.filter(|head| is_object_id(head));
    claim.lease_seconds = match claim.lease_seconds {
        0 => DEFAULT_LEASE,
        seconds => seconds.min(LONGEST_LEASE),
    };
    claim
}

/// A claim of whatever task of an execution, if it can be read.
pub fn parse_past_claim(commit: &[u8], execution: &str) -> Option<ClaimRecord> {
    let task = parse_message::<ClaimRecord>(commit)?.task;
    validate_task_id(&task).ok()?;
    Some(parse_claim(commit, execution, &task)).filter(|claim| !claim.clone_id.is_empty())
}

/// The record of an execution in a commit, if it is one.
pub fn parse_execution(commit: &[u8], name: &str) -> Option<ExecutionRecord> {
    let mut record: ExecutionRecord = parse_message(commit)?;
    let ids = |record: &ExecutionRecord| {
        record.tasks.iter().all(|task| validate_task_id(&task.id).is_ok())
    };
    let is_it = record.version == VERSION && record.execution == name;
    let base = format!("refs/heads/{}", record.base_branch);
    if !is_it || !is_ref_name(&base) || !is_object_id(&record.base_commit) || !ids(&record) {
        return None;
    }
    for text in [&mut record.slug, &mut record.host, &mut record.user, &mut record.at] {
        *text = clip(text, LONGEST_NAME);
    }
    record.lease_seconds = record.lease_seconds.clamp(1, LONGEST_LEASE);
    Some(record)
}

/// The name of an execution in refs, from the name of its plan.
pub fn execution_name(slug: &str) -> Result<String, String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = slug.chars().map(plain).take(64).collect();
    let name = name.trim_matches(['-', '.']).replace("..", "-");
    match validate_task_id(&name) {
        Ok(()) => Ok(name),
        Err(_) => Err(format!("`{}` cannot be the name of a ref", clip(slug, 80))),
    }
}

pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

pub fn state_name(state: ClaimState) -> &'static str {
    match state {
        ClaimState::Held => "held",
        ClaimState::Free => "free",
        ClaimState::Failed => "failed",
        ClaimState::Verified => "verified",
        ClaimState::Merged => "merged",
    }
}

fn message(subject: &str, record: &impl Serialize) -> String {
    let json = serde_json::to_string(record).unwrap_or_default();
    format!("{subject}\n\n{json}\n")
}

/// The line of JSON in the message of a commit.
fn parse_message<T: DeserializeOwned>(commit: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(commit).ok()?;
    let (_, message) = text.split_once("\n\n")?;
    let line = message.lines().find(|line| line.starts_with('{'))?;
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_read_as_it_was_written() {
        let claim = ClaimRecord {
            version: VERSION,
            execution: "shop".into(),
            task: "L1-001".into(),
            state: ClaimState::Failed,
            attempts: 2,
            lease_seconds: 60,
            error: Some("no\n{luck}".into()),
            ..ClaimRecord::default()
        };
        let commit = format!("tree 0\nauthor x\n\n{}", claim.message());
        let read = parse_claim(commit.as_bytes(), "shop", "L1-001");
        assert_eq!(read, ClaimRecord { error: Some("no {luck}".into()), ..claim });
        let other = parse_claim(commit.as_bytes(), "shop", "L1-002");
        assert_eq!((other.state, other.host.as_str()), (ClaimState::Held, "somebody"));
        for bytes in [&b""[..], b"\xff\xfe", b"tree 0\n\n{", b"tree 0\n\n{\"version\":9}"] {
            assert_eq!(parse_claim(bytes, "shop", "x").host, "somebody");
        }
    }

    #[test]
    fn what_no_clone_would_write_is_cut() {
        let long = "x".repeat(5000);
        let claim = ClaimRecord {
            version: VERSION,
            execution: "shop".into(),
            task: "L1-001".into(),
            attempts: u64::MAX,
            host: long.clone(),
            epoch: long.clone(),
            at: long.clone(),
            lease_end: long,
            lease_seconds: u64::MAX,
            ..ClaimRecord::default()
        };
        let commit = format!("tree 0\n\n{}", claim.message());
        let read = parse_claim(commit.as_bytes(), "shop", "L1-001");
        assert_eq!((read.attempts, read.lease_seconds), (MOST_ATTEMPTS, LONGEST_LEASE));
        for text in [read.host, read.epoch, read.at, read.lease_end] {
            assert!(text.chars().count() <= LONGEST_NAME, "{text}");
        }
        let mut record = ExecutionRecord {
            version: VERSION,
            execution: "shop".into(),
            base_branch: "trunk".into(),
            base_commit: "a".repeat(40),
            ..ExecutionRecord::default()
        };
        let parse = |record: &ExecutionRecord| {
            parse_execution(format!("tree 0\n\n{}", record.message()).as_bytes(), "shop")
        };
        assert!(parse(&record).is_some());
        record.base_branch = "*".into();
        assert!(parse(&record).is_none());
    }

    #[test]
    fn names_of_executions_are_names_of_refs() {
        assert_eq!(execution_name("Web shop/2"), Ok("Web-shop-2".into()));
        assert_eq!(execution_name("..a..b.."), Ok("a-b".into()));
        assert!(execution_name("").is_err() && execution_name("äö").is_err());
        assert!(execution_name("x.lock").is_err());
    }
}
