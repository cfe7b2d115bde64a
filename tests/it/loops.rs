//! The loop of the work queue, through the binary: commands as the model runs them, stops as the
//! client sends them.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Scratch, event, good, misused, program, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

/// A project with one live session, in which the commands run.
fn shop() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    scratch
}

fn tool(scratch: &Scratch) {
    let call = json!({"tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "x"}, "tool_response": {}});
    scratch.hook(&event(SESSION, "PostToolUse", call));
}

/// A stop of the session; the reply, if there is one.
fn stop_with(scratch: &Scratch, session: &str, active: bool, fields: Value) -> Value {
    let mut payload =
        event(session, "Stop", json!({"stop_hook_active": active, "background_tasks": []}));
    payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let reply = scratch.hook(&payload).stdout;
    if reply.is_empty() { Value::Null } else { serde_json::from_str(&reply).unwrap() }
}

fn stop(scratch: &Scratch, active: bool) -> Value {
    stop_with(scratch, SESSION, active, json!({}))
}

fn queue(scratch: &Scratch) -> Value {
    scratch.doc("loop/work_queue.json")
}

#[test]
fn two_passes_in_a_row_complete_it() {
    let scratch = shop();
    let text = good(scratch.run(&["loop", "start", "Add login", "--gate", "test"], b""));
    assert!(
        text.starts_with(&format!(
            "Started: loop \"Add login\", iteration 1 of 50, driven by session {SESSION}."
        )),
        "{text}"
    );
    assert_eq!(
        good(
            scratch.run(
                &["queue", "add", "--priority", "s1", "--title", "Refuse empty passwords"],
                b""
            )
        ),
        "work-001 added: Refuse empty passwords\n"
    );
    let reply = stop(&scratch, false);
    assert_eq!(reply["decision"], "block");
    let reason = reply["reason"].as_str().unwrap();
    assert!(
        reason.contains("- work-001 S1: Refuse empty passwords")
            && reason.contains("Gate test: not run yet."),
        "{reason}"
    );
    assert!(reason.chars().count() < 4000);
    assert_eq!(
        reply["systemMessage"],
        "HookKeeper: loop \"Add login\", iteration 2 of 50. To end it: type \"stop the loop\", or run `hookkeeper loop cancel`"
    );
    tool(&scratch);
    good(scratch.run(&["queue", "done", "1"], b""));
    let run = scratch.run(
        &["run-gate", "test", "--", "sh", "-c", "echo out; echo three failed >&2; exit 3"],
        b"",
    );
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(3), "three failed\n"),
        "its own output and exit code"
    );
    assert!(
        run.stdout.starts_with("out\n") && run.stdout.contains("Tests: fail (exit 3, "),
        "{}",
        run.stdout
    );
    let reply = stop(&scratch, true);
    assert!(reply["reason"].as_str().unwrap().contains("Gate test: fail: three failed"), "{reply}");
    for iteration in [3, 4] {
        tool(&scratch);
        good(scratch.run(&["run-gate", "test", "--", "true"], b""));
        let reply = stop(&scratch, true);
        assert_eq!(reply["decision"] == "block", iteration == 3, "{reply}");
    }
    let ended = queue(&scratch);
    assert_eq!((&ended["verdict"], &ended["status"]), (&json!("complete"), &json!("COMPLETE")));
    assert!(ended["verdict_at"].is_string() && ended["verdict_reason"].is_string());
    assert_eq!(stop(&scratch, true), Value::Null, "a finished loop never blocks again");
    let markdown = fs::read_to_string(scratch.state().join("loop/LOOP_STATE.md")).unwrap();
    assert!(markdown.contains("- Iteration 2: Fixed 1 item, test failing\n- Iteration 3: Fixed 0 items, gates passing\n"), "{markdown}");
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    assert_eq!(scratch.doc("session/metrics.json")["sessions"][0]["loop"], "complete");
}

#[test]
fn a_loop_has_its_limits() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Talk", "--max-iterations", "3", "--gate", "test"], b""));
    for n in 1..=3 {
        tool(&scratch);
        good(
            scratch
                .run(&["queue", "add", "--priority", "S2", "--title", &format!("item {n}")], b""),
        );
        let reply = stop(&scratch, true);
        assert_eq!(reply["decision"] == "block", n < 3, "{n}: {reply}");
    }
    assert_eq!(queue(&scratch)["verdict"], "capped");
    refused(&scratch.run(&["loop", "next"], b""), "the loop has ended (capped)");
    good(scratch.run(&["loop", "resume"], b""));
    let resumed = queue(&scratch);
    assert_eq!((&resumed["verdict"], &resumed["max_iterations"]), (&Value::Null, &json!(14)));
    assert_eq!(stop(&scratch, false)["decision"], "block");
}

#[test]
fn time_is_a_limit_too() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Talk", "--max-minutes", "5"], b""));
    let file = scratch.state().join("loop/work_queue.json");
    let mut old = queue(&scratch);
    old["started_at"] = "2026-01-01T00:00:00Z".into();
    fs::write(&file, old.to_string()).unwrap();
    let reply = stop(&scratch, false);
    assert!(
        reply["systemMessage"].as_str().unwrap().contains("is capped: the time limit of 5 minutes"),
        "{reply}"
    );
    assert_eq!(queue(&scratch)["verdict"], "capped");
}

