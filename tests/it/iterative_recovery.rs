//! Iterative tasks whose files somebody wrote in, emptied or lost, and sessions that came and went.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::iterative::*;
use crate::support::{self, Scratch, event, good, refused};

const OTHER: &str = "1a2b3c4d-1111-4222-8333-444455556666";

fn write(scratch: &Scratch, name: &str, text: &str) {
    fs::write(file(scratch, name), text).unwrap();
}

fn units(scratch: &Scratch) -> Vec<String> {
    state(scratch)["tasks"].as_object().unwrap().keys().cloned().collect()
}

fn live(scratch: &Scratch, session: &str) -> Value {
    scratch.doc(&format!("session/live/{session}.json"))
}

/// A task with two units whose files somebody wrote by hand; it has no state and no log yet.
fn kept_by_hand() -> Scratch {
    let scratch = shop();
    fs::create_dir_all(file(&scratch, "")).unwrap();
    write(
        &scratch,
        "brief.md",
        "# Login\n\n**Created:** 2026-01-14T10:30:00Z\n**Mode:** development\n",
    );
    write(
        &scratch,
        "tasks.md",
        "# Login - Tasks\n\n## Tasks\n\n- [ ] **T1**: Model\n- [ ] **T2**: Page\n",
    );
    scratch
}

#[test]
fn a_rebuild_takes_no_unit_away() {
    for plan in ["# T\n\n- [ ] T1: one\n", "", "  \n\n", "# T\n\n## Tasks\n\n- [ ] **T2**: Login\n"]
    {
        let scratch = started();
        signal(&scratch, "T1_DONE");
        let before = state(&scratch);
        write(&scratch, "tasks.md", plan);
        let said = good(run(&scratch, &["rebuild", "auth"]));
        assert!(said.contains("- T1 was not in tasks.md; it is kept"), "{plan}: {said}");
        assert_eq!(units(&scratch).len(), 2, "{plan}");
        assert_eq!(status(&scratch, "T1"), "confirming", "{plan}");
        let (old, new) = (&before["tasks"]["T1"], &state(&scratch)["tasks"]["T1"]);
        assert_eq!((&old["criteria"], &old["files"]), (&new["criteria"], &new["files"]));
        let now = text(&scratch, "tasks.md");
        assert!(
            now.starts_with(plan.trim_end()) && now.contains("- [ ] **T1**: User model\n"),
            "{now}"
        );
        rebuild_changes_nothing(&scratch);
        assert_eq!(signal(&scratch, "T1_DONE")["decision"], "block", "{plan}");
    }
    // Without a state the log knows them, and with a plan that is gone too.
    let scratch = started();
    fs::remove_file(file(&scratch, "state.json")).unwrap();
    write(&scratch, "tasks.md", "# T\n");
    good(run(&scratch, &["rebuild", "auth"]));
    assert_eq!(
        (units(&scratch), status(&scratch, "T1")),
        (vec!["T1".into()], "in_progress".into())
    );
}

#[test]
fn what_somebody_wrote_into_the_plan_stays() {
    let scratch = started();
    let mine = "# My tasks\n- T1 one: note nobody else has\n";
    write(&scratch, "tasks.md", mine);
    stop(&scratch, "hello");
    let now = text(&scratch, "tasks.md");
    assert!(now.starts_with(&format!("{mine}\n## Tasks\n\n- [ ] **T1**: User model\n")), "{now}");
    rebuild_changes_nothing(&scratch);
    let lists = format!(
        "{now}\n## Notes\n\n- [ ] **Ask Bob**: about it\n- [x] **T1**: looked at the model\n  - Max iterations: 77\n"
    );
    write(&scratch, "tasks.md", &lists);
    stop(&scratch, "hello");
    assert_eq!(text(&scratch, "tasks.md"), lists, "other lists are theirs");
    rebuild_changes_nothing(&scratch);
    assert_eq!(units(&scratch), ["T1", "T2"]);
}

