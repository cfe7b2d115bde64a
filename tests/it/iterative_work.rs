//! What an iterative task earns its verdicts with: outputs, the checkout, commits, the review of the
//! whole; and what becomes of it when its files or git are gone.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::iterative::*;
use crate::support::{Scratch, event, good, program, refused};

/// A knowledge task with one unit that has to write a report.
fn report() -> Scratch {
    let scratch = shop();
    let new = ["--task", "Report", "--mode", "knowledge", "--unit"];
    let unit = ["R1: Report | three pages | output outputs/report.md"];
    good(run(&scratch, &[&["new", "auth"], &new[..], &unit].concat()));
    scratch
}

fn phase_status(scratch: &Scratch) -> String {
    state(scratch)["phases"]["R1"]["status"].as_str().unwrap().to_owned()
}

fn git(scratch: &Scratch, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Dev", "-c", "user.email=dev@example.com"];
    let mut git = Command::new("git");
    let run = git.args(identity).args(args).current_dir(scratch.root()).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    String::from_utf8(run.stdout).unwrap().trim().to_owned()
}

/// A task in a repository with one file.
fn in_repository() -> Scratch {
    let scratch = shop();
    fs::write(scratch.root().join("a.txt"), "one\n").unwrap();
    fs::write(scratch.root().join(".gitignore"), ".claude/\n").unwrap();
    git(&scratch, &["init", "-q", "."]);
    git(&scratch, &["add", "."]);
    git(&scratch, &["commit", "-q", "-m", "before"]);
    good(scratch.run(&NEW, b""));
    scratch
}

/// The entries about a unit, newest last.
fn entries(scratch: &Scratch, unit: &str) -> Vec<String> {
    let log = text(scratch, "progress.md");
    let entries = log.split("\n## ").skip(1);
    entries.filter(|entry| entry.starts_with(unit)).map(str::to_owned).collect()
}

#[test]
fn a_unit_is_done_only_with_its_output() {
    let scratch = report();
    let reply = signal(&scratch, "R1_DONE");
    let missing = "the output of R1, outputs/report.md, is missing or empty";
    assert!(
        reason(&reply).starts_with(&format!(
            "R1_DONE is refused: R1 is in_progress; {missing}.\nUnit R1 goes on, iteration 2 of 5."
        )),
        "{reply}"
    );
    refused(&run(&scratch, &["signal", "auth", "R1_DONE"]), missing);
    let output = file(&scratch, "outputs/report.md");
    fs::write(&output, "").unwrap();
    assert!(reason(&signal(&scratch, "R1_DONE")).contains(missing));
    fs::write(&output, "Three pages.").unwrap();
    signal(&scratch, "R1_DONE");
    assert_eq!(phase_status(&scratch), "confirming");
    signal(&scratch, "R1_DONE");
    assert_eq!(phase_status(&scratch), "verifying");
    fs::remove_file(&output).unwrap();
    let reply = signal(&scratch, "R1_VERIFIED");
    assert!(reason(&reply).contains(&format!("Remaining, by the log: {missing}.")), "{reply}");
    assert_eq!(phase_status(&scratch), "in_progress");
    rebuild_changes_nothing(&scratch);
    fs::write(&output, "Three better pages.").unwrap();
    for said in ["R1_DONE", "R1_DONE", "R1_VERIFIED"] {
        signal(&scratch, said);
    }
    assert_eq!(phase_status(&scratch), "done");
    // It is gone again before the whole is reviewed.
    fs::remove_file(&output).unwrap();
    let reply = signal(&scratch, "TASK_VERIFIED");
    assert!(
        reason(&reply).starts_with(&format!("TASK_VERIFIED is refused: {missing}.")),
        "{reply}"
    );
    fs::write(&output, "Back.").unwrap();
    let end = signal(&scratch, "TASK_VERIFIED");
    let told = end["systemMessage"].as_str().unwrap();
    assert!(told.contains("is complete: its unit is done; delivered: outputs/report.md"), "{told}");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn an_output_that_was_there_before_has_to_change() {
    let scratch = shop();
    fs::write(scratch.root().join("README.md"), "old").unwrap();
    let unit = "T1: Readme | says how to install | output README.md";
    let new = ["new", "auth", "--task", "x", "--mode", "development", "--unit", unit];
    good(run(&scratch, &new));
    let reply = signal(&scratch, "T1_DONE");
    let same = "the output of T1, README.md, is as it was when the unit began";
    assert!(reason(&reply).contains(same), "{reply}");
    fs::write(scratch.root().join("README.md"), "new").unwrap();
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "confirming");
    // Words about an output are no file.
    let scratch = shop();
    let unit = "T1: Talk | five minutes";
    good(run(&scratch, &["new", "auth", "--task", "x", "--mode", "development", "--unit", unit]));
    let plan = text(&scratch, "tasks.md")
        .replace("  - Completion", "  - Output: a good talk\n  - Completion");
    fs::write(file(&scratch, "tasks.md"), plan).unwrap();
    good(run(&scratch, &["rebuild", "auth"]));
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "confirming");
}

