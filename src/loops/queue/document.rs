//! `loop/work_queue.json`: prioritised work items, in the seed's schema. Without a loop it only
//! collects (`status` is `none`).

use serde::{Deserialize, Serialize};

use crate::agents::result::Finding;
use crate::core::ending::Ending;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;
use crate::loops::queue::lifecycle::DONE;
use crate::loops::queue::panel;
use crate::state::panel::StatusPart;
use crate::state::{Row, document};

pub const VERSION: u64 = 1;
const ITEMS: usize = 500;
/// Passes in a row that complete a loop.
pub const PASSES: u64 = 2;
/// The sources of items that agents found.
pub const FINDING: &str = "finding ";

/// Prioritised work items. Without a loop it only collects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["iteration", "items"])))]
pub struct Queue {
    pub version: u64,
    pub task: Option<String>,
    pub iteration: u64,
    pub consecutive_passes: u64,
    pub items: Vec<Item>,
    /// The last result of each quality gate, as the loop wrote it.
    pub gate_results: Extra,
    /// `none` without a loop; else the phase it is in, or how it ended.
    pub status: String,
    /// The session that drives the loop; a loop without one is adopted by the only live session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The gates that have to pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
    /// What each iteration came to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Past>,
    /// The highest number of an item, when items were taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_item: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    #[serde(flatten)]
    pub ending: Ending,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "id", "priority", "title", "description", "status", "added_iteration", "completed_iteration"
])))]
pub struct Item {
    pub id: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::severity"))]
    pub priority: String,
    pub title: String,
    pub description: String,
    /// `done`, `dropped`, `expired`, or what is still to be done: `pending`, `in_progress`, ….
    pub status: String,
    pub added_iteration: u64,
    pub completed_iteration: Option<u64>,
    /// What it came from; one source gives one item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The tool call whose later success makes the item done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The session that did it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// The last result of a gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gate {
    /// `pass`, `fail` or `warn`.
    pub status: String,
    pub timestamp: String,
    /// The iteration that it was recorded in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<u64>,
    /// Per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// What it was when the loop measured it first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_first: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What `run-gate` has run, and what came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_line: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Gate {
    /// A warning lets through.
    pub fn is_good(&self) -> bool {
        matches!(self.status.as_str(), "pass" | "warn")
    }
}

/// An iteration that is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Past {
    pub iteration: u64,
    pub fixed: u64,
    pub found: u64,
    pub passed: bool,
    pub failing: Vec<String>,
    /// Gates that were not run in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<String>,
    /// What another tool said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Failing gates and open items that stayed as they are, and for how many iterations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Stall {
    pub signature: String,
    pub count: u64,
    /// What the checkout held then, where that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            version: VERSION,
            task: None,
            iteration: 0,
            consecutive_passes: 0,
            items: Vec::new(),
            gate_results: Extra::new(),
            status: "none".into(),
            session_id: None,
            started_at: None,
            max_iterations: None,
            max_minutes: None,
            phase: None,
            gates: Vec::new(),
            history: Vec::new(),
            last_item: None,
            stall: None,
            ending: Ending::default(),
            extra: Extra::new(),
        }
    }
}

impl Queue {
    /// Adds an item unless an open one has the same source. Ids count up and are never used again.
    pub fn add(&mut self, mut item: Item) -> bool {
        let known = |have: &Item| have.is_open() && have.source == item.source;
        if item.source.is_some() && self.items.iter().any(known) {
            return false;
        }
        item.status = "pending".into();
        item.added_iteration = self.iteration;
        self.push(item);
        true
    }

    /// Adds an item of an earlier iteration as it is.
    pub fn take_over(&mut self, mut item: Item) {
        item.added_iteration = self.iteration.saturating_sub(1);
        item.completed_iteration = (item.status == DONE).then_some(item.added_iteration);
        self.push(item);
    }

    fn push(&mut self, mut item: Item) {
        item.id = format!("work-{:03}", self.last_number() + 1);
        self.items.push(item);
        while self.items.len() > ITEMS {
            let at = self.items.iter().position(|item| !item.is_open()).unwrap_or(0);
            self.items.remove(at);
        }
    }

    /// Adds an item for a finding, unless there is or was one.
    pub fn add_finding(&mut self, finding: &Finding, session_id: &str) -> bool {
        let file = finding.file.as_deref().unwrap_or_default();
        let source = format!("{FINDING}{file} {}", finding.title);
        if self.items.iter().any(|item| item.source.as_ref() == Some(&source)) {
            return false;
        }
        self.add(Item {
            priority: finding.severity.clone(),
            title: finding.title.clone(),
            description: finding.recommendation.clone(),
            source: Some(source),
            session_id: Some(session_id.to_owned()),
            file: finding.file.clone(),
            line: finding.line,
            ..Item::default()
        })
    }

