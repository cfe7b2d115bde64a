//! Eight agents at once on a hundred tasks: no task is run twice, merges follow the order of
//! completion, and the counts are right.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use crate::support::execution::{Plan, assert_sound, with_specs};

const AGENTS: usize = 8;
const TASKS: usize = 100;

#[test]
fn eight_agents_and_a_hundred_tasks() {
    let specs: Vec<(String, String, Vec<String>, String)> = (0..TASKS)
        .map(|n| {
            let layer = format!("{}-layer", n / 50);
            let needs = if n % 50 >= 40 { vec![format!("t{:03}", n - 40)] } else { Vec::new() };
            (format!("t{n:03}"), layer, needs, "test -s own.txt".to_owned())
        })
        .collect();
    let plan = with_specs(&specs, Plan::new);
    fs::write(plan.root().join(".git/info/exclude"), "own.txt\n").unwrap();
    plan.init(&["--max-parallel", "10"]);
    // Who was told that it has started a task, by task.
    let started: Mutex<BTreeMap<String, Vec<u64>>> = Mutex::default();
    let errors: Mutex<Vec<String>> = Mutex::default();
    let idle = AtomicUsize::new(0);
    thread::scope(|scope| {
        for agent in 0..AGENTS {
            let (plan, started, errors, idle) = (&plan, &started, &errors, &idle);
            scope.spawn(move || {
                while idle.load(Ordering::Relaxed) < 10_000 {
                    let next = plan.json("next", &[]);
                    if next["status"] == "completed" {
                        return;
                    }
                    let tasks = next["tasks"].as_array().unwrap();
                    let open = |task: &&Value| {
                        ["pending", "failed"].contains(&task["status"].as_str().unwrap())
                    };
                    let open: Vec<&Value> = tasks.iter().filter(open).collect();
                    let Some(task) = open.get(agent % open.len().max(1)) else {
                        idle.fetch_add(1, Ordering::Relaxed);
                        merge(plan, errors);
                        continue;
                    };
                    one(plan, task["id"].as_str().unwrap(), started, errors);
                }
            });
        }
    });
    assert_eq!(errors.into_inner().unwrap(), Vec::<String>::new());
    let state = plan.state();
    assert_sound(&state);
    assert_eq!(state["status"], "completed");
    let tasks = state["tasks"].as_object().unwrap();
    for (id, attempts) in started.into_inner().unwrap() {
        // Every tenth task failed once: it was started twice, in attempts one and two.
        let wanted: Vec<u64> = if id.ends_with('7') { vec![1, 2] } else { vec![1] };
        assert_eq!(attempts, wanted, "{id}");
        assert_eq!(tasks[&id]["attempts"], wanted.len(), "{id}");
    }
    assert_eq!(state["metrics"]["total_attempts"], TASKS + TASKS / 10);
    let queue = state["merge_queue"].as_array().unwrap();
    let queue: Vec<&str> = queue.iter().map(|queued| queued["task_id"].as_str().unwrap()).collect();
    let verified_at = |id: &str| tasks[id]["verification"]["at"].as_str().unwrap().to_owned();
    assert!(queue.is_sorted_by_key(|id| verified_at(id)), "merge order is completion order");
    assert_eq!(plan.merged(), queue);
    assert_eq!(queue.len(), TASKS);
    plan.assert_tidy(&[]);
    // What each did is there: a line of its own in the worktree's file, all of them in git.
    for id in tasks.keys() {
        assert_eq!(plan.git(&["show", &format!("trunk:done/{id}")]), *id);
    }
}

/// A task from start to merge, by an agent that may be too late.
fn one(
    plan: &Plan,
    id: &str,
    started: &Mutex<BTreeMap<String, Vec<u64>>>,
    errors: &Mutex<Vec<String>>,
) {
    let run = plan.run("start", &[id, "--json"]);
    if run.code != Some(0) {
        let late = ["it is ", "is being ", "running already", "exists already", "not complete"];
        if !late.iter().any(|word| run.stderr.contains(word)) {
            errors.lock().unwrap().push(format!("start {id}: {}", run.stderr));
        }
        return;
    }
    let begun: Value = serde_json::from_str(&run.stdout).unwrap();
    let attempt = begun["attempt"].as_u64().unwrap();
    started.lock().unwrap().entry(id.to_owned()).or_default().push(attempt);
    let dir = plan.worktree(id);
    let mut own =
        fs::OpenOptions::new().append(true).create(true).open(dir.join("own.txt")).unwrap();
    writeln!(own, "{id}").unwrap();
    if id.ends_with('7') && attempt == 1 {
        let run = plan.run("fail", &[id, "--message", "the first time"]);
        if run.code != Some(0) {
            errors.lock().unwrap().push(format!("fail {id}: {}", run.stderr));
        }
        return;
    }
    fs::create_dir_all(dir.join("done")).unwrap();
    fs::write(dir.join("done").join(id), id).unwrap();
    plan.git_in(&dir, &["add", "done"]);
    plan.git_in(&dir, &["commit", "-q", "-m", id]);
    let run = plan.run("verify", &[id]);
    if run.code != Some(0) {
        errors.lock().unwrap().push(format!("verify {id}: {}", run.stderr));
    }
    merge(plan, errors);
}

fn merge(plan: &Plan, errors: &Mutex<Vec<String>>) {
    let run = plan.run("merge", &[]);
    if run.code != Some(0) {
        errors.lock().unwrap().push(format!("merge: {}", run.stderr));
    }
}
