//! Executions that several clones work on, over one remote: real git, a bare repository, the binary.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::execution::{Plan, Spec, TWO};
use crate::support::{self, Scratch, good, program, refused, wait_until};

const CLAIM: &str = "refs/hookkeeper/claims/shop/L1-001";

/// A bare remote, and clones with the same plan, each with a home and a name of its own.
struct Fleet {
    place: Scratch,
    clones: Vec<Plan>,
}

impl Fleet {
    fn new(clones: usize, specs: &[Spec]) -> Self {
        let place = Scratch::new();
        let clones: Vec<Plan> = (0..clones).map(|n| Self::clone(n, specs)).collect();
        let remote = place.home().join("remote.git");
        clones[0].git(&["clone", "-q", "--bare", ".", &remote.display().to_string()]);
        let fleet = Self { place, clones };
        for plan in &fleet.clones {
            plan.git(&["remote", "add", "origin", &remote.display().to_string()]);
        }
        fleet
    }

    fn clone(n: usize, specs: &[Spec]) -> Plan {
        let mut plan = Plan::new(specs);
        plan.scratch.env.insert("HOOKKEEPER_HOST".into(), format!("host{n}"));
        plan.scratch.env.insert("USER".into(), format!("user{n}"));
        plan
    }

    /// All of them have joined.
    fn joined(clones: usize, specs: &[Spec], more: &[&str]) -> Self {
        let fleet = Self::new(clones, specs);
        for plan in &fleet.clones {
            plan.init(&[&["--remote", "origin"], more].concat());
        }
        fleet
    }

    fn remote(&self) -> PathBuf {
        self.place.home().join("remote.git")
    }

    fn git(&self, args: &[&str]) -> String {
        self.clones[0].git_in(&self.remote(), args)
    }

    /// What the last claim of a ref says.
    fn claim(&self, name: &str) -> Value {
        let message = self.git(&["log", "-1", "--format=%B", name]);
        let line = message.lines().find(|line| line.starts_with('{')).unwrap();
        serde_json::from_str(line).unwrap()
    }

    fn merged(&self) -> Vec<String> {
        let format = "--format=%(trailers:key=Task-Id,valueonly)";
        let log = self.git(&["log", "--reverse", "--first-parent", format, "trunk"]);
        log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// A hook of the remote.
    fn hook(&self, name: &str, text: &str) {
        let file = self.remote().join("hooks").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        program(&file, &format!("#!/bin/sh\n{text}\n"));
    }

    /// The remote goes away, and comes back.
    fn away(&self, away: bool) {
        let (here, there) = (self.remote(), self.place.home().join("away.git"));
        let (from, to) = if away { (here, there) } else { (there, here) };
        fs::rename(from, to).unwrap();
    }
}

fn at(plan: &mut Plan, time: &str) {
    plan.scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), time.into());
}

#[test]
fn two_clones_share_the_tasks_and_the_merges() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.good("start", &["L1-001"]);
    let run = south.run("start", &["L1-001"]);
    refused(&run, "L1-001: user0 on host0 works on it");
    let next = south.json("next", &[]);
    assert_eq!(next["tasks"].as_array().unwrap().len(), 1, "{next}");
    assert_eq!(next["tasks"][0]["id"], "L1-002");
    let status = south.good("status", &[]);
    assert!(status.contains("user0 on host0, since "), "{status}");
    refused(&south.run("verify", &["L1-001"]), "user0 on host0 works on it");
    refused(&south.run("fail", &["L1-001", "--message", "no"]), "user0 on host0 works on it");
    north.work("L1-001", "L1-001.txt", "north");
    north.good("verify", &["L1-001"]);
    let claim = fleet.claim(CLAIM);
    assert_eq!((&claim["state"], &claim["attempts"]), (&json!("verified"), &json!(1)));
    let head = north.git(&["rev-parse", "worktree-L1-001"]);
    assert_eq!(claim["head"], head);
    assert_eq!(fleet.git(&["rev-parse", "refs/hookkeeper/work/shop/L1-001"]), head);
    // Whoever merges, merges it.
    south.verified("L1-002");
    let said = south.good("merge", &[]);
    assert!(said.contains("Merged L1-001") && said.contains("Merged L1-002"), "{said}");
    assert_eq!(fleet.merged().len(), 2);
    assert_eq!(fleet.claim(CLAIM)["state"], "merged");
    assert_eq!(fleet.claim("refs/hookkeeper/claims/shop/merge")["state"], "free");
    south.assert_tidy(&[]);
    // The other one hears of it, and its worktree goes.
    let said = north.good("merge", &[]);
    assert!(said.contains("what was left of worktree-L1-001 is removed"), "{said}");
    for plan in &fleet.clones {
        let state = plan.json("status", &[]);
        plan.assert_sound();
        assert_eq!(state["status"], "completed");
        assert_eq!(state["metrics"]["total_commits"], 2, "{state}");
        assert_eq!(state["metrics"]["total_attempts"], 2);
    }
}