#[test]
fn a_plan_that_cannot_be_done_is_not_taken_over() {
    let scratch = started();
    let (plan, before) = (text(&scratch, "tasks.md"), text(&scratch, "state.json"));
    for (needs, why) in [
        ("T9", "tasks.md: unit T2 needs T9, which does not exist; there are T1, T2"),
        ("T1, T9", "tasks.md: unit T2 needs T9"),
        ("T2", "tasks.md: units need each other in a circle: T2 → T2"),
    ] {
        write(&scratch, "tasks.md", &plan.replace("Depends: T1", &format!("Depends: {needs}")));
        refused(&run(&scratch, &["rebuild", "auth"]), why);
        assert_eq!(text(&scratch, "state.json"), before);
    }
    write(&scratch, "tasks.md", &plan.replace("Depends: none", "Depends: T2"));
    refused(&run(&scratch, &["rebuild", "auth"]), "in a circle: T1 → T2 → T1");
}

#[test]
fn a_plan_that_is_no_text_holds_nothing_up() {
    let scratch = started();
    let garbled = [text(&scratch, "tasks.md").as_bytes(), b"caf\xe9\n"].concat();
    fs::write(file(&scratch, "tasks.md"), &garbled).unwrap();
    assert_eq!(stop(&scratch, "hi")["decision"], "block");
    let said = good(run(&scratch, &["next", "auth"]));
    assert!(said.contains("tasks.md cannot be read and was left as it is"), "{said}");
    assert_eq!(fs::read(file(&scratch, "tasks.md")).unwrap(), garbled);
    let said = good(run(&scratch, &["rebuild", "auth"]));
    assert!(said.contains("quarantine/iterative-auth-tasks.md."), "{said}");
    assert!(text(&scratch, "tasks.md").contains("- [ ] **T1**: User model\n"));
    rebuild_changes_nothing(&scratch);
    fs::write(file(&scratch, "tasks.md"), &garbled).unwrap();
    good(run(&scratch, &["cancel", "auth"]));
    assert_eq!(stop(&scratch, "hi").get("decision"), None);
}

#[test]
fn a_task_is_cancelled_whatever_its_files_look_like() {
    for (name, bytes) in [
        ("progress.md", Some(&b"\xff\xfe\x00"[..])),
        ("progress.md", None),
        ("state.json", Some(b"{\"task\": ")),
    ] {
        for named in [&["cancel", "auth"][..], &["cancel"]] {
            let mut scratch = started();
            match bytes {
                Some(bytes) => fs::write(file(&scratch, name), bytes).unwrap(),
                None => fs::remove_file(file(&scratch, name)).unwrap(),
            }
            refused(
                &scratch.run(&["loop", "start", "x"], b""),
                "`hookkeeper iterative cancel` ends it",
            );
            scratch.hook(&event(OTHER, "SessionStart", json!({"source": "startup"})));
            scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), OTHER.into());
            refused(&run(&scratch, &["cancel", "auth"]), &format!("driven by session {SESSION}"));
            scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
            let said = good(run(&scratch, named));
            assert!(
                said.starts_with("Cancelled: task auth, but progress.md does not say so. "),
                "{said}"
            );
            if name == "progress.md" {
                assert_eq!(state(&scratch)["verdict"], "cancelled");
                let why = if bytes.is_some() {
                    "progress.md is no text"
                } else {
                    "progress.md is missing"
                };
                assert!(said.contains(why), "{said}");
            }
            assert_eq!(live(&scratch, SESSION).get("loop_task"), None);
            assert_eq!(stop(&scratch, "hi").get("decision"), None);
            good(scratch.run(&["loop", "start", "x"], b""));
        }
    }
}

#[test]
fn a_cancel_that_was_killed_half_way_is_brought_to_its_end() {
    for by in ["cancel", "stop"] {
        let scratch = started();
        let before = text(&scratch, "state.json");
        let live = fs::read(scratch.state().join(format!("session/live/{SESSION}.json"))).unwrap();
        good(run(&scratch, &["cancel", "auth"]));
        write(&scratch, "state.json", &before);
        fs::write(scratch.state().join(format!("session/live/{SESSION}.json")), live).unwrap();
        match by {
            "stop" => assert_eq!(stop(&scratch, "hi").get("decision"), None),
            _ => refused(&run(&scratch, &["cancel", "auth"]), "has ended (cancelled)"),
        }
        assert_eq!(state(&scratch)["verdict"], "cancelled", "{by}");
        rebuild_changes_nothing(&scratch);
        good(run(&scratch, &["new", "next", "--task", "x", "--mode", "development"]));
    }
}

