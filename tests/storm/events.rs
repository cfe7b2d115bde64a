//! Sixty-four processes at once: every event counts, exactly once.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Scratch, recorded_payloads};

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
    // An event plays others for a bounded time: on a slow machine it takes several.
    for _ in 0..100 {
        scratch.hook(&stop);
        if scratch.names("spool").is_empty() {
            break;
        }
    }

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

/// A start of an agent that no other event speaks of.
fn own_start(id: &str) -> String {
    json!({
        "session_id": "storm", "cwd": "/home/dev/shop", "hook_event_name": "SubagentStart",
        "agent_id": id, "agent_type": "general-purpose",
    })
    .to_string()
}

/// Writers send starts of agents until `meddle` has come to its end, and a little longer. What was
/// acknowledged: the agents, with when their events were sent.
fn start_agents_while(scratch: &Scratch, meddle: impl FnOnce()) -> Vec<(String, Instant)> {
    let (done, acknowledged) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (done, acknowledged) = (&done, &acknowledged);
            scope.spawn(move || {
                let mut after = 0;
                for n in 0.. {
                    after += i32::from(done.load(Ordering::Relaxed));
                    if after > 3 {
                        break;
                    }
                    let id = format!("w{writer}n{n}");
                    let payload = scratch.here(&own_start(&id));
                    let sent = Instant::now();
                    let run = scratch.run(&["hook"], format!("{payload}\n").as_bytes());
                    assert!(matches!(run.code, Some(0 | 1)), "{:?}: {}", run.code, run.stderr);
                    if run.code == Some(0) {
                        acknowledged.lock().unwrap().push((id, sent));
                    }
                }
            });
        }
        meddle();
        done.store(true, Ordering::Relaxed);
    });
    // Whatever had to wait for the lock is played now.
    scratch.hook(&json!({
        "session_id": "storm", "cwd": "/home/dev/shop", "hook_event_name": "UserPromptSubmit",
        "prompt": "Go on",
    }));
    acknowledged.into_inner().unwrap()
}

/// The agents of a live record.
fn started(record: &Path) -> Vec<String> {
    let Ok(bytes) = fs::read(record) else { return Vec::new() };
    let live: Value = serde_json::from_slice(&bytes).unwrap();
    let ids = live["agents"].as_array().unwrap().iter();
    ids.map(|agent| agent["id"].as_str().unwrap().to_owned()).collect()
}

fn missing(acknowledged: &[(String, Instant)], there: &[String]) -> Vec<String> {
    let ids = acknowledged.iter().map(|(id, _)| id);
    ids.filter(|id| !there.contains(id)).cloned().collect()
}

/// Every document is where it belongs, and nothing else is there.
fn is_in_order(scratch: &Scratch) {
    let run = scratch.run(&["validate"], b"");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(!scratch.exists(".new"));
    assert_eq!(scratch.names("quarantine"), Vec::<String>::new());
}

#[test]
fn a_lock_that_is_removed_costs_no_event() {
    let scratch = Scratch::new();
    let acknowledged = start_agents_while(&scratch, || {
        for round in 0..300 {
            let _ = fs::remove_file(scratch.state().join(".lock"));
            std::thread::sleep(Duration::from_millis(3));
            match round % 100 {
                20 => drop(scratch.run(&["install"], b"")),
                50 => drop(scratch.run(&["validate", "--repair"], b"")),
                80 => drop(scratch.run(&["uninstall"], b"")),
                _ => {}
            }
        }
    });
    let there = started(&scratch.state().join("session/live/storm.json"));
    assert_eq!(missing(&acknowledged, &there), Vec::<String>::new());
    is_in_order(&scratch);
}

#[test]
fn a_reset_loses_no_event() {
    let scratch = Scratch::new();
    let acknowledged = start_agents_while(&scratch, || {
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(150));
            let _ = fs::remove_file(scratch.state().join(".lock"));
            scratch.run(&["reset", "all"], b"");
        }
    });
    let mut there = started(&scratch.state().join("session/live/storm.json"));
    for aside in scratch.names("set-aside") {
        let aside = scratch.state().join("set-aside").join(aside);
        there.extend(started(&aside.join("session/live/storm.json")));
        // Events that waited when the state was set aside are with it.
        for entry in fs::read_dir(aside.join("spool")).into_iter().flatten() {
            let entry: Value =
                serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap();
            there.push(entry["payload"]["agent_id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(missing(&acknowledged, &there), Vec::<String>::new());
    is_in_order(&scratch);
}

#[test]
fn what_comes_after_a_purge_is_there() {
    let scratch = Scratch::new();
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(scratch.root()).output().unwrap();
        assert!(done.status.code().is_some());
    };
    git(&["init", "-q"]);
    for clean in [false, true] {
        let ended = Cell::new(Instant::now());
        let acknowledged = start_agents_while(&scratch, || {
            for _ in 0..10 {
                std::thread::sleep(Duration::from_millis(60));
                match clean {
                    true => git(&["clean", "-fdxq"]),
                    false => drop(scratch.run(&["uninstall", "--purge"], b"")),
                }
                ended.set(Instant::now());
            }
        });
        let after: Vec<(String, Instant)> =
            acknowledged.into_iter().filter(|(_, sent)| *sent > ended.get()).collect();
        assert!(!after.is_empty());
        let there = started(&scratch.state().join("session/live/storm.json"));
        assert_eq!(missing(&after, &there), Vec::<String>::new(), "git clean: {clean}");
        is_in_order(&scratch);
        let left: Vec<String> = fs::read_dir(scratch.root().join(".claude"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "state" && name != "branches")
            .collect();
        assert_eq!(left, Vec::<String>::new());
    }
}
