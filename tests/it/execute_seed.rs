//! Executions as the format's own document describes them: its state, its commits, its reset; and
//! what is said about a retry.

use std::fs;

use serde_json::{Value, json};

use crate::support::execution::*;
use crate::support::{good, refused};

#[test]
fn feedback_after_a_failed_verification_is_for_the_next_attempt() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.good("start", &["L1-001"]);
    plan.work("L1-001", "other.txt", "x");
    let said = plan.run("verify", &["L1-001"]).stderr;
    assert!(said.contains("--feedback TEXT` says what it should do"), "{said}");
    let said = plan.good("fail", &["L1-001", "--feedback", "Write L1-001.txt"]);
    assert!(said.starts_with("L1-001: noted for attempt 2."), "{said}");
    let task = plan.task("L1-001");
    assert_eq!((&task["status"], &task["attempts"]), (&json!("failed"), &json!(1)));
    assert_eq!(task["retry_feedback"], json!([{"attempt": 2, "feedback": "Write L1-001.txt"}]));
    assert_eq!(task["errors"].as_array().unwrap().len(), 1);
    // With the verification itself; and never for an attempt that there is not.
    for attempt in 2..=5 {
        plan.good("start", &["L1-001"]);
        let run = plan.run("verify", &["L1-001", "--feedback", &format!("after {attempt}")]);
        assert_eq!(run.code, Some(1));
    }
    let task = plan.task("L1-001");
    let attempts: Vec<u64> = task["retry_feedback"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feedback| feedback["attempt"].as_u64().unwrap())
        .collect();
    assert_eq!((attempts, &task["status"]), (vec![2, 3, 4, 5], &json!("abandoned")));
    refused(&plan.run("fail", &["L1-001", "--feedback", "more"]), "L1-001 is abandoned");
    // Feedback about what has not failed needs a message.
    plan.good("reset-task", &["L1-001", "--force"]);
    plan.good("start", &["L1-002"]);
    refused(
        &plan.run("fail", &["L1-002", "--feedback", "x"]),
        "--message TEXT says what went wrong",
    );
    plan.good("fail", &["L1-002", "--message", "no", "--feedback", "do"]);
    assert_eq!(plan.task("L1-002")["retry_feedback"][0]["attempt"], 2);
}

/// The document's own state in a repository, with the commits that it speaks of.
fn sample() -> (Plan, Value) {
    let specs: [Spec; 3] = [
        ("L2-001", "2-backend", &[], "true"),
        ("L2-002", "2-backend", &[], "true"),
        ("L2-003", "2-backend", &[], "true"),
    ];
    let plan = Plan::at("shop/docs/tasks", &specs);
    for subject in ["feat(L2-001): Add the task model", "fix(L2-002)!: Refuse empty titles"] {
        plan.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }
    plan.git(&["commit", "-q", "--allow-empty", "-m", "Speak of (L2-003): not yet"]);
    let mut example: Value =
        serde_json::from_str(include_str!("../seeds/003/execute-state.json")).unwrap();
    example["note"] = json!("theirs");
    plan.put("execute-state.json", &example);
    let tasks = plan.tasks.display().to_string();
    good(plan.scratch.run(&["trust", "--yes", "--tasks", &tasks], b""));
    (plan, example)
}

#[test]
fn the_state_of_the_document_is_gone_on_with() {
    let (plan, example) = sample();
    let page = plan.good("status", &[]);
    assert!(page.contains("L2-001") && page.contains("2-backend"), "{page}");
    assert_eq!(plan.state(), example, "looking at it changes nothing");
    let next = plan.json("next", &[]);
    assert_eq!(next["layer"], "2-backend", "{next}");
    plan.good("resume", &[]);
    let state = plan.state();
    let task = |id: &str| state["tasks"][id].clone();
    for id in ["L2-001", "L2-002"] {
        assert_eq!(task(id)["status"], "completed", "{id}");
    }
    assert_eq!(
        (task("L2-002")["attempts"].clone(), task("L2-003")["status"].clone()),
        (json!(2), json!("pending"))
    );
    assert_eq!(task("L2-002")["errors"], example["tasks"]["L2-002"]["errors"]);
    assert_eq!(task("L2-002")["retry_feedback"], example["tasks"]["L2-002"]["retry_feedback"]);
    assert_eq!(state["note"], "theirs");
    plan.good("start", &["L2-003"]);
    assert_eq!(plan.status("L2-003"), "in_progress");
}

