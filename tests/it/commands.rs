//! The documents, one by one, as people ask for them: `agents`, `errors`, `sessions`, `backup`, `reset`.

use std::fs;

use serde_json::{Value, json};

use crate::support::{self, Run, Scratch, good, misused, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

fn event(name: &str, fields: Value) -> Value {
    let mut event = support::event(SESSION, name, fields);
    event["transcript_path"] = "/home/dev/transcripts/t.jsonl".into();
    event
}

/// A project with a live session, an agent that runs, one that has finished, and an error.
fn shop() -> Scratch {
    let scratch = Scratch::new();
    scratch.hook(&event("SessionStart", json!({"source": "startup"})));
    scratch.hook(&event("UserPromptSubmit", json!({"prompt": "Review the shop"})));
    for id in ["a1b2c3", "a9f8e7"] {
        scratch.hook(&event("SubagentStart", json!({"agent_id": id, "agent_type": "Explore"})));
    }
    scratch.hook(&event("SubagentStop", json!({"agent_id": "a9f8e7", "agent_type": "Explore",
        "last_assistant_message": "- [S1] The till is open (src/till.rs:3). Recommendation: close it."})));
    scratch.hook(&failure("t1", "connection refused"));
    scratch
}

fn failure(call: &str, message: &str) -> Value {
    event(
        "PostToolUseFailure",
        json!({"tool_name": "Bash", "tool_use_id": call,
        "tool_input": {"command": "curl shop.test/items"}, "error": format!("Exit code 7\n{message}")}),
    )
}

fn parsed(run: Run) -> Value {
    serde_json::from_str(&good(run)).unwrap()
}

/// A review in prose with six problems and one mark.
const REVIEW: &str = "I looked at the change. The password is sent in the query, token sk-ant-REDACTME0123456789.\n\
    The cookie is not secure. Two tests are skipped.\nErrors are swallowed. The migration cannot be undone.\n\n\
    - High: No CSRF protection (src/form.ts:9)\n";

#[test]
fn an_agent_shows_what_it_was_asked_and_what_it_said() {
    let scratch = Scratch::new();
    let transcript = scratch.home().join("a7.jsonl");
    let asked = json!({"type": "user", "message": {"role": "user",
        "content": "Review the form, please\nsession: another\u{1b}[2J"}});
    let answer = json!({"isSidechain": true, "message": {"id": "m1", "role": "assistant",
        "model": "m", "content": [], "usage": {"input_tokens": 1200, "output_tokens": 34}},
        "type": "assistant"});
    fs::write(&transcript, format!("{asked}\n{answer}\n")).unwrap();
    scratch.hook(&event("SubagentStart", json!({"agent_id": "a7", "agent_type": "Explore"})));
    scratch.hook(&event(
        "SubagentStop",
        json!({"agent_id": "a7", "agent_type": "Explore",
        "agent_transcript_path": transcript, "last_assistant_message": REVIEW}),
    ));
    let text = good(scratch.run(&["agents", "show", "a7"], b""));
    for part in [
        "asked:\n  Review the form, please\n  session: another [2J\n",
        "its last message:\n  I looked at the change.",
        "Errors are swallowed.",
        "context of its last answer: 1234 tokens (all that it used: hookkeeper cost --by agent)\n",
        "S1 No CSRF protection (src/form.ts:9)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("REDACTME"), "{text}");
    let told = scratch.hook(&event(
        "PostToolUse",
        json!({"tool_name": "Agent", "tool_use_id": "t9",
        "tool_input": {"description": "review", "prompt": "Review the form, please"},
        "tool_response": {"status": "completed", "agentId": "a7", "agentType": "Explore"}}),
    ));
    assert!(
        told.stdout.contains("1 marked finding (1 S1); the report has 4 lines."),
        "{}",
        told.stdout
    );
    let long = "word ".repeat(40_000);
    scratch.hook(&event(
        "SubagentStop",
        json!({"agent_id": "a8", "agent_type": "Explore",
        "last_assistant_message": long}),
    ));
    let kept = scratch.doc("agents/results/a8.json")["report"].as_str().unwrap().len();
    assert!((65_000..=65_540).contains(&kept), "{kept}");
}

#[test]
fn reported_findings_are_kept_and_counted_once() {
    let scratch = shop();
    let report = |call: &str, agent: Option<&str>| {
        let mut report = event(
            "PostToolUse",
            json!({"tool_name": "ReportFindings", "tool_use_id": call,
            "tool_input": {"findings": [
                {"file": "src/a.ts", "line": 4, "summary": "The total is wrong for an empty cart",
                 "failure_scenario": "reduce throws", "category": "correctness", "verdict": "CONFIRMED"},
                {"file": "src/b.ts", "summary": "It could be slow", "verdict": "PLAUSIBLE"},
                {"file": "src/c.ts", "summary": "No problem after all", "verdict": "REFUTED"},
                {"line": 3}, 7]},
            "tool_response": {}}),
        );
        if let Some(agent) = agent {
            report["agent_id"] = agent.into();
            report["agent_type"] = "Explore".into();
        }
        report
    };
    scratch.hook(&report("t5", None));
    scratch.hook(&report("t5", None));
    let result = scratch.doc("agents/results/report-t5.json");
    let rows: Vec<_> = result["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            (
                f["severity"].as_str().unwrap(),
                f["title"].as_str().unwrap(),
                f["file"].as_str().unwrap(),
                f["line"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("S1", "The total is wrong for an empty cart", "src/a.ts", Some(4)),
            ("S2", "It could be slow", "src/b.ts", None)
        ]
    );
    assert_eq!(result["findings"][0]["details"], "reduce throws");
    // One of the agent that has ended, and these two.
    assert_eq!(scratch.doc(&format!("session/live/{SESSION}.json"))["findings"], 3);
    scratch.hook(&report("t6", Some("a1b2c3")));
    scratch.hook(&report("t6", Some("a1b2c3")));
    scratch.hook(&event(
        "SubagentStop",
        json!({"agent_id": "a1b2c3", "agent_type": "Explore",
        "last_assistant_message": "Reported."}),
    ));
    assert_eq!(scratch.doc("agents/results/a1b2c3.json")["metrics"]["issues_found"], 2);
}

#[test]
fn agents_are_listed_running_and_finished() {
    let scratch = shop();
    let text = good(scratch.run(&["agents"], b""));
    let words =
        |line: usize| -> Vec<&str> { text.lines().nth(line).unwrap().split("  ").collect() };
    assert_eq!(text.lines().count(), 2, "{text}");
    assert_eq!(words(0).first(), Some(&"AGENT"), "{text}");
    assert_eq!(words(1).get(..3), Some(&["a1b2c3", "running", "Explore"][..]), "{text}");
    let list = parsed(scratch.run(&["agents", "--json"], b""));
    assert_eq!(list[0]["id"], "a1b2c3");
    let text = good(scratch.run(&["agents", "--session", "0f3e"], b""));
    assert!(
        text.contains("a9f8e7  success  Explore  ") && text.contains("  took 0 s  1 finding  "),
        "{text}"
    );
    let text = good(scratch.run(&["agents", "show", "a9"], b""));
    assert!(text.contains("S1 The till is open (src/till.rs:3)"), "{text}");
    let shown = parsed(scratch.run(&["agents", "show", "a9f8e7", "--json"], b""));
    assert_eq!(shown["findings"][0]["severity"], "S1");
    refused(&scratch.run(&["agents", "show", "a"], b""), "`a` could be several: a1b2c3, a9f8e7");
    refused(&scratch.run(&["agents", "show", "zz"], b""), "there is no agent `zz`");
    refused(&scratch.run(&["agents", "--session", "zz"], b""), "there is no session `zz`");
    scratch.hook(&event("SessionEnd", json!({"reason": "other"})));
    let archived = parsed(scratch.run(&["agents", "--session", SESSION, "--json"], b""));
    let status = |n: usize| archived["finished"][n]["status"].as_str().unwrap().to_owned();
    assert_eq!((status(0), status(1)), ("lost".into(), "success".into()));
    assert!(good(scratch.run(&["agents"], b"")).starts_with("No agent is running."));
}

#[test]
fn an_agent_is_stuck_only_if_it_is_silent() {
    let scratch = shop();
    assert!(good(scratch.run(&["agents", "stuck"], b"")).starts_with("No agent is stuck"));
    let file = scratch.state().join(format!("session/live/{SESSION}.json"));
    let mut live: Value = scratch.doc(&format!("session/live/{SESSION}.json"));
    live["agents"][0]["started"] = "2026-01-01T00:00:00Z".into();
    fs::write(&file, live.to_string()).unwrap();
    assert!(
        good(scratch.run(&["agents", "stuck"], b"")).starts_with("No agent is stuck"),
        "it was seen just now"
    );
    live["agents"][0]["last_seen"] = "2026-01-01T00:00:00Z".into();
    fs::write(&file, live.to_string()).unwrap();
    let text = good(scratch.run(&["agents", "stuck"], b""));
    assert!(
        text.contains("\na1b2c3  running  Explore  for ") && text.contains("silent "),
        "{text}"
    );
    assert_eq!(
        parsed(scratch.run(&["agents", "stuck", "--json"], b""))[0]["agent"]["id"],
        "a1b2c3"
    );
    // Its transcript grows: it works.
    let transcript = scratch.home().join("transcripts/t/subagents/agent-a1b2c3.jsonl");
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    fs::write(&transcript, "{}\n").unwrap();
    assert!(good(scratch.run(&["agents", "stuck"], b"")).starts_with("No agent is stuck"));
}

#[test]
fn a_nudge_reaches_that_agent_once() {
    let scratch = shop();
    let text = good(scratch.run(&["agents", "nudge", "a1", "--message", "How far are you?"], b""));
    assert!(text.starts_with("a1b2c3: nudged (1 time)"), "{text}");
    assert_eq!(scratch.doc("agents/active.json")["agents"][0]["nudge_count"], 1);
    let call = |agent: Option<&str>, name: &str, id: &str| {
        let mut event = event(
            name,
            json!({"tool_name": "Read", "tool_use_id": id, "tool_input": {"file_path": "x"},
            "error": "no such file"}),
        );
        if let Some(agent) = agent {
            event["agent_id"] = agent.into();
        }
        scratch.hook(&event).stdout
    };
    assert_eq!(call(None, "PostToolUse", "c1"), "", "not to the main thread");
    let heard = call(Some("a1b2c3"), "PostToolUse", "c2");
    assert!(
        heard.contains(
            "A note from the user to this agent (`hookkeeper agents nudge`): How far are you?"
        ),
        "{heard}"
    );
    assert_eq!(call(Some("a1b2c3"), "PostToolUse", "c3"), "");
    assert_eq!(scratch.doc("agents/active.json")["agents"][0].get("nudge"), None);
    good(scratch.run(&["agents", "nudge", "a1b2c3"], b""));
    let heard = call(Some("a1b2c3"), "PostToolUseFailure", "c4");
    assert!(heard.contains("A note from the user"), "{heard}");
    assert_eq!(scratch.doc("agents/active.json")["agents"][0]["nudge_count"], 2);
    refused(
        &scratch.run(&["agents", "nudge", "a9f8e7"], b""),
        "there is no running agent `a9f8e7` (hookkeeper agents)",
    );
}

#[test]
fn what_is_not_there_is_answered_with_where_to_look() {
    let scratch = Scratch::new();
    for args in [&["agents"][..], &["log"]] {
        let said = good(scratch.run(args, b""));
        assert!(said.starts_with("There is no state here yet. It begins when"), "{said}");
        assert!(said.trim_end().ends_with("Wire it: hookkeeper install"), "{said}");
    }
    // As `install` leaves it: state, and no session.
    good(scratch.run(&["queue", "add", "--priority", "S2", "--title", "Close the till"], b""));
    fs::remove_dir_all(scratch.state().join("journal")).unwrap_or_default();
    for (args, says) in [
        (&["log"][..], "Nothing has happened here yet. Whether hooks are wired: hookkeeper doctor"),
        (&["search", "till"], "whether hooks are wired: hookkeeper doctor"),
        (&["status"], "Sessions: none yet; start Claude Code here"),
    ] {
        let said = good(scratch.run(args, b""));
        assert!(said.contains(says), "{args:?}: {said}");
    }
    let shop = shop();
    for (args, says) in [
        (&["sessions", "show", "zz"][..], "there is no session `zz` (hookkeeper sessions)"),
        (&["agents", "show", "zz"], "there is no agent `zz` (hookkeeper agents)"),
        (&["agents", "close", "zz"], "no agent `zz` was left behind (hookkeeper branch show)"),
        (&["errors", "show", "zz"], "there is no error `zz` (hookkeeper errors --all)"),
    ] {
        refused(&shop.run(args, b""), says);
    }
    let said = good(shop.run(&["search", "zz top"], b""));
    assert!(said.contains("What is kept: hookkeeper log -n 0"), "{said}");
    let said = good(shop.run(&["search", "zz top", "--kind", "error"], b""));
    assert!(said.contains("Without --kind and --since"), "{said}");
    for (args, says) in [
        (&["log", "--event", "Foo"][..], "SessionStart, SessionEnd, "),
        (&["log", "--event", "Foo"], "agent_end, error, recovered"),
        (&["log", "-n", "x"], "it is no whole number"),
        (&["help", "statsu"], "'status'"),
        (&["help", "loop", "statsu"], "'status'"),
    ] {
        misused(&shop.run(args, b""), says);
    }
}

#[test]
fn states_of_errors_have_one_word_each_and_their_numbers_sum_up() {
    let scratch = shop();
    let session = "0f3e8a2c-1111-4222-8333-444455556666";
    let record = |id: &str, status: &str, times: u64| {
        json!({"id": id, "timestamp": "2026-01-29T10:30:00Z", "classification": "network",
            "tool": "Bash", "message": "no", "retry_count": 0, "max_retries": 0, "status": status,
            "next_retry": null, "context": {}, "session_id": session, "agent_id": null,
            "fingerprint": id, "target": format!("Bash {id}"), "occurrences": times,
            "last_seen": "2026-01-29T10:30:00Z", "tool_use_ids": []})
    };
    let errors = [
        record("error-a", "logged", 1),
        record("error-b", "pending_retry", 1),
        record("error-c", "recovered", 1),
        record("error-d", "logged", 3),
        record("error-e", "queued", 1),
    ];
    let summary = json!({"total": 5, "recovered": 1, "pending": 1, "escalated": 0});
    let document = json!({"errors": errors, "summary": summary});
    fs::write(scratch.state().join("errors/classified.json"), document.to_string()).unwrap();
    let says = "5 in all, 0 pending, 1 recovered, 0 escalated, 1 open, 1 queued, 2 logged";
    let text = good(scratch.run(&["errors", "--all"], b""));
    let all = says.replace("5 in all, 0 pending", "6 in all, 1 pending");
    assert!(text.trim_end().ends_with(&all), "{text}");
    for (id, becomes) in
        [("a", "logged     -"), ("b", "open       -"), ("d", "logged     failed 3 times")]
    {
        let line = text.lines().find(|line| line.starts_with(&format!("{id} "))).unwrap();
        assert!(line.contains(becomes), "{line}");
    }
    let text = good(scratch.run(&["errors"], b""));
    assert!(text.trim_end().ends_with(says) && !text.contains("Bash error-c"), "{text}");
    let status = good(scratch.run(&["status"], b""));
    assert!(status.contains(&format!("Errors: {says}\n")), "{status}");
    assert!(!status.contains("retry 0 of 0"), "{status}");
    let shown = good(scratch.run(&["errors", "show", "d"], b""));
    assert!(shown.contains("status: logged\nfailed: 3 times\n"), "{shown}");
}

#[test]
fn an_error_can_be_resolved_by_hand() {
    let scratch = shop();
    let list = parsed(scratch.run(&["errors", "--json"], b""));
    let id = list[0]["id"].as_str().unwrap().to_owned();
    let text = good(scratch.run(&["errors"], b""));
    assert!(
        text.contains("network  pending  retry 1 of 3 at ")
            && text.contains("Bash curl shop.test/items: Exit code 7 connection refused")
            && text.ends_with("1 in all, 1 pending, 0 recovered, 0 escalated\n"),
        "{text}"
    );
    good(scratch.run(&["errors", "resolve", id.get(6..12).unwrap()], b""));
    assert_eq!(scratch.doc("errors/classified.json")["errors"][0]["status"], "recovered");
    let live = scratch.doc(&format!("session/live/{SESSION}.json"));
    assert_eq!(live["errors_recovered"], 1);
    assert_eq!(live["open_targets"], json!([]));
    assert_eq!(parsed(scratch.run(&["errors", "--json"], b"")), json!([]));
    assert_eq!(
        parsed(scratch.run(&["errors", "--all", "--json"], b"")).as_array().unwrap().len(),
        1
    );
    refused(&scratch.run(&["errors", "resolve", "zzz"], b""), "there is no error `zzz`");
    // The journal knows it too, also when the session has ended and only the journal is left.
    let log = good(scratch.run(&["log"], b""));
    assert!(log.contains("recovered (by hand): Bash curl shop.test/items"), "{log}");
    scratch.hook(&event("SessionEnd", json!({"reason": "other"})));
    let kept = parsed(scratch.run(&["errors", "--session", SESSION, "--json"], b""));
    assert_eq!((&kept[0]["id"], &kept[0]["status"]), (&json!(id), &json!("recovered")));
}

#[test]
fn a_name_that_fits_nothing_picks_nothing() {
    let scratch = shop();
    scratch.hook(&event("PreCompact", json!({"trigger": "manual", "custom_instructions": null})));
    for command in [
        &["backup", "show", "2"][..],
        &["backup", "show", ""],
        &["backup", "restore", "2"],
        &["errors", "resolve", ""],
        &["agents", "show", ""],
        &["agents", "nudge", ""],
    ] {
        let run = scratch.run(command, b"");
        // A name that is empty is none, whatever there is.
        let code = if command.ends_with(&[""]) { 64 } else { 1 };
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{command:?}");
    }
    assert_eq!(scratch.doc("errors/classified.json")["errors"][0]["status"], "pending_retry");
}

#[test]
fn a_document_that_cannot_be_read_is_named() {
    let scratch = shop();
    scratch.hook(&event("PreCompact", json!({"trigger": "manual", "custom_instructions": null})));
    let backup = format!("compaction/{}", scratch.names("compaction")[0]);
    for (command, document) in [
        (&["errors"][..], "errors/classified.json"),
        (&["sessions"], "session/metrics.json"),
        (&["backup", "list"], backup.as_str()),
    ] {
        fs::write(scratch.state().join(document), "{\"broken").unwrap();
        refused(&scratch.run(command, b""), &format!(".claude/state/{document} cannot be read"));
    }
    // A command that has to move one away says so, at the next event that can.
    refused(&scratch.run(&["errors", "resolve", "x"], b""), "there is no error `x`");
    assert!(scratch.doc("notices.json").to_string().contains("quarantine"));
}

#[test]
fn without_books_answers_are_empty_not_wrong() {
    let scratch = Scratch::new();
    for command in [&["agents", "--json"][..], &["errors", "--json"], &["backup", "list", "--json"]]
    {
        assert_eq!(parsed(scratch.run(command, b"")), json!([]), "{command:?}");
    }
    assert_eq!(good(scratch.run(&["record", "list", "--json"], b"")), "");
    refused(&scratch.run(&["agents", "show", "x"], b""), "there is no agent `x`");
    refused(&scratch.run(&["-C", "/dev/null", "errors"], b""), "/dev/null: it is not a directory");
    assert!(!scratch.root().join(".claude").exists());
}

#[test]
fn notes_add_up_and_hold_no_secret() {
    let scratch = shop();
    good(scratch.run(&["agents", "nudge", "a1", "--message", "first"], b""));
    good(
        scratch
            .run(&["agents", "nudge", "a1", "--message", "login --password hunter2hunter2"], b""),
    );
    let live = scratch.doc(&format!("session/live/{SESSION}.json"));
    assert_eq!(live["agents"][0]["nudge"], "first / login --password [redacted]");
    assert!(good(scratch.run(&["agents", "show", "a1"], b"")).contains("nudged: 2 times"));
    assert!(good(scratch.run(&["agents", "show", "a1"], b"")).contains("\ntask: not known yet\n"));
    misused(
        &scratch.run(&["agents", "nudge", "a1", "--message", " "], b""),
        "the message is empty",
    );
    // An event that waits for the lock is heard by nobody: the note stays.
    let lock =
        fs::OpenOptions::new().read(true).write(true).open(scratch.state().join(".lock")).unwrap();
    lock.lock().unwrap();
    let call = |id: &str| {
        event(
            "PostToolUse",
            json!({"tool_name": "Read", "tool_use_id": id, "agent_id": "a1b2c3", "tool_input": {"file_path": "x"}}),
        )
    };
    assert_eq!(scratch.hook(&call("c1")).stdout, "");
    drop(lock);
    assert!(scratch.hook(&call("c2")).stdout.contains("first / login"));
}

#[test]
fn status_counts_what_the_sessions_say() {
    let scratch = shop();
    fs::remove_file(scratch.state().join("agents/active.json")).unwrap();
    assert!(
        good(scratch.run(&["status"], b"")).contains("Agents: 1 running, 2 spawned, 1 completed")
    );
}

#[test]
fn a_full_disk_is_no_success() {
    let scratch = shop();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = scratch.command(&["errors", "--json"]).stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn sessions_are_listed_live_and_ended() {
    let scratch = shop();
    let text = good(scratch.run(&["sessions"], b""));
    assert!(
        text.starts_with(
            "SESSION   STARTED  TOOK  ENDED  AGENTS  ERRORS  FINDINGS  TASK\n0f3e8a2c  "
        ) && text.ends_with("  live   2       1       1         Review the shop\n"),
        "{text}"
    );
    scratch.hook(&event("SessionEnd", json!({"reason": "logout"})));
    fs::write(
        scratch.state().join("session/metrics-archive.jsonl"),
        "{\"session_id\": \"old\", \"ended\": \"other\"}\n",
    )
    .unwrap();
    let text = good(scratch.run(&["sessions"], b""));
    assert!(text.contains("logged out") && !text.contains("old"), "{text}");
    let all = parsed(scratch.run(&["sessions", "--all", "--json"], b""));
    assert_eq!(all["live"], json!([]));
    assert_eq!(all["ended"][0]["session_id"], SESSION);
    assert_eq!(all["ended"][1]["session_id"], "old");
}

#[test]
fn backups_are_shown_compared_and_restored() {
    let scratch = shop();
    refused(&scratch.run(&["backup", "show"], b""), "there is no backup yet");
    fs::create_dir_all(scratch.state().join("loop")).unwrap();
    let queue = scratch.state().join("loop/work_queue.json");
    let markdown = scratch.state().join("loop/LOOP_STATE.md");
    fs::write(&queue, r#"{"version":1,"task":"Open the shop","iteration":2,"items":[],"status":"BUILDING","mine":7}"#).unwrap();
    fs::write(&markdown, "# Loop\n\nIteration 2\n").unwrap();
    scratch.hook(&event("PreCompact", json!({"trigger": "manual", "custom_instructions": null})));
    let list = parsed(scratch.run(&["backup", "list", "--json"], b""));
    assert_eq!((list.as_array().unwrap().len(), &list[0]["reason"]), (1, &json!("manual")));
    let text = good(scratch.run(&["backup", "list"], b""));
    assert!(text.starts_with("BACKUP  WHEN ") && text.contains("\n1       "), "{text}");
    let text = good(scratch.run(&["backup", "show", "1"], b""));
    assert!(text.contains("# Loop\n\nIteration 2\n") && text.contains("Open the shop"), "{text}");
    assert_eq!(
        parsed(scratch.run(&["backup", "show", "--json"], b""))["preserved"]["work_queue"]["mine"],
        7
    );

    fs::write(&queue, "{ broken").unwrap();
    fs::write(&markdown, "# Loop\n\nIteration 3\n").unwrap();
    let text = good(scratch.run(&["backup", "diff"], b""));
    assert!(
        text.contains("-Iteration 2\n+Iteration 3\n") && text.contains("+++ loop_state (now)"),
        "{text}"
    );
    let text = good(scratch.run(&["backup", "restore", "latest", "--dry-run"], b""));
    assert!(text.contains("-Iteration 3\n+Iteration 2\n"), "{text}");
    assert_eq!(fs::read_to_string(&queue).unwrap(), "{ broken");
    let text = good(scratch.run(&["backup", "restore", "latest"], b""));
    assert!(text.starts_with("Restored .claude/state/loop/work_queue.json and .claude/state/loop/LOOP_STATE.md from backup_"), "{text}");
    assert_eq!(scratch.doc("loop/work_queue.json")["mine"], 7);
    assert_eq!(fs::read_to_string(&markdown).unwrap(), "# Loop\n\nIteration 2\n");
    let aside = scratch.names("set-aside");
    let kept = scratch.state().join("set-aside").join(&aside[0]).join("loop/work_queue.json");
    assert_eq!(fs::read_to_string(kept).unwrap(), "{ broken");

    let name = &scratch.names("compaction")[0];
    let file = scratch.state().join("compaction").join(name);
    let changed = fs::read_to_string(&file).unwrap().replace("Open the shop", "Rob the shop");
    fs::write(&file, changed).unwrap();
    refused(&scratch.run(&["backup", "restore", name], b""), "the checksum differs");
    refused(&scratch.run(&["backup", "show", "7"], b""), "there is no backup 7; there are 1");
}

#[test]
fn a_reset_sets_aside_and_the_books_go_on() {
    let scratch = shop();
    good(scratch.run(&["reset", "errors"], b""));
    assert!(!scratch.exists("errors"));
    let live = scratch.doc(&format!("session/live/{SESSION}.json"));
    assert_eq!((&live["errors_encountered"], &live["open_targets"]), (&json!(0), &json!([])));
    scratch.hook(&failure("t2", "connection refused"));
    assert_eq!(scratch.doc("errors/classified.json")["summary"]["total"], 1);
    assert_eq!(scratch.doc("session/current.json")["errors_encountered"], 1);

    good(scratch.run(&["reset", "agents"], b""));
    assert!(!scratch.exists("agents/active.json"));
    assert_eq!(scratch.doc("session/current.json")["agents_spawned"], 0);
    scratch.hook(&event("SubagentStart", json!({"agent_id": "new", "agent_type": "Explore"})));
    assert_eq!(scratch.doc("agents/active.json")["total_spawned"], 1);

    let text = good(scratch.run(&["reset", "all"], b""));
    assert!(text.starts_with("Reset. What was there is in .claude/state/set-aside/"), "{text}");
    assert!(
        !scratch.exists("session") && !scratch.exists("errors") && scratch.exists(".gitignore")
    );
    assert_eq!(scratch.names("set-aside").len(), 3);
    let last = scratch.names("set-aside").pop().unwrap();
    assert!(scratch.exists(&format!("set-aside/{last}/session/live/{SESSION}.json")));
    scratch.hook(&event("UserPromptSubmit", json!({"prompt": "Go on"})));
    assert_eq!(scratch.doc("session/current.json")["session_id"], SESSION);
    for _ in 0..5 {
        scratch.hook(&event("UserPromptSubmit", json!({"prompt": "Go on"})));
        good(scratch.run(&["reset", "all"], b""));
    }
    assert_eq!(scratch.names("set-aside").len(), 5, "the newest five are kept");
    assert_eq!(good(scratch.run(&["reset", "loop"], b"")), "There was nothing to reset.\n");
    assert_eq!(scratch.names("set-aside").len(), 5);
    assert_eq!(scratch.run(&["reset", "everything"], b"").code, Some(64));
    assert!(good(Scratch::new().run(&["reset", "all"], b"")).starts_with("There is no state here"));
}

#[test]
fn completions_and_manual_know_every_command() {
    let scratch = Scratch::new();
    let help = good(scratch.run(&["--help"], b""));
    let commands: Vec<&str> = help
        .split("Set up:")
        .nth(1)
        .unwrap()
        .split("Options:")
        .next()
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| *word != "help")
        .collect();
    assert!(commands.len() >= 12, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = good(scratch.run(&["completions", shell], b""));
        assert!(commands.iter().all(|command| script.contains(command)), "{shell}");
    }
    let page = good(scratch.run(&["man"], b""));
    assert!(
        page.contains(".TH hookkeeper 1 \"\" \"hookkeeper 0.1.0\" \"HookKeeper\"\n")
            && !page.contains("hookkeeper\\-help(1)")
            && commands.iter().all(|c| page.contains(&c.replace('-', "\\-"))),
        "{page}"
    );
    for command in &commands {
        good(scratch.run(&["man", command], b""));
        let help = good(scratch.run(&[command, "--help"], b""));
        assert!(help.contains("Example"), "{command}: {help}");
    }
    misused(&scratch.run(&["man", "nonsense"], b""), "there is no command `nonsense`");
    misused(&scratch.run(&["man", "loop", "help"], b""), "there is no command `loop help`");
    // Examples are lines to copy: a page does not fill them.
    let page = good(scratch.run(&["man", "loop", "start"], b""));
    assert!(page.contains(".TH hookkeeper\\-loop\\-start 1 \"\" \"hookkeeper 0.1.0\""), "{page}");
    let examples = page.split_once("\n.SH EXAMPLES\n.nf\nhookkeeper loop start").unwrap().1;
    assert!(examples.ends_with("\n.fi\n") && !page.contains("EXTRA"), "{page}");
}

/// What is wrong whatever the state is: the exit code says that another call is needed.
#[test]
fn arguments_that_are_wrong_by_themselves_are_bad_usage() {
    let scratch = shop();
    for (command, says) in [
        (&["-C", ".", "hook"][..], "usage: hookkeeper hook [EVENT] < payload.json"),
        (&["log", "--event", "nonsense"], "`nonsense` is no event"),
        (&["log", "--since", "soon"], "`soon` is no time"),
        (&["search", " "], "there is no text to look for"),
        (&["schema", "nonsense"], "there is no document \"nonsense\""),
        (&["gate", "test", "maybe"], "`maybe` is no status"),
        (&["install", "--scope", "bogus"], "there is no scope `bogus`"),
        (&["man", "nosuch"], "there is no command `nosuch`"),
        (&["iterative", "set", "s", "T1", "foo"], "say max=N"),
        (&["iterative", "signal", "s", "nope"], "`nope` is no signal"),
        (&["iterative", "new", "BAD", "--task", "x", "--mode", "development"], "a task's name"),
        (&["loop", "start", ""], "the task is empty"),
        (&["branch", "loop", "start", "", "--promise", "x"], "must not be empty"),
        (&["queue", "add", "--priority", "S1", "--title", ""], "the title is empty"),
        (&["branch", "handoff", "--note", "x"], "--type <TYPE>"),
        (&["status", "--nonsense"], "unexpected argument '--nonsense'"),
        (&["nonsense"], "unrecognized subcommand 'nonsense'"),
    ] {
        misused(&scratch.run(command, b""), says);
    }
    let nothing = scratch.run(&[], b"");
    assert_eq!((nothing.code, nothing.stderr.as_str()), (Some(64), ""));
    assert!(nothing.stdout.contains("\nSet up:\n"), "{}", nothing.stdout);
}

#[test]
fn busy_books_are_not_waited_for_long() {
    let scratch = shop();
    let lock =
        fs::OpenOptions::new().read(true).write(true).open(scratch.state().join(".lock")).unwrap();
    lock.lock().unwrap();
    refused(&scratch.run(&["reset", "all"], b""), "the state is in use by another process");
}

/// For scripts, and for reports of bugs: what it is, and what it was built from.
#[test]
fn the_version_as_json() {
    let scratch = Scratch::new();
    let version = parsed(scratch.run(&["--version", "--json"], b""));
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["profile"], if cfg!(debug_assertions) { "debug" } else { "release" });
    assert_eq!(version["static"], cfg!(target_feature = "crt-static"));
    assert!(version["target"].as_str().unwrap().starts_with(std::env::consts::ARCH));
    assert_eq!(version["state"], "3.0");
    assert_eq!(version["journal"], 1);
    assert!(version["commit"].is_null() || version["commit"].is_string());
    assert_eq!(good(scratch.run(&["--version"], b"")), good(scratch.run(&["-V"], b"")));
    let alone = scratch.run(&["--json"], b"");
    assert_eq!((alone.code, alone.stdout.as_str()), (Some(64), ""), "{}", alone.stderr);
}
