//! What the autonomous loop takes for proof, through the binary and with real git: receipts, a person's
//! word, findings that stay open, the budget.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::autonomous::*;
use crate::support::{Scratch, event, good, misused, program, refused};

const NOT_NEWER: &str = "is not newer than the phase and the receipt before it";

/// An `advance` that has to fail.
fn fails(scratch: &Scratch, more: &[&str], why: &str) {
    let args = [&["autonomous", "advance", "--summary", "x"], more].concat();
    refused(&scratch.run(&args, b""), why);
}

fn prompt(scratch: &Scratch, text: &str) -> String {
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": text}))).stdout
}

/// A loop in this phase, everything before it proven.
fn at(phase: &str, more: &[&str]) -> Scratch {
    let scratch = shop();
    start(&scratch, &[&["--skip-brainstorm", "--skip-test-review"], more].concat());
    let documents = [
        "docs/plan.md",
        "tests/auth.rb",
        "docs/plan.md",
        "src/auth.rb",
        "",
        "docs/solutions.md",
        "docs/tests.md",
    ];
    for (n, document) in documents.iter().enumerate() {
        let now = state(&scratch)["phase"].as_str().unwrap().to_owned();
        if now == phase {
            return scratch;
        }
        if !document.is_empty() {
            commit(&scratch, document, &format!("Version {n}\n"));
        }
        match now.as_str() {
            "review" | "test" => advance(&scratch, &["--findings", "0"]),
            "work" => advance(&scratch, &[]),
            _ => advance(&scratch, &["--artifact", document]),
        };
    }
    assert_eq!(state(&scratch)["phase"], phase);
    scratch
}

#[test]
fn a_receipt_is_new_and_its_own() {
    let scratch = shop();
    commit(&scratch, "docs/old.md", "Old.\n");
    start(&scratch, &["--skip-brainstorm", "--skip-test-review"]);
    fails(&scratch, &["--artifact", "docs/old.md"], NOT_NEWER);
    commit(&scratch, "docs/plan.md", "Plan.\n");
    advance(&scratch, &["--artifact", "docs/plan.md"]);
    fails(&scratch, &["--artifact", "docs/plan.md"], NOT_NEWER);
    commit(&scratch, "tests/auth.rb", "Tests.\n");
    advance(&scratch, &["--artifact", "tests/auth.rb"]);
    fails(&scratch, &["--artifact", "docs/plan.md"], NOT_NEWER);
    commit(&scratch, "docs/plan.md", "Deeper.\n");
    advance(&scratch, &["--artifact", "docs/plan.md"]);
    // Work, fix and test: at least one new commit.
    fails(&scratch, &[], NOT_NEWER);
    commit(&scratch, "src/auth.rb", "x\n");
    advance(&scratch, &[]);
    fails(&scratch, &[], "phase review ends with --findings N");
    advance(&scratch, &["--findings", "1"]);
    fails(&scratch, &[], NOT_NEWER);
    commit(&scratch, "src/auth.rb", "y\n");
    advance(&scratch, &[]);
    fails(&scratch, &[], "phase re_review ends with --findings N");
    advance(&scratch, &["--findings", "0"]);
    commit(&scratch, "docs/solutions.md", "Learnt.\n");
    advance(&scratch, &["--artifact", "docs/solutions.md"]);
    fails(&scratch, &["--findings", "0"], NOT_NEWER);
    fails(&scratch, &[], "phase test ends with --findings N");
    commit(&scratch, "docs/tests.md", "All pass.\n");
    advance(&scratch, &["--findings", "0"]);
    assert_eq!(state(&scratch)["phase"], "ship");
    // Commits of another branch that is older than the phase are not new.
    git(&scratch, &["checkout", "--quiet", "-b", "older", "HEAD~3"]);
    fails(&scratch, &[], "is no merge that was made in this phase");
}

