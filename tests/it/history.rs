//! What happened, from the journals: `log`, `gc`; journals that are damaged, planted or in the way.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{self, Scratch, event, good, misused, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

fn prompt(session: &str, text: &str) -> Value {
    event(session, "UserPromptSubmit", json!({"prompt": text, "prompt_id": "p1"}))
}

fn bash(session: &str, command: &str) -> Value {
    event(
        session,
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_use_id": "t1", "duration_ms": 1234,
            "tool_input": {"command": command}, "tool_response": {}}),
    )
}

/// Two sessions, one after the other, each with a prompt and a call.
fn shop() -> Scratch {
    let scratch = Scratch::new();
    scratch.at("2026-01-29T10:30:00Z").hook(&prompt(SESSION, "Review the shop"));
    scratch.at("2026-01-29T10:30:10Z").hook(&bash(SESSION, "cargo test"));
    scratch.at("2026-01-29T10:31:00Z").hook(&prompt("s2", "Close the till"));
    scratch.at("2026-01-29T10:31:10.250Z").hook(&bash("s2", "make till"));
    scratch
}

fn journal(scratch: &Scratch, session: &str) -> Vec<Value> {
    let text = fs::read_to_string(scratch.state().join(format!("journal/{session}.jsonl")));
    text.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_log_is_in_local_time_for_people_and_in_utc_for_programs() {
    let scratch = shop();
    let mut here = scratch.at("2026-01-29T12:00:00Z");
    here.env.insert("TZ".into(), "XYZ-2".into());
    let text = good(here.run(&["log"], b""));
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "12:30:00  0f3e8a2c  prompt: Review the shop",
            "12:30:10  0f3e8a2c  Bash cargo test (1.2 s)",
            "12:31:00  s2        prompt: Close the till",
            "12:31:10  s2        Bash make till (1.2 s)",
        ]
    );
    here.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-02-01T12:00:00Z".into());
    let text = good(here.run(&["log", "-n", "1"], b""));
    assert_eq!(text.trim_end(), "2026-01-29 12:31  s2  Bash make till (1.2 s)");
    let lines = good(here.run(&["log", "--json", "--session", "s2"], b""));
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, journal(&scratch, "s2"));
    assert_eq!(lines[1]["time"], "2026-01-29T10:31:10.250Z");
    assert_eq!((&lines[1]["ms"], &lines[1]["call"]), (&json!(1234), &json!("t1")));
}

#[test]
fn the_log_shows_what_is_asked_for() {
    let scratch = shop();
    let here = scratch.at("2026-01-29T10:32:00Z");
    let count = |args: &[&str]| {
        let all = [&["log", "--json"], args].concat();
        good(here.run(&all, b"")).lines().count()
    };
    assert_eq!(count(&[]), 4);
    assert_eq!(count(&["--session", "0f3e"]), 2);
    assert_eq!(count(&["--since", "61s"]), 2);
    assert_eq!(count(&["--since", "2026-01-29"]), 4);
    assert_eq!(count(&["--event", "prompt"]), 2);
    assert_eq!(count(&["--event", "post-tool-use"]), 2);
    assert_eq!(count(&["--agent", "a1"]), 0);
    assert_eq!(count(&["-n", "3"]), 3);
    let runs = good(here.run(&["log", "--runs", "--session", "s2"], b""));
    assert!(runs.contains("PostToolUse") && runs.contains("0 µs"), "{runs}");
    assert!(runs.contains("session/live/s2.json"), "{runs}");
    misused(&here.run(&["log", "--since", "soon"], b""), "`soon` is no time");
    misused(&here.run(&["log", "--event", "dream"], b""), "`dream` is no event");
    refused(&here.run(&["log", "--session", "zz"], b""), "there is no session `zz`");
}