/// The client would end the turn at the eighth block in a row, and say nothing.
#[test]
fn a_model_that_only_talks_is_stopped_before_the_client_does_it() {
    for (cap, blocks) in [(None, 7), (Some("3"), 2), (Some("1"), 1)] {
        let mut scratch = shop();
        if let Some(cap) = cap {
            scratch.env.insert("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP".into(), cap.into());
        }
        good(scratch.run(&["loop", "start", "Talk", "--gate", "test"], b""));
        for n in 1..=blocks {
            assert_eq!(stop(&scratch, n > 1)["decision"], "block", "{cap:?} {n}");
        }
        let reply = stop(&scratch, true);
        assert_eq!(reply.get("decision"), None, "{reply}");
        let told = reply["systemMessage"].as_str().unwrap();
        assert!(
            told.contains("is stalled: ") && told.contains("`hookkeeper loop resume`"),
            "{told}"
        );
        assert_eq!(queue(&scratch)["verdict"], "stalled");
    }
    let mut scratch = shop();
    scratch.env.insert("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP".into(), "0".into());
    good(scratch.run(&["loop", "start", "Talk", "--gate", "test"], b""));
    assert!((0..20).all(|n| stop(&scratch, n > 0)["decision"] == "block"), "without a cap");
}

#[test]
fn tools_start_the_count_anew_and_the_same_work_thrice_is_a_stall() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Turn round", "--gate", "test"], b""));
    for _ in 0..6 {
        assert_eq!(stop(&scratch, true)["decision"], "block");
    }
    tool(&scratch);
    assert_eq!(scratch.doc(&format!("session/live/{SESSION}.json")).get("blocks"), None);
    assert_eq!(stop(&scratch, true)["decision"], "block");
    let reply = stop(&scratch, true);
    assert_eq!(reply["decision"], "block", "talk alone is not counted as work");
    tool(&scratch);
    let reply = stop(&scratch, true);
    assert!(
        reply["systemMessage"]
            .as_str()
            .unwrap()
            .contains("stalled: 3 iterations in a row without a commit"),
        "{reply}"
    );
}

/// The plainest loop: one failure fewer each time, nothing else.
#[test]
fn a_loop_with_one_failure_fewer_each_time_runs_through() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Make the tests pass", "--gate", "test"], b""));
    for failures in (0..20).rev() {
        tool(&scratch);
        let line = format!(
            "echo 'test result: FAILED. 1 passed; {failures} failed; 0 ignored'; exit {}",
            i32::from(failures > 0)
        );
        scratch.run(&["run-gate", "test", "--", "sh", "-c", &line], b"");
        assert_eq!(stop(&scratch, true)["decision"], "block", "{failures} failures");
        assert_eq!(queue(&scratch)["gate_results"]["test"]["issues"], failures);
    }
    tool(&scratch);
    good(scratch.run(&["run-gate", "test", "--", "true"], b""));
    stop(&scratch, true);
    let ended = queue(&scratch);
    assert_eq!((&ended["verdict"], &ended["iteration"]), (&json!("complete"), &json!(21)));
}

