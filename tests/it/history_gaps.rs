//! History with gaps: journals that cannot be read, are gone or not there yet, sessions whose ids begin
//! alike; and what is counted where several things of a kind happened.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Scratch, event, good, misused, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";
/// Dollars for a million tokens of input: 4.
const OPUS: &str = "claude-opus-5-5";

fn say(scratch: &Scratch, session: &str, name: &str, fields: Value) {
    scratch.hook(&event(session, name, fields));
}

fn prompt(scratch: &Scratch, session: &str, text: &str) {
    say(scratch, session, "UserPromptSubmit", json!({"prompt": text}));
}

fn asked(scratch: &Scratch, args: &[&str]) -> Value {
    serde_json::from_str(&good(scratch.run(args, b""))).unwrap()
}

fn journal_file(scratch: &Scratch, session: &str) -> PathBuf {
    scratch.state().join(format!("journal/{session}.jsonl"))
}

fn journal(scratch: &Scratch, session: &str) -> Vec<Value> {
    let text = fs::read_to_string(journal_file(scratch, session)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What cannot be read, for root too.
fn make_unreadable(path: &Path) {
    fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn answer(id: &str, model: &str, tokens: u64) -> String {
    let line = json!({"type": "assistant", "timestamp": "2026-01-29T10:00:00.000Z",
        "message": {"id": id, "model": model, "usage": {"input_tokens": tokens}}});
    format!("{line}\n")
}

/// A session with one agent, whose transcripts say what they used.
fn with_agent(scratch: &Scratch, session: &str) -> PathBuf {
    let transcript = scratch.home().join(format!("t/{session}.jsonl"));
    let of_agent = scratch.home().join(format!("t/{session}/subagents"));
    fs::create_dir_all(&of_agent).unwrap();
    fs::write(&transcript, answer("m1", OPUS, 1_000_000)).unwrap();
    fs::write(of_agent.join("agent-a849c1.jsonl"), answer("m2", OPUS, 2_000_000)).unwrap();
    let at = json!({"prompt": "Review the shop", "transcript_path": transcript});
    say(scratch, session, "UserPromptSubmit", at);
    let agent = json!({"agent_id": "a849c1", "agent_type": "Explore"});
    say(scratch, session, "SubagentStart", agent);
    let done =
        json!({"agent_id": "a849c1", "agent_type": "Explore", "last_assistant_message": "Done"});
    say(scratch, session, "SubagentStop", done);
    end(scratch, session, &transcript);
    transcript
}

fn end(scratch: &Scratch, session: &str, transcript: &Path) {
    let fields = json!({"reason": "other", "transcript_path": transcript});
    say(scratch, session, "SessionEnd", fields);
}

#[test]
fn every_completed_loop_of_a_session_counts_and_each_is_told_as_started() {
    let mut scratch = Scratch::new();
    say(&scratch, SESSION, "SessionStart", json!({"source": "startup"}));
    scratch.env.insert("CLAUDE_CODE_SESSION_ID".into(), SESSION.into());
    for task in ["Add login", "Add a till"] {
        good(scratch.run(&["loop", "start", task, "--gate", "test"], b""));
        for active in [false, true, true] {
            good(scratch.run(&["run-gate", "test", "--", "true"], b""));
            let call = json!({"tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "x"},
                "tool_response": {}});
            say(&scratch, SESSION, "PostToolUse", call);
            let stop = json!({"stop_hook_active": active, "background_tasks": []});
            say(&scratch, SESSION, "Stop", stop);
        }
    }
    good(scratch.run(&["loop", "start", "Never mind", "--gate", "test"], b""));
    good(scratch.run(&["loop", "cancel"], b""));
    good(scratch.run(&["loop", "resume"], b""));
    good(scratch.run(&["loop", "start", "Anew", "--reset"], b""));
    good(scratch.run(&["loop", "cancel"], b""));
    let told = journal(&scratch, SESSION);
    let told: Vec<&str> = told
        .iter()
        .filter(|line| line["kind"] == "loop" && line["what"] != "goes on")
        .map(|line| line["what"].as_str().unwrap())
        .collect();
    assert_eq!(
        told,
        [
            "started",
            "complete",
            "started",
            "complete",
            "started",
            "cancelled",
            "resumed",
            "started",
            "cancelled"
        ]
    );
    let recap = || good(scratch.run(&["recap"], b""));
    let loops = "loops        2 completed, 1 cancelled\n";
    assert_eq!(asked(&scratch, &["recap", "--json"])["loops_completed"], 2);
    assert!(recap().contains(loops), "{}", recap());
    say(&scratch, SESSION, "SessionEnd", json!({"reason": "other"}));
    assert_eq!(asked(&scratch, &["recap", "--json"])["loops_completed"], 2, "ended");
    assert!(recap().contains(loops), "{}", recap());
    // The metrics have the last verdict alone.
    fs::remove_file(journal_file(&scratch, SESSION)).unwrap();
    assert!(recap().contains("loops        0 completed, 1 cancelled\n"), "{}", recap());
}

#[test]
fn a_work_item_that_is_done_is_no_fixed_finding() {
    let scratch = Scratch::new();
    prompt(&scratch, SESSION, "Review the shop");
    let item = |id: &str, status: &str, source: Value| {
        json!({"id": id, "priority": "P1", "title": id, "description": "", "status": status,
            "added_iteration": 0, "completed_iteration": null, "session_id": SESSION,
            "source": source})
    };
    let items = [
        item("work-001", "done", Value::Null),
        item("work-002", "done", json!("finding src/a.rs x")),
        item("work-003", "pending", json!("finding src/b.rs y")),
    ];
    fs::create_dir_all(scratch.state().join("loop")).unwrap();
    let queue = json!({"iteration": 0, "items": items}).to_string();
    fs::write(scratch.state().join("loop/work_queue.json"), queue).unwrap();
    let says = || {
        let recap = good(scratch.run(&["recap"], b""));
        assert!(recap.contains("findings     0 found, 1 fixed\n"), "{recap}");
        assert!(recap.contains("work items   1 added, 1 done\n"), "{recap}");
        let json = asked(&scratch, &["recap", "--json"]);
        assert_eq!((&json["findings"]["fixed"], &json["work_items_done"]), (&json!(1), &json!(1)));
    };
    says();
    say(&scratch, SESSION, "SessionEnd", json!({"reason": "other"}));
    says();
    let quality = &scratch.doc("session/metrics.json")["sessions"][0]["quality"];
    assert_eq!((&quality["issues_fixed"], &quality["items_done"]), (&json!(2), &json!(1)));
}

#[test]
fn a_journal_that_cannot_be_read_is_said_to_be_there() {
    let scratch = Scratch::new();
    prompt(&scratch, "s1", "Review the shop");
    let failure = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make"},
        "error": "Exit code 2\nmake: *** No rule to make target"});
    say(&scratch, "s1", "PostToolUseFailure", failure);
    say(&scratch, "s1", "SessionEnd", json!({"reason": "other"}));
    make_unreadable(&journal_file(&scratch, "s1"));
    let left_out = "Left out: 1 journal that cannot be read.";
    for args in [&["log"][..], &["log", "--session", "s1"], &["sessions", "show", "s1"]] {
        let said = good(scratch.run(args, b""));
        assert!(said.contains(left_out), "{args:?}: {said}");
        assert!(
            !said.contains("Nothing has happened") && !said.contains("journal is gone"),
            "{said}"
        );
    }
    let run = scratch.run(&["log", "--json"], b"");
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains(left_out), "{}", run.stderr);
    let said = good(scratch.run(&["errors", "--all"], b""));
    assert!(said.contains(left_out) && said.contains("gone, or cannot be read"), "{said}");
    assert_eq!(asked(&scratch, &["search", "shop", "--json"])["unreadable"], 1);
    assert_eq!(asked(&scratch, &["sessions", "show", "s1", "--json"])["unreadable_journals"], 1);
    good(scratch.run(&["report", "s1", "-o", "r.html"], b""));
    let page = fs::read_to_string(scratch.root().join("r.html")).unwrap();
    assert!(page.contains(left_out) && page.contains("Its journal cannot be read"), "{page}");
    // The whole folder.
    let folder = scratch.state().join("journal");
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "in the way").unwrap();
    for args in [&["log"][..], &["log", "--follow"], &["report"], &["gc"], &["gc", "--dry-run"]] {
        refused(&scratch.run(args, b""), "journal");
    }
    assert_eq!(asked(&scratch, &["search", "shop", "--json"])["unreadable"], 1);
    assert!(good(scratch.run(&["sessions", "show", "s1"], b"")).contains(left_out));
    assert!(good(scratch.run(&["errors", "--all"], b"")).contains(left_out));
    fs::remove_file(&folder).unwrap();
    assert!(good(scratch.run(&["log"], b"")).contains("Nothing has happened"));
    assert!(good(scratch.run(&["sessions", "show", "s1"], b"")).contains("Its journal is gone"));
}

