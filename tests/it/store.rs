//! What the store promises, through the binary. `tests/faults` goes further.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, Scratch, tree};

fn event(name: &str, more: Value) -> Value {
    let mut payload = json!({"session_id": "s1", "cwd": "/home/dev/shop", "hook_event_name": name});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
}

fn start() -> Value {
    event("SessionStart", json!({"source": "startup"}))
}

fn agent(id: &str) -> Value {
    event("SubagentStart", json!({"agent_id": id, "agent_type": "Explore"}))
}

#[test]
fn events_wait_in_the_spool_while_the_lock_is_held() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    let lock =
        fs::File::options().read(true).write(true).open(scratch.state().join(".lock")).unwrap();
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    let begun = Instant::now();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    std::thread::scope(|scope| {
        for n in 0..4 {
            let scratch = &scratch;
            scope.spawn(move || scratch.hook(&agent(&format!("a{n}"))));
        }
        scope.spawn(|| {
            scratch.hook(&event("UserPromptSubmit", json!({"prompt": format!("use {secret}")})))
        });
    });
    assert!(begun.elapsed() < Duration::from_secs(3), "nobody waits for long");
    assert_eq!(scratch.names("spool").len(), 5);
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 0);
    for (name, bytes) in tree(&scratch.state()) {
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "the key is in {name}");
    }

    fs2::FileExt::unlock(&lock).unwrap();
    scratch.hook(&agent("a4"));
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 5);
    assert_eq!(scratch.doc("session/live/s1.json")["task"], "use [redacted]");
    assert!(!scratch.exists("spool"));
}

#[test]
fn planted_symlinks_lead_nowhere() {
    let rooms = ["session", "session/live", "agents", "journal", "errors"];
    for room in rooms {
        let scratch = Scratch::new();
        scratch.hook(&start());
        let outside = scratch.home().join("outside");
        fs::create_dir(&outside).unwrap();
        let _ = fs::remove_dir_all(scratch.state().join(room));
        symlink(&outside, scratch.state().join(room)).unwrap();
        let run = scratch.run(&["hook"], format!("{}\n", agent("a1")).as_bytes());
        assert!(matches!(run.code, Some(0 | 1)), "{room}: {:?}", run.code);
        assert!(tree(&outside).is_empty(), "something was written through {room}");
    }
    for file in [".lock", ".new", "journal/s1.jsonl", "agents/active.json", "session/current.json"]
    {
        let scratch = Scratch::new();
        scratch.hook(&start());
        scratch.hook(&agent("a0"));
        let canary = scratch.home().join("canary");
        fs::write(&canary, "mine").unwrap();
        let _ = fs::remove_file(scratch.state().join(file));
        symlink(&canary, scratch.state().join(file)).unwrap();
        let run = scratch.run(&["hook"], format!("{}\n", agent("a1")).as_bytes());
        assert!(matches!(run.code, Some(0 | 1)), "{file}: {:?}", run.code);
        assert_eq!(fs::read_to_string(&canary).unwrap(), "mine", "{file}");
    }
}

#[test]
fn a_claude_directory_elsewhere_is_refused_and_one_in_the_home_is_not() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.home().join("dotfiles")).unwrap();
    symlink("../dotfiles", scratch.root().join(".claude")).unwrap();
    scratch.hook(&start());
    assert!(scratch.home().join("dotfiles/state/session/live/s1.json").exists());

    let scratch = Scratch::new();
    let elsewhere = Scratch::new();
    symlink(elsewhere.home(), scratch.root().join(".claude")).unwrap();
    let run = scratch.run(&["hook"], format!("{}\n", start()).as_bytes());
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("a symlink out of the project"), "{}", run.stderr);
    assert!(tree(elsewhere.home()).is_empty());
}

#[test]
fn the_home_directory_is_no_project_because_of_the_clients_own_files() {
    let mut scratch = Scratch::new();
    scratch.env.remove("CLAUDE_PROJECT_DIR");
    fs::create_dir(scratch.home().join(".claude")).unwrap();
    scratch.hook(&start());
    assert!(scratch.exists("session/live/s1.json"));
    // There is nothing but the note that the project is one.
    let own = tree(&scratch.home().join(".claude"));
    assert!(own.keys().all(|name| name.starts_with("hookkeeper/projects/")), "{own:?}");
}

