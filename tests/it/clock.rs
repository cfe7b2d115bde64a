//! Clocks that jump: what was put away is there, whatever the clock says and once said.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Scratch, event, good, tree};

const LATER: &str = "2040-01-01T00:00:00Z";
const NOW: &str = "2026-06-01T12:00:00Z";
const EARLIER: &str = "1971-01-01T00:00:00Z";

/// What happens at a time.
fn at(scratch: &Scratch, time: &str) -> Scratch {
    let mut same = scratch.same();
    same.env.insert("HOOKKEEPER_FIXED_TIME".into(), time.into());
    same
}

/// The clock goes to `then` often enough to fill any folder, and to `after` for three times; what
/// was put away in these three must be there. All at one moment, too.
fn put_away(folder: &str, often: usize, prepare: impl Fn(&Scratch), act: impl Fn(&Scratch, &str)) {
    for (then, after) in [(LATER, NOW), (LATER, EARLIER), (NOW, LATER), (NOW, NOW)] {
        let scratch = Scratch::new();
        prepare(&scratch);
        let run = |time: &str, what: &str| {
            let clocked = std::mem::ManuallyDrop::new(at(&scratch, time));
            act(&clocked, what);
        };
        (0..often).for_each(|n| run(then, &format!("early{n}")));
        for what in ["one1", "two2", "three3"] {
            run(after, what);
        }
        let kept = tree(&scratch.state().join(folder));
        for what in ["one1", "two2", "three3"] {
            let has = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains(what);
            let names: Vec<&String> = kept.keys().collect();
            assert!(kept.values().any(has), "{folder}: {what} of {after} after {then}: {names:?}");
        }
    }
}

fn start(scratch: &Scratch) {
    scratch.hook(&event("s1", "SessionStart", json!({"source": "startup"})));
}

#[test]
fn rejected_payloads() {
    put_away(
        "rejected",
        21,
        |_| (),
        |scratch, what| {
            let run = scratch.run(&["hook"], format!("{{\"no\": {what}\n").as_bytes());
            assert_eq!(run.code, Some(1));
            let path = run.stderr.trim().rsplit(' ').next().unwrap().to_owned();
            let kept = fs::read_to_string(scratch.root().join(&path)).unwrap();
            assert!(kept.contains(what), "{}", run.stderr);
        },
    );
}

#[test]
fn documents_in_quarantine() {
    put_away("quarantine", 4, start, |scratch, what| {
        fs::create_dir_all(scratch.state().join("agents")).unwrap();
        fs::write(scratch.state().join("session/live/s1.json"), format!("{{{what}")).unwrap();
        start(scratch);
    });
}

#[test]
fn state_that_was_set_aside() {
    put_away("set-aside", 6, start, |scratch, what| {
        fs::create_dir_all(scratch.state().join("loop")).unwrap();
        fs::write(scratch.state().join("loop/notes.txt"), what).unwrap();
        good(scratch.run(&["reset", "loop"], b""));
    });
}

#[test]
fn recorded_payloads() {
    let prepare = |scratch: &Scratch| {
        start(scratch);
        fs::write(scratch.root().join(".claude/hookkeeper.json"), r#"{"record": true}"#).unwrap();
        let room = scratch.state().join("recorded");
        fs::create_dir_all(&room).unwrap();
        for n in 0..200 {
            fs::write(room.join(format!("20400101T000000{n:03}Z-Stop-1.json")), "{}").unwrap();
        }
    };
    put_away("recorded", 0, prepare, |scratch, what| {
        scratch.hook(&event("s1", "UserPromptSubmit", json!({"prompt": what})));
    });
}

#[test]
fn backups_before_a_compaction() {
    put_away("compaction", 4, start, |scratch, what| {
        let why = json!({"trigger": "manual", "custom_instructions": what});
        scratch.hook(&event("s1", "PreCompact", why));
    });
}

#[test]
fn results_of_a_session_that_ended() {
    let scratch = Scratch::new();
    start(&scratch);
    let archive = scratch.state().join("agents/results-archive");
    for n in 0..20 {
        let old = archive.join(format!("old{n}"));
        fs::create_dir_all(&old).unwrap();
        set_time(&old, SystemTime::now() + Duration::from_secs(n * 3600));
    }
    let agent = json!({"agent_id": "a1", "agent_type": "Explore"});
    scratch.hook(&event("s1", "SubagentStart", agent));
    let stop = json!({"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": "Done"});
    scratch.hook(&event("s1", "SubagentStop", stop));
    set_time(&scratch.state().join("agents/results"), SystemTime::UNIX_EPOCH);
    scratch.hook(&event("s1", "SessionEnd", json!({"reason": "other"})));
    assert_eq!(scratch.names("agents/results-archive").len(), 20);
    assert!(archive.join("s1").is_dir());
}

fn set_time(path: &Path, time: SystemTime) {
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn events_that_wait_are_played_in_the_order_in_which_they_came() {
    let scratch = Scratch::new();
    start(&scratch);
    let lock =
        fs::File::options().read(true).write(true).open(scratch.state().join(".lock")).unwrap();
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    let times = ["2026-06-01T12:00:00Z", "2026-06-01T11:00:00Z", "2026-06-01T11:00:00Z"];
    let events: [(&str, Value); 3] = [
        ("SubagentStart", json!({"agent_id": "a1", "agent_type": "Explore"})),
        (
            "SubagentStop",
            json!({"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": "Done"}),
        ),
        ("SubagentStart", json!({"agent_id": "a2", "agent_type": "Explore"})),
    ];
    for (time, (name, fields)) in times.iter().zip(events) {
        let clocked = std::mem::ManuallyDrop::new(at(&scratch, time));
        clocked.hook(&event("s1", name, fields));
    }
    drop(lock);
    scratch.hook(&event("s1", "UserPromptSubmit", json!({"prompt": "Go on"})));
    let live = scratch.doc("session/live/s1.json");
    assert_eq!((&live["agents_spawned"], &live["agents_completed"]), (&json!(2), &json!(1)));
    assert_eq!(live["agents"][0]["id"], "a2");
}
