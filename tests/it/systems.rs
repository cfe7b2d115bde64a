//! Systems that are switched off: hooks read none of their documents, write none, and say nothing of
//! them; whoever switches one on again finds it as it was.

use std::fs;

use serde_json::{Value, json};

use crate::support::execution::{Plan, TWO};
use crate::support::{self, Scratch, good, tree};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

fn event(name: &str, fields: Value) -> Value {
    support::event(SESSION, name, fields)
}

/// One of nearly everything that a session does.
fn play(scratch: &Scratch) -> String {
    let agent = json!({"agent_id": "a1", "agent_type": "Explore"});
    let found = json!({"agent_id": "a1", "agent_type": "Explore",
        "last_assistant_message": "- [S1] The till is open (src/till.rs:3). Recommendation: close it."});
    let failed = json!({"tool_name": "Bash", "tool_use_id": "t1", "error": "Exit code 7\nconnection refused",
        "tool_input": {"command": "curl shop.test/items"}});
    let events = [
        event("SessionStart", json!({"source": "startup"})),
        event("UserPromptSubmit", json!({"prompt": "Review the shop"})),
        event("SubagentStart", agent),
        event("SubagentStop", found),
        event("PostToolUseFailure", failed),
        event("PreCompact", json!({"trigger": "auto"})),
        event("PostCompact", json!({"trigger": "auto", "compact_summary": "x"})),
        event("SessionStart", json!({"source": "compact"})),
        event("Stop", json!({"stop_hook_active": false})),
    ];
    events.iter().map(|event| scratch.hook(event).stdout).collect()
}

/// A project of its own, with one system off and a setting that does not fit, which is a notice.
fn project(off: Option<&str>) -> Scratch {
    let scratch = Scratch::new();
    scratch.hook(&support::event("s0", "SessionStart", json!({"source": "startup"})));
    scratch.hook(&support::event("s0", "SessionEnd", json!({"reason": "other"})));
    let systems = off.map_or_else(|| json!({}), |name| json!({name: false}));
    let settings = json!({"systems": systems, "keep_backups": "three"}).to_string();
    fs::write(scratch.root().join(".claude/hookkeeper.json"), settings).unwrap();
    for room in ["state/journal", "state/notices.json"] {
        let path = scratch.root().join(".claude").join(room);
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_file(&path);
    }
    scratch
}

#[test]
fn a_system_that_is_off_leaves_nothing_and_says_nothing() {
    for (system, path, words) in [
        ("agents", "state/agents/results/", "a1"),
        ("errors", "state/errors/classified.json", "connection"),
        ("compaction", "state/compaction/backup_", "through the compaction"),
        ("journal", "state/journal/", ""),
        ("branches", "branches/", ""),
        ("notices", "state/notices.json", "keep_backups"),
        ("loop", "state/loop/", "work item"),
    ] {
        for off in [false, true] {
            let scratch = project(off.then_some(system));
            let said = play(&scratch);
            let files = tree(&scratch.root().join(".claude"));
            let has = files.keys().any(|name| name.starts_with(path));
            assert_eq!(has, !off, "{system}, off: {off}: {:?}", files.keys());
            let is_said = !words.is_empty() && said.contains(words);
            assert!(!(off && is_said), "{system}: {said}");
            // The others go on.
            assert!(files.keys().any(|name| name.starts_with("state/session/live/")));
        }
    }
}

#[test]
fn a_loop_that_is_off_rests_and_goes_on_when_it_is_on_again() {
    for (system, start, file) in [
        ("loop", &["loop", "start", "Work"][..], "state/loop/work_queue.json"),
        ("branch_loop", &["branch", "loop", "start", "Work"], "branches/unknown/state.json"),
        ("branches", &["branch", "loop", "start", "Work"], "branches/unknown/state.json"),
        ("autonomous", &["autonomous", "start", "Work"], "autonomous-loop.json"),
        (
            "iterative",
            &[
                "iterative",
                "new",
                "work",
                "--task",
                "Work",
                "--mode",
                "development",
                "--unit",
                "T1: a | b",
            ],
            "iterative/work/state.json",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.hook(&event("SessionStart", json!({"source": "startup"})));
        good(scratch.run(start, b""));
        let key = format!("systems.{system}");
        good(scratch.run(&["config", "set", &key, "off"], b""));
        let path = scratch.root().join(".claude").join(file);
        let before = fs::read(&path).unwrap();
        let stop = || scratch.hook(&event("Stop", json!({"stop_hook_active": false}))).stdout;
        assert_eq!(stop(), "", "{system}");
        let prompt = event("UserPromptSubmit", json!({"prompt": "stop the loop"}));
        assert_eq!(scratch.hook(&prompt).stdout, "", "{system}");
        let resumed = event("SessionStart", json!({"source": "resume"}));
        assert_eq!(scratch.hook(&resumed).stdout, "", "{system}");
        assert_eq!(fs::read(&path).unwrap(), before, "{system}: its document stays");
        good(scratch.run(&["config", "unset", &key], b""));
        assert!(stop().contains("\"block\""), "{system} goes on");
    }
}

#[test]
fn hand_offs_and_executions_that_are_off_are_not_told() {
    let shop = Plan::new(&TWO);
    let scratch = &shop.scratch;
    scratch.hook(&event("SessionStart", json!({"source": "startup"})));
    shop.init(&[]);
    good(scratch.run(&["branch", "handoff", "--type", "task", "--note", "x"], b""));
    let start = |id: &str| {
        let started = support::event(id, "SessionStart", json!({"source": "startup"}));
        scratch.hook(&started).stdout
    };
    good(scratch.run(&["config", "set", "systems.handoffs", "off"], b""));
    good(scratch.run(&["config", "set", "systems.execute", "off"], b""));
    let said = start("s2");
    assert!(!said.contains("hand-off") && !said.contains("execut"), "{said}");
    good(scratch.run(&["config", "unset", "systems.handoffs"], b""));
    good(scratch.run(&["config", "unset", "systems.execute"], b""));
    let said = start("s3");
    assert!(said.contains("hand-off") && said.contains("hookkeeper execute"), "{said}");
}
