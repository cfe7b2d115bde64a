//! Killed at every step: before, after and during each git that `start`, `verify` and `merge` start.
//! After `resume` the end is the same as that of a run that nobody interrupted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::support::execution::{Plan, Spec, assert_sound};
use crate::support::{self, Run, program, wait_until};

const TASKS: [Spec; 2] = [
    ("L1-001", "1-core", &[], "test -s L1-001.txt"),
    ("L1-002", "1-core", &[], "test -s L1-002.txt"),
];

/// Stands in front of git: at the call that is named it kills who started it.
const GIT: &str = r#"#!/bin/sh
words() {
  while :; do case $1 in -[Cc]) shift 2;; -*) shift;; *) break;; esac; done
  echo "$1 $2"
}
n=$(($(cat "$KILL_DIR/count" 2>/dev/null || echo 0) + 1))
echo $n > "$KILL_DIR/count"
words "$@" >> "$KILL_DIR/calls"
[ "$n" = "$KILL_AT" ] && case $KILL_HOW in
  before) kill -9 $PPID; exit 1;;
  after) PATH=$REAL_PATH git "$@"; kill -9 $PPID; exit 1;;
  during) kill -9 $PPID; sleep 0.1;;
esac
PATH=$REAL_PATH exec git "$@"
"#;

/// What git is asked to do, other than to tell something.
const CHANGES: [&str; 6] =
    ["worktree add", "worktree remove", "merge-tree", "commit-tree", "merge ", "branch -D"];
const WAYS: [&str; 3] = ["before", "after", "during"];

fn plan() -> Plan {
    let mut plan = Plan::new(&TASKS);
    let dir = plan.scratch.home().join("bin");
    fs::create_dir_all(&dir).unwrap();
    program(&dir.join("git"), GIT);
    let path = plan.scratch.env["PATH"].clone();
    plan.scratch.env.insert("REAL_PATH".into(), path);
    plan.scratch.env.insert("KILL_DIR".into(), dir.display().to_string());
    plan.init(&[]);
    plan
}

/// Runs a command with git behind the wrapper.
fn watched(plan: &Plan, what: &str, args: &[&str], at: usize, how: &str) -> Run {
    let dir = plan.scratch.home().join("bin");
    let _ = fs::remove_file(dir.join("count"));
    let words = plan.args(what, args);
    let mut command = plan.scratch.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let path = format!("{}:{}", dir.display(), plan.scratch.env["PATH"]);
    command.env("PATH", path).env("KILL_AT", at.to_string()).env("KILL_HOW", how);
    support::finish(support::spawn(command), b"")
}

/// The steps of the whole run; one of them may be interrupted.
const STEPS: [(&str, &[&str]); 5] = [
    ("start", &["L1-001"]),
    ("start", &["L1-002"]),
    ("verify", &["L1-001"]),
    ("merge", &[]),
    ("verify", &["L1-002"]),
];

fn work(plan: &Plan, id: &str) {
    if !plan.worktree(id).join(format!("{id}.txt")).exists() {
        plan.work(id, &format!("{id}.txt"), id);
    }
}

/// Takes all steps as the state asks for them, however far it is.
fn go_on(plan: &Plan) {
    for id in ["L1-001", "L1-002"] {
        if plan.status(id) == "pending" {
            plan.good("start", &[id]);
        }
    }
    for id in ["L1-001", "L1-002"] {
        if plan.status(id) == "in_progress" {
            work(plan, id);
            plan.good("verify", &[id]);
        }
        plan.good("merge", &[]);
    }
}

/// The steps before one.
fn until(plan: &Plan, step: usize) {
    for (what, args) in &STEPS[..step] {
        if *what == "verify" {
            work(plan, args[0]);
        }
        plan.good(what, args);
    }
    if STEPS[step].0 == "verify" {
        work(plan, STEPS[step].1[0]);
    }
}

/// What must be the same in the end: all but times and places.
fn end(plan: &Plan) -> (String, String) {
    let state = plan.state();
    assert_sound(&state);
    plan.assert_tidy(&[]);
    let text = serde_json::to_string_pretty(&without_times(state)).unwrap();
    let home = plan.scratch.home().display().to_string();
    let log = plan.git(&["log", "--format=%H %s", "trunk"]);
    (text.replace(&home, "HOME"), log)
}

fn without_times(mut value: Value) -> Value {
    let is_time = |key: &str, text: &str| {
        key.ends_with("_at") || key == "at" || key == "timestamp" || text.is_empty()
    };
    match &mut value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                if key.ends_with("seconds") {
                    *field = Value::Null;
                } else if field.as_str().is_some_and(|text| is_time(key, text)) {
                    *field = "TIME".into();
                } else {
                    *field = without_times(field.take());
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_times(item.take())),
        _ => {}
    }
    value
}

