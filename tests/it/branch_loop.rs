//! The loop of a branch, through the binary.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Scratch, event, good, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";
const COMMIT: &str = "abc123abc123abc123abc123abc123abc123abc1";

fn check_out(scratch: &Scratch, branch: &str) {
    let refs = scratch.root().join(".git/refs/heads").join(branch);
    fs::create_dir_all(refs.parent().unwrap()).unwrap();
    fs::write(refs, COMMIT).unwrap();
    fs::write(scratch.root().join(".git/HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
}

/// A project on a branch, with one live session in which the commands run.
fn shop() -> Scratch {
    let mut scratch = Scratch::new();
    check_out(&scratch, "feat/login");
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    scratch
}

fn stop(scratch: &Scratch, session: &str, message: &str) -> Value {
    let payload = json!({"stop_hook_active": true, "last_assistant_message": message, "background_tasks": []});
    let reply = scratch.hook(&event(session, "Stop", payload)).stdout;
    if reply.is_empty() { Value::Null } else { serde_json::from_str(&reply).unwrap() }
}

fn tool(scratch: &Scratch) {
    let call = json!({"tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "x"}, "tool_response": {}});
    scratch.hook(&event(SESSION, "PostToolUse", call));
}

fn state(scratch: &Scratch, key: &str) -> Value {
    let file = scratch.root().join(format!(".claude/branches/{key}/state.json"));
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

const START: [&str; 8] =
    ["branch", "loop", "start", "Make all tests pass", "--max", "4", "--promise", "ALL GREEN"];

#[test]
fn only_the_promise_completes_it() {
    let scratch = shop();
    let text = good(scratch.run(&START, b""));
    assert!(
        text.starts_with(
            "Started: loop of branch feat/login \"Make all tests pass\", iteration 1 of 4"
        ),
        "{text}"
    );
    for message in [
        "ALL GREEN",
        "I will say `<promise>ALL GREEN</promise>` later",
        "- <promise>ALL GREEN</promise>",
    ] {
        let reply = stop(&scratch, SESSION, message);
        assert_eq!(reply["decision"], "block", "{message}");
        let reason = reply["reason"].as_str().unwrap();
        assert!(
            reason.contains("Make all tests pass")
                && reason.contains("<promise>ALL GREEN</promise> alone on a line"),
            "{reason}"
        );
        let is_first = message == "ALL GREEN";
        assert_eq!(reason.contains(".claude/branches/feat-login/state.json"), is_first, "{reason}");
        let told = reply["systemMessage"].as_str().unwrap();
        assert_eq!(told.contains("`hookkeeper branch loop cancel`"), is_first, "{told}");
        tool(&scratch);
    }
    let reply = stop(&scratch, SESSION, "Done.\n<promise> ALL  GREEN </promise>");
    assert_eq!(reply.get("decision"), None);
    assert!(
        reply["systemMessage"]
            .as_str()
            .unwrap()
            .contains("is complete: the promise ALL GREEN was made"),
        "{reply}"
    );
    let state = state(&scratch, "feat-login");
    assert_eq!(
        (&state["branch"], &state["loop"]["verdict"], &state["loop"]["active"]),
        (&json!("feat/login"), &json!("complete"), &json!(false))
    );
    assert_eq!(stop(&scratch, SESSION, "more"), Value::Null);
    assert_eq!(scratch.doc(&format!("session/live/{SESSION}.json"))["loop_verdict"], "complete");
    refused(&scratch.run(&["branch", "loop", "resume"], b""), "the loop is complete");
    let hidden = fs::read_to_string(scratch.root().join(".claude/branches/.gitignore")).unwrap();
    assert_eq!(hidden, "*\n");
}

#[test]
fn it_is_capped_and_can_go_on() {
    let scratch = shop();
    good(scratch.run(&START, b""));
    for n in 1..=4 {
        tool(&scratch);
        assert_eq!(stop(&scratch, SESSION, "not yet")["decision"] == "block", n < 4, "{n}");
    }
    assert_eq!(state(&scratch, "feat-login")["loop"]["verdict"], "capped");
    good(scratch.run(&["branch", "loop", "resume"], b""));
    assert_eq!(state(&scratch, "feat-login")["loop"]["maxIterations"], 14);
    assert_eq!(stop(&scratch, SESSION, "on")["decision"], "block");
    good(scratch.run(&["branch", "loop", "cancel"], b""));
    assert_eq!(stop(&scratch, SESSION, "on"), Value::Null);
    assert_eq!(state(&scratch, "feat-login")["loop"]["verdict"], "cancelled");
}

#[test]
fn a_session_drives_one_loop() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "queue"], b""));
    refused(&scratch.run(&START, b""), "drives the loop \"queue\", iteration 1 of 50");
    good(scratch.run(&["loop", "cancel"], b""));
    good(scratch.run(&START, b""));
    refused(&scratch.run(&START, b""), "is open");
    refused(&scratch.run(&["loop", "start", "queue"], b""), "drives the loop of branch feat-login");
}

#[test]
fn a_switch_of_branches_leaves_the_loop_where_it_is() {
    let scratch = shop();
    good(scratch.run(&START, b""));
    check_out(&scratch, "main");
    let reply = stop(&scratch, SESSION, "on");
    assert!(
        reply["reason"]
            .as_str()
            .unwrap()
            .contains("It belongs to branch feat/login; the checkout is on main now."),
        "{reply}"
    );
    assert!(!scratch.root().join(".claude/branches/main").exists());
    good(scratch.run(&["branch", "loop", "status", "--branch", "feat/login"], b""));
}

#[test]
fn two_branches_never_share_a_state() {
    let scratch = shop();
    check_out(&scratch, "feat/a-b");
    good(scratch.run(&START, b""));
    good(scratch.run(&["branch", "loop", "cancel"], b""));
    check_out(&scratch, "feat-a/b");
    good(scratch.run(&START, b""));
    let dir = scratch.root().join(".claude/branches");
    let names =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(state(&scratch, &names[0])["branch"], "feat/a-b");
    assert_eq!(state(&scratch, &names[1])["branch"], "feat-a/b");
    assert_eq!(stop(&scratch, SESSION, "on")["decision"], "block");
}

#[test]
fn others_are_left_alone_and_nobodys_is_adopted() {
    let mut scratch = shop();
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    good(scratch.run(&START, b""));
    scratch.hook(&event("other", "SessionStart", json!({"source": "startup"})));
    scratch.hook(&event("other", "UserPromptSubmit", json!({"prompt": "hi"})));
    assert_eq!(stop(&scratch, "other", "x"), Value::Null, "with two, nobody");
    scratch.hook(&event("other", "SessionEnd", json!({"reason": "other"})));
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "hi"})));
    assert_eq!(stop(&scratch, SESSION, "x")["decision"], "block");
    scratch.hook(&event("third", "SessionStart", json!({"source": "startup"})));
    scratch.hook(&event("third", "UserPromptSubmit", json!({"prompt": "hi"})));
    assert_eq!(stop(&scratch, "third", "x"), Value::Null);
    assert_eq!(state(&scratch, "feat-login")["loop"]["session_id"], SESSION);
}

