//! The autonomous loop, through the binary, with real git.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::autonomous::*;
use crate::support::{self, Scratch, event, good, misused, refused};

#[test]
fn a_feature_is_shipped() {
    let scratch = shop();
    let text = start(&scratch, &[]);
    assert!(text.starts_with("Started: autonomous loop \"Add user authentication\", phase brainstorm, iteration 1 of 50, driven by session 0f3e8a2c"), "{text}");
    assert_eq!(git(&scratch, &["status", "--porcelain"]), "", "git does not see the state");
    let reason = stop(&scratch, "<promise>SHIPPED</promise>");
    assert!(blocked(&reason).contains("The promise came too early"), "{reason}");
    commit(&scratch, "docs/brainstorm.md", "Two ways.\n");
    let text = advance(&scratch, &["--artifact", "docs/brainstorm.md"]);
    assert!(text.contains("phase plan") && text.contains("--artifact PATH"), "{text}");
    commit(&scratch, "docs/plan.md", "Five steps.\n");
    let plan = git(&scratch, &["log", "-1", "--format=%h"]);
    commit(&scratch, "other.txt", "Later.\n");
    advance(&scratch, &["--artifact", "docs/plan.md"]);
    assert_eq!(state(&scratch)["receipts"][1]["git_sha"], json!(plan), "the commit that has it");
    commit(&scratch, "tests/auth.rb", "fails\n");
    let text = advance(&scratch, &["--artifact", "tests/auth.rb"]);
    assert!(
        text.contains(
            ". The autonomous loop \"Add user authentication\" waits for a person to approve the acceptance tests in tests/auth.rb. The model cannot approve that;"
        ),
        "{text}"
    );
    assert!(!text.contains("\"approve\""), "it is not the model's to type: {text}");
    let status = good(scratch.run(&["autonomous", "status"], b""));
    assert!(
        status.contains("\nThe autonomous loop \"Add user authentication\" waits for you"),
        "{status}"
    );
    assert!(told(&stop(&scratch, "Please look.")).contains("Type \"approve\""));
    refused(&scratch.run(&["autonomous", "approve"], b""), "a person has to approve");
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "env -u CLAUDECODE \"$0\" autonomous approve; echo $?",
        env!("CARGO_BIN_EXE_hookkeeper"),
    ]);
    shell.env_clear().envs(&scratch.env).current_dir(scratch.root());
    let ran = shell.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "1\n", "the shell above it has the mark");
    assert_eq!(state(&scratch)["awaiting_approval"], true);
    let said = as_a_person(&scratch, &["autonomous", "approve"]);
    assert!(said.starts_with("Approved.") && said.ends_with("exit 0\n"), "{said}");
    assert_eq!(
        (&state(&scratch)["phase"], state(&scratch).get("awaiting_approval")),
        (&json!("deepen"), None)
    );
    assert!(
        blocked(&stop(&scratch, "And now?")).contains("Phase deepen (iteration 1 of 10 in it)")
    );
    commit(&scratch, "docs/plan.md", "Six steps.\n");
    advance(&scratch, &["--artifact", "docs/plan.md"]);
    commit(&scratch, "src/auth.rb", "works\n");
    advance(&scratch, &["--failed-approach", "Sessions in the address: too long"]);
    let text = advance(&scratch, &["--findings", "1"]);
    assert!(
        text.contains("phase fix") && text.contains("- Sessions in the address: too long"),
        "{text}"
    );
    commit(&scratch, "src/auth.rb", "works better\n");
    commit(&scratch, "docs/progress.md", "What failed.\n");
    advance(&scratch, &["--progress-file", "docs/progress.md"]);
    assert!(advance(&scratch, &["--findings", "0"]).contains("phase compound"));
    commit(&scratch, "docs/solutions.md", "Cookies are small.\n");
    advance(&scratch, &["--artifact", "docs/solutions.md"]);
    commit(&scratch, "docs/tests.md", "Two fail.\n");
    assert!(advance(&scratch, &["--findings", "2"]).contains("phase fix"), "a failing test phase");
    commit(&scratch, "src/auth.rb", "works best\n");
    advance(&scratch, &[]);
    advance(&scratch, &["--findings", "0"]);
    commit(&scratch, "docs/solutions.md", "Cookies are very small.\n");
    advance(&scratch, &["--artifact", "docs/solutions.md"]);
    commit(&scratch, "docs/tests.md", "None fails.\n");
    let text = advance(&scratch, &["--findings", "0"]);
    assert!(text.contains("phase ship") && text.contains("<promise>SHIPPED</promise>"), "{text}");
    advance(&scratch, &["--pr-url", "https://example.com/pull/7"]);
    let reply = stop(&scratch, "Merged.\n<promise>SHIPPED</promise>");
    assert!(told(&reply).contains("is complete: the promise SHIPPED was made"), "{reply}");
    assert_eq!(stop(&scratch, "more"), Value::Null, "nothing is blocked after that");
    let state = state(&scratch);
    assert_eq!(
        state["phases_completed"],
        json!([
            "brainstorm",
            "plan",
            "spec_test",
            "deepen",
            "work",
            "review",
            "fix",
            "re_review",
            "compound",
            "test",
            "fix",
            "re_review",
            "compound",
            "test",
            "ship"
        ])
    );
    assert_eq!((&state["fix_review_cycles"], &state["verdict"]), (&json!(2), &json!("complete")));
    assert_eq!(
        state["artifacts"],
        json!({
            "brainstorm_file": "docs/brainstorm.md", "plan_file": "docs/plan.md", "acceptance_tests_file": "tests/auth.rb",
            "progress_file": "docs/progress.md", "pr_url": "https://example.com/pull/7", "branch": "feat/auth"
        })
    );
    assert_eq!(state["receipts"].as_array().unwrap().len(), 15);
    assert_eq!(state["checkpoints"].as_array().unwrap().len(), 15);
    assert_eq!(scratch.doc(&format!("session/live/{SESSION}.json"))["loop_verdict"], "complete");
    let status = good(scratch.run(&["autonomous", "status"], b""));
    assert!(
        status.contains("ended: complete") && !status.contains('!'),
        "every receipt holds:\n{status}"
    );
    refused(&scratch.run(&["autonomous", "resume"], b""), "the loop is complete");
}