#[test]
fn git_sees_nothing_of_the_books() {
    let scratch = Scratch::new();
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(scratch.root()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    scratch.hook(&start());
    scratch.hook(&agent("a1"));
    assert_eq!(git(&["status", "--porcelain"]), "");
}

#[test]
fn a_stream_that_is_never_closed_ends_with_its_newline() {
    let scratch = Scratch::new();
    let begun = Instant::now();
    let mut child = scratch
        .command(&["hook"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, format!("{}\n", start()).as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5));
    drop(stdin);
    assert!(scratch.exists("session/live/s1.json"));
}

#[test]
fn a_read_only_project_is_one_clear_line() {
    let scratch = Scratch::new();
    fs::write(scratch.root().join(".claude"), "a file").unwrap();
    let run = scratch.run(&["hook"], format!("{}\n", start()).as_bytes());
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains(".claude"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(scratch.root().join(".claude")).unwrap(), "a file");
}

#[test]
fn unknown_fields_survive_every_document_that_is_rewritten() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    scratch.hook(&agent("a1"));
    let failure = json!({"tool_name": "Bash", "tool_input": {"command": "node src/a.js"}, "tool_use_id": "t1", "error": "Exit code 1\nsrc/a.js:3\nSyntaxError: x"});
    scratch.hook(&event("PostToolUseFailure", failure));
    let documents = [
        "session/live/s1.json",
        "session/current.json",
        "agents/active.json",
        "errors/classified.json",
        "loop/work_queue.json",
    ];
    for document in documents {
        let mut value = scratch.doc(document);
        value["mine"] = json!({"deep": [1, 2, {"x": null}]});
        fs::write(scratch.state().join(document), value.to_string()).unwrap();
    }
    scratch.hook(&agent("a2"));
    let failure = json!({"tool_name": "Bash", "tool_input": {"command": "node src/b.js"}, "tool_use_id": "t2", "error": "Exit code 1\nsrc/b.js:3\nSyntaxError: y"});
    scratch.hook(&event("PostToolUseFailure", failure));
    for document in documents {
        let value = scratch.doc(document);
        assert_eq!(value["mine"], json!({"deep": [1, 2, {"x": null}]}), "{document}");
    }
    assert_eq!(scratch.doc("loop/work_queue.json")["items"].as_array().unwrap().len(), 2);
}

/// A hook that waits for the lock, which this test holds.
fn waiting_hook(scratch: &Scratch, id: &str) -> (fs::File, std::process::Child) {
    let path = scratch.state().join(".lock");
    let lock = fs::File::options().read(true).write(true).open(path).unwrap();
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    let mut child = support::spawn(scratch.command(&["hook"]));
    let payload = format!("{}\n", scratch.here(&agent(id).to_string()));
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    (lock, child)
}

#[test]
fn a_lock_that_lost_its_name_is_no_lock() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    let (lock, mut waiting) = waiting_hook(&scratch, "a1");
    fs::remove_file(scratch.state().join(".lock")).unwrap();
    let other = fs::File::create_new(scratch.state().join(".lock")).unwrap();
    fs2::FileExt::lock_exclusive(&other).unwrap();
    drop(lock);
    // It has what was the lock, waits for what is, and gives up after a second in all.
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
    assert_eq!(scratch.names("spool").len(), 1);
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 0);
    drop(other);
    scratch.hook(&agent("a2"));
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 2);
}

#[test]
fn an_event_that_waited_for_state_that_is_gone_makes_it_anew() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    let (lock, mut waiting) = waiting_hook(&scratch, "a1");
    let away = scratch.home().join("away");
    fs::rename(scratch.state(), &away).unwrap();
    drop(lock);
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
    let moved: Value =
        serde_json::from_slice(&fs::read(away.join("session/live/s1.json")).unwrap()).unwrap();
    assert_eq!(moved["agents_spawned"], 0);
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 1);
}

#[test]
fn an_event_is_not_spooled_in_state_that_is_gone() {
    let scratch = Scratch::new();
    scratch.hook(&start());
    let (lock, mut waiting) = waiting_hook(&scratch, "a1");
    fs::rename(scratch.state(), scratch.home().join("away")).unwrap();
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
    drop(lock);
    assert_eq!(scratch.doc("session/live/s1.json")["agents_spawned"], 1);
}
