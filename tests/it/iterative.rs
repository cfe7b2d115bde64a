//! Iterative tasks, through the binary: the lifecycle, what is refused, and every way back.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::iterative::*;
use crate::support::{Scratch, event, good, misused, refused, tree};

#[test]
fn two_units_from_work_to_done() {
    let scratch = shop();
    let said = good(scratch.run(&NEW, b""));
    let first = said.split_once('\n').unwrap().1.trim_end().to_owned();
    assert!(first.starts_with("Task auth: User authentication\nUnit T1: User model\n"), "{first}");
    assert_eq!(status(&scratch, "T2"), "blocked");
    assert_eq!(state(&scratch)["tasks"]["T2"]["reason"], "Waiting on T1");

    let again = stop(&scratch, "I will say T1_DONE, or `<signal>T1_DONE</signal>`, later.");
    assert!(reason(&again).starts_with("Unit T1 goes on, iteration 2 of 3."), "{again}");
    let confirm = signal(&scratch, "T1_DONE");
    assert_eq!(reason(&confirm), first, "the first prompt again, and nothing else");
    assert_eq!(status(&scratch, "T1"), "confirming");
    let verify = signal(&scratch, "T1_DONE");
    assert!(reason(&verify).contains("Verify it now"), "{verify}");
    let next = signal(&scratch, "T1_VERIFIED");
    assert!(
        reason(&next)
            .starts_with("Unit T1 is done.\nTask auth: User authentication\nUnit T2: Login\n"),
        "{next}"
    );
    let done = &state(&scratch)["tasks"]["T1"];
    assert_eq!(
        (
            &done["status"],
            &done["iterations_used"],
            &done["confirmations_used"],
            &done["verification_passed"]
        ),
        (&json!("done"), &json!(2), &json!(1), &json!(true))
    );
    assert!(done["completed_at"].as_str().unwrap().ends_with('Z'));
    let tasks = text(&scratch, "tasks.md");
    assert!(tasks.contains("**Status:** 1 done, 1 in progress, 0 pending\n"), "{tasks}");
    assert!(
        tasks.contains("- [x] **T1**: User model\n") && tasks.contains("- [ ] **T2**: Login\n")
    );

    let early = signal(&scratch, "TASK_VERIFIED");
    assert!(
        reason(&early).starts_with(
            "TASK_VERIFIED counts in phase verify, when all units are closed; the phase is execute."
        ),
        "{early}"
    );
    signal(&scratch, "T2_DONE");
    signal(&scratch, "T2_DONE");
    rebuild_changes_nothing(&scratch);
    let review = signal(&scratch, "T2_VERIFIED");
    assert!(
        reason(&review).contains("2 of 2 units done. Review the whole now")
            && reason(&review).contains("<signal>TASK_VERIFIED</signal>"),
        "{review}"
    );
    assert_eq!(state(&scratch)["phase"], "verify");
    rebuild_changes_nothing(&scratch);
    let end = signal(&scratch, "TASK_VERIFIED");
    assert_eq!(end.get("decision"), None);
    let told = end["systemMessage"].as_str().unwrap();
    assert!(told.contains("is complete: all 2 units are done."), "{told}");
    let state = state(&scratch);
    assert_eq!((&state["phase"], &state["verdict"]), (&json!("deliver"), &json!("complete")));
    let live = scratch.doc(&format!("session/live/{SESSION}.json"));
    assert_eq!((&live["loop_verdict"], live.get("loop_task")), (&json!("complete"), None));
    assert_eq!(stop(&scratch, "more"), Value::Null);
    rebuild_changes_nothing(&scratch);
    refused(&run(&scratch, &["resume", "auth"]), "the task auth is complete");
}