#[test]
fn a_receipt_needs_a_committed_document() {
    let scratch = shop();
    start(&scratch, &["--skip-brainstorm"]);
    let tries: [(&[&str], &str); 5] = [
        (&[], "phase plan ends with a document: --artifact PATH"),
        (&["--artifact", "docs/plan.md"], "docs/plan.md does not exist"),
        (&["--artifact", "empty.md"], "empty.md does not exist, is empty, or is no file"),
        (&["--artifact", "new.md"], "new.md is not committed: git does not know it"),
        (&["--artifact", "/etc/hostname"], "/etc/hostname is not in the project"),
    ];
    fs::write(scratch.root().join("empty.md"), "").unwrap();
    fs::write(scratch.root().join("new.md"), "new\n").unwrap();
    let before = fs::read(file(&scratch)).unwrap();
    for (more, why) in tries {
        refused(
            &scratch.run(&[&["autonomous", "advance", "--summary", "x"], more].concat(), b""),
            why,
        );
    }
    git(&scratch, &["add", "new.md"]);
    refused(
        &scratch.run(&["autonomous", "advance", "--summary", "x", "--artifact", "new.md"], b""),
        "new.md is not committed as it is now",
    );
    misused(
        &scratch.run(&["autonomous", "advance", "--summary", " "], b""),
        "the summary is empty",
    );
    refused(
        &scratch.run(&["autonomous", "advance", "--summary", "x", "--findings", "2"], b""),
        "--findings is for the phases review, re_review and test",
    );
    misused(
        &scratch.run(&["autonomous", "advance", "--summary", "x", "--phase", "polish"], b""),
        "there is no phase `polish`",
    );
    assert_eq!(fs::read(file(&scratch)).unwrap(), before, "nothing was changed");
    git(&scratch, &["commit", "--quiet", "--message=It"]);
    // From a directory below, a path is meant from there.
    fs::create_dir_all(scratch.root().join("sub")).unwrap();
    let mut command =
        scratch.command(&["autonomous", "advance", "--summary", "x", "--artifact", "../new.md"]);
    let ran = command.current_dir(scratch.root().join("sub")).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(state(&scratch)["artifacts"]["plan_file"], "new.md");
}

