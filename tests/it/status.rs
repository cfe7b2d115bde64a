//! `status`, `status --json`, `status --watch` without a terminal, and `statusline`: books made by
//! real payloads, read through the binary. The terminal is `tests/terminal/run.py`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::{self, Scratch, finish, spawn};

const SESSION: &str = "9f99b61b-a627-4cde-9856-7e07b84da7b2";
const OTHER: &str = "64e8a570-3961-4cd0-a06f-f8e7fbfda3cb";
const AGENT: &str = "a849e6a7ce0708706";

fn event(scratch: &Scratch, session: &str, name: &str, fields: Value) {
    let mut payload = json!({"session_id": session, "hook_event_name": name, "cwd": "/home/dev/shop",
        "transcript_path": format!("/home/dev/.claude/projects/-home-dev-shop/{session}.jsonl")});
    let fields = fields.as_object().unwrap().clone();
    payload.as_object_mut().unwrap().extend(fields);
    scratch.hook(&payload);
}

/// At a time of our own; `minute` is the one after ten.
fn at(scratch: &mut Scratch, minute: u32) {
    let time = format!("2026-01-29T10:{minute:02}:00Z");
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), time);
}

/// A session with a task, an error to retry, findings, and an agent that runs.
fn busy() -> Scratch {
    let mut scratch = Scratch::new();
    fs::create_dir_all(scratch.root().join(".git/refs/heads/feature")).unwrap();
    fs::write(scratch.root().join(".git/HEAD"), "ref: refs/heads/feature/login\n").unwrap();
    let commit = "c0ffeec0".repeat(5);
    fs::write(scratch.root().join(".git/refs/heads/feature/login"), commit).unwrap();
    at(&mut scratch, 0);
    event(&scratch, SESSION, "SessionStart", json!({"source": "startup"}));
    let prompt = "Implement \u{1b}[31mlogin\u{1b}[0m with 漢字\u{7}";
    event(&scratch, SESSION, "UserPromptSubmit", json!({"prompt": prompt}));
    event(
        &scratch,
        SESSION,
        "PostToolUseFailure",
        json!({"tool_name": "Bash", "tool_input": {"command": "make all"}, "tool_use_id": "toolu_01",
               "error": "Command timed out after 2m 0.0s", "is_interrupt": false}),
    );
    let found = "```json\n{\"findings\":[{\"severity\":\"S0\",\"title\":\"Passwords are logged\",\"file\":\"src/login.ts\"},{\"severity\":\"S2\",\"title\":\"No test\"}]}\n```";
    event(
        &scratch,
        SESSION,
        "SubagentStart",
        json!({"agent_id": "a0f70f058ee74f941", "agent_type": "Explore"}),
    );
    event(
        &scratch,
        SESSION,
        "SubagentStop",
        json!({"agent_id": "a0f70f058ee74f941", "agent_type": "Explore", "last_assistant_message": found}),
    );
    at(&mut scratch, 10);
    event(
        &scratch,
        SESSION,
        "SubagentStart",
        json!({"agent_id": AGENT, "agent_type": "general-purpose"}),
    );
    at(&mut scratch, 12);
    event(&scratch, OTHER, "SessionStart", json!({"source": "startup"}));
    at(&mut scratch, 13);
    scratch
}

fn with_a_loop(scratch: &Scratch) {
    let queue = json!({"version": 1, "iteration": 3, "status": "BUILDING", "max_iterations": 50, "items": [
        {"id": "work-001", "priority": "S1", "title": "Refuse empty passwords", "status": "pending"}]});
    fs::create_dir_all(scratch.state().join("loop")).unwrap();
    fs::write(scratch.state().join("loop/work_queue.json"), queue.to_string()).unwrap();
}

