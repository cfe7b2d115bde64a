//! `.claude/iterative/{slug}/`: a task that is worked on in units, each of them worked on,
//! confirmed and verified. `progress.md` is primary for what happened, `state.json` is what follows
//! from it; what a unit is about comes from the plan (`tasks.md`, `plan.md`). There is one file
//! here for each document; [`task_documents`] holds them together.

pub mod brief;
pub mod by_hand;
pub mod context;
pub mod differences;
pub mod guardrails;
pub mod lifecycle;
pub mod mark;
pub mod needs;
pub mod plan;
pub mod planned;
pub mod progress;
pub mod rebuild;
pub mod step;
pub mod task_documents;
pub mod unit;
pub mod units;

use serde::{Deserialize, Serialize};

use crate::core::ending::Ending;
use crate::core::id::TaskSlug;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::loops::iterative::panel;
use crate::state::panel::StatusPart;
use crate::state::{Doc, Format, Row, Trouble, document, text_document};
use lifecycle::Status;
pub use unit::Unit;
pub use units::Units;

pub const PHASES: [&str; 6] = ["discover", "plan", "execute", "verify", "deliver", "complete"];
/// All units are closed, and the whole is reviewed.
pub const VERIFY: &str = "verify";
/// The review has passed.
pub const DELIVER: &str = "deliver";
pub const DEVELOPMENT: &str = "development";
pub const KNOWLEDGE: &str = "knowledge";
pub const MAX_ITERATIONS: u64 = 5;
/// Commits that are listed; older ones are in git.
pub const COMMITS: usize = 200;

/// The state of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "task", "slug", "mode", "created", "updated", "phase"
])))]
pub struct Task {
    /// What it is called.
    pub task: String,
    /// Its folder.
    pub slug: String,
    #[cfg_attr(feature = "testing", schemars(extend("enum" = [DEVELOPMENT, KNOWLEDGE])))]
    pub mode: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub created: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub updated: String,
    #[cfg_attr(feature = "testing", schemars(extend("enum" = PHASES)))]
    pub phase: String,
    /// The unit at work (development).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_task: Option<String>,
    /// The unit at work (knowledge).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_phase: Option<String>,
    pub current_iteration: u64,
    /// The units (development).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "testing",
        schemars(with = "Option<std::collections::BTreeMap<String, Unit>>")
    )]
    pub tasks: Option<Units>,
    /// The units (knowledge).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "testing",
        schemars(with = "Option<std::collections::BTreeMap<String, Unit>>")
    )]
    pub phases: Option<Units>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// The session that drives it; without one the only live session adopts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(flatten)]
    pub ending: Ending,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Task {
    pub fn is_knowledge(&self) -> bool {
        self.mode == KNOWLEDGE
    }

    /// Whether it is a document of ours at all.
    pub fn is_known(&self) -> bool {
        matches!(self.mode.as_str(), DEVELOPMENT | KNOWLEDGE)
    }

    /// Whether it is still to be driven.
    pub fn is_open(&self) -> bool {
        self.is_known() && self.ending.verdict.is_none() && self.phase != "complete"
    }

    /// What a unit is called in this mode.
    pub fn unit_word(&self) -> &'static str {
        if self.is_knowledge() { "phase" } else { "task" }
    }

    /// What its first unit is called.
    pub fn first_unit(&self) -> &'static str {
        if self.is_knowledge() { "R1" } else { "T1" }
    }

    /// The text that says what the units are about.
    pub fn plan_part(&self) -> Part {
        if self.is_knowledge() { Part::Plan } else { Part::Tasks }
    }

    /// The file of that text.
    pub fn plan_file(&self) -> &'static str {
        self.plan_part().file_name()
    }

    pub fn units(&self) -> &Units {
        static NONE: Units = Units(Vec::new());
        let units = if self.is_knowledge() { &self.phases } else { &self.tasks };
        units.as_ref().unwrap_or(&NONE)
    }

    pub fn units_mut(&mut self) -> &mut Units {
        let units = if self.is_knowledge() { &mut self.phases } else { &mut self.tasks };
        units.get_or_insert_default()
    }

    pub fn unit(&self, id: &str) -> Option<&Unit> {
        self.units().get(id)
    }

    /// The unit at work.
    pub fn current(&self) -> Option<&str> {
        let current = if self.is_knowledge() { &self.current_phase } else { &self.current_task };
        current.as_deref()
    }

    /// The next unit that can be worked on: the first one whose needs are closed.
    pub fn workable(&self) -> Option<&str> {
        let mut units = self.units().iter();
        units.find(|(_, unit)| unit.is(Status::Pending)).map(|(id, _)| id.as_str())
    }

    /// How many units are done, and how many there are.
    pub fn done(&self) -> (usize, usize) {
        let done = self.units().iter().filter(|(_, unit)| unit.is(Status::Done)).count();
        (done, self.units().iter().count())
    }

    /// Whether there are units, and nothing is left to do in any of them.
    pub fn all_closed(&self) -> bool {
        let mut units = self.units().iter().peekable();
        units.peek().is_some() && units.all(|(_, unit)| unit.is_closed())
    }

    /// Adds what git has. What is recorded stays: it may be on another branch now.
    pub fn add_commits(&mut self, found: Vec<String>) {
        fn hash(commit: &str) -> &str {
            commit.split(':').next().unwrap_or(commit).trim()
        }
        let is = |one: &str, other: &str| one.starts_with(other) || other.starts_with(one);
        for commit in found {
            if !self.commits.iter().any(|have| is(hash(have), hash(&commit))) {
                self.commits.push(commit);
            }
        }
        keep_newest(&mut self.commits, COMMITS);
    }

    /// In a state that others wrote, what a unit waits for may be all that is said of its needs.
    fn guess_needs(&mut self) {
        let ids: Vec<String> = self.units().iter().map(|(id, _)| id.clone()).collect();
        for (id, unit) in self.units_mut().iter_mut() {
            let named: Vec<String> = unit.waits_for().map(str::to_owned).collect();
            if unit.needs.is_empty() && named.iter().all(|need| need != id && ids.contains(need)) {
                unit.needs = named;
            }
        }
    }

    /// Everything that follows from the units: which of them wait for others, which one is at work.
    pub fn settle(&mut self) {
        let closed: Vec<String> = {
            let closed = self.units().iter().filter(|(_, unit)| unit.is_closed());
            closed.map(|(id, _)| id.clone()).collect()
        };
        for (_, unit) in self.units_mut().iter_mut() {
            unit.wait_for_needs(&closed);
        }
        let at_work = self.units().iter().find(|(_, unit)| unit.is_at_work());
        let at_work = at_work.map(|(id, unit)| (id.clone(), unit.iterations_used));
        let (id, iteration) = at_work.map_or((None, 0), |(id, n)| (Some(id), n));
        self.current_iteration = iteration;
        match self.is_knowledge() {
            true => self.current_phase = id,
            false => self.current_task = id,
        }
    }
}

