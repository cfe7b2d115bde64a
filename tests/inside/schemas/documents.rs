//! Where documents come from: the cases, recorded sessions, the examples of the v3.0 documents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hookkeeper::inside::validate::place::Place;
use hookkeeper::inside::validate::place::place_of;
use hookkeeper::inside::validate::schema::named;
use serde_json::{Value, json};

use crate::runner::{left_files, written_files};
use crate::support::{Scratch, recorded_payloads, tree};

#[derive(Clone)]
pub struct Document {
    pub schema: &'static str,
    pub from: String,
    /// What cannot be parsed is its text.
    pub value: Value,
}

/// All documents of a schema, none twice, those with the most in them first.
pub fn distinct(schema: &str) -> Vec<Document> {
    let made = [
        (
            "settings",
            json!({"durability": "full", "stuck_after_minutes": 5, "keep_backups": 3,
            "record": true, "request_findings": true, "redact": ["a+"], "notify": false,
            "systems": {"branches": false}, "of another tool": 1}),
        ),
        ("metrics-entry", seed("metrics.json")["sessions"][0].clone()),
        (
            "executions",
            json!({"version": 1, "executions": [{"tasks_path": "/t", "worktree_dir": "/w", "begun": "2026-01-29T10:30:00Z",
            "agents": {"L1-001": {"agent_id": "a", "session_id": "s", "stopped": "2026-01-29T10:30:00Z"}}}]}),
        ),
    ];
    let made =
        made.into_iter().map(|(schema, value)| Document { schema, from: "made".into(), value });
    let mut seen = BTreeSet::new();
    let mut documents: Vec<Document> = of_cases()
        .into_iter()
        .chain(seeds())
        .chain(made)
        .chain(played(schema))
        .chain(if schema == "wiring" { wired() } else { Vec::new() })
        .filter(|document| document.schema == schema && seen.insert(document.value.to_string()))
        .collect();
    documents.sort_by_key(|document| std::cmp::Reverse(document.value.to_string().len()));
    documents
}

const SEEDS: [&str; 5] =
    ["tests/seeds/000", "tests/seeds/001", "tests/seeds/002", "tests/seeds/003", "tests/seeds/004"];

pub fn seeds() -> Vec<Document> {
    let folders = SEEDS.map(here);
    let files =
        folders.iter().flat_map(|dir| fs::read_dir(dir).unwrap()).map(|file| file.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let schema = named(name.split('.').next().unwrap()).unwrap().schema;
        Document { schema, value: seed(&name), from: name }
    };
    files.map(read).collect()
}

/// An example, without the comments that one of them has.
pub fn seed(name: &str) -> Value {
    let folders = SEEDS.map(here);
    let file = folders.iter().map(|dir| dir.join(name)).find(|file| file.exists()).unwrap();
    let mut text = fs::read_to_string(file).unwrap();
    while let Some((before, after)) = text.split_once("/*") {
        text = format!("{before}{}", after.split_once("*/").unwrap().1);
    }
    serde_json::from_str(&text).unwrap()
}

/// What is there before, and what is kept whole. What a case writes is checked while it is played.
pub fn of_cases() -> Vec<Document> {
    of_files(written_files())
}

/// What is left by cases whose documents recorded sessions have few of: backups, notices, notifications.
fn of_played_cases() -> Vec<Document> {
    let events = ["pre_compact", "session_start", "config_change", "notification"];
    let mut all = Vec::new();
    for event in events {
        all.extend(of_files(left_files(event)));
    }
    all
}

fn of_files(files: Vec<(String, String, String)>) -> Vec<Document> {
    let mut all = Vec::new();
    for (case, path, text) in files {
        if let Some(file) = path.strip_prefix(".claude/") {
            all.extend(documents(&format!("{case}: {path}"), file, text.as_bytes()));
        }
    }
    all
}

/// What recorded sessions and cases leave.
fn played(schema: &str) -> Vec<Document> {
    static PLAYED: OnceLock<Vec<Document>> = OnceLock::new();
    let all = PLAYED.get_or_init(|| {
        let mut all = of_recorded();
        all.extend(of_played_cases());
        all
    });
    all.iter().filter(|document| document.schema == schema).cloned().collect()
}

/// What is there after each event of what was recorded, and while the lock is held.
pub fn of_recorded() -> Vec<Document> {
    let mut all = Vec::new();
    let scenarios = fs::read_dir(here("tests/payloads")).unwrap();
    for scenario in scenarios.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let scratch = Scratch::new();
        for (name, payload) in recorded_payloads(&scenario) {
            scratch.hook(&payload);
            for (path, bytes) in tree(&scratch.root().join(".claude")) {
                all.extend(documents(&format!("{scenario}/{name}: {path}"), &path, &bytes));
            }
        }
    }
    all.extend(spooled());
    all
}

fn spooled() -> Vec<Document> {
    let scratch = Scratch::new();
    let (_, payload) = recorded_payloads("first-turn").remove(0);
    scratch.hook(&payload);
    let lock = fs::File::open(scratch.state().join(".lock")).unwrap();
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    scratch.hook(&payload);
    let files = tree(&scratch.root().join(".claude"));
    files.iter().flat_map(|(path, bytes)| documents(path, path, bytes)).collect()
}

/// What `install` leaves, in both files of a project.
fn wired() -> Vec<Document> {
    let scratch = Scratch::new();
    for scope in ["project", "local"] {
        assert_eq!(scratch.run(&["install", "--scope", scope], b"").code, Some(0));
    }
    let files = tree(&scratch.root().join(".claude"));
    files.iter().flat_map(|(path, bytes)| documents(path, path, bytes)).collect()
}

/// The documents in a file, by its path below `.claude`.
fn documents(from: &str, path: &str, bytes: &[u8]) -> Vec<Document> {
    let document = |schema, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let value = serde_json::from_slice(bytes).unwrap_or(Value::String(text));
        Document { schema, from: from.to_owned(), value }
    };
    // Another tool may have a file by that name.
    if path == "autonomous-loop.json" {
        return Vec::new();
    }
    match place_of(path) {
        Place::Document(declared, _) => vec![document(declared.row.schema, bytes)],
        Place::Lines(declared, _) => {
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.map(|line| document(declared.row.schema, line)).collect()
        }
        _ => Vec::new(),
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
