//! Hand-offs: filled from the state, numbered, never overwritten. And the page about a branch.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::books::validate;
use crate::support::{self, Run, Scratch, event, good, misused, refused, spawn};

// Begins with a letter: quoted all the same.
const SESSION: &str = "af3e8a2c-1111-4222-8333-444455556666";
const NOW: &str = "2026-01-29T10:30:00Z";

fn git(dir: &Path, args: &[&str]) {
    let author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let done = Command::new("git").args(author).args(args).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A session in the middle of its work: a commit, todos, items, agents, errors, a loop.
fn shop() -> Scratch {
    let mut scratch = Scratch::new();
    git(&scratch.root(), &["init", "--quiet", "--initial-branch=feat/login"]);
    git(&scratch.root(), &["commit", "--quiet", "--allow-empty", "--message=Start"]);
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), NOW.into());
    let transcript = scratch.home().join("transcript.jsonl");
    let send = |name: &str, mut fields: Value| {
        fields["transcript_path"] = json!(transcript);
        scratch.hook(&event(SESSION, name, fields));
    };
    send("SessionStart", json!({"source": "startup"}));
    send("UserPromptSubmit", json!({"prompt": "/build the login form"}));
    send("SubagentStart", json!({"agent_id": "a1", "agent_type": "Explore"}));
    send(
        "SubagentStop",
        json!({"agent_id": "a1", "agent_type": "Explore", "last_assistant_message":
        "- **[S1]** No rate limit in src/login.rs:42. Recommendation: add one"}),
    );
    send("SubagentStart", json!({"agent_id": "a2", "agent_type": "Explore"}));
    send(
        "PostToolUse",
        json!({"tool_name": "Write", "tool_use_id": "t1", "tool_response": {},
        "tool_input": {"file_path": "/home/dev/shop/src/login.rs", "content": "x"}}),
    );
    send(
        "PostToolUseFailure",
        json!({"tool_name": "WebFetch", "tool_use_id": "t2", "error": "permission denied",
        "tool_input": {"url": "https://docs.example.com/x"}}),
    );
    let todo = |content: &str, status: &str| json!({"content": content, "status": status});
    let call = json!({"isSidechain": false, "message": {"content": [{"type": "tool_use", "id": "t3", "name": "TodoWrite",
        "input": {"todos": [todo("The model", "completed"), todo("The form", "in_progress"), todo("Docs", "pending")]}}]},
        "type": "assistant"});
    fs::write(&transcript, format!("{call}\n")).unwrap();
    fs::create_dir_all(scratch.root().join(".claude/plans")).unwrap();
    fs::write(scratch.root().join(".claude/plans/feat-login.md"), "# Login\n").unwrap();
    git(&scratch.root(), &["commit", "--quiet", "--allow-empty", "--message=Add the model"]);
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    good(scratch.run(
        &["branch", "loop", "start", "Make it work", "--max", "3", "--promise", "WORKS"],
        b"",
    ));
    scratch
}

fn handoff(scratch: &Scratch, args: &[&str]) -> Run {
    scratch.run(&[&["branch", "handoff"], args].concat(), b"")
}

/// The path that was printed, and the text there.
fn written(scratch: &Scratch, args: &[&str]) -> (String, String) {
    let said = good(handoff(scratch, args));
    let path = said.lines().next().unwrap().to_owned();
    let text = fs::read_to_string(scratch.root().join(&path)).unwrap();
    (path, text)
}

fn state(scratch: &Scratch) -> Value {
    let file = scratch.root().join(".claude/branches/feat-login/state.json");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn section<'a>(text: &'a str, name: &str) -> &'a str {
    let rest = text
        .split_once(&format!("\n## {name}\n\n"))
        .unwrap_or_else(|| panic!("no {name} in {text}"))
        .1;
    rest.split("\n\n## ").next().unwrap().trim_end()
}

