//! `hookkeeper validate --repair`: each kind of damage is found, put out of the way, and stays away.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::books::{change, play, project, session, validate, write};
use crate::support::{Scratch, recorded_payloads, tree};

const AGENT: &str = "a849e6a7ce0708706";

/// That there is this one problem, and that it is gone after a repair and stays away.
fn finds_and_repairs(scratch: &Scratch, problem: &str) -> Vec<String> {
    let (code, lines) = validate(scratch, &[]);
    assert_eq!((code, lines.len()), (1, 2), "{lines:#?}");
    assert!(lines[0].starts_with(problem), "{lines:#?}");
    assert!(lines[1].ends_with(", 1 with problems"), "{lines:#?}");
    let (code, done) = validate(scratch, &["--repair"]);
    assert_eq!(code, 0, "{done:#?}");
    assert_eq!(done[0], lines[0]);
    assert!(done.last().unwrap().ends_with(", all good"), "{done:#?}");
    let before = tree(&scratch.state());
    let (code, again) = validate(scratch, &["--repair"]);
    assert_eq!((code, again.len()), (0, 1), "{again:#?}");
    assert_eq!(before, tree(&scratch.state()), "a second repair changes nothing");
    done
}

/// The one file in the quarantine.
fn quarantined(scratch: &Scratch) -> (String, String) {
    let names = scratch.names("quarantine");
    assert_eq!(names.len(), 1, "{names:?}");
    let text = fs::read_to_string(scratch.state().join("quarantine").join(&names[0])).unwrap();
    (names[0].clone(), text)
}

#[test]
fn a_field_of_the_wrong_type_in_a_copy() {
    let scratch = project();
    let good = scratch.doc("agents/active.json");
    change(&scratch, "agents/active.json", |active| active["total_spawned"] = json!("two"));
    let (_, lines) = validate(&scratch, &["--json"]);
    let report: Value = serde_json::from_str(&lines[0]).unwrap();
    let problem = json!({"file": "agents/active.json", "pointer": "/total_spawned",
        "message": "is a string, must be a whole number"});
    assert_eq!(report["problems"], json!([problem]));
    let done = finds_and_repairs(
        &scratch,
        "agents/active.json: /total_spawned: is a string, must be a whole number",
    );
    let (name, _) = quarantined(&scratch);
    assert!(name.starts_with("agents-active.json."), "{name}");
    assert_eq!(done[1], format!("agents/active.json: moved to quarantine/{name}"));
    assert_eq!(done[2], "agents/active.json: rebuilt from the live records");
    assert_eq!(scratch.doc("agents/active.json"), good);
}

#[test]
fn text_that_is_no_json() {
    let scratch = project();
    let good = scratch.doc("session/current.json");
    write(&scratch, "session/current.json", "{\n  \"session_id\": oops\n}");
    let done = finds_and_repairs(
        &scratch,
        "session/current.json: is not JSON: expected value at line 2 column 17",
    );
    assert_eq!(done[2], "session/current.json: rebuilt from the live records");
    assert_eq!(scratch.doc("session/current.json"), good);
    assert_eq!(quarantined(&scratch).1, "{\n  \"session_id\": oops\n}");
}

#[test]
fn an_empty_live_record_goes_and_its_copies_too() {
    let scratch = project();
    let live = format!("session/live/{}.json", session());
    write(&scratch, &live, "");
    let done = finds_and_repairs(&scratch, &format!("{live}: is not JSON: EOF"));
    assert!(done.contains(&"session/current.json: removed: there is no live session".into()));
    assert!(!scratch.exists(&live) && !scratch.exists("session/current.json"));
    assert_eq!(scratch.doc("agents/active.json")["total_spawned"], 0);
}

#[test]
fn a_live_record_in_another_ones_file() {
    let scratch = project();
    let live = format!("session/live/{}.json", session());
    fs::copy(scratch.state().join(&live), scratch.state().join("session/live/other.json")).unwrap();
    finds_and_repairs(&scratch, "session/live/other.json: its session_id is ");
    assert!(scratch.exists(&live) && scratch.exists("session/current.json"));
}

#[test]
fn results_archived_ones_too() {
    let scratch = project();
    play(&scratch, "implement-login", "");
    let path = format!("agents/results-archive/{}/{AGENT}.json", session());
    change(&scratch, &path, |result| result["findings"][0]["severity"] = json!("high"));
    finds_and_repairs(
        &scratch,
        &format!(
            "{path}: /findings/0/severity: is \"high\", must be one of \"S0\", \"S1\", \"S2\", \"S3\""
        ),
    );
    assert!(!scratch.exists(&path));
    let (name, _) = quarantined(&scratch);
    assert!(name.starts_with(&path.replace('/', "-")), "{name}");
}

