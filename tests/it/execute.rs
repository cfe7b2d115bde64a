//! Executions from their beginning to their end, on real repositories.

use std::fs;

use serde_json::{Value, json};

use crate::support::execution::{Plan, TWO, assert_sound, three_by_five, with_specs};
use crate::support::{event, refused};

#[test]
fn fifteen_tasks_in_three_layers() {
    let specs = three_by_five();
    let plan = with_specs(&specs, Plan::new);
    let text = plan.init(&["--max-parallel", "3"]);
    assert!(
        text.starts_with("Began shop: 15 tasks in 3 layers, merged to trunk, 3 at a time."),
        "{text}"
    );
    let mut fails = vec!["L0-002", "L1-003"];
    let mut conflicts = vec!["L1-001", "L1-002"];
    let mut rounds = 0;
    loop {
        rounds += 1;
        assert!(rounds < 60, "it does not end: {}", plan.good("status", &[]));
        let next = plan.json("next", &[]);
        assert_eq!(next, plan.json("next", &[]), "asking twice changes nothing");
        let batch = next["tasks"].as_array().unwrap();
        assert!(batch.len() <= 3, "{next}");
        if batch.is_empty() {
            break;
        }
        let layer = &next["layer"];
        for task in batch {
            let id = task["id"].as_str().unwrap();
            assert_eq!(&task["layer"], layer, "layers run in order");
            if !["pending", "failed"].contains(&task["status"].as_str().unwrap()) {
                continue;
            }
            let started = plan.json("start", &[id]);
            assert_eq!(started["attempt"], task["attempt"]);
            if id == "L2-005" {
                plan.good(
                    "fail",
                    &[id, "--message", "it cannot be done", "--feedback", "try otherwise"],
                );
                continue;
            }
            let fail = fails.iter().position(|fail| *fail == id).map(|at| fails.remove(at));
            let clash =
                conflicts.iter().position(|clash| *clash == id).map(|at| conflicts.remove(at));
            if clash.is_some() {
                fs::write(plan.worktree(id).join("shared.txt"), format!("{id}\n")).unwrap();
            }
            if task["errors"]
                .as_array()
                .is_some_and(|errors| errors.iter().any(|e| e["message"] == "merge_conflict"))
            {
                let feedback = task["retry_feedback"][0]["feedback"].as_str().unwrap();
                assert!(
                    feedback.contains("git rebase trunk") && feedback.contains("shared.txt"),
                    "{feedback}"
                );
                plan.git_in(&plan.worktree(id), &["reset", "-q", "--hard", "trunk"]);
            }
            if fail.is_some() {
                fs::write(plan.worktree(id).join("broken"), "").unwrap();
            }
            plan.work(id, &format!("{id}.txt"), &format!("{id} {}\n", task["attempt"]));
            if fail.is_some() {
                let run = plan.run("verify", &[id]);
                assert_eq!(run.code, Some(1));
                assert!(
                    run.stderr.contains("exited with 1; attempt 1 of 5 failed"),
                    "{}",
                    run.stderr
                );
                fs::remove_file(plan.worktree(id).join("broken")).unwrap();
                continue;
            }
            plan.good("verify", &[id]);
        }
        let run = plan.run("merge", &[]);
        if run.code != Some(0) {
            assert!(
                run.stderr.contains("L1-002: merge_conflict, conflict in shared.txt"),
                "{}",
                run.stderr
            );
        }
    }
    let state = plan.state();
    assert_sound(&state);
    assert_eq!((&state["status"], &state["current_layer"]), (&json!("abandoned"), &json!("2-web")));
    assert_eq!(state["metrics"]["completed_tasks"], 14);
    // 14 tasks, two of them and the one with the conflict twice, and the abandoned one five times.
    assert_eq!(state["metrics"]["total_attempts"], 14 + 3 + 5);
    let abandoned = &state["tasks"]["L2-005"];
    assert_eq!((&abandoned["status"], &abandoned["attempts"]), (&json!("abandoned"), &json!(5)));
    assert_eq!(abandoned["retry_feedback"][0]["attempt"], 2);
    let retried = &state["tasks"]["L0-002"];
    let kinds: Vec<&Value> =
        retried["commits"].as_array().unwrap().iter().map(|c| &c["type"]).collect();
    assert_eq!(
        (&retried["attempts"], kinds),
        (&json!(2), vec![&json!("implementation"), &json!("fix")])
    );
    assert_eq!(state["tasks"]["L1-002"]["errors"][0]["message"], "merge_conflict");
    // Every merge is in git, in the order of the queue.
    let queue = state["merge_queue"].as_array().unwrap();
    let queue: Vec<&str> = queue.iter().map(|queued| queued["task_id"].as_str().unwrap()).collect();
    assert_eq!(plan.merged(), queue);
    assert_eq!(queue.len(), 14);
    plan.assert_tidy(&["L2-005"]);
    assert!(plan.good("next", &[]).contains("L2-005 failed five times"));
    refused(&plan.run("start", &["L2-005"]), "L2-005 failed five times");
    let tree = plan.good("status", &[]);
    assert!(tree.contains("├─ 0-setup  ████████████████████ 5/5\n"), "{tree}");
    assert!(tree.contains("└─ 2-web  ████████████████░░░░ 4/5, 1 failed\n"), "{tree}");
    // It gets another chance, and then all is done.
    plan.good("reset-task", &["L2-005"]);
    plan.verified("L2-005");
    plan.good("merge", &[]);
    let state = plan.state();
    assert_eq!(
        (&state["status"], &state["metrics"]["completed_tasks"]),
        (&json!("completed"), &json!(15))
    );
    assert!(state["completed_at"].is_string());
    plan.assert_tidy(&[]);
    plan.assert_sound();
    assert!(plan.good("next", &[]).contains("All 15 tasks are merged."));
}

