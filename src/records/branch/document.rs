//! `.claude/branches/{branch}/state.json`: what belongs to a branch, in the seed's schema.

use serde::{Deserialize, Serialize};

use crate::branch::panels;
use crate::branch::saved::{Execution, Handoff};
use crate::client::plan_file::PlanFile;
use crate::core::ending::Ending;
use crate::core::id::BranchKey;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;
use crate::session::workflow::Workflow;
use crate::state::panel::StatusPart;
use crate::state::{Doc, Row, Trouble, document};

/// The state of a branch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["branch"])))]
pub struct BranchState {
    /// The branch's real name; its folder has another one.
    pub branch: String,
    /// The session that `workflow` and `execution` are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub compacted_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Workflow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanFile>,
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub the_loop: Option<BranchLoop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A prompt that is given again until a promise is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "active", "iteration", "maxIterations", "completionPromise", "prompt", "startedAt"
])))]
pub struct BranchLoop {
    pub active: bool,
    pub iteration: u64,
    pub max_iterations: u64,
    pub completion_promise: String,
    pub prompt: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub started_at: String,
    /// The session that drives it; without one the only live session adopts it.
    #[serde(rename = "session_id", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(rename = "max_minutes", skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    #[serde(flatten)]
    pub ending: Ending,
    #[serde(flatten)]
    pub extra: Extra,
}

impl BranchState {
    /// The loop, if it is not over.
    pub fn running(&self) -> Option<&BranchLoop> {
        self.the_loop.as_ref().filter(|the_loop| the_loop.is_running())
    }
}

impl BranchLoop {
    pub fn is_running(&self) -> bool {
        self.active && self.ending.verdict.is_none()
    }
}

document!(BranchState by BranchKey, Row {
    name: "branch-state",
    path: "branches/{branch}/state.json",
    schema: "branch-state",
    title: "Branch state",
    about: "what belongs to a branch",
    trouble: Trouble::PlantedIsLeftOut,
    status: Some(StatusPart { place: 70, read: panels::loops }),
    ..Row::SHARED
}, |row, key| Doc::new(row, key.as_str()));
