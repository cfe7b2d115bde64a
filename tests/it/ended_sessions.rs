//! What ended sessions leave: their errors, agents and stories; the list of sessions; times and
//! colours in lists.

use std::fs;
use std::mem::ManuallyDrop;

use serde_json::{Value, json};

use crate::support::{Scratch, event, good, misused, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

/// The same project at another time, two hours east of UTC; who made it removes it.
fn at(scratch: &Scratch, time: &str) -> ManuallyDrop<Scratch> {
    let mut same = scratch.at(time);
    same.env.insert("TZ".into(), "XYZ-2".into());
    same
}

fn later(scratch: &Scratch) -> ManuallyDrop<Scratch> {
    at(scratch, "2026-01-29T23:00:00Z")
}

fn failure(session: &str, call: &str, command: &str, error: &str) -> Value {
    event(
        session,
        "PostToolUseFailure",
        json!({"tool_name": "Bash", "tool_use_id": call, "tool_input": {"command": command}, "error": error}),
    )
}

/// A session with an agent, two errors of which one recovered, a compaction; it has ended.
fn ended() -> Scratch {
    let scratch = Scratch::new();
    let fire = |time: &str, name: &str, fields: Value| {
        at(&scratch, &format!("2026-01-29T{time}Z")).hook(&event(SESSION, name, fields));
    };
    fire("10:30:00", "SessionStart", json!({"source": "startup"}));
    fire("10:30:01", "UserPromptSubmit", json!({"prompt": "Review the shop and its till"}));
    fire("10:30:05", "SubagentStart", json!({"agent_id": "a849c1", "agent_type": "Explore"}));
    at(&scratch, "2026-01-29T10:30:09Z").hook(&failure(
        SESSION,
        "t1",
        "make till",
        "Exit code 2\nmake: *** No rule to make target",
    ));
    at(&scratch, "2026-01-29T10:30:20Z").hook(&failure(
        SESSION,
        "t2",
        "curl shop.test",
        "curl: (28) connection timed out",
    ));
    fire(
        "10:30:40",
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_use_id": "t3", "tool_input": {"command": "make till"}, "tool_response": {}}),
    );
    fire(
        "10:30:50",
        "SubagentStop",
        json!({"agent_id": "a849c1", "agent_type": "Explore",
            "last_assistant_message": "- S1: Passwords may be empty (src/login.rs:12)"}),
    );
    fire("10:31:00", "PreCompact", json!({"trigger": "manual", "custom_instructions": null}));
    fire("10:31:05", "PostCompact", json!({"trigger": "manual", "compact_summary": "The till"}));
    fire("10:31:10", "SessionEnd", json!({"reason": "prompt_input_exit"}));
    scratch
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn errors_of_ended_sessions_stay_with_their_messages() {
    let scratch = ended();
    let here = later(&scratch);
    let text = good(here.run(&["errors"], b""));
    assert!(
        text.starts_with("2 in all, 0 pending, 1 recovered, 0 escalated, 1 not listed"),
        "{text}"
    );
    let status = good(here.run(&["status"], b""));
    assert!(status.contains("Errors: none open\n"), "{status}");
    assert!(text.contains("2 errors of ended sessions: hookkeeper errors --all"), "{text}");
    for args in
        [&["errors", "--all"][..], &["errors", "--session", "0f"], &["errors", "--since", "1d"]]
    {
        let text = good(here.run(args, b""));
        assert!(text.starts_with("ERROR "), "{text}");
        assert!(text.contains("01-29 12:30"), "local time: {text}");
        assert!(text.contains("Bash make till: Exit code 2 make: *** No rule"), "{text}");
        assert!(text.contains("0 pending, 1 recovered, 0 escalated, 1 open"), "{text}");
        assert!(text.contains("curl: (28) connection timed out"), "{text}");
    }
    let id = parsed(&good(here.run(&["errors", "--all", "--json"], b"")))[0]["id"].clone();
    let run = here.run(&["errors", "resolve", id.as_str().unwrap()], b"");
    refused(&run, "has ended: its errors stay as they were");
    let none = good(here.run(&["errors", "--since", "1h"], b""));
    assert!(none.starts_with("0 since ") && !none.contains("in all"), "{none}");
    let all = parsed(&good(here.run(&["errors", "--all", "--json"], b"")));
    let summary: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["target"].as_str().unwrap(), one["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        summary,
        [("Bash make till", "recovered"), ("Bash curl shop.test", "pending_retry")]
    );
    assert_eq!(all[0]["timestamp"], "2026-01-29T10:30:09Z", "UTC for programs");
    let id = all[0]["id"].as_str().unwrap();
    let text = good(here.run(&["errors", "show", id.get(6..14).unwrap()], b""));
    assert!(text.contains("when: 2026-01-29 12:30:09"), "{text}");
    assert!(text.contains(&format!("session: {SESSION}")), "{text}");
    assert!(text.contains("  Exit code 2\n  make: *** No rule to make target\n"), "{text}");
    assert_eq!(parsed(&good(here.run(&["errors", "show", id, "--json"], b""))), all[0]);
    refused(&here.run(&["errors", "show", "zz"], b""), "there is no error `zz`");
    refused(&here.run(&["errors", "--session", "zz"], b""), "there is no session `zz`");
    misused(&here.run(&["errors", "--since", "soon"], b""), "`soon` is no time");
}

#[test]
fn errors_whose_history_is_gone_are_still_counted() {
    let scratch = ended();
    fs::remove_dir_all(scratch.state().join("journal")).unwrap();
    let text = good(later(&scratch).run(&["errors", "--all"], b""));
    assert!(text.starts_with("2 in all"), "{text}");
    assert!(text.contains("Of 2 only the number is left"), "{text}");
    let text = good(later(&scratch).run(&["sessions", "show", "0f3e"], b""));
    assert!(text.contains("2 whose record is gone"), "{text}");
    assert!(text.contains("Its journal is gone"), "{text}");
    assert!(text.contains("when: 2026-01-29"), "{text}");
}

#[test]
fn agents_of_ended_sessions_are_known_without_the_archive() {
    let scratch = ended();
    let here = later(&scratch);
    let archived = parsed(&good(here.run(&["agents", "--session", "0f", "--json"], b"")));
    assert_eq!(archived["finished"][0]["agent_id"], "a849c1");
    fs::remove_dir_all(scratch.state().join("agents/results-archive")).unwrap();
    assert_eq!(parsed(&good(here.run(&["agents", "--session", "0f", "--json"], b""))), archived);
    let text = good(here.run(&["agents", "show", "a8"], b""));
    assert!(text.contains("S1 Passwords may be empty (src/login.rs:12)"), "{text}");
    assert!(text.contains("when: 2026-01-29 12:30:05 to 2026-01-29 12:30:50"), "{text}");
    assert!(text.contains("its last message:\n  - S1: Passwords"), "{text}");
}

#[test]
fn an_agent_whose_end_was_never_told_is_known_by_its_start() {
    let scratch = ended();
    fs::remove_dir_all(scratch.state().join("agents/results-archive")).unwrap();
    let file = scratch.state().join(format!("journal/{SESSION}.jsonl"));
    let text = fs::read_to_string(&file).unwrap();
    let kept = text.lines().filter(|line| !line.contains("\"agent_end\""));
    fs::write(&file, kept.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let text = good(later(&scratch).run(&["agents", "show", "a849"], b""));
    assert!(text.starts_with("a849c1  Explore, unknown, nobody knows how it ended"), "{text}");
}

#[test]
fn the_story_of_a_session_is_told() {
    let scratch = ended();
    let here = later(&scratch);
    let text = good(here.run(&["sessions", "show", "0f3e"], b""));
    for part in [
        "Review the shop and its till\nsession: 0f3e8a2c",
        "when: 2026-01-29 12:30:00 to 2026-01-29 12:31:10 (70 s)",
        "end: The user left it.",
        "compactions: 1",
        "  a849c1  success  Explore  45 s  1 finding",
        "  S1  Passwords may be empty (src/login.rs:12)",
        "; 1 recovered",
        "  12:30:01          prompt: Review the shop and its till",
        "recovered: Bash make till",
        "session ended: left",
        "  1 line more (--all)",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let all = good(here.run(&["sessions", "show", "0f3e", "--all"], b""));
    assert!(all.lines().count() == text.lines().count() && !all.contains("more (--all)"), "{all}");
    let story = parsed(&good(here.run(&["sessions", "show", "0f3e", "--json"], b"")));
    let session = &story["session"];
    assert_eq!(session["started"], "2026-01-29T10:30:00.000Z");
    assert_eq!(
        (&session["seconds"], &session["reason"]),
        (&json!(70), &json!("prompt_input_exit"))
    );
    assert_eq!(story["agents"][0]["findings"][0]["severity"], "S1");
    let classes = story["errors_by_class"].as_object().unwrap();
    assert_eq!(classes.values().filter_map(Value::as_u64).sum::<u64>(), 2);
    assert_eq!(story["left_out"], 1);
    assert_eq!(story["timeline"].as_array().unwrap().last().unwrap()["kind"], "end");
    refused(&here.run(&["sessions", "show", "zz"], b""), "there is no session `zz`");
    misused(&here.run(&["sessions", "show", ""], b""), "which session?");
}

#[test]
fn a_long_story_is_shortened_and_a_damaged_one_says_so() {
    let scratch = ended();
    let file = scratch.state().join(format!("journal/{SESSION}.jsonl"));
    let mut text = fs::read_to_string(&file).unwrap();
    for n in 0..200 {
        let line = json!({"v": 1, "time": format!("2026-01-29T10:31:{:02}.{:03}Z", 10 + n / 100, n % 100),
            "kind": "prompt", "session": SESSION, "text": format!("Again {n}")});
        text.push_str(&format!("{line}\n"));
    }
    text.push_str(
        "{\"v\":9,\"time\":\"2026-01-29T10:32:00Z\",\"kind\":\"dream\",\"session\":\"x\"}\n",
    );
    text.push_str("\u{0}\u{0}\n{\"v\":1,\"ti");
    fs::write(&file, text).unwrap();
    let here = later(&scratch);
    let text = good(here.run(&["sessions", "show", "0f3e"], b""));
    assert!(text.contains("prompt: Again 199") && !text.contains("prompt: Again 100"), "{text}");
    assert!(text.contains("lines more (--all)"), "{text}");
    assert!(
        text.contains("Left out: 2 lines cut off or damaged, 1 line of a newer version."),
        "{text}"
    );
    let all = good(here.run(&["sessions", "show", "0f3e", "--all"], b""));
    assert!(all.contains("prompt: Again 100"), "{all}");
    good(here.run(&["errors", "--all"], b""));
    good(here.run(&["agents", "--session", "0f3e"], b""));
}

#[test]
fn a_session_without_any_event_has_a_story() {
    let scratch = ended();
    fs::write(scratch.state().join("journal/empty.jsonl"), "").unwrap();
    let text = good(later(&scratch).run(&["sessions", "show", "empty"], b""));
    assert!(text.starts_with("A session without a prompt\nsession: empty\n"), "{text}");
    assert!(text.contains("It is not known how it ended."), "{text}");
}

#[test]
fn sessions_are_a_table_in_words_and_local_time() {
    let scratch = ended();
    at(&scratch, "2026-01-29T22:50:00Z").hook(&event(
        "s2",
        "UserPromptSubmit",
        json!({"prompt": "Close the till"}),
    ));
    let text = good(later(&scratch).run(&["sessions"], b""));
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "SESSION   STARTED      TOOK    ENDED  AGENTS  ERRORS  FINDINGS  TASK",
            "s2        00:50        10 min  live   0       0       0         Close the till",
            "0f3e8a2c  01-29 12:30  70 s    left   1       2       1         Review the shop and its till",
        ]
    );
}

#[test]
fn colours_are_as_asked_for() {
    let scratch = ended();
    let mut here = later(&scratch);
    let has_colour = |here: &Scratch, args: &[&str]| good(here.run(args, b"")).contains('\u{1b}');
    for command in [
        &["sessions"][..],
        &["errors", "--all"],
        &["agents", "--session", "0f"],
        &["log"],
        &["status"],
        &["backup", "list"],
        &["sessions", "show", "0f"],
    ] {
        let with = |choice: &'static str| [command, &["--color", choice]].concat();
        assert!(!has_colour(&here, command), "{command:?}: no terminal");
        assert!(has_colour(&here, &with("always")), "{command:?}");
        assert!(!has_colour(&here, &with("never")), "{command:?}");
    }
    here.env.insert("CLICOLOR_FORCE".into(), "1".into());
    assert!(has_colour(&here, &["sessions"]));
    assert!(!has_colour(&here, &["sessions", "--color", "never"]));
    let wrong = here.run(&["sessions", "--color", "pink"], b"");
    assert_eq!(wrong.code, Some(64));
}