#[test]
fn without_git_nothing_is_proven() {
    let mut scratch = Scratch::new();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    start(&scratch, &["--skip-brainstorm", "--skip-test-review", "--max-phase-iterations", "1"]);
    fs::write(scratch.root().join("plan.md"), "plan\n").unwrap();
    refused(
        &scratch.run(&["autonomous", "advance", "--summary", "x", "--artifact", "plan.md"], b""),
        "is in no git repository",
    );
    // It goes on all the same, phase by phase, and says so.
    blocked(&stop(&scratch, "on"));
    let reply = stop(&scratch, "on");
    assert!(
        blocked(&reply).contains("Phase plan took too long and was left without a receipt"),
        "{reply}"
    );
    assert_eq!(state(&scratch)["phase"], "spec_test");
    assert_eq!(
        state(&scratch)["errors"][0]["message"],
        "advanced without a receipt: 1 iterations in the phase"
    );
}

#[test]
fn a_session_drives_one_loop() {
    let scratch = shop();
    start(&scratch, &[]);
    refused(
        &scratch.run(&["autonomous", "start", "Another"], b""),
        "phase brainstorm, iteration 1 of 50 is open",
    );
    let other = "session 0f3e8a2c-1111-4222-8333-444455556666 drives the autonomous loop";
    refused(&scratch.run(&["loop", "start", "Queue"], b""), other);
    refused(&scratch.run(&["branch", "loop", "start", "Prompt"], b""), other);
    good(scratch.run(&["autonomous", "cancel"], b""));
    assert_eq!(stop(&scratch, "on"), Value::Null);
    assert_eq!(state(&scratch)["verdict"], "cancelled");
    good(scratch.run(&["loop", "start", "Queue"], b""));
    refused(&scratch.run(&["autonomous", "start", "Another"], b""), "drives the loop \"Queue\"");
    refused(&scratch.run(&["autonomous", "resume"], b""), "drives the loop \"Queue\"");
    good(scratch.run(&["loop", "cancel"], b""));
    good(scratch.run(&["autonomous", "resume"], b""));
    blocked(&stop(&scratch, "on"));
}

#[test]
fn it_is_capped_and_can_go_on() {
    let scratch = shop();
    start(&scratch, &["--max-iterations", "3"]);
    for _ in 0..3 {
        blocked(&stop(&scratch, "on"));
    }
    assert!(told(&stop(&scratch, "on")).contains(
        "is capped: the limit of 3 iterations. To go on: `hookkeeper autonomous resume`"
    ));
    assert_eq!(stop(&scratch, "on"), Value::Null);
    refused(
        &scratch.run(&["autonomous", "resume", "--max-iterations", "3"], b""),
        "3 iterations are over already",
    );
    good(scratch.run(&["autonomous", "resume"], b""));
    assert_eq!(state(&scratch)["max_iterations"], 13);
    blocked(&stop(&scratch, "on"));
    assert_eq!(state(&scratch)["global_iteration"], 4);
}