#[test]
fn without_a_remote_nothing_is_different() {
    let fleet = Fleet::new(1, &TWO);
    let plan = &fleet.clones[0];
    plan.init(&[]);
    let file = plan.scratch.home().join("bin/log");
    let script = "echo \"$@\" >> \"$DIR/log\"";
    // As many calls of git as before there were remotes.
    let mut all = String::new();
    for (what, id, calls) in [
        ("start", Some("L1-001"), 8),
        ("verify", Some("L1-001"), 10),
        ("status", None, 0),
        ("next", None, 0),
        ("resume", None, 22),
        ("merge", None, 31),
        ("rebuild", None, 9),
    ] {
        if what == "verify" {
            plan.work("L1-001", "L1-001.txt", "work");
        }
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        let run = plan.behind(script, what, &id.into_iter().collect::<Vec<_>>());
        assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
        let log = fs::read_to_string(&file).unwrap();
        assert_eq!(log.lines().count(), calls, "{what}: {log}");
        all.push_str(&log);
    }
    let log = all;
    for word in ["origin", "push", "fetch", "ls-remote", "mktree"] {
        assert!(!log.contains(word), "{word}: {log}");
    }
    assert!(plan.state().get("remote").is_none() && plan.task("L1-001").get("remote").is_none());
    refused(&plan.run("heartbeat", &[]), "this execution is not shared");
    assert_eq!(fleet.git(&["for-each-ref", "refs/hookkeeper"]), "");
}

#[test]
fn a_machine_that_dies_loses_its_task_after_a_lease_of_the_others_clock() {
    let mut fleet = Fleet::joined(2, &TWO, &["--lease", "1h"]);
    // Its clock is years ahead: nobody cares.
    at(&mut fleet.clones[0], "2099-01-01T00:00:00Z");
    fleet.clones[0].good("start", &["L1-001"]);
    fleet.clones[0].work("L1-001", "L1-001.txt", "north");
    assert!(fleet.claim(CLAIM)["lease_end"].as_str().unwrap().starts_with("2099-"));
    let look = |fleet: &mut Fleet, time: &str| {
        at(&mut fleet.clones[1], time);
        fleet.clones[1].run("start", &["L1-001"])
    };
    refused(&look(&mut fleet, "2026-01-01T10:00:00Z"), "user0 on host0 works on it");
    refused(&look(&mut fleet, "2026-01-01T10:59:59Z"), "user0 on host0 works on it");
    // A sign of life begins a new lease, and brings the work along.
    at(&mut fleet.clones[0], "2099-01-01T00:10:00Z");
    assert!(fleet.clones[0].good("heartbeat", &[]).contains("Renewed for 1h 00m: L1-001"));
    // Nobody was seen at it: a heartbeat alone does not keep it.
    at(&mut fleet.clones[0], "2099-01-01T05:00:00Z");
    let said = fleet.clones[0].good("heartbeat", &[]);
    assert!(said.contains("L1-001: nobody was seen at it for 5h 00m"), "{said}");
    refused(&look(&mut fleet, "2026-01-01T11:00:00Z"), "user0 on host0 works on it");
    let said = good(fleet.clones[1].scratch.run(&["fleet", "status"], b""));
    assert!(said.contains("its clock is ahead (2099-01-01T00:10:00Z)"), "{said}");
    assert!(!said.contains(" ago"), "{said}");
    // After a lease people see who had it, before and when it is taken over.
    at(&mut fleet.clones[1], "2026-01-01T12:00:00Z");
    let said = fleet.clones[1].good("status", &[]);
    let who = "user0 on host0, since 2099-01-01T00:10:00Z, silent for a lease";
    assert!(said.contains("L1-001  pending") && said.contains(who), "{said}");
    let said = good(fleet.clones[1].scratch.run(&["status"], b""));
    assert!(said.contains("1 unfinished, user0 on host0 is silent"), "{said}");
    let run = look(&mut fleet, "2026-01-01T12:00:00Z");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let why = "L1-001: taken over from user0 on host0, who had it since 2099-01-01T00:10:00Z (attempt 1): no sign of it for its lease of 1h 00m";
    assert!(run.stdout.contains(why), "{}", run.stdout);
    let [north, south] = &fleet.clones[..] else { panic!() };
    let state = south.task("L1-001");
    assert_eq!((&state["status"], &state["attempts"]), (&json!("in_progress"), &json!(1)));
    assert!(
        south.worktree("L1-001").join("L1-001.txt").is_file(),
        "what was pushed is gone on with"
    );
    // It wakes up: refused, told why, and its work stays.
    let run = north.run("verify", &["L1-001"]);
    refused(&run, "L1-001: user1 on host1 works on it");
    assert!(run.stderr.contains("what was done here stays on branch worktree-L1-001"));
    refused(&north.run("fail", &["L1-001", "--message", "no"]), "user1 on host1 works on it");
    assert!(north.good("merge", &[]).contains("Nothing waits"));
    north.good("resume", &[]);
    assert!(north.worktree("L1-001").join("L1-001.txt").is_file());
    south.good("verify", &["L1-001"]);
    south.good("merge", &[]);
    north.good("merge", &[]);
    assert_eq!(north.status("L1-001"), "completed");
    assert_eq!(fleet.merged(), ["L1-001"]);
    let history = fleet.git(&["log", "--format=%s", CLAIM]);
    assert_eq!(history.matches("held by host0").count(), 2, "{history}");
    assert_eq!(
        history.matches("by host1").count(),
        4,
        "taken, renewed, verified, merged: {history}"
    );
}

