//! Pictures of a made-up state, compared with the ones in `snapshots/`. `UPDATE_CASES=1` writes them.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::console::canvas::{Canvas, Cell, Colour, Style};
use crate::core::gate::Printed;
use crate::core::journal::Entry;
use crate::core::settings::Settings;
use crate::core::time;
use crate::state::map::Files;
use crate::state::panel::{Detail, Panel, PanelContext};
use crate::view::controls::Controls;
use crate::view::overview::{Observed, Overview};
use crate::view::picture::{Scene, draw};
use crate::view::{board, detail, notes};

fn files() -> Files {
    let agent = |id: &str, kind: &str, task: Option<&str>, started: &str, seen: &str| json!({"id": id, "type": kind, "task": task, "started": started, "status": "running", "last_seen": seen});
    let error = |class: &str, target: &str, status: &str, next: Option<&str>| {
        json!({"classification": class, "target": target, "status": status, "retry_count": 1, "max_retries": 3,
               "next_retry": next, "last_seen": "2026-01-29T10:29:00Z"})
    };
    let documents = [
        (
            "state/session/live/9f99b61b-a627-4cde-9856-7e07b84da7b2.json",
            json!({"session_id": "9f99b61b-a627-4cde-9856-7e07b84da7b2",
                "started": "2026-01-29T09:48:00Z", "last_seen": "2026-01-29T10:29:57Z", "git_branch": "feature/login",
                "files_modified": ["a", "b", "c"], "task": "Implement login with a session cookie and tests for it",
                "agents_spawned": 5, "agents_completed": 3, "agents": [
                agent("a849e6a7ce0708706", "general-purpose", Some("Audit the login routes"), "2026-01-29T10:20:00Z", "2026-01-29T10:21:30Z"),
                agent("a0f70f058ee74f941", "Explore", None, "2026-01-29T10:28:10Z", "2026-01-29T10:29:58Z")]}),
        ),
        (
            "state/session/live/64e8a570-3961-4cd0-a06f-f8e7fbfda3cb.json",
            json!({"session_id": "64e8a570-3961-4cd0-a06f-f8e7fbfda3cb",
                "started": "2026-01-29T10:21:00Z", "last_seen": "2026-01-29T10:22:00Z", "git_branch": "main",
                "task": "\u{1b}[31m漢字 \u{202e}evil\u{7} task"}),
        ),
        (
            "state/errors/classified.json",
            json!({"summary": {"total": 4, "pending": 2, "recovered": 1, "escalated": 1}, "errors": [
            error("network", "Bash curl https://example.com", "recovered", None),
            error("permission", "Write /etc/hosts", "escalated", None),
            error("rate_limit", "WebFetch https://example.com/docs", "pending_retry", Some("2026-01-29T10:30:24Z")),
            error("timeout", "Bash make all", "pending_retry", Some("2026-01-29T10:29:24Z"))]}),
        ),
        (
            "state/loop/work_queue.json",
            json!({"iteration": 3, "status": "BUILDING", "max_iterations": 50, "items": [
            {"id": "work-002", "priority": "S2", "title": "Update CHANGELOG", "status": "pending"},
            {"id": "work-001", "priority": "S1", "title": "Refuse empty passwords", "status": "pending"}]}),
        ),
        (
            "state/agents/results/synthesis.json",
            json!({"summary": {"total": 3, "S0": 1, "S2": 2}, "findings": [
            {"severity": "S0", "title": "Passwords are logged", "file": "src/login.ts", "line": 42, "agents": ["a"]},
            {"severity": "S2", "title": "No test for an expired cookie", "agents": ["a"]},
            {"severity": "S2", "title": "Login form has no label", "file": "src/form.tsx", "agents": ["b"]}]}),
        ),
        (
            "state/compaction/backup_20260129T101500000Z.json",
            json!({"session_id": "9f99b61b-a627-4cde-9856-7e07b84da7b2"}),
        ),
        ("state/rejected/1", json!({})),
        ("state/session/live/broken.json", json!([])),
    ];
    let add = |files: Files, (path, document): (&str, Value)| {
        files.with_bytes(path, &document.to_string())
    };
    documents.into_iter().fold(Files::default(), add)
}