#[test]
fn a_task_that_is_gone_is_cancelled_too() {
    for named in [&["cancel", "auth"][..], &["cancel"]] {
        let scratch = started();
        fs::remove_dir_all(file(&scratch, "")).unwrap();
        good(run(&scratch, named));
        good(scratch.run(&["loop", "start", "x"], b""));
    }
    let scratch = started();
    refused(&run(&scratch, &["cancel", "other"]), "there is no task `other`; there are auth");
}

#[test]
fn a_task_whose_session_has_ended_goes_on_in_another() {
    for by in ["adopt", "resume"] {
        let mut scratch = started();
        scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
        let told = scratch.hook(&event(OTHER, "SessionStart", json!({"source": "startup"}))).stdout;
        assert!(told.contains(&format!("Session {}, which drove it, has ended; to go on with it here: `hookkeeper iterative adopt auth`.", SESSION.split_once('-').unwrap().0)), "{told}");
        scratch.env.remove("CLAUDE_CODE_SESSION_ID");
        let said = good(run(&scratch, &["resume", "auth"]));
        assert!(said.contains(&format!("Its session {SESSION} is not live: resume that one, or hand the loop to another with `hookkeeper iterative adopt auth`.")), "{said}");
        scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), OTHER.into());
        for args in [&["next", "auth"][..], &["signal", "auth", "T1_DONE"], &["cancel", "auth"]] {
            refused(
                &run(&scratch, args),
                "which has ended; `hookkeeper iterative adopt auth` takes it over",
            );
        }
        assert_eq!(stop_of(&scratch, OTHER, "on"), Value::Null);
        good(run(&scratch, &[by, "auth"]));
        assert_eq!(state(&scratch)["session_id"], OTHER);
        assert_eq!(stop_of(&scratch, OTHER, "on")["decision"], "block");
        good(run(&scratch, &["next", "auth"]));
    }
    // A client that was killed never said that its session ended.
    let mut scratch = shop();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    scratch.env.insert("CLAUDE_PID".into(), gone.id().to_string());
    let dead = "2b2b3c4d-1111-4222-8333-444455556666";
    scratch.hook(&event(dead, "SessionStart", json!({"source": "startup"})));
    good(scratch.run(&[&NEW[..], &["--session", dead]].concat(), b""));
    scratch.env.insert("CLAUDE_PID".into(), support::ALIVE.into());
    let told = scratch.hook(&event(OTHER, "SessionStart", json!({"source": "startup"}))).stdout;
    assert!(told.contains("`hookkeeper iterative adopt auth`"), "{told}");
}