#[test]
fn what_it_does_not_know_stays() {
    let scratch = shop();
    let dir = scratch.root().join(".claude/branches/feat-login");
    fs::create_dir_all(&dir).unwrap();
    let seed = include_str!("../seeds/004/branch-state.json")
        .replace("feat-example", "feat-login")
        .replace("\"active\": true", "\"active\": false");
    fs::write(dir.join("state.json"), &seed).unwrap();
    good(scratch.run(&START, b""));
    let (before, after): (Value, Value) =
        (serde_json::from_str(&seed).unwrap(), state(&scratch, "feat-login"));
    for key in ["branch", "session", "compacted_at", "workflow", "plan", "execution", "handoff"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert_eq!(after["loop"]["prompt"], "Make all tests pass");
    // A file that cannot be used lets the stop through, and stays.
    fs::write(dir.join("state.json"), "{\"loop\": {\"iteration\": \"three\"}}").unwrap();
    let reply = stop(&scratch, SESSION, "on");
    assert_eq!(reply.get("decision"), None, "{reply}");
    assert!(
        reply["systemMessage"].as_str().unwrap().contains(".claude/branches/feat-login/state.json"),
        "{reply}"
    );
    refused(
        &scratch.run(&["branch", "loop", "cancel"], b""),
        ".claude/branches/feat-login/state.json cannot be changed",
    );
    assert_eq!(
        fs::read_to_string(dir.join("state.json")).unwrap(),
        "{\"loop\": {\"iteration\": \"three\"}}"
    );
}

#[test]
fn without_git_the_branch_is_unknown() {
    let mut scratch = Scratch::new();
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    refused(&scratch.run(&["branch", "loop", "cancel"], b""), "there is no loop of branch unknown");
    assert!(!scratch.root().join(".claude/branches").exists());
    good(scratch.run(&START, b""));
    assert_eq!(state(&scratch, "unknown")["branch"], "unknown");
}

#[test]
fn a_session_drives_the_loop_of_one_branch() {
    let scratch = shop();
    good(scratch.run(&START, b""));
    check_out(&scratch, "feat/other");
    refused(
        &scratch.run(&["branch", "loop", "start", "B"], b""),
        "drives the loop of branch feat-login",
    );
    // What the message says works from where the checkout is now.
    let status = good(scratch.run(&["branch", "loop", "status"], b""));
    assert!(status.contains("branch feat/login"), "{status}");
    assert!(good(scratch.run(&["branch", "loop", "cancel"], b"")).starts_with("Cancelled: "));
    good(scratch.run(&["branch", "loop", "start", "B"], b""));
    // Nor does it go on with the first one beside the second, or beside one of another kind.
    let resume = ["branch", "loop", "resume", "--branch", "feat/login"];
    refused(&scratch.run(&resume, b""), "drives the loop of branch feat-other");
    good(scratch.run(&["branch", "loop", "cancel"], b""));
    good(scratch.run(&["loop", "start", "Q"], b""));
    refused(&scratch.run(&resume, b""), "`hookkeeper loop cancel` ends it");
}

#[test]
fn a_person_finds_the_only_loop_from_another_branch() {
    let mut scratch = shop();
    good(scratch.run(&START, b""));
    check_out(&scratch, "feat/other");
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    let text = good(scratch.run(&["branch", "loop", "cancel"], b""));
    assert!(text.contains("branch feat/login"), "{text}");
    // And the session hears of it.
    let told = stop(&scratch, SESSION, "on")["systemMessage"].as_str().unwrap().to_owned();
    assert!(told.contains("iteration 1 of 4 is cancelled: cancelled by a command"), "{told}");
}

#[test]
fn another_session_is_refused_and_takes_over_what_was_left() {
    let mut scratch = shop();
    good(scratch.run(&START, b""));
    scratch.hook(&event("second", "SessionStart", json!({"source": "startup"})));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), "second".into());
    for step in ["cancel", "resume"] {
        refused(
            &scratch.run(&["branch", "loop", step], b""),
            &format!("driven by session {SESSION}"),
        );
    }
    good(scratch.run(&["branch", "loop", "cancel", "--session", SESSION], b""));
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    good(scratch.run(&["branch", "loop", "resume"], b""));
    assert_eq!(state(&scratch, "feat-login")["loop"]["session_id"], "second");
    assert_eq!(stop(&scratch, "second", "hm")["decision"], "block");
}