#[test]
fn a_take_over_while_it_verifies_is_seen_at_the_push() {
    let spec = [(
        "L1-001",
        "1-core",
        &[][..],
        "touch ../../begun; while test ! -e ../../go; do sleep 0.05; done",
    )];
    let fleet = Fleet::joined(2, &spec, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.good("start", &["L1-001"]);
    north.work("L1-001", "L1-001.txt", "north");
    let args = north.args("verify", &["L1-001"]);
    let command = north.scratch.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let child = support::spawn(command);
    wait_until(|| north.root().join("begun").exists());
    south.good("start", &["L1-001", "--take-over"]);
    fs::write(north.root().join("go"), "").unwrap();
    let run = support::finish(child, b"");
    refused(&run, "it was verified, but is not pushed: L1-001: user1 on host1 works on it");
    assert_eq!(fleet.claim(CLAIM)["host"], "host1");
    assert_eq!(north.git(&["log", "-1", "--format=%s", "worktree-L1-001"]), "Work on L1-001");
    assert!(north.good("merge", &[]).contains("Nothing waits"));
}

#[test]
fn a_long_verification_renews_its_claim() {
    let spec = [("L1-001", "1-core", &[][..], "sleep 3")];
    let fleet = Fleet::joined(1, &spec, &["--lease", "4s"]);
    let north = &fleet.clones[0];
    north.good("start", &["L1-001"]);
    north.work("L1-001", "L1-001.txt", "north");
    north.good("verify", &["L1-001"]);
    let history = fleet.git(&["log", "--format=%s", CLAIM]);
    let held = history.matches("held by host0").count();
    assert!((3..=5).contains(&held), "taken, renewed before and while it ran: {history}");
}

#[test]
fn a_model_shares_nothing_by_itself() {
    let mut fleet = Fleet::new(1, &TWO);
    fleet.clones[0].scratch.env.insert("CLAUDECODE".into(), "1".into());
    let run = fleet.clones[0].run("init", &["--remote", "origin"]);
    refused(&run, "sharing an execution is for a person or a script to say");
    assert_eq!(fleet.git(&["for-each-ref", "refs/hookkeeper"]), "");
    assert!(!fleet.clones[0].file().exists());
}

#[test]
fn attempts_and_what_they_taught_go_from_machine_to_machine() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.good("start", &["L1-001"]);
    north.work("L1-001", "half.txt", "half");
    north.good("fail", &["L1-001", "--message", "no luck", "--feedback", "Use the other door"]);
    let said = south.good("start", &["L1-001"]);
    assert!(said.contains("attempt 2 of 5") && said.contains("Use the other door"), "{said}");
    assert!(south.worktree("L1-001").join("half.txt").is_file());
    assert_eq!(south.task("L1-001")["errors"][0]["message"], "no luck");
    south.good("reset-task", &["L1-001", "--force"]);
    assert_eq!(fleet.claim(CLAIM)["state"], "free");
    let said = north.good("start", &["L1-001"]);
    assert!(said.contains("attempt 1 of 5"), "{said}");
    assert!(said.contains("kept on branch set-aside/worktree-L1-001-"), "{said}");
    assert!(!north.worktree("L1-001").join("half.txt").exists());
}

#[test]
fn offline_work_goes_on_and_is_reconciled() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.good("start", &["L1-001"]);
    fleet.away(true);
    let run = north.run("start", &["L1-002"]);
    refused(&run, "origin cannot be reached");
    assert!(run.stderr.contains("L1-002 cannot be claimed; what is claimed here already goes on"));
    assert_eq!(north.status("L1-002"), "pending");
    north.work("L1-001", "L1-001.txt", "north");
    let said = north.good("verify", &["L1-001"]);
    assert!(said.contains("Verified L1-001") && said.contains("resume"), "{said}");
    refused(&north.run("merge", &[]), "what was verified waits here");
    assert_eq!(north.status("L1-001"), "verified");
    let said = north.good("status", &[]);
    assert!(said.contains("origin cannot be reached") && said.contains("as of 20"), "{said}");
    north.good("resume", &[]);
    fleet.away(false);
    assert_eq!(south.json("status", &[])["tasks"]["L1-001"]["status"], "in_progress");
    let said = north.good("resume", &[]);
    assert!(said.contains("L1-001: origin knows now that it is verified"), "{said}");
    south.good("merge", &[]);
    assert_eq!(fleet.merged(), ["L1-001"]);
}

#[test]
fn a_push_whose_answer_was_lost_has_arrived() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    // The refs are moved; who pushed sees the connection break.
    let lost = "cat >/dev/null; [ \"$1\" = committed ] && kill -9 $PPID; exit 0";
    fleet.hook("reference-transaction", lost);
    north.verified("L1-001");
    assert_eq!(fleet.claim(CLAIM)["state"], "verified");
    north.good("merge", &[]);
    assert_eq!(fleet.merged(), ["L1-001"]);
    assert_eq!(fleet.git(&["log", "--format=%s", CLAIM]).lines().count(), 4);
    assert_eq!(south.json("status", &[])["tasks"]["L1-001"]["status"], "completed");
}