#[test]
fn a_task_brings_everything_an_agent_needs() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    let next = plan.json("next", &[]);
    assert_eq!((&next["layer"], &next["batch"]), (&json!("1-core"), &json!(1)));
    let task = &next["tasks"][0];
    assert_eq!(task["task"]["objective"], "Write L1-001.txt");
    assert_eq!(task["task"]["run"], json!(["test -s L1-001.txt"]));
    assert_eq!(task["task"]["check"], json!(["Check: it reads well"]));
    assert_eq!(task["worktree_path"], json!(plan.worktree("L1-001")));
    assert_eq!((&task["branch"], &task["attempt"]), (&json!("worktree-L1-001"), &json!(1)));
    plan.good("start", &["L1-001"]);
    plan.good(
        "fail",
        &["L1-001", "--message", "no luck", "--details", "at all", "--feedback", "try x"],
    );
    let next = plan.json("next", &[]);
    let task = &next["tasks"][0];
    assert_eq!((&task["attempt"], &task["errors"][0]["message"]), (&json!(2), &json!("no luck")));
    assert_eq!(task["retry_feedback"], json!([{"attempt": 2, "feedback": "try x"}]));
    // A rate limit is nobody's fault.
    plan.good("start", &["L1-001"]);
    let text = plan.good("fail", &["L1-001", "--message", "API error 429: rate limit reached"]);
    assert!(text.contains("does not count"), "{text}");
    assert_eq!(
        (plan.task("L1-001")["attempts"].clone(), plan.status("L1-001")),
        (json!(1), "failed".into())
    );
    plan.assert_sound();
}

#[test]
fn exit_codes_decide_and_nothing_else() {
    let plan = Plan::new(&[
        ("a", "1-x", &[], "echo '3 passed, 0 failed'; echo error >&2"),
        ("b", "1-x", &[], "echo all good; echo 'sk-ant-REDACTED'; exit 3"),
        ("c", "1-x", &[], "sleep 30 & sleep 30"),
    ]);
    plan.init(&[]);
    for id in ["a", "b", "c"] {
        plan.good("start", &[id]);
        plan.work(id, "x", id);
    }
    let text = plan.good("verify", &["a"]);
    assert!(
        text.contains("Verified a: 1 command passed") && text.contains("1 commit on worktree-a"),
        "{text}"
    );
    assert_eq!(plan.task("a")["verification"]["output"], "3 passed, 0 failed\nerror");
    let run = plan.run("verify", &["b"]);
    assert_eq!(run.code, Some(1));
    let error = plan.task("b")["errors"][0].clone();
    assert!(error["message"].as_str().unwrap().ends_with("exited with 3"), "{error}");
    assert!(error["details"].as_str().unwrap().starts_with("all good\n"), "{error}");
    assert!(!fs::read_to_string(plan.file()).unwrap().contains("AbCdEfGhIj"));
    let run = plan.run("verify", &["c", "--time-limit", "1"]);
    assert!(run.stderr.contains("took longer than 1 s"), "{}", run.stderr);
    assert_eq!(plan.task("a")["commits"][0]["type"], "implementation");
    plan.assert_sound();
}

