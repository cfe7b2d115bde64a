//! Sixty-four processes at once: every event counts, exactly once.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and makes its own files"
)]

mod support;

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use support::{Scratch, recorded_payloads};

const WRITERS: u64 = 64;
const EVENTS: u64 = 50;

/// Half of the events start an agent, half of them end one; each writer's first goes on running.
fn payload(writer: u64, n: u64) -> Value {
    let agent = n / 2;
    let event = if n.is_multiple_of(2) { "SubagentStart" } else { "SubagentStop" };
    let id = match (event, agent) {
        ("SubagentStop", 0) => return start(writer, agent),
        _ => format!("w{writer}a{agent}"),
    };
    json!({
        "session_id": "storm", "cwd": "/home/dev/shop", "hook_event_name": event,
        "agent_id": id, "agent_type": "general-purpose",
        "last_assistant_message": "- [S2] Something", "background_tasks": [],
    })
}

/// A start that was sent before: it must change nothing.
fn start(writer: u64, agent: u64) -> Value {
    json!({
        "session_id": "storm", "cwd": "/home/dev/shop", "hook_event_name": "SubagentStart",
        "agent_id": format!("w{writer}a{agent}"), "agent_type": "general-purpose",
    })
}

#[test]
fn totals_are_exact() {
    let scratch = Scratch::new();
    let (_, mut first) = recorded_payloads("first-turn").remove(0);
    first["session_id"] = json!("storm");
    scratch.hook(&first);
    let failed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (scratch, failed) = (&scratch, &failed);
            scope.spawn(move || {
                for n in 0..EVENTS {
                    let payload = scratch.here(&payload(writer, n).to_string());
                    let run = scratch.run(&["hook"], format!("{payload}\n").as_bytes());
                    if run.code != Some(0) {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(failed.load(Ordering::Relaxed), 0);
    // Whatever had to wait for the lock is played now.
    let (_, mut stop) = recorded_payloads("first-turn").remove(1);
    stop["session_id"] = json!("storm");
    scratch.hook(&stop);

    let agents = EVENTS / 2;
    let running = WRITERS;
    let active = scratch.doc("agents/active.json");
    assert_eq!(active["total_spawned"], WRITERS * agents);
    assert_eq!(active["total_completed"], WRITERS * agents - running);
    assert_eq!(active["agents"].as_array().unwrap().len() as u64, running);
    let live = scratch.doc("session/live/storm.json");
    assert_eq!(live["agents_spawned"], WRITERS * agents);
    assert_eq!(live["agents_completed"], WRITERS * agents - running);
    assert_eq!(scratch.names("spool"), Vec::<String>::new());
    assert!(!scratch.exists(".new"));
}