#[test]
fn a_rebuild_finds_tasks_by_their_subjects_and_keeps_what_it_does_not_know() {
    let (plan, example) = sample();
    plan.good("rebuild", &[]);
    let state = plan.state();
    assert_eq!(state["tasks"]["L2-001"]["status"], "completed");
    assert_eq!(state["tasks"]["L2-002"]["status"], "completed");
    assert_eq!(state["tasks"]["L2-003"]["status"], "pending");
    assert_eq!((&state["note"], &state["prd_slug"]), (&example["note"], &json!("shop")));
    // The same with a file that cannot be used, and with none.
    let mut broken = example.clone();
    broken["tasks"]["L2-001"]["status"] = json!("nonsense");
    plan.put("execute-state.json", &broken);
    plan.good("rebuild", &[]);
    assert_eq!(plan.state()["note"], "theirs");
    fs::remove_file(plan.file()).unwrap();
    plan.good("rebuild", &[]);
    assert_eq!(plan.status("L2-001"), "completed");
    // An execution that knows where it began does not take others' commits for its own.
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.git(&["commit", "-q", "--allow-empty", "-m", "feat(L1-001): By hand"]);
    plan.good("rebuild", &[]);
    assert_eq!(plan.status("L1-001"), "pending");
}

#[test]
fn the_documents_reset_leads_to_a_fresh_start() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.good("start", &["L1-002"]);
    let tip = plan.git(&["rev-parse", "worktree-L1-001"]);
    fs::remove_file(plan.file()).unwrap();
    // As long as worktrees are there, somebody may be at work.
    refused(&plan.run("init", &[]), "leftovers of an earlier execution");
    plan.git(&["worktree", "prune"]);
    fs::remove_dir_all(plan.root().join(".worktrees")).unwrap();
    good(plan.run("init", &["--dry-run"]));
    assert_eq!(plan.git(&["rev-parse", "worktree-L1-001"]), tip, "a dry run changes nothing");
    let said = plan.good("init", &[]);
    let aside = format!("set-aside/worktree-L1-001-{}", tip.get(..7).unwrap());
    assert!(
        said.contains(&format!("The work of an earlier execution is kept on: {aside}")),
        "{said}"
    );
    assert_eq!(plan.git(&["rev-parse", &aside]), tip, "nothing is lost");
    assert_eq!(plan.git(&["branch", "--list", "worktree-*"]), "");
    plan.verified("L1-001");
    plan.good("merge", &[]);
    assert_eq!(plan.merged().len(), 1);
}

#[test]
fn a_resume_after_a_stop_has_nothing_to_put_right() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.verified("L1-002");
    plan.good("stop", &[]);
    let said = plan.good("resume", &[]);
    assert!(said.starts_with("Nothing to correct"), "{said}");
}

#[test]
fn the_only_execution_needs_no_name() {
    let plan = Plan::at("shop/docs/tasks", &TWO);
    let run = |args: &[&str]| plan.scratch.run(args, b"");
    refused(&run(&["execute", "status"]), "this project has no execution");
    plan.init(&[]);
    assert_eq!(good(run(&["execute", "status"])), plan.good("status", &[]));
    assert!(good(run(&["execute", "next"])).contains("L1-001"));
    plan.good("start", &["L1-001"]);
    // In a task's worktree a relative path means the execution, not the copy that git has made.
    let dir = plan.worktree("L1-001");
    good(plan.run_in(&dir, "status", "docs/tasks", &[]));
    let inner = dir.join("docs");
    fs::create_dir_all(&inner).unwrap();
    good(plan.run_in(&inner, "status", "tasks", &[]));
    let other = plan.scratch.home().join("plans/other");
    fs::create_dir_all(&other).unwrap();
    refused(&plan.run_in(&plan.root(), "status", "nowhere", &[]), "there is no such folder");
}