#[test]
fn a_confirmation_that_changes_files_is_none() {
    let scratch = started();
    signal(&scratch, "T1_DONE");
    edit(&scratch, "src/user.rs");
    let reply = signal(&scratch, "T1_DONE");
    assert!(reason(&reply).starts_with("Unit T1 goes on, iteration 2 of 3."), "{reply}");
    assert_eq!(status(&scratch, "T1"), "in_progress");
    signal(&scratch, "T1_DONE");
    // What is written down about the work is not the work.
    edit(&scratch, ".claude/iterative/auth/progress.md");
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "verifying");
    assert_eq!(state(&scratch)["tasks"]["T1"]["confirmations_used"], 2);
    // The same file again is a change again.
    signal(&scratch, "T1_GAPS");
    signal(&scratch, "T1_DONE");
    edit(&scratch, "src/user.rs");
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "timeout", "and there were 3 iterations");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn what_the_lifecycle_forbids_is_refused_with_its_rule() {
    let scratch = started();
    let before = tree(&scratch.root().join(".claude/iterative"));
    let rule = "a unit is verified only after it was confirmed: in_progress → confirming → verifying → done";
    refused(&run(&scratch, &["signal", "auth", "T1_VERIFIED"]), rule);
    refused(&run(&scratch, &["signal", "auth", "T1_GAPS"]), rule);
    refused(
        &run(&scratch, &["signal", "auth", "T2_DONE"]),
        "only the unit at work can be signalled",
    );
    refused(
        &run(&scratch, &["signal", "auth", "T9_DONE"]),
        "there is no unit `T9`; there are T1, T2",
    );
    misused(&run(&scratch, &["signal", "auth", "FINE"]), "`FINE` is no signal");
    refused(&run(&scratch, &["phase", "auth", "complete"]), "`hookkeeper iterative archive auth`");
    misused(
        &run(&scratch, &["phase", "auth", "ship"]),
        "there is no phase `ship`; there are discover, plan",
    );
    refused(
        &run(&scratch, &["unblock", "auth", "T2"]),
        "T2 is not blocked by anything else: Waiting on T1",
    );
    refused(&run(&scratch, &["unblock", "auth", "T1"]), "T1 is in_progress, not blocked");
    refused(&run(&scratch, &["skip", "auth", "T7"]), "there is no unit `T7`");
    misused(&run(&scratch, &["set", "auth", "T1", "max=0"]), "say max=N, from 1 to 1000");
    refused(
        &run(&scratch, &["log", "auth", "T7", "--did", "x", "--remaining", "y"]),
        "there is no unit `T7`",
    );
    refused(&run(&scratch, &["status", "nothing"]), "there is no task `nothing`; there are auth");
    assert_eq!(tree(&scratch.root().join(".claude/iterative")), before, "nothing was changed");
    // A stop hears the rule too, and it counts as an iteration.
    let reply = signal(&scratch, "T1_VERIFIED");
    assert!(
        reason(&reply)
            .starts_with(&format!("T1_VERIFIED is refused: T1 is in_progress; {rule}.\n")),
        "{reply}"
    );
    assert_eq!(state(&scratch)["current_iteration"], 2);
    let verifying = |scratch: &Scratch| {
        signal(scratch, "T1_DONE");
        signal(scratch, "T1_DONE");
    };
    verifying(&scratch);
    let reply = signal(&scratch, "T1_DONE");
    assert!(reason(&reply).contains("what is being verified is T1_VERIFIED or T1_GAPS"), "{reply}");
    // Of two that contradict each other the one that claims less counts.
    stop(&scratch, "<signal>T1_VERIFIED</signal> or rather <signal>T1_GAPS</signal>");
    assert_ne!(status(&scratch, "T1"), "done");
}

#[test]
fn a_turn_has_one_signal() {
    let scratch = started();
    let prompt = good(run(&scratch, &["signal", "auth", "T1_DONE"]));
    assert!(prompt.starts_with("Task auth:"), "{prompt}");
    refused(&run(&scratch, &["signal", "auth", "T1_DONE"]), "one signal in a turn");
    // The stop of that turn takes nothing and counts nothing: the confirmation only begins.
    let reply = signal(&scratch, "T1_DONE");
    assert_eq!(reason(&reply), prompt.trim_end());
    assert_eq!(
        (status(&scratch, "T1").as_str(), &state(&scratch)["current_iteration"]),
        ("confirming", &json!(1))
    );
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "verifying");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn a_unit_out_of_iterations_stops_and_can_have_more() {
    let scratch = started();
    stop(&scratch, "one");
    stop(&scratch, "two");
    let reply = stop(&scratch, "three");
    assert_eq!(reply.get("decision"), None, "{reply}");
    let told = reply["systemMessage"].as_str().unwrap();
    assert!(told.contains("T1 is out of iterations (3 of 3 iterations used): `hookkeeper iterative set auth T1 max=8`"), "{told}");
    assert_eq!(status(&scratch, "T1"), "timeout");
    assert!(
        text(&scratch, "progress.md")
            .contains("**Did:** The turn ended without a signal that counts. three Attempted: 1: The turn ended without a signal that counts. one; 2: The turn ended without a signal that counts. two\n\
                **Remaining:** Not said; see its criteria.\n**Blockers:** 3 of 3 iterations used\n**Commit:** None\n\
                **Status:** in_progress → timeout\n")
    );
    assert_eq!(stop(&scratch, "four"), Value::Null, "a person was asked; the session is free");
    rebuild_changes_nothing(&scratch);
    refused(&run(&scratch, &["unblock", "auth", "T1"]), "T1 has used 3 of 3 iterations");
    refused(&run(&scratch, &["set", "auth", "T1", "max=3"]), "T1 has used 3 iterations already");
    let said = good(run(&scratch, &["set", "auth", "T1", "max=6"]));
    assert!(
        said.starts_with("T1: 6 iterations at most.\nUnit T1 goes on, iteration 4 of 6."),
        "{said}"
    );
    assert!(text(&scratch, "tasks.md").contains("  - Max iterations: 6\n"));
    rebuild_changes_nothing(&scratch);
    assert!(reason(&stop(&scratch, "on")).starts_with("Unit T1 goes on, iteration 5 of 6."));
}