/// A commit, a file that was written, an item: each of them is progress, and none of them is not.
#[test]
fn progress_is_what_can_be_seen() {
    let commit = |scratch: &Scratch, n: u32| {
        let refs = scratch.root().join(".git/refs/heads");
        fs::create_dir_all(&refs).unwrap();
        fs::write(scratch.root().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(refs.join("main"), format!("{}\n", format!("{n:08x}").repeat(5))).unwrap();
    };
    let write = |scratch: &Scratch, file: &str| {
        let path = scratch.root().join(file);
        let call = json!({"tool_name": "Edit", "tool_use_id": "t", "tool_input": {"file_path": path}, "tool_response": {}});
        scratch.hook(&event(SESSION, "PostToolUse", call));
    };
    type Step<'a> = &'a dyn Fn(&Scratch, u32);
    let steps: [(&str, bool, Step); 5] = [
        ("commits", true, &|scratch, n| commit(scratch, n)),
        ("writes a file", true, &|scratch, _| write(scratch, "src/login.rs")),
        ("adds an item", true, &|scratch, _| {
            good(scratch.run(&["queue", "add", "--priority", "S2", "--title", "more"], b""));
        }),
        ("writes state", false, &|scratch, _| write(scratch, ".claude/state/loop/work_queue.json")),
        ("reads", false, &|_, _| {}),
    ];
    for (what, is_progress, step) in steps {
        let scratch = shop();
        commit(&scratch, 0);
        good(scratch.run(&["loop", "start", "Go on", "--gate", "test"], b""));
        for n in 1..=5 {
            tool(&scratch);
            step(&scratch, n);
            let blocked = stop(&scratch, true)["decision"] == "block";
            assert_eq!(blocked, is_progress || n < 3, "{what}: iteration {n}");
            if !blocked {
                break;
            }
        }
    }
}

/// What commands change is seen in the checkout; state and what git ignores is no work. Without git,
/// or with one that hangs, only what tools say counts.
#[test]
fn what_commands_change_is_progress_too() {
    let run = |scratch: &Scratch, line: &str| {
        let mut shell = std::process::Command::new("sh");
        let done = shell.args(["-c", line]).current_dir(scratch.root()).status().unwrap();
        assert!(done.success(), "{line}");
    };
    let bash = |scratch: &Scratch| {
        let call = json!({"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "make"}, "tool_response": {}});
        scratch.hook(&event(SESSION, "PostToolUse", call));
    };
    let hanging = |scratch: &mut Scratch| {
        let bin = scratch.home().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let git = bin.join("git");
        program(&git, "#!/bin/sh\nexec sleep 60\n");
        std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
        scratch.env.insert("PATH".into(), format!("{}:/usr/bin:/bin", bin.display()));
    };
    let missing = |scratch: &mut Scratch| {
        scratch.env.insert("PATH".into(), "/nowhere".into());
    };
    let as_is = |_: &mut Scratch| {};
    type Git<'a> = &'a dyn Fn(&mut Scratch);
    let ways: [(&str, bool, Git); 5] = [
        ("echo N >> made.txt", true, &as_is),
        ("echo N > tracked.txt", true, &as_is),
        ("echo N >> build.log; mkdir -p .claude; echo N > .claude/notes", false, &as_is),
        ("echo N >> made.txt", false, &missing),
        ("echo N >> made.txt", false, &hanging),
    ];
    for (line, is_progress, git) in ways {
        let mut scratch = shop();
        run(
            &scratch,
            "git init -q -b main; echo '*.log' > .gitignore; echo a > tracked.txt; git add .gitignore tracked.txt",
        );
        run(&scratch, "git -c user.name=n -c user.email=n@x commit -qm first");
        git(&mut scratch);
        good(scratch.run(&["loop", "start", "Go on", "--gate", "test"], b""));
        for n in 1..=5 {
            run(&scratch, &line.replace('N', &n.to_string()));
            bash(&scratch);
            let began = std::time::Instant::now();
            let blocked = stop(&scratch, true)["decision"] == "block";
            assert!(began.elapsed() < std::time::Duration::from_secs(4), "{line}: bounded");
            assert_eq!(blocked, is_progress || n < 3, "{line}: iteration {n}");
            if !blocked {
                break;
            }
        }
    }
}

#[test]
fn agents_in_the_background_are_waited_for() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Wait"], b""));
    let company =
        |kind: &str| json!({"background_tasks": [{"id": "a1", "type": kind, "status": "running"}]});
    for kind in ["subagent", "workflow"] {
        assert_eq!(stop_with(&scratch, SESSION, false, company(kind)), Value::Null, "{kind}");
    }
    assert_eq!(queue(&scratch)["iteration"], 1, "nothing is counted");
    // A teammate is listed while it is idle too: one that runs is in the record
    // (`tests/cases/stop/`).
    for kind in ["shell", "teammate"] {
        let reply = stop_with(&scratch, SESSION, false, company(kind));
        assert_eq!(reply["decision"], "block", "{kind}");
    }
    let agent = json!({"agent_id": "a1"});
    assert_eq!(stop_with(&scratch, SESSION, false, agent), Value::Null, "not the main thread");
}

#[test]
fn other_sessions_are_left_alone() {
    let mut scratch = shop();
    good(scratch.run(&["loop", "start", "Mine"], b""));
    scratch.hook(&event("other", "SessionStart", json!({"source": "startup"})));
    scratch.hook(&event("other", "UserPromptSubmit", json!({"prompt": "hello"})));
    assert_eq!(stop_with(&scratch, "other", false, json!({})), Value::Null);
    assert_eq!(queue(&scratch)["session_id"], SESSION);
    // It stays its owner's after the owner has ended, too.
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    scratch.hook(&event("other", "UserPromptSubmit", json!({"prompt": "hello"})));
    assert_eq!(stop_with(&scratch, "other", false, json!({})), Value::Null);
    // A model acts for its own session only; a person can hand it over.
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), "other".into());
    for command in [&["loop", "cancel"][..], &["loop", "next"], &["loop", "start", "x", "--reset"]]
    {
        refused(&scratch.run(command, b""), &format!("was driven by session {SESSION}, which has"));
    }
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    good(scratch.run(&["loop", "adopt"], b""));
    assert_eq!(stop_with(&scratch, "other", false, json!({}))["decision"], "block");
}

#[test]
fn a_loop_of_nobody_is_adopted_by_the_only_session() {
    let mut scratch = shop();
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    let text = good(scratch.run(&["loop", "start", "Anybody"], b""));
    assert!(text.contains("driven by the next session here"), "{text}");
    let heard =
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "hello"}))).stdout;
    assert!(heard.contains("additionalContext") && heard.contains("Anybody"), "{heard}");
    assert_eq!(stop(&scratch, false)["decision"], "block");
    assert_eq!(queue(&scratch)["session_id"], SESSION);
}

