//! `loop/work_queue.json`: prioritised work items, in the seed's schema. Without a loop it only
//! collects (`status` is `none`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Extra;

pub const VERSION: u64 = 1;
const ITEMS: usize = 500;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    pub version: u64,
    pub task: Option<String>,
    pub iteration: u64,
    pub consecutive_passes: u64,
    pub items: Vec<Item>,
    pub gate_results: Extra,
    pub status: String,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Item {
    pub id: String,
    pub priority: String,
    pub title: String,
    pub description: String,
    pub status: String,
    pub added_iteration: u64,
    pub completed_iteration: Option<u64>,
    /// What it came from; one source gives one item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The call that a success of makes it done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Work items of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    pub added: u64,
    pub done: u64,
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
            extra: Extra::new(),
        }
    }
}

impl Item {
    pub fn is_open(&self) -> bool {
        self.status != "done"
    }
}

impl Queue {
    /// Adds an item unless an open one has the same source. Ids count up and are never used again.
    pub fn add(&mut self, mut item: Item) -> bool {
        let known = |have: &Item| have.is_open() && have.source == item.source;
        if item.source.is_some() && self.items.iter().any(known) {
            return false;
        }
        item.id = format!("work-{:03}", self.last_number() + 1);
        item.status = "pending".into();
        item.added_iteration = self.iteration;
        self.items.push(item);
        while self.items.len() > ITEMS {
            let at = self.items.iter().position(|item| !item.is_open()).unwrap_or(0);
            self.items.remove(at);
        }
        true
    }

    /// Open items, most urgent first, then by age.
    pub fn open(&self) -> Vec<&Item> {
        let mut open: Vec<&Item> = self.items.iter().filter(|item| item.is_open()).collect();
        open.sort_by(|a, b| a.priority.cmp(&b.priority));
        open
    }

    /// Marks a session's items done whose error, on this target, has gone.
    pub fn finish(&mut self, session_id: &str, target: &str) -> bool {
        let iteration = self.iteration;
        let mut finished = false;
        for item in self.items.iter_mut().filter(|item| item.is_open()) {
            if item.session_id.as_deref() == Some(session_id)
                && item.target.as_deref() == Some(target)
            {
                item.status = "done".into();
                item.completed_iteration = Some(iteration);
                finished = true;
            }
        }
        finished
    }

    /// What a session put in here, and how much of it is done.
    pub fn of(&self, session_id: &str) -> Work {
        let own = self.items.iter().filter(|item| item.session_id.as_deref() == Some(session_id));
        let (mut added, mut done) = (0, 0);
        own.for_each(|item| {
            added += 1;
            done += u64::from(!item.is_open());
        });
        Work { added, done }
    }

    /// Whether a loop is behind this queue that has not ended.
    pub fn is_running(&self) -> bool {
        self.status != "none" && self.extra.get("verdict").is_none_or(Value::is_null)
    }

    fn last_number(&self) -> u64 {
        let number = |item: &Item| item.id.strip_prefix("work-")?.parse().ok();
        self.items.iter().filter_map(number).max().unwrap_or(0)
    }
}

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