#[test]
fn four_types_filled_from_the_books() {
    let scratch = shop();
    let (path, task) = written(&scratch, &["--type", "task"]);
    assert_eq!(path, ".claude/branches/feat-login/handoffs/task-2026-01-29.md");
    let front = format!(
        "---\ntype: task\ntimestamp: {NOW}\nbranch: feat/login\nsession: \"{SESSION}\"\nstatus: open\n---\n\n# Task: /build the login form\n"
    );
    assert!(task.starts_with(&front), "{task}");
    let done = section(&task, "Done");
    assert!(done.starts_with("- [x] The model\n- commit "), "{done}");
    assert!(done.contains(" Add the model\n") && !done.contains("Start"), "{done}");
    assert!(
        done.contains("- agent a1 (task not known), completed: - **[S1]** No rate limit"),
        "{done}"
    );
    let open = section(&task, "Open");
    for line in [
        "- [ ] The form (in progress)\n- [ ] Docs\n",
        "- work-001 S1 No rate limit in src/login.rs:42 (pending)\n",
        "- loop, iteration 1 of 3, complete with <promise>WORKS</promise>: Make it work\n",
        "- agent a2 (task not known): running\n",
        "- error, escalated: permission WebFetch docs.example.com/x",
    ] {
        assert!(open.contains(line), "{line}: {open}");
    }
    assert_eq!(section(&task, "Files"), "- .claude/plans/feat-login.md (the plan)\n- src/login.rs");
    assert_eq!(section(&task, "Next step"), "Go on with: The form");

    let (_, triage) = written(&scratch, &["--type", "triage", "--title", "What the audit found"]);
    assert!(triage.contains("\n# What the audit found\n"), "{triage}");
    let findings = section(&triage, "Findings");
    assert!(
        findings.contains("- S1 No rate limit in src/login.rs:42")
            && findings.contains("- error, escalated: permission"),
        "{findings}"
    );
    let (_, session) = written(&scratch, &["--type", "session", "--note", "Deployed by hand"]);
    assert_eq!(section(&session, "Notes"), "- Deployed by hand");
    let about = section(&session, "Session");
    assert!(
        about.contains("2 agents (1 completed, 0 failed), 1 error (0 recovered), 0 compactions"),
        "{about}"
    );
    let blocked =
        ["--type", "blocked", "--note", "No key: password=hunter2hunter2", "--next", "Ask for one"];
    let (_, blocked) = written(&scratch, &blocked);
    assert!(blocked.contains("\nstatus: blocked\n") && !blocked.contains("hunter2"), "{blocked}");
    assert!(
        section(&blocked, "Blocked by").contains("- error, escalated: permission WebFetch"),
        "{blocked}"
    );
    assert_eq!(section(&blocked, "Next step"), "Ask for one");
    assert_eq!(
        state(&scratch)["handoff"],
        json!({"count": 4, "last": ".claude/branches/feat-login/handoffs/blocked-2026-01-29.md"})
    );
    assert_eq!(state(&scratch)["loop"]["active"], true);
    assert_eq!(validate(&scratch, &[]).0, 0);
}

#[test]
fn numbered_and_never_overwritten() {
    let scratch = shop();
    let folder = scratch.root().join(".claude/branches/feat-login/handoffs");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("task-2026-01-29.md"), "written by hand").unwrap();
    // Its count was lost; all files count.
    let said: Value =
        serde_json::from_str(&good(handoff(&scratch, &["--type", "task", "--json"]))).unwrap();
    assert_eq!(
        said,
        json!({"file": ".claude/branches/feat-login/handoffs/task-2026-01-29-2.md", "type": "task",
            "branch": "feat/login", "status": "open", "count": 2})
    );
    // Many at once, each with its own words.
    let children: Vec<_> = (0..12)
        .map(|n| {
            let title = format!("Number {n}");
            spawn(scratch.command(&["branch", "handoff", "--type", "task", "--title", &title]))
        })
        .collect();
    let paths: BTreeSet<String> = children
        .into_iter()
        .map(|child| good(support::finish(child, b"")).lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(paths.len(), 12, "{paths:?}");
    let texts: String =
        paths.iter().map(|path| fs::read_to_string(scratch.root().join(path)).unwrap()).collect();
    for n in 0..12 {
        assert_eq!(texts.matches(&format!("\n# Number {n}\n")).count(), 1, "{n}");
    }
    assert_eq!(fs::read_to_string(folder.join("task-2026-01-29.md")).unwrap(), "written by hand");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 14);
    assert_eq!(state(&scratch)["handoff"]["count"], 14);
    assert!(folder.join("task-2026-01-29-14.md").exists());
}