#[test]
fn what_is_blocked_lets_the_next_unit_work() {
    let scratch = started();
    good(run(&scratch, &["unit", "auth", "T3: Docs | a page"]));
    let reply = signal(&scratch, "BLOCKED: no key, token ghp_0123456789abcdefghijklmnopqrstuvwxyz");
    assert!(
        reason(&reply).starts_with(
            "Unit T1 is blocked: no key, token [redacted]. If that is a pattern, keep it: "
        ),
        "{reply}"
    );
    assert!(reason(&reply).contains("Unit T3: Docs"), "T2 needs T1");
    assert!(!text(&scratch, "progress.md").contains("ghp_"));
    rebuild_changes_nothing(&scratch);
    let asked = signal(&scratch, "BLOCKED");
    assert_eq!(asked.get("decision"), None);
    let told = asked["systemMessage"].as_str().unwrap();
    for part in [
        "T1 is blocked (no key",
        "T3 is blocked (no reason given)",
        "hookkeeper iterative unblock auth T1",
        "iterative skip auth",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let said = good(run(&scratch, &["unblock", "auth", "T3"]));
    assert!(said.starts_with("Unit T3 goes on, iteration 2 of 5."), "{said}");
    good(run(&scratch, &["skip", "auth", "T1", "--reason", "later"]));
    assert_eq!(status(&scratch, "T2"), "pending", "who does without T1 does not wait for it");
    rebuild_changes_nothing(&scratch);
    refused(&run(&scratch, &["skip", "auth", "T1"]), "T1 is skipped already");
    for signals in ["T3_DONE", "T3_DONE", "T3_VERIFIED", "T2_DONE", "T2_DONE"] {
        signal(&scratch, signals);
    }
    signal(&scratch, "T2_VERIFIED");
    let end = signal(&scratch, "TASK_VERIFIED");
    assert!(
        end["systemMessage"]
            .as_str()
            .unwrap()
            .contains("is complete: 2 of 3 units done, 1 skipped"),
        "{end}"
    );
    rebuild_changes_nothing(&scratch);
}

#[test]
fn three_failed_verifications_block_a_unit() {
    let scratch = started();
    good(run(&scratch, &["set", "auth", "T1", "max=9"]));
    for round in 1..=3 {
        signal(&scratch, "T1_DONE");
        signal(&scratch, "T1_DONE");
        let reply = signal(&scratch, "T1_GAPS");
        assert_eq!(reply["decision"] == "block", round < 3, "{reply}");
    }
    let unit = &state(&scratch)["tasks"]["T1"];
    assert_eq!(
        (&unit["status"], &unit["reason"]),
        (&json!("blocked"), &json!("3 verifications found gaps"))
    );
    assert_eq!(unit["verification_passed"], false);
    rebuild_changes_nothing(&scratch);
    good(run(&scratch, &["unblock", "auth", "T1"]));
    assert_eq!(status(&scratch, "T1"), "in_progress");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn an_interrupted_session_goes_on_where_the_log_ends() {
    let scratch = started();
    let log =
        ["log", "auth", "T1", "--did", "Added the\nmodel", "--remaining", "Tests for empty names"];
    good(run(&scratch, &log));
    stop(&scratch, "on");
    // The client is gone; the same session comes back, then it is cleared.
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    let back = scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"}))).stdout;
    for part in [
        ".claude/iterative/auth/state.json: User authentication, phase execute, 0 of 2 units done",
        "at work: T1 User model; remaining: Tests for empty names",
        "hookkeeper iterative next auth",
    ] {
        assert!(back.contains(part), "{part}: {back}");
    }
    let said = good(run(&scratch, &["next", "auth"]));
    assert!(said.contains("Remaining, by the log: Tests for empty names"), "{said}");
    assert!(
        reason(&stop(&scratch, "on")).contains("Remaining, by the log: Tests for empty names.")
    );
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "clear"})));
    scratch.hook(&event("next", "SessionStart", json!({"source": "clear"})));
    assert_eq!(state(&scratch)["session_id"], SESSION);
    good(scratch.run(&["iterative", "adopt", "auth", "--session", "next"], b""));
    assert_eq!(stop_of(&scratch, "next", "<signal>T1_DONE</signal>")["decision"], "block");
    assert_eq!(status(&scratch, "T1"), "confirming");
    good(scratch.run(&["iterative", "rebuild", "auth", "--session", "next"], b""));
}

#[test]
fn a_state_that_the_log_contradicts_is_made_anew() {
    let scratch = started();
    let mut forged = state(&scratch);
    forged["tasks"]["T1"]["status"] = json!("done");
    forged["tasks"]["T1"]["verification_passed"] = json!(true);
    forged["note"] = json!("mine");
    fs::write(file(&scratch, "state.json"), forged.to_string()).unwrap();
    let page = good(run(&scratch, &["status", "auth"]));
    assert!(page.contains("Conflict: T1: done in state.json, in_progress by progress.md. `hookkeeper iterative rebuild auth` settles it."), "{page}");
    let reply = stop(&scratch, "on");
    let rule = "T1: in_progress → done is refused: a unit is verified only after it was confirmed: in_progress → confirming → verifying → done";
    for part in ["T1: done in state.json, in_progress by progress.md; ", rule, "); the log holds."]
    {
        assert!(reason(&reply).contains(part), "{part}: {reply}");
    }
    let now = state(&scratch);
    assert_eq!(
        (&now["tasks"]["T1"]["status"], &now["note"]),
        (&json!("in_progress"), &json!("mine"))
    );
    assert!(text(&scratch, "progress.md").contains("## Task - Rebuilt - "));
    rebuild_changes_nothing(&scratch);
    // The same by the command; and with a state that is gone, or no JSON.
    forged["tasks"]["T1"]["iterations_used"] = json!(1);
    fs::write(file(&scratch, "state.json"), forged.to_string()).unwrap();
    let said = good(run(&scratch, &["rebuild", "auth"]));
    assert!(said.contains("- T1: done in state.json, in_progress by progress.md\n"), "{said}");
    let good_state = state(&scratch);
    for (n, broken) in [None, Some("{\"task\": ")].into_iter().enumerate() {
        match broken {
            None => fs::remove_file(file(&scratch, "state.json")).unwrap(),
            Some(text) => fs::write(file(&scratch, "state.json"), text).unwrap(),
        }
        refused(
            &run(&scratch, &["next", "auth"]),
            "`hookkeeper iterative rebuild auth` makes the state anew",
        );
        let said = good(run(&scratch, &["rebuild", "auth"]));
        assert_eq!(
            said.contains(".claude/state/quarantine/iterative-auth-state.json."),
            n == 1,
            "{said}"
        );
        let mut anew = state(&scratch);
        for key in ["updated", "note"] {
            anew[key] = good_state[key].clone();
        }
        assert_eq!(anew, good_state);
    }
}

