//! One unit of a task: a task (development) or a phase (knowledge).

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::is_zero;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::progress::TASK;
use crate::loops::iterative::document::{Extra, MAX_ITERATIONS};

const WAITING: &str = "Waiting on ";
const LONGEST_ID: usize = 16;
pub const ID_RULE: &str =
    "an id is a letter and then up to 15 letters, digits, `_`, `-` and `.`, such as T1";

/// Whether a unit can be called that.
pub fn is_id(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    id.starts_with(|c: char| c.is_ascii_alphabetic())
        && id.len() <= LONGEST_ID
        && id.bytes().all(plain)
        && id != TASK
}

/// Why a unit has stopped, as somebody says it. What begins as our own words for waiting would be
/// freed with the needs of the unit.
pub fn spoken_reason(why: &str) -> String {
    if why.starts_with(WAITING) { format!("Said: {why}") } else { why.to_owned() }
}

/// A unit: where it stands, and what it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["status"])))]
pub struct Unit {
    #[cfg_attr(feature = "testing", schemars(extend("enum" = [
        "pending", "in_progress", "confirming", "verifying", "done", "blocked", "timeout"
    ])))]
    pub status: String,
    /// Why it is blocked, or out of iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub iterations_used: u64,
    /// Confirmations that were begun.
    #[serde(skip_serializing_if = "is_zero")]
    pub confirmations_used: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_passed: Option<bool>,
    pub max_iterations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub completed_at: Option<String>,
    // Ours.
    /// Verifications that found gaps, since it was last unblocked.
    #[serde(skip_serializing_if = "is_zero")]
    pub verifications_failed: u64,
    /// Blocked because somebody decided to do without it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub criteria: String,
    /// Units that have to be done before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for Unit {
    fn default() -> Self {
        Self {
            status: Status::Pending.name().into(),
            reason: None,
            iterations_used: 0,
            confirmations_used: 0,
            verification_passed: None,
            max_iterations: MAX_ITERATIONS,
            completed_at: None,
            verifications_failed: 0,
            skipped: false,
            title: String::new(),
            criteria: String::new(),
            needs: Vec::new(),
            files: Vec::new(),
            output: String::new(),
            model: String::new(),
            extra: Extra::new(),
        }
    }
}

impl Unit {
    /// `None`: a word that nobody knows.
    pub fn status(&self) -> Option<Status> {
        Status::named(&self.status)
    }

    pub fn is(&self, status: Status) -> bool {
        self.status() == Some(status)
    }

    pub fn is_at_work(&self) -> bool {
        self.status().is_some_and(Status::is_at_work)
    }

    /// Done, or somebody decided to do without it.
    pub fn is_closed(&self) -> bool {
        self.is(Status::Done) || (self.is(Status::Blocked) && self.skipped)
    }

    /// Blocked by nothing but its needs, so that their end is enough to go on.
    pub fn is_waiting(&self) -> bool {
        let is_need = |id: &str| self.needs.iter().any(|need| need == id);
        !self.skipped && self.waits_for().next().is_some() && self.waits_for().all(is_need)
    }

    /// What its reason says that it waits for.
    pub fn waits_for(&self) -> impl Iterator<Item = &str> {
        let reason = self.reason.as_deref().filter(|_| self.is(Status::Blocked));
        let named = reason.and_then(|reason| reason.strip_prefix(WAITING));
        named.into_iter().flat_map(|named| named.split(", "))
    }

    /// Its status as the lifecycle sees it: one that only waits for others has not begun.
    pub fn stands(&self) -> Option<Status> {
        if self.is_waiting() { Some(Status::Pending) } else { self.status() }
    }

    /// The files that it has to make. What is no path, but words about it, names none.
    pub fn output_paths(&self) -> Vec<&str> {
        let parts = self.output.split(',').map(|part| part.trim().trim_matches('`'));
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let is_path = |part: &&str| !part.contains(char::is_whitespace);
        if parts.iter().all(is_path) { parts } else { Vec::new() }
    }

    /// Blocks it while units that it needs are open, and frees it when they are not.
    pub fn wait_for_needs(&mut self, closed: &[String]) {
        if !self.is(Status::Pending) && !self.is_waiting() {
            return;
        }
        let open = self.needs.iter().filter(|need| !closed.contains(need));
        let open: Vec<&str> = open.map(String::as_str).collect();
        let (status, reason) = match open.as_slice() {
            [] => (Status::Pending, None),
            open => (Status::Blocked, Some(format!("{WAITING}{}", open.join(", ")))),
        };
        self.status = status.name().into();
        self.reason = reason;
    }

    /// The unit as it was before anything was done.
    pub fn untouched(&self) -> Self {
        Self {
            max_iterations: self.max_iterations,
            title: self.title.clone(),
            criteria: self.criteria.clone(),
            needs: self.needs.clone(),
            files: self.files.clone(),
            output: self.output.clone(),
            model: self.model.clone(),
            extra: self.extra.clone(),
            ..Self::default()
        }
    }

    /// Takes over where another one stands.
    pub fn stand_like(&mut self, other: &Self) {
        self.status.clone_from(&other.status);
        self.reason.clone_from(&other.reason);
        self.iterations_used = other.iterations_used;
        self.confirmations_used = other.confirmations_used;
        self.verification_passed = other.verification_passed;
        self.completed_at.clone_from(&other.completed_at);
        self.verifications_failed = other.verifications_failed;
        self.skipped = other.skipped;
    }

    /// Takes over what it is about, where nothing is said here.
    pub fn learn_from(&mut self, other: &Self) {
        if self.title.is_empty() && self.criteria.is_empty() && self.needs.is_empty() {
            let known = self.clone();
            *self = Self { max_iterations: known.max_iterations, ..other.untouched() };
            self.stand_like(&known);
            self.extra = known.extra;
        }
    }
}
