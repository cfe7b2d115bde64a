//! The plan and the state: what the files say is what is done, and what somebody edits in the state is
//! put right from them.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::execution::{Plan, Spec, TWO, assert_sound};
use crate::support::refused;

const THREE: [Spec; 3] = [
    ("L1-001", "1-core", &[], "true"),
    ("L1-002", "1-core", &["L1-001"], "true"),
    ("L2-001", "2-web", &[], "true"),
];

#[test]
fn layers_that_could_never_run() {
    for layers in [["alpha", "beta"], ["1-alpha", "1-beta"]] {
        let plan = Plan::new(&[("a", layers[0], &["b"], "true"), ("b", layers[1], &[], "true")]);
        refused(&plan.run("init", &[]), "and needs b of layer ");
        let plan = Plan::new(&[("a", layers[0], &[], "true"), ("b", layers[1], &["a"], "true")]);
        plan.init(&[]);
        for id in ["a", "b"] {
            plan.verified(id);
            plan.good("merge", &[]);
        }
        assert_eq!(plan.state()["status"], "completed");
    }
}

#[test]
fn an_empty_batch_has_a_reason() {
    let plan = Plan::new(&THREE);
    plan.init(&[]);
    let mut state = plan.state();
    state["tasks"]["L1-001"]["depends_on"] = json!(["L1-002"]);
    state["batch"] = json!([]);
    plan.put("execute-state.json", &state);
    let text = plan.good("next", &[]);
    assert!(
        text.contains("Nothing can be begun. L1-001: it needs L1-002, not merged yet"),
        "{text}"
    );
    assert!(plan.json("next", &[])["reason"].is_string());
}

/// An edit of the state, what `rebuild` says about it, and that it is as before.
fn mended(plan: &Plan, edit: impl FnOnce(&mut Value), says: &[&str]) {
    let before = plan.state();
    let mut state = before.clone();
    edit(&mut state);
    plan.put("execute-state.json", &state);
    let text = plan.good("rebuild", &[]);
    for says in says {
        assert!(text.contains(says), "{says}: {text}");
    }
    plan.assert_sound();
    let after = plan.state();
    for key in ["tasks", "layers", "current_layer", "merge_queue", "status"] {
        assert_eq!(after[key], before[key], "{key}: {text}");
    }
    assert!(plan.good("rebuild", &[]).starts_with("Nothing to correct"));
}

#[test]
fn a_state_is_completed_from_the_plan() {
    let plan = Plan::new(&THREE);
    plan.init(&[]);
    let remove = |from: &mut Value, name: &str| from.as_object_mut().unwrap().remove(name);
    mended(
        &plan,
        |state| drop(remove(&mut state["tasks"]["L1-002"], "layer")),
        &["L1-002: its layer is now as in the plan"],
    );
    mended(
        &plan,
        |state| drop(remove(&mut state["tasks"], "L1-002")),
        &["L1-002: was missing, is pending", "0 of 3 tasks are merged"],
    );
    mended(&plan, |state| state["tasks"] = json!({}), &["L2-001: was missing", "0 of 3 tasks"]);
    mended(
        &plan,
        |state| {
            state["tasks"]["L9-001"] =
                json!({"status": "completed", "attempts": 1, "layer": "9-more"});
            state["layers"]["7-none"] = json!({"status": "pending", "tasks_total": 4});
            remove(&mut state["tasks"]["L1-002"], "depends_on");
        },
        &[
            "L9-001: is neither in the plan nor in git, and is taken out",
            "L1-002: its depends_on is now as in the plan",
            "layer 7-none has no task",
        ],
    );
    // Numbers that no sum can hold.
    let mut state = plan.state();
    for id in ["L1-001", "L1-002"] {
        state["tasks"][id]["attempts"] = json!(u64::MAX);
    }
    plan.put("execute-state.json", &state);
    plan.good("rebuild", &[]);
    plan.good("status", &[]);
    plan.good("start", &["L1-001"]);
    // Without the plan git is still asked, and that is said.
    let plan = Plan::new(&THREE);
    plan.init(&[]);
    fs::remove_file(plan.tasks.join("manifest.json")).unwrap();
    let text = plan.good("rebuild", &[]);
    assert!(text.contains("manifest.json: the tasks were not compared with the plan"), "{text}");
    assert_eq!(plan.state()["metrics"]["total_tasks"], 3);
}

#[test]
fn only_wrong_counts_are_named() {
    let plan = Plan::new(&THREE);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.good("merge", &[]);
    let mut state = plan.state();
    state["metrics"]["total_attempts"] = json!(7);
    plan.put("execute-state.json", &state);
    let text = plan.good("resume", &[]);
    assert!(text.starts_with("counts: said 7 attempts, there are 1\n1 correction"), "{text}");
}