#[test]
fn nothing_of_the_users_is_touched() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    let before = plan.git(&["rev-parse", "HEAD"]);
    // A file that somebody works on: refused, and it stays.
    fs::write(plan.root().join("README"), "mine\n").unwrap();
    refused(&plan.run("merge", &[]), "changes that are not committed (README)");
    assert_eq!(plan.status("L1-001"), "verified");
    plan.git(&["checkout", "-q", "README"]);
    // A file that nobody tracks, in the way.
    fs::write(plan.root().join("L1-001.txt"), "mine too\n").unwrap();
    refused(&plan.run("merge", &[]), "L1-001.txt");
    assert_eq!(
        (plan.status("L1-001"), plan.git(&["rev-parse", "HEAD"])),
        ("verified".into(), before)
    );
    assert_eq!(fs::read_to_string(plan.root().join("L1-001.txt")).unwrap(), "mine too\n");
    fs::remove_file(plan.root().join("L1-001.txt")).unwrap();
    // A file that nobody tracks, beside it.
    fs::write(plan.root().join("notes"), "mine\n").unwrap();
    plan.git(&["checkout", "-q", "-b", "other"]);
    refused(&plan.run("merge", &[]), "is on branch other, tasks are merged to trunk");
    plan.git(&["checkout", "-q", "trunk"]);
    plan.git(&["branch", "-q", "-D", "other"]);
    plan.good("merge", &[]);
    assert_eq!(fs::read_to_string(plan.root().join("notes")).unwrap(), "mine\n");
    fs::remove_file(plan.root().join("notes")).unwrap();
    plan.assert_tidy(&[]);
    assert_eq!(plan.merged(), ["L1-001"]);
    assert_eq!(plan.git(&["log", "-1", "--format=%s"]), "Merge task L1-001: Do L1-001");
}

#[test]
fn a_plan_inside_of_the_repository() {
    let plan = Plan::at("shop/docs/tasks", &TWO);
    plan.git(&["add", "docs"]);
    plan.git(&["commit", "-q", "-m", "Plan"]);
    plan.init(&[]);
    // Somebody even commits the state; that it changes is no reason to refuse.
    plan.git(&["add", "-f", "docs/tasks/execute-state.json"]);
    plan.git(&["commit", "-q", "-m", "State"]);
    for id in ["L1-001", "L1-002"] {
        plan.verified(id);
    }
    plan.good("merge", &[]);
    assert_eq!(plan.merged(), ["L1-001", "L1-002"]);
    assert_eq!(plan.git(&["status", "--porcelain"]), "M docs/tasks/execute-state.json");
    assert_eq!(plan.state()["status"], "completed");
}

#[test]
fn merges_follow_the_order_of_completion() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-002");
    plan.verified("L1-001");
    let queue = plan.state()["merge_queue"].clone();
    assert_eq!(
        queue,
        json!([{"task_id": "L1-002", "priority": 1, "status": "ready"},
               {"task_id": "L1-001", "priority": 2, "status": "pending"}])
    );
    plan.good("merge", &[]);
    assert_eq!(plan.merged(), ["L1-002", "L1-001"]);
}