#[test]
fn an_owner_who_is_not_there_is_named() {
    let mut scratch = shop();
    good(scratch.run(&START, b""));
    good(scratch.run(&["branch", "loop", "cancel"], b""));
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    let text = good(scratch.run(&["branch", "loop", "resume"], b""));
    assert!(text.contains("is not live") && text.contains("branch loop adopt"), "{text}");
}

#[test]
fn a_loop_that_lost_its_owner_goes_on() {
    let scratch = shop();
    good(scratch.run(&START, b""));
    let file = scratch.root().join(".claude/branches/feat-login/state.json");
    let mut edited = state(&scratch, "feat-login");
    edited["loop"].as_object_mut().unwrap().remove("session_id");
    fs::write(&file, edited.to_string()).unwrap();
    assert_eq!(stop(&scratch, SESSION, "hm")["decision"], "block");
    assert_eq!(state(&scratch, "feat-login")["loop"]["session_id"], SESSION);
}

#[test]
fn a_loop_that_is_gone_is_said() {
    for way in ["inactive", "removed"] {
        let scratch = shop();
        good(scratch.run(&START, b""));
        let folder = scratch.root().join(".claude/branches/feat-login");
        let mut edited = state(&scratch, "feat-login");
        match way {
            "inactive" => {
                edited["loop"]["active"] = false.into();
                fs::write(folder.join("state.json"), edited.to_string()).unwrap();
            }
            _ => fs::remove_dir_all(&folder).unwrap(),
        }
        let reply = stop(&scratch, SESSION, "hm");
        assert!(reply["decision"].is_null(), "{way}: {reply}");
        let told = reply["systemMessage"].as_str().unwrap();
        assert!(told.contains("branch feat-login is not driven any more"), "{way}: {told}");
        assert_eq!(stop(&scratch, SESSION, "hm"), Value::Null, "{way}: it is said once");
    }
}