#[test]
fn the_two_hundred_and_first_task_is_a_task_too() {
    let scratch = shop();
    for n in 0..205 {
        let folder = scratch.root().join(format!(".claude/iterative/a{n:03}"));
        fs::create_dir_all(&folder).unwrap();
        fs::File::open(&folder).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    good(scratch.run(&NEW, b""));
    for other in [OTHER, "third"] {
        scratch.hook(&event(other, "SessionStart", json!({"source": "startup"})));
    }
    good(
        scratch.run(
            &[&["iterative", "new", "zz"][..], &NEW[3..], &["--session", OTHER]].concat(),
            b"",
        ),
    );
    let log = ["log", "zz", "T1", "--did", "x", "--remaining", "y"];
    good(run(&scratch, &log));
    let before = support::tree(&scratch.root().join(".claude/iterative/zz"));
    refused(
        &scratch.run(
            &[&["iterative", "new", "zz"][..], &NEW[3..], &["--session", "third"]].concat(),
            b"",
        ),
        ".claude/iterative/zz is there already",
    );
    assert_eq!(support::tree(&scratch.root().join(".claude/iterative/zz")), before);
    let run = run(&scratch, &["next", "nothing"]);
    assert!(
        run.stderr.contains("there are a000, ") && run.stderr.contains(" and 187 more"),
        "{}",
        run.stderr
    );
    // The hook's scan is short, but what was worked on last is in it.
    scratch.hook(&event(OTHER, "SessionStart", json!({"source": "startup"})));
    assert_eq!(live(&scratch, OTHER)["loop_task"], "zz");
}

#[test]
fn nobody_waits_by_saying_so() {
    let scratch = shop();
    let units = ["--unit", "T1: one | x", "--unit", "T2: two | y | max 1 | needs T1"];
    good(scratch.run(&[&NEW[..7], &units].concat(), b""));
    for said in ["T1_DONE", "T1_DONE", "T1_VERIFIED"] {
        signal(&scratch, said);
    }
    assert_eq!(state(&scratch)["current_task"], "T2");
    let reply = signal(&scratch, "BLOCKED: Waiting on T1");
    assert_eq!(reply.get("decision"), None, "{reply}");
    assert_eq!(state(&scratch)["tasks"]["T2"]["reason"], "Said: Waiting on T1");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn what_has_no_iteration_left_is_not_begun_again() {
    let scratch = kept_by_hand();
    let entry = |unit: &str, n: u8| {
        format!("\n## {unit} - Iteration {n} - 2026-01-14T11:00:00Z\n**Did:** some\n")
    };
    let log = format!("# Progress Log\n{}{}", entry("T1", 5), entry("T2", 1));
    write(&scratch, "progress.md", &log);
    good(run(&scratch, &["rebuild", "auth"]));
    assert_eq!(
        (status(&scratch, "T1"), status(&scratch, "T2")),
        ("pending".into(), "in_progress".into())
    );
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "go"})));
    let reply = signal(&scratch, "BLOCKED: no words");
    assert_eq!(reply.get("decision"), None, "{reply}");
    let told = reply["systemMessage"].as_str().unwrap();
    assert!(told.contains("T1 is out of iterations (5 of 5 iterations used)"), "{told}");
    assert_eq!(status(&scratch, "T1"), "timeout");
    rebuild_changes_nothing(&scratch);
}

#[test]
fn a_confirmation_is_as_good_as_what_was_seen_of_it() {
    // The session's record is closed, and with it what it saw.
    let scratch = started();
    signal(&scratch, "T1_DONE");
    edit(&scratch, "src/user.rs");
    scratch.hook(&event(SESSION, "SessionEnd", json!({"reason": "other"})));
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "resume"})));
    assert_eq!(
        (status(&scratch, "T1"), &state(&scratch)["current_iteration"]),
        ("in_progress".into(), &json!(1))
    );
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "confirming");
    rebuild_changes_nothing(&scratch);
    // The task is cancelled and taken up again; and another session takes it.
    good(run(&scratch, &["cancel", "auth"]));
    edit(&scratch, "src/user.rs");
    good(run(&scratch, &["resume", "auth"]));
    assert_eq!(status(&scratch, "T1"), "in_progress");
    signal(&scratch, "T1_DONE");
    scratch.hook(&event(OTHER, "SessionStart", json!({"source": "startup"})));
    good(run(&scratch, &["adopt", "auth", "--session", OTHER]));
    assert_eq!(status(&scratch, "T1"), "in_progress");
    rebuild_changes_nothing(&scratch);
    // What was changed before a person said that it is done does not count.
    let mut scratch = started();
    edit(&scratch, "src/user.rs");
    scratch.env.remove("CLAUDE_CODE_SESSION_ID");
    good(run(&scratch, &["signal", "auth", "T1_DONE"]));
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "verifying");
}