#[test]
fn the_base_branch_may_move_and_the_merge_is_made_on_top() {
    let fleet = Fleet::joined(1, &TWO, &[]);
    let north = &fleet.clones[0];
    north.verified("L1-001");
    // Somebody pushes to the base branch between our look at it and our push.
    let tree = fleet.git(&["rev-parse", "trunk^{tree}"]);
    let script = format!(
        "case \"$*\" in *push*refs/heads/trunk*) if test ! -e \"$DIR/once\"; then touch \"$DIR/once\"; \
         PATH=$REAL_PATH git -C '{0}' update-ref refs/heads/trunk \
         $(PATH=$REAL_PATH git -C '{0}' commit-tree {tree} -p trunk -m 'of a person'); fi;; esac",
        fleet.remote().display()
    );
    let run = north.behind(&script, "merge", &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(north.scratch.home().join("bin/once").exists());
    let subjects = fleet.git(&["log", "--first-parent", "--format=%s", "trunk"]);
    let subjects: Vec<&str> = subjects.lines().collect();
    assert_eq!(subjects[..2], ["Merge task L1-001: Do L1-001", "of a person"]);
    assert_eq!(north.git(&["rev-parse", "trunk"]), fleet.git(&["rev-parse", "trunk"]));
    north.assert_tidy(&[]);
}

#[test]
fn a_conflict_is_heard_of_everywhere_and_merging_needs_no_clean_checkout() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    for (plan, id) in [(north, "L1-001"), (south, "L1-002")] {
        plan.good("start", &[id]);
        plan.work(id, &format!("{id}.txt"), id);
        plan.work(id, "both.txt", id);
        plan.good("verify", &[id]);
    }
    fs::write(south.root().join("README.md"), "of a person").unwrap();
    let run = south.run("merge", &[]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(run.stderr.contains("merge_conflict, conflict in both.txt"), "{}", run.stderr);
    let merged = fleet.merged();
    let failed = if merged == ["L1-001"] { "L1-002" } else { "L1-001" };
    let claim = fleet.claim(&format!("refs/hookkeeper/claims/shop/{failed}"));
    assert_eq!(claim["state"], "failed");
    assert_eq!(fleet.claim("refs/hookkeeper/claims/shop/merge")["state"], "free");
    let next = north.json("next", &[]);
    assert_eq!(next["tasks"][0]["errors"][0]["message"], "merge_conflict", "{next}");
}

#[test]
fn a_remote_that_refuses_refs_is_no_remote_for_this() {
    let fleet = Fleet::new(1, &TWO);
    let north = &fleet.clones[0];
    let deny = "while read old new name; do case $name in refs/hookkeeper/*) echo 'only branches here' >&2; exit 1;; esac; done";
    fleet.hook("pre-receive", deny);
    let run = north.run("init", &["--remote", "origin"]);
    refused(&run, "origin refuses refs/hookkeeper/executions/shop: ");
    assert!(run.stderr.contains("only branches here") && run.stderr.contains("Nothing was begun"));
    assert!(!north.file().exists());
    refused(&north.run("init", &["--remote", "elsewhere"]), "has no remote elsewhere");
    refused(&north.run("init", &["--remote=--upload-pack=x"]), "has no remote");
    refused(&north.run("init", &["--remote", "ext::sh -c id"]), "has no remote");
    // A base branch that only some may push to.
    let protect = "while read old new name; do case $name in refs/heads/*) echo protected >&2; exit 1;; esac; done";
    fleet.hook("pre-receive", protect);
    north.init(&["--remote", "origin"]);
    north.verified("L1-001");
    let run = north.run("merge", &[]);
    refused(&run, "origin refuses to move trunk: ");
    assert_eq!(north.status("L1-001"), "verified");
    assert_eq!(fleet.claim("refs/hookkeeper/claims/shop/merge")["state"], "free");
    fs::remove_file(fleet.remote().join("hooks/pre-receive")).unwrap();
    north.good("merge", &[]);
    assert_eq!(fleet.merged(), ["L1-001"]);
}

#[test]
fn a_remote_that_was_force_pushed_is_said_and_nothing_is_changed() {
    let fleet = Fleet::joined(1, &TWO, &[]);
    let north = &fleet.clones[0];
    let begun = fleet.git(&["rev-parse", "trunk"]);
    north.verified("L1-001");
    north.good("merge", &[]);
    north.verified("L1-002");
    fleet.git(&["update-ref", "refs/heads/trunk", &begun]);
    let before = fs::read(north.file()).unwrap();
    let said = north.good("status", &[]);
    assert!(said.contains("1/2") && said.contains("trunk on origin was rewritten"), "{said}");
    for what in ["merge", "next", "resume", "heartbeat"] {
        refused(&north.run(what, &[]), "trunk on origin was rewritten: it had ");
    }
    assert_eq!(fs::read(north.file()).unwrap(), before);
    assert_eq!(fleet.git(&["rev-parse", "trunk"]), begun);
    // A person says what is right: the new one.
    let said = north.good("rebuild", &[]);
    assert!(said.contains("0 of 2 tasks are merged"), "{said}");
    assert_eq!(north.status("L1-002"), "verified");
    north.good("merge", &[]);
    assert_eq!(fleet.merged(), ["L1-002"]);
}

#[test]
fn two_executions_of_one_name_are_not_taken_for_one() {
    let fleet = Fleet::new(3, &TWO);
    let [north, south, west] = &fleet.clones[..] else { panic!() };
    north.init(&["--remote", "origin"]);
    south.write(&[TWO[0], ("L1-009", "1-core", &[], "true")]);
    let run = south.run("init", &["--remote", "origin"]);
    refused(&run, "origin has another execution of the name shop, begun by user0 on host0");
    assert!(run.stderr.contains("they differ from L1-009 on"), "{}", run.stderr);
    assert!(!south.file().exists());
    south.write(&[TWO[0], ("merge", "1-core", &[], "true")]);
    refused(&south.run("init", &["--remote", "origin"]), "must not be called merge");
    west.git(&["branch", "other"]);
    refused(
        &west.run("init", &["--remote", "origin", "--base", "other"]),
        "origin has no branch other",
    );
    // One that was put in the place of ours later.
    fleet.git(&["update-ref", "refs/hookkeeper/executions/shop", "trunk"]);
    refused(&north.run("start", &["L1-001"]), "is not the one that this clone has joined");
    refused(&west.run("init", &["--remote", "origin"]), "is nothing that this program can read");
}

#[test]
fn what_strangers_put_on_the_remote_is_only_text() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.good("start", &["L1-001"]);
    let mut claim = fleet.claim(CLAIM);
    claim["host"] = json!("\u{1b}[31mred\u{202e}\n`rm`");
    claim["user"] = json!("x".repeat(5000));
    claim["head"] = json!("--upload-pack=evil");
    claim["error"] = json!(["not", "text"]);
    let put = |name: &str, text: &str| {
        let tree = fleet.git(&["mktree", "--missing"]);
        let commit = fleet.git(&["commit-tree", &tree, "-m", text]);
        fleet.git(&["update-ref", name, &commit]);
    };
    put(CLAIM, &format!("x\n\n{claim}"));
    let said = south.good("status", &[]);
    assert!(said.contains("somebody"), "{said}");
    claim["error"] = Value::Null;
    put(CLAIM, &format!("x\n\n{claim}"));
    let fleet_status = good(south.scratch.run(&["fleet", "status"], b""));
    for said in [south.good("status", &[]), fleet_status] {
        assert!(said.contains("red") && !said.contains('\u{1b}') && !said.contains('\u{202e}'));
        assert!(said.lines().all(|line| line.len() < 600), "{said}");
    }
    south.assert_sound();
    for name in ["refs/hookkeeper/claims/shop/nobody", "refs/hookkeeper/claims/shop/L1-002/x"] {
        put(name, "x");
    }
    put("refs/hookkeeper/claims/shop/merge", &"y".repeat(100_000));
    assert_eq!(south.json("next", &[])["tasks"][0]["id"], "L1-002");
}

