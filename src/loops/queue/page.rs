//! LOOP_STATE.md, read: what it says of a loop whose queue was lost, or that another tool keeps. It is
//! the reverse of `render`, and as forgiving as a page that people and models write must be.

use crate::core::time;
use crate::loops::queue::document::{Gate, Item, Past, Queue};
use crate::loops::queue::{phase, render};
use crate::state::{Bytes, Doc, Document, Format, Row};

/// `loop/LOOP_STATE.md`: what people read of the loop; it is rendered from the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopStateText(pub String);

const LOOP_STATE: Row = Row {
    name: "loop-state",
    path: "state/loop/LOOP_STATE.md",
    title: "Loop state",
    about: "what people read of the loop",
    format: Format::Text,
    is_durable: false,
    is_on: |systems| systems.queue_loop,
    ..Row::SHARED
};

impl Document for LoopStateText {
    const ROWS: &'static [&'static Row] = &[&LOOP_STATE];
    type Key = ();

    fn doc((): &()) -> Doc {
        Doc::new(&LOOP_STATE, "")
    }

    fn parse(_: &Doc, bytes: &Bytes) -> Result<Self, String> {
        Ok(Self(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.0.clone().into_bytes()
    }
}

/// So many rows and lines of a page are read.
const ROWS: usize = 500;

/// What a page says.
#[derive(Debug, Default, PartialEq)]
pub struct Page {
    pub started: Option<String>,
    pub iteration: Option<u64>,
    pub status: Option<String>,
    pub task: Option<String>,
    /// By their labels; one without a result was not run.
    pub gates: Vec<(String, Option<Gate>)>,
    pub items: Vec<Item>,
    pub history: Vec<Past>,
}

/// The page, if it is one.
pub fn parse(text: &str) -> Option<Page> {
    if text.trim().is_empty() || !render::is_ours(text) {
        return None;
    }
    let mut page = Page::default();
    let mut section = "";
    for line in text.lines().take(ROWS * 3) {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.trim();
            continue;
        }
        match section {
            "Meta" => page.take_meta(line),
            "Quality Gates" => page.gates.extend(cells(line).and_then(gate)),
            "Work Queue" => page.items.extend(cells(line).and_then(item)),
            "History" => page.history.extend(past(line)),
            _ => {}
        }
    }
    page.gates.truncate(ROWS);
    page.items.truncate(ROWS);
    Some(page)
}

impl Page {
    fn take_meta(&mut self, line: &str) {
        let Some((name, value)) = line.strip_prefix("- ").and_then(|line| line.split_once(": "))
        else {
            return;
        };
        let value = value.trim().replace("\\|", "|");
        match name {
            "Started" => self.started = Some(value).filter(|at| time::parse(at).is_some()),
            "Current Iteration" => self.iteration = value.parse().ok(),
            "Status" => self.status = Some(value),
            "Task" => {
                let task = value.strip_prefix('"').and_then(|task| task.strip_suffix('"'));
                self.task = Some(task.unwrap_or(&value).to_owned()).filter(|task| !task.is_empty());
            }
            _ => {}
        }
    }

    /// The phase that its status is the word of.
    pub fn phase(&self) -> Option<&'static str> {
        phase::of_status(self.status.as_deref()?)
    }

    /// Puts into a queue what the page has and the queue has not. Gates are known by the names that
    /// the loop has, else by their labels.
    pub fn complete(self, queue: &mut Queue) {
        queue.task = queue.task.take().or(self.task);
        queue.started_at = queue.started_at.take().or(self.started);
        queue.iteration = queue.iteration.max(self.iteration.unwrap_or(0));
        if queue.history.is_empty() {
            queue.history = self.history;
        }
        for (label, gate) in self.gates {
            let names = queue.gate_names();
            let known = names.iter().find(|name| render::label(name) == label).cloned();
            let name = known.unwrap_or_else(|| render::name(&label));
            match gate.and_then(|gate| serde_json::to_value(gate).ok()) {
                Some(gate) if !queue.gate_results.contains_key(&name) => {
                    queue.gate_results.insert(name, gate);
                }
                None if !names.contains(&name) => queue.gates.push(name),
                _ => {}
            }
        }
        for item in self.items {
            let is_same = |have: &Item| render::cell(&have.title) == render::cell(&item.title);
            if !queue.items.iter().any(is_same) {
                queue.take_over(item);
            }
        }
    }
}

/// The cells of a row; `None` for what is no row, and for the rule below the titles.
fn cells(line: &str) -> Option<Vec<String>> {
    let row = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let row = row.replace("\\|", "\u{0}");
    let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect();
    let is_rule = cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')));
    (!is_rule).then_some(cells)
}

