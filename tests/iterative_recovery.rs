//! Iterative tasks whose files somebody wrote in, emptied or lost, and sessions that came and went.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and makes its own files"
)]

#[path = "support/iterative.rs"]
mod iterative;
mod support;

use std::fs;
use std::process::Command;

use iterative::*;
use serde_json::{Value, json};
use support::{Scratch, event, good, refused};

const OTHER: &str = "1a2b3c4d-1111-4222-8333-444455556666";

fn write(scratch: &Scratch, name: &str, text: &str) {
    fs::write(file(scratch, name), text).unwrap();
}

fn git(scratch: &Scratch, args: &[&str]) {
    let identity = ["-c", "user.name=Dev", "-c", "user.email=dev@example.com"];
    let run =
        Command::new("git").args(identity).args(args).current_dir(scratch.root()).output().unwrap();
    assert!(run.status.success(), "{run:?}");
}

fn commits(scratch: &Scratch) -> Vec<String> {
    let state = state(scratch);
    let commits = state["commits"].as_array().cloned().unwrap_or_default();
    commits.iter().map(|c| c.as_str().unwrap().split_once(": ").unwrap().1.to_owned()).collect()
}

#[test]
fn commits_that_are_recorded_stay() {
    let scratch = shop();
    git(&scratch, &["init", "-q", "-b", "main", "."]);
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "before"]);
    good(scratch.run(&NEW, b""));
    git(&scratch, &["checkout", "-q", "-b", "feature"]);
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "one"]);
    good(run(&scratch, &["next", "auth"]));
    git(&scratch, &["checkout", "-q", "main"]);
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "somebody else's"]);
    good(run(&scratch, &["log", "auth", "T1", "--did", "x", "--remaining", "y"]));
    assert_eq!(commits(&scratch), ["one"]);
    rebuild_changes_nothing(&scratch);
    git(&scratch, &["checkout", "-q", "feature"]);
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "two"]);
    good(run(&scratch, &["next", "auth"]));
    assert_eq!(commits(&scratch), ["one", "two"]);
    // What was rewritten is on no branch any more, and its successor counts.
    git(&scratch, &["commit", "-q", "--allow-empty", "--amend", "-m", "two, better"]);
    good(run(&scratch, &["next", "auth"]));
    assert_eq!(commits(&scratch), ["one", "two", "two, better"]);

    // The seed's own example, in a repository that has none of its commits.
    write(&scratch, "progress.md", "# Progress Log\n");
    write(&scratch, "state.json", include_str!("seeds/000/iterative.json"));
    good(run(&scratch, &["log", "auth", "T3", "--did", "x", "--remaining", "y"]));
    assert_eq!(
        commits(&scratch),
        ["feat(user-auth): Add User model", "feat(user-auth): Create auth service"]
    );
}

fn live(scratch: &Scratch, session: &str) -> Value {
    scratch.doc(&format!("session/live/{session}.json"))
}

#[test]
fn the_two_hundred_and_first_task_is_a_task_too() {
    let scratch = shop();
    for n in 0..205 {
        let folder = scratch.root().join(format!(".claude/iterative/a{n:03}"));
        fs::create_dir_all(&folder).unwrap();
        fs::File::open(&folder).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    good(scratch.run(&NEW, b""));
    good(
        scratch.run(
            &[&["iterative", "new", "zz"][..], &NEW[3..], &["--session", OTHER]].concat(),
            b"",
        ),
    );
    let log = ["log", "zz", "T1", "--did", "x", "--remaining", "y"];
    good(run(&scratch, &log));
    let before = support::tree(&scratch.root().join(".claude/iterative/zz"));
    refused(
        &scratch.run(
            &[&["iterative", "new", "zz"][..], &NEW[3..], &["--session", "third"]].concat(),
            b"",
        ),
        ".claude/iterative/zz is there already",
    );
    assert_eq!(support::tree(&scratch.root().join(".claude/iterative/zz")), before);
    let run = run(&scratch, &["next", "nothing"]);
    assert!(
        run.stderr.contains("there are a000, ") && run.stderr.contains(" and 187 more"),
        "{}",
        run.stderr
    );
    // The hook's scan is short, but what was worked on last is in it.
    scratch.hook(&event(OTHER, "SessionStart", json!({"source": "startup"})));
    assert_eq!(live(&scratch, OTHER)["loop_task"], "zz");
}

#[test]
fn a_keyword_has_to_fit() {
    let scratch = shop();
    let specs = [
        "T1: Export | output matches the golden file | output out.md",
        "T2: Clean | files are gone | files a.rs, b.rs",
        "T3: Model | model tests pass | model sonnet",
        "T4: Small | needs no review | needs T1 T2",
        "Setup: Begin | max 5 people | max 7",
        "T6: After | needs Setup",
    ];
    let args: Vec<&str> = specs.iter().flat_map(|spec| ["--unit", spec]).collect();
    good(scratch.run(&[&NEW[..7], &args].concat(), b""));
    let tasks = state(&scratch)["tasks"].clone();
    let criteria =
        ["output matches the golden file", "files are gone", "model tests pass", "needs no review"];
    for (n, criteria) in criteria.iter().enumerate() {
        assert_eq!(tasks[format!("T{}", n + 1)]["criteria"], *criteria);
    }
    assert_eq!(
        (&tasks["T1"]["output"], &tasks["T3"]["model"]),
        (&json!("out.md"), &json!("sonnet"))
    );
    assert_eq!(tasks["T2"]["files"], json!(["a.rs", "b.rs"]));
    assert_eq!(
        (&tasks["T4"]["needs"], &tasks["T6"]["needs"]),
        (&json!(["T1", "T2"]), &json!(["Setup"]))
    );
    assert_eq!(
        (&tasks["Setup"]["criteria"], &tasks["Setup"]["max_iterations"]),
        (&json!("max 5 people"), &json!(7))
    );
    for slip in ["T7: x | needs Stup", "T7: x | needs T9 first", "T7: x | needs Setup, Stup"] {
        refused(&run(&scratch, &["unit", "auth", slip]), "which does not exist");
    }
}
