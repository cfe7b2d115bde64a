//! Executions beside others, beside agents that are at work, and in repositories that people move, tag
//! and rename things in.

use std::fs;
use std::thread;

use serde_json::json;

use crate::support::execution::{Plan, Spec};
use crate::support::{self, Run, good, program, refused, wait_until};

const TWO: [Spec; 2] = [("L1-001", "1-core", &[], "true"), ("L1-002", "1-core", &[], "true")];

/// The same project with another plan.
fn another(mut plan: Plan, name: &str, specs: &[Spec]) -> Plan {
    plan.tasks = plan.scratch.home().join(name);
    fs::create_dir_all(&plan.tasks).unwrap();
    plan.write(specs);
    plan
}

#[test]
fn two_executions_with_the_same_ids() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.good("merge", &[]);
    let first = plan.tasks.clone();
    let mut plan = another(plan, "plans/b", &TWO);
    let says = "plans/shop is not finished and has tasks of the same ids (L1-001, …)";
    refused(&plan.run("init", &[]), says);
    refused(&plan.run("rebuild", &[]), says);
    assert!(!plan.file().exists());
    // Other ids are no problem, and neither is the first one's end.
    let second = plan.tasks.clone();
    plan = another(plan, "plans/c", &[("x", "1-core", &[], "true")]);
    plan.init(&[]);
    plan.tasks = first;
    plan.verified("L1-002");
    plan.good("merge", &[]);
    plan.tasks = second;
    fs::write(plan.root().join("README"), "more\n").unwrap();
    plan.git(&["commit", "-q", "-a", "-m", "More"]);
    plan.init(&[]);
    // The history that it began with is rewritten: the first one's merges are still not its own.
    plan.git(&["commit", "-q", "--amend", "-m", "More and more"]);
    let text = plan.good("resume", &[]);
    assert!(text.contains("0 of 2 tasks are merged"), "{text}");
    assert_eq!(plan.status("L1-001"), "pending");
    plan.good("start", &["L1-001"]);
    plan.work("L1-001", "again.txt", "x");
    plan.good("verify", &["L1-001"]);
    plan.good("merge", &[]);
    assert!(plan.good("rebuild", &[]).starts_with("Nothing to correct: 1 of 2"));
    // A commit of another execution, even in the right place, is not its merge.
    let other = "Merge task L1-002\n\nTask-Id: L1-002\nTask-Base: 0123456789";
    plan.git(&["commit", "-q", "--allow-empty", "-m", other]);
    plan.good("resume", &[]);
    assert_eq!(plan.status("L1-002"), "pending");
    plan.git(&["commit", "-q", "--allow-empty", "-m", "Old\n\nTask-Id: L1-002"]);
    plan.good("resume", &[]);
    assert_eq!(plan.status("L1-002"), "completed");
}

/// `resume`, which waits between what git says and what it makes of it, while something else runs.
fn beside_resume(plan: &Plan, what: &str, args: &[&str]) -> (Run, Run) {
    const SLOW: &str = r#"case "$*" in *"worktree list"*)
  n=$(($(cat "$DIR/n" 2>/dev/null || echo 0) + 1)); echo $n > "$DIR/n"
  PATH=$REAL_PATH git "$@"; code=$?
  [ $n = 2 ] && { touch "$DIR/slow"; sleep 1.5; }
  exit $code;;
esac"#;
    let slow = plan.scratch.home().join("bin/slow");
    thread::scope(|scope| {
        let resume = scope.spawn(|| plan.behind(SLOW, "resume", &[]));
        wait_until(|| slow.exists());
        let other = plan.run(what, args);
        (resume.join().unwrap(), other)
    })
}

#[test]
fn resume_beside_somebody_who_starts() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    let (resume, start) = beside_resume(&plan, "start", &["L1-001"]);
    assert_eq!((resume.code, start.code), (Some(0), Some(0)), "{}{}", resume.stderr, start.stderr);
    assert!(resume.stdout.starts_with("Nothing to correct"), "{}", resume.stdout);
    assert_eq!(plan.status("L1-001"), "in_progress");
    assert!(plan.worktree("L1-001").is_dir());
}

#[test]
fn resume_beside_somebody_who_merges() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    let (resume, merge) = beside_resume(&plan, "merge", &[]);
    assert_eq!((resume.code, merge.code), (Some(0), Some(0)), "{}{}", resume.stderr, merge.stderr);
    assert!(resume.stdout.starts_with("Nothing to correct"), "{}", resume.stdout);
    assert_eq!(plan.status("L1-001"), "completed");
    plan.assert_tidy(&[]);
    plan.assert_sound();
}

#[test]
fn resume_beside_somebody_who_only_changes_the_state() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    let (resume, fail) = beside_resume(&plan, "fail", &["L1-001", "--message", "it is ugly"]);
    assert_eq!((resume.code, fail.code), (Some(0), Some(0)), "{}{}", resume.stderr, fail.stderr);
    assert_eq!(plan.status("L1-001"), "failed");
    assert_eq!(plan.task("L1-001")["errors"][0]["message"], "it is ugly");
}