fn seen(files: &Files) -> Observed {
    let (state, settings) = (&files.state(), &Settings::default());
    let context = PanelContext::new(state, settings);
    Observed::State(Box::new(Overview::read(&context)))
}

fn log() -> Vec<Entry> {
    let events = ["PostToolUse", "SubagentStart", "PreToolUse", "UserPromptSubmit", "SessionStart"];
    let past = |(n, event): (usize, &&str)| Entry {
        time: format!("2026-01-29T10:29:{:02}.000Z", 57 - n),
        event: (*event).to_owned(),
        us: Some(400 + n as u64),
        outcome: "agent a0f70f058ee74f941 runs".into(),
        ..Entry::default()
    };
    events.iter().enumerate().map(past).collect()
}

struct Shown {
    text: String,
    coloured: usize,
    most: usize,
    /// What the terminal is told.
    told: Printed,
}

/// The panels as the screen has them.
fn panels(seen: &Observed, filter: &str) -> Vec<Panel> {
    let now = time::parse("2026-01-29T10:30:00Z").unwrap();
    let Observed::State(overview) = seen else { return Vec::new() };
    let mut all = overview.panels(now);
    all.push(notes::hooks(&log(), now, |spelled| spelled.get(11..19).unwrap().to_owned()));
    board::arrange_panels(all, filter)
}

fn show(seen: &Observed, width: u16, height: u16, controls: &Controls) -> Shown {
    show_in(seen, width, height, controls, true)
}

fn show_in(seen: &Observed, width: u16, height: u16, controls: &Controls, colour: bool) -> Shown {
    let mut canvas = Canvas::new(width, height);
    let panels = &panels(seen, &controls.filter);
    let lines = controls.detail.as_ref().map(|open| detail::lines(open, None, str::to_owned));
    let scene = Scene {
        place: "~/shop",
        clock: "10:30:00",
        spent: Some("2 live sessions: 45.2k tokens, $1.23"),
        seen,
        panels,
        controls,
        detail: &lines.unwrap_or_default(),
        colour,
    };
    let most = draw(&mut canvas, &scene);
    let cells: Vec<&Cell> = canvas.rows().iter().flatten().collect();
    assert!(cells.iter().all(|cell| !cell.text().chars().any(char::is_control)));
    let coloured = cells.iter().filter(|cell| cell.style().colour != Colour::Own).count();
    let mut text = String::new();
    for row in canvas.rows() {
        let row: String = row.iter().map(Cell::text).collect();
        text.push_str(row.trim_end());
        text.push('\n');
    }
    Shown { text, coloured, most, told: canvas.changes(None) }
}

fn full() -> Observed {
    seen(&files())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "snapshots are no state files")]
fn pictures_are_as_they_were() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("view/snapshots");
    for (width, height) in [(80, 24), (200, 50), (40, 10)] {
        let Shown { text, told, .. } = show(&full(), width, height, &Controls::default());
        // Neither black nor white, by either of their numbers, and no background.
        let refused =
            ["38;5;0m", "38;5;7m", "38;5;8m", "38;5;15m", "30m", "37m", "90m", "97m", "[48;"];
        assert!(refused.iter().all(|look| !told.contains(look)), "{told}");
        let file = dir.join(format!("{width}x{height}.txt"));
        if std::env::var_os("UPDATE_CASES").is_some() {
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let want = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text, want, "{}", file.display());
    }
}

#[test]
fn every_size_can_be_drawn() {
    let (full, empty) = (full(), seen(&Files::default()));
    let gone = Observed::Unreadable("cannot open\u{1b}[2J it".into());
    for width in 1..=60 {
        for height in 1..=30 {
            for seen in [&full, &empty, &gone, &Observed::NoState { is_left_out: false }] {
                let plain = show_in(seen, width, height, &Controls::default(), false);
                assert_eq!(plain.coloured, 0);
                show(seen, width, height, &Controls { has_help: true, ..Controls::default() });
                show(seen, width, height, &looking_at("Errors", 1000));
                let open = Controls { detail: Some(long()), scroll: 1000, ..Controls::default() };
                show(seen, width, height, &open);
            }
        }
    }
}

