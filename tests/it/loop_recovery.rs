//! The queue loop follows its work, gets over the loss of its file, and takes up what others keep in
//! the specification's form; so does the loop of a branch.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::support::{Scratch, event, good, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

/// The page of the specification, as it stands there.
const PAGE: &str = "# Loop State

## Meta
- Started: 2026-01-29T10:00:00Z
- Current Iteration: 3
- Status: BUILDING
- Task: \"implement user authentication\"

## Quality Gates
| Gate | Status | Last Check | Issues |
|------|--------|------------|--------|
| Pre-flight | PASS | 10:45:00 | 0 |
| Lint | PASS | 10:45:00 | 0 |
| Type | PASS | 10:45:00 | 0 |
| Tests | PASS | 10:45:00 | 0 |
| Security | WARN | 10:45:00 | 1 (S2) |

## Work Queue
| Priority | Item | Status |
|----------|------|--------|
| S1 | Implement auth endpoints | DONE |
| S1 | Add session management | IN_PROGRESS |
| S2 | Update CHANGELOG | PENDING |

## History
- Iteration 1: Fixed 2 items, 1 new issue found
- Iteration 2: Fixed 1 item, gates passing
";
const QUEUE: &str = include_str!("../seeds/001/work-queue.json");
const BRANCH: &str = include_str!("../seeds/004/branch-state.json");

/// A project on feat/example with one live session in which the commands run.
fn shop() -> Scratch {
    let mut scratch = Scratch::new();
    let heads = scratch.root().join(".git/refs/heads/feat");
    fs::create_dir_all(&heads).unwrap();
    fs::write(heads.join("example"), "abc1".repeat(10)).unwrap();
    fs::write(scratch.root().join(".git/HEAD"), "ref: refs/heads/feat/example\n").unwrap();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    scratch
}

fn run(scratch: &Scratch, args: &[&str]) -> String {
    good(scratch.run(args, b""))
}

fn tool(scratch: &Scratch, name: &str) {
    let path = scratch.root().join("src/a.rs");
    let call = json!({"tool_name": name, "tool_use_id": "t", "tool_input": {"file_path": path}, "tool_response": {}});
    scratch.hook(&event(SESSION, "PostToolUse", call));
}

fn prompt(scratch: &Scratch, text: &str) -> String {
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": text}))).stdout
}

fn stop_saying(scratch: &Scratch, message: &str) -> Value {
    let payload = json!({"stop_hook_active": true, "background_tasks": [], "last_assistant_message": message});
    let reply = scratch.hook(&event(SESSION, "Stop", payload)).stdout;
    if reply.is_empty() { Value::Null } else { serde_json::from_str(&reply).unwrap() }
}

fn stop(scratch: &Scratch) -> Value {
    stop_saying(scratch, "on")
}

fn queue(scratch: &Scratch) -> Value {
    scratch.doc("loop/work_queue.json")
}

fn put(scratch: &Scratch, name: &str, text: &str) {
    fs::create_dir_all(scratch.state().join("loop")).unwrap();
    fs::write(scratch.state().join("loop").join(name), text).unwrap();
}

fn status_line(scratch: &Scratch) -> String {
    let status = run(scratch, &["loop", "status"]);
    let line = status.lines().find(|line| line.starts_with("- Status: ")).unwrap();
    line.trim_start_matches("- Status: ").to_owned()
}

