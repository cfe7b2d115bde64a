//! Parsers get what was recorded, damaged in many ways, and must not panic. `HOOKKEEPER_FUZZ_SECONDS`
//! says for how long (of each target; 1 if unset) and `HOOKKEEPER_FUZZ_SEED` where to begin.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hookkeeper::inside::agents::findings;
use hookkeeper::inside::branch::agents_document::BranchAgents;
use hookkeeper::inside::branch::document::BranchState;
use hookkeeper::inside::client::hook_runs;
use hookkeeper::inside::client::settings::edit;
use hookkeeper::inside::client::settings::handler::Launch;
use hookkeeper::inside::client::todos;
use hookkeeper::inside::client::transcript;
use hookkeeper::inside::core::command_line as command;
use hookkeeper::inside::core::event;
use hookkeeper::inside::core::event::Parsed;
use hookkeeper::inside::core::id::TaskSlug;
use hookkeeper::inside::core::json::Object;
use hookkeeper::inside::core::redaction::Redactor;
use hookkeeper::inside::core::settings::Settings;
use hookkeeper::inside::core::time;
use hookkeeper::inside::errors::classify;
use hookkeeper::inside::errors::document::Errors;
use hookkeeper::inside::errors::retry;
use hookkeeper::inside::execute;
use hookkeeper::inside::loops::autonomous::document::Autonomous;
use hookkeeper::inside::loops::autonomous::rules as autonomous;
use hookkeeper::inside::loops::iterative::document::Task;
use hookkeeper::inside::loops::iterative::document::brief;
use hookkeeper::inside::loops::iterative::document::guardrails;
use hookkeeper::inside::loops::iterative::document::plan;
use hookkeeper::inside::loops::iterative::document::progress;
use hookkeeper::inside::loops::iterative::document::task_documents::TaskDocuments;
use hookkeeper::inside::loops::queue::document::Queue;
use hookkeeper::inside::loops::queue::progress::Evidence;
use hookkeeper::inside::loops::queue::render;
use hookkeeper::inside::loops::queue::rules as queue_loop;
use hookkeeper::inside::session::live::Live;
use hookkeeper::inside::session::metrics::Metrics;
use hookkeeper::inside::state::Document;

use crate::support::dice::Dice;

/// What the recorded files are full of, and what parsers look for.
const WORDS: [&str; 24] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\n",
    "null",
    "-1",
    "1e999",
    "18446744073709551616",
    "\\ud800",
    "\u{0}",
    "é",
    "🦀",
    "## ",
    "- [ ] **T1**: ",
    "**Status:** ",
    "<task>",
    "&#x110000;",
    "<![CDATA[",
    "Depends: ",
];

fn seconds() -> u64 {
    std::env::var("HOOKKEEPER_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

fn seed() -> u64 {
    let seed = std::env::var("HOOKKEEPER_FUZZ_SEED").ok().and_then(|s| s.parse().ok());
    seed.unwrap_or(1_u64) * 2 + 1
}

/// The files in this folder with one of these ends, of each content one.
fn corpus(dir: &str, ends: &[&str]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(dir), ends, &mut found);
    if dir == "tests" {
        // Those that stand in the cases.
        for (_, path, text) in crate::runner::written_files() {
            if ends.iter().any(|end| path.ends_with(end)) {
                found.push(text.into_bytes());
            }
        }
    }
    found.sort();
    found.dedup();
    assert!(found.len() > 3, "{ends:?}: {}", found.len());
    found
}

fn collect(dir: &Path, ends: &[&str], found: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, ends, found);
        } else if ends.iter().any(|end| path.to_str().unwrap().ends_with(end)) {
            found.extend(fs::read(&path).ok().filter(|bytes| bytes.len() < 200_000));
        }
    }
}

fn any<'a>(dice: &mut Dice, corpus: &'a [Vec<u8>]) -> &'a Vec<u8> {
    &corpus[dice.roll(corpus.len() as u64) as usize]
}