#[test]
fn what_was_not_verified_is_not_merged() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.work("L1-001", "more.txt", "after the fact");
    let run = plan.run("merge", &[]);
    assert!(
        run.stderr.contains("its branch is not at the commit that was verified"),
        "{}",
        run.stderr
    );
    assert_eq!((plan.status("L1-001"), plan.merged().len()), ("in_progress".into(), 0));
    plan.good("verify", &["L1-001"]);
    plan.good("merge", &[]);
    // Nothing committed is nothing to verify, and the attempt goes on.
    fs::write(plan.root().join(".git/info/exclude"), "L1-002.txt\n.worktrees\n").unwrap();
    plan.good("start", &["L1-002"]);
    fs::write(plan.worktree("L1-002").join("L1-002.txt"), "x").unwrap();
    for _ in 0..6 {
        refused(&plan.run("verify", &["L1-002"]), "nothing is committed on worktree-L1-002");
    }
    assert_eq!(
        (plan.status("L1-002"), &plan.task("L1-002")["attempts"]),
        ("in_progress".into(), &json!(1))
    );
    assert!(plan.worktree("L1-002").join("L1-002.txt").exists(), "the work is still there");
    fs::write(plan.worktree("L1-002").join("README"), "changed").unwrap();
    refused(&plan.run("verify", &["L1-002"]), "1 change in its worktree is not committed (README)");
}

#[test]
fn stopped_means_stopped() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.good("stop", &[]);
    assert_eq!(plan.state()["status"], "stopped");
    refused(&plan.run("start", &["L1-002"]), "the execution is stopped");
    refused(&plan.run("merge", &[]), "the execution is stopped");
    let text = plan.good("resume", &[]);
    assert!(text.contains("Layer 1-core: 0/2 completed"), "{text}");
    plan.good("merge", &[]);
    assert_eq!(plan.state()["status"], "in_progress");
}

#[test]
fn sessions_are_told_and_agents_are_known_by_their_worktree() {
    const SESSION: &str = "0f3e8a2c";
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    let start = event(SESSION, "SessionStart", json!({"source": "startup"}));
    let reply: Value = serde_json::from_str(&plan.scratch.hook(&start).stdout).unwrap();
    let told = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let says = "- an execution, shop (pending), 0 of 2 tasks merged, layer 1-core: `hookkeeper execute resume ";
    assert!(told.contains(says), "{told}");
    for (agent, id) in [("a1", "L1-001"), ("a2", "L1-002")] {
        plan.good("start", &[id]);
        plan.scratch.hook(&event(
            SESSION,
            "SubagentStart",
            json!({"agent_id": agent, "agent_type": "general-purpose"}),
        ));
    }
    let call = json!({"tool_name": "Read", "tool_use_id": "t1", "tool_input": {"file_path": "x"}, "tool_response": {}, "agent_id": "a1"});
    let mut inside = event(SESSION, "PostToolUse", call);
    inside["cwd"] = json!(plan.worktree("L1-001").join("src"));
    plan.scratch.hook(&inside);
    let command = format!("hookkeeper execute start {} L1-002", plan.tasks.display());
    let call = json!({"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": command}, "tool_response": {}, "agent_id": "a2"});
    plan.scratch.hook(&event(SESSION, "PostToolUse", call));
    let agents = &plan.scratch.doc("executions.json")["executions"][0]["agents"];
    assert_eq!(
        (&agents["L1-001"]["agent_id"], &agents["L1-002"]["agent_id"]),
        (&json!("a1"), &json!("a2"))
    );
    assert_eq!(plan.json("next", &[])["tasks"][0]["agent_id"], "a1");
    plan.work("L1-001", "L1-001.txt", "x");
    plan.good("verify", &["L1-001"]);
    let task = plan.task("L1-001");
    assert_eq!((&task["agent_id"], &task["session_id"]), (&json!("a1"), &json!(SESSION)));
    // An agent that has stopped is at nothing; the next attempt is another one's.
    plan.scratch.hook(&event(
        SESSION,
        "SubagentStop",
        json!({"agent_id": "a2", "agent_type": "general-purpose", "last_assistant_message": "no"}),
    ));
    let seen = &plan.scratch.doc("executions.json")["executions"][0]["agents"]["L1-002"];
    assert!(seen["stopped"].is_string(), "{seen}");
    plan.good("fail", &["L1-002", "--message", "no"]);
    plan.good("start", &["L1-002"]);
    assert_eq!(plan.task("L1-002")["agent_id"], Value::Null);
    // The state are in order, and a session is not told of what is complete or gone.
    assert_eq!(plan.scratch.run(&["validate"], b"").code, Some(0));
    plan.good("reset", &["--force"]);
    assert_eq!(plan.scratch.hook(&start).stdout, "");
}
