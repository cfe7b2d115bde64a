//! A shop with git and one live session, and an autonomous loop in it.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Scratch, event, good};

pub const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";
pub const OTHER: &str = "1f3e8a2c-1111-4222-8333-444455556666";

pub fn git(scratch: &Scratch, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
    let ran = command.args(args).current_dir(scratch.root()).env("HOME", scratch.home()).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

pub fn commit(scratch: &Scratch, file: &str, text: &str) {
    let path = scratch.root().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    git(scratch, &["add", file]);
    git(scratch, &["commit", "--quiet", "--message", &format!("Write {file}")]);
}

/// A repository with one live session in which the commands run.
pub fn shop() -> Scratch {
    let mut scratch = Scratch::new();
    git(&scratch, &["init", "--quiet", "--initial-branch=feat/auth"]);
    commit(&scratch, "README.md", "A shop.\n");
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    scratch.env.insert("CLAUDECODE".into(), "1".into());
    scratch
}

pub fn file(scratch: &Scratch) -> std::path::PathBuf {
    scratch.root().join(".claude/autonomous-loop.json")
}

pub fn state(scratch: &Scratch) -> Value {
    serde_json::from_slice(&fs::read(file(scratch)).unwrap()).unwrap()
}

pub fn stop(scratch: &Scratch, message: &str) -> Value {
    let payload = json!({"stop_hook_active": false, "last_assistant_message": message, "background_tasks": []});
    let reply = scratch.hook(&event(SESSION, "Stop", payload)).stdout;
    if reply.is_empty() { Value::Null } else { serde_json::from_str(&reply).unwrap() }
}

pub fn told(reply: &Value) -> &str {
    assert_eq!(reply.get("decision"), None, "{reply}");
    reply["systemMessage"].as_str().unwrap()
}

pub fn blocked(reply: &Value) -> &str {
    assert_eq!(reply["decision"], "block", "{reply}");
    reply["reason"].as_str().unwrap()
}

pub fn start(scratch: &Scratch, more: &[&str]) -> String {
    good(scratch.run(
        &[&["autonomous", "start", "--feature", "Add user authentication"], more].concat(),
        b"",
    ))
}

pub fn advance(scratch: &Scratch, more: &[&str]) -> String {
    good(scratch.run(&[&["autonomous", "advance", "--summary", "Did it"], more].concat(), b""))
}

/// As a person in a terminal of their own: nothing above the command is the client's, whoever runs
/// these tests.
pub fn as_a_person(scratch: &Scratch, args: &[&str]) -> String {
    let out = scratch.home().join("said");
    let _ = fs::remove_file(&out);
    let script = r#"( sleep 0.2; "$@" >"$OUT.new" 2>&1; echo "exit $?" >>"$OUT.new"; mv "$OUT.new" "$OUT" ) & "#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_hookkeeper")]).args(args);
    command
        .env_clear()
        .envs(&scratch.env)
        .env_remove("CLAUDECODE")
        .env_remove("CLAUDE_CODE_SESSION_ID");
    command.env("OUT", &out).current_dir(scratch.root());
    assert!(command.status().unwrap().success());
    let began = Instant::now();
    while !out.exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::read_to_string(out).unwrap()
}

/// A loop in spec_test, with the plan proven and a person wanted.
pub fn at_the_tests() -> Scratch {
    let scratch = shop();
    start(&scratch, &["--skip-brainstorm"]);
    commit(&scratch, "docs/plan.md", "plan\n");
    advance(&scratch, &["--artifact", "docs/plan.md"]);
    blocked(&stop(&scratch, "on"));
    scratch
}

/// The same, with the acceptance tests written.
pub fn awaiting() -> Scratch {
    let scratch = at_the_tests();
    commit(&scratch, "t.rb", "fails\n");
    advance(&scratch, &["--artifact", "t.rb"]);
    scratch
}

pub fn edit(scratch: &Scratch, change: impl Fn(&mut serde_json::Map<String, Value>)) {
    let mut state = state(scratch);
    change(state.as_object_mut().unwrap());
    fs::write(file(scratch), state.to_string()).unwrap();
}