#[test]
fn a_report_has_the_sessions_whose_journal_is_gone() {
    let mut scratch = Scratch::new();
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-01-29T10:30:00Z".into());
    with_agent(&scratch, "s1");
    with_agent(&scratch, "s2");
    fs::remove_file(journal_file(&scratch, "s1")).unwrap();
    let page = |args: &[&str]| {
        good(scratch.run(&[&["report", "-o", "r.html"], args].concat(), b""));
        fs::read_to_string(scratch.root().join("r.html")).unwrap()
    };
    let total = asked(&scratch, &["cost", "--since", "7d", "--json"])["total"]["cost_usd"].clone();
    assert_eq!(total, 24.0);
    let all = page(&["--since", "7d"]);
    assert!(all.contains("<h1>2 sessions</h1>"), "{all}");
    assert!(all.contains("Of 1 session only the figures are known"), "{all}");
    let figure = all.split("data-figure=\"cost\"").nth(1).unwrap();
    assert!(figure.split("</div>").next().unwrap().contains("$24.00"), "{figure}");
    let one = page(&["s1"]);
    assert!(one.contains("Its journal is gone: ") && one.contains("$12.00"), "{one}");
    assert!(one.contains("Review the shop"), "{one}");
    fs::remove_file(journal_file(&scratch, "s2")).unwrap();
    refused(&scratch.run(&["report"], b""), "of 2 sessions the figures are known: name one");
    assert!(page(&["--since", "7d"]).contains("Of 2 sessions only the figures are known"));
    refused(&scratch.run(&["report", "--since", "2999-01-01"], b""), "nothing has happened since");
    misused(&scratch.run(&["report", "-o", "-"], b""), "not to stdout");
    assert!(!scratch.root().join("-").exists());
}

