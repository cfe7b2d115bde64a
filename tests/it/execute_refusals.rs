//! What cannot be carried out is refused before anything is changed, with what is wrong and how to go
//! on; and all known shapes of a plan are understood.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::support::execution::{Plan, Spec};
use crate::support::{self, misused, refused, tree};

const ONE: [Spec; 1] = [("L1-001", "1-core", &[], "true")];

/// Everything below the home directory but git's own logs and caches.
fn everything(plan: &Plan) -> BTreeMap<String, Vec<u8>> {
    let mut files = tree(plan.scratch.home());
    files.retain(|path, _| !path.ends_with("/index") && !path.contains("hookkeeper-execute.lock"));
    files
}

/// A command that is refused in these words and leaves everything as it was.
fn refuses(plan: &Plan, what: &str, args: &[&str], says: &[&str]) {
    let before = everything(plan);
    let run = plan.run(what, args);
    for word in says {
        refused(&run, word);
    }
    let after = everything(plan);
    let new: Vec<&String> = after
        .iter()
        .filter(|(path, text)| before.get(*path) != Some(text))
        .map(|(path, _)| path)
        .collect();
    let new: Vec<&&String> =
        new.iter().filter(|path| !path.ends_with(".execute-state.lock")).collect();
    assert!(new.is_empty(), "{what} {args:?} changed {new:?}");
    assert!(before.keys().all(|path| after.contains_key(path)));
}

#[test]
fn plans_that_cannot_be_carried_out() {
    let plan = Plan::new(&[
        ("a", "1-x", &["b"], "true"),
        ("b", "1-x", &["a"], "true"),
        ("c", "1-x", &["zz"], "true"),
        ("d", "1-x", &["e"], "true"),
        ("e", "2-y", &[], "true"),
    ]);
    let says = [
        "cannot be carried out",
        "tasks need each other: a → b → a",
        "c needs zz, which is no task",
        "d is in layer 1-x and needs e of layer 2-y, which runs later",
    ];
    refuses(&plan, "init", &[], &says);
    for (id, why) in
        [("../x", "`../x` is no id for a task"), ("a b", "`a b` is no id"), ("-f", "`-f` is no id")]
    {
        let plan = Plan::new(&ONE);
        plan.put(
            "manifest.json",
            &json!({"tasks": [{"id": id, "layer": "1-core", "file": "1-core/L1-001.xml"}]}),
        );
        fs::remove_file(plan.tasks.join("layer_plan.json")).unwrap();
        refuses(&plan, "init", &[], &[why]);
    }
    let plan = Plan::new(&ONE);
    let twice = json!({"id": "L1-001", "layer": "1-core", "file": "1-core/L1-001.xml"});
    plan.put("manifest.json", &json!({"tasks": [twice, twice]}));
    refuses(&plan, "init", &[], &["two tasks have the id L1-001"]);
    fs::write(plan.tasks.join("1-core/L1-001.xml"), "<task>\n  <meta><id>x</name></meta>\n</task>")
        .unwrap();
    plan.write(&[]);
    plan.put("manifest.json", &json!({"tasks": [twice]}));
    refuses(
        &plan,
        "init",
        &[],
        &["1-core/L1-001.xml: line 2, column 14: </name> closes nothing: <id> is open"],
    );
    fs::remove_file(plan.tasks.join("1-core/L1-001.xml")).unwrap();
    refuses(&plan, "init", &[], &["the task file of L1-001 is missing (1-core/L1-001.xml)"]);
    fs::write(plan.tasks.join("manifest.json"), "{\"tasks\": [").unwrap();
    refuses(&plan, "init", &[], &["manifest.json cannot be read: EOF"]);
    fs::remove_file(plan.tasks.join("manifest.json")).unwrap();
    refuses(&plan, "init", &[], &["has no manifest.json"]);
    let run = plan.run("init", &["--max-parallel", "11"]);
    assert_eq!(run.code, Some(64), "{}", run.stderr);
}