/// One of the files, damaged in one to six ways.
fn damaged(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = any(dice, corpus).clone();
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(bytes.len() as u64 + 1) as usize;
        let end = (at + dice.roll(40) as usize).min(bytes.len());
        match dice.roll(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            3 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
            4 => {
                let piece = bytes[at..end].to_vec();
                let to = dice.roll(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, piece);
            }
            5 => {
                let other = any(dice, corpus);
                let from = dice.roll(other.len() as u64 + 1) as usize;
                let until = (from + dice.roll(400) as usize).min(other.len());
                bytes.splice(at..end, other[from..until].iter().copied());
            }
            _ => drop(bytes.splice(at..at, dice.one(&WORDS).bytes())),
        }
    }
    bytes
}

/// Plays a target until its time is over. What it panicked on is kept in the temporary directory.
fn play(name: &str, corpus: Vec<Vec<u8>>, target: impl Fn(&[u8])) {
    let mut dice = Dice(seed());
    let kept = std::env::temp_dir().join(format!("hookkeeper-fuzz-{name}-{}", std::process::id()));
    let began = Instant::now();
    let mut runs = 0_u64;
    for bytes in &corpus {
        target(bytes);
    }
    while began.elapsed() < Duration::from_secs(seconds()) {
        for _ in 0..50 {
            let bytes = damaged(&mut dice, &corpus);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target(&bytes)));
            if outcome.is_err() {
                fs::write(&kept, &bytes).unwrap();
                panic!("{name}: it panicked on {}", kept.display());
            }
            runs += 1;
        }
    }
    eprintln!("{name}: {runs} runs");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn payloads() {
    play(
        "payloads",
        corpus("tests", &["stdin.json", "SessionStart.json", "Stop.json", "ToolUse.json"]),
        |bytes| {
            if let Ok(Parsed::Event(event)) = event::parse(bytes, None) {
                let _ = (event.background_tasks(), event.tool_response().word("x"));
                let input = event.tool_input();
                let redact = Redactor::new(&[]);
                let _ = hookkeeper::inside::errors::target::describe_target(
                    &event.tool_name(),
                    &input,
                    "/home/dev",
                    &redact,
                );
            }
        },
    );
}

#[test]
fn documents() {
    let now = time::parse("2026-01-29T10:30:00Z").unwrap();
    play("documents", corpus("tests", &[".json"]), |bytes| {
        if let Ok(state) = Autonomous::parse(bytes) {
            let _ = (autonomous::words::title(&state), state.documents());
        }
        if let Ok(book) = BranchAgents::parse(bytes) {
            assert!(BranchAgents::parse(&book.to_bytes()).is_ok());
            let _ = (book.all(), book.stats());
        }
        if let Ok(metrics) = Metrics::parse(bytes) {
            let _ = (metrics.newest(5), metrics.to_bytes());
        }
        if let Ok(queue) = serde_json::from_slice::<Queue>(bytes) {
            let _ =
                (queue_loop::title(&queue), queue_loop::reason(&queue), render::markdown(&queue));
            let evidence = Evidence::default();
            queue_loop::QueueLoop { queue, evidence, lost: None }.end_iteration(true, true, now);
        }
        if let Ok(state) = execute::document::parse(bytes) {
            let _ = state.base();
        }
        let _ = Settings::read(bytes);
        let _ = serde_json::from_slice::<Live>(bytes);
        let _ = serde_json::from_slice::<Errors>(bytes);
        let _ = serde_json::from_slice::<BranchState>(bytes);
        let _ = serde_json::from_slice::<Task>(bytes);
        if let Ok(object) = Object::parse(bytes) {
            let _ = (object.word("branch"), object.number("version"), object.objects("agents"));
        }
    });
}

#[test]
fn pages_of_tasks() {
    let now = time::parse("2026-01-29T10:30:00Z").unwrap();
    let slug = TaskSlug::new("auth").unwrap();
    let seed = include_str!("../seeds/000/iterative.json");
    let task: Task = serde_json::from_str(seed).unwrap();
    play(
        "pages",
        corpus("tests", &["progress.md", "tasks.md", "plan.md", "brief.md", "guardrails.md"]),
        |bytes| {
            let text = text(bytes);
            let _ = progress::Log::parse(&text);
            let plan = Some(text.clone());
            if let Ok(book) =
                TaskDocuments::open(slug.clone(), task.clone(), Some(&text), plan, now)
            {
                let _ = (book.log.base(), plan::update(&text, &book.state));
            }
            let _ = brief::parse(&text);
            let _ = guardrails::parse(&text);
        },
    );
}