#[test]
fn a_confirmation_sees_what_commands_change() {
    let scratch = in_repository();
    let confirm = |change: &dyn Fn()| {
        signal(&scratch, "T1_DONE");
        assert_eq!(status(&scratch, "T1"), "confirming");
        change();
        signal(&scratch, "T1_DONE");
        let is = status(&scratch, "T1");
        good(run(&scratch, &["set", "auth", "T1", "max=90"]));
        is
    };
    let root = scratch.root();
    assert_eq!(confirm(&|| fs::write(root.join("a.txt"), "two\n").unwrap()), "in_progress");
    let did = entries(&scratch, "T1").into_iter().rfind(|entry| entry.contains("Signal")).unwrap();
    assert!(did.contains("**Did:** Files were changed or committed since it was said to be done."));
    // The same length, the same status: only the contents differ.
    assert_eq!(confirm(&|| fs::write(root.join("a.txt"), "six\n").unwrap()), "in_progress");
    assert_eq!(confirm(&|| fs::write(root.join("new.txt"), "x").unwrap()), "in_progress");
    let commit = || {
        git(&scratch, &["add", "."]);
        git(&scratch, &["commit", "-q", "-m", "feat(auth): Model"]);
    };
    assert_eq!(confirm(&commit), "in_progress");
    assert_eq!(confirm(&|| fs::remove_file(root.join("a.txt")).unwrap()), "in_progress");
    // What is written down about the work, and the client's settings, are not the work.
    let notes = || {
        fs::write(file(&scratch, "context.md"), "mine").unwrap();
        fs::write(root.join(".claude/settings.local.json"), "{}").unwrap();
    };
    assert_eq!(confirm(&notes), "verifying");
    rebuild_changes_nothing(&scratch);
    assert_eq!(state(&scratch)["commits"].as_array().unwrap().len(), 1, "a hook has seen it");
}

#[test]
fn a_task_below_the_top_of_its_repository_is_seen_too() {
    let scratch = shop();
    let home = scratch.root().parent().unwrap().to_owned();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=Dev", "-c", "user.email=dev@example.com"];
        let run = Command::new("git").args(identity).args(args).current_dir(&home).output();
        assert!(run.unwrap().status.success());
    };
    git(&["init", "-q", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "before"]);
    good(scratch.run(&NEW, b""));
    fs::write(scratch.root().join("a.txt"), "one\n").unwrap();
    signal(&scratch, "T1_DONE");
    // Beside the project is not the project.
    fs::write(home.join("beside.txt"), "x").unwrap();
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "verifying");
    signal(&scratch, "T1_GAPS");
    signal(&scratch, "T1_DONE");
    fs::write(scratch.root().join("a.txt"), "two\n").unwrap();
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "in_progress");
}