#[test]
fn the_phase_follows_the_work() {
    let scratch = shop();
    run(&scratch, &["loop", "start", "Add login", "--gate", "test"]);
    let record = || fs::read(scratch.state().join(format!("session/live/{SESSION}.json"))).unwrap();
    let gate = |name: &str, program: &str| {
        scratch.run(&["run-gate", name, "--", program], b"");
    };
    let steps: [(&str, &dyn Fn(), &str); 12] = [
        ("reads", &|| tool(&scratch, "Read"), "CONTEXTUALIZING"),
        (
            "adds an item",
            &|| {
                run(&scratch, &["queue", "add", "--priority", "S1", "--title", "Login"]);
            },
            "PLANNING",
        ),
        ("edits", &|| tool(&scratch, "Edit"), "BUILDING"),
        ("lists what to do", &|| tool(&scratch, "TodoWrite"), "BUILDING"),
        ("runs a gate that fails", &|| gate("test", "false"), "RECOVERING"),
        ("reads", &|| tool(&scratch, "Read"), "RECOVERING"),
        ("edits", &|| tool(&scratch, "Edit"), "BUILDING"),
        ("runs it again", &|| gate("test", "true"), "TESTING"),
        ("runs another", &|| gate("lint", "true"), "CHECKING"),
        ("ends the iteration", &|| drop(stop(&scratch)), "EVALUATING"),
        ("reads", &|| tool(&scratch, "Grep"), "ASSESSING"),
        ("is corrected", &|| drop(run(&scratch, &["loop", "phase", "PLAN"])), "PLANNING"),
    ];
    for (what, step, word) in steps {
        step();
        assert_eq!(status_line(&scratch), word, "{what}");
    }
    // The record is written where the word is another one, and not again.
    tool(&scratch, "Edit");
    let before = record();
    for name in ["Edit", "Read", "TodoWrite", "Edit"] {
        tool(&scratch, name);
    }
    assert_eq!(record(), before);
    assert_eq!(queue(&scratch)["status"], "PLANNING", "the file follows at the next stop");
    let company = json!({"stop_hook_active": true, "background_tasks": [{"id": "a", "type": "subagent", "status": "running"}]});
    scratch.hook(&event(SESSION, "Stop", company));
    let page = fs::read_to_string(scratch.state().join("loop/LOOP_STATE.md")).unwrap();
    assert!(page.contains("- Status: BUILDING\n"), "{page}");
    gate("test", "false");
    stop(&scratch);
    assert_eq!(queue(&scratch)["phase"], "RECOVER");
}

/// What somebody may do to the file, and what the user is told of it.
const DAMAGE: [(&str, Option<&str>); 6] = [
    ("was missing", None),
    ("could not be read", Some("")),
    ("could not be read", Some("{ broken")),
    ("could not be read", Some("{\"iteration\": \"fifty\"}")),
    ("had lost its loop", Some("{}")),
    (
        "had lost its loop",
        Some(
            "{\"version\": 1, \"task\": \"x\", \"iteration\": 1, \"consecutive_passes\": 1, \"items\": [], \"gate_results\": {}}",
        ),
    ),
];

fn damage(scratch: &Scratch, text: Option<&str>) {
    match text {
        Some(text) => put(scratch, "work_queue.json", text),
        None => fs::remove_file(scratch.state().join("loop/work_queue.json")).unwrap(),
    }
}

/// A loop in its third iteration, with an open item and one that is done.
fn at_work() -> Scratch {
    let scratch = shop();
    run(
        &scratch,
        &[
            "loop",
            "start",
            "Add login",
            "--gate",
            "test",
            "--max-iterations",
            "9",
            "--max-minutes",
            "60",
        ],
    );
    for title in ["Refuse | empty passwords", "Log out"] {
        run(&scratch, &["queue", "add", "--priority", "S1", "--title", title]);
    }
    run(&scratch, &["queue", "done", "2"]);
    for _ in 0..2 {
        scratch.run(&["run-gate", "test", "--", "sh", "-c", "echo 3 failed; exit 1"], b"");
        tool(&scratch, "Edit");
        stop(&scratch);
    }
    scratch
}

#[test]
fn a_file_that_is_lost_in_a_running_loop_is_made_anew_and_said() {
    for (why, text) in DAMAGE {
        let scratch = at_work();
        let was = queue(&scratch);
        damage(&scratch, text);
        let status = run(&scratch, &["loop", "status"]);
        assert!(
            status.contains("\"Add login\", iteration 3 of 9, driven by"),
            "{text:?}: {status}"
        );
        let reply = stop(&scratch);
        assert_eq!(reply["decision"], "block", "{text:?}");
        let (said, told) =
            (reply["reason"].as_str().unwrap(), reply["systemMessage"].as_str().unwrap());
        for words in [said, told] {
            assert!(
                words.contains(&format!(".claude/state/loop/work_queue.json {why}")),
                "{words}"
            );
        }
        assert!(
            said.contains("Refuse | empty passwords") && said.contains("Gate test: fail"),
            "{said}"
        );
        let now = queue(&scratch);
        for field in ["task", "started_at", "max_iterations", "max_minutes", "gates", "session_id"]
        {
            assert_eq!(now[field], was[field], "{text:?}: {field}");
        }
        assert_eq!((&now["iteration"], &now["consecutive_passes"]), (&json!(4), &json!(0)));
        assert_eq!(now["history"].as_array().unwrap().len(), 3, "{text:?}");
        let items = |queue: &Value| -> BTreeSet<String> {
            let items = queue["items"].as_array().unwrap().iter();
            items.map(|item| format!("{} {}", item["title"], item["status"])).collect()
        };
        assert_eq!(items(&now), items(&was), "{text:?}");
        let kept = scratch.names("quarantine");
        assert_eq!(kept.len(), usize::from(why == "could not be read"), "{text:?}: {kept:?}");
        assert!(!stop(&scratch)["systemMessage"].as_str().unwrap().contains(why), "once");
    }
}