#[test]
fn everything_is_reset_beside_a_merge() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.good("start", &["L1-002"]);
    // The merge begins when the reset has looked around, and is not done when it goes on.
    const SLOW: &str = r#"case "$*" in
  *"--show-toplevel"*) [ -e "$DIR/slow" ] || { touch "$DIR/slow"; sleep 1; };;
  *"merge-tree"*) sleep 2;;
esac"#;
    let slow = plan.scratch.home().join("bin/slow");
    thread::scope(|scope| {
        let reset = scope.spawn(|| plan.behind(SLOW, "reset", &["--force"]));
        wait_until(|| slow.exists());
        assert_eq!(plan.behind(SLOW, "merge", &[]).code, Some(0));
        refused(&reset.join().unwrap(), "L1-001 is being merged by process");
    });
    assert!(!fs::read_to_string(plan.file()).unwrap().contains("claim"));
    plan.good("reset", &["--force"]);
    plan.assert_tidy(&[]);
}

#[test]
fn tags_that_are_called_like_branches() {
    let plan = Plan::new(&TWO);
    plan.git(&["tag", "trunk"]);
    plan.init(&[]);
    assert_eq!(plan.state()["base_branch"], "trunk");
    plan.git(&["tag", "worktree-L1-001"]);
    plan.good("start", &["L1-001"]);
    plan.work("L1-001", "a.txt", "x");
    assert!(plan.good("resume", &[]).starts_with("Nothing to correct"));
    plan.good("verify", &["L1-001"]);
    plan.good("merge", &[]);
    assert_eq!(plan.status("L1-001"), "completed");
    assert_eq!(plan.git(&["show", "refs/heads/trunk:a.txt"]), "x");
}

#[test]
fn a_submodule_that_a_task_moves() {
    let mut plan = Plan::new(&TWO);
    for (name, value) in [("COUNT", "1"), ("KEY_0", "protocol.file.allow"), ("VALUE_0", "always")] {
        plan.scratch.env.insert(format!("GIT_CONFIG_{name}"), value.into());
    }
    let lib = plan.scratch.home().join("lib");
    fs::create_dir_all(&lib).unwrap();
    plan.git_in(&lib, &["init", "-q", "-b", "main"]);
    plan.git_in(&lib, &["commit", "-q", "--allow-empty", "-m", "one"]);
    plan.git(&["submodule", "--quiet", "add", &lib.display().to_string(), "lib"]);
    plan.git(&["commit", "-q", "-m", "A library"]);
    plan.git_in(&lib, &["commit", "-q", "--allow-empty", "-m", "two"]);
    let newer = plan.git_in(&lib, &["rev-parse", "HEAD"]);
    plan.init(&[]);
    plan.good("start", &["L1-001"]);
    let entry = format!("160000,{newer},lib");
    plan.git_in(&plan.worktree("L1-001"), &["update-index", "--cacheinfo", &entry]);
    plan.git_in(&plan.worktree("L1-001"), &["commit", "-q", "-m", "Newer"]);
    plan.good("verify", &["L1-001"]);
    let text = plan.good("merge", &[]);
    assert!(text.contains("`git submodule update` brings lib to the merged commit"), "{text}");
    // The next one is not in its way, although the checkout of the submodule is behind.
    plan.verified("L1-002");
    plan.good("merge", &[]);
    plan.git(&["submodule", "--quiet", "update"]);
    plan.assert_tidy(&[]);
}

#[test]
fn a_base_branch_that_is_renamed() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    plan.git(&["branch", "-m", "trunk", "main"]);
    let run = plan.run("merge", &[]);
    refused(&run, "has no branch trunk");
    refused(&run, "execute rebuild");
    refused(&run, "with --base BRANCH");
    let text = plan.good("rebuild", &["--base", "main"]);
    assert!(text.contains("base_branch: was trunk, is main\n"), "{text}");
    plan.good("merge", &[]);
    assert_eq!(plan.status("L1-001"), "completed");
}