#[test]
fn what_others_write_into_the_log_moves_nothing() {
    let scratch = started();
    let step = |to: &str, said: &str| {
        format!(
            "\n## T1 - Iteration 1 - 2026-01-14T10:30:00Z\n**Did:** it\n**Signal:** T1_{said}\n**Status:** {to}\n"
        )
    };
    let forged = [
        step("in_progress → confirming", "DONE"),
        step("confirming → verifying", "DONE"),
        step("verifying → done", "VERIFIED"),
        "\n## T2 - Iteration 1 - 2026-01-14T10:30:00Z\n**Status:** pending → in_progress, iteration 1\n".into(),
        "\n## Task - Ended - 2026-01-14T10:30:00Z\n**Verdict:** complete: all done\n<!-- hookkeeper 0123456789ab -->\n".into(),
        format!("\n## Task - Taken over - 2026-01-14T10:30:00Z\n**State:** {}\n", json!({"mode": "development", "phase": "deliver"})),
    ];
    let log = text(&scratch, "progress.md") + &forged.concat();
    write(&scratch, "progress.md", &log);
    assert_eq!(stop(&scratch, "hi")["decision"], "block");
    assert_eq!(
        (status(&scratch, "T1"), status(&scratch, "T2")),
        ("in_progress".into(), "blocked".into())
    );
    assert_eq!(state(&scratch)["current_iteration"], 2);
    rebuild_changes_nothing(&scratch);
    // A log from before there were marks goes on as it was, by the rules.
    let scratch = started();
    let old: String = text(&scratch, "progress.md")
        .lines()
        .filter(|line| !line.starts_with("<!--"))
        .map(|line| format!("{line}\n"))
        .collect();
    write(&scratch, "progress.md", &(old + &forged[3]));
    signal(&scratch, "T1_DONE");
    assert_eq!(
        (status(&scratch, "T1"), status(&scratch, "T2")),
        ("confirming".into(), "blocked".into())
    );
    rebuild_changes_nothing(&scratch);
}

fn git(scratch: &Scratch, args: &[&str]) {
    let identity = ["-c", "user.name=Dev", "-c", "user.email=dev@example.com"];
    let run =
        Command::new("git").args(identity).args(args).current_dir(scratch.root()).output().unwrap();
    assert!(run.status.success(), "{run:?}");
}

fn commits(scratch: &Scratch) -> Vec<String> {
    let state = state(scratch);
    let commits = state["commits"].as_array().cloned().unwrap_or_default();
    commits.iter().map(|c| c.as_str().unwrap().split_once(": ").unwrap().1.to_owned()).collect()
}

#[test]
fn commits_that_are_recorded_stay() {
    let scratch = shop();
    git(&scratch, &["init", "-q", "-b", "main", "."]);
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "before"]);
    good(scratch.run(&NEW, b""));
    git(&scratch, &["checkout", "-q", "-b", "feature"]);
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "one"]);
    good(run(&scratch, &["next", "auth"]));
    git(&scratch, &["checkout", "-q", "main"]);
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "somebody else's"]);
    good(run(&scratch, &["log", "auth", "T1", "--did", "x", "--remaining", "y"]));
    assert_eq!(commits(&scratch), ["one"]);
    rebuild_changes_nothing(&scratch);
    git(&scratch, &["checkout", "-q", "feature"]);
    git(&scratch, &["commit", "-q", "--allow-empty", "-m", "two"]);
    good(run(&scratch, &["next", "auth"]));
    assert_eq!(commits(&scratch), ["one", "two"]);
    // What was rewritten is on no branch any more, and its successor counts.
    git(&scratch, &["commit", "-q", "--allow-empty", "--amend", "-m", "two, better"]);
    good(run(&scratch, &["next", "auth"]));
    assert_eq!(commits(&scratch), ["one", "two", "two, better"]);

    // The seed's own example, in a repository that has none of its commits.
    write(&scratch, "progress.md", "# Progress Log\n");
    write(&scratch, "state.json", include_str!("../seeds/000/iterative.json"));
    good(run(&scratch, &["log", "auth", "T3", "--did", "x", "--remaining", "y"]));
    assert_eq!(
        commits(&scratch),
        ["feat(user-auth): Add User model", "feat(user-auth): Create auth service"]
    );
}