#[test]
fn nothing_yet_is_said() {
    let scratch = Scratch::new();
    let nothing = good(scratch.run(&["log"], b""));
    assert!(nothing.starts_with("There is no state here yet. It begins when"), "{nothing}");
    assert!(good(scratch.run(&["gc"], b"")).contains("nothing to remove"));
    scratch.hook(&prompt("s1", "hello"));
    fs::remove_dir_all(scratch.state().join("journal")).unwrap();
    assert!(good(scratch.run(&["log"], b"")).contains("Nothing has happened"));
    fs::create_dir(scratch.state().join("journal")).unwrap();
    fs::write(scratch.state().join("journal/s1.jsonl"), "").unwrap();
    assert!(good(scratch.run(&["log", "--session", "s1"], b"")).contains("Nothing has happened"));
}

#[test]
fn what_is_followed_comes_as_it_happens() {
    let scratch = shop();
    let mut child = scratch
        .command(&["log", "--follow", "--json", "-n", "1", "--event", "prompt"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["text"], "Close the till");
    scratch.hook(&bash("s2", "ls"));
    scratch.hook(&prompt("s3", "Open it again"));
    assert_eq!(next()["text"], "Open it again");
    scratch.hook(&prompt("s3", "And close it"));
    assert_eq!(next()["text"], "And close it");
    use std::io::Write as _;
    child.stdin.take().unwrap().write_all(b"q\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn damaged_lines_are_passed_over_and_named_and_the_next_line_is_whole() {
    let scratch = shop();
    let file = scratch.state().join("journal/s2.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let newer = r#"{"v":9,"time":"2026-01-29T10:32:00.000Z","kind":"dream","session":"s2"}"#;
    fs::write(&file, format!("{newer}\n{whole}\n\u{0}\u{0}\n{{\"v\":1,\"ti")).unwrap();
    scratch.at("2026-01-29T10:33:00Z").hook(&bash("s2", "make all"));
    let text = good(scratch.run(&["log", "-n", "0"], b""));
    assert!(text.contains("Bash make till") && text.contains("Bash make all"), "{text}");
    let last = text.lines().last().unwrap();
    assert_eq!(last, "Left out: 2 lines cut off or damaged, 1 line of a newer version.");
}

#[test]
fn a_journal_that_cannot_be_written_or_is_planted_stops_no_hook() {
    let scratch = shop();
    let file = scratch.state().join("journal/s2.jsonl");
    let outside = scratch.home().join("outside");
    fs::write(&outside, "mine").unwrap();
    let plant: [&dyn Fn(); 4] = [
        &|| symlink(&outside, &file).unwrap(),
        &|| fs::hard_link(&outside, &file).unwrap(),
        &|| fs::create_dir(&file).unwrap(),
        &|| rustix_pipe(&file),
    ];
    for plant in plant {
        let _ = fs::remove_file(&file);
        let _ = fs::remove_dir(&file);
        plant();
        scratch.hook(&bash("s2", "make all"));
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
        good(scratch.run(&["log"], b""));
    }
    fs::remove_file(&file).unwrap();
    scratch.hook(&bash("s2", "make all"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

fn rustix_pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn what_belongs_to_no_session_has_a_place_and_a_hostile_id_another() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["hook"], b"{\"half").code, Some(1));
    scratch.hook(&prompt("no-session", "I have that name"));
    scratch.hook(&prompt("../../escape", "I want out"));
    let rejected = journal(&scratch, "no-session");
    assert_eq!((rejected.len(), &rejected[0]["kind"]), (1, &json!("rejected")));
    assert!(rejected[0]["outcome"].as_str().unwrap().starts_with("rejected: "), "{rejected:?}");
    let names = scratch.names("journal");
    assert!(names.len() == 3 && names[1].starts_with("x-") && names[2].starts_with("x-"));
    assert!(good(scratch.run(&["log", "--session", "../../escape"], b"")).contains("I want out"));
    let doctor = scratch.run(&["doctor"], b"").stdout;
    assert!(doctor.contains("1 of the last 3 hook runs failed"), "{doctor}");
}

#[test]
fn gc_keeps_what_the_settings_say_and_live_sessions() {
    let scratch = Scratch::new();
    for n in 0..4 {
        scratch.hook(&prompt(&format!("s{n}"), "hello"));
        if n != 1 {
            scratch.hook(&event(&format!("s{n}"), "SessionEnd", json!({"reason": "logout"})));
        }
        let file = scratch.state().join(format!("journal/s{n}.jsonl"));
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(500 - n * 100);
        fs::File::options().append(true).open(file).unwrap().set_modified(time).unwrap();
    }
    assert!(good(scratch.run(&["gc"], b"")).starts_with("Removed the history of 0 sessions"));
    let settings = scratch.root().join(".claude/hookkeeper.json");
    fs::write(&settings, r#"{"keep_sessions": 1}"#).unwrap();
    fs::create_dir_all(scratch.state().join("log")).unwrap();
    fs::write(scratch.state().join("log/hooks.jsonl"), "{}\n").unwrap();
    let said = good(scratch.run(&["gc", "--dry-run"], b""));
    assert!(said.starts_with("Would remove the history of 2 sessions"), "{said}");
    assert_eq!(scratch.names("journal").len(), 4);
    let done: Value = serde_json::from_str(&good(scratch.run(&["gc", "--json"], b""))).unwrap();
    assert_eq!((&done["removed"], &done["kept"]), (&json!(["s2", "s0"]), &json!(2)));
    assert_eq!(scratch.names("journal"), ["s1.jsonl", "s3.jsonl"]);
    assert!(!scratch.exists("log"), "the log of earlier versions");
}

#[test]
fn the_whole_story_of_an_agent_an_error_and_an_end_is_told() {
    let scratch = Scratch::new();
    let secret = "sk-ant-REDACTME0123456789abcdef";
    scratch.hook(&prompt(SESSION, &format!("Use {secret}")));
    scratch.hook(&event(
        SESSION,
        "PreToolUse",
        json!({"tool_name": "Agent", "tool_use_id": "c1", "tool_input": {"description": "Look",
            "subagent_type": "Explore", "prompt": format!("Look with {secret}")}}),
    ));
    scratch.hook(&event(
        SESSION,
        "SubagentStart",
        json!({"agent_id": "a1", "agent_type": "Explore"}),
    ));
    scratch.hook(&event(
        SESSION,
        "SubagentStop",
        json!({"agent_id": "a1", "agent_type": "Explore",
            "last_assistant_message": format!("- [S1] The till is open. {secret}")}),
    ));
    let failure = json!({"tool_name": "Bash", "tool_use_id": "t1", "duration_ms": 7,
        "tool_input": {"command": "curl shop.test"}, "error": "Exit code 7\nConnection refused"});
    scratch.hook(&event(SESSION, "PostToolUseFailure", failure));
    scratch.hook(&bash(SESSION, "curl shop.test"));
    good(scratch.run(&["gate", "test", "pass"], b""));
    scratch.hook(&event(SESSION, "PreCompact", json!({"trigger": "auto"})));
    scratch.hook(&event(SESSION, "Stop", json!({"last_assistant_message": "Done."})));
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "logout"})));
    let lines = journal(&scratch, SESSION);
    assert!(!serde_json::to_string(&lines).unwrap().contains("REDACTME"));
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "prompt",
            "call",
            "run",
            "agent_start",
            "run",
            "agent_end",
            "tool",
            "error",
            "tool",
            "recovered",
            "compact",
            "stop",
            "run",
            "end"
        ]
    );
    let of = |kind: &str| lines.iter().find(|line| line["kind"] == kind).unwrap();
    assert_eq!(of("agent_end")["record"]["findings"][0]["severity"], "S1");
    assert_eq!(of("error")["record"]["classification"], "network");
    assert_eq!(of("end")["record"]["session_id"], SESSION);
    assert_eq!(of("recovered")["target"], of("error")["target"]);
    assert_eq!(journal(&scratch, "no-session")[0]["kind"], "gate", "nobody ran it");
}