#[test]
fn repositories_that_cannot_be_used() {
    let plan = Plan::new(&ONE);
    plan.git(&["checkout", "-q", "--detach"]);
    refuses(&plan, "init", &[], &["HEAD of", "is detached", "--base BRANCH"]);
    plan.git(&["checkout", "-q", "trunk"]);
    refuses(&plan, "init", &["--base", "main"], &["has no commit on branch main"]);
    refuses(&plan, "init", &["--project-path", "/nowhere"], &["the project /nowhere is not there"]);
    fs::create_dir_all(plan.scratch.home().join("plain")).unwrap();
    let plain = plan.scratch.home().join("plain").display().to_string();
    refuses(&plan, "init", &["--project-path", &plain], &["is no git checkout", "`git init`"]);
    plan.git(&["branch", "worktree-L1-001"]);
    refuses(
        &plan,
        "init",
        &[],
        &["leftovers of an earlier execution: branch worktree-L1-001", "execute rebuild"],
    );
    plan.git(&["branch", "-D", "worktree-L1-001"]);
    for (file, says) in
        [("MERGE_HEAD", "a merge is under way"), ("CHERRY_PICK_HEAD", "a cherry-pick is under way")]
    {
        fs::write(plan.root().join(".git").join(file), plan.git(&["rev-parse", "HEAD"]) + "\n")
            .unwrap();
        refuses(&plan, "init", &[], &[says, "--abort"]);
        fs::remove_file(plan.root().join(".git").join(file)).unwrap();
    }
    let mut plan = plan;
    let path = plan.scratch.env.insert("PATH".into(), plain).unwrap();
    let run = plan.run("init", &[]);
    refused(&run, "git is not installed, or not on PATH");
    plan.scratch.env.insert("PATH".into(), path);
    plan.init(&[]);
    refuses(&plan, "init", &[], &["execute-state.json is there already"]);
}

#[test]
fn a_rebase_under_way_and_other_bad_moments() {
    let plan = Plan::new(&ONE);
    plan.init(&[]);
    // A rebase that stops in a conflict.
    plan.git(&["checkout", "-q", "-b", "side"]);
    fs::write(plan.root().join("shared.txt"), "side\n").unwrap();
    plan.git(&["commit", "-q", "-a", "-m", "side"]);
    plan.git(&["checkout", "-q", "trunk"]);
    fs::write(plan.root().join("shared.txt"), "trunk\n").unwrap();
    plan.git(&["commit", "-q", "-a", "-m", "trunk"]);
    let mut rebase = std::process::Command::new("git");
    rebase
        .args(["rebase", "-q", "side"])
        .current_dir(plan.root())
        .env_clear()
        .envs(&plan.scratch.env);
    assert!(!rebase.output().unwrap().status.success());
    for what in
        [&["start", "L1-001"][..], &["reset-task", "L1-001"], &["resume"], &["reset", "--force"]]
    {
        refuses(&plan, what[0], &what[1..], &["a rebase is under way", "git rebase --abort"]);
    }
    plan.git(&["rebase", "--abort"]);
    plan.verified("L1-001");
    plan.git(&["checkout", "-q", "--detach"]);
    refuses(&plan, "merge", &[], &["HEAD of", "is detached", "git checkout trunk"]);
    plan.git(&["branch", "-m", "trunk", "renamed"]);
    refuses(&plan, "merge", &[], &["has no branch trunk"]);
    refuses(&plan, "verify", &["L1-001"], &["cannot be verified: it is verified"]);
    plan.git(&["branch", "-m", "renamed", "trunk"]);
    plan.git(&["checkout", "-q", "trunk"]);
    plan.git(&["config", "user.useConfigOnly", "true"]);
    let mut plan = plan;
    let mail = plan.scratch.env.remove("GIT_COMMITTER_EMAIL").unwrap();
    refuses(&plan, "merge", &[], &["git does not know who commits: set user.name and user.email"]);
    plan.scratch.env.insert("GIT_COMMITTER_EMAIL".into(), mail);
    plan.good("merge", &[]);
    refuses(&plan, "start", &["L1-001"], &["cannot be started: it is completed"]);
    refuses(&plan, "start", &["nobody"], &["there is no task nobody in shop"]);
    refuses(&plan, "fail", &["L1-001", "--message", "x"], &["L1-001 cannot fail: it is completed"]);
    let empty = plan.run("fail", &["L1-001", "--message", " "]);
    misused(&empty, "the message must not be empty");
}