#[test]
fn an_entry_says_what_was_done_what_remains_and_what_was_committed() {
    let scratch = in_repository();
    good(run(&scratch, &["log", "auth", "T1", "--did", "half", "--remaining", "the other half"]));
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "feat(auth): Half"]);
    let head = git(&scratch, &["rev-parse", "--short=7", "HEAD"]);
    let token = format!("ghp_{}", "a1".repeat(18));
    stop(&scratch, &format!("Half of it\nis there, with {token}.\n"));
    let last = entries(&scratch, "T1").pop().unwrap();
    let wanted = format!(
        "**Did:** The turn ended without a signal that counts. Half of it is there, with [redacted].\n\
         **Remaining:** the other half\n**Blockers:** None\n**Commit:** {head}\n"
    );
    assert!(last.contains(&wanted), "{last}");
    assert_eq!(state(&scratch)["commits"], json!([format!("{head}: feat(auth): Half")]));
    signal(&scratch, "T1_DONE");
    let last = entries(&scratch, "T1").pop().unwrap();
    let wanted = "**Did:** Said to be done. So.\n**Remaining:** None\n**Blockers:** None\n**Signal:** T1_DONE\n**Commit:** None\n";
    assert!(last.contains(wanted), "{last}");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn the_whole_is_reviewed_before_it_is_delivered() {
    let scratch = started();
    refused(&run(&scratch, &["phase", "auth", "verify"]), "has open units");
    refused(&run(&scratch, &["phase", "auth", "deliver"]), "when its review has passed");
    for said in ["T1_DONE", "T1_DONE", "T1_VERIFIED", "T2_DONE", "T2_DONE", "T2_VERIFIED"] {
        signal(&scratch, said);
    }
    assert_eq!(state(&scratch)["phase"], "verify");
    refused(&run(&scratch, &["phase", "auth", "deliver"]), "when its review has passed");
    let reply = stop(&scratch, "I looked.");
    assert!(reason(&reply).contains("Review the whole now"), "{reply}");
    // What is missing is a unit, and that is next.
    let said = good(run(&scratch, &["unit", "auth", "T3: Docs | a page"]));
    assert!(said.contains("Unit T3: Docs"), "{said}");
    assert_eq!(state(&scratch)["phase"], "execute");
    for said in ["T3_DONE", "T3_DONE", "T3_VERIFIED"] {
        signal(&scratch, said);
    }
    assert_eq!(state(&scratch)["phase"], "verify");
    rebuild_changes_nothing(&scratch);
    // A review that does not end is a person's.
    for n in 0..4 {
        assert_eq!(signal(&scratch, "TASK_GAPS")["decision"], "block", "{n}");
    }
    let asked = signal(&scratch, "TASK_GAPS");
    let told = asked["systemMessage"].as_str().unwrap();
    assert!(
        told.contains("The review of the whole has stopped (it did not pass in 5 turns)."),
        "{told}"
    );
    assert_eq!(stop(&scratch, "hello"), Value::Null, "a person was asked; the session is free");
    let said = good(run(&scratch, &["phase", "auth", "verify"]));
    assert!(said.contains("Review the whole now"), "{said}");
    let asked = signal(&scratch, "BLOCKED: no staging");
    assert!(asked["systemMessage"].as_str().unwrap().contains("(no staging)"), "{asked}");
    good(run(&scratch, &["signal", "auth", "TASK_VERIFIED"]));
    let now = state(&scratch);
    assert_eq!((&now["phase"], &now["verdict"]), (&json!("deliver"), &json!("complete")));
    let log = text(&scratch, "progress.md");
    assert!(
        log.contains("## Task - Verified - ") && log.contains("## Task - Delivered - "),
        "{log}"
    );
    rebuild_changes_nothing(&scratch);
}