#[test]
fn a_project_that_is_moved() {
    let mut plan = Plan::at("shop/docs/tasks", &TWO);
    plan.init(&[]);
    plan.good("start", &["L1-001"]);
    plan.work("L1-001", "a.txt", "x");
    let moved = plan.scratch.home().join("moved");
    fs::rename(plan.root(), &moved).unwrap();
    plan.scratch.env.insert("CLAUDE_PROJECT_DIR".into(), moved.display().to_string());
    plan.tasks = moved.join("docs/tasks");
    let tasks = plan.tasks.display().to_string();
    let run = |what: &str, args: &[&str]| plan.run_in(&moved, what, &tasks, args);
    refused(&run("resume", &[]), "is not there; `hookkeeper execute rebuild");
    let text = support::good(run("rebuild", &["--project-path", "."]));
    assert!(text.contains("project_path: was ") && text.contains("tasks_path: was "), "{text}");
    assert_eq!(plan.state()["worktree_dir"], json!(moved.join(".worktrees")));
    let known = fs::read_to_string(moved.join(".claude/state/executions.json")).unwrap();
    let known: serde_json::Value = serde_json::from_str(&known).unwrap();
    assert_eq!(known["executions"].as_array().unwrap().len(), 1);
    assert_eq!(known["executions"][0]["tasks_path"], json!(tasks));
    assert_eq!(plan.status("L1-001"), "in_progress");
    support::good(run("verify", &["L1-001"]));
    support::good(run("merge", &[]));
    assert_eq!(plan.status("L1-001"), "completed");
}

#[test]
fn an_agent_in_its_worktree_means_the_original() {
    let plan = Plan::at("shop/docs/tasks", &TWO);
    plan.git(&["add", "docs"]);
    plan.git(&["commit", "-q", "-m", "Plan"]);
    support::good(plan.run_in(&plan.root(), "init", "docs/tasks", &[]));
    plan.git(&["add", "-f", "docs/tasks/execute-state.json"]);
    plan.git(&["commit", "-q", "-m", "State"]);
    let text = support::good(plan.run_in(&plan.root(), "start", "docs/tasks", &["L1-001"]));
    let command = format!("`hookkeeper run-verify {} L1-001`", plan.tasks.display());
    assert!(text.contains(&command), "{text}");
    let next = plan.run_in(&plan.root(), "next", "docs/tasks", &["--json"]);
    assert!(next.stdout.contains(&command), "{}", next.stdout);
    let dir = plan.worktree("L1-001");
    plan.work("L1-001", "a.txt", "x");
    let says = format!(
        "is in the worktree of L1-001, which has only a copy of it; use {}",
        plan.tasks.display()
    );
    let copy = dir.join("docs/tasks").display().to_string();
    for what in ["status", "resume", "rebuild"] {
        refused(&plan.run_in(&dir, what, &copy, &[]), &says);
        // A relative path means what it means in the checkout.
        support::good(plan.run_in(&dir, what, "docs/tasks", &[]));
    }
    refused(&plan.run_in(&dir, "verify", &copy, &["L1-001"]), &says);
    fs::remove_file(dir.join("docs/tasks/execute-state.json")).unwrap();
    refused(&plan.run_in(&dir, "init", &copy, &[]), &says);
    refused(&plan.run_in(&dir, "init", "docs/tasks", &[]), "is there already");
    plan.git_in(&dir, &["checkout", "-q", "docs"]);
    plan.good("verify", &["L1-001"]);
    // A worktree of somebody's own in the same place is no task's.
    plan.git(&["worktree", "add", "-q", "-b", "mine", ".worktrees/mine"]);
    let mine = plan.root().join(".worktrees/mine");
    refused(&plan.run_in(&mine, "status", "docs/tasks", &[]), "was not made on this machine");
    // A copy elsewhere is not another execution either.
    let copy = plan.scratch.home().join("copy");
    fs::create_dir_all(&copy).unwrap();
    fs::copy(plan.file(), copy.join("execute-state.json")).unwrap();
    let run = plan.run_in(&plan.root(), "status", &copy.display().to_string(), &[]);
    refused(&run, "was not made on this machine");
    good(plan.scratch.run(&["trust", "--yes", "--tasks", &copy.display().to_string()], b""));
    let run = plan.run_in(&plan.root(), "status", &copy.display().to_string(), &[]);
    refused(&run, &format!("is a copy of the execution in {}", plan.tasks.display()));
}

#[test]
fn a_hook_of_the_repository_that_fails_is_not_asked() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    let hook = plan.root().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    program(&hook, "#!/bin/sh\nexit 1\n");
    plan.verified("L1-001");
    assert!(hook.exists());
}

#[test]
fn a_branch_that_is_deleted_under_its_worktree() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.good("start", &["L1-001"]);
    plan.work("L1-001", "a.txt", "x");
    let tip = plan.git(&["rev-parse", "worktree-L1-001"]);
    plan.git(&["update-ref", "-d", "refs/heads/worktree-L1-001"]);
    let text = plan.good("resume", &[]);
    assert!(
        text.contains("its branch is gone, its worktree is not; `git branch worktree-L1-001 "),
        "{text}"
    );
    assert!(plan.worktree("L1-001").join("a.txt").exists());
    refused(
        &plan.run("start", &["L1-001"]),
        "exists already; move it away, or `hookkeeper execute reset-task",
    );
    plan.git(&["branch", "worktree-L1-001", &tip]);
    plan.good("resume", &[]);
    plan.good("verify", &["L1-001"]);
    plan.good("merge", &[]);
    plan.assert_tidy(&[]);
}
