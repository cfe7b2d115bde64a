//! Work that is in no commit, or in no branch, is never taken away without a word.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::execution::{Plan, Spec, TWO};
use crate::support::refused;

const ONE: [Spec; 1] = [("L1-001", "1-core", &[], "true")];
/// Kills the program that is about to move the checkout.
const KILL: &str = r#"case "$* " in *" merge --quiet "*) kill -9 $PPID; exit 1;; esac"#;

fn begun(specs: &[Spec]) -> Plan {
    let plan = Plan::new(specs);
    plan.init(&[]);
    plan.good("start", &["L1-001"]);
    plan.work("L1-001", "L1-001.txt", "x");
    plan
}

#[test]
fn what_nobody_tracks_in_a_worktree() {
    let plan = begun(&[("L1-001", "1-core", &[], "test -f new.txt")]);
    let file = plan.worktree("L1-001").join("new.txt");
    fs::write(&file, "the only copy").unwrap();
    let says = "1 change in its worktree is not committed, ignored or removed (new.txt)";
    refused(&plan.run("verify", &["L1-001"]), says);
    assert_eq!(plan.status("L1-001"), "in_progress");
    plan.work("L1-001", "new.txt", "in git");
    plan.good("verify", &["L1-001"]);
    // After the verification: it has to be verified again.
    let other = plan.worktree("L1-001").join("other.txt");
    fs::write(&other, "the only copy").unwrap();
    let run = plan.run("merge", &[]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("(other.txt)"), "{}", run.stderr);
    assert_eq!((plan.status("L1-001"), plan.merged().len()), ("in_progress".into(), 0));
    refused(&plan.run("reset-task", &["L1-001"]), "(other.txt); --force throws away");
    assert_eq!(fs::read_to_string(&other).unwrap(), "the only copy");
    plan.good("reset-task", &["L1-001", "--force"]);
    assert!(!other.exists());
}

#[test]
fn what_the_commands_leave_is_in_nobodys_way() {
    let plan = begun(&[("L1-001", "1-core", &[], "mkdir -p out; date > out/log; test -f good")]);
    assert_eq!(plan.run("verify", &["L1-001"]).code, Some(1));
    plan.good("start", &["L1-001"]);
    fs::write(plan.root().join(".git/info/exclude"), "out\n.worktrees\n").unwrap();
    plan.work("L1-001", "good", "x");
    fs::write(plan.root().join(".git/info/exclude"), ".worktrees\n").unwrap();
    plan.good("verify", &["L1-001"]);
    assert_eq!(plan.task("L1-001")["verification"]["left"], serde_json::json!(["out/"]));
    plan.assert_sound();
    plan.good("merge", &[]);
    plan.assert_tidy(&[]);
}

#[test]
fn commits_beside_the_tasks_branch() {
    let plan = begun(&ONE);
    let dir = plan.worktree("L1-001");
    plan.git_in(&dir, &["checkout", "-q", "--detach"]);
    fs::write(dir.join("L1-001.txt"), "better").unwrap();
    plan.git_in(&dir, &["commit", "-q", "-a", "-m", "better"]);
    let better = plan.git_in(&dir, &["rev-parse", "HEAD"]);
    refused(&plan.run("verify", &["L1-001"]), "its worktree is not on branch worktree-L1-001");
    refused(&plan.run("reset-task", &["L1-001"]), "is not on branch worktree-L1-001");
    // It is still the task's worktree.
    let text = plan.good("resume", &[]);
    assert!(text.starts_with("Nothing to correct"), "{text}");
    plan.git_in(&dir, &["checkout", "-q", "worktree-L1-001"]);
    plan.good("verify", &["L1-001"]);
    plan.git_in(&dir, &["checkout", "-q", "--detach", &better]);
    let run = plan.run("merge", &[]);
    assert!(run.stderr.contains("is not on branch worktree-L1-001"), "{}", run.stderr);
    assert_eq!((plan.status("L1-001"), plan.merged().len()), ("in_progress".into(), 0));
    let text = plan.good("reset-task", &["L1-001", "--force"]);
    assert!(text.contains(better.get(..12).unwrap()), "{text}");
    plan.git(&["cat-file", "-e", &better]);
}