/// What a new session is told.
fn told(scratch: &Scratch, session: &str, source: &str) -> String {
    let start = event(session, "SessionStart", json!({"source": source}));
    let reply = scratch.hook(&start).stdout;
    let reply: Value = serde_json::from_str(&reply).unwrap_or_default();
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn open_ones_are_told_to_one_other_session_once() {
    let scratch = shop();
    good(handoff(&scratch, &["--type", "task", "--title", "The form"]));
    good(handoff(&scratch, &["--type", "blocked", "--title", "The database"]));
    assert!(!told(&scratch, SESSION, "resume").contains("hand-off"), "it has written them");
    let heard = told(&scratch, "next", "startup");
    let wanted = "\
- 2 open hand-offs of branch feat/login in .claude/branches/feat-login/handoffs/ (`hookkeeper branch handoff close NAME` when it is done):
  - ";
    let named = heard.split_once(wanted).unwrap_or_else(|| panic!("{heard}")).1;
    for line in ["task-2026-01-29.md: The form\n", "blocked-2026-01-29.md: The database\n"] {
        assert!(named.contains(line), "{heard}");
    }
    for (session, source) in [("next", "compact"), ("next", "resume"), ("third", "startup")] {
        assert!(!told(&scratch, session, source).contains("hand-off"), "{session} {source}");
    }
    // A new one is news, one that is closed before anybody heard of it is none.
    good(handoff(&scratch, &["--type", "task", "--title", "The docs"]));
    good(handoff(&scratch, &["--type", "task", "--title", "Nothing left"]));
    good(handoff(&scratch, &["close", "task-2026-01-29-3"]));
    let heard = told(&scratch, "fourth", "startup");
    assert!(heard.contains("- 1 open hand-off of branch feat/login"), "{heard}");
    assert!(heard.contains("task-2026-01-29-2.md: The docs") && !heard.contains("left"), "{heard}");
    assert_eq!(validate(&scratch, &[]).0, 0);
}

#[test]
fn a_next_step_or_a_note_keeps_one_open() {
    let mut scratch = Scratch::new();
    git(&scratch.root(), &["init", "--quiet", "--initial-branch=feat/login"]);
    git(&scratch.root(), &["commit", "--quiet", "--allow-empty", "--message=Start"]);
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), NOW.into());
    for (args, status) in [
        (&["--type", "task"][..], "complete"),
        (&["--type", "task", "--title", "Login form", "--next", "Write the tests"], "open"),
        (&["--type", "session", "--note", "The server is slow"], "open"),
        (&["--type", "blocked"], "blocked"),
    ] {
        let said = good(handoff(&scratch, args));
        assert!(said.ends_with(&format!(", {status}.\n")), "{args:?}: {said}");
    }
    let heard = told(&scratch, "b1", "startup");
    assert!(heard.contains("- 3 open hand-offs of branch feat/login"), "{heard}");
    assert!(heard.contains("task-2026-01-29-2.md: Login form"), "{heard}");
    assert!(!told(&scratch, "b2", "startup").contains("hand-off"));
}

#[test]
fn they_are_listed_and_closed() {
    let scratch = shop();
    assert_eq!(good(handoff(&scratch, &["list"])), "Branch feat/login has no hand-offs.\n");
    let (path, text) = written(&scratch, &["--type", "task", "--title", "The form"]);
    good(handoff(&scratch, &["--type", "session", "--title", "All of it"]));
    let list = good(handoff(&scratch, &["list"]));
    assert!(list.contains("task-2026-01-29     open    0s ago  The form\n"), "{list}");
    let unknown = handoff(&scratch, &["close", "task-2026-01-30"]);
    refused(&unknown, "branch feat/login has no hand-off task-2026-01-30; open: ");
    assert_eq!(handoff(&scratch, &["close"]).code, Some(64));
    assert_eq!(handoff(&scratch, &["--type", "task", "list"]).code, Some(64));
    assert_eq!(good(handoff(&scratch, &["close", &path])), format!("Closed: {path} (The form)\n"));
    let after = fs::read_to_string(scratch.root().join(&path)).unwrap();
    assert_eq!(after, text.replacen("status: open", "status: closed", 1));
    assert_eq!(good(handoff(&scratch, &["close", "task-2026-01-29.md"])), "Nothing was open.\n");
    let page = good(scratch.run(&["branch", "show"], b""));
    assert!(page.contains("hand-offs   2, 1 open, the last one: "), "{page}");
    let closed = good(handoff(&scratch, &["close", "--all", "--json"]));
    let closed: Value = serde_json::from_str(&closed).unwrap();
    assert_eq!(closed, json!({"branch": "feat/login", "closed": ["session-2026-01-29"]}));
    let listed = good(handoff(&scratch, &["list", "--json"]));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let open: Vec<&Value> =
        listed["handoffs"].as_array().unwrap().iter().map(|file| &file["open"]).collect();
    assert_eq!(open, [false, false]);
}