#[test]
fn a_log_that_is_missing_or_garbled_changes_nothing() {
    for garbled in [None, Some(&b"\xff\xfe\x00"[..]), Some(b""), Some(b"nothing of ours")] {
        let scratch = started();
        match garbled {
            None => fs::remove_file(file(&scratch, "progress.md")).unwrap(),
            Some(bytes) => fs::write(file(&scratch, "progress.md"), bytes).unwrap(),
        }
        let before = tree(&scratch.root().join(".claude/iterative"));
        for args in [&["signal", "auth", "T1_DONE"][..], &["rebuild", "auth"], &["archive", "auth"]]
        {
            let run = run(&scratch, args);
            assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{args:?}");
            assert!(
                run.stderr.contains("progress.md") || args[0] == "archive",
                "{args:?}: {}",
                run.stderr
            );
        }
        let reply = stop(&scratch, "on");
        assert_eq!(reply.get("decision"), None, "{reply}");
        assert!(reply["systemMessage"].as_str().unwrap().contains("progress.md"), "{reply}");
        assert!(good(run(&scratch, &["status", "auth"])).contains("Trouble: progress.md"));
        assert_eq!(tree(&scratch.root().join(".claude/iterative")), before, "{garbled:?}");
        let said = good(run(&scratch, &["rebuild", "auth", "--new-log"]));
        assert_eq!(
            said.contains("quarantine/iterative-auth-progress.md."),
            garbled.is_some(),
            "{said}"
        );
        refused(&run(&scratch, &["rebuild", "auth", "--new-log"]), "progress.md can be read");
        assert_eq!(signal(&scratch, "T1_DONE")["decision"], "block");
        assert_eq!(status(&scratch, "T1"), "confirming");
        rebuild_changes_nothing(&scratch);
    }
}

