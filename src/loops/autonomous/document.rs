//! `.claude/autonomous-loop.json`: a feature on its way through the phases, in the seed's schema
//! (version 2), with the session that drives it and how it ended.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::core::ending::Ending;
use crate::core::json::Object;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::loops::autonomous::panel;
use crate::state::panel::StatusPart;
use crate::state::{Row, document};

pub const VERSION: u64 = 2;
pub const PROMISE: &str = "SHIPPED";
pub const MAX_ITERATIONS: u64 = 50;
pub const MAX_PHASE_ITERATIONS: u64 = 10;
pub const MAX_FIX_CYCLES: u64 = 3;
pub const BUDGET_USD: u64 = 20;
const ENTRIES: usize = 500;

/// A feature on its way through the phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
// What has a default in the specification may be missing.
#[cfg_attr(feature = "testing", schemars(extend("required" = ["feature", "phase", "started_at", "last_updated"])))]
pub struct Autonomous {
    // The seed's schema, in its order.
    pub version: u64,
    pub feature: String,
    pub phase: String,
    pub phase_iteration: u64,
    pub global_iteration: u64,
    pub max_iterations: u64,
    pub max_phase_iterations: u64,
    /// Completed rounds of fix and re_review.
    pub fix_review_cycles: u64,
    pub max_fix_cycles: u64,
    pub phases_completed: Vec<String>,
    pub artifacts: Artifacts,
    pub receipts: Vec<Receipt>,
    pub checkpoints: Vec<Checkpoint>,
    pub errors: Vec<Mishap>,
    #[cfg_attr(feature = "testing", schemars(with = "f64"))]
    pub budget_limit_usd: Number,
    pub completion_promise: String,
    pub skip_brainstorm: bool,
    pub skip_test_review: bool,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub started_at: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub last_updated: String,
    // Ours.
    /// The session that drives it; without one the only live session adopts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The acceptance tests are written, and a person has to approve them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awaiting_approval: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    /// When it went on after an end: its time limit counts from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub resumed_at: Option<String>,
    #[serde(flatten)]
    pub ending: Ending,
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the phases produced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Artifacts {
    pub brainstorm_file: Option<String>,
    pub plan_file: Option<String>,
    pub acceptance_tests_file: Option<String>,
    pub progress_file: Option<String>,
    pub pr_url: Option<String>,
    pub branch: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Proof that a phase did something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["phase", "artifact", "git_sha", "timestamp"])))]
pub struct Receipt {
    pub phase: String,
    /// A path in the project, or in a phase without a document what was done. Models write this
    /// too: what is no text proves nothing, but spoils nothing else.
    #[cfg_attr(feature = "testing", schemars(with = "String"))]
    pub artifact: Value,
    #[cfg_attr(feature = "testing", schemars(with = "String"))]
    pub git_sha: Value,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub timestamp: String,
    /// P1 findings of a review, or failures of a test phase.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[cfg_attr(feature = "testing", schemars(with = "Option<u64>"))]
    pub findings: Value,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Receipt {
    pub fn findings(&self) -> Option<u64> {
        self.findings.as_u64()
    }

    /// Whether both say the same, whenever they were written.
    pub fn is(&self, other: &Self) -> bool {
        (&self.phase, self.artifact(), self.sha()) == (&other.phase, other.artifact(), other.sha())
    }

    pub fn artifact(&self) -> &str {
        self.artifact.as_str().unwrap_or_default().trim()
    }

    pub fn sha(&self) -> &str {
        self.git_sha.as_str().unwrap_or_default().trim()
    }
}

/// What a phase came to, for a model that has lost its context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["phase", "summary", "failed_approaches", "timestamp"])))]
pub struct Checkpoint {
    pub phase: String,
    pub summary: String,
    pub failed_approaches: Vec<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub timestamp: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Something that went wrong on the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["phase", "message", "iteration", "timestamp"])))]
pub struct Mishap {
    pub phase: String,
    pub message: String,
    pub iteration: u64,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub timestamp: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for Autonomous {
    fn default() -> Self {
        Self {
            version: VERSION,
            feature: String::new(),
            phase: String::new(),
            phase_iteration: 0,
            global_iteration: 0,
            max_iterations: MAX_ITERATIONS,
            max_phase_iterations: MAX_PHASE_ITERATIONS,
            fix_review_cycles: 0,
            max_fix_cycles: MAX_FIX_CYCLES,
            phases_completed: Vec::new(),
            artifacts: Artifacts::default(),
            receipts: Vec::new(),
            checkpoints: Vec::new(),
            errors: Vec::new(),
            budget_limit_usd: BUDGET_USD.into(),
            completion_promise: PROMISE.into(),
            skip_brainstorm: false,
            skip_test_review: false,
            started_at: String::new(),
            last_updated: String::new(),
            session_id: None,
            awaiting_approval: false,
            max_minutes: None,
            resumed_at: None,
            ending: Ending::default(),
            extra: Extra::new(),
        }
    }
}

impl Autonomous {
    /// Reads the file. One that belongs to another tool is an error: it has no feature and phase.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let fields = Object::parse(bytes).map_err(|error| error.to_string())?;
        if fields.text("feature").is_none() || fields.text("phase").is_none() {
            return Err("another tool's: it has no `feature` and `phase`".into());
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    pub fn is_running(&self) -> bool {
        self.ending.verdict.is_none()
    }

    /// The iteration, for people, who count from 1: the turn that starts the loop is part of the first.
    pub fn iteration(&self) -> u64 {
        self.global_iteration.max(1)
    }

    /// What its receipts name.
    pub fn documents(&self) -> Vec<&str> {
        self.receipts.iter().map(Receipt::artifact).filter(|name| !name.is_empty()).collect()
    }

    pub fn add_checkpoint(&mut self, summary: String, failed_approaches: Vec<String>, now: String) {
        self.checkpoints.push(Checkpoint {
            phase: self.phase.clone(),
            summary,
            failed_approaches,
            timestamp: now,
            extra: Extra::new(),
        });
        keep_newest(&mut self.checkpoints, ENTRIES);
    }

    pub fn add_error(&mut self, message: String, now: String) {
        self.errors.push(Mishap {
            phase: self.phase.clone(),
            message,
            iteration: self.global_iteration,
            timestamp: now,
            extra: Extra::new(),
        });
        keep_newest(&mut self.errors, ENTRIES);
    }
}

document!(Autonomous, Row {
    name: "autonomous-loop",
    is_on: |systems| systems.autonomous,
    path: "autonomous-loop.json",
    schema: "autonomous-loop",
    title: "Autonomous loop",
    about: "a feature on its way through the phases",
    version: VERSION,
    status: Some(StatusPart { place: 60, read: panel::section }),
    ..Row::SHARED
}, parse: |_, bytes| Self::parse(bytes));