const PLANS: [&str; 4] = [
    r#"<?xml version="1.0"?>
<!-- a task --><task><meta><id>L1-001</id><name>A &amp; B</name><layer>1-core</layer><priority>2</priority></meta>
<context><![CDATA[ x < y ]]></context><dependencies><dependency>L0-001</dependency></dependencies>
<files><file action="create">src/a.rs</file></files>
<verification><step>Run: cargo test &#x41;</step><step>Look at it</step></verification></task>"#,
    "# L1-001: A task\n\n## Verification\n\n- Run: `cargo test`\n\n```sh\ntrue\n```\n",
    r#"{"prd_slug": "shop", "tasks": [{"id": "L1-001", "layer": "1-core", "file": "L1-001.xml", "depends_on": ["L0-001"], "priority": 1},
        {"id": "L0-001", "layer": "0-setup", "dependencies": [], "title": "x"}], "layers": {"0-setup": ["L0-001"], "1-core": ["L1-001"]}}"#,
    r#"{"layers": [{"name": "0-setup", "tasks": [{"id": "a"}, "b"]}, {"layer": 1, "task_ids": ["c"], "depends_on": ["a"]}], "total_tasks": 3}"#,
];

#[test]
fn plans_of_executions() {
    play("plans", PLANS.map(|text| text.as_bytes().to_vec()).to_vec(), |bytes| {
        let _ = execute::task_file::parse_task_file(bytes);
        let Ok(manifest) = serde_json::from_slice(bytes) else { return };
        if let Ok(mut plan) = execute::plan::parse_plan(&manifest, Some(&manifest)) {
            plan.resolve_names();
            let _ = execute::graph::find_problems(&plan);
        }
    });
}

#[test]
fn settings_of_the_client() {
    play("settings", corpus("tests/settings", &[".json"]), |bytes| {
        let text = text(bytes);
        let _ = (edit::events_with_compound_commands(&text), edit::enabled_plugins(&text));
        for launch in [Launch::Guarded, Launch::Exec("hookkeeper".into())] {
            let Ok(wired) = edit::wire(&text, &launch) else { return };
            edit::check_shape(&wired).unwrap();
            assert_eq!(edit::wire(&wired, &launch).unwrap(), wired);
            edit::check_shape(&edit::unwire(&wired, None).unwrap()).unwrap();
        }
    });
}

#[test]
fn what_models_and_tools_say() {
    let redact = Redactor::new(&[]);
    let now = time::parse("2026-01-29T10:30:00Z").unwrap();
    play("words", corpus("tests", &["stdin.json", ".md", ".jsonl"]), |bytes| {
        let text: String = text(bytes).chars().take(4_000).collect();
        let _ = findings::read(&text, &redact);
        let call = classify::Call { command: Some(&text), ..classify::Call::default() };
        let _ = (classify::failure(&text, &call), classify::stop_failure(&text, &text));
        let _ = (retry::retry_time(&text, now), command::steps(&text), command::runs_tests(&text));
    });
}

#[test]
fn transcripts() {
    let file = std::env::temp_dir().join(format!("hookkeeper-fuzz-{}.jsonl", std::process::id()));
    play("transcripts", corpus("tests", &[".jsonl"]), |bytes| {
        fs::write(&file, bytes).unwrap();
        let _ = transcript::in_context(&file, Some(todos::Search::default()));
        let _ = (
            transcript::usage::cost(&file, u64::MAX),
            transcript::agent_work(&file),
            todos::read(&file),
        );
        let _ = (transcript::fork_parent(&file, "s"), hook_runs::read(&file));
    });
    fs::remove_file(&file).unwrap();
}