#[test]
fn the_refs_are_enough_to_rebuild_a_state_and_to_see_the_fleet() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.verified("L1-001");
    north.good("merge", &[]);
    north.verified("L1-002");
    fs::remove_file(south.file()).unwrap();
    let said = south.good("rebuild", &["--remote", "origin"]);
    assert!(said.contains("1 of 2 tasks are merged"), "{said}");
    assert_eq!(
        (south.status("L1-001"), south.status("L1-002")),
        ("completed".into(), "verified".into())
    );
    south.assert_sound();
    // A clone without any state.
    let bare = Plan::new(&TWO);
    refused(&bare.scratch.run(&["fleet", "status"], b""), "has no remote origin");
    bare.git(&["remote", "add", "origin", &fleet.remote().display().to_string()]);
    let json = good(bare.scratch.run(&["fleet", "status", "--json"], b""));
    let json: Value = serde_json::from_str(&json).unwrap();
    let shop = &json["executions"][0];
    assert_eq!(
        (&shop["merged"], &shop["total"], &shop["verified"]),
        (&json!(1), &json!(2), &json!(1))
    );
    assert_eq!(shop["machines"][0]["host"], "host0");
    assert_eq!(shop["claims"][0]["task"], "L1-002");
    let text = good(bare.scratch.run(&["fleet", "status"], b""));
    assert!(
        text.contains("shop  1/2 merged to trunk") && text.contains("user0 on host0"),
        "{text}"
    );
    assert!(!Path::new(&bare.scratch.state()).exists(), "nothing is kept of it");
}

#[test]
fn a_reset_gives_back_what_was_held() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.good("start", &["L1-001"]);
    north.good("reset", &["--force"]);
    assert_eq!(fleet.claim(CLAIM)["state"], "free");
    assert!(south.good("start", &["L1-001"]).contains("attempt 1 of 5"));
    let said = north.init(&["--remote", "origin"]);
    assert!(said.contains("Joined shop on origin"), "{said}");
    assert!(north.good("status", &[]).contains("user1 on host1"));
    // Somebody has removed all refs: that is said, and what is here can be taken away.
    let refs = fleet.git(&["for-each-ref", "--format=%(refname)", "refs/hookkeeper"]);
    refs.lines().for_each(|name| drop(fleet.git(&["update-ref", "-d", name])));
    refused(&north.run("start", &["L1-002"]), "origin has no execution shop any more");
    let said = north.good("reset", &["--force"]);
    assert!(said.contains("origin was not told") && !north.file().exists(), "{said}");
    assert!(north.init(&["--remote", "origin"]).contains("Shared as shop on origin"));
}

#[test]
fn a_name_that_is_more_than_a_name_is_not_fetched() {
    let fleet = Fleet::joined(1, &TWO, &[]);
    let north = &fleet.clones[0];
    let tree = fleet.git(&["mktree", "--missing"]);
    let commit = fleet.git(&["commit-tree", &tree, "-m", "of a stranger"]);
    fleet.git(&["update-ref", "refs/hookkeeper/claims/shop/x", &commit]);
    // What a server may say: an object that is not here yet, by names that git would read otherwise.
    for name in ["x:refs/heads/injected", "x^{}", "*:refs/heads/all/*", "..", "a b", "a.lock"] {
        let line = format!("{commit}\\trefs/hookkeeper/claims/shop/{name}\\n");
        let script = format!("case \"$*\" in *ls-remote*) printf '{line}';; esac");
        let run = north.behind(&script, "status", &[]);
        let branches = north.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
        assert_eq!(branches, "refs/heads/trunk", "{name}");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stdout.contains("cannot be"), "{name}: {}", run.stdout);
    }
}

