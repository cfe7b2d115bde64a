//! `loop/autonomous.json`: the autonomous loop as we saw it last. Models write the loop's own file.
//! What is here holds against it, for commands and at Stop, through all sessions until another loop
//! is started.

use serde::{Deserialize, Serialize};

use crate::client::transcript::spent::Spent;
use crate::core::text::{Extra, is_zero};
use crate::loops::autonomous::document::{Autonomous, Receipt};
use crate::state::{Row, document};

/// What is remembered of the autonomous loop's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["feature", "started_at", "phase"])))]
pub struct Watched {
    // Which loop it is.
    pub feature: String,
    pub started_at: String,
    pub session_id: Option<String>,
    pub phase: String,
    pub phase_iteration: u64,
    pub global_iteration: u64,
    pub fix_review_cycles: u64,
    /// The smaller limits hold.
    pub max_iterations: u64,
    pub max_phase_iterations: u64,
    pub max_fix_cycles: u64,
    pub max_minutes: Option<u64>,
    /// How many receipts there were when the phase began: it needs a newer one.
    pub receipts: u64,
    /// How many phases were completed.
    pub completed: u64,
    /// Phases that need no receipt: they were forced.
    pub excused: Vec<String>,
    /// A person has to approve the acceptance tests.
    pub gate: bool,
    pub approved: bool,
    /// That is waited for.
    pub awaiting: bool,
    /// The phase was left without a receipt before, and taken back.
    pub sent_back: bool,
    /// The commit that was checked out when the phase began, or the one of the receipt that ended the
    /// phase before, and when that was: a receipt's commit is newer.
    pub head: Option<String>,
    pub began: String,
    /// The receipts that git confirmed. They hold, whatever becomes of those in the file.
    pub proven: Vec<Receipt>,
    /// The P1 findings or failing tests of the last report that nobody has mended yet.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Findings are open and no round is left: the loop ends, or a person says ship.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub out_of_rounds: bool,
    /// The smaller one holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_limit_usd: Option<f64>,
    pub spent: Spent,
    /// The file as we left it, for one that is lost, with what models wrote into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "testing",
        schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")
    )]
    pub copy: Option<Box<Autonomous>>,
    /// How it ended, as far as that was our doing.
    pub verdict: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Watched {
    /// Whether this is about the loop in the file. A model that writes the file anew may get one of
    /// both wrong.
    pub fn is_of(&self, state: &Autonomous) -> bool {
        self.started_at == state.started_at || self.feature == state.feature
    }
}

document!(
    Watched,
    Row {
        name: "autonomous-watch",
        is_on: |systems| systems.autonomous,
        path: "state/loop/autonomous.json",
        schema: "autonomous-watch",
        title: "Autonomous loop as last seen",
        about: "the same, as we saw it last",
        ..Row::EPHEMERAL
    }
);