#[test]
fn commands_and_a_persons_stop_get_over_the_loss_too() {
    for (_, text) in DAMAGE {
        let scratch = at_work();
        damage(&scratch, text);
        run(&scratch, &["queue", "add", "--priority", "S2", "--title", "More"]);
        assert_eq!(queue(&scratch)["items"].as_array().unwrap().len(), 3, "{text:?}");
        damage(&scratch, text);
        let heard = prompt(&scratch, "stop the loop");
        assert!(heard.contains("is paused: the user asked to stop"), "{text:?}: {heard}");
        assert_eq!(
            (stop(&scratch), &queue(&scratch)["verdict"]),
            (Value::Null, &json!("cancelled"))
        );
        run(&scratch, &["loop", "resume"]);
        damage(&scratch, text);
        run(&scratch, &["loop", "cancel"]);
        assert_eq!(
            (stop(&scratch), &queue(&scratch)["verdict"]),
            (Value::Null, &json!("cancelled"))
        );
    }
}

#[test]
fn a_loop_that_was_reset_or_ended_by_hand_is_not_brought_back() {
    let scratch = at_work();
    fs::remove_dir_all(scratch.state().join("loop")).unwrap();
    let reply = stop(&scratch);
    assert_eq!(
        reply["systemMessage"],
        "HookKeeper: the loop \"Add login\" is not driven any more: its files were removed."
    );
    assert_eq!(stop(&scratch), Value::Null, "once");
    run(&scratch, &["loop", "start", "Another"]);
    run(&scratch, &["reset", "loop"]);
    assert_eq!(stop(&scratch), Value::Null, "who resets it knows that");
    assert!(run(&scratch, &["loop", "status"]).starts_with("No loop."));
    let scratch = at_work();
    let mut ended = queue(&scratch);
    ended["verdict"] = "stalled".into();
    put(&scratch, "work_queue.json", &ended.to_string());
    let told = stop(&scratch)["systemMessage"].to_string();
    assert!(told.contains("its file says that it is stalled"), "{told}");
    assert_eq!(stop(&scratch), Value::Null, "once");
}

/// The verdict counts if the history tells of its passes; else the loop goes on.
#[test]
fn complete_is_not_a_word_in_a_file() {
    let scratch = at_work();
    let mut forged = queue(&scratch);
    for (field, value) in [
        ("verdict", json!("complete")),
        ("status", json!("COMPLETE")),
        ("consecutive_passes", json!(2)),
    ] {
        forged[field] = value;
    }
    put(&scratch, "work_queue.json", &forged.to_string());
    let reply = stop(&scratch);
    assert_eq!(reply["decision"], "block", "{reply}");
    assert!(
        reply["reason"].as_str().unwrap().contains("said that it was complete, which it was not")
    );
    let now = queue(&scratch);
    assert_eq!((&now["verdict"], &now["consecutive_passes"]), (&Value::Null, &json!(0)));
}