fn gate(cells: Vec<String>) -> Option<(String, Option<Gate>)> {
    let [label, status, at, issues] = <[String; 4]>::try_from(cells).ok()?;
    if label == "Gate" && status == "Status" {
        return None;
    }
    let status = status.to_lowercase();
    if status == "not run" {
        return Some((label, None));
    }
    let (count, note) = issues.split_once(" (").unwrap_or((&issues, ""));
    let note = note.strip_suffix(')').filter(|note| !note.is_empty());
    let gate = Gate {
        status,
        timestamp: at,
        issues: count.trim().parse().ok(),
        note: note.map(str::to_owned),
        ..Gate::default()
    };
    Some((label, Some(gate)))
}

fn item(cells: Vec<String>) -> Option<Item> {
    let [priority, title, status] = <[String; 3]>::try_from(cells).ok()?;
    if priority == "Priority" && title == "Item" {
        return None;
    }
    let is_known = matches!(priority.as_str(), "S0" | "S1" | "S2" | "S3");
    let priority = if is_known { priority } else { "S2".to_owned() };
    let status = status.to_lowercase();
    Some(Item { priority, title, status, ..Item::default() })
}

/// `- Iteration 2: Fixed 1 item, gates passing`. What is said in other words is kept as it is.
fn past(line: &str) -> Option<Past> {
    let (number, said) = line.strip_prefix("- Iteration ")?.split_once(": ")?;
    let said = said.trim().replace("\\|", "|");
    let mut past = Past { iteration: number.trim().parse().ok()?, ..Past::default() };
    let mut names: Vec<String> = Vec::new();
    for part in said.split(", ") {
        let with = |name: &str, names: &mut Vec<String>| {
            names.push(name.to_owned());
            std::mem::take(names)
        };
        if let Some(count) = part.strip_prefix("Fixed ") {
            past.fixed = first_number(count);
        } else if part.contains(" new issue") {
            past.found = first_number(part);
        } else if part == "gates passing" {
            past.passed = true;
        } else if let Some(name) = part.strip_suffix(" failing") {
            past.failing = with(name, &mut names);
        } else if let Some(name) = part.strip_suffix(" not run") {
            past.not_run = with(name, &mut names);
        } else {
            names.push(part.to_owned());
        }
    }
    if render::history(&past) != said {
        past.said = Some(said);
    }
    Some(past)
}

fn first_number(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_says_again_what_it_was_made_of() {
        let mut queue: Queue = serde_json::from_value(json!({
            "task": "Add | login", "iteration": 4, "status": "BUILDING", "phase": "BUILD",
            "started_at": "2026-01-29T10:00:00Z", "gates": ["test", "my-own"],
            "gate_results": {"lint": {"status": "fail", "timestamp": "2026-01-29T10:45:00Z", "issues": 2, "note": "S2"}},
            "history": [
                {"iteration": 1, "fixed": 0, "found": 2, "passed": false, "failing": ["lint", "test"], "not_run": ["my-own"]},
                {"iteration": 2, "fixed": 1, "found": 0, "passed": true, "failing": []},
                {"iteration": 3, "fixed": 0, "found": 1, "passed": false, "failing": [], "said": "took a | rest"}],
        }))
        .unwrap();
        for (title, status) in [("a | b", "pending"), ("c", "done"), ("d", "in_progress")] {
            let item = Item { priority: "S1".into(), title: title.into(), ..Item::default() };
            queue.add(item);
            queue.items.last_mut().unwrap().status = status.into();
        }
        let text = render::markdown(&queue);
        let page = parse(&text).unwrap();
        assert_eq!(page.phase(), Some("BUILD"));
        let mut again = Queue::default();
        page.complete(&mut again);
        again.status = "BUILDING".into();
        assert_eq!(again.gate_names(), ["test", "my-own", "lint"]);
        assert_eq!(render::markdown(&again), text);
    }

    #[test]
    fn what_is_no_page_says_nothing() {
        for text in ["", "  \n", "my own notes", "# Loop State\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        let odd = "# Loop State\n\n## Meta\n- Started: yesterday\n- Task: x\n- Status\n|||\n## Quality Gates\n| a |\n|--|--|--|--|\n## History\n- Iteration x: y\n- Iteration 2\n";
        let page = parse(odd).unwrap();
        assert_eq!((page.task.as_deref(), page.started), (Some("x"), None));
        assert!(page.gates.is_empty() && page.history.is_empty());
    }
}