#[test]
fn a_rebase_that_is_not_over() {
    let plan = begun(&ONE);
    let dir = plan.worktree("L1-001");
    plan.work("L1-001", "shared.txt", "mine\n");
    fs::write(plan.root().join("shared.txt"), "theirs\n").unwrap();
    plan.git(&["commit", "-q", "-a", "-m", "theirs"]);
    let mut rebase = std::process::Command::new("git");
    rebase.args(["rebase", "-q", "trunk"]).current_dir(&dir).env_clear().envs(&plan.scratch.env);
    assert!(!rebase.output().unwrap().status.success());
    let says = "a rebase is under way in its worktree; finish it or `git rebase --abort`";
    refused(&plan.run("verify", &["L1-001"]), says);
    plan.git_in(&dir, &["rebase", "--abort"]);
    plan.good("verify", &["L1-001"]);
}

/// A merge that was killed before it touched the checkout: a task that changes a file and adds two.
fn killed() -> Plan {
    let plan = begun(&ONE);
    plan.work("L1-001", "shared.txt", "changed by the task\n");
    plan.work("L1-001", "notes.txt", "of the task");
    plan.work("L1-001", "link", "of the task");
    plan.good("verify", &["L1-001"]);
    assert_eq!(plan.behind(KILL, "merge", &[]).code, None);
    assert_eq!(plan.status("L1-001"), "merging");
    plan
}

#[test]
fn edits_after_a_merge_was_killed() {
    for what in ["resume", "merge"] {
        let plan = killed();
        let file = |name: &str| plan.root().join(name);
        fs::write(file("shared.txt"), "hours of work\n").unwrap();
        fs::write(file("notes.txt"), "mine").unwrap();
        symlink("README", file("link")).unwrap();
        let run = plan.run(what, &[]);
        let text = format!("{}{}", run.stdout, run.stderr);
        let says = "its merge was interrupted; it waits again, because the checkout has changes that are not committed (link, notes.txt, shared.txt)";
        assert!(text.contains(says), "{what}: {text}");
        assert_eq!(run.code, Some(i32::from(what == "merge")));
        assert_eq!(fs::read_to_string(file("shared.txt")).unwrap(), "hours of work\n");
        assert_eq!(fs::read_to_string(file("notes.txt")).unwrap(), "mine");
        assert!(file("link").is_symlink());
        assert_eq!((plan.status("L1-001"), plan.merged().len()), ("verified".into(), 0));
        for name in ["notes.txt", "link"] {
            fs::remove_file(file(name)).unwrap();
        }
        refused(&plan.run("merge", &[]), "changes that are not committed (shared.txt)");
        plan.git(&["checkout", "-q", "shared.txt"]);
        plan.good("merge", &[]);
        plan.assert_tidy(&[]);
    }
}

#[test]
fn what_was_done_about_a_killed_merge_is_said() {
    let plan = killed();
    let text = plan.good("merge", &[]);
    let says = "L1-001: its merge was interrupted before anything was merged; it waits again\nMerged L1-001";
    assert!(text.contains(says), "{text}");
    // Only one edited file, only one deleted: they are no merge half done.
    for edit in [fs::write as fn(_, _) -> _, |path, _: &str| fs::remove_file(path)] {
        let plan = killed();
        edit(plan.root().join("shared.txt"), "mine").unwrap();
        let before = plan.git(&["status", "--porcelain"]);
        plan.good("resume", &[]);
        assert_eq!(plan.git(&["status", "--porcelain"]), before);
        assert_eq!(plan.status("L1-001"), "verified");
    }
}