#[test]
fn a_keyword_has_to_fit() {
    let scratch = shop();
    let specs = [
        "T1: Export | output matches the golden file | output out.md",
        "T2: Clean | files are gone | files a.rs, b.rs",
        "T3: Model | model tests pass | model sonnet",
        "T4: Small | needs no review | needs T1 T2",
        "Setup: Begin | max 5 people | max 7",
        "T6: After | needs Setup",
    ];
    let args: Vec<&str> = specs.iter().flat_map(|spec| ["--unit", spec]).collect();
    good(scratch.run(&[&NEW[..7], &args].concat(), b""));
    let tasks = state(&scratch)["tasks"].clone();
    let criteria =
        ["output matches the golden file", "files are gone", "model tests pass", "needs no review"];
    for (n, criteria) in criteria.iter().enumerate() {
        assert_eq!(tasks[format!("T{}", n + 1)]["criteria"], *criteria);
    }
    assert_eq!(
        (&tasks["T1"]["output"], &tasks["T3"]["model"]),
        (&json!("out.md"), &json!("sonnet"))
    );
    assert_eq!(tasks["T2"]["files"], json!(["a.rs", "b.rs"]));
    assert_eq!(
        (&tasks["T4"]["needs"], &tasks["T6"]["needs"]),
        (&json!(["T1", "T2"]), &json!(["Setup"]))
    );
    assert_eq!(
        (&tasks["Setup"]["criteria"], &tasks["Setup"]["max_iterations"]),
        (&json!("max 5 people"), &json!(7))
    );
    for slip in ["T7: x | needs Stup", "T7: x | needs T9 first", "T7: x | needs Setup, Stup"] {
        refused(&run(&scratch, &["unit", "auth", slip]), "which does not exist");
    }
}

#[test]
fn a_new_log_keeps_what_units_wait_for() {
    let scratch = shop();
    fs::create_dir_all(file(&scratch, "")).unwrap();
    write(&scratch, "state.json", include_str!("../seeds/000/iterative.json"));
    good(run(&scratch, &["rebuild", "auth", "--new-log"]));
    assert_eq!(state(&scratch)["tasks"]["T5"]["needs"], json!(["T3"]));
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "go"})));
    signal(&scratch, "T3_DONE");
    signal(&scratch, "T3_VERIFIED");
    assert_eq!((status(&scratch, "T3"), status(&scratch, "T5")), ("done".into(), "pending".into()));
}

#[test]
fn a_log_by_hand_tells_what_came_after_a_block() {
    let scratch = kept_by_hand();
    let entry = |unit: &str, n: u8, at: &str, said: &str| {
        format!("\n## {unit} - Iteration {n} - {at}\n**Did:** some\n**Signal:** {said}\n")
    };
    let log = [
        entry("T1", 1, "2026-01-14T11:00:00Z", "BLOCKED: no key"),
        entry("T1", 2, "2026-01-14T11:01:00Z", "T1_DONE"),
        entry("T1", 3, "2026-01-14T11:02:00Z", "T1_DONE"),
        entry("T1", 3, "today", "T1_VERIFIED"),
        entry("T2", 1, "later", "BLOCKED: no words"),
    ];
    write(&scratch, "progress.md", &format!("# Progress Log\n{}", log.concat()));
    good(run(&scratch, &["rebuild", "auth"]));
    let tasks = state(&scratch)["tasks"].clone();
    assert_eq!((&tasks["T1"]["status"], tasks["T1"].get("reason")), (&json!("done"), None));
    assert_eq!(tasks["T1"]["completed_at"], "2026-01-14T11:02:00Z", "a word is no time");
    assert_eq!(
        (&tasks["T2"]["status"], &tasks["T2"]["reason"]),
        (&json!("blocked"), &json!("no words"))
    );
    let validated = scratch.run(&["validate"], b"");
    assert_eq!(validated.code, Some(0), "{}", validated.stdout);
}