#[test]
fn ship_has_a_receipt_of_its_own() {
    type Way<'a> = (&'a str, &'a dyn Fn(&Scratch) -> Vec<&'static str>, &'a str);
    let ways: [Way; 3] = [
        (
            "a pull request",
            &|_| vec!["--pr-url", "https://example.com/pull/7"],
            "https://example.com/pull/7",
        ),
        (
            "a tag",
            &|scratch| {
                git(scratch, &["tag", "v1.0"]);
                vec![]
            },
            "tag v1.0",
        ),
        (
            "a merge",
            &|scratch| {
                git(scratch, &["checkout", "--quiet", "-b", "main", "feat/auth~3"]);
                git(scratch, &["merge", "--quiet", "--no-ff", "--message=Merge it", "feat/auth"]);
                vec![]
            },
            "Merge it",
        ),
    ];
    for (name, way, artifact) in ways {
        let scratch = at("ship", &[]);
        let reply = stop(&scratch, "<promise>SHIPPED</promise>");
        assert!(
            blocked(&reply).contains("Not proven yet: ship: it has no receipt"),
            "{name}: {reply}"
        );
        fails(
            &scratch,
            &[],
            "phase ship ends with --pr-url URL, a tag that names HEAD, or a merge that is HEAD",
        );
        for url in ["example.com/pull/7", "https://example.com", "https://", "see the pull request"]
        {
            let args = ["autonomous", "advance", "--summary", "x", "--pr-url", url];
            misused(&scratch.run(&args, b""), "is no address of a pull request");
        }
        let more = way(&scratch);
        advance(&scratch, &more);
        let receipts = state(&scratch)["receipts"].as_array().unwrap().clone();
        assert!(
            receipts.last().unwrap()["artifact"].as_str().unwrap().contains(artifact),
            "{name}"
        );
        let reply = stop(&scratch, "<promise>SHIPPED</promise>");
        assert!(told(&reply).contains("is complete"), "{name}: {reply}");
        let status = good(scratch.run(&["autonomous", "status"], b""));
        assert!(!status.contains('!'), "{name}: {status}");
    }
}

#[test]
fn receipts_in_the_file_are_checked_with_git() {
    let scratch = at("work", &[]);
    blocked(&stop(&scratch, "on"));
    let first = git(&scratch, &["rev-list", "--max-parents=0", "--abbrev-commit", "HEAD"]);
    let before = git(&scratch, &["rev-parse", "--short", "HEAD"]);
    commit(&scratch, "gone.txt", "x\n");
    let gone = git(&scratch, &["rev-parse", "--short", "HEAD"]);
    git(&scratch, &["reset", "--quiet", "--hard", "HEAD~1"]);
    let wrong = [
        (json!("0000000"), "work: git has no commit 0000000"),
        (json!(first), NOT_NEWER),
        (json!(before), NOT_NEWER),
        (json!(gone), "is not in the history of HEAD"),
        (json!("--all"), "work: git has no commit --all"),
        (json!("HEAD"), "work: git has no commit HEAD"),
        (json!(7), "its receipt has no git_sha"),
    ];
    for (sha, why) in wrong {
        let saved = fs::read(file(&scratch)).unwrap();
        let watch = scratch.state().join("loop/autonomous.json");
        let watched = fs::read(&watch).unwrap();
        edit(&scratch, |state| {
            state["phase"] = json!("review");
            let receipt = json!({"phase": "work", "artifact": "done", "git_sha": sha, "timestamp": "2026-11-16T10:00:00Z"});
            state["receipts"].as_array_mut().unwrap().push(receipt);
        });
        let reply = stop(&scratch, "on");
        assert!(blocked(&reply).contains(why), "{sha}: {reply}");
        assert_eq!(state(&scratch)["phase"], "work", "{sha}");
        fs::write(file(&scratch), saved).unwrap();
        fs::write(watch, watched).unwrap();
    }
    // Artifacts outside of the repository.
    let scratch = at("spec_test", &[]);
    fs::write(scratch.home().join("outside.rb"), "x\n").unwrap();
    edit(&scratch, |state| {
        state["phase"] = json!("deepen");
        let receipt = json!({"phase": "spec_test", "artifact": "../outside.rb", "git_sha": git(&scratch, &["rev-parse", "HEAD"]), "timestamp": ""});
        state["receipts"].as_array_mut().unwrap().push(receipt);
    });
    let reply = stop(&scratch, "on");
    assert!(blocked(&reply).contains("does not write ../outside.rb"), "{reply}");
}

/// All seven receipts on one old commit, by hand: nothing is complete by that.
#[test]
fn one_old_commit_completes_nothing() {
    let scratch = at("plan", &[]);
    let old = git(&scratch, &["rev-parse", "--short", "HEAD"]);
    for _ in 0..3 {
        edit(&scratch, |state| {
            let phases =
                ["plan", "spec_test", "deepen", "work", "review", "compound", "test", "ship"];
            state["phases_completed"] = json!(phases[..7]);
            state["phase"] = json!("ship");
            state["receipts"] = phases.map(|phase| json!({"phase": phase, "artifact": "README.md", "git_sha": old, "timestamp": "2026-11-16T10:00:00Z"})).into();
        });
        blocked(&stop(&scratch, "<promise>SHIPPED</promise>"));
        assert_eq!(state(&scratch).get("verdict"), None);
    }
}