#[test]
fn branches_and_directories_that_are_there_already() {
    let plan = Plan::new(&ONE);
    plan.init(&[]);
    plan.git(&["branch", "worktree-L1-001"]);
    refuses(
        &plan,
        "start",
        &["L1-001"],
        &["branch worktree-L1-001 exists already", "git branch -D"],
    );
    plan.good("resume", &[]);
    fs::create_dir_all(plan.worktree("L1-001")).unwrap();
    fs::write(plan.worktree("L1-001").join("mine"), "mine").unwrap();
    refuses(&plan, "start", &["L1-001"], &["exists already; move it away"]);
    fs::remove_dir_all(plan.root().join(".worktrees")).unwrap();
    plan.verified("L1-001");
}

#[test]
fn the_known_shapes_of_a_plan() {
    let shapes: [(Value, Value); 3] = [
        (
            json!({"prd": {"slug": "shop"}, "task_inventory": [
                {"id": "L0-001", "name": "A", "layer": "0-setup", "file": "docs/tasks/shop/0-setup/L0-001.xml"},
                {"id": "L1-001", "name": "B", "layer": "1-core", "file": "1-core/L1-001.xml"}]}),
            json!({"layers": [{"name": "0-setup", "tasks": ["L0-001"]},
                {"name": "1-core", "tasks": [{"id": "L1-001"}], "dependencies": {"L1-001": ["L0-001"]}}]}),
        ),
        (
            json!({"prd_slug": "shop", "layers": {"0": ["L0-001"], "1": ["L1-001"]}, "tasks": {
                "L0-001": {"layer": 0, "priority": 1, "files": [], "dependencies": []},
                "L1-001": {"layer": 1, "priority": 1, "files": [], "dependencies": ["L0-001"]}}}),
            json!({"layers": {"0": {"name": "setup", "tasks": ["L0-001"]}, "1": {"name": "core", "tasks": ["L1-001"]}},
                "dependencies": {"L1-001": ["L0-001-a"]}}),
        ),
        (
            json!({"prd_slug": "shop", "tasks": [
                {"id": "L0-001", "layer": 0, "file": "0-setup/L0-001.xml"}, {"id": "L1-001", "file": "1-core/L1-001.xml"}]}),
            json!({"layers": {"0-setup": {"tasks": []}, "1-core": {"tasks": []}}, "dependency_graph": {"L1-001": ["L0-001"]}}),
        ),
    ];
    for (manifest, layer_plan) in shapes {
        let plan =
            Plan::new(&[("L0-001", "0-setup", &[], "true"), ("L1-001", "1-core", &[], "true")]);
        plan.put("manifest.json", &manifest);
        plan.put("layer_plan.json", &layer_plan);
        let dry = plan.init(&["--dry-run"]);
        assert!(dry.contains("0-setup\n  L0-001") && dry.contains("needs L0-001"), "{dry}");
        assert!(!plan.file().exists());
        plan.init(&[]);
        let state = plan.state();
        assert_eq!(
            (&state["prd_slug"], &state["current_layer"]),
            (&json!("shop"), &json!("0-setup")),
            "{manifest}"
        );
        assert_eq!(state["tasks"]["L1-001"]["layer"], "1-core", "{manifest}");
        assert_eq!(state["tasks"]["L1-001"]["depends_on"], json!(["L0-001"]), "{manifest}");
        plan.assert_sound();
    }
}

/// What runs commands has a word of its own: who allowed `execute` did not allow that.
#[test]
fn the_old_word_runs_nothing() {
    let plan = Plan::new(&[("a", "1-core", &[], "touch made")]);
    plan.good("init", &[]);
    plan.good("start", &["a"]);
    let tasks = plan.tasks.display().to_string();
    let run = plan.scratch.run(&["execute", "verify", &tasks, "a"], b"");
    let says = format!("`execute` runs no commands of a plan: `hookkeeper run-verify {tasks} a`");
    support::refused(&run, &says);
    assert_eq!(plan.state()["tasks"]["a"]["status"], "in_progress");
}