fn looking_at(title: &'static str, row: usize) -> Controls {
    Controls { focus: Some(title), row, ..Controls::default() }
}

fn long() -> Detail {
    let text = (0..40).map(|n| format!("line {n}\u{1b}[2J of a long report\n")).collect();
    Detail { title: "Agent a849e6a7".into(), text, ..Detail::default() }
}

#[test]
fn what_matters_most_stays_longest() {
    let none = Controls::default();
    // What waits for a person comes before the agents, and all else behind them.
    let small = show(&full(), 80, 5, &none).text;
    assert!(small.contains("Write /etc/hosts") && small.contains("a849e6a7"), "{small}");
    assert!(!small.contains("Backups"), "{small}");
    assert!(show(&full(), 20, 1, &none).text.contains("Errors"));
    let first = show(&full(), 80, 24, &none).text;
    let line = |word: &str| first.lines().position(|line| line.contains(word)).unwrap();
    assert!(line("Errors") < line("Sessions") && line("Hooks") < line("Backups"), "{first}");
    assert_eq!(line("escalated"), line("Errors"));
    assert!(!first.contains("backup_2026"), "what is over is one line: {first}");
    let looked = show(&full(), 80, 24, &looking_at("Backups", 0)).text;
    assert!(looked.contains("▸Backups") && looked.contains("backup_2026"), "{looked}");
}

#[test]
fn the_row_that_is_looked_at_is_seen_and_opened() {
    let small = |row: usize| show(&full(), 80, 14, &looking_at("Hooks", row)).text;
    assert!(small(4).contains("SessionStart"), "{}", small(4));
    let errors = panels(&full(), "").into_iter().find(|panel| panel.title == "Errors").unwrap();
    assert_eq!(errors.details.len(), errors.table.len());
    assert!(errors.details[0].text.contains("Write /etc/hosts"), "{:?}", errors.details);
    let open = |scroll| Controls { detail: Some(long()), scroll, ..Controls::default() };
    let (top, end) = (show(&full(), 40, 12, &open(0)), show(&full(), 40, 12, &open(1000)));
    assert!(top.text.contains("Agent a849e6a7") && !top.text.contains("line 39"), "{}", top.text);
    assert!(end.text.contains("line 39 [2J of a long report"), "{}", end.text);
    assert_eq!((top.most, end.most), (32, 32));
}

#[test]
fn a_filter_is_said_and_keeps_what_fits_it() {
    let controls = Controls { filter: "password".into(), ..Controls::default() };
    let text = show(&full(), 80, 24, &controls).text;
    assert!(text.contains("Passwords are logged") && text.contains("Refuse empty passwords"));
    assert!(!text.contains("a849e6a7") && text.contains("only rows with `password`"), "{text}");
}

/// A title stands on a dim rule, and is not dim.
#[test]
fn titles_are_bold_and_nothing_else() {
    let mut canvas = Canvas::new(80, 24);
    let seen = full();
    let scene = Scene {
        place: "~/shop",
        clock: "10:30:00",
        spent: None,
        seen: &seen,
        panels: &panels(&seen, ""),
        controls: &Controls::default(),
        detail: &[],
        colour: true,
    };
    draw(&mut canvas, &scene);
    let title = canvas.rows().iter().flatten().find(|cell| cell.text() == "N").unwrap();
    assert_eq!(title.style(), Style { bold: true, ..Style::default() });
}

#[test]
fn colour_is_used_and_can_be_refused() {
    assert!(show(&full(), 80, 24, &Controls::default()).coloured > 0);
    assert_eq!(show_in(&full(), 80, 24, &Controls::default(), false).coloured, 0);
}