#[test]
fn entries_are_only_ever_added() {
    let scratch = started();
    let mut log = text(&scratch, "progress.md");
    let by_hand = "\n## T1 - Iteration 1 - 2026-01-14T10:30:00Z\n**Did:** by hand\n**Remaining:** a\n**Signal:** T1_DONE\n**Status:** done";
    fs::write(file(&scratch, "progress.md"), format!("{log}{by_hand}")).unwrap();
    log = format!("{log}{by_hand}");
    for message in ["one", "<signal>T1_DONE</signal>", "<signal>T1_DONE</signal>"] {
        stop(&scratch, message);
        let now = text(&scratch, "progress.md");
        assert!(now.starts_with(&log) && now.len() > log.len(), "{now}");
        log = now;
    }
    assert_eq!(status(&scratch, "T1"), "verifying", "a line in the log moves nothing");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn bad_names_and_plans_are_refused_and_nothing_is_made() {
    let scratch = shop();
    let new = |slug: &str, units: &[&str]| {
        let mut args = vec!["new", slug, "--task", "x", "--mode", "development"];
        for unit in units {
            args.extend(["--unit", unit]);
        }
        run(&scratch, &args)
    };
    let long = "a".repeat(300);
    for slug in ["a/b", "..", ".a", "A", "é", "a b", "", "archive", "con", &long, "_a"] {
        misused(&new(slug, &[]), "cannot be a task's name");
    }
    assert_eq!(new("-rf", &[]).code, Some(64));
    let title = format!("T1: {}", "t".repeat(501));
    for (units, says) in [
        (&["T1: a | needs T1"][..], "units need each other in a circle: T1 → T1"),
        (
            &["T1: a | needs T3", "T2: b | needs T1", "T3: c | needs T2", "T4: d | needs T3"],
            "in a circle: T1 → T3 → T2 → T1",
        ),
        (&["T1: a | needs T9"], "unit T1 needs T9, which does not exist; there are T1"),
        (&["T1: a", "T1: b"], "unit T1 is there twice"),
        (&["T1"], "unit `T1`: say `ID: title`"),
        (&["T1: "], "unit T1 has no title"),
        (&["../x: a"], "an id is a letter"),
        (&["Task: a"], "an id is a letter"),
        (&["T1: a | b | c"], "unit T1: `c` is not understood"),
        (&["T1: a | b | files x`y"], "characters that cannot be written down"),
        (&[title.as_str()], "has 501 characters; 500 at most"),
    ] {
        misused(&new("fine", units), says);
    }
    assert!(!scratch.root().join(".claude/iterative").exists());
    assert_eq!(run(&scratch, &["new", "a", "--task", "x", "--mode", "odd"]).code, Some(64));
}

#[test]
fn titles_may_be_anything_that_fits_on_a_line() {
    let scratch = shop();
    let long = format!("{} – ü/../漢字 ** `code` - [x] \u{1f980}", "w".repeat(280));
    let odd = format!("T1: {long} | care is needed: 1 → 2");
    good(run(
        &scratch,
        &[
            "new",
            "auth",
            "--task",
            "a/b\n.. # c",
            "--mode",
            "development",
            "--unit",
            &odd,
            "--unit",
            "U.2-x: b | max out | needs T1",
        ],
    ));
    let state = state(&scratch);
    assert_eq!(state["task"], "a/b .. # c");
    assert_eq!(
        (&state["tasks"]["T1"]["title"], &state["tasks"]["U.2-x"]["criteria"]),
        (&json!(long), &json!("max out"))
    );
    rebuild_changes_nothing(&scratch);
}

#[test]
fn archive_keeps_everything_and_offers_its_lessons() {
    let scratch = started();
    refused(&run(&scratch, &["archive", "auth"]), "T1 iteration 1 of 3, 0 of 2 done is still open");
    refused(&run(&scratch, &["remove", "auth"]), "is still open");
    let lesson = [
        "guardrail",
        "auth",
        "Migrate first",
        "--when",
        "Models change",
        "--problem",
        "Old schema",
        "--solution",
        "Migrate",
    ];
    good(run(&scratch, &lesson));
    let guardrails = text(&scratch, "guardrails.md");
    assert_eq!(
        guardrails,
        "# Guardrails\n\nRead before starting any iteration. Append when issues discovered.\n\n## Migrate first\n- **When**: Models change\n- **Problem**: Old schema\n- **Solution**: Migrate\n- **Learned**: T1 iteration 1\n"
    );
    let said = good(run(&scratch, &["archive", "auth", "--force"]));
    let name = said.trim().rsplit('/').next().unwrap().to_owned();
    assert!(name.starts_with("auth-20") && name.len() == "auth-20260114".len(), "{said}");
    let archive = scratch.root().join(".claude/iterative/archive").join(&name);
    let state: Value =
        serde_json::from_slice(&fs::read(archive.join("state.json")).unwrap()).unwrap();
    assert_eq!(
        (&state["phase"], &state["verdict"], &state["tasks"]["T1"]["status"]),
        (&json!("complete"), &json!("cancelled"), &json!("in_progress"))
    );
    assert_eq!(fs::read_to_string(archive.join("guardrails.md")).unwrap(), guardrails);
    assert_eq!(stop(&scratch, "on"), Value::Null);
    // The next one hears of them, and can have them; a second archive of a day has its own name.
    let offered = good(scratch.run(&NEW, b""));
    assert!(
        offered.contains(&format!("Guardrails of earlier tasks: {name} (Migrate first).")),
        "{offered}"
    );
    refused(
        &run(&scratch, &["guardrail", "auth", "--from", "nothing"]),
        "there is no archived task `nothing`",
    );
    assert_eq!(
        good(run(&scratch, &["guardrail", "auth", "--from", &name])),
        format!("Taken over from {name}: 1 guardrail.\n")
    );
    assert_eq!(
        good(run(&scratch, &["guardrail", "auth", "--from", &name])),
        format!("Taken over from {name}: 0 guardrails.\n")
    );
    assert_eq!(text(&scratch, "guardrails.md"), guardrails);
    good(run(&scratch, &["cancel", "auth"]));
    assert_eq!(
        good(run(&scratch, &["archive", "auth"])),
        format!("Archived: .claude/iterative/archive/{name}-2\n")
    );
    good(scratch.run(&[&NEW[..], &["--guardrails-from", &name]].concat(), b""));
    assert_eq!(text(&scratch, "guardrails.md"), guardrails);
    good(run(&scratch, &["cancel", "auth"]));
    good(run(&scratch, &["remove", "auth"]));
    assert!(!scratch.root().join(".claude/iterative/auth").exists() && archive.exists());
}

#[test]
fn knowledge_has_its_own_names() {
    let scratch = shop();
    let new = [
        "new",
        "auth",
        "--task",
        "Future of work",
        "--mode",
        "knowledge",
        "--domain",
        "analysis",
        "--outcome",
        "A synthesis",
        "--unit",
        "R1: Sources | ten papers | output sources/list.md",
        "--unit",
        "R2: Themes | five themes | needs R1 | max 8",
        "--unit",
        "R3: Text | needs R1,R2",
    ];
    good(run(&scratch, &new));
    let state = state(&scratch);
    assert_eq!(
        (&state["current_phase"], &state["phases"]["R1"]["status"], state.get("tasks")),
        (&json!("R1"), &json!("in_progress"), None)
    );
    assert_eq!(
        text(&scratch, "plan.md").replace(state["created"].as_str().unwrap(), "NOW"),
        "# Future of work - Phases\n\n**Created:** NOW\n**Domain:** analysis\n**Total:** 3 phases\n\n## Phases\n\n\
         - [ ] **R1**: Sources\n  - Criteria: ten papers\n  - Output: `sources/list.md`\n  - Max iterations: 5\n\n\
         - [ ] **R2**: Themes\n  - Criteria: five themes\n  - Max iterations: 8\n\n- [ ] **R3**: Text\n  - Max iterations: 5\n\n\
         ## Dependencies\n\nR1 → R2 → R3 (sequential)\nR1 → R3 (sequential)\n"
    );
    assert!(file(&scratch, "sources").is_dir() && file(&scratch, "outputs").is_dir());
    fs::write(file(&scratch, "sources/list.md"), "ten").unwrap();
    signal(&scratch, "R1_DONE");
    assert_eq!(self::state(&scratch)["phases"]["R1"]["status"], "confirming");
    edit(&scratch, ".claude/iterative/auth/outputs/draft.md");
    signal(&scratch, "R1_DONE");
    assert_eq!(self::state(&scratch)["phases"]["R1"]["status"], "in_progress", "an output is work");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn without_units_it_is_talked_about_first() {
    let scratch = shop();
    let said = good(run(&scratch, &["new", "auth", "--task", "Login", "--mode", "development"]));
    assert!(
        said.contains("is in its phase discover. Fill in .claude/iterative/auth/brief.md"),
        "{said}"
    );
    assert_eq!(stop(&scratch, "what do you want?"), Value::Null);
    refused(&run(&scratch, &["phase", "auth", "execute"]), "the task auth has no units");
    good(run(&scratch, &["phase", "auth", "plan"]));
    good(run(&scratch, &["unit", "auth", "T1: Form | it is there"]));
    assert_eq!(stop(&scratch, "planned"), Value::Null);
    rebuild_changes_nothing(&scratch);
    let said = good(run(&scratch, &["phase", "auth", "execute"]));
    assert!(said.starts_with("Task auth: Login\nUnit T1: Form\nCriteria: it is there\n"), "{said}");
    assert_eq!(stop(&scratch, "on")["decision"], "block");
    // A note in the plan stays when units come and go.
    let plan = text(&scratch, "tasks.md").replace("Nothing yet.", "Mind the\nold browsers.");
    fs::write(file(&scratch, "tasks.md"), plan).unwrap();
    good(run(&scratch, &["unit", "auth", "T2: Check | needs T1"]));
    let plan = text(&scratch, "tasks.md");
    assert!(
        plan.contains("## Notes\n\nMind the\nold browsers.\n")
            && plan.contains("\n- [ ] **T2**: Check\n")
            && plan.contains("\nT1 → T2 (sequential)\n"),
        "{plan}"
    );
    rebuild_changes_nothing(&scratch);
}

#[test]
fn a_session_drives_one_loop_and_others_are_left_alone() {
    let mut scratch = started();
    refused(
        &scratch.run(&["loop", "start", "x"], b""),
        "drives the task auth: `hookkeeper iterative cancel` ends it",
    );
    refused(
        &scratch.run(&["branch", "loop", "start", "x"], b""),
        "drives the task auth: `hookkeeper iterative cancel",
    );
    refused(
        &run(&scratch, &["new", "second", "--task", "x", "--mode", "development"]),
        "drives the task auth: `hookkeeper iterative cancel",
    );
    scratch.hook(&event("other", "SessionStart", json!({"source": "startup"})));
    scratch.hook(&event("other", "UserPromptSubmit", json!({"prompt": "hi"})));
    assert_eq!(stop_of(&scratch, "other", "<signal>T1_DONE</signal>"), Value::Null);
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), "other".into());
    refused(&run(&scratch, &["cancel", "auth"]), &format!("is driven by session {SESSION}"));
    refused(
        &run(&scratch, &["archive", "auth", "--force"]),
        &format!("is driven by session {SESSION}"),
    );
    good(scratch.run(&["loop", "start", "mine"], b""));
    refused(&run(&scratch, &["adopt", "auth"]), "session other drives the loop \"mine\"");
    refused(
        &run(&scratch, &["new", "second", "--task", "x", "--mode", "development"]),
        "session other drives the loop \"mine\"",
    );
    good(scratch.run(&["loop", "cancel"], b""));
    good(scratch.run(&["autonomous", "start", "mine too"], b""));
    refused(&run(&scratch, &["adopt", "auth"]), "`hookkeeper autonomous cancel` ends it");
    good(scratch.run(&["autonomous", "cancel"], b""));
    good(run(&scratch, &["adopt", "auth"]));
    refused(&scratch.run(&["autonomous", "start", "x"], b""), "drives the task auth");
    assert_eq!(stop(&scratch, "on").get("decision"), None, "it was taken away");
    assert_eq!(stop_of(&scratch, "other", "on")["decision"], "block");
    // A person ends it; the session hears of it.
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    good(run(&scratch, &["cancel", "auth"]));
    let told = stop_of(&scratch, "other", "on");
    assert!(
        told["systemMessage"].as_str().unwrap().contains("is cancelled: cancelled by a command"),
        "{told}"
    );
    let said = good(run(&scratch, &["resume"]));
    assert!(said.starts_with("Goes on: task auth"), "{said}");
}