#[test]
fn a_checkout_that_git_was_killed_in_is_finished() {
    let plan = killed();
    let root = plan.root();
    // As git leaves it: the index is locked, one file is gone, one has its first bytes, one is whole.
    fs::write(root.join(".git/index.lock"), "").unwrap();
    fs::remove_file(root.join("shared.txt")).unwrap();
    fs::write(root.join("notes.txt"), "of th").unwrap();
    fs::write(root.join("link"), "of the task").unwrap();
    let text = plan.good("resume", &[]);
    assert!(text.contains("its merge was interrupted; it is complete now"), "{text}");
    assert_eq!(fs::read_to_string(root.join("shared.txt")).unwrap(), "changed by the task\n");
    assert_eq!(fs::read_to_string(root.join("notes.txt")).unwrap(), "of the task");
    plan.assert_tidy(&[]);
    plan.assert_sound();
}

#[test]
fn a_worktree_with_more_than_was_merged_stays() {
    let plan = begun(&ONE);
    plan.git(&[
        "merge",
        "-q",
        "--no-ff",
        "-m",
        "Merge branch 'worktree-L1-001'",
        "worktree-L1-001",
    ]);
    let file = plan.worktree("L1-001").join("next.txt");
    fs::write(&file, "the only copy").unwrap();
    let text = plan.good("resume", &[]);
    let says = "L1-001: it is merged, but its worktree stays: 1 change in its worktree is not committed, ignored or removed (next.txt)\n";
    assert_eq!(text.matches(says).count(), 1, "{text}");
    assert_eq!(plan.status("L1-001"), "completed");
    fs::remove_file(&file).unwrap();
    plan.good("resume", &[]);
    plan.assert_tidy(&[]);
}

#[test]
fn a_directory_that_is_no_worktree_any_more() {
    let plan = begun(&ONE);
    plan.good("verify", &["L1-001"]);
    fs::remove_file(plan.worktree("L1-001").join(".git")).unwrap();
    let run = plan.run("merge", &[]);
    assert!(run.stderr.contains("is no worktree of the repository any more"), "{}", run.stderr);
    refused(&plan.run("verify", &["L1-001"]), "is no worktree of the repository any more");
    assert!(plan.worktree("L1-001").join("L1-001.txt").exists());
    fs::rename(plan.worktree("L1-001"), plan.scratch.home().join("away")).unwrap();
    plan.good("resume", &[]);
    plan.good("verify", &["L1-001"]);
    plan.good("merge", &[]);
    plan.assert_tidy(&[]);
}

#[test]
fn resets_keep_a_copy_and_every_commit() {
    let plan = Plan::new(&TWO);
    plan.init(&[]);
    plan.verified("L1-001");
    let commit = plan.git(&["rev-parse", "worktree-L1-001"]);
    fs::write(plan.worktree("L1-001").join("README"), "unsaved").unwrap();
    refused(
        &plan.run("reset-task", &["L1-001"]),
        "1 change in its worktree is not committed (README)",
    );
    let text = plan.good("reset-task", &["L1-001", "--force"]);
    assert!(text.contains("refs/hookkeeper/reset/L1-001/"), "{text}");
    plan.git(&["cat-file", "-e", &commit]);
    let task = plan.task("L1-001");
    assert_eq!(
        (&task["status"], &task["attempts"], &task["branch"]),
        (&json!("pending"), &json!(0), &Value::Null)
    );
    assert_eq!(plan.state()["merge_queue"], json!([]));
    let copy: Value =
        serde_json::from_slice(&fs::read(plan.tasks.join("execute-state.json.bak")).unwrap())
            .unwrap();
    assert_eq!(copy["tasks"]["L1-001"]["status"], "verified");
    plan.assert_tidy(&[]);
    plan.verified("L1-001");
    plan.good("merge", &[]);
    refused(&plan.run("reset-task", &["L1-001"]), "L1-001 is merged to trunk");
    plan.good("start", &["L1-002"]);
    refused(&plan.run("reset", &[]), "execute-state.json and worktree-L1-002; --force does it");
    assert!(plan.file().exists());
    plan.good("reset", &["--force"]);
    assert!(!plan.file().exists() && plan.tasks.join("execute-state.json.bak").exists());
    plan.assert_tidy(&[]);
    refused(&plan.run("status", &[]), "has no execute-state.json; `hookkeeper execute init");
    plan.init(&[]);
}