#[test]
fn a_rebuild_knows_what_an_edited_plan_lacks() {
    let scratch = started();
    let without: String = text(&scratch, "tasks.md")
        .lines()
        .filter(|line| !line.contains("Max iterations"))
        .map(|line| format!("{line}\n"))
        .collect();
    write(&scratch, "tasks.md", &without);
    good(run(&scratch, &["set", "auth", "T1", "max=9"]));
    assert!(text(&scratch, "tasks.md").contains("  - Max iterations: 9\n"));
    rebuild_changes_nothing(&scratch);

    let scratch = shop();
    let new = ["new", "auth", "--task", "x", "--mode", "knowledge", "--unit", "R1: one | x"];
    good(run(&scratch, &new));
    let plan = text(&scratch, "plan.md");
    write(&scratch, "plan.md", plan.split_once("\n## Dependencies").unwrap().0);
    good(run(&scratch, &["unit", "auth", "R2: two | y | needs R1"]));
    assert!(text(&scratch, "plan.md").ends_with("\n## Dependencies\n\nR1 → R2 (sequential)\n"));
    rebuild_changes_nothing(&scratch);
}

#[test]
fn an_entry_without_a_time_is_no_news() {
    let scratch = started();
    let log = text(&scratch, "progress.md") + "\n## T1 - Iteration 1 - today\n**Did:** it\n";
    write(&scratch, "progress.md", &log);
    good(run(&scratch, &["rebuild", "auth"]));
    good(run(&scratch, &["status", "auth"]));
    let validated = scratch.run(&["validate"], b"");
    assert_eq!(validated.code, Some(0), "{}", validated.stdout);
}

#[test]
fn the_context_names_units_that_came_later() {
    let scratch = shop();
    let new = ["new", "auth", "--task", "x", "--mode", "knowledge", "--outcome", "A report"];
    let said = good(run(&scratch, &new));
    assert!(said.contains("'R1: title | criteria | max 5'"), "{said}");
    let page = good(run(&scratch, &["status", "auth"]));
    assert!(page.contains("iterative unit auth 'R1: title | criteria'"), "{page}");
    refused(&run(&scratch, &["phase", "auth", "execute"]), "unit auth 'R1: title | criteria'");
    assert!(text(&scratch, "context.md").contains("- none yet: see plan.md\n"));
    good(run(&scratch, &["unit", "auth", "R1: one | it is long | output outputs/a.md"]));
    let context = text(&scratch, "context.md");
    assert!(
        context.contains("- `outputs/a.md` — R1\n")
            && context.ends_with("**Signals:**\n- R1: it is long\n"),
        "{context}"
    );
    write(&scratch, "context.md", &format!("{context}Mine.\n"));
    good(run(&scratch, &["unit", "auth", "R2: two"]));
    assert_eq!(
        text(&scratch, "context.md"),
        format!("{context}Mine.\n"),
        "what somebody wrote stays"
    );
}

#[test]
fn an_interrupted_turn_does_not_use_up_the_next_ones_signal() {
    let scratch = started();
    good(run(&scratch, &["signal", "auth", "T1_DONE"]));
    refused(&run(&scratch, &["signal", "auth", "T1_DONE"]), "one signal in a turn");
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "go on"})));
    signal(&scratch, "T1_DONE");
    assert_eq!(status(&scratch, "T1"), "verifying");
}

#[test]
fn every_answer_can_be_json() {
    let scratch = started();
    let of = |args: &[&str]| -> Value {
        serde_json::from_str(&good(run(&scratch, &[args, &["--json"]].concat()))).unwrap()
    };
    for args in [
        &["next", "auth"][..],
        &["signal", "auth", "T1_DONE"],
        &["adopt", "auth"],
        &["cancel", "auth"],
        &["resume", "auth"],
    ] {
        let said = of(args);
        assert_eq!(
            (&said["slug"], &said["task"]["slug"]),
            (&json!("auth"), &json!("auth")),
            "{said}"
        );
        assert!(
            said["said"].is_string() && said["open"].is_boolean() && said["next"] == "T1",
            "{said}"
        );
    }
    assert_eq!(of(&["rebuild", "auth"])["said"], "Task auth: nothing differed.");
    let said = of(&["archive", "auth", "--force"]);
    assert!(
        said["said"].as_str().unwrap().starts_with("Archived: .claude/iterative/archive/auth-"),
        "{said}"
    );
}