#[test]
fn what_a_session_took_is_the_sum_of_its_stretches() {
    let scratch = shop();
    for (from, to) in [("10:00:00", "10:00:12"), ("11:00:00", "11:00:25"), ("12:00:00", "12:00:20")]
    {
        let source = if from == "10:00:00" { "startup" } else { "resume" };
        let begun = scratch.at(&format!("2026-01-29T{from}Z"));
        begun.hook(&event("s1", "SessionStart", json!({"source": source})));
        begun.hook(&prompt("s1", "Add the login form"));
        let over = scratch.at(&format!("2026-01-29T{to}Z"));
        over.hook(&event("s1", "SessionEnd", json!({"reason": "other"})));
    }
    let known = good(scratch.run(&["sessions", "show", "s1"], b""));
    assert!(known.contains("(57 s)"), "{known}");
    let earlier = good(scratch.run(&["status"], b""));
    assert!(earlier.contains("under 1 min"), "{earlier}");
}

#[test]
fn a_clock_that_jumped_hides_nothing() {
    let scratch = shop();
    scratch.at("2020-01-01T00:00:00Z").hook(&bash("s2", "make past"));
    scratch.at("2026-01-29T10:33:00Z").hook(&bash("s2", "make all"));
    let here = scratch.at("2026-01-29T10:34:00Z");
    for args in [&[][..], &["--session", "s2"]] {
        let text = good(here.run(&[&["log", "--since", "1h"], args].concat(), b""));
        let seen = ["Close the till", "make till", "make all"].map(|words| text.contains(words));
        assert_eq!((seen, text.contains("make past")), ([true; 3], false), "{text}");
    }
}