#[test]
fn the_specifications_queue_is_taken_up_with_all_that_it_has() {
    let scratch = shop();
    put(&scratch, "work_queue.json", QUEUE);
    put(&scratch, "LOOP_STATE.md", PAGE);
    assert!(run(&scratch, &["validate"]).ends_with(", all good\n"));
    let says = "`hookkeeper loop adopt` goes on with it";
    assert!(run(&scratch, &["loop", "status"]).contains(says));
    refused(&scratch.run(&["loop", "start", "Another"], b""), says);
    let heard = prompt(&scratch, "hello");
    assert!(heard.contains("`hookkeeper loop adopt` makes a session drive it"), "{heard}");
    assert_eq!(stop(&scratch), Value::Null, "not by itself");
    let said = run(&scratch, &["loop", "adopt"]);
    assert!(said.contains("iteration 3 of 50: now driven by session"), "{said}");
    assert!(said.contains("`hookkeeper run-gate NAME"), "it hears how it works: {said}");
    let (seed, now): (Value, Value) = (serde_json::from_str(QUEUE).unwrap(), queue(&scratch));
    for field in ["version", "task", "iteration", "consecutive_passes"] {
        assert_eq!(now[field], seed[field], "{field}");
    }
    assert_eq!((&now["items"][0], &now["items"][1]), (&seed["items"][0], &seed["items"][1]));
    assert_eq!(
        (&now["items"][2]["title"], &now["items"][2]["status"]),
        (&json!("Add session management"), &json!("in_progress"))
    );
    for gate in ["lint", "type", "test"] {
        assert_eq!(now["gate_results"][gate], seed["gate_results"][gate]);
    }
    assert_eq!(now["gate_results"]["security"]["status"], "warn");
    assert_eq!(
        (&now["status"], &now["started_at"]),
        (&json!("BUILDING"), &json!("2026-01-29T10:00:00Z"))
    );
    let page = fs::read_to_string(scratch.state().join("loop/LOOP_STATE.md")).unwrap();
    let history = |page: &str| page.split("## History\n").nth(1).unwrap().to_owned();
    assert_eq!(history(&page), history(PAGE));
    // A pass that its history tells of counts; the second one has to be seen.
    for id in ["2", "3"] {
        run(&scratch, &["queue", "done", id]);
    }
    assert!(
        stop(&scratch)["reason"].as_str().unwrap().contains("Gate lint: passed before, not yet")
    );
    for _ in 0..2 {
        for gate in ["lint", "type", "test", "preflight", "security"] {
            run(&scratch, &["run-gate", gate, "--", "true"]);
        }
        stop(&scratch);
    }
    assert_eq!(queue(&scratch)["verdict"], "complete");
}

#[test]
fn a_queue_without_a_page_is_taken_up_and_anew_is_a_choice() {
    let scratch = shop();
    put(&scratch, "work_queue.json", QUEUE);
    run(&scratch, &["loop", "adopt"]);
    let now = queue(&scratch);
    assert_eq!(
        (&now["consecutive_passes"], &now["status"]),
        (&json!(0), &json!("ASSESSING")),
        "no history tells of a pass"
    );
    let scratch = shop();
    put(&scratch, "work_queue.json", QUEUE);
    run(&scratch, &["loop", "start", "Another", "--reset"]);
    assert_eq!((&queue(&scratch)["iteration"], &queue(&scratch)["items"]), (&json!(1), &json!([])));
    // What only collects is no loop of anybody.
    let scratch = shop();
    put(&scratch, "work_queue.json", "{\"items\": [], \"iteration\": 0}");
    assert!(run(&scratch, &["validate"]).ends_with(", all good\n"), "the specification's default");
    refused(
        &scratch.run(&["loop", "adopt"], b""),
        "there is no loop; `hookkeeper loop start TASK`",
    );
    run(&scratch, &["loop", "start", "Mine"]);
}

#[test]
fn the_specifications_branch_state_is_that_of_its_branch() {
    let scratch = shop();
    let file = scratch.root().join(".claude/branches/feat-example/state.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, BRANCH).unwrap();
    assert!(run(&scratch, &["validate"]).ends_with(", all good\n"));
    let status = run(&scratch, &["branch", "loop", "status"]);
    assert!(
        status.starts_with("loop of branch feat/example \"Original task...\", iteration 3 of 15"),
        "{status}"
    );
    refused(
        &scratch.run(&["branch", "loop", "start", "x"], b""),
        "`hookkeeper branch loop adopt` goes on with it",
    );
    let heard = prompt(&scratch, "hello");
    assert!(heard.contains("`hookkeeper branch loop adopt` makes a session drive it"), "{heard}");
    run(&scratch, &["branch", "loop", "adopt"]);
    let reply = stop(&scratch);
    let said = reply["reason"].as_str().unwrap();
    assert!(
        said.starts_with("The loop of branch feat/example \"Original task...\", iteration 4 of 15"),
        "{said}"
    );
    assert!(!said.contains("It belongs to"), "{said}");
    let told = scratch.hook(&event(SESSION, "SessionStart", json!({"source": "compact"}))).stdout;
    assert!(
        told.contains("a loop of branch feat/example in") && !told.contains("the checkout is on"),
        "{told}"
    );
    stop_saying(&scratch, "So.\n<promise>BUILD COMPLETE</promise>");
    let (seed, now): (Value, Value) = (
        serde_json::from_str(BRANCH).unwrap(),
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap(),
    );
    assert_eq!((&now["branch"], &now["loop"]["verdict"]), (&seed["branch"], &json!("complete")));
    for field in ["session", "workflow", "plan", "execution", "handoff"] {
        assert_eq!(now[field], seed[field], "{field}");
    }
}