#[test]
fn a_claim_that_is_no_commit_is_said_and_replaced() {
    let mut fleet = Fleet::joined(1, &TWO, &[]);
    at(&mut fleet.clones[0], "2026-01-01T10:00:00Z");
    let place = fleet.remote().join("blob");
    fs::write(&place, "no claim").unwrap();
    let blob = fleet.git(&["hash-object", "-w", &place.display().to_string()]);
    fleet.git(&["update-ref", CLAIM, &blob]);
    fleet.git(&["tag", "-a", "-m", "x", "odd", "trunk"]);
    let tag = fleet.git(&["rev-parse", "refs/tags/odd"]);
    fleet.git(&["update-ref", "refs/hookkeeper/claims/shop/merge", &tag]);
    let north = &fleet.clones[0];
    let said = north.good("status", &[]);
    assert!(said.contains("somebody (the claim there is no commit"), "{said}");
    refused(&north.run("start", &["L1-001"]), "the claim there is no commit");
    north.good("start", &["L1-001", "--take-over"]);
    assert_eq!(fleet.claim(CLAIM)["host"], "host0");
    assert_eq!(fleet.git(&["log", "--format=%s", CLAIM]).lines().count(), 1);
    north.work("L1-001", "L1-001.txt", "north");
    north.good("verify", &["L1-001"]);
    // Nobody has renewed the one to merge for its lease.
    at(&mut fleet.clones[0], "2026-01-01T10:03:00Z");
    fleet.clones[0].good("merge", &[]);
    assert_eq!(fleet.merged(), ["L1-001"]);
}

#[test]
fn a_remote_is_looked_up_at_every_contact_and_no_address_is_repeated() {
    let fleet = Fleet::joined(1, &TWO, &[]);
    let north = &fleet.clones[0];
    let inner = north.root().join("inner.git");
    north.git(&["init", "-q", "--bare", &inner.display().to_string()]);
    let ran = north.scratch.home().join("ran");
    let hook = inner.join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    program(&hook, &format!("#!/bin/sh\ntouch {}\n", ran.display()));
    let mut state = north.state();
    for (name, says) in [
        ("inner.git", "has no remote inner.git"),
        ("https://u:s3cret@h/x", "has no remote of that name"),
    ] {
        state["remote"]["name"] = json!(name);
        fs::write(north.file(), state.to_string()).unwrap();
        for (what, args) in [("start", &["L1-001"][..]), ("merge", &[]), ("status", &[])] {
            let run = north.run(what, args);
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains(says) && !said.contains("s3cret"), "{what}: {said}");
        }
    }
    assert!(!ran.exists());
    assert_eq!(north.git_in(&inner, &["for-each-ref"]), "");
    let fresh = Fleet::new(1, &TWO);
    let north = &fresh.clones[0];
    let address = "https://user:s3cret@example.invalid/x.git";
    for run in [
        north.run("init", &["--remote", address]),
        north.scratch.run(&["fleet", "status", "--remote", address], b""),
    ] {
        refused(&run, "has no remote of that name (an address is none)");
        assert!(!run.stderr.contains("s3cret") && !run.stdout.contains("s3cret"), "{}", run.stderr);
    }
}

#[test]
fn counts_that_cannot_be_do_no_harm() {
    let fleet = Fleet::joined(1, &TWO, &[]);
    let north = &fleet.clones[0];
    for (id, state) in [("L1-001", "held"), ("L1-002", "failed")] {
        let claim = json!({"version": 1, "execution": "shop", "task": id, "state": state,
            "attempts": u64::MAX, "lease_seconds": u64::MAX, "host": "h", "lease_end": "e".repeat(9000)});
        let tree = fleet.git(&["mktree", "--missing"]);
        let commit = fleet.git(&["commit-tree", &tree, "-m", &format!("x\n\n{claim}")]);
        fleet.git(&["update-ref", &format!("refs/hookkeeper/claims/shop/{id}"), &commit]);
    }
    good(north.scratch.run(&["fleet", "status"], b""));
    let json = good(north.scratch.run(&["fleet", "status", "--json"], b""));
    assert!(json.len() < 4000, "{json}");
    north.good("status", &[]);
    north.assert_sound();
    assert_eq!(north.status("L1-002"), "abandoned");
}

#[test]
fn what_a_force_push_takes_from_the_base_branch_is_said_and_kept() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.verified("L1-001");
    let work = north.git(&["rev-parse", "worktree-L1-001"]);
    north.good("merge", &[]);
    fleet.git(&["update-ref", "refs/heads/trunk", "trunk~1"]);
    let said = north.good("rebuild", &[]);
    let why = "L1-001: was completed, is pending: trunk on origin does not have it; its work is there as refs/hookkeeper/work/shop/L1-001";
    assert!(said.contains(why), "{said}");
    assert!(said.contains("1 correction: 0 of 2 tasks are merged"), "{said}");
    assert_eq!(north.status("L1-001"), "pending");
    // Whoever does it again begins at the base branch; nothing of the first time is lost.
    let earlier = format!("refs/hookkeeper/earlier/shop/L1-001/{work}");
    let said = south.good("start", &["L1-001"]);
    assert!(said.contains("attempt 2 of 5"), "{said}");
    assert!(
        said.contains(&format!(
            "begins without the work that was pushed before; origin keeps it as {earlier}"
        )),
        "{said}"
    );
    assert!(!south.worktree("L1-001").join("L1-001.txt").exists());
    south.work("L1-001", "L1-001.txt", "again");
    south.good("verify", &["L1-001"]);
    assert_eq!(fleet.git(&["rev-parse", &earlier]), work);
    assert_ne!(fleet.git(&["rev-parse", "refs/hookkeeper/work/shop/L1-001"]), work);
    // Nor does who has the old merge commit here bring the old base branch back.
    let run = north.run("start", &["L1-001", "--take-over"]);
    refused(&run, "L1-001");
    south.good("merge", &[]);
    assert_eq!(fleet.merged(), ["L1-001"]);
    assert_eq!(fleet.git(&["rev-list", "--count", "--first-parent", "trunk"]), "2");
}