#[test]
fn files_that_are_about_another_task() {
    let plan = Plan::new(&THREE);
    let file = plan.tasks.join("1-core/L1-001.xml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("<id>L1-001</id>", "<id>OTHER</id>")).unwrap();
    let says = "1-core/L1-001.xml is the file of L1-001, and says that it is about OTHER";
    refused(&plan.run("init", &[]), says);
    let text = text.replace("<id>L1-001</id>", "<id>L1-001-model</id>");
    let (head, _) = text.split_once("<verification>").unwrap();
    let bare = format!("{head}<verification>Run: exit 1</verification></task>");
    fs::write(&file, bare).unwrap();
    plan.init(&["--worktree-dir", "../wt"]);
    assert_eq!(plan.state()["worktree_dir"], json!(plan.scratch.home().join("wt")));
    plan.good("start", &["L1-001"]);
    let dir = plan.scratch.home().join("wt/L1-001");
    plan.git_in(&dir, &["commit", "-q", "--allow-empty", "-m", "work"]);
    let run = plan.run("verify", &["L1-001"]);
    assert!(run.stderr.contains("`exit 1` exited with 1"), "{}", run.stderr);
}

#[test]
fn what_no_command_sees_can_still_fail() {
    let plan = Plan::new(&THREE);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.good("fail", &["L1-001", "--message", "it reads badly", "--feedback", "shorter"]);
    assert_eq!(plan.status("L1-001"), "failed");
    assert_eq!(plan.state()["merge_queue"], json!([]));
    assert_eq!(plan.task("L1-001")["retry_feedback"][0]["feedback"], "shorter");
    plan.assert_sound();
}

#[test]
fn commands_do_not_outlive_a_verification_that_was_killed() {
    let run =
        "echo $$ > ../pid; test -e ../second || { touch ../second; kill -9 $PPID; sleep 60; }";
    let plan = Plan::new(&[("a", "1-x", &[], run)]);
    plan.init(&[]);
    plan.good("start", &["a"]);
    plan.work("a", "a.txt", "a");
    assert_eq!(plan.run("verify", &["a"]).code, None);
    let pid = fs::read_to_string(plan.root().join(".worktrees/pid")).unwrap();
    let process = format!("/proc/{}/stat", pid.trim());
    let lives = || fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(lives());
    plan.good("resume", &[]);
    let began = Instant::now();
    while lives() {
        assert!(began.elapsed() < Duration::from_secs(5), "it still runs");
        thread::sleep(Duration::from_millis(2));
    }
    plan.good("verify", &["a"]);
}

/// The plan in docs/execute.md is one.
#[test]
fn the_example_in_the_docs_is_carried_out() {
    let page = include_str!("../../docs/execute.md");
    let block = |kind: &str| {
        let rest = page.split_once(&format!("```{kind}\n")).unwrap().1;
        rest.split_once("```").unwrap().0.to_owned()
    };
    let plan = Plan::new(&[]);
    let manifest: Value = serde_json::from_str(&block("json")).unwrap();
    plan.put("manifest.json", &manifest);
    let _ = fs::remove_file(plan.tasks.join("layer_plan.json"));
    let task = block("xml");
    for entry in manifest["tasks"].as_array().unwrap() {
        let file = plan.tasks.join(entry["file"].as_str().unwrap());
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = task.replace("L1-001", entry["id"].as_str().unwrap());
        fs::write(file, text.replace("1-core", entry["layer"].as_str().unwrap())).unwrap();
    }
    let said = plan.init(&[]);
    assert!(said.contains("3 tasks in 2 layers"), "{said}");
    for id in ["L1-001", "L1-002", "L2-001"] {
        let batch = plan.json("next", &[]);
        assert_eq!(batch["tasks"][0]["id"], id, "{batch}");
        plan.good("start", &[id]);
        fs::create_dir_all(plan.worktree(id).join("src")).unwrap();
        plan.work(id, "src/user.rs", id);
        let said = plan.good("verify", &[id]);
        assert!(said.contains("Check: no log line") || said.contains("no log line"), "{said}");
        plan.good("merge", &[]);
    }
    assert_eq!(plan.state()["status"], "completed");
}

#[test]
fn nonsense_is_corrected_from_git() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.good("merge", &[]);
    plan.good("start", &["L1-002"]);
    plan.good("fail", &["L1-002", "--message", "no", "--feedback", "do"]);
    plan.good("start", &["L1-002"]);
    plan.work("L1-002", "L1-002.txt", "x");
    let right = plan.state();
    let mut wrong = right.clone();
    for id in ["L1-001", "L1-002"] {
        wrong["tasks"][id]["status"] = json!("completed");
    }
    wrong["tasks"]["L1-001"]["merge_commit"] = json!("abc");
    wrong["status"] = json!("completed");
    wrong["metrics"] = json!({"tasks_total": 18, "tasks_completed": 23, "elapsed_seconds": 9});
    wrong["layers"]["1-core"]["tasks_completed"] = json!(20);
    wrong["merge_queue"] = json!([{"task_id": "L1-002", "priority": 1, "status": "merged"}]);
    plan.put("execute-state.json", &wrong);
    let text = plan.good("rebuild", &[]);
    assert!(text.contains("L1-002: was completed, is in_progress: the base branch does not have it, its branch has\n"), "{text}");
    assert!(text.contains("counts: said 23 of 18 tasks complete"), "{text}");
    assert!(text.ends_with("1 of 2 tasks are merged to trunk.\n"), "{text}");
    let state = plan.state();
    assert_sound(&state);
    for key in [
        "status",
        "attempts",
        "errors",
        "retry_feedback",
        "branch",
        "worktree_path",
        "merge_commit",
    ] {
        for id in ["L1-001", "L1-002"] {
            assert_eq!(state["tasks"][id][key], right["tasks"][id][key], "{id} {key}");
        }
    }
    assert_eq!(state["merge_queue"], right["merge_queue"]);
    assert!(plan.good("rebuild", &[]).starts_with("Nothing to correct: 1 of 2"));
    // Broken, of wrong types, or gone: git still knows.
    for broken in [
        "{\"schema_version\": \"2.0\", \"tasks\": {\"L1-002\": {\"status\": \"done\", \"attempts\": 2}}}",
        "not json",
        "",
    ] {
        fs::write(plan.file(), broken).unwrap();
        let run = plan.run("status", &[]);
        assert_eq!(run.code, Some(1));
        assert!(
            run.stderr.contains("cannot be used") && run.stderr.contains("execute rebuild"),
            "{}",
            run.stderr
        );
        let run = plan.scratch.run(&["validate", "--repair"], b"");
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stdout.contains(&plan.file().display().to_string()), "{}", run.stdout);
        assert_eq!(fs::read_to_string(plan.file()).unwrap(), broken, "it is left as it is");
        let text = plan.good("rebuild", &["--project-path", &plan.root().display().to_string()]);
        assert!(text.contains("could not be used as it was"), "{text}");
        assert_eq!(
            (plan.status("L1-001"), plan.status("L1-002")),
            ("completed".into(), "in_progress".into())
        );
        plan.assert_sound();
    }
    fs::remove_file(plan.file()).unwrap();
    plan.good("rebuild", &["--project-path", &plan.root().display().to_string()]);
    plan.good("verify", &["L1-002"]);
    plan.good("merge", &[]);
    assert_eq!(plan.state()["status"], "completed");
    // A newer one stays.
    let newer = "{\"schema_version\": \"3.0\"}";
    fs::write(plan.file(), newer).unwrap();
    refused(&plan.run("rebuild", &[]), "schema 3.0");
    refused(&plan.run("status", &[]), "schema_version is 3.0");
    assert_eq!(fs::read_to_string(plan.file()).unwrap(), newer);
}