#[test]
fn git_that_is_missing_or_hangs_is_said_within_two_seconds() {
    for (script, why) in
        [("", "git is not installed"), ("#!/bin/sh\nsleep 60\n", "git did not answer in time")]
    {
        let mut scratch = at("work", &[]);
        commit(&scratch, "src/auth.rb", "x\n");
        let head = git(&scratch, &["rev-parse", "HEAD"]);
        edit(&scratch, |state| {
            state["phase"] = json!("review");
            let receipt =
                json!({"phase": "work", "artifact": "done", "git_sha": head, "timestamp": ""});
            state["receipts"].as_array_mut().unwrap().push(receipt);
        });
        let bin = scratch.home().join("bin");
        fs::create_dir_all(&bin).unwrap();
        if !script.is_empty() {
            program(&bin.join("git"), script);
        }
        let path =
            scratch.env.insert("PATH".into(), format!("{}:/nowhere", bin.display())).unwrap();
        if !script.is_empty() {
            scratch.env.insert("PATH".into(), format!("{}:{path}", bin.display()));
        }
        let began = Instant::now();
        let reply = stop(&scratch, "on");
        assert!(began.elapsed() < Duration::from_millis(3500), "{:?}", began.elapsed());
        assert!(blocked(&reply).contains(why), "{reply}");
        assert_eq!(state(&scratch)["phase"], "work", "nothing is taken over");
        // With git the same receipt counts.
        scratch.env.insert("PATH".into(), path);
        edit(&scratch, |state| drop(state.insert("phase".into(), json!("review"))));
        blocked(&stop(&scratch, "on"));
        assert_eq!(state(&scratch)["phase"], "review");
    }
}

#[test]
fn rounds_that_are_used_up_end_it_with_what_is_open() {
    let cap = "is capped: phase review ended with 3 P1 findings or failing tests open, and no round of fix and re_review is left (0 of 0)";
    let scratch = at("review", &["--max-fix-cycles", "0"]);
    let text = advance(&scratch, &["--findings", "3"]);
    assert!(text.contains("The loop ends with this turn"), "{text}");
    fails(&scratch, &["--findings", "0"], "no round of fix and re_review is left");
    let reply = stop(&scratch, "<promise>SHIPPED</promise>");
    assert!(told(&reply).contains(cap), "{reply}");
    let after = state(&scratch);
    assert_eq!((&after["verdict"], &after["phase"]), (&json!("capped"), &json!("review")));
    assert!(after["errors"][0]["message"].as_str().unwrap().contains("3 P1 findings"), "{after}");
    assert_eq!(stop(&scratch, "on"), Value::Null);
    // The model cannot say it, and what is nearly the word is not the word.
    refused(&scratch.run(&["autonomous", "ship"], b""), "a person has to say that it may ship");
    for text in ["ship it?", "do not ship", "ship only the docs", "ship\nbut not yet"] {
        prompt(&scratch, text);
        assert_eq!(state(&scratch)["verdict"], "capped", "{text}");
    }
    let reply = prompt(&scratch, "ship");
    assert!(
        reply.contains("A person lets it go on with 3 P1 findings or failing tests open."),
        "{reply}"
    );
    let after = state(&scratch);
    assert_eq!((after.get("verdict"), &after["phase"]), (None, &json!("compound")));
    assert_eq!(
        after["errors"][1]["message"],
        "a person said ship with 3 P1 findings or failing tests open"
    );
    blocked(&stop(&scratch, "on"));
    // In a terminal, and `resume` for one more round.
    let scratch = at("review", &["--max-fix-cycles", "0"]);
    advance(&scratch, &["--findings", "3"]);
    told(&stop(&scratch, "on"));
    let said = as_a_person(&scratch, &["autonomous", "ship"]);
    assert!(said.ends_with("exit 0\n"), "{said}");
    assert_eq!(state(&scratch)["phase"], "compound");
    let scratch = at("review", &["--max-fix-cycles", "0"]);
    advance(&scratch, &["--findings", "3"]);
    told(&stop(&scratch, "on"));
    good(scratch.run(&["autonomous", "resume"], b""));
    assert_eq!(
        (&state(&scratch)["phase"], &state(&scratch)["max_fix_cycles"]),
        (&json!("fix"), &json!(1))
    );
    // Findings that nobody reported as gone keep it open.
    commit(&scratch, "src/auth.rb", "z\n");
    advance(&scratch, &[]);
    advance(&scratch, &["--findings", "1"]);
    assert!(told(&stop(&scratch, "on")).contains("(1 of 1)"));
}