#[test]
fn a_line_without_a_time_is_damaged_and_one_of_an_unknown_kind_is_passed_over() {
    let scratch = shop();
    let file = scratch.state().join("journal/s2.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let line =
        |time: &str, kind: &str| json!({"v": 1, "time": time, "kind": kind, "session": "s2"});
    let (bad, newer) = (line("yesterday", "tool"), line("2026-01-29T10:32:00.000Z", "dream"));
    fs::write(&file, format!("{bad}\n{whole}{newer}\n")).unwrap();
    let here = scratch.at("2026-01-29T10:34:00Z");
    let text = good(here.run(&["log", "--since", "1h"], b""));
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.ends_with("Left out: 1 line cut off or damaged.\n"), "{text}");
    let json = good(here.run(&["log", "--json"], b""));
    assert_eq!((json.lines().count(), json.contains("yesterday")), (5, false), "{json}");
    for args in [&["log", "--event", "Stop"][..], &["sessions", "show", "s2"]] {
        assert!(!good(here.run(args, b"")).contains("10:32:00"), "{args:?}");
    }
}

#[test]
fn lines_of_json_have_no_prose_between_them() {
    assert_eq!(good(Scratch::new().run(&["log", "--json"], b"")), "");
}

#[test]
fn a_copied_project_is_told_how_to_have_its_history() {
    let (theirs, ours) = (shop(), Scratch::new());
    for (name, bytes) in support::tree(&theirs.root()) {
        let path = ours.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let ask = || {
        for args in [&["log"][..], &["search", "till"], &["sessions"], &["agents"], &["cost"]] {
            let said = good(ours.run(args, b""));
            assert!(said.contains("`hookkeeper trust` in a terminal"), "{args:?} {said}");
        }
        refused(&ours.run(&["report"], b""), "`hookkeeper trust` in a terminal");
        assert_eq!(good(ours.run(&["log", "--json"], b"")), "");
    };
    ask();
    assert_eq!(ours.run(&["trust", "--yes"], b"").code, Some(0));
    assert!(good(ours.run(&["log"], b"")).contains("Close the till"));
    assert!(!good(ours.run(&["search", "no such text"], b"")).contains("trust"));
}