    /// Open items, most urgent first, then by age.
    pub fn open(&self) -> Vec<&Item> {
        let mut open: Vec<&Item> = self.items.iter().filter(|item| item.is_open()).collect();
        open.sort_by(|a, b| a.priority.cmp(&b.priority));
        open
    }

    /// Whether a loop is behind this queue that has not ended.
    pub fn is_running(&self) -> bool {
        self.status != "none" && self.ending.verdict.is_none()
    }

    /// Whether the file is a loop that another tool keeps in the specification's form: nothing of
    /// ours, but a task and an iteration.
    pub fn is_foreign_loop(&self) -> bool {
        let has_task = self.task.as_deref().is_some_and(|task| !task.trim().is_empty());
        let is_ours = self.status != "none"
            || self.session_id.is_some()
            || self.started_at.is_some()
            || self.ending.verdict.is_some();
        !is_ours && has_task && self.iteration > 0
    }

    /// Whether its history tells of the passes that complete it, if it is complete.
    pub fn has_earned_its_end(&self) -> bool {
        let passed = self.history.iter().rev().take_while(|past| past.passed).count() as u64;
        !self.ending.is_complete() || passed >= PASSES
    }

    /// The gates that the loop has: those it was started with, then those that were recorded.
    pub fn gate_names(&self) -> Vec<String> {
        let mut names = self.gates.clone();
        names.extend(self.gate_results.keys().filter(|name| !self.gates.contains(name)).cloned());
        names
    }

    /// What is known of a gate. What somebody wrote in another shape has not passed.
    pub fn gate(&self, name: &str) -> Option<Gate> {
        let value = self.gate_results.get(name)?;
        Some(serde_json::from_value(value.clone()).unwrap_or_default())
    }

    /// Whether a gate has passed in this iteration.
    fn has_passed(&self, name: &str) -> bool {
        self.gate(name).is_some_and(|gate| gate.is_good() && gate.iteration == Some(self.iteration))
    }

    /// Gates that failed when they were last run.
    pub fn failing(&self) -> Vec<String> {
        let fails = |name: &String| self.gate(name).is_some_and(|gate| !gate.is_good());
        self.gate_names().into_iter().filter(fails).collect()
    }

    /// Gates that were not run in this iteration, and did not fail before it.
    pub fn not_run(&self) -> Vec<String> {
        let failing = self.failing();
        let is_open = |name: &String| !failing.contains(name) && !self.has_passed(name);
        self.gate_names().into_iter().filter(is_open).collect()
    }

    /// Whether this iteration passes: there was something to pass, and nothing is left.
    pub fn passes(&self) -> bool {
        let has_gate = !self.gate_names().is_empty();
        let has_finished = self.items.iter().any(|item| item.status == DONE);
        (has_gate || has_finished)
            && self.failing().is_empty()
            && self.not_run().is_empty()
            && self.open().is_empty()
    }

    /// The highest number that an item has or had.
    pub fn last_number(&self) -> u64 {
        let number = |item: &Item| item.id.strip_prefix("work-")?.parse().ok();
        self.items.iter().filter_map(number).chain(self.last_item).max().unwrap_or(0)
    }
}

document!(
    Queue,
    Row {
        name: "work-queue",
        is_on: |systems| systems.queue_loop,
        path: "state/loop/work_queue.json",
        schema: "work-queue",
        title: "Work queue",
        about: "prioritised work items",
        status: Some(StatusPart { place: 50, read: panel::section }),
        ..Row::SHARED
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_example_survives_and_sources_count_once() {
        let seed = r#"{"version":1,"task":"t","iteration":3,"consecutive_passes":1,"items":[{"id":
            "work-002","priority":"S2","title":"Update CHANGELOG","description":"d","status":"pending",
            "added_iteration":2,"completed_iteration":null}],"gate_results":{"lint":{"status":"pass"}},"x":1}"#;
        let mut queue: Queue = serde_json::from_str(seed).unwrap();
        assert_eq!(queue.extra["x"], 1);
        let item = || Item { source: Some("e".into()), priority: "S1".into(), ..Item::default() };
        assert!(queue.add(item()));
        assert!(!queue.add(item()));
        assert_eq!(queue.items[1].id, "work-003");
        assert_eq!(queue.items[1].added_iteration, 3);
        assert_eq!(queue.open()[0].priority, "S1");
    }
}