#[test]
fn agents_stay_apart_when_a_session_goes_on_without_its_transcript() {
    let scratch = Scratch::new();
    let transcript = with_agent(&scratch, "s1");
    let by_agent = || {
        let cost = asked(&scratch, &["cost", "--by", "agent", "--json"]);
        let lines = cost["lines"].as_array().unwrap().clone();
        let name =
            |line: &Value| (line["agent"].as_str().unwrap().to_owned(), line["input"].clone());
        lines.iter().map(name).collect::<Vec<_>>()
    };
    let both =
        [("a849c1".to_owned(), json!(2_000_000)), ("main thread".to_owned(), json!(1_000_000))];
    assert_eq!(by_agent(), both);
    fs::remove_dir_all(scratch.home().join("t")).unwrap();
    say(&scratch, "s1", "SessionStart", json!({"source": "resume", "transcript_path": transcript}));
    let at = json!({"prompt": "Go on", "transcript_path": transcript});
    say(&scratch, "s1", "UserPromptSubmit", at);
    assert_eq!(by_agent(), both, "live again");
    end(&scratch, "s1", &transcript);
    assert_eq!(by_agent(), both, "ended again");
}

struct Followed(Child, std::io::Lines<BufReader<std::process::ChildStdout>>);

impl Followed {
    fn new(scratch: &Scratch) -> Self {
        let mut child = scratch
            .command(&["log", "--follow", "--json", "--event", "prompt"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // So that it has looked before there is anything.
        std::thread::sleep(std::time::Duration::from_millis(400));
        Self(child, lines)
    }

    fn next(&mut self) -> Value {
        let line = self.1.next();
        serde_json::from_str(&line.unwrap().unwrap()).unwrap()
    }

    fn quit(mut self) {
        self.0.stdin.take().unwrap().write_all(b"q\n").unwrap();
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn what_is_followed_need_not_be_there_yet() {
    let scratch = Scratch::new();
    let mut without_state = Followed::new(&scratch);
    prompt(&scratch, "s1", "Open the till");
    assert_eq!(without_state.next()["text"], "Open the till");
    without_state.quit();
    fs::remove_dir_all(scratch.state().join("journal")).unwrap();
    let mut without_journal = Followed::new(&scratch);
    prompt(&scratch, "s1", "Close it");
    assert_eq!(without_journal.next()["text"], "Close it");
    prompt(&scratch, "s2", "Open it again");
    assert_eq!(without_journal.next()["text"], "Open it again");
    without_journal.quit();
}

#[test]
fn dollars_of_the_price_table_are_an_estimate_where_another_model_has_no_price() {
    let scratch = Scratch::new();
    let transcript = scratch.home().join("s1.jsonl");
    let text = answer("m1", OPUS, 1_000_000) + &answer("m2", "gpt-6", 1_000_000);
    fs::write(&transcript, text).unwrap();
    let at = json!({"prompt": "Count it", "transcript_path": transcript});
    say(&scratch, "s1", "UserPromptSubmit", at);
    let check = |when: &str| {
        let said = good(scratch.run(&["cost"], b""));
        assert!(said.contains("~$4.00+"), "{when}: {said}");
        assert_eq!(asked(&scratch, &["cost", "--json"])["total"]["estimated"], true, "{when}");
    };
    check("live");
    end(&scratch, "s1", &transcript);
    check("ended");
}

#[test]
fn a_compaction_that_did_not_happen_is_none() {
    let scratch = Scratch::new();
    prompt(&scratch, "s1", "Review the shop");
    say(&scratch, "s1", "PreCompact", json!({"trigger": "auto"}));
    let counted = |compactions: u64| {
        assert_eq!(asked(&scratch, &["recap", "--json"])["compactions"], compactions);
        good(scratch.run(&["report", "-o", "r.html"], b""));
        let page = fs::read_to_string(scratch.root().join("r.html")).unwrap();
        let figure = page.split("data-figure=\"compactions\"").nth(1).unwrap();
        let figure = figure.split("<dd>").nth(1).unwrap();
        assert!(figure.starts_with(&compactions.to_string()), "{figure}");
        // The legend of the timeline counts it as often.
        let legend = page
            .split("Compaction <")
            .nth(1)
            .map_or("0", |rest| rest.split('>').nth(1).unwrap().split('<').next().unwrap());
        assert_eq!(legend, compactions.to_string());
    };
    counted(0);
    say(&scratch, "s1", "PostCompact", json!({"trigger": "auto", "compact_summary": "The shop"}));
    counted(1);
    // Of a session of which only the journal is left.
    say(&scratch, "s1", "PreCompact", json!({"trigger": "auto"}));
    say(&scratch, "s1", "SessionEnd", json!({"reason": "other"}));
    fs::remove_file(scratch.state().join("session/metrics.json")).unwrap();
    let shown = asked(&scratch, &["sessions", "show", "s1", "--json"]);
    assert_eq!(shown["session"]["compactions"], 1);
}

#[test]
fn older_hits_are_promised_only_where_there_are_some() {
    let scratch = Scratch::new();
    let at = |time: &str, session: &str, text: &str| {
        let payload = event(session, "UserPromptSubmit", json!({"prompt": text}));
        scratch.at(time).hook(&payload);
    };
    at("2026-01-20T10:00:00Z", "s1", "Count the stock");
    at("2026-01-29T10:00:00Z", "s2", "Open the till");
    // Nothing has been added to the older one since.
    let old = fs::File::options().append(true).open(journal_file(&scratch, "s1")).unwrap();
    let at_ten = std::time::Duration::from_secs(1_768_903_200);
    old.set_modified(std::time::UNIX_EPOCH + at_ten).unwrap();
    let found = |args: &[&str]| {
        let found = asked(&scratch, &[&["search", "--json", "-n", "1"], args].concat());
        (found["hits"].as_array().unwrap().len(), found["has_more"].as_bool().unwrap())
    };
    assert_eq!(found(&["till"]), (1, false), "there is no other");
    assert_eq!(found(&["the"]), (1, true));
    // Older lines that have the word, but are not of the kind that is asked for.
    let line = |n: usize| {
        json!({"v": 1, "time": format!("2026-01-22T10:{:02}:{:02}.000Z", n / 60 % 60, n % 60),
            "kind": "notification", "session": "s3", "text": format!("The till is open, {n}")})
    };
    let mut text: String = (0..200).map(|n| format!("{}\n", line(n))).collect();
    for n in 0..70 {
        text.push_str(&format!(
            "{}\n",
            json!({"v": 1, "time": format!("2026-01-28T10:{n:02}:00.000Z"), "kind": "prompt",
                "session": "s3", "call": "c1", "text": "The till"})
        ));
    }
    fs::write(journal_file(&scratch, "s3"), text).unwrap();
    assert_eq!(found(&["till", "--kind", "prompt"]), (1, true), "that of s3");
    fs::remove_file(journal_file(&scratch, "s2")).unwrap();
    assert_eq!(found(&["till", "--kind", "prompt"]), (1, false), "one thing, told many times");
}

#[test]
fn the_target_of_an_error_is_cut_between_words() {
    let scratch = Scratch::new();
    prompt(&scratch, "s1", "Review the shop");
    let failure = json!({"tool_name": "Read", "tool_use_id": "t1",
        "tool_input": {"file_path": "papers of the shop/till and its drawers.md"},
        "error": "File does not exist."});
    say(&scratch, "s1", "PostToolUseFailure", failure);
    let said = good(scratch.run(&["errors"], b""));
    assert!(said.contains("Read papers of the shop/till…: "), "{said}");
}

#[test]
fn a_line_of_a_newer_version_is_newer_whatever_is_in_it() {
    let scratch = Scratch::new();
    prompt(&scratch, "s1", "Review the shop");
    let newer = r#"{"v":2,"time":"2026-01-29T10:30:00.000Z","kind":"prompt","session":"s1","ms":{"from":1}}"#;
    let file = journal_file(&scratch, "s1");
    let text = fs::read_to_string(&file).unwrap() + newer + "\n";
    fs::write(&file, &text).unwrap();
    let said = good(scratch.run(&["log"], b""));
    assert!(said.contains("Left out: 1 line of a newer version."), "{said}");
    for args in [&["validate"][..], &["validate", "--repair"]] {
        let said = good(scratch.run(args, b""));
        assert!(said.contains("1 line of a newer version; left alone"), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{args:?}");
    }
    // Beside a line that is damaged, it stays when that is taken out.
    fs::write(&file, format!("{text}{{\"v\":1}}\n")).unwrap();
    good(scratch.run(&["validate", "--repair"], b""));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn an_agent_has_the_task_that_became_known_later_and_that_of_its_own_project() {
    let scratch = Scratch::new();
    with_agent(&scratch, "s1");
    let file = journal_file(&scratch, "s1");
    let with_task = |task: &str| {
        let text: String = journal(&scratch, "s1")
            .into_iter()
            .map(|mut line| {
                if line["kind"] == "agent_end" {
                    line["record"]["task"] = json!(task);
                }
                format!("{line}\n")
            })
            .collect();
        fs::write(&file, text).unwrap();
    };
    with_task("Count the stock");
    let cost = asked(&scratch, &["cost", "--by", "agent", "--json"]);
    assert_eq!(cost["lines"][0]["about"], "Explore: Count the stock", "{cost}");
}

#[test]
fn two_projects_with_sessions_of_one_id_have_their_own_tasks() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home().join(".claude")).unwrap();
    with_agent(&scratch, "s1");
    let other = scratch.home().join("bakery");
    fs::create_dir_all(&other).unwrap();
    let mut there = std::mem::ManuallyDrop::new(scratch.same());
    there.env.insert("CLAUDE_PROJECT_DIR".into(), other.display().to_string());
    for (name, fields) in [
        ("UserPromptSubmit", json!({"prompt": "Bake"})),
        ("SubagentStart", json!({"agent_id": "a849c1", "agent_type": "Baker"})),
        (
            "SubagentStop",
            json!({"agent_id": "a849c1", "agent_type": "Baker", "last_assistant_message": "Done"}),
        ),
        ("SessionEnd", json!({"reason": "other"})),
    ] {
        let mut payload = event("s1", name, fields);
        payload["cwd"] = other.to_str().unwrap().into();
        payload["transcript_path"] = scratch.home().join("t/s1.jsonl").to_str().unwrap().into();
        there.hook(&payload);
    }
    let cost = asked(&scratch, &["cost", "--all-projects", "--by", "agent", "--json"]);
    let lines = cost["lines"].as_array().unwrap();
    let abouts: Vec<&str> = lines.iter().filter_map(|line| line["about"].as_str()).collect();
    assert!(abouts.contains(&"Explore") && abouts.contains(&"Baker"), "{cost}");
}

#[test]
fn sessions_that_begin_alike_are_told_apart() {
    let scratch = Scratch::new();
    let ids = ["55555550-aaaa-4222-8333-444455556666", "55555550-bbbb-4222-8333-444455556666"];
    for id in ids {
        let transcript = scratch.home().join(format!("{id}.jsonl"));
        fs::write(&transcript, answer(id, OPUS, 1000)).unwrap();
        let at = json!({"prompt": "Review the shop", "transcript_path": transcript});
        say(&scratch, id, "UserPromptSubmit", at);
    }
    for args in [&["log"][..], &["log", "--runs"], &["search", "shop"], &["cost"]] {
        let said = good(scratch.run(args, b""));
        for short in ["55555550-a", "55555550-b"] {
            assert!(said.contains(short), "{args:?}: {said}");
        }
    }
    let files = ids.map(|id| {
        let said = good(scratch.run(&["report", id], b""));
        said.split(':').next().unwrap().to_owned()
    });
    assert_eq!(files, ["a", "b"].map(|part| format!("hookkeeper-report-55555550-{part}.html")));
}

#[test]
fn a_branch_without_a_commit_has_one_name_and_projects_have_a_head() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home().join(".claude")).unwrap();
    let mut git = Command::new("git");
    git.args(["init", "--quiet", "--initial-branch=master"]).current_dir(scratch.root());
    assert!(git.output().unwrap().status.success());
    prompt(&scratch, "s1", "Review the shop");
    let statusline = scratch.run(&["statusline"], b"{}").stdout;
    assert!(statusline.contains("unknown"), "{statusline}");
    let all = asked(&scratch, &["status", "--all-projects", "--json"]);
    assert_eq!(all["projects"][0]["branch"], "unknown");
    let said = good(scratch.run(&["status", "--all-projects"], b""));
    assert!(said.starts_with("PROJECT") && said.contains("unknown"), "{said}");
}
