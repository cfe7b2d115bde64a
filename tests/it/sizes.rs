//! What is too large is not read on the hook path, and what piles up is bounded.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Scratch, event, good};

fn start() -> Value {
    event("s1", "SessionStart", json!({"source": "startup"}))
}

fn agent(id: &str) -> Value {
    event("s1", "SubagentStart", json!({"agent_id": id, "agent_type": "Explore"}))
}

fn prompt() -> Value {
    event("s1", "UserPromptSubmit", json!({"prompt": "Go on"}))
}

/// A document that is good JSON, and this large.
fn swell(path: &Path, bytes: usize) {
    let mut document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    document["mine"] = json!("x".repeat(bytes));
    fs::write(path, document.to_string()).unwrap();
}

#[test]
fn a_document_over_4_mib_is_set_aside_and_said() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    let live = scratch.state().join("session/live/s1.json");
    swell(&live, 3 << 20);
    scratch.hook(&agent("a1"));
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 1, "3 MiB are read");
    swell(&live, 4 << 20);
    let said = scratch.hook(&prompt()).stdout;
    assert!(said.contains("it is larger than 4 MiB"), "{said}");
    assert_eq!(scratch.names("quarantine").len(), 1);
    assert!(fs::metadata(&live).unwrap().len() < 1 << 20);
}

#[test]
fn settings_over_64_kib_are_not_read_and_that_is_said() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    let settings = scratch.root().join(".claude/hookkeeper.json");
    for (bytes, is_read) in [(60 << 10, true), (64 << 10, false)] {
        let text = json!({"record": true}).to_string() + &" ".repeat(bytes);
        fs::write(&settings, text).unwrap();
        let _ = fs::remove_dir_all(scratch.state().join("recorded"));
        let said = scratch.hook(&prompt()).stdout;
        assert_eq!(scratch.exists("recorded"), is_read);
        assert_eq!(said.contains("it is larger than 64 KiB"), !is_read, "{said}");
    }
}

#[test]
fn the_quarantine_has_an_end() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    for n in 0..300 {
        fs::write(scratch.state().join(format!("session/live/b{n}.json")), "{").unwrap();
    }
    scratch.hook(&prompt());
    assert_eq!(scratch.names("quarantine").len(), 100);
    for n in 0..30 {
        let large = scratch.state().join(format!("session/live/c{n}.json"));
        fs::File::create(large).unwrap().set_len(5 << 20).unwrap();
    }
    scratch.hook(&prompt());
    let files = scratch.names("quarantine");
    let size = |name: &String| scratch.state().join("quarantine").join(name).metadata().unwrap();
    let all: u64 = files.iter().map(|name| size(name).len()).sum();
    assert!((60 << 20..=64 << 20).contains(&all), "{all} bytes in {} files", files.len());
}

#[test]
fn a_command_plays_for_a_while_and_the_rest_next_time() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    let spool = scratch.state().join("spool");
    fs::create_dir(&spool).unwrap();
    let often = 600;
    for n in 0..often {
        let payload = scratch.here(&agent(&format!("a{n}")).to_string());
        let payload: Value = serde_json::from_str(&payload).unwrap();
        let entry = json!({
            "time": "2026-06-01T12:00:00Z", "client": {"pid": 1}, "git": {}, "payload": payload,
        });
        fs::write(spool.join(format!("{n:020}-7.json")), entry.to_string()).unwrap();
    }
    let mut commands = 0;
    while scratch.exists("spool") {
        let begun = Instant::now();
        good(scratch.run(&["queue", "add", "--priority", "S2", "--title", "Look at it"], b""));
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        commands += 1;
        assert!(commands < 60);
    }
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], often);
}

/// A transcript whose first line says that a file was edited, and whose last one that nothing was.
fn transcript(path: &Path, length: u64) {
    let edit = json!({"type": "assistant", "message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/home/dev/shop/early.rs"}}]}});
    let answer = json!({"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}});
    let mut file = fs::File::create(path).unwrap();
    writeln!(file, "{edit}\n{answer}").unwrap();
    file.seek(SeekFrom::Start(length)).unwrap();
    writeln!(file, "\n{}", json!({"type": "user", "message": {"content": "Go on"}})).unwrap();
}

#[test]
fn a_transcript_is_read_for_128_mib_at_most() {
    for (length, is_seen) in [(100 << 20, true), (127 << 20, true), (130 << 20, false)] {
        let scratch = Scratch::new();
        scratch.hook(&start());
        let path = scratch.home().join("transcript.jsonl");
        transcript(&path, length);
        let compact = json!({"trigger": "auto", "transcript_path": path});
        scratch.hook(&event("s1", "PreCompact", compact));
        let backups = scratch.names("compaction");
        let backup = scratch.doc(&format!("compaction/{}", backups[0]));
        let files = backup["files_in_context"].to_string();
        assert_eq!(files.contains("early.rs"), is_seen, "{length}: {files}");
    }
}

/// A batch of calls that gave whole files back; the last one may have been refused.
fn batch(calls: usize, last: &str) -> Value {
    let file = "let quoted = \"<tool_use_error>no\"; // denied\n".repeat(1400);
    let call = |n: usize| {
        let response = match n + 1 == calls {
            true => last.to_owned(),
            false => format!("1\t{file}"),
        };
        json!({"tool_name": "Edit", "tool_use_id": format!("t{n}"),
            "tool_input": {"file_path": format!("src/{n}.rs")}, "tool_response": response})
    };
    event("s1", "PostToolBatch", json!({"tool_calls": (0..calls).map(call).collect::<Vec<_>>()}))
}

#[test]
fn a_batch_of_whole_files_costs_what_reading_it_costs() {
    let quiet = batch(200, "The file was updated.");
    let mut scratch = Scratch::new();
    let fastest = |scratch: &Scratch| {
        let once = || {
            let begun = Instant::now();
            assert_eq!(scratch.hook(&quiet).stdout, "");
            begun.elapsed()
        };
        (0..5).map(|_| once()).min().unwrap()
    };
    let handled = fastest(&scratch);
    assert!(!scratch.root().join(".claude").exists(), "nothing is written");
    scratch.env.insert("HOOKKEEPER_OFF".into(), "1".into());
    let read = fastest(&scratch);
    assert!(handled < read * 4 + Duration::from_millis(100), "{handled:?}, only read {read:?}");
}

#[test]
fn one_refused_call_among_whole_files_is_found() {
    let scratch = Scratch::new();
    let refused = "<tool_use_error>String to replace not found in file.</tool_use_error>";
    scratch.hook(&batch(200, refused));
    let errors = scratch.doc("errors/classified.json");
    assert_eq!(errors["errors"].as_array().unwrap().len(), 1);
    assert_eq!(errors["errors"][0]["target"], "Edit src/199.rs");
}

#[test]
fn a_batch_that_is_too_large_is_no_error() {
    let scratch = Scratch::new();
    scratch.hook(&batch(300, "x"));
    assert!(!scratch.root().join(".claude").exists());
}