#[test]
fn refused_with_reasons() {
    let scratch = shop();
    let unknown = handoff(&scratch, &["--type", "gossip"]);
    assert_eq!(unknown.code, Some(64));
    assert!(unknown.stderr.contains("task, triage, session, blocked"), "{}", unknown.stderr);
    assert_eq!(handoff(&scratch, &[]).code, Some(64));
    misused(&handoff(&scratch, &["--type", "task", "--title", " "]), "the title is empty");
    misused(&handoff(&scratch, &["--type", "task", "--branch", ""]), "the branch's name is empty");
    assert!(!scratch.root().join(".claude/branches/feat-login/handoffs").exists());
    assert_eq!(state(&scratch).get("handoff"), None);
    // Something else is where the folder should be.
    fs::write(scratch.root().join(".claude/branches/feat-login/handoffs"), "mine").unwrap();
    let run = handoff(&scratch, &["--type", "task"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("handoffs"), "{}", run.stderr);
    assert_eq!(state(&scratch).get("handoff"), None);
    let (code, lines) = validate(&scratch, &[]);
    assert_eq!(
        (code, lines[0].as_str()),
        (1, ".claude/branches/feat-login/handoffs: must be a folder")
    );
}

#[test]
fn a_page_that_says_where_it_stands() {
    let mut scratch = shop();
    good(handoff(&scratch, &["--type", "session"]));
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-01-29T10:42:00Z".into());
    let page = good(scratch.run(&["branch", "show"], b""));
    let wanted = "\
branch      feat/login
            .claude/branches/feat-login
workflow    /build the login form (executing)
plan        .claude/plans/feat-login.md
              # Login
todos       1 of 3 done
              done         The model
              in progress  The form
              pending      Docs
loop        iteration 1 of 3, driven by session af3e8a2c-1111-4222-8333-444455556666
              Make it work
              complete with <promise>WORKS</promise>
agents      2 spawned: 1 completed, 0 failed, 1 running (1 stuck)
              a2  stuck      Explore  for 12m 00s, silent 12m 00s  task not known
              a1  completed  Explore  12m 00s ago                  task not known
hand-offs   1, open: .claude/branches/feat-login/handoffs/session-2026-01-29.md
next        Go on with: The form
";
    assert_eq!(page.trim_end(), wanted.trim_end());
    let shown: Value =
        serde_json::from_str(&good(scratch.run(&["branch", "show", "--json"], b""))).unwrap();
    assert_eq!(shown["todos"].as_array().unwrap().len(), 3);
    assert_eq!(
        shown["stats"],
        json!({"total_spawned": 2, "completed": 1, "failed": 0, "stuck": 1})
    );
    assert_eq!(shown["agents"][1]["silent_seconds"], 720);
    assert_eq!(
        shown["handoffs"],
        json!([".claude/branches/feat-login/handoffs/session-2026-01-29.md"])
    );
    // A branch that has nothing, and a project without books.
    git(&scratch.root(), &["branch", "elsewhere"]);
    let empty = good(scratch.run(&["branch", "show", "--branch", "elsewhere"], b""));
    assert!(empty.contains("loop        none\nagents      none\nhand-offs   none\n"), "{empty}");
    assert!(!scratch.root().join(".claude/branches/elsewhere").exists());
    let bare = Scratch::new();
    let page = good(bare.run(&["branch", "show"], b""));
    assert!(page.starts_with("branch      unknown\n"), "{page}");
    assert!(!bare.root().join(".claude").exists());
}

#[test]
fn where_nothing_else_is_open_the_next_step_is_the_hand_offs() {
    let mut scratch = Scratch::new();
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-01-29T10:42:00Z".into());
    scratch.hook(&event("s1", "UserPromptSubmit", json!({"prompt": "Begin"})));
    let next = || {
        let page = good(scratch.run(&["branch", "show"], b""));
        page.lines().last().unwrap().to_owned()
    };
    assert_eq!(next(), "next        Nothing is open.");
    good(handoff(&scratch, &["--type", "task", "--next", "Mend the form"]));
    assert_eq!(next(), "next        Mend the form (hand-off task-2026-01-29)");
    good(scratch.run(&["branch", "handoff", "close", "task-2026-01-29"], b""));
    assert_eq!(next(), "next        Nothing is open.");
}

#[test]
fn nothing_that_a_terminal_obeys_gets_through() {
    let scratch = shop();
    fs::write(scratch.root().join(".claude/plans/feat-login.md"), "# \u{1b}[31mRed\u{1b}[0m\n")
        .unwrap();
    for args in [&["branch", "show"][..], &["branch", "plan"]] {
        let page = good(scratch.run(args, b""));
        assert!(!page.contains('\u{1b}'), "{page:?}");
    }
}

#[test]
fn notes_stay_whole() {
    let scratch = shop();
    let note = format!("first line\n- {}\nEND", "word ".repeat(200).trim_end());
    for kind in ["blocked", "task"] {
        let (_, text) = written(&scratch, &["--type", kind, "--note", &note, "--note", "second"]);
        let wanted = format!("- {}\n- second\n", note.replace('\n', "\n  "));
        assert!(text.contains(&wanted), "{text}");
    }
    let long = "x".repeat(10_001);
    for (flag, most) in [("--note", "10000"), ("--next", "10000"), ("--title", "200")] {
        let run = handoff(&scratch, &["--type", "task", flag, &long]);
        misused(&run, &format!("has 10001 characters; {most} at most"));
    }
}