#[test]
fn one_started_in_a_terminal_is_bound_to_the_only_session_which_is_told() {
    let mut scratch = shop();
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    let text = good(scratch.run(&["loop", "start", "Bound"], b""));
    assert!(text.contains(&format!("driven by session {SESSION}.")), "{text}");
    assert_eq!(queue(&scratch)["session_id"], SESSION);
    let hear = || {
        let prompt = json!({"prompt": "hello"});
        scratch.hook(&event(SESSION, "UserPromptSubmit", prompt)).stdout
    };
    let heard = hear();
    assert!(heard.contains("started in a terminal") && heard.contains("Bound"), "{heard}");
    assert_eq!(hear(), "", "once");
    assert_eq!(stop(&scratch, false)["decision"], "block");
}

#[test]
fn with_several_sessions_one_has_to_be_named_and_known() {
    let mut scratch = shop();
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    scratch.hook(&event("0f3e9999", "SessionStart", json!({"source": "startup"})));
    let start = |session: &str| scratch.run(&["loop", "start", "Whose", "--session", session], b"");
    refused(&scratch.run(&["loop", "start", "Whose"], b""), "several sessions are live; name one");
    refused(&start("0f3e"), "`0f3e` could be several: 0f3e8a2c");
    refused(&start("7777"), "there is no session `7777` (hookkeeper sessions)");
    for args in [
        ["queue", "done", "1", "--session", "7777"].as_slice(),
        &["branch", "loop", "status", "--session", "7777"],
        &["autonomous", "status", "--session", "7777"],
    ] {
        refused(&scratch.run(args, b""), "there is no session `7777`");
    }
    good(start("0f3e8"));
    assert_eq!(queue(&scratch)["session_id"], SESSION);
}

#[test]
fn after_a_clear_a_person_is_asked() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Go on"], b""));
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "hello"})));
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "clear"})));
    let heard = scratch.hook(&event("next", "SessionStart", json!({"source": "clear"}))).stdout;
    assert!(
        heard.contains("does not go on until somebody runs `hookkeeper loop adopt`"),
        "{heard}"
    );
    assert_eq!(queue(&scratch)["session_id"], SESSION);
    let told = stop_with(&scratch, "next", false, json!({}));
    assert_eq!(told.get("decision"), None, "{told}");
    let both = format!("{heard}{told}");
    assert!(both.contains("`hookkeeper loop adopt` goes on with it here"), "{both}");
    assert_eq!(stop_with(&scratch, "next", false, json!({})), Value::Null, "once");
    good(scratch.run(&["loop", "adopt", "--session", "next"], b""));
    assert_eq!(stop_with(&scratch, "next", false, json!({}))["decision"], "block");
}

#[test]
fn a_prompt_that_asks_to_stop_pauses_it() {
    let scratch = shop();
    let say = |prompt: &str| {
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": prompt}))).stdout
    };
    good(scratch.run(&["loop", "start", "Endless", "--gate", "test"], b""));
    let exit =
        |reply: Value| reply["systemMessage"].to_string().contains("`hookkeeper loop cancel`");
    assert!(exit(stop(&scratch, false)), "the first block names the way out");
    assert!(!exit(stop(&scratch, true)), "and the next one does not");
    say("don't stop the loop before the tests pass");
    assert!(exit(stop(&scratch, false)), "a person has typed something");
    assert_eq!(queue(&scratch)["verdict"], Value::Null);
    let heard = say("Stop the loop, please.");
    assert_eq!(heard.matches("is paused: the user asked to stop").count(), 2, "{heard}");
    assert_eq!(stop(&scratch, false), Value::Null);
    assert_eq!(queue(&scratch)["verdict"], "cancelled");
    good(scratch.run(&["loop", "resume"], b""));
    assert_eq!(stop(&scratch, false)["decision"], "block");
}

/// The version is in the transcript; where it is not known, a block is what all clients understand.
#[test]
fn a_client_that_can_go_on_quietly_is_not_blocked() {
    for (version, is_quiet) in
        [("2.1.325", true), ("2.1.163", true), ("2.1.162", false), ("x", false)]
    {
        let scratch = shop();
        good(scratch.run(&["loop", "start", "Quiet", "--gate", "test"], b""));
        let transcript = scratch.root().join("t.jsonl");
        let line = json!({"type": "assistant", "message": {"content": "\"version\":\"9.9.9\""}, "version": version});
        fs::write(&transcript, format!("{line}\n{{\"type\":\"summary\"}}\n")).unwrap();
        let reply = stop_with(&scratch, SESSION, false, json!({"transcript_path": transcript}));
        let told = &reply["hookSpecificOutput"]["additionalContext"];
        assert_eq!(reply.get("decision").is_none(), is_quiet, "{version}: {reply}");
        assert_eq!(told.to_string().contains("Gate test: not run yet."), is_quiet, "{version}");
        assert_eq!(scratch.doc(&format!("session/live/{SESSION}.json"))["blocks"], 1);
    }
}

