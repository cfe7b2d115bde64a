//! `record` and `replay`, through the binary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{self, Scratch};

fn start(session: &str) -> Value {
    json!({"session_id": session, "hook_event_name": "SessionStart", "source": "startup"})
}

fn agent(session: &str, agent: &str) -> Value {
    json!({"session_id": session, "hook_event_name": "SubagentStart", "agent_id": agent, "agent_type": "Explore"})
}

/// Every file below a directory, but for the journal.
fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "journal" {
            let below = tree(&path).into_iter();
            files.extend(below.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else if path.is_file() {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn recording_keeps_redacted_payloads_while_it_is_on() {
    let scratch = Scratch::new();
    scratch.hook(&start("s"));
    assert!(!scratch.exists("recorded"));
    let settings = scratch.root().join(".claude/hookkeeper.json");
    fs::write(&settings, "{\n    \"keep_backups\": 4\n}").unwrap();
    let run = scratch.run(&["record", "on"], b"");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let early = scratch.run(&["replay", ".claude/state/recorded"], b"");
    assert_eq!(early.code, Some(1));
    assert!(early.stderr.contains("recorded: nothing is recorded yet"), "{}", early.stderr);
    let other = scratch.run(&["replay", "nowhere"], b"");
    assert!(other.stderr.contains("nowhere cannot be read: No such file"), "{}", other.stderr);
    assert_eq!(
        fs::read_to_string(&settings).unwrap(),
        "{\n    \"keep_backups\": 4,\n    \"record\": true\n}"
    );
    scratch.hook(&json!({"session_id": "s", "hook_event_name": "UserPromptSubmit",
        "prompt": "use sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHH1234567890abcdefgh please"}));
    scratch.hook(&agent("s", "a1"));
    let names = scratch.names("recorded");
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].contains("-UserPromptSubmit-") && names[1].contains("-SubagentStart-"));
    let kept = fs::read_to_string(scratch.state().join("recorded").join(&names[0])).unwrap();
    assert!(kept.contains(" please") && !kept.contains("AAAABBBB"), "{kept}");
    let list = scratch.run(&["record", "list"], b"").stdout;
    assert!(
        list.contains("SubagentStart") && list.contains("2 in .claude/state/recorded"),
        "{list}"
    );
    let list = scratch.run(&["record", "list", "--json"], b"").stdout;
    assert_eq!(
        serde_json::from_str::<Value>(list.lines().next().unwrap()).unwrap()["event"],
        "UserPromptSubmit"
    );
    assert_eq!(scratch.run(&["record", "off"], b"").code, Some(0));
    assert_eq!(
        fs::read_to_string(&settings).unwrap(),
        "{\n    \"keep_backups\": 4,\n    \"record\": false\n}"
    );
    scratch.hook(&agent("s", "a2"));
    assert_eq!(scratch.names("recorded").len(), 2);
    assert!(scratch.run(&["record", "off"], b"").stdout.contains("off already"));
}

#[test]
fn the_newest_two_hundred_are_kept() {
    let scratch = Scratch::new();
    scratch.run(&["record", "on"], b"");
    let room = scratch.state().join("recorded");
    fs::create_dir_all(&room).unwrap();
    for n in 0..250 {
        fs::write(room.join(format!("20200101T000000{n:03}Z-Stop-1.json")), "{}").unwrap();
    }
    scratch.hook(&start("s"));
    let names = scratch.names("recorded");
    assert_eq!(names.len(), 200);
    assert_eq!(names[0], "20200101T000000051Z-Stop-1.json");
    assert!(names[199].contains("SessionStart"));
}

#[test]
fn a_broken_settings_file_is_left_alone() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.root().join(".claude")).unwrap();
    let settings = scratch.root().join(".claude/hookkeeper.json");
    fs::write(&settings, "{\"record\": }").unwrap();
    let run = scratch.run(&["record", "on"], b"");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.stderr,
        "hookkeeper: .claude/hookkeeper.json: line 1, column 12: a value must stand here\n"
    );
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"record\": }");
}

