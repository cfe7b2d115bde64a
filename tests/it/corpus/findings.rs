//! `tests/corpus/findings/`: last messages of agents, and the findings in them.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::corpus::score::Score;
use crate::corpus::texts;
use crate::support::{self, Scratch};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

/// `S1 | title | file | line` of what an agent with this last message has found.
fn found(report: &str) -> Vec<String> {
    let scratch = Scratch::new();
    let fields =
        json!({"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": report});
    scratch.hook(&support::event(SESSION, "SubagentStop", fields));
    let result = scratch.doc("agents/results/a1.json");
    result["findings"].as_array().unwrap().iter().map(spell).collect()
}

fn spell(finding: &Value) -> String {
    let text = |key: &str| finding[key].as_str().unwrap_or_default();
    let line = finding["line"].as_u64().map(|line| line.to_string()).unwrap_or_default();
    let row = [text("severity"), text("title"), text("file"), &line].join(" | ");
    row.trim_end().to_owned()
}

#[test]
fn reports_are_read_as_people_read_them() {
    let (mut score, mut wrong, mut reports) = (Score::default(), String::new(), 0);
    for (file, text) in texts("findings") {
        for block in text.strip_prefix("==== ").unwrap().split("\n==== ") {
            reports += 1;
            let (name, rest) = block.split_once('\n').unwrap();
            let (report, rows) = rest.split_once("---- findings").unwrap();
            let report = if name.contains("line ends") {
                report.replace('\n', "\r\n")
            } else {
                report.into()
            };
            let expected: Vec<&str> =
                rows.lines().map(str::trim_end).filter(|row| !row.is_empty()).collect();
            let found = found(&report);
            for row in &expected {
                score.add(
                    "found",
                    if found.iter().any(|got| got == row) { "found" } else { "missed" },
                );
            }
            for row in found.iter().filter(|row| !expected.contains(&row.as_str())) {
                score.add("none", "found");
                let _ = writeln!(wrong, "{file}, {name}: too much: {row}");
            }
            for row in expected.iter().filter(|row| !found.iter().any(|got| got == *row)) {
                let _ = writeln!(wrong, "{file}, {name}: missed:   {row}");
            }
        }
    }
    score.print("findings");
    assert!(reports >= 40, "{reports}");
    assert!(wrong.is_empty(), "in {reports} reports:\n{wrong}");
}

#[test]
fn nothing_makes_reading_long_or_its_result_big() {
    let mut table = "| Severity | Issue | File |\n|---|---|---|\n".to_owned();
    let mut nested = "## Critical\n".to_owned();
    for n in 0..1000 {
        let _ = writeln!(table, "| High | Problem {n} | src/f{n}.rs:{n} |");
        let _ = writeln!(nested, "{}- {n}", " ".repeat(n));
    }
    let binary: String =
        (0..200_000u32).filter_map(|n| char::from_u32(n * 7919 % 0x3000)).collect();
    let brackets = "[".repeat(300_000);
    let stars = "** ".repeat(300_000);
    let objects = "{\"findings\": [".repeat(60_000);
    let bars = "|".repeat(900_000);
    let severities = "Severity: ".repeat(90_000);
    for (name, report) in [
        ("a table", &table),
        ("nested", &nested),
        ("binary", &binary),
        ("brackets", &brackets),
        ("stars", &stars),
        ("objects", &objects),
        ("bars", &bars),
        ("severities", &severities),
    ] {
        let start = Instant::now();
        let found = found(report);
        assert!(found.len() <= 100, "{name}: {}", found.len());
        // Debug builds are slow; what is quadratic takes minutes.
        assert!(start.elapsed() < Duration::from_secs(8), "{name}: {:?}", start.elapsed());
    }
    assert_eq!(found(&table)[99], "S1 | Problem 99 | src/f99.rs | 99");
}