#[test]
fn nobodys_task_is_adopted_by_the_only_session() {
    let mut scratch = shop();
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    good(scratch.run(&NEW, b""));
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "go"})));
    assert_eq!(stop(&scratch, "on")["decision"], "block");
    assert_eq!(state(&scratch)["session_id"], SESSION);
    rebuild_changes_nothing(&scratch);
}

#[test]
fn counters_cannot_be_set_back() {
    let scratch = started();
    stop(&scratch, "one");
    // Somebody takes the last entry out of the log, and the iteration with it.
    let log = text(&scratch, "progress.md");
    let (cut, _) = log.rsplit_once("\n## ").unwrap();
    fs::write(file(&scratch, "progress.md"), cut).unwrap();
    stop(&scratch, "two");
    assert_eq!(state(&scratch)["current_iteration"], 3);
    rebuild_changes_nothing(&scratch);
}

#[test]
fn a_task_that_others_made_is_taken_over() {
    for (seed, at_work, confirming) in [
        (include_str!("../seeds/000/iterative.json"), "T3", "tasks"),
        (include_str!("../seeds/000/iterative.knowledge.json"), "R3", "phases"),
    ] {
        let scratch = shop();
        let before: Value = serde_json::from_str(seed).unwrap();
        fs::create_dir_all(file(&scratch, "")).unwrap();
        fs::write(
            file(&scratch, "state.json"),
            seed.replacen('{', "{\"theirs\": [1, {\"a\": null}],", 1),
        )
        .unwrap();
        fs::write(
            file(&scratch, "progress.md"),
            "# Progress Log\n\n## T1 - Iteration 1 - 2026-01-14T10:31:00Z\n**Did:** all\n",
        )
        .unwrap();
        let page = good(run(&scratch, &["status", "auth"]));
        assert!(
            page.contains("confirming") && page.contains("2 of 4 done") != (confirming == "tasks"),
            "{page}"
        );
        good(run(&scratch, &["log", "auth", at_work, "--did", "Looked", "--remaining", "None"]));
        let mut after = state(&scratch);
        assert_eq!(after["theirs"], json!([1, {"a": null}]));
        after.as_object_mut().unwrap().remove("theirs");
        assert_ne!(after["updated"], before["updated"]);
        after["updated"] = before["updated"].clone();
        let mut before = before;
        if at_work == "T3" {
            // What it waits for is what it needs.
            before["tasks"]["T5"]["needs"] = json!(["T3"]);
        }
        assert_eq!(after, before, "everything else is as it was");
        // Nobody here has started it, so no session drives it by itself.
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "go"})));
        signal(&scratch, &format!("{at_work}_DONE"));
        assert_eq!(state(&scratch)[confirming][at_work]["status"], "confirming");
        good(run(&scratch, &["adopt", "auth"]));
        signal(&scratch, &format!("{at_work}_DONE"));
        assert_eq!(state(&scratch)[confirming][at_work]["status"], "verifying");
        assert!(text(&scratch, "progress.md").contains("**State:** {"));
        signal(&scratch, &format!("{at_work}_VERIFIED"));
        let next = state(&scratch);
        assert_eq!(next[confirming][at_work]["status"], "done");
        if at_work == "T3" {
            assert_eq!(next["tasks"]["T5"]["status"], "pending", "nothing holds it any more");
        }
    }
}

