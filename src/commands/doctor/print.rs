//! The findings for people, and for programs.

use serde_json::json;

use crate::core::gate::Printed;
use crate::core::table::wrapped;
use crate::core::text::plural;
use crate::doctor::Checked;
use crate::doctor::finding::Level;

/// Columns of the level and the blank behind it.
const INDENT: usize = 6;
const RED: &str = "31";
const YELLOW: &str = "33";
const GREEN: &str = "32";
const BLUE: &str = "34";

/// `local` spells a time as people read it.
pub fn render_text(
    checked: &[Checked],
    colour: bool,
    width: usize,
    fixing: bool,
    local: &dyn Fn(&str) -> String,
) -> Printed {
    let mut out = Printed::default();
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
        out.push(if colour { Printed::painted(paint, &label) } else { label.into() });
        let message = match finding.time.as_deref().filter(|time| !time.is_empty()) {
            Some(time) => finding.message.replacen(time, &local(time), 1),
            None => finding.message.clone(),
        };
        let says = format!("{} {}: {message}", item.check.id, item.check.name);
        for (at, line) in wrapped(&says, width, INDENT).iter().enumerate() {
            out.push(" ".repeat(if at == 0 { 1 } else { INDENT }));
            out.line(line);
        }
        for line in wrapped(&finding.hint, width, INDENT) {
            if !line.is_empty() {
                out.push(" ".repeat(INDENT));
                out.line(line);
            }
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
    out.push(counts);
    out
}

fn is_fixable(item: &Checked) -> bool {
    item.finding.fix.is_some()
}

pub fn render_json(checked: &[Checked]) -> Printed {
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
    Printed::json(&report).unwrap_or_default()
}