#[test]
fn the_help_says_which_loop_is_for_what() {
    let scratch = Scratch::new();
    let help = good(scratch.run(&["loop", "--help"], b""));
    for name in ["loop ", "branch loop ", "autonomous ", "iterative "] {
        let rows = help.lines().filter(|line| line.starts_with(&format!("  {name}")));
        assert!(rows.count() >= 1, "{name}: {help}");
    }
    assert!(help.contains("Which loop when:"), "{help}");
    // The names that all loops have come first.
    let branch = good(scratch.run(&["branch", "--help"], b""));
    let branch = branch + &good(scratch.run(&["branch", "loop", "--help"], b""));
    assert!(branch.contains("--max-iterations 20") && !branch.contains("--max 20"), "{branch}");
    let autonomous = good(scratch.run(&["autonomous", "start", "--help"], b""));
    assert!(autonomous.contains("--promise <TEXT>"), "{autonomous}");
    assert!(autonomous.contains("completion-promise"), "{autonomous}");
    for old in ["--max", "--max-iterations"] {
        let scratch = shop();
        good(scratch.run(&["branch", "loop", "start", "x", old, "7"], b""));
        good(scratch.run(&["branch", "loop", "cancel"], b""));
        good(scratch.run(&["branch", "loop", "resume", old, "9"], b""));
        let status = good(scratch.run(&["branch", "loop", "status"], b""));
        assert!(status.contains("iteration 1 of 9"), "{status}");
    }
}

#[test]
fn from_the_third_iteration_on_the_short_form_is_enough() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Short", "--gate", "test"], b""));
    let lengths: Vec<usize> =
        (0..3).map(|n| stop(&scratch, n > 0)["reason"].as_str().unwrap().len()).collect();
    assert!(lengths[1] * 2 < lengths[0] && lengths[2] == lengths[1], "{lengths:?}");
}

/// What keeps it from its end is said in both forms.
#[test]
fn a_loop_that_nothing_can_complete_says_so_each_time() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Nothing"], b""));
    for n in 0..4 {
        let reply = stop(&scratch, n > 0);
        let said = reply["reason"].as_str().unwrap();
        assert!(said.contains("It has no gate and no item yet, so it cannot be completed"), "{n}");
    }
}

/// The others too, where the phase or unit is known by then; what ends it is always said.
#[test]
fn every_loop_has_a_short_form() {
    let starts: [(&[&str], &str); 3] = [
        (&["branch", "loop", "start", "Make it green"], "<promise>BUILD COMPLETE</promise>"),
        (&["autonomous", "start", "Add login"], "hookkeeper autonomous advance"),
        (
            &[
                "iterative",
                "new",
                "auth",
                "--task",
                "Auth",
                "--mode",
                "development",
                "--unit",
                "T1: Model | works | max 9",
            ],
            "<signal>T1_DONE</signal>",
        ),
    ];
    for (start, ends) in starts {
        let scratch = shop();
        good(scratch.run(start, b""));
        let said: Vec<String> =
            (0..4).map(|_| stop(&scratch, true)["reason"].as_str().unwrap().to_owned()).collect();
        assert!(said.iter().all(|said| said.contains(ends)), "{said:?}");
        assert!(said[3].len() * 10 < said[0].len() * 7, "{start:?}: {said:?}");
    }
}

#[test]
fn a_person_can_end_it_from_another_terminal() {
    let mut scratch = shop();
    good(scratch.run(&["loop", "start", "Endless"], b""));
    refused(
        &scratch.run(&["loop", "start", "Another"], b""),
        "a loop \"Endless\", iteration 1 of 50 is open",
    );
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    good(scratch.run(&["loop", "cancel"], b""));
    let told = stop(&scratch, false);
    assert!(
        told["systemMessage"].as_str().unwrap().ends_with("is cancelled: cancelled by a command."),
        "{told}"
    );
    assert_eq!(stop(&scratch, false), Value::Null, "once");
    assert_eq!(queue(&scratch)["verdict"], "cancelled");
    assert_eq!(scratch.doc(&format!("session/live/{SESSION}.json"))["loop_verdict"], "cancelled");
    refused(&scratch.run(&["loop", "cancel"], b""), "the loop has ended (cancelled)");
}

#[test]
fn a_counter_cannot_be_rolled_back() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "Count"], b""));
    for n in 0..3 {
        tool(&scratch);
        good(scratch.run(&["queue", "add", "--priority", "S3", "--title", &format!("i{n}")], b""));
        stop(&scratch, true);
    }
    let mut rolled = queue(&scratch);
    assert_eq!(rolled["iteration"], 4);
    rolled["iteration"] = 1.into();
    fs::write(scratch.state().join("loop/work_queue.json"), rolled.to_string()).unwrap();
    tool(&scratch);
    stop(&scratch, true);
    assert_eq!(queue(&scratch)["iteration"], 5);
}

