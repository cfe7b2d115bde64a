//! A project with a session that drives an iterative task.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Run, Scratch, event, good, tree};

pub const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";
pub const NEW: [&str; 11] = [
    "iterative",
    "new",
    "auth",
    "--task",
    "User authentication",
    "--mode",
    "development",
    "--unit",
    "T1: User model | its tests pass | max 3 | files src/user.rs",
    "--unit",
    "T2: Login | 401 without a password | needs T1",
];

/// A project with one live session in which the commands run.
pub fn shop() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    scratch
}

pub fn started() -> Scratch {
    let scratch = shop();
    good(scratch.run(&NEW, b""));
    scratch
}

pub fn run(scratch: &Scratch, args: &[&str]) -> Run {
    scratch.run(&[&["iterative"], args].concat(), b"")
}

pub fn stop_of(scratch: &Scratch, session: &str, message: &str) -> Value {
    let payload = json!({"stop_hook_active": true, "last_assistant_message": message, "background_tasks": []});
    let reply = scratch.hook(&event(session, "Stop", payload)).stdout;
    if reply.is_empty() { Value::Null } else { serde_json::from_str(&reply).unwrap() }
}

/// A stop after some work.
pub fn stop(scratch: &Scratch, message: &str) -> Value {
    let call = json!({"tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "x"}, "tool_response": {}});
    scratch.hook(&event(SESSION, "PostToolUse", call));
    stop_of(scratch, SESSION, message)
}

pub fn signal(scratch: &Scratch, text: &str) -> Value {
    stop(scratch, &format!("So.\n<signal>{text}</signal>"))
}

pub fn edit(scratch: &Scratch, file: &str) {
    let path = format!("/home/dev/shop/{file}");
    let call = json!({"tool_name": "Edit", "tool_use_id": "e", "tool_input": {"file_path": path}, "tool_response": {}});
    scratch.hook(&event(SESSION, "PostToolUse", call));
}

pub fn file(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.root().join(".claude/iterative/auth").join(name)
}

pub fn text(scratch: &Scratch, name: &str) -> String {
    fs::read_to_string(file(scratch, name)).unwrap()
}

pub fn state(scratch: &Scratch) -> Value {
    serde_json::from_str(&text(scratch, "state.json")).unwrap()
}

pub fn status(scratch: &Scratch, unit: &str) -> String {
    state(scratch)["tasks"][unit]["status"].as_str().unwrap().to_owned()
}

pub fn reason(reply: &Value) -> &str {
    assert_eq!(reply["decision"], "block", "{reply}");
    reply["reason"].as_str().unwrap()
}

/// What a rebuild makes is what the tool wrote.
pub fn rebuild_changes_nothing(scratch: &Scratch) {
    let before = tree(&scratch.root().join(".claude/iterative"));
    let said = good(run(scratch, &["rebuild", "auth"]));
    assert_eq!(said, "Task auth: nothing differed.\n");
    assert_eq!(tree(&scratch.root().join(".claude/iterative")), before);
}