#[test]
fn approval_is_a_word_by_itself() {
    let corpus = include_str!("../corpus/approvals/prompts.txt");
    let scratch = awaiting();
    told(&stop(&scratch, "look"));
    let watch = scratch.state().join("loop/autonomous.json");
    let saved = (fs::read(file(&scratch)).unwrap(), fs::read(&watch).unwrap());
    let mut counts = (0, 0);
    for line in corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (says, text) = line.split_once(": ").unwrap();
        let text = text.replace("\\n", "\n");
        let reply = prompt(&scratch, &text);
        let approved = state(&scratch)["phase"] == "deepen";
        assert_eq!(says, if approved { "yes" } else { "no" }, "{text:?}: {reply}");
        if approved {
            counts.0 += 1;
            fs::write(file(&scratch), &saved.0).unwrap();
            fs::write(&watch, &saved.1).unwrap();
        } else {
            counts.1 += 1;
            let near = text.trim_start().to_lowercase().starts_with("approve");
            assert!(
                !near
                    || reply.contains("not taken for an approval")
                    || text.contains("approver")
                    || text.contains("approval"),
                "{text:?}: {reply}"
            );
        }
    }
    assert!(counts.0 >= 8 && counts.1 >= 40, "{counts:?}");
}

#[test]
fn progress_and_pull_request_are_asked_for_and_checked() {
    let scratch = at("work", &[]);
    let reply = stop(&scratch, "on");
    assert!(blocked(&reply).contains("`--progress-file docs/progress.md`"), "{reply}");
    commit(&scratch, "src/auth.rb", "x\n");
    fails(&scratch, &["--progress-file", "docs/progress.md"], "docs/progress.md does not exist");
    fails(&scratch, &["--progress-file", "/etc/hostname"], "is not in the project");
    fs::write(scratch.root().join("docs/progress.md"), "").unwrap();
    fails(&scratch, &["--progress-file", "docs/progress.md"], "is empty, or is no file");
    let note = ["autonomous", "checkpoint", "x", "--progress-file", "nowhere.md"];
    refused(&scratch.run(&note, b""), "nowhere.md does not exist");
    let other = ["autonomous", "start", "Other", "--progress-file", "nowhere.md"];
    refused(&scratch.run(&other, b""), "nowhere.md does not exist");
    fs::write(scratch.root().join("docs/progress.md"), "Tried it.\n").unwrap();
    advance(&scratch, &["--progress-file", "docs/progress.md"]);
    assert_eq!(state(&scratch)["artifacts"]["progress_file"], "docs/progress.md");
    assert!(blocked(&stop(&at("ship", &[]), "on")).contains("--pr-url URL"));
}

#[test]
fn the_budget_counts_while_the_session_runs() {
    let scratch = shop();
    let transcript = scratch.home().join("own.jsonl");
    let mut text = String::new();
    let mut say = |id: &str, model: &str, output: u64| {
        let line = json!({"message": {"model": model, "id": id, "usage": {"input_tokens": 0, "output_tokens": output}},
                          "type": "assistant", "timestamp": "2026-12-31T00:00:00.000Z"});
        text.push_str(&format!("{line}\n"));
        fs::write(&transcript, &text).unwrap();
    };
    let turn = || {
        let payload = json!({"stop_hook_active": false, "last_assistant_message": "on", "background_tasks": [], "transcript_path": transcript});
        let reply = scratch.hook(&event(SESSION, "Stop", payload)).stdout;
        serde_json::from_str::<Value>(&reply).unwrap()
    };
    say("before", "claude-opus-5", 1_000_000);
    let begun = json!({"source": "resume", "transcript_path": transcript});
    scratch.hook(&event(SESSION, "SessionStart", begun));
    start(&scratch, &["--budget", "1.5"]);
    say("m1", "claude-opus-5", 20_000);
    blocked(&turn());
    let spent = |scratch: &Scratch| good(scratch.run(&["autonomous", "status"], b""));
    assert!(spent(&scratch).contains("spent: $0.50 of $1.5"), "{}", spent(&scratch));
    say("m2", "claude-new-9", 20_000);
    blocked(&turn());
    assert!(
        spent(&scratch).contains("spent: $0.50 (without claude-new-9: the price is not known"),
        "{}",
        spent(&scratch)
    );
    // The file cannot raise it.
    edit(&scratch, |state| drop(state.insert("budget_limit_usd".into(), json!(1000))));
    say("m3", "claude-opus-5", 40_000);
    let reply = turn();
    assert!(told(&reply).contains("is capped: the budget of $1.5 is spent ($1.50)"), "{reply}");
    assert!(
        told(&reply).ends_with("To go on: `hookkeeper autonomous resume --budget USD`."),
        "{reply}"
    );
    assert_eq!(state(&scratch)["verdict"], "capped");
    refused(&scratch.run(&["autonomous", "resume"], b""), "`--budget USD` gives it more");
    refused(
        &scratch.run(&["autonomous", "resume", "--budget", "1"], b""),
        "the budget of $1 is spent",
    );
    // Nor can the model.
    let mut in_client = std::mem::ManuallyDrop::new(scratch.same());
    in_client.env.insert("CLAUDECODE".into(), "1".into());
    refused(
        &in_client.run(&["autonomous", "resume", "--budget", "2"], b""),
        "a person has to give it more than $1.5: run this in a terminal of your own, outside Claude Code",
    );
    let said = as_a_person(&scratch, &["autonomous", "resume", "--budget", "2"]);
    assert!(said.starts_with("Goes on: ") && said.ends_with("exit 0\n"), "{said}");
    blocked(&turn());
    misused(&scratch.run(&["autonomous", "start", "x", "--budget", "0"], b""), "0 is no budget");
}