#[test]
fn a_file_that_cannot_be_used_lets_the_stop_through_and_stays() {
    for text in [
        "{ broken",
        "{\"iteration\": \"fifty\", \"status\": \"BUILDING\"}",
        "{\"version\": 2, \"status\": \"BUILDING\", \"session_id\": \"0f3e8a2c-1111-4222-8333-444455556666\"}",
    ] {
        let scratch = shop();
        fs::create_dir_all(scratch.state().join("loop")).unwrap();
        let file = scratch.state().join("loop/work_queue.json");
        fs::write(&file, text).unwrap();
        let reply = stop(&scratch, false);
        assert_eq!(reply.get("decision"), None, "{text}");
        assert!(reply["systemMessage"].as_str().unwrap().contains("work_queue.json"), "{reply}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        refused(&scratch.run(&["loop", "start", "x"], b""), "work_queue.json");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn commands_say_what_is_wrong() {
    let scratch = shop();
    refused(&scratch.run(&["loop", "next"], b""), "there is no loop; `hookkeeper loop start TASK`");
    misused(&scratch.run(&["loop", "start", "  "], b""), "the task is empty");
    misused(
        &scratch.run(&["queue", "add", "--priority", "P1", "--title", "x"], b""),
        "there is no priority `P1`",
    );
    refused(&scratch.run(&["queue", "done", "7"], b""), "there is no item `work-007`");
    misused(&scratch.run(&["gate", "test", "maybe"], b""), "`maybe` is no status");
    // What runs commands has a word of its own: who allowed `gate` did not allow that.
    let says = "`gate` runs nothing: hookkeeper run-gate test -- CMD";
    for old in [&["gate", "run", "test", "--", "touch", "made"][..], &["gate", "run", "test"]] {
        misused(&scratch.run(old, b""), says);
    }
    misused(&scratch.run(&["gate", "test", "pass", "--", "touch", "made"], b""), says);
    assert!(!scratch.root().join("made").exists());
    misused(&scratch.run(&["gate", "a/b", "pass"], b""), "is no name for a gate");
    refused(
        &scratch.run(&["run-gate", "test", "--", "/no/such/program"], b""),
        "/no/such/program cannot be run",
    );
    assert!(!scratch.exists("loop"), "nothing was changed");
    good(scratch.run(&["loop", "start", "x"], b""));
    misused(&scratch.run(&["loop", "phase", "DREAM"], b""), "there is no phase `DREAM`");
    good(scratch.run(&["loop", "phase", "build"], b""));
    assert_eq!(queue(&scratch)["status"], "BUILDING");
    assert!(
        stop(&scratch, false)["reason"]
            .as_str()
            .unwrap()
            .contains("It has no gate and no item yet")
    );
}

#[test]
fn the_page_for_people_has_the_seeds_format() {
    let scratch = shop();
    good(scratch.run(&["queue", "add", "--priority", "S2", "--title", "Update | CHANGELOG"], b""));
    good(
        scratch
            .run(&["loop", "start", "implement user authentication", "--gate", "preflight"], b""),
    );
    good(
        scratch
            .run(&["queue", "add", "--priority", "S1", "--title", "Add session management"], b""),
    );
    good(scratch.run(&["queue", "start", "work-002"], b""));
    good(scratch.run(&["gate", "security", "warn", "--issues", "1", "--note", "S2"], b""));
    good(scratch.run(&["loop", "phase", "BUILD"], b""));
    let text = fs::read_to_string(scratch.state().join("loop/LOOP_STATE.md")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..3], ["# Loop State", "", "## Meta"]);
    assert!(lines[3].starts_with("- Started: 20") && lines[3].ends_with('Z'));
    assert_eq!(
        lines[4..11],
        [
            "- Current Iteration: 1",
            "- Status: BUILDING",
            "- Task: \"implement user authentication\"",
            "",
            "## Quality Gates",
            "| Gate | Status | Last Check | Issues |",
            "|------|--------|------------|--------|"
        ]
    );
    assert_eq!(lines[11], "| Pre-flight | NOT RUN | - | - |");
    assert!(
        lines[12].starts_with("| Security | WARN | ") && lines[12].ends_with(" | 1 (S2) |"),
        "{}",
        lines[12]
    );
    assert_eq!(
        lines[13..],
        [
            "",
            "## Work Queue",
            "| Priority | Item | Status |",
            "|----------|------|--------|",
            "| S1 | Add session management | IN_PROGRESS |",
            "| S2 | Update \\| CHANGELOG | PENDING |",
            "",
            "## History"
        ]
    );
    // What a person wrote in another shape is left alone.
    let page = scratch.state().join("loop/LOOP_STATE.md");
    fs::write(&page, "my own notes").unwrap();
    stop(&scratch, false);
    assert_eq!(fs::read_to_string(&page).unwrap(), "my own notes");
}

#[test]
fn what_a_person_types_is_redacted_and_coverage_is_compared() {
    let scratch = shop();
    good(scratch.run(&["loop", "start", "login --password hunter2hunter2"], b""));
    good(scratch.run(
        &[
            "queue",
            "add",
            "--priority",
            "S1",
            "--title",
            "--token=abcdef123456",
            "--description",
            "Authorization: token abcdef123456",
        ],
        b"",
    ));
    let text = queue(&scratch).to_string();
    assert!(!text.contains("hunter2") && !text.contains("abcdef123456"), "{text}");
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "go"})));
    for coverage in ["71.5", "74", "79.5"] {
        good(scratch.run(&["gate", "test", "pass", "--coverage", coverage], b""));
    }
    good(scratch.run(&["gate", "test", "pass"], b""));
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    let entry = &scratch.doc("session/metrics.json")["sessions"][0];
    assert_eq!(
        (&entry["quality"]["coverage_delta"], &entry["loop"]),
        (&json!("+8%"), &Value::Null)
    );
}