#[test]
fn a_redo_where_the_old_merge_is_known_begins_at_the_base_branch_too() {
    let fleet = Fleet::joined(1, &TWO, &[]);
    let north = &fleet.clones[0];
    north.verified("L1-001");
    let work = north.git(&["rev-parse", "worktree-L1-001"]);
    north.good("merge", &[]);
    fleet.git(&["update-ref", "refs/heads/trunk", "trunk~1"]);
    north.good("rebuild", &[]);
    let said = north.good("start", &["L1-001"]);
    assert!(said.contains(&format!("refs/hookkeeper/earlier/shop/L1-001/{work}")), "{said}");
    let begun = fleet.git(&["rev-parse", "trunk"]);
    assert_eq!(north.git_in(&north.worktree("L1-001"), &["rev-parse", "HEAD"]), begun);
}

#[test]
fn a_shallow_clone_is_called_one() {
    let fleet = Fleet::new(2, &TWO);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.init(&["--remote", "origin"]);
    north.verified("L1-001");
    north.good("merge", &[]);
    south.git(&["fetch", "-q", "--depth", "1", "origin", "trunk"]);
    south.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    let run = south.run("init", &["--remote", "origin"]);
    refused(&run, "is a shallow clone, without the history that merges are made from");
    assert!(run.stderr.contains("`git fetch --unshallow origin`"), "{}", run.stderr);
    assert!(!run.stderr.contains("rewritten") && !south.file().exists(), "{}", run.stderr);
    south.git(&["fetch", "-q", "--unshallow", "origin"]);
    assert!(south.init(&["--remote", "origin"]).contains("1 of 2 tasks merged there"));
}

#[test]
fn a_remote_without_atomic_pushes_is_refused_before_any_work() {
    let fleet = Fleet::new(1, &TWO);
    let north = &fleet.clones[0];
    let advertise = |says: &str| fleet.git(&["config", "receive.advertiseAtomic", says]);
    advertise("false");
    let run = north.run("init", &["--remote", "origin"]);
    let why = "it cannot move several refs as one (git push --atomic)";
    refused(&run, &format!("an execution cannot be shared over origin: {why}. Nothing was begun"));
    assert!(!north.file().exists());
    assert_eq!(fleet.git(&["for-each-ref", "refs/hookkeeper"]), "");
    // A server that forgets it later.
    advertise("true");
    north.init(&["--remote", "origin"]);
    north.good("start", &["L1-001"]);
    north.work("L1-001", "L1-001.txt", "north");
    advertise("false");
    let run = north.run("verify", &["L1-001"]);
    assert!(format!("{}{}", run.stdout, run.stderr).contains(why), "{} {}", run.stdout, run.stderr);
    assert!(!run.stderr.contains("hung up"), "{}", run.stderr);
}

#[test]
fn what_git_says_of_a_mirror_is_passed_on() {
    let fleet = Fleet::new(1, &TWO);
    let north = &fleet.clones[0];
    north.git(&["config", "remote.origin.mirror", "true"]);
    let run = north.run("init", &["--remote", "origin"]);
    refused(&run, "an execution cannot be shared over origin: fatal: --mirror can't be combined");
    assert!(!run.stderr.contains("takes refs below"), "{}", run.stderr);
    assert!(!north.file().exists());
}

#[test]
fn a_lease_that_comes_too_late_is_said_to_be_passed_over() {
    let fleet = Fleet::new(2, &TWO);
    let [north, south] = &fleet.clones[..] else { panic!() };
    let said = north.init(&["--remote", "origin", "--lease", "1h"]);
    assert!(!said.contains("passed over"), "{said}");
    let said = south.init(&["--remote", "origin", "--lease", "5m"]);
    assert!(said.contains("merged there, lease 1h 00m."), "{said}");
    assert!(said.contains("--lease 5m 00s is passed over: the lease is the execution's"), "{said}");
}

#[test]
fn executions_whose_tasks_have_other_texts_are_not_taken_for_one() {
    let fleet = Fleet::new(4, &TWO);
    let [north, south, west, east] = &fleet.clones[..] else { panic!() };
    north.init(&["--remote", "origin"]);
    north.verified("L1-001");
    north.good("merge", &[]);
    let file = |plan: &Plan| plan.tasks.join("1-core/L1-001.xml");
    let text = fs::read_to_string(file(south)).unwrap();
    fs::write(file(south), text.replace("It exists", "It is a warehouse")).unwrap();
    let run = south.run("init", &["--remote", "origin"]);
    refused(&run, "origin has another execution of the name shop, begun by user0 on host0");
    assert!(run.stderr.contains("the text of L1-001 is another one there"), "{}", run.stderr);
    assert!(!run.stderr.contains("L1-002") && !south.file().exists(), "{}", run.stderr);
    // Git changes line endings on the way to another system.
    fs::write(file(west), text.replace('\n', "\r\n")).unwrap();
    assert!(west.init(&["--remote", "origin"]).contains("1 of 2 tasks merged there"));
    // A record of a program that made no digests.
    let name = "refs/hookkeeper/executions/shop";
    let mut record = fleet.claim(name);
    for task in record["tasks"].as_array_mut().unwrap() {
        assert!(task.as_object_mut().unwrap().remove("digest").is_some());
    }
    let tree = fleet.git(&["mktree", "--missing"]);
    let commit = fleet.git(&["commit-tree", &tree, "-m", &format!("x\n\n{record}")]);
    fleet.git(&["update-ref", name, &commit]);
    fs::write(file(east), text.replace("It exists", "It is a warehouse")).unwrap();
    assert!(east.init(&["--remote", "origin"]).contains("Joined shop on origin"));
}