#[test]
fn commits_come_from_git() {
    let scratch = shop();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=Dev", "-c", "user.email=dev@example.com"];
        let run = Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(scratch.root())
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
    };
    git(&["init", "-q", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "before"]);
    good(scratch.run(&NEW, b""));
    git(&["commit", "-q", "--allow-empty", "-m", "feat(auth): Add User model"]);
    good(run(&scratch, &["next", "auth"]));
    git(&["commit", "-q", "--allow-empty", "-m", "feat(auth): Add login"]);
    let token = format!("ghp_{}", "a1".repeat(18));
    git(&["commit", "-q", "--allow-empty", "-m", &format!("fix(auth): Rotate {token}")]);
    let said = good(run(&scratch, &["rebuild", "auth"]));
    assert!(said.contains("the plan, the brief or git said otherwise"), "{said}");
    let commits: Vec<String> = state(&scratch)["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c.as_str().unwrap().to_owned())
        .collect();
    assert_eq!(commits.len(), 3);
    assert!(commits[2].ends_with(": fix(auth): Rotate [redacted]"), "{commits:?}");
    assert!(
        commits[0].ends_with(": feat(auth): Add User model")
            && commits[1].ends_with(": feat(auth): Add login"),
        "{commits:?}"
    );
    rebuild_changes_nothing(&scratch);
}

#[test]
fn validate_looks_at_tasks() {
    let scratch = started();
    assert_eq!(run_validate(&scratch, &[]).0, Some(0));
    fs::write(file(&scratch, "state.json"), "{\"task\": 1}").unwrap();
    let (code, said) = run_validate(&scratch, &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains(".claude/iterative/auth/state.json"), "{said}");
    let (_, said) = run_validate(&scratch, &["--repair"]);
    assert!(said.contains("`hookkeeper iterative rebuild auth` makes it anew"), "{said}");
    good(run(&scratch, &["rebuild", "auth"]));
    assert_eq!(run_validate(&scratch, &[]).0, Some(0));
}

fn run_validate(scratch: &Scratch, args: &[&str]) -> (Option<i32>, String) {
    let run = scratch.run(&[&["validate"], args].concat(), b"");
    (run.code, run.stdout)
}

#[test]
fn the_status_is_a_page_for_people() {
    let scratch = started();
    signal(&scratch, "T1_DONE");
    let page = good(run(&scratch, &["status"]));
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(lines[0], "auth: User authentication (development, feature)");
    assert!(lines[1].starts_with(&format!("phase execute, driven by session {SESSION}, updated ")));
    assert_eq!(
        lines[3].split_whitespace().collect::<Vec<_>>(),
        ["UNIT", "STATUS", "ITERATIONS", "CONFIRMED", "NEEDS", "TITLE", "BLOCKED", "BY"]
    );
    assert_eq!(
        lines[4].split_whitespace().collect::<Vec<_>>(),
        ["▸", "T1", "confirming", "1", "of", "3", "1", "-", "User", "model"]
    );
    assert!(lines[5].trim_end().ends_with("Waiting on T1"), "{page}");
    assert!(
        page.contains(
            "\n0 of 2 done (0 done, 1 in progress, 0 pending, 1 blocked)\nNext: T1, confirm\n"
        ),
        "{page}"
    );
    let value: Value =
        serde_json::from_str(&good(run(&scratch, &["status", "auth", "--json"]))).unwrap();
    assert_eq!(
        (&value["next"], &value["open"], &value["task"]["tasks"]["T1"]["status"]),
        (&json!("T1"), &json!(true), &json!("confirming"))
    );
    let list = good(run(&scratch, &["list"]));
    assert!(list.lines().nth(1).unwrap().starts_with("auth  execute  0 of 2  T1"), "{list}");
    let value: Value = serde_json::from_str(&good(run(&scratch, &["list", "--json"]))).unwrap();
    assert_eq!(value["tasks"][0]["slug"], "auth");
}