#[test]
fn a_look_changes_nothing() {
    let mut scratch = Scratch::new();
    check_out(&scratch, "feat/login");
    let text = good(scratch.run(&["branch", "loop", "status"], b""));
    assert_eq!(text.trim(), "Branch feat/login has no loop.");
    assert!(!scratch.root().join(".claude/state").exists());
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    good(scratch.run(&START, b""));
    let file = scratch.root().join(".claude/branches/feat-login/state.json");
    let mut newer = state(&scratch, "feat-login");
    newer["version"] = "99.0".into();
    fs::write(&file, newer.to_string()).unwrap();
    let text = good(scratch.run(&["branch", "loop", "status"], b""));
    assert!(text.contains("iteration 1 of 4"), "{text}");
}

#[test]
fn a_branch_keeps_its_folder_when_the_other_one_goes() {
    let mut scratch = shop();
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    let loops =
        |branch: &str| good(scratch.run(&["branch", "loop", "status", "--branch", branch], b""));
    good(scratch.run(&["branch", "loop", "start", "First", "--branch", "feat/a-b"], b""));
    good(scratch.run(&["branch", "loop", "start", "Second", "--branch", "feat-a/b"], b""));
    let folder = scratch.root().join(".claude/branches/feat-a-b");
    fs::write(folder.join("state.json"), "{").unwrap();
    good(scratch.run(&["validate", "--repair"], b""));
    assert!(loops("feat-a/b").contains("branch feat-a/b"), "{}", loops("feat-a/b"));
    fs::remove_dir_all(&folder).unwrap();
    assert!(loops("feat-a/b").contains("branch feat-a/b"), "{}", loops("feat-a/b"));
    assert!(loops("feat/a-b").contains("has no loop"), "{}", loops("feat/a-b"));
}

#[test]
fn a_branch_that_is_called_like_a_folder_with_a_digest_keeps_its_own() {
    let mut scratch = shop();
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    let start = |prompt: &str, branch: &str| {
        good(scratch.run(&["branch", "loop", "start", prompt, "--branch", branch], b""));
    };
    // `17ba8339` is what the digest of feat-a/b begins with.
    let names = ["feat/a-b", "feat-a-b-17ba8339", "feat-a/b"];
    for name in names {
        start(name, name);
    }
    for name in names {
        let args = ["branch", "loop", "status", "--json", "--branch", name];
        let status: Value = serde_json::from_str(&good(scratch.run(&args, b""))).unwrap();
        assert_eq!(status["loop"]["prompt"], name);
    }
}