#[test]
fn a_state_that_is_lost_while_a_session_drives_it_is_made_anew() {
    for broken in [None, Some(""), Some("{\"task\": "), Some("{}"), Some("[1]"), Some("\0\0")] {
        let scratch = started();
        signal(&scratch, "T1_DONE");
        let before = state(&scratch);
        let path = file(&scratch, "state.json");
        match broken {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        let reply = signal(&scratch, "T1_DONE");
        assert!(
            reason(&reply).contains("it was made anew from progress.md."),
            "{broken:?} {reply}"
        );
        assert!(reason(&reply).contains("Verify it now"), "{broken:?} {reply}");
        let told = reply["systemMessage"].as_str().unwrap();
        let path = ".claude/iterative/auth/state.json";
        assert!(told.contains(path) && told.contains("it was made anew"), "{broken:?} {told}");
        assert!(!told.contains("left as it is"), "{broken:?} {told}");
        assert_eq!(told.contains(".claude/state/quarantine/"), broken.is_some(), "{told}");
        assert_eq!(status(&scratch, "T1"), "verifying");
        assert_eq!(state(&scratch)["created"], before["created"]);
        assert!(text(&scratch, "progress.md").contains("## Task - Rebuilt - "));
        rebuild_changes_nothing(&scratch);
        assert_eq!(signal(&scratch, "T1_VERIFIED")["decision"], "block");
    }
    // Without its log nothing is made up.
    let scratch = started();
    fs::remove_file(file(&scratch, "state.json")).unwrap();
    fs::remove_file(file(&scratch, "progress.md")).unwrap();
    assert_eq!(stop(&scratch, "on").get("decision"), None);
    assert!(!file(&scratch, "state.json").exists());
}

#[test]
fn a_git_that_is_missing_or_hangs_holds_nothing_up() {
    for (script, why) in
        [("sleep 60", "git does not answer"), ("", "git is not installed, or not on PATH")]
    {
        let mut scratch = in_repository();
        let bin = scratch.home().join("bin");
        fs::create_dir_all(&bin).unwrap();
        if !script.is_empty() {
            let git = bin.join("git");
            program(&git, &format!("#!/bin/sh\n/bin/{script}\n"));
        }
        scratch.env.insert("PATH".into(), bin.display().to_string());
        for _ in 0..2 {
            let began = Instant::now();
            let reply = stop_of(&scratch, SESSION, "<signal>T1_DONE</signal>");
            assert!(began.elapsed() < Duration::from_secs(4), "{why}: {:?}", began.elapsed());
            assert_eq!(reply["decision"], "block", "{why}");
        }
        assert_eq!(status(&scratch, "T1"), "verifying");
        let last = entries(&scratch, "T1").pop().unwrap();
        let said = format!("what commands changed was not seen: {why}.");
        assert!(last.contains(&said), "{last}");
        // A tool's change is seen all the same.
        signal(&scratch, "T1_GAPS");
        signal(&scratch, "T1_DONE");
        edit(&scratch, "src/user.rs");
        signal(&scratch, "T1_DONE");
        assert_eq!(status(&scratch, "T1"), "in_progress");
    }
}

#[test]
fn what_others_ticked_off_and_said_to_be_done_is_done() {
    let scratch = shop();
    fs::create_dir_all(file(&scratch, "")).unwrap();
    let write = |name: &str, text: &str| fs::write(file(&scratch, name), text).unwrap();
    write("brief.md", "# Login\n\n**Created:** 2026-01-14T10:30:00Z\n**Mode:** development\n");
    write(
        "tasks.md",
        "# Login - Tasks\n\n## Dependencies\n\nT1 → T2 (sequential)\n\n## Tasks\n\n- [x] **T1**: Model\n- [ ] **T2**: Page\n- [x] **T3**: Docs\n- [ ] **T4**: Form\n",
    );
    let entry = |unit: &str, signal: &str| {
        format!(
            "\n## {unit} - Iteration 2 - 2026-01-14T11:00:00Z\n**Did:** all\n**Remaining:** None\n{signal}**Commit:** abc1234\n"
        )
    };
    let log = [entry("T1", "**Signal:** T1_DONE\n"), entry("T4", "**Signal:** T4_DONE\n")];
    write("progress.md", &format!("# Progress Log\n{}", log.concat()));
    // A message names the command.
    let hint = "`hookkeeper iterative rebuild auth`";
    let said = scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"}))).stdout;
    assert!(said.contains(hint), "{said}");
    let said = good(run(&scratch, &["list"]));
    assert!(said.contains(hint), "{said}");
    good(run(&scratch, &["rebuild", "auth"]));
    assert_eq!(status(&scratch, "T1"), "done");
    assert_eq!(status(&scratch, "T2"), "pending", "T1 is done");
    assert_eq!(status(&scratch, "T3"), "pending", "nobody said that it is done");
    assert_eq!(status(&scratch, "T4"), "confirming", "said, and not ticked off");
    let unit = &state(&scratch)["tasks"]["T1"];
    assert_eq!(
        (&unit["completed_at"], &unit["iterations_used"], &unit["verification_passed"]),
        (&json!("2026-01-14T11:00:00Z"), &json!(2), &json!(true))
    );
    rebuild_changes_nothing(&scratch);
}
