//! Books to be checked, and to be damaged.

use std::fs;

use serde_json::Value;

use super::{Scratch, recorded_payloads};

/// A project in the middle of a recorded session: nearly every kind of document is there.
pub fn project() -> Scratch {
    let scratch = Scratch::new();
    play(&scratch, "resume-and-compact", "");
    play(&scratch, "implement-login", "SessionEnd");
    scratch
}

pub fn play(scratch: &Scratch, scenario: &str, until: &str) {
    let payloads = recorded_payloads(scenario).into_iter();
    for (_, payload) in payloads.take_while(|(n, _)| until.is_empty() || !n.contains(until)) {
        scratch.hook(&payload);
    }
}

pub fn session() -> String {
    recorded_payloads("implement-login")[0].1["session_id"].as_str().unwrap().to_owned()
}

/// Exit code and lines.
pub fn validate(scratch: &Scratch, args: &[&str]) -> (i32, Vec<String>) {
    let run = scratch.run(&[&["validate"], args].concat(), b"");
    assert_eq!(run.stderr, "");
    (run.code.unwrap(), run.stdout.lines().map(str::to_owned).collect())
}

pub fn write(scratch: &Scratch, path: &str, text: &str) {
    let path = scratch.state().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn change(scratch: &Scratch, path: &str, change: impl FnOnce(&mut Value)) {
    let mut document = scratch.doc(path);
    change(&mut document);
    write(scratch, path, &serde_json::to_string_pretty(&document).unwrap());
}