document!(Task by TaskSlug, Row {
    name: "iterative",
    path: "iterative/{slug}/state.json",
    schema: "iterative",
    title: "Iterative task",
    about: "a task in units, and where it stands",
    trouble: Trouble::LeftOut,
    status: Some(StatusPart { place: 80, read: panel::section }),
    ..Row::SHARED
}, |row, slug| Doc::new(row, slug.as_str()));

/// The texts of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Brief,
    Tasks,
    Plan,
    Context,
    Progress,
    Guardrails,
}

impl Part {
    pub fn doc(self, slug: &TaskSlug) -> Doc {
        Doc::new(self.row(), slug.as_str())
    }

    /// `progress.md`
    pub fn file_name(self) -> &'static str {
        self.row().path.rsplit('/').next().unwrap_or_default()
    }

    const fn row(self) -> &'static Row {
        match self {
            Self::Brief => &BRIEF,
            Self::Tasks => &TASKS,
            Self::Plan => &PLAN,
            Self::Context => &CONTEXT,
            Self::Progress => &PROGRESS,
            Self::Guardrails => &GUARDRAILS,
        }
    }
}

const BRIEF: Row = Row {
    name: "iterative-brief",
    path: "iterative/{slug}/brief.md",
    about: "what a task is about",
    ..TEXT
};
const TASKS: Row = Row {
    name: "iterative-tasks",
    path: "iterative/{slug}/tasks.md",
    about: "the units of development",
    ..TEXT
};
const PLAN: Row = Row {
    name: "iterative-plan",
    path: "iterative/{slug}/plan.md",
    about: "the units of knowledge work",
    ..TEXT
};
const CONTEXT: Row = Row {
    name: "iterative-context",
    path: "iterative/{slug}/context.md",
    about: "what a unit has to know",
    ..TEXT
};
const PROGRESS: Row = Row {
    name: "iterative-progress",
    path: "iterative/{slug}/progress.md",
    about: "what happened",
    ..TEXT
};
const GUARDRAILS: Row = Row {
    name: "iterative-guardrails",
    path: "iterative/{slug}/guardrails.md",
    about: "what was learned",
    ..TEXT
};

const TEXT: Row =
    Row { format: Format::Text, trouble: Trouble::LeftOut, title: "Text of a task", ..Row::SHARED };

/// One of a task's texts.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskText(pub String);

text_document!(
    TaskText by (TaskSlug, Part),
    &[&BRIEF, &TASKS, &PLAN, &CONTEXT, &PROGRESS, &GUARDRAILS],
    |(slug, part)| part.doc(slug)
);