#[test]
fn an_item_counts_where_it_was_done() {
    let mut scratch = shop();
    tool(&scratch);
    for title in ["one", "two"] {
        good(scratch.run(&["queue", "add", "--priority", "S1", "--title", title], b""));
    }
    good(scratch.run(&["queue", "done", "1"], b""));
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    let later = "1f3e8a2c-1111-4222-8333-444455556666";
    scratch.hook(&event(later, "SessionStart", json!({"source": "startup"})));
    scratch.hook(&event(later, "UserPromptSubmit", json!({"prompt": "go on"})));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), later.into());
    good(scratch.run(&["queue", "done", "2"], b""));
    scratch.hook(&event(later, "SessionEnd", json!({"reason": "other"})));
    let metrics = scratch.doc("session/metrics.json");
    let counts: Vec<_> = metrics["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (entry["quality"]["issues_found"].clone(), entry["quality"]["issues_fixed"].clone())
        })
        .collect();
    assert_eq!(counts, [(json!(2), json!(1)), (json!(0), json!(1))]);
}

#[test]
fn every_command_of_a_loop_speaks_json() {
    let scratch = Scratch::new();
    let json = |args: &[&str]| -> Value {
        let text = good(scratch.run(&[args, &["--json"]].concat(), b""));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
    };
    let started = json(&["loop", "start", "Add login", "--gate", "test"]);
    assert!(started["said"].as_str().unwrap().starts_with("Started: "), "{started}");
    assert_eq!(
        (&started["running"], &started["loop"]["task"]),
        (&json!(true), &json!("Add login"))
    );
    assert_eq!(
        json(&["queue", "add", "--priority", "S1", "--title", "A"])["open"][0]["title"],
        "A"
    );
    assert_eq!(json(&["queue", "done", "1"])["open"], json!([]));
    assert_eq!(json(&["gate", "test", "pass"])["gates"]["test"]["status"], "pass");
    assert_eq!(json(&["loop", "phase", "TEST"])["loop"]["phase"], "TEST");
    assert_eq!(json(&["loop", "cancel"])["loop"]["verdict"], "cancelled");
    assert_eq!(json(&["loop", "resume"])["running"], true);
    assert_eq!(json(&["loop", "cancel"])["running"], false);
    let branch = json(&["branch", "loop", "start", "Go", "--max", "3"]);
    assert_eq!(branch["loop"]["maxIterations"], 3);
    assert_eq!(json(&["branch", "loop", "cancel"])["loop"]["verdict"], "cancelled");
    let feature = json(&["autonomous", "start", "Add login"]);
    assert_eq!(feature["loop"]["phase"], "brainstorm");
    assert_eq!(json(&["autonomous", "cancel"])["running"], false);
}

#[test]
fn a_verdict_rings_if_it_is_asked_for() {
    for (settings, rings) in [("{}", false), ("{\"notify\": true}", true)] {
        let scratch = shop();
        fs::write(scratch.root().join(".claude/hookkeeper.json"), settings).unwrap();
        good(scratch.run(&["loop", "start", "Add login", "--max-iterations", "1"], b""));
        let reply = stop(&scratch, true);
        assert!(reply["systemMessage"].as_str().unwrap().contains("capped"), "{reply}");
        let ring = reply.get("terminalSequence").map(|ring| ring.as_str().unwrap());
        assert_eq!(ring.is_some(), rings, "{reply}");
        let shown = ring.is_none_or(|ring| {
            ring.starts_with("\u{7}\u{1b}]9;HookKeeper: ") && ring.ends_with('\u{7}')
        });
        assert!(shown, "{ring:?}");
    }
}

/// A finding of an agent and an item of a person's are open: a number alone is refused.
#[test]
fn items_are_shown_and_dropped_and_answers_have_titles() {
    let scratch = Scratch::new();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    let stop = json!({"agent_id": "a1", "agent_type": "Explore",
        "last_assistant_message": "- [S1] No rate limit on login"});
    scratch.hook(&event(SESSION, "SubagentStop", stop));
    let add = ["queue", "add", "--priority", "S2", "--title", "Refuse empty passwords"];
    assert_eq!(good(scratch.run(&add, b"")), "work-002 added: Refuse empty passwords\n");
    refused(
        &scratch.run(&["queue", "done", "1"], b""),
        "work-001 is \"No rate limit on login\" (a finding of an agent); name it by work-001 if it is meant",
    );
    let shown = good(scratch.run(&["queue", "show", "1"], b""));
    assert!(
        shown.starts_with(
            "work-001 S1: No rate limit on login\nstatus: pending\nfrom: a finding of an agent\n"
        ),
        "{shown}"
    );
    assert_eq!(
        good(scratch.run(&["queue", "drop", "work-001"], b"")),
        "work-001 dropped: No rate limit on login\n"
    );
    assert_eq!(
        good(scratch.run(&["queue", "done", "2"], b"")),
        "work-002 done: Refuse empty passwords\n"
    );
    assert_eq!(
        good(scratch.run(&["queue", "drop", "work-002"], b"")),
        "work-002 was done already: Refuse empty passwords\n"
    );
    assert_eq!(good(scratch.run(&["queue", "list"], b"")), "No item is open.\n");
    let all = good(scratch.run(&["queue", "list", "--all"], b""));
    assert!(all.contains("dropped") && all.contains("done"), "{all}");
}