#[test]
fn a_file_with_nothing_but_what_has_no_default_is_valid() {
    let scratch = shop();
    let least = json!({"version": 2, "feature": "Add login", "phase": "work", "started_at": "2026-11-16T10:00:00Z", "last_updated": "2026-11-16T10:00:00Z"});
    fs::write(file(&scratch), least.to_string()).unwrap();
    good(scratch.run(&["validate"], b""));
    good(scratch.run(&["autonomous", "adopt"], b""));
    assert!(blocked(&stop(&scratch, "on")).contains("iteration 1 of 50"));
    assert_eq!(state(&scratch)["max_fix_cycles"], 3);
}

/// Removed, emptied, or edited into nonsense in a running loop: it is said, nothing is approved, nothing is
/// lost, and a person can go on or leave.
#[test]
fn a_file_that_is_lost_comes_back_as_it_was() {
    let wrecks: [(&str, Option<&str>); 5] = [
        ("removed", None),
        ("emptied", Some("")),
        ("cut off", Some("{\"version\": 2, \"feature\": \"Add")),
        ("a list", Some("[]")),
        (
            "words for numbers",
            Some(
                "{\"feature\": \"Add user authentication\", \"phase\": \"ship\", \"phase_iteration\": \"many\"}",
            ),
        ),
    ];
    for (name, text) in wrecks {
        let scratch = awaiting();
        told(&stop(&scratch, "look"));
        let before = state(&scratch);
        match text {
            None => fs::remove_file(file(&scratch)).unwrap(),
            Some(text) => fs::write(file(&scratch), text).unwrap(),
        }
        let reply = stop(&scratch, "<promise>SHIPPED</promise>");
        assert!(told(&reply).contains("autonomous-loop.json"), "{name}: {reply}");
        prompt(&scratch, "approve");
        if text.is_some() {
            refused(
                &scratch.run(&["autonomous", "resume"], b""),
                "`hookkeeper validate --repair` puts away",
            );
            scratch.run(&["validate", "--repair"], b"");
        }
        if !file(&scratch).exists() {
            good(scratch.run(&["autonomous", "resume"], b""));
        }
        let after = state(&scratch);
        for field in [
            "feature",
            "phase",
            "awaiting_approval",
            "receipts",
            "checkpoints",
            "artifacts",
            "phases_completed",
        ] {
            assert_eq!(after[field], before[field], "{name}: {field}");
        }
        told(&stop(&scratch, "look"));
        good(scratch.run(&["autonomous", "cancel"], b""));
        assert_eq!(stop(&scratch, "on"), Value::Null, "{name}");
    }
}

/// A command waits a little, and says what is wrong: not that there is no repository.
#[test]
fn a_git_that_hangs_is_named() {
    let mut scratch = shop();
    start(&scratch, &["--skip-brainstorm"]);
    commit(&scratch, "docs/plan.md", "plan\n");
    let bin = scratch.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    program(&bin.join("git"), "#!/bin/sh\nsleep 60\n");
    let path = format!("{}:{}", bin.display(), scratch.env["PATH"]);
    scratch.env.insert("PATH".into(), path);
    let began = Instant::now();
    let args = ["autonomous", "advance", "--summary", "x", "--artifact", "docs/plan.md"];
    refused(&scratch.run(&args, b""), "git does not answer");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(state(&scratch)["phase"], "plan");
}