#[test]
fn replay_works_on_a_copy_and_shows_what_changed() {
    let scratch = Scratch::new();
    scratch.hook(&start("s"));
    let before = tree(&scratch.state());
    let file = scratch.root().join("agent.json");
    fs::write(&file, serde_json::to_string_pretty(&agent("s", "a1")).unwrap()).unwrap();
    let run = scratch.run(&["replay", "agent.json"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    assert!(run.stdout.starts_with("── 1/1 SubagentStart  agent.json\nexit 0, "), "{}", run.stdout);
    assert!(run.stdout.contains("\n+++ state/agents/active.json\n@@ "), "{}", run.stdout);
    assert!(run.stdout.contains("\n+      \"id\": \"a1\",\n"));
    assert!(run.stdout.ends_with("1 payload played on a copy; the state is as it was\n"));
    assert_eq!(tree(&scratch.state()), before);

    let run = scratch.run(&["replay", "--apply", "--no-diff", "agent.json"], b"");
    assert!(
        run.stdout.ends_with("1 payload played on the project's own state\n"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("@@"));
    assert_eq!(scratch.doc("agents/active.json")["agents"][0]["id"], "a1");
    let live = scratch.doc("session/live/s.json");
    assert_eq!(live["client"]["pid"], 1, "the session keeps its client");
}

#[test]
fn replay_takes_directories_lines_and_stdin() {
    let mut scratch = Scratch::new();
    let temp = scratch.home().join("tmp");
    fs::create_dir(&temp).unwrap();
    scratch.env.insert("TMPDIR".into(), temp.display().to_string());
    let dir = scratch.root().join("payloads/more");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("2.jsonl"), format!("{}\n{}\n", agent("s", "a1"), agent("s", "a2")))
        .unwrap();
    fs::write(scratch.root().join("payloads/1.json"), start("s").to_string()).unwrap();
    fs::write(scratch.root().join("payloads/notes.txt"), "not a payload").unwrap();
    let stop = json!({"session_id": "s", "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_use_id": "t", "tool_input": {"command": "curl x.test"}, "error": "Exit code 7\nconnection refused"});
    let other = json!({"session_id": "s", "hook_event_name": "PostToolBatch"});
    let stdin = format!("{stop}\n{other}\n");
    let run = scratch.run(&["replay", "--json", "payloads", "-"], stdin.as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |key: &str| lines.iter().map(|line| line[key].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(
        of("event"),
        ["SessionStart", "SubagentStart", "SubagentStart", "PostToolUseFailure", "PostToolBatch"]
    );
    assert_eq!(
        of("source"),
        [
            "payloads/1.json",
            "payloads/more/2.jsonl#1",
            "payloads/more/2.jsonl#2",
            "stdin#1",
            "stdin#2"
        ]
    );
    assert!(
        lines[3]["reply"]["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .unwrap()
            .contains("network")
    );
    assert!(
        lines[2]["changes"][0]["diff"].as_str().unwrap().contains("a2"),
        "each builds on the one before"
    );
    assert_eq!(lines[4]["changes"], json!([]));
    assert!(lines.iter().all(|line| line["exit"] == 0 && line["micros"].as_u64().unwrap() > 0));
    assert!(!scratch.root().join(".claude").exists(), "nothing was made here");
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0, "the copy is gone");
}

#[test]
fn books_behind_a_link_are_played_on_too() {
    let scratch = Scratch::new();
    let dotfiles = scratch.home().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    std::os::unix::fs::symlink(&dotfiles, scratch.root().join(".claude")).unwrap();
    scratch.hook(&start("s"));
    scratch.hook(&agent("s", "a1"));
    let payload = agent("s", "a2").to_string();
    let run = scratch.run(&["replay", "--json", "-"], payload.as_bytes());
    assert!(run.stdout.contains("+  \\\"total_spawned\\\": 2"), "{}", run.stdout);
    let run = scratch.run(&["replay", "--apply", "-"], payload.as_bytes());
    assert!(run.stdout.contains("+  \"total_spawned\": 2"), "{}", run.stdout);
}

#[test]
fn an_interrupted_replay_leaves_nothing() {
    let mut scratch = Scratch::new();
    let temp = scratch.home().join("tmp");
    fs::create_dir(&temp).unwrap();
    scratch.env.insert("TMPDIR".into(), temp.display().to_string());
    let payloads: String =
        (0..3000).map(|n| format!("{}\n", agent("s", &format!("a{n}")))).collect();
    fs::write(scratch.root().join("many.jsonl"), payloads).unwrap();
    let child = support::spawn(scratch.command(&["replay", "--no-diff", "many.jsonl"]));
    while fs::read_dir(&temp).unwrap().count() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let run = support::finish(child, b"");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("interrupted after "), "{}", run.stderr);
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0);
}

#[test]
fn a_quoted_secret_can_be_recorded_and_spooled() {
    let scratch = Scratch::new();
    scratch.run(&["record", "on"], b"");
    scratch.hook(&json!({"session_id": "s", "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_use_id": "t",
        "tool_input": {"command": "curl -H \"Authorization: token abcdef123456\" x.test"}, "error": "Exit code 7"}));
    let names = scratch.names("recorded");
    let kept = fs::read_to_string(scratch.state().join("recorded").join(&names[0])).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["tool_input"]["command"], "curl -H \"Authorization: token [redacted]\" x.test");
}

#[test]
fn fresh_books_know_nothing() {
    let scratch = Scratch::new();
    scratch.hook(&start("s"));
    scratch.hook(&agent("s", "a1"));
    let payload = agent("s", "a2").to_string();
    let active = |args: &[&str]| {
        let run = scratch.run(args, payload.as_bytes());
        let line: Value = serde_json::from_str(&run.stdout).unwrap();
        line["changes"].to_string()
    };
    assert!(active(&["replay", "--json", "-"]).contains("+  \\\"total_spawned\\\": 2"));
    assert!(active(&["replay", "--json", "--fresh", "-"]).contains("+  \\\"total_spawned\\\": 1"));
}

#[test]
fn what_is_no_payload_is_named_and_the_rest_is_played() {
    let scratch = Scratch::new();
    scratch.hook(&start("s"));
    let before = tree(&scratch.state());
    fs::write(scratch.root().join("good.json"), agent("s", "a1").to_string()).unwrap();
    for (content, why) in [
        ("", "bad.json is no payload: it is empty"),
        ("hello", "bad.json:1: no payload: expected value"),
        ("\n{\"a\": 1}", "bad.json:2: no payload: the payload has no hook_event_name"),
        ("[1]", "bad.json:1: no payload: it is not a JSON object"),
        ("{\"hook_event_name\": \"Stop\"}", "no payload: the payload has no session_id"),
    ] {
        fs::write(scratch.root().join("bad.json"), content).unwrap();
        let run = scratch.run(&["replay", "good.json", "bad.json"], b"");
        assert_eq!(run.code, Some(1), "{content}");
        assert!(run.stdout.contains("1 payload played"), "{}", run.stdout);
        assert!(run.stderr.starts_with("hookkeeper: bad.json"), "{}", run.stderr);
        assert!(run.stderr.contains(why), "{content}: {}", run.stderr);
    }
    let run = scratch.run(&["replay", "missing.json"], b"");
    assert_eq!(
        run.stderr,
        "hookkeeper: missing.json cannot be read: No such file or directory (os error 2)\n"
    );
    fs::create_dir(scratch.root().join("empty")).unwrap();
    assert_eq!(scratch.run(&["replay", "empty"], b"").code, Some(1));
    assert_eq!(scratch.run(&["replay"], b"").code, Some(64));
    assert_eq!(tree(&scratch.state()), before);
}

#[test]
fn lists_are_played_and_bad_entries_are_named_at_the_end() {
    let scratch = Scratch::new();
    let list = json!([start("s"), agent("s", "a1"), agent("s", "a2")]);
    let run =
        scratch.run(&["replay", "-"], serde_json::to_string_pretty(&list).unwrap().as_bytes());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.ends_with("3 payloads played on a copy; the state is as it was\n"));
    let (first, last) = (start("s"), agent("s", "a1"));
    let lines = format!("{first}\n{{\"cut\": \n[7,\n{last}]\n");
    let run = scratch.run(&["replay", "--no-diff", "-"], lines.as_bytes());
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("2 payloads played"), "{}", run.stdout);
    let named: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(named.len(), 2, "{named:?}");
    assert!(named[0].starts_with("hookkeeper: stdin:2: no payload: "), "{named:?}");
    assert_eq!(named[1], "stdin:3: no payload: it is not a JSON object");
}