#[test]
fn a_phase_that_a_model_moved_by_hand() {
    let scratch = shop();
    start(&scratch, &["--skip-brainstorm"]);
    blocked(&stop(&scratch, "on"));
    let write = |change: &dyn Fn(&mut Value)| {
        let mut state = state(&scratch);
        change(&mut state);
        fs::write(file(&scratch), state.to_string()).unwrap();
    };
    // Neither a Stop nor a command takes over what is not proven.
    write(&|state| state["phase"] = json!("work"));
    refused(
        &scratch.run(&["autonomous", "advance", "--summary", "x"], b""),
        "the phase was moved by hand from plan to work",
    );
    let reply = stop(&scratch, "on");
    assert!(blocked(&reply).contains("The phase was moved from plan to work although"), "{reply}");
    assert_eq!(state(&scratch)["phase"], "plan");
    // A proven move is taken over, also by a model that writes the file anew and forgets whose it is.
    commit(&scratch, "docs/plan.md", "plan\n");
    let plan = git(&scratch, &["log", "-1", "--format=%h"]);
    write(&|state| {
        state["phase"] = json!("spec_test");
        state["receipts"] = json!([{"phase": "plan", "artifact": "docs/plan.md", "git_sha": plan, "timestamp": "2026-11-16T10:00:00Z"}]);
        state.as_object_mut().unwrap().remove("session_id");
    });
    let reply = stop(&scratch, "on");
    assert!(blocked(&reply).contains("docs/plan.md (plan)"), "{reply}");
    assert_eq!(
        (&state(&scratch)["phase"], &state(&scratch)["session_id"]),
        (&json!("spec_test"), &json!(SESSION))
    );
    let status = good(scratch.run(&["autonomous", "status"], b""));
    assert!(!status.contains('!'), "{status}");
    // A receipt is edited later: the one that was confirmed stays, and status names the other.
    write(&|state| state["receipts"][0]["git_sha"] = json!("a1b2c3d"));
    let status = good(scratch.run(&["autonomous", "status"], b""));
    assert!(status.contains("! git has no commit a1b2c3d"), "{status}");
    blocked(&stop(&scratch, "on"));
    assert_eq!(state(&scratch)["receipts"][0]["git_sha"], json!(plan));
    // An earlier phase gets another receipt, of something new.
    let late = [
        "autonomous",
        "advance",
        "--summary",
        "x",
        "--phase",
        "plan",
        "--artifact",
        "docs/plan.md",
    ];
    refused(&scratch.run(&late, b""), "is not newer than the phase and the receipt before it");
    commit(&scratch, "docs/plan.md", "plan, again\n");
    let text = advance(&scratch, &["--phase", "plan", "--artifact", "docs/plan.md"]);
    assert!(text.starts_with("Receipt for plan: "), "{text}");
    assert_eq!(state(&scratch)["phase"], "spec_test");
}

#[test]
fn others_leave_it_alone() {
    let mut scratch = shop();
    start(&scratch, &[]);
    scratch.hook(&event(OTHER, "SessionStart", json!({"source": "startup"})));
    let payload =
        json!({"stop_hook_active": false, "last_assistant_message": "x", "background_tasks": []});
    assert_eq!(scratch.hook(&event(OTHER, "Stop", payload)).stdout, "");
    assert_eq!(
        scratch.hook(&event(OTHER, "UserPromptSubmit", json!({"prompt": "approve"}))).stdout,
        ""
    );
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), OTHER.into());
    let refusals: [&[&str]; 4] = [
        &["autonomous", "cancel"],
        &["autonomous", "advance", "--summary", "x"],
        &["autonomous", "checkpoint", "x"],
        &["autonomous", "error", "x"],
    ];
    commit(&scratch, "docs/brainstorm.md", "x\n");
    for args in refusals {
        let mut args = args.to_vec();
        if args[1] == "advance" {
            args.extend(["--artifact", "docs/brainstorm.md"]);
        }
        refused(&scratch.run(&args, b""), &format!("is driven by session {SESSION}"));
    }
    good(scratch.run(&["autonomous", "adopt"], b""));
    assert!(told(&stop(&scratch, "on")).contains(&format!("is now driven by session {OTHER}")));
    let payload =
        json!({"stop_hook_active": false, "last_assistant_message": "x", "background_tasks": []});
    let reply = scratch.hook(&event(OTHER, "Stop", payload)).stdout;
    assert!(reply.contains("\"decision\":\"block\""), "{reply}");
}