#[test]
fn items_that_nobody_took_up_expire_with_their_session() {
    let scratch = Scratch::new();
    let fail = |id: &str, file: &str| {
        let error = format!("Exit code 1\n{file}:7\nSyntaxError: Unexpected token");
        scratch.hook(&event(
            SESSION,
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "tool_use_id": id,
            "tool_input": {"command": format!("node {file}")}, "error": error}),
        ));
    };
    fail("t1", "src/a.js");
    fail("t2", "src/b.js");
    fail("t3", "src/c.js");
    // Another form of the same command succeeds.
    scratch.hook(&event(
        SESSION,
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_use_id": "t4",
        "tool_input": {"command": "node --check ./src/a.js"}, "tool_response": {"stdout": ""}}),
    ));
    good(scratch.run(&["queue", "start", "work-002"], b""));
    let statuses = |scratch: &Scratch| -> Vec<String> {
        let queue = scratch.doc("loop/work_queue.json");
        let items = queue["items"].as_array().unwrap();
        items.iter().map(|item| item["status"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(statuses(&scratch), ["done", "in_progress", "pending"]);
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    assert_eq!(statuses(&scratch), ["done", "in_progress", "expired"]);
    let entry = &scratch.doc("session/metrics.json")["sessions"][0];
    assert_eq!(
        (&entry["quality"]["issues_found"], &entry["quality"]["issues_fixed"]),
        (&json!(3), &json!(1))
    );
    assert_eq!((&entry["errors"]["total"], &entry["errors"]["recovered"]), (&json!(3), &json!(1)));
    let list = good(scratch.run(&["queue", "list"], b""));
    let hint = "1 item expired with the session that found it: `hookkeeper queue list --all`";
    assert!(
        list.contains("work-002") && !list.contains("work-003") && list.contains(hint),
        "{list}"
    );
    let status = good(scratch.run(&["status"], b""));
    assert!(status.contains("Work queue: 1 open, 1 expired"), "{status}");
    // A new loop does not take them from the session, and gives no number twice.
    good(scratch.run(&["queue", "done", "work-002"], b""));
    let started = good(scratch.run(&["loop", "start", "Another thing"], b""));
    assert!(!started.contains("No session has been seen here"), "{started}");
    assert_eq!(statuses(&scratch), ["expired"]);
    let page = fs::read_to_string(scratch.state().join("loop/LOOP_STATE.md")).unwrap();
    assert!(!page.contains("EXPIRED"), "{page}");
    assert!(good(scratch.run(&["loop", "cancel"], b"")).contains("Cancelled"));
    good(scratch.run(&["queue", "drop", "work-003"], b""));
    good(scratch.run(&["loop", "start", "A third thing"], b""));
    assert!(statuses(&scratch).is_empty());
    let added = good(scratch.run(&["queue", "add", "--priority", "S1", "--title", "New"], b""));
    assert!(added.starts_with("work-004 added"), "{added}");
}

#[test]
fn what_expired_comes_back_after_another_loop() {
    let scratch = Scratch::new();
    let error = "Exit code 1\nsrc/a.js:7\nSyntaxError: Unexpected token";
    scratch.hook(&event(
        SESSION,
        "PostToolUseFailure",
        json!({"tool_name": "Bash", "tool_use_id": "t1",
            "tool_input": {"command": "node src/a.js"}, "error": error}),
    ));
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    good(scratch.run(&["loop", "start", "Another thing"], b""));
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"})));
    let list = good(scratch.run(&["queue", "list"], b""));
    assert!(list.contains("work-001") && list.contains("pending"), "{list}");
}

#[test]
fn a_loop_that_no_session_could_drive_yet_says_what_is_missing() {
    let scratch = Scratch::new();
    for command in [
        &["loop", "start", "Tidy up"][..],
        &["branch", "loop", "start", "Tidy up"],
        &["iterative", "new", "tidy", "--task", "Tidy up", "--mode", "development"],
        &["autonomous", "start", "Tidy up"],
    ] {
        let started = good(scratch.run(command, b""));
        assert!(
            started.contains("No session has been seen here yet: `hookkeeper install`"),
            "{started}"
        );
        good(scratch.run(&["reset", "all"], b""));
        fs::remove_dir_all(scratch.root().join(".claude")).unwrap();
    }
}