fn killed_at_every_git(step: usize) {
    let reference = plan();
    until(&reference, step);
    let (what, args) = STEPS[step];
    let run = watched(&reference, what, args, 0, "never");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let calls = fs::read_to_string(reference.scratch.home().join("bin/calls")).unwrap();
    let changing = |call: &&str| CHANGES.iter().any(|change| call.starts_with(change));
    let changes = calls.lines().filter(changing).count();
    assert_eq!(
        changes,
        [("start", 1), ("verify", 0), ("merge", 5)]
            .iter()
            .find(|(name, _)| *name == what)
            .unwrap()
            .1
    );
    go_on(&reference);
    let wanted = end(&reference);
    let plan = plan();
    until(&plan, step);
    let saved = Saved::new(&plan);
    for (at, call) in (1..).zip(calls.lines()) {
        // Before a question is answered, while it is and after: that is all the same.
        for how in WAYS.into_iter().take(if changing(&call) { 3 } else { 1 }) {
            saved.restore(&plan);
            // What was copied back is this machine's.
            plan.scratch.trust();
            let run = watched(&plan, what, args, at, how);
            assert_eq!(
                run.code, None,
                "{what}, killed {how} git {call}: {}{}",
                run.stdout, run.stderr
            );
            let resumed = plan.run("resume", &[]);
            assert_eq!(
                resumed.code,
                Some(0),
                "{what}, killed {how} git {call}: {}",
                resumed.stderr
            );
            let text = fs::read_to_string(plan.file()).unwrap();
            assert!(!text.contains("\"claim\""), "{what}, killed {how} git {call}: {text}");
            go_on(&plan);
            assert_eq!(end(&plan), wanted, "{what}, killed {how} git {call}");
        }
    }
}

/// A plan as it was, to be put back in its place: its paths are in git's files.
struct Saved {
    dir: PathBuf,
}

impl Saved {
    fn new(plan: &Plan) -> Self {
        let dir = PathBuf::from(format!("{}.saved", plan.scratch.home().display()));
        copy(plan.scratch.home(), &dir);
        Self { dir }
    }

    fn restore(&self, plan: &Plan) {
        fs::remove_dir_all(plan.scratch.home()).unwrap();
        copy(&self.dir, plan.scratch.home());
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

#[test]
fn a_start_that_is_killed() {
    killed_at_every_git(0);
}

#[test]
fn a_verification_that_is_killed() {
    killed_at_every_git(2);
}

#[test]
fn merges_that_are_killed() {
    killed_at_every_git(3);
}

#[test]
fn without_resume_the_next_command_takes_over() {
    let reference = plan();
    go_on(&reference);
    let wanted = end(&reference);
    for (step, at) in [(2, 5), (3, 10), (3, 14)] {
        let (what, args) = STEPS[step];
        let plan = plan();
        until(&plan, step);
        assert_eq!(watched(&plan, what, args, at, "during").code, None);
        plan.good(what, args);
        go_on(&plan);
        assert_eq!(end(&plan), wanted, "{what}, killed at {at}");
    }
}

#[test]
fn a_verification_whose_command_kills_it() {
    let plan =
        Plan::new(&[("a", "1-x", &[], "test -e ../done || { touch ../done; kill -9 $PPID; }")]);
    plan.init(&[]);
    plan.good("start", &["a"]);
    plan.work("a", "a.txt", "a");
    assert_eq!(plan.run("verify", &["a"]).code, None);
    assert_eq!(plan.status("a"), "verifying");
    let text = plan.good("resume", &[]);
    assert!(text.contains("a: its verification was interrupted"), "{text}");
    plan.good("verify", &["a"]);
    assert_eq!(
        (plan.status("a"), plan.task("a")["attempts"].clone()),
        ("verified".into(), 1.into())
    );
}

#[test]
fn somebody_who_lives_is_left_alone() {
    let plan = Plan::new(&[(
        "a",
        "1-x",
        &[],
        "touch ../begun; while ! test -e ../go; do sleep 0.02; done",
    )]);
    plan.init(&[]);
    plan.good("start", &["a"]);
    plan.work("a", "a.txt", "a");
    let dir = plan.root().join(".worktrees");
    thread::scope(|scope| {
        let verify = scope.spawn(|| plan.run("verify", &["a"]));
        wait_until(|| dir.join("begun").exists());
        for what in ["verify", "start"] {
            let run = plan.run(what, &["a"]);
            assert_eq!(run.code, Some(1), "{what}: {}", run.stdout);
        }
        support::refused(
            &plan.run("fail", &["a", "--message", "x"]),
            "is being verified by process",
        );
        plan.good("resume", &[]);
        assert_eq!(plan.status("a"), "verifying");
        fs::write(dir.join("go"), "").unwrap();
        assert_eq!(verify.join().unwrap().code, Some(0));
    });
    assert_eq!(plan.status("a"), "verified");
}