#[test]
fn the_example_of_the_specification_is_kept() {
    let scratch = shop();
    let seed: Value =
        serde_json::from_str(include_str!("../seeds/002/autonomous-loop.json")).unwrap();
    let mut with_more = seed.clone();
    with_more["team"] = json!({"name": "shop"});
    with_more["artifacts"]["design_file"] = json!("docs/design.md");
    fs::write(file(&scratch), with_more.to_string()).unwrap();
    good(scratch.run(&["autonomous", "adopt"], b""));
    good(scratch.run(&["autonomous", "checkpoint", "Half way", "--failed", "Guessing"], b""));
    good(scratch.run(&["autonomous", "error", "Three tests fail"], b""));
    let after = state(&scratch);
    for (key, value) in with_more.as_object().unwrap() {
        if !["checkpoints", "errors", "last_updated"].contains(&key.as_str()) {
            assert_eq!(after[key], *value, "{key}");
        }
    }
    assert_eq!(after["checkpoints"].as_array().unwrap().len(), 3);
    assert_eq!(after["checkpoints"][2]["failed_approaches"], json!(["Guessing"]));
    assert_eq!(
        (&after["errors"][0]["phase"], &after["errors"][0]["iteration"]),
        (&json!("work"), &json!(9))
    );
    let reply = stop(&scratch, "on");
    for part in [
        "docs/plans/2026-02-13-feat-auth-plan.md (plan)",
        "docs/progress.md (progress)",
        "- Guessing",
        "Three tests fail",
    ] {
        assert!(blocked(&reply).contains(part), "{part}: {reply}");
    }
}

#[test]
fn a_file_that_is_not_ours_stays() {
    let scratch = shop();
    for text in [
        "{\"loop\": \"ralph\", \"tasks\": []}",
        "{\"version\": 2, \"feat",
        "{\"version\": 3, \"feature\": \"x\", \"phase\": \"work\"}",
        "{\"feature\": \"x\", \"phase\": \"work\", \"max_iterations\": \"fifty\"}",
    ] {
        fs::write(file(&scratch), text).unwrap();
        let commands: [&[&str]; 5] = [
            &["start", "Mine"],
            &["cancel"],
            &["advance", "--summary", "x"],
            &["approve"],
            &["status"],
        ];
        for args in commands {
            refused(
                &scratch.run(&[&["autonomous"], args].concat(), b""),
                ".claude/autonomous-loop.json",
            );
        }
        assert_eq!(stop(&scratch, "on").get("decision"), None);
        assert_eq!(fs::read_to_string(file(&scratch)).unwrap(), text);
        // What is broken is told, and put away when that is asked for; what is not ours is noted.
        let seen = scratch.run(&["validate"], b"");
        assert!(seen.stdout.contains(".claude/autonomous-loop.json"), "{}", seen.stdout);
        let broken = text.contains("fifty") || text.ends_with("feat");
        assert_eq!(seen.code, Some(i32::from(broken)), "{text}: {}", seen.stdout);
        scratch.run(&["validate", "--repair"], b"");
        assert_eq!(file(&scratch).exists(), !broken, "{text}");
        fs::write(file(&scratch), text).unwrap();
    }
    fs::remove_file(file(&scratch)).unwrap();
    refused(&scratch.run(&["autonomous", "cancel"], b""), "there is no autonomous loop");
    assert!(good(scratch.run(&["autonomous", "status"], b"")).starts_with("No autonomous loop."));
}