#[test]
fn a_log_that_others_kept_tells_how_far_they_came() {
    let scratch = shop();
    fs::create_dir_all(file(&scratch, "")).unwrap();
    let brief = "# Login\n\n**Created:** 2026-01-14T10:30:00Z\n**Mode:** development\n**Domain:** feature\n\n## Outcome Needed\nx\n";
    let tasks = "# Login - Tasks\n\n**Created:** 2026-01-14T10:30:00Z\n**Total:** 4 tasks\n**Status:** 0 done, 1 in progress, 3 pending\n\n\
        ## Dependencies\n\nT1 → T2 → T3 (sequential)\nT4 (independent)\n\n## Tasks\n\n\
        - [ ] **T1**: Model\n  - Files: `src/a.rs`, `src/b.rs`\n  - Criteria: tests pass\n  - Completion: `<signal>T1_DONE</signal>`\n  - Max iterations: 8\n  - Depends: none\n  - Model: haiku\n\n\
        - [ ] **T2**: Form\n  - Max iterations: 5\n  - Depends: T1\n- [ ] **T3**: Page\n- [ ] **T4**: Docs\n\n## Notes\n\nMind the cookies.\n";
    let entry = |unit: &str, n: u8, more: &str| {
        format!(
            "\n## {unit} - Iteration {n} - 2026-01-14T11:0{n}:00Z\n**Did:** some\n**Remaining:** more\n{more}"
        )
    };
    let log = [
        entry("T1", 1, ""),
        entry("T1", 2, "**Signal:** T1_DONE\n**Commit:** abc1234\n"),
        entry("T1", 3, "**Signal:** T1_DONE\n"),
        entry("T1", 3, "**Signal:** T1_VERIFIED\n"),
        entry("T2", 1, "**Signal:** T2_DONE\n"),
        entry("T4", 1, "**Blockers:** no words\n**Signal:** BLOCKED\n"),
    ];
    fs::write(file(&scratch, "brief.md"), brief).unwrap();
    fs::write(file(&scratch, "tasks.md"), tasks).unwrap();
    fs::write(file(&scratch, "progress.md"), format!("# Progress Log\n{}", log.concat())).unwrap();
    let said = good(run(&scratch, &["rebuild", "auth"]));
    assert!(said.contains("- it was missing\n"), "{said}");
    let state = state(&scratch);
    let unit = |id: &str| state["tasks"][id].clone();
    assert_eq!(
        (&unit("T1")["status"], &unit("T1")["iterations_used"], &unit("T1")["max_iterations"]),
        (&json!("done"), &json!(3), &json!(8))
    );
    assert_eq!(unit("T1")["files"], json!(["src/a.rs", "src/b.rs"]));
    assert_eq!(
        (&unit("T2")["status"], &unit("T2")["confirmations_used"]),
        (&json!("confirming"), &json!(1)),
        "said once is not done"
    );
    assert_eq!(
        (&unit("T3")["status"], &unit("T3")["reason"]),
        (&json!("blocked"), &json!("Waiting on T2"))
    );
    assert_eq!(
        (&unit("T4")["status"], &unit("T4")["reason"]),
        (&json!("blocked"), &json!("no words"))
    );
    assert_eq!(
        (&state["task"], &state["current_task"], &state["phase"]),
        (&json!("Login"), &json!("T2"), &json!("execute"))
    );
    let plan = text(&scratch, "tasks.md");
    assert!(
        plan.contains("- [x] **T1**: Model\n") && plan.contains("\nMind the cookies.\n"),
        "{plan}"
    );
    rebuild_changes_nothing(&scratch);
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "go"})));
    signal(&scratch, "T2_DONE");
    assert_eq!(status(&scratch, "T2"), "verifying");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn a_folder_that_is_a_link_loses_no_event() {
    let scratch = shop();
    let elsewhere = scratch.home().join("elsewhere");
    fs::create_dir_all(elsewhere.join("auth")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, scratch.root().join(".claude/iterative")).unwrap();
    let told = scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "go"}))).stdout;
    assert!(told.contains("iterative") && told.contains("symlink"), "{told}");
    assert_eq!(scratch.doc(&format!("session/live/{SESSION}.json"))["last_prompt"], "go");
    let run = scratch.run(&NEW, b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("symlink"), "{}", run.stderr);
    assert_eq!(fs::read_dir(elsewhere.join("auth")).unwrap().count(), 0);
}

#[test]
fn a_project_can_do_without_it() {
    let scratch = started();
    fs::write(
        scratch.root().join(".claude/hookkeeper.json"),
        "{\"systems\": {\"iterative\": false}}",
    )
    .unwrap();
    assert_eq!(stop(&scratch, "on"), Value::Null);
    assert_eq!(status(&scratch, "T1"), "in_progress");
}

#[test]
fn anothers_task_is_not_offered() {
    let scratch = started();
    let told = scratch.hook(&event("other", "SessionStart", json!({"source": "startup"}))).stdout;
    assert!(!told.contains("iterative"), "{told}");
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    let told = scratch.hook(&event("third", "SessionStart", json!({"source": "startup"}))).stdout;
    assert!(told.contains("an iterative task in .claude/iterative/auth/state.json"), "{told}");
}