#[test]
fn errors_backups_notices_cleared_synthesis() {
    type Damage = fn(&mut Value);
    let kinds: [(&str, Damage, &str); 3] = [
        (
            "errors/classified.json",
            |errors| drop(errors.as_object_mut().unwrap().remove("summary")),
            "has no `summary`",
        ),
        (
            "errors/classified.json",
            |errors| errors["errors"][1]["next_retry"] = json!("soon"),
            "/errors/1/next_retry: is \"soon\", must be like 2026-01-29T10:30:00Z",
        ),
        (
            "agents/results/synthesis.json",
            |synthesis| synthesis["complete"] = json!(0),
            "/complete: is a number, must be true or false",
        ),
    ];
    for (path, damage, problem) in kinds {
        let scratch = project();
        change(&scratch, path, damage);
        finds_and_repairs(&scratch, &format!("{path}: {problem}"));
        assert!(!scratch.exists(path));
    }
    for (path, text, problem) in [
        ("notices.json", "[]", "is a list, must be an object"),
        ("session/cleared.json", "{\"cleared\": {}}", "/cleared: is an object, must be a list"),
        ("compaction/backup_20260129T103000000Z.json", "{\"a\":", "is not JSON: EOF"),
        // A schema cannot say this, but no hook could read it.
        ("notices.json", r#"{"said": [], "waiting": [], "said": []}"#, "duplicate field `said`"),
    ] {
        let scratch = project();
        write(&scratch, path, text);
        finds_and_repairs(&scratch, &format!("{path}: {problem}"));
        assert!(!scratch.exists(path));
    }
}

#[test]
fn a_work_queue_that_no_hook_would_move() {
    let scratch = project();
    write(&scratch, "loop/work_queue.json", "{\"version\": 1, ");
    scratch.hook(&recorded_payloads("implement-login")[0].1);
    assert!(scratch.exists("loop/work_queue.json"));
    finds_and_repairs(&scratch, "loop/work_queue.json: is not JSON: EOF");
    assert!(!scratch.exists("loop/work_queue.json"));
}

#[test]
fn metrics_keep_their_good_entries() {
    let scratch = project();
    let good = scratch.doc("session/metrics.json")["sessions"][0].clone();
    change(&scratch, "session/metrics.json", |metrics| {
        let mut bad = good.clone();
        bad["duration_minutes"] = json!("an hour");
        metrics["sessions"].as_array_mut().unwrap().insert(0, bad);
        metrics["mine"] = json!(1);
    });
    let done = finds_and_repairs(
        &scratch,
        "session/metrics.json: /sessions/0/duration_minutes: is a string, must be a whole number",
    );
    let (name, was) = quarantined(&scratch);
    assert!(was.contains("an hour"));
    assert_eq!(
        done[1],
        format!(
            "session/metrics.json: 1 session taken out; the file as it was is now quarantine/{name}"
        )
    );
    assert_eq!(scratch.doc("session/metrics.json"), json!({"sessions": [good], "mine": 1}));

    let scratch = project();
    write(&scratch, "session/metrics.json", "{\"sessions\": 3}");
    finds_and_repairs(&scratch, "session/metrics.json: /sessions: is a number, must be a list");
    assert!(!scratch.exists("session/metrics.json"));
}

#[test]
fn lines_of_the_archive_and_of_the_log() {
    let scratch = project();
    let good = scratch.doc("session/metrics.json")["sessions"][0].to_string();
    write(&scratch, "session/metrics-archive.jsonl", &format!("{good}\n{{\"torn\n{good}\n"));
    finds_and_repairs(
        &scratch,
        "session/metrics-archive.jsonl:2: is not JSON: EOF while parsing a string",
    );
    let archive = fs::read_to_string(scratch.state().join("session/metrics-archive.jsonl"));
    assert_eq!(archive.unwrap(), format!("{good}\n{good}\n"));

    let scratch = project();
    let file = format!("journal/{}.jsonl", session());
    let log = scratch.state().join(&file);
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{whole}{{\"time\": 1}}\n")).unwrap();
    let (code, lines) = validate(&scratch, &["--json"]);
    let report: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(code, 1);
    assert_eq!(report["problems"][0]["line"], json!(whole.lines().count() + 1));
    assert_eq!(report["problems"][0]["file"], file);
    let (code, lines) = validate(&scratch, &["--repair", "--json"]);
    let report: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((code, &report["problems"]), (0, &json!([])));
    assert_eq!(report["repaired"][0]["file"], file);
    assert_eq!(fs::read_to_string(&log).unwrap(), whole);
}

#[test]
fn what_is_no_file_or_no_folder() {
    let scratch = project();
    let active = scratch.state().join("agents/active.json");
    fs::remove_file(&active).unwrap();
    symlink("/etc/hostname", &active).unwrap();
    finds_and_repairs(&scratch, "agents/active.json: is a symlink, must be a file");
    assert_eq!(scratch.doc("agents/active.json")["total_spawned"], 2);

    let scratch = project();
    fs::create_dir(scratch.state().join("notices.json")).unwrap();
    finds_and_repairs(&scratch, "notices.json: is a folder, must be a file");

    let scratch = project();
    fs::remove_dir_all(scratch.state().join("errors")).unwrap();
    symlink("/etc", scratch.state().join("errors")).unwrap();
    finds_and_repairs(&scratch, "errors: must be a folder");
    assert!(!scratch.exists("errors"));
}

#[test]
fn events_that_wait_go_on_waiting_through_a_repair() {
    let scratch = Scratch::new();
    let payloads = recorded_payloads("implement-login");
    scratch.hook(&payloads[0].1);
    let lock = fs::File::open(scratch.state().join(".lock")).unwrap();
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    scratch.hook(&payloads[1].1);
    assert_eq!(scratch.names("spool").len(), 1);

    let run = scratch.run(&["validate", "--repair"], b"");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr, "hookkeeper: the state is in use by another process\n");
    drop(lock);

    write(&scratch, "spool/00000000000000000001-1.json", "{\"time\": 3}");
    let (code, lines) = validate(&scratch, &[]);
    assert_eq!(code, 1);
    assert!(lines.contains(
        &"spool/00000000000000000001-1.json: /time: is a number, must be a string".into()
    ));
    let (code, lines) = validate(&scratch, &["--repair"]);
    assert_eq!(code, 0, "{lines:?}");
    assert_eq!(scratch.names("spool").len(), 1);
    assert_eq!(scratch.names("quarantine").len(), 1);
    scratch.hook(&payloads[2].1);
    assert!(!scratch.exists("spool"));
    assert_eq!(scratch.doc("session/current.json")["task"], "implement login for users");
}