#[test]
fn no_way_leads_around_the_human_gate() {
    let past = |state: &mut serde_json::Map<String, Value>| {
        state.insert("phase".into(), json!("work"));
        state.insert("skip_test_review".into(), json!(true));
        state.remove("awaiting_approval");
        state.remove("session_id");
    };
    let resumed = |scratch: &Scratch| {
        scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
        scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"})));
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "hello"})));
    };
    type Way<'a> = (&'a str, &'a dyn Fn(&Scratch));
    let ways: [Way; 6] = [
        ("a command after the edit", &|scratch| {
            edit(scratch, past);
            good(scratch.run(&["autonomous", "checkpoint", "note"], b""));
        }),
        ("adopted", &|scratch| {
            edit(scratch, past);
            good(scratch.run(&["autonomous", "adopt"], b""));
        }),
        ("cancelled and resumed", &|scratch| {
            good(scratch.run(&["autonomous", "cancel"], b""));
            edit(scratch, past);
            good(scratch.run(&["autonomous", "resume"], b""));
        }),
        ("another client", &|scratch| {
            resumed(scratch);
            edit(scratch, past);
        }),
        ("moved twice", &|scratch| {
            edit(scratch, past);
            stop(scratch, "on");
            edit(scratch, past);
        }),
        ("with receipts", &|scratch| {
            edit(scratch, |state| {
                past(state);
                let more = ["spec_test", "deepen"].map(|phase| json!({"phase": phase, "artifact": "docs/plan.md", "git_sha": "a1b2c3d", "timestamp": "2026-11-16T10:00:00Z"}));
                state["receipts"].as_array_mut().unwrap().extend(more);
            });
        }),
    ];
    for (name, way) in ways {
        for scratch in [at_the_tests(), awaiting()] {
            way(&scratch);
            for _ in 0..3 {
                stop(&scratch, "<promise>SHIPPED</promise>");
                let state = state(&scratch);
                assert_eq!(
                    (&state["phase"], state.get("verdict")),
                    (&json!("spec_test"), None),
                    "{name}"
                );
            }
        }
    }
}

/// Approving and stopping are a person's: neither an agent's, nor of a source that nobody knows.
#[test]
fn only_a_person_decides_by_a_prompt() {
    let say = |scratch: &Scratch, prompt: &str, more: Value| {
        let mut payload = event(SESSION, "UserPromptSubmit", json!({"prompt": prompt}));
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        scratch.hook(&payload);
    };
    let scratch = awaiting();
    let others = [
        json!({"source": "channel"}),
        json!({"source": "agent"}),
        json!({"source": "system"}),
        json!({"agent_id": "a1"}),
        json!({"agent_id": "a1", "source": "user"}),
    ];
    for other in others {
        for prompt in ["approve", "lgtm", "stop the loop"] {
            say(&scratch, prompt, other.clone());
            let state = state(&scratch);
            assert_eq!(
                (&state["phase"], state.get("verdict")),
                (&json!("spec_test"), None),
                "{prompt} {other}"
            );
        }
    }
    for person in [json!({}), json!({"source": "user"}), json!({"source": "sdk"})] {
        let scratch = awaiting();
        say(&scratch, "approve", person.clone());
        assert_ne!(state(&scratch)["phase"], "spec_test", "{person}");
        say(&scratch, "stop the loop", person.clone());
        assert_eq!(state(&scratch)["verdict"], "cancelled", "{person}");
    }
}

#[test]
fn a_lost_owner_ends_nothing() {
    let scratch = shop();
    scratch.hook(&event(OTHER, "SessionStart", json!({"source": "startup"})));
    start(&scratch, &[]);
    blocked(&stop(&scratch, "on"));
    edit(&scratch, |state| {
        state.remove("session_id");
        state.insert("global_iteration".into(), json!(0));
        state.insert("max_iterations".into(), json!(1_000_000));
    });
    commit(&scratch, "b.md", "x\n");
    advance(&scratch, &["--artifact", "b.md"]);
    assert!(blocked(&stop(&scratch, "on")).contains("iteration 2 of 50"));
    assert_eq!(state(&scratch)["session_id"], SESSION);
    edit(&scratch, |state| drop(state.remove("session_id")));
    refused(&scratch.run(&["loop", "start", "Queue"], b""), "drives the autonomous loop");
    refused(
        &scratch.run(&["autonomous", "adopt", "--session", "nobody"], b""),
        "there is no session `nobody`",
    );
}

