//! The findings for people, and for programs.

use serde_json::json;

use crate::core::text::plural;
use crate::doctor::Checked;
use crate::doctor::finding::Level;

const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const GREEN: &str = "\x1b[32m";
const BLUE: &str = "\x1b[34m";
const PLAIN: &str = "\x1b[0m";

pub fn render_text(checked: &[Checked], colour: bool, fixing: bool) -> String {
    let mut out = String::new();
    for item in checked {
        let finding = &item.finding;
        let (label, paint) = match finding.level {
            _ if item.fixed => ("fixed", GREEN),
            Level::Ok => ("ok", GREEN),
            Level::Note => ("note", BLUE),
            Level::Warning => ("warn", YELLOW),
            Level::Error => ("error", RED),
        };
        let label = format!("{label:<5}");
        let label = if colour { format!("{paint}{label}{PLAIN}") } else { label };
        out += &format!("{label} {} {}: {}\n", item.check.id, item.check.name, finding.message);
        if !finding.hint.is_empty() {
            out += &format!("      {}\n", finding.hint);
        }
    }
    let count = |level| checked.iter().filter(|item| item.finding.level == level).count();
    let mut counts = format!(
        "{}, {}, {}",
        plural(count(Level::Error), "error"),
        plural(count(Level::Warning), "warning"),
        plural(count(Level::Note), "note")
    );
    let fixed = checked.iter().filter(|item| item.fixed).count();
    let fixable = checked.iter().filter(|item| is_fixable(item)).count();
    if fixing {
        counts += &format!(", {fixed} fixed");
    } else if fixable > 0 {
        counts += &format!("; `hookkeeper doctor --fix` can mend {fixable}");
    }
    out + &counts
}

fn is_fixable(item: &Checked) -> bool {
    item.finding.fix.is_some()
}

pub fn render_json(checked: &[Checked]) -> String {
    let checks: Vec<_> = checked
        .iter()
        .map(|item| {
            json!({
                "id": item.check.id,
                "name": item.check.name,
                "level": item.finding.level.name(),
                "message": item.finding.message,
                "hint": item.finding.hint,
                "fixable": is_fixable(item),
                "fixed": item.fixed,
            })
        })
        .collect();
    let count = |level| checked.iter().filter(|item| item.finding.level == level).count();
    let report = json!({
        "checks": checks,
        "errors": count(Level::Error),
        "warnings": count(Level::Warning),
    });
    serde_json::to_string_pretty(&report).unwrap_or_default()
}