#[test]
fn an_execution_whose_tasks_were_edited_is_joined_and_recovered() {
    let mut fleet = Fleet::new(3, &TWO);
    for plan in &mut fleet.clones {
        let inside = plan.root().join("docs/tasks/shop");
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::rename(&plan.tasks, &inside).unwrap();
        plan.tasks = inside;
    }
    let [north, south, west] = &fleet.clones[..] else { panic!() };
    let commit = |plan: &Plan, what: &str| {
        plan.git(&["add", "docs/tasks/shop/1-core", "docs/tasks/shop/*.json"]);
        plan.git(&["reset", "-q", "--", "docs/tasks/shop/execute-state.json"]);
        plan.git(&["commit", "-q", "-m", what]);
        plan.git(&["push", "-q", "origin", "trunk"]);
    };
    commit(north, "Plan");
    north.init(&["--remote", "origin"]);
    north.good("start", &["L1-001"]);
    let file = north.tasks.join("1-core/L1-002.xml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("It exists", "It is there")).unwrap();
    commit(north, "Mend a typo");
    let said = "L1-002: its text is another one than when the execution began";
    // A new clone comes with the new text.
    for plan in [south, west] {
        fs::remove_dir_all(&plan.tasks).unwrap();
        plan.git(&["pull", "-q", "origin", "trunk"]);
    }
    let joined = south.init(&["--remote", "origin"]);
    assert!(joined.contains("Joined shop on origin") && joined.contains(said), "{joined}");
    assert!(!joined.contains("L1-001: its text"), "{joined}");
    // An edit that is not committed yet is one too.
    let other = west.tasks.join("1-core/L1-001.xml");
    let text = fs::read_to_string(&other).unwrap();
    fs::write(&other, text.replace("It exists", "It is here")).unwrap();
    assert!(west.init(&["--remote", "origin"]).contains("L1-001: its text is another one"));
    // The first clone loses its state.
    fs::remove_file(north.file()).unwrap();
    let rebuilt = north.good("rebuild", &["--remote", "origin"]);
    assert!(rebuilt.contains(said), "{rebuilt}");
    assert_eq!(north.status("L1-001"), "in_progress");
    assert!(!north.good("rebuild", &[]).contains(said), "it is said once");
}

#[test]
fn an_execution_that_was_begun_by_nobody_with_a_name_is_said_to_be_the_hosts() {
    let mut fleet = Fleet::new(2, &TWO);
    fleet.clones[0].scratch.env.remove("USER");
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.init(&["--remote", "origin"]);
    let file = south.tasks.join("1-core/L1-001.xml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("It exists", "It is a warehouse")).unwrap();
    refused(&south.run("init", &["--remote", "origin"]), "of the name shop, begun by host0 at 20");
    // Where the state is lost, other texts keep nobody from the claims.
    let rebuilt = south.good("rebuild", &["--remote", "origin"]);
    assert!(rebuilt.contains("L1-001: its text is another one than when"), "{rebuilt}");
}

#[test]
fn the_fleet_shows_who_verified_and_failed_what_others_went_on_with() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.verified("L1-002");
    north.good("start", &["L1-001"]);
    north.work("L1-001", "half.txt", "half");
    north.good("fail", &["L1-001", "--message", "no luck"]);
    south.good("merge", &[]);
    south.good("start", &["L1-001"]);
    let json = good(south.scratch.run(&["fleet", "status", "--json"], b""));
    let json: Value = serde_json::from_str(&json).unwrap();
    let shop = &json["executions"][0];
    let machines: Vec<Value> = shop["machines"].as_array().unwrap().clone();
    let counts = |machine: &Value| {
        ["merged", "held", "verified", "failed"].map(|name| machine[name].as_u64().unwrap())
    };
    assert_eq!(machines.len(), 2, "{shop}");
    assert_eq!((&machines[0]["host"], counts(&machines[0])), (&json!("host0"), [0, 0, 1, 1]));
    assert_eq!((&machines[1]["host"], counts(&machines[1])), (&json!("host1"), [1, 1, 0, 0]));
    assert_eq!((&shop["verified"], &shop["failed"]), (&json!(0), &json!(0)), "as it is now");
    let text = good(south.scratch.run(&["fleet", "status"], b""));
    assert!(text.contains("user0 on host0") && text.contains("1 verified, 1 failed"), "{text}");
}

#[test]
fn a_take_over_that_is_told_to_be_one_says_whose_it_was() {
    let fleet = Fleet::joined(2, &TWO, &[]);
    let [north, south] = &fleet.clones[..] else { panic!() };
    north.good("start", &["L1-001"]);
    let brief = south.json("start", &["L1-001", "--take-over"]);
    let note = brief["notes"][0]["correction"].as_str().unwrap();
    assert!(note.starts_with("taken over from user0 on host0, who had it since 20"), "{note}");
    assert!(note.ends_with("(attempt 1): --take-over"), "{note}");
    assert!(south.json("start", &["L1-002"]).get("notes").is_none());
}