#[test]
fn a_worktree_proves_its_own_commits() {
    let scratch = shop();
    start(&scratch, &["--skip-brainstorm"]);
    git(&scratch, &["worktree", "add", "--quiet", "-b", "wt", "../wt"]);
    let tree = scratch.home().join("wt");
    fs::write(tree.join("plan.md"), "plan\n").unwrap();
    let in_tree = |args: &[&str]| {
        let tree = tree.display().to_string();
        git(&scratch, &[&["-C", tree.as_str()], args].concat())
    };
    in_tree(&["add", "plan.md"]);
    in_tree(&["commit", "--quiet", "--message=Plan"]);
    let advance = |more: &[&str]| {
        let mut command =
            scratch.command(&[&["autonomous", "advance", "--summary", "x"], more].concat());
        let ran = command.current_dir(&tree).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    advance(&["--artifact", "plan.md"]);
    let receipt = &state(&scratch)["receipts"][0];
    let head = in_tree(&["log", "-1", "--format=%h"]);
    assert_eq!((&receipt["artifact"], &receipt["git_sha"]), (&json!("plan.md"), &json!(head)));
    let status = good(scratch.run(&["autonomous", "status"], b""));
    assert!(
        status.contains("! plan.md does not exist or is empty"),
        "not in this checkout: {status}"
    );
}

#[test]
fn ends_are_honest() {
    // A verdict by hand is no verdict of ours: it can be resumed, and the metrics say `cancelled`.
    let scratch = shop();
    start(&scratch, &[]);
    blocked(&stop(&scratch, "on"));
    edit(&scratch, |state| drop(state.insert("verdict".into(), json!("complete"))));
    assert!(told(&stop(&scratch, "on")).contains("was given a verdict by hand"));
    assert_eq!(stop(&scratch, "on"), Value::Null);
    assert_eq!(scratch.doc(&format!("session/live/{SESSION}.json"))["loop_verdict"], "cancelled");
    good(scratch.run(&["autonomous", "resume"], b""));
    blocked(&stop(&scratch, "on"));
    // One that we ended does not come back by itself.
    good(scratch.run(&["autonomous", "cancel"], b""));
    edit(&scratch, |state| drop(state.remove("verdict")));
    stop(&scratch, "on");
    assert_eq!(stop(&scratch, "on"), Value::Null);
    // A new one keeps the old one's file.
    edit(&scratch, |state| drop(state.insert("precious".into(), json!(7))));
    start(&scratch, &[]);
    let kept = support::tree(&scratch.state().join("set-aside"));
    let kept = kept.iter().find(|(name, _)| name.ends_with("autonomous-loop.json")).unwrap();
    assert!(String::from_utf8_lossy(kept.1).contains("precious"));
    // Numbers beyond all bounds stay there.
    edit(&scratch, |state| {
        for name in ["global_iteration", "phase_iteration", "fix_review_cycles"] {
            state.insert(name.into(), json!(u64::MAX));
        }
    });
    assert!(told(&stop(&scratch, "on")).contains("is capped"));
    refused(&scratch.run(&["autonomous", "resume"], b""), "iterations are over already");
}

#[test]
fn a_purge_takes_only_what_is_ours() {
    let scratch = shop();
    start(&scratch, &[]);
    good(scratch.run(&["autonomous", "cancel"], b""));
    let unit = ["--mode", "development", "--unit", "T1: a | b"];
    good(scratch.run(&[&["iterative", "new", "u", "--task", "U"], &unit[..]].concat(), b""));
    good(scratch.run(&["uninstall", "--purge"], b""));
    assert!(!file(&scratch).exists());
    assert!(scratch.root().join(".claude/iterative/u/brief.md").exists(), "tasks are the user's");
    fs::write(file(&scratch), "{\"loop\": \"ralph\"}").unwrap();
    // What proved that they were made here has gone with the state.
    scratch.trust();
    good(scratch.run(&["iterative", "remove", "u", "--force"], b""));
    good(scratch.run(&["uninstall", "--purge"], b""));
    assert!(file(&scratch).exists(), "another tool's");
    assert!(!scratch.root().join(".claude/iterative").exists());
}
