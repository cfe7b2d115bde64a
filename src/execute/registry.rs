//! `executions.json`: where the executions of this project keep their state, so that a hook finds them
//! with one small read, and which agents were seen at their tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::execute::panel;
use crate::state::panel::StatusPart;
use crate::state::{Row, document};

pub const VERSION: u64 = 1;
const KEPT: usize = 10;
const AGENTS: usize = 200;

/// Where the executions of this project keep their state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["version", "executions"])))]
pub struct Executions {
    pub version: u64,
    /// The one that was begun last comes last.
    pub executions: Vec<Known>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["tasks_path", "worktree_dir", "begun"])))]
pub struct Known {
    pub tasks_path: String,
    pub worktree_dir: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
    pub begun: String,
    /// The agent that was seen at a task last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Seen>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["agent_id", "session_id"])))]
pub struct Seen {
    pub agent_id: String,
    pub session_id: String,
    /// When it stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_null"))]
    pub stopped: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for Executions {
    fn default() -> Self {
        Self { version: VERSION, executions: Vec::new(), extra: Extra::new() }
    }
}

impl Executions {
    /// Enters an execution that was begun; an older one in the same place is forgotten.
    pub fn begin(&mut self, tasks_path: &str, worktree_dir: &str, now: &str) {
        self.forget(tasks_path);
        self.executions.push(Known {
            tasks_path: tasks_path.to_owned(),
            worktree_dir: worktree_dir.to_owned(),
            begun: now.to_owned(),
            ..Known::default()
        });
        keep_newest(&mut self.executions, KEPT);
    }

    pub fn forget(&mut self, tasks_path: &str) {
        self.executions.retain(|known| known.tasks_path != tasks_path);
    }
}

impl Known {
    /// Notes that an agent works on a task; whether that is new.
    pub fn note_agent(&mut self, task: &str, agent_id: &str, session_id: &str) -> bool {
        let seen = Seen {
            agent_id: agent_id.to_owned(),
            session_id: session_id.to_owned(),
            ..Seen::default()
        };
        if self.agents.get(task) == Some(&seen) {
            return false;
        }
        if !self.agents.contains_key(task) && self.agents.len() >= AGENTS && !self.forget_one() {
            return false;
        }
        self.agents.insert(task.to_owned(), seen);
        true
    }

    /// Makes room by the agent that stopped first.
    fn forget_one(&mut self) -> bool {
        let stopped =
            self.agents.iter().filter_map(|(task, seen)| Some((seen.stopped.as_ref()?, task)));
        let first = stopped.min().map(|(_, task)| task.clone());
        first.is_some_and(|task| self.agents.remove(&task).is_some())
    }
}

document!(
    Executions,
    Row {
        name: "executions",
        is_on: |systems| systems.execute,
        path: "state/executions.json",
        schema: "executions",
        title: "Executions of a project",
        about: "where the executions of a project are",
        status: Some(StatusPart { place: 90, read: panel::section }),
        ..Row::EPHEMERAL
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_room_for_who_works_now() {
        let mut known = Known::default();
        for n in 0..AGENTS {
            assert!(known.note_agent(&format!("t{n}"), "a", "s"));
        }
        assert!(!known.note_agent("new", "a", "s"), "all of them work");
        assert!(known.note_agent("t0", "b", "s"), "another agent at the same task");
        for (task, at) in [("t7", "2026-01-29T10:30:00Z"), ("t5", "2026-01-29T10:20:00Z")] {
            known.agents.get_mut(task).unwrap().stopped = Some(at.into());
        }
        assert!(known.note_agent("new", "a", "s"));
        assert!(!known.agents.contains_key("t5") && known.agents.contains_key("t7"));
        assert_eq!(known.agents.len(), AGENTS);
    }
}
