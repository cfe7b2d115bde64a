//! LOOP_STATE.md: the work queue for people, in the seed's format. It is written from the queue
//! and never read for truth.

use crate::core::text::clip;
use crate::core::time;
use crate::loops::queue::document::{Gate, Past, Queue};
use crate::loops::queue::lifecycle::EXPIRED;

const LONGEST_TITLE: usize = 200;

pub fn markdown(queue: &Queue) -> String {
    let mut out = String::from("# Loop State\n\n## Meta\n");
    let started = queue.started_at.as_deref().unwrap_or("unknown");
    out.push_str(&format!("- Started: {}\n", cell(started)));
    out.push_str(&format!("- Current Iteration: {}\n", queue.iteration));
    out.push_str(&format!("- Status: {}\n", cell(&queue.status)));
    out.push_str(&format!("- Task: \"{}\"\n", cell(queue.task.as_deref().unwrap_or(""))));
    out.push_str("\n## Quality Gates\n| Gate | Status | Last Check | Issues |\n");
    out.push_str("|------|--------|------------|--------|\n");
    for name in queue.gate_names() {
        out.push_str(&gate_line(&name, queue.gate(&name).as_ref()));
    }
    out.push_str("\n## Work Queue\n| Priority | Item | Status |\n|----------|------|--------|\n");
    // What has expired is not this loop's.
    let mut items: Vec<_> = queue.items.iter().filter(|item| item.status != EXPIRED).collect();
    items.sort_by(|a, b| a.priority.cmp(&b.priority));
    for item in items {
        let (priority, status) = (cell(&item.priority), cell(&item.status.to_uppercase()));
        out.push_str(&format!("| {priority} | {} | {status} |\n", cell(&item.title)));
    }
    out.push_str("\n## History\n");
    for past in &queue.history {
        out.push_str(&format!("- Iteration {}: {}\n", past.iteration, cell(&history(past))));
    }
    if let Some(verdict) = &queue.ending.verdict {
        let reason = queue.ending.verdict_reason.as_deref().unwrap_or("no reason given");
        out.push_str(&format!("- Ended: {}, {}\n", cell(verdict), cell(reason)));
    }
    out
}

/// Whether a file is one of these. What a person wrote in another shape is left alone.
pub fn is_ours(text: &str) -> bool {
    text.trim().is_empty() || (text.starts_with("# Loop State") && text.contains("\n## Meta"))
}

/// As the table names a gate.
pub fn label(gate: &str) -> String {
    match gate {
        "preflight" => "Pre-flight".into(),
        "lint" => "Lint".into(),
        "type" => "Type".into(),
        "test" => "Tests".into(),
        "security" => "Security".into(),
        other => {
            let mut letters = other.chars();
            let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
            first + letters.as_str()
        }
    }
}

/// The gate that the table names so.
pub fn name(label: &str) -> String {
    let known = ["preflight", "test"].into_iter().find(|name| self::label(name) == label);
    known.map_or_else(|| label.to_lowercase(), str::to_owned)
}

fn gate_line(name: &str, gate: Option<&Gate>) -> String {
    let label = cell(&label(name));
    let Some(gate) = gate else { return format!("| {label} | NOT RUN | - | - |\n") };
    // Other tools, and this page, have the time of day only.
    let short = Some(&gate.timestamp).filter(|at| (1..=8).contains(&at.chars().count()));
    let at = time::parse(&gate.timestamp).map(|at| at.format("%H:%M:%S").to_string());
    let at = at.or_else(|| short.map(|at| cell(at))).unwrap_or_else(|| "-".into());
    // One that passes has none; how many one has that fails may not be known.
    let issues = gate.issues.or(gate.is_good().then_some(0));
    let issues = issues.map_or_else(|| "-".to_owned(), |issues| issues.to_string());
    let note = gate.note.as_deref().filter(|note| note.chars().count() <= 20);
    let note = note.map(|note| format!(" ({})", cell(note))).unwrap_or_default();
    format!("| {label} | {} | {at} | {issues}{note} |\n", cell(&gate.status.to_uppercase()))
}

/// `Fixed 1 item, gates passing`
pub fn history(past: &Past) -> String {
    if let Some(said) = &past.said {
        return said.clone();
    }
    let fixed = format!("Fixed {}", crate::core::text::plural(past.fixed as usize, "item"));
    let found = match past.found {
        0 => None,
        1 => Some("1 new issue found".to_owned()),
        n => Some(format!("{n} new issues found")),
    };
    let gates = |names: &[String], how: &str| {
        (!names.is_empty()).then(|| format!("{} {how}", names.join(", ")))
    };
    let passing = past.passed.then(|| "gates passing".to_owned());
    let (failing, not_run) = (gates(&past.failing, "failing"), gates(&past.not_run, "not run"));
    let parts = [Some(fixed), found, passing, failing, not_run];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// One line, and no column of its own.
pub fn cell(text: &str) -> String {
    clip(text, LONGEST_TITLE).replace('|', "\\|")
}