#[test]
fn deleted_worktrees_come_back() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.good("start", &["L1-001"]);
    plan.work("L1-001", "L1-001.txt", "kept");
    plan.good("start", &["L1-002"]);
    fs::remove_dir_all(plan.root().join(".worktrees")).unwrap();
    refused(&plan.run("verify", &["L1-001"]), "has no worktree; `hookkeeper execute resume");
    let text = plan.good("resume", &["--dry-run"]);
    assert!(text.contains("Would go on with"), "{text}");
    assert!(!plan.worktree("L1-001").exists());
    let text = plan.good("resume", &[]);
    assert!(
        text.contains("L1-001: its worktree was gone and is made again from its branch"),
        "{text}"
    );
    assert_eq!(fs::read_to_string(plan.worktree("L1-001").join("L1-001.txt")).unwrap(), "kept");
    plan.good("verify", &["L1-001"]);
    plan.good("merge", &[]);
    // Branch and worktree gone: the task begins anew, with its attempts.
    fs::remove_dir_all(plan.worktree("L1-002")).unwrap();
    plan.git(&["worktree", "prune"]);
    plan.git(&["branch", "-q", "-D", "worktree-L1-002"]);
    assert!(
        plan.good("resume", &[])
            .contains("L1-002: was in_progress, is pending: its branch and worktree are gone")
    );
    plan.verified("L1-002");
    assert_eq!(plan.task("L1-002")["attempts"], 2);
    plan.good("merge", &[]);
    plan.assert_tidy(&[]);
}