fn line(scratch: &Scratch, args: &[&str], stdin: &str) -> String {
    let mut all = vec!["statusline"];
    all.extend(args);
    let run = scratch.run(&all, stdin.as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{stdin}");
    assert_eq!(run.stdout.matches('\n').count(), 1, "{}", run.stdout);
    run.stdout.trim_end().to_owned()
}

#[test]
fn the_text_is_aligned_and_says_what_is_going_on() {
    let scratch = busy();
    with_a_loop(&scratch);
    let run = scratch.run(&["status"], b"");
    let want = "~/shop

Sessions: 2 live
  9f99b61b  feature/login  for 13m 00s  seen 3m 00s ago  0 files  Implement [31mlogin [0m with 漢字
  64e8a570  feature/login  for 1m 00s   seen 1m 00s ago  0 files  no prompt yet

Agents: 1 running, 2 spawned, 1 completed
  a849e6a7  general-purpose  for 3m 00s  seen 3m 00s ago  task not known yet

Errors: 1 in all, 1 pending, 0 recovered, 0 escalated
  timeout  retry 1 of 2 now  13m 00s ago  Bash make all

Findings: 2 (1 S0, 1 S2)
  S0  src/login.ts  Passwords are logged
  S2                No test

Loop: 3/50 BUILDING, 1 open
  S1  work-001  Refuse empty passwords

Backups: 0
";
    assert_eq!(run.stdout, want);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_agent_that_is_silent_for_long_is_called_quiet() {
    let mut scratch = busy();
    at(&mut scratch, 16);
    assert!(scratch.run(&["status"], b"").stdout.contains("quiet 6m 00s"));
    fs::write(scratch.root().join(".claude/hookkeeper.json"), r#"{"stuck_after_minutes": 9}"#)
        .unwrap();
    assert!(!scratch.run(&["status"], b"").stdout.contains("quiet"));
}

#[test]
fn colour_only_where_it_is_wanted() {
    let mut scratch = busy();
    assert!(!scratch.run(&["status"], b"").stdout.contains('\u{1b}'));
    scratch.env.insert("CLICOLOR_FORCE".into(), "1".into());
    let coloured = scratch.run(&["status"], b"").stdout;
    assert!(coloured.contains("\u{1b}[36m9f99b61b\u{1b}[0m"), "{coloured}");
    assert!(!coloured.contains("\u{1b}[31m"), "that one was the prompt's");
}

#[test]
fn json_has_all_of_it() {
    let scratch = busy();
    let value: Value =
        serde_json::from_str(&scratch.run(&["status", "--json"], b"").stdout).unwrap();
    assert_eq!(value["sessions"][0]["session_id"], SESSION);
    assert_eq!(value["agents"]["agents"][0]["id"], AGENT);
    assert_eq!(value["findings"][0]["title"], "Passwords are logged");
    assert_eq!(value["errors"]["errors"][0]["classification"], "timeout");
    assert_eq!(value["current"], OTHER);
    assert_eq!(value["unreadable"], json!([]));
}

#[test]
fn notifications_are_shown_newest_first_with_counts() {
    let mut scratch = busy();
    assert!(!scratch.run(&["status"], b"").stdout.contains("Notifications"));
    let told = |scratch: &Scratch, session: &str, kind: &str, message: &str| {
        let fields = json!({"notification_type": kind, "message": message});
        event(scratch, session, "Notification", fields);
    };
    told(&scratch, SESSION, "permission_prompt", "May I use \u{1b}[31mBash?");
    at(&mut scratch, 14);
    told(&scratch, OTHER, "idle_prompt", "Waits for you");
    at(&mut scratch, 15);
    told(&scratch, SESSION, "idle_prompt", "Waits too");
    let text = scratch.run(&["status"], b"").stdout;
    let want = "
Notifications: 3 in all (2 idle prompt, 1 permission prompt)
  0s ago      9f99b61b  idle prompt        Waits too
  1m 00s ago  64e8a570  idle prompt        Waits for you
  2m 00s ago  9f99b61b  permission prompt  May I use [31mBash?

";
    assert!(text.contains(want), "{text}");
    let value: Value =
        serde_json::from_str(&scratch.run(&["status", "--json"], b"").stdout).unwrap();
    assert_eq!(value["notifications"]["type_counts"]["idle_prompt"], 2);
    assert_eq!(value["notifications"]["notifications"][1]["session_id"], OTHER);
    fs::write(scratch.state().join("notifications.json"), "{").unwrap();
    let text = scratch.run(&["status"], b"").stdout;
    assert!(text.contains("notifications.json cannot be read now"), "{text}");
}

#[test]
fn books_that_cannot_be_read_are_said() {
    let scratch = busy();
    fs::write(scratch.state().join("errors/classified.json"), "{").unwrap();
    let text = scratch.run(&["status"], b"").stdout;
    assert!(text.contains("errors/classified.json cannot be read now"), "{text}");
    let empty = Scratch::new();
    assert!(empty.run(&["status"], b"").stdout.starts_with("~/shop: no state yet"));
    let value: Value = serde_json::from_str(&empty.run(&["status", "--json"], b"").stdout).unwrap();
    assert_eq!(value["books"], false);
}

/// A watch whose stdout is a pipe.
fn watch(scratch: &Scratch, args: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut all = vec!["status", "--watch", "--interval", "0.1"];
    all.extend(args);
    let mut command = scratch.command(&all);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

fn next_line(stdout: &mut impl BufRead) -> String {
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    line
}

#[test]
fn watching_into_a_pipe_prints_changes_until_q() {
    let scratch = Scratch::new();
    let (mut child, mut stdout) = watch(&scratch, &["--json"]);
    let first: Value = serde_json::from_str(&next_line(&mut stdout)).unwrap();
    assert_eq!(first["books"], false);
    event(&scratch, SESSION, "SessionStart", json!({"source": "startup"}));
    // Between the two the state may be seen half-way: there, and without the session.
    let has_the_session = |stdout: &mut BufReader<_>| {
        let value: Value = serde_json::from_str(&next_line(stdout)).unwrap();
        value["sessions"][0]["session_id"] == SESSION
    };
    assert!((0..4).any(|_| has_the_session(&mut stdout)));
    fs::remove_dir_all(scratch.root().join(".claude")).unwrap();
    let is_gone = |stdout: &mut BufReader<_>| next_line(stdout).contains("\"books\":false");
    assert!((0..9).any(|_| is_gone(&mut stdout)));
    child.stdin.take().unwrap().write_all(b"what?\nq\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn watching_as_text_has_a_line_with_the_time_and_ends_with_its_reader() {
    let scratch = busy();
    let (mut child, mut stdout) = watch(&scratch, &[]);
    assert_eq!(next_line(&mut stdout), "--- 2026-01-29 10:13:00\n");
    assert_eq!(next_line(&mut stdout), "~/shop\n");
    // Its stdin ends, and it goes on; nobody listens any more, and it does not.
    drop(child.stdin.take());
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_interval_has_to_make_sense() {
    let scratch = Scratch::new();
    for interval in ["0", "-1", "often", "NaN", "1e99"] {
        let run = scratch.run(&["status", "--watch", &format!("--interval={interval}")], b"");
        assert_eq!(run.code, Some(64), "{interval}: {}", run.stdout);
    }
}

#[test]
fn the_status_line_says_what_the_own_session_does() {
    let mut scratch = busy();
    with_a_loop(&scratch);
    let asked = scratch.here(
        &json!({"session_id": SESSION, "cwd": "/tmp", "model": {"id": "m", "display_name": "M"},
                "workspace": {"current_dir": "/home/dev/shop", "project_dir": "/home/dev/shop"}})
        .to_string(),
    );
    let want = "shop feature/login · M · 1 agent (oldest 3m 00s) · 1 error to retry · 2 findings S0:1 · loop 3/50 BUILDING · +1 session";
    assert_eq!(line(&scratch, &[], &asked), want);
    let coloured = line(&scratch, &["--color"], &asked);
    assert!(coloured.starts_with("\u{1b}[1mshop feature/login\u{1b}[0m · "), "{coloured}");
    // The other session has nothing to say for itself.
    let other = asked.replace(SESSION, OTHER);
    assert_eq!(
        line(&scratch, &[], &other),
        "shop feature/login · M · loop 3/50 BUILDING · +1 session"
    );
    scratch.env.insert("COLUMNS".into(), "30".into());
    assert_eq!(line(&scratch, &[], &asked), "shop feature/login · 1 agent …");
}

/// What the client says of its session, and what is left out first where there is no room.
#[test]
fn the_status_line_has_model_context_and_cost() {
    let mut scratch = busy();
    let asked = |more: Value| {
        let mut object = json!({"session_id": SESSION});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object.to_string()
    };
    let ours = "1 agent (oldest 3m 00s) · 1 error to retry · 2 findings S0:1 · +1 session";
    let whole = asked(json!({
        "model": {"id": "claude-opus-4-1", "display_name": "Opus 4.1"},
        "context_window": {"used_percentage": 41.6, "context_window_size": 200_000},
        "cost": {"total_cost_usd": 1.2345, "total_duration_ms": 5000}
    }));
    scratch.env.insert("COLUMNS".into(), "300".into());
    let known = "Opus 4.1 · context 42 % · $1.23";
    assert_eq!(
        line(&scratch, &[], &whole),
        format!("shop feature/login · context 42 % · $1.23 · {ours}")
    );
    let alone = whole.replace(SESSION, OTHER);
    assert_eq!(line(&scratch, &[], &alone), format!("shop feature/login · {known} · +1 session"));
    scratch.env.insert("COLUMNS".into(), "58".into());
    assert_eq!(
        line(&scratch, &[], &alone),
        "shop feature/login · context 42 % · $1.23 · +1 session"
    );
    scratch.env.insert("COLUMNS".into(), "50".into());
    assert_eq!(line(&scratch, &[], &alone), "shop feature/login · context 42 % · +1 session");
    scratch.env.remove("COLUMNS");
    for (odd, want) in [
        (json!({"model": "sonnet"}), " · sonnet"),
        (json!({"model": {"id": "m\u{1b}[2J", "display_name": " "}}), " · m [2J"),
        (json!({"model": {"display_name": 3}, "cost": 4, "context_window": []}), ""),
        (
            json!({"cost": {"total_cost_usd": "much"}, "context_window": {"used_percentage": null}}),
            "",
        ),
        (json!({"cost": {"total_cost_usd": -1}, "context_window": {"used_percentage": -4}}), ""),
        (
            json!({"cost": {"total_cost_usd": 1e300}, "context_window": {"used_percentage": 1e99}}),
            "",
        ),
        (
            json!({"cost": {"total_cost_usd": 0}, "context_window": {"remaining_percentage": 90}}),
            " · context 10 % · $0.00",
        ),
        (
            json!({"context_window": {"context_window_size": 200_000, "current_usage": {
            "input_tokens": 1000, "cache_read_input_tokens": 49_000, "output_tokens": 9_000_000}}}),
            " · context 25 %",
        ),
        (
            json!({"context_window": {"context_window_size": 0, "current_usage": {"input_tokens": 5}}}),
            "",
        ),
    ] {
        let stdin = asked(odd).replace(SESSION, OTHER);
        let want = format!("shop feature/login{want} · +1 session");
        assert_eq!(line(&scratch, &[], &stdin), want, "{stdin}");
    }
}

#[test]
fn the_status_line_is_a_line_whatever_comes() {
    let scratch = busy();
    let silent = "shop feature/login · 1 agent (oldest 3m 00s) · 1 error to retry · 2 findings S0:1 · 2 sessions";
    for stdin in ["", "{", "null", "[]", "{\"workspace\": 3, \"session_id\": [1]}", "\u{0}\u{1}"] {
        assert_eq!(line(&scratch, &[], stdin), silent, "{stdin:?}");
    }
    let mut closed = scratch.command(&["statusline"]);
    closed.stdin(Stdio::null()).stdout(Stdio::piped());
    assert_eq!(String::from_utf8(closed.output().unwrap().stdout).unwrap().trim_end(), silent);
    let nowhere = json!({"workspace": {"project_dir": "/nowhere/a\u{1b}]0;x\u{7}b"}}).to_string();
    assert_eq!(line(&scratch, &[], &nowhere), "a ]0;x b");
    fs::write(scratch.state().join("session/live").join(format!("{SESSION}.json")), "{").unwrap();
    assert_eq!(line(&scratch, &[], ""), "shop feature/login · 2 sessions");
}

#[test]
fn the_status_line_does_not_wait_for_a_writer_that_is_silent() {
    let scratch = Scratch::new();
    let child = spawn(scratch.command(&["statusline"]));
    // Its stdin stays open until it has ended.
    let stdin = child.stdin.as_ref().unwrap().as_fd().try_clone_to_owned().unwrap();
    let run = finish(child, b"{\"cwd\": \"/");
    drop(stdin);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "shop\n"));
}

#[test]
fn tasks_executions_and_the_loops_of_branches_are_seen() {
    let scratch = busy();
    let session = ["--session", SESSION];
    let new = ["iterative", "new", "user-auth", "--task", "Users", "--mode", "development"];
    let units = ["--unit", "T1: The model | it loads", "--unit", "T2: Login | 401 | needs T1"];
    support::good(scratch.run(&[&new[..], &units, &session].concat(), b""));
    let tasks = scratch.home().join("plan");
    fs::create_dir_all(&tasks).unwrap();
    let state = json!({"prd_slug": "billing", "status": "in_progress", "current_layer": "2-api",
        "metrics": {"completed_tasks": 3, "total_tasks": 9}});
    fs::write(tasks.join("execute-state.json"), state.to_string()).unwrap();
    let known = json!({"version": 1, "executions": [{"tasks_path": tasks, "worktree_dir": "/x", "begun": ""}]});
    fs::write(scratch.root().join(".claude/state/executions.json"), known.to_string()).unwrap();
    let text = support::good(scratch.run(&["status"], b""));
    assert!(text.contains("Iterative tasks: 1 open\n  user-auth  0/2 units"), "{text}");
    assert!(text.contains("T1 The model"), "{text}");
    assert!(text.contains("Executions: 1 unfinished\n  billing  3/9 tasks merged"), "{text}");
    let all: Value =
        serde_json::from_str(&support::good(scratch.run(&["status", "--json"], b""))).unwrap();
    assert_eq!(all["iterative"]["user-auth"]["task"], "Users");
    assert_eq!(all["executions"][0]["completed"], 3);
    let own = format!("{{\"session_id\":\"{SESSION}\"}}");
    let said = line(&scratch, &[], &own);
    assert!(said.contains("user-auth 0/2 units"), "{said}");
    support::good(
        scratch.run(&[&["iterative", "cancel", "user-auth"][..], &session].concat(), b""),
    );
    let text = support::good(scratch.run(&["status"], b""));
    assert!(!text.contains("Iterative tasks"), "{text}");
    let start = ["branch", "loop", "start", "Make it work", "--max", "20"];
    support::good(scratch.run(&[&start[..], &session].concat(), b""));
    let said = line(&scratch, &[], &own);
    assert!(said.contains("branch loop 1/20"), "{said}");
}

#[test]
fn a_session_that_waits_for_a_person_says_so_until_its_next_event() {
    let mut scratch = Scratch::new();
    at(&mut scratch, 0);
    for session in [SESSION, OTHER] {
        event(&scratch, session, "UserPromptSubmit", json!({"prompt": "Add the login form"}));
    }
    let status = |scratch: &Scratch| support::good(scratch.run(&["status"], b""));
    let own = json!({"session_id": SESSION, "context_window": {"used_percentage": 81}}).to_string();
    assert!(line(&scratch, &[], &own).ends_with("context 81 % · +1 session"));
    at(&mut scratch, 1);
    let asks = json!({"message": "Claude needs your permission", "notification_type": "permission_prompt"});
    event(&scratch, OTHER, "Notification", asks);
    at(&mut scratch, 3);
    let shown = status(&scratch);
    assert!(shown.contains("Sessions: 2 live, 1 waits for you\n"), "{shown}");
    assert!(shown.contains("waits for your permission 2m 00s"), "{shown}");
    assert!(line(&scratch, &[], &own).ends_with("+1 session, 1 waits for you"));
    let other = json!({"session_id": OTHER}).to_string();
    assert!(line(&scratch, &[], &other).ends_with("waits for your permission · +1 session"));
    let call =
        json!({"tool_name": "Read", "tool_use_id": "t1", "tool_input": {}, "tool_response": {}});
    event(&scratch, OTHER, "PostToolUse", call);
    let shown = status(&scratch);
    assert!(shown.contains("Sessions: 2 live\n") && !shown.contains("waits for"), "{shown}");
}

#[test]
fn a_session_whose_client_is_gone_is_not_at_work() {
    let mut scratch = Scratch::new();
    let mut client = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    scratch.env.insert("CLAUDE_PID".into(), client.id().to_string());
    event(&scratch, SESSION, "UserPromptSubmit", json!({"prompt": "Add the login form"}));
    let shown = support::good(scratch.run(&["status"], b""));
    assert!(shown.contains("Sessions: 1 live\n") && shown.contains("at work"), "{shown}");
    client.kill().unwrap();
    client.wait().unwrap();
    let shown = support::good(scratch.run(&["status"], b""));
    assert!(shown.contains("Sessions: 0 live, 1 gone\n"), "{shown}");
    assert!(shown.contains("its client is gone") && !shown.contains("at work"), "{shown}");
}

#[test]
fn a_session_was_seen_when_its_last_hook_ran() {
    let mut scratch = Scratch::new();
    at(&mut scratch, 0);
    event(&scratch, SESSION, "UserPromptSubmit", json!({"prompt": "Add the login form"}));
    let second = |seconds: u32| format!("2026-01-29T10:00:{seconds:02}Z");
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), second(50));
    let call =
        json!({"tool_name": "Read", "tool_use_id": "t1", "tool_input": {}, "tool_response": {}});
    event(&scratch, SESSION, "PostToolUse", call);
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), second(55));
    let shown = support::good(scratch.run(&["status"], b""));
    assert!(shown.contains("at work"), "{shown}");
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-01-29T10:01:25Z".into());
    let shown = support::good(scratch.run(&["status"], b""));
    assert!(shown.contains("seen 35s ago"), "{shown}");
}

#[test]
fn a_loop_that_ended_a_day_ago_is_shown_only_where_all_is_wanted() {
    let mut scratch = Scratch::new();
    at(&mut scratch, 0);
    event(&scratch, SESSION, "UserPromptSubmit", json!({"prompt": "Add the login form"}));
    support::good(scratch.run(&["loop", "start", "Make it green"], b""));
    support::good(scratch.run(&["loop", "cancel"], b""));
    let status = |scratch: &Scratch, more: &[&str]| {
        support::good(scratch.run(&[&["status"], more].concat(), b""))
    };
    assert!(status(&scratch, &[]).contains("ended: cancelled"));
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-01-30T10:00:00Z".into());
    let shown = status(&scratch, &[]);
    assert!(!shown.contains("Loop") && !shown.contains("cancelled"), "{shown}");
    assert!(status(&scratch, &["--all"]).contains("ended: cancelled"));
    // JSON has all of it, always.
    let json: Value = serde_json::from_str(&status(&scratch, &["--json"])).unwrap();
    assert_eq!(json["work_queue"]["verdict"], "cancelled");
}

/// A branch without a commit is none yet: everything calls it so.
#[test]
fn a_branch_without_a_commit_has_one_name_everywhere() {
    let scratch = Scratch::new();
    let mut git = std::process::Command::new("git");
    git.args(["init", "--quiet", "--initial-branch=trunk"]).current_dir(scratch.root());
    assert!(git.status().unwrap().success());
    let shown = scratch.run(&["branch", "show"], b"").stdout;
    assert!(shown.contains("unknown"), "{shown}");
    let line = line(&scratch, &[], "{}");
    assert!(line.starts_with("shop unknown") && !line.contains("trunk"), "{line}");
}
