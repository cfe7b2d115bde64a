//! Secrets on their way through the binary: what an event or a command carries is not stored.

use std::fs;

use serde_json::{Value, json};

use crate::support::dice::Dice;
use crate::support::secrets;
use crate::support::secrets::Shape;
use crate::support::{Scratch, event, good, tree};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";
/// What stands in place of a secret.
const MARK: &str = "[redacted]";
/// One shape in so many goes through the binary.
const EVERY: usize = 12;

fn sample() -> Vec<Shape> {
    let mut dice = Dice(77);
    let mut shapes = secrets::shapes(secrets::PROVIDERS, &mut dice);
    shapes.extend(secrets::shapes(secrets::FORMS, &mut dice));
    shapes.into_iter().step_by(EVERY).collect()
}

fn started() -> Scratch {
    let scratch = Scratch::new();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    scratch
}

/// The places below `.claude` that have one of these in clear.
fn leaks(scratch: &Scratch, secrets: &[String]) -> Vec<String> {
    let files = tree(&scratch.root().join(".claude")).into_iter();
    let has = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        secrets.iter().any(|secret| text.contains(secret.as_str()))
    };
    files.filter(|(_, bytes)| has(bytes)).map(|(name, _)| name).collect()
}

fn failing(call: &str, input: Value, error: &str) -> Value {
    let fields =
        json!({"tool_name": "Bash", "tool_use_id": call, "tool_input": input, "error": error});
    event(SESSION, "PostToolUseFailure", fields)
}

fn reporting(message: &str) -> Value {
    let fields =
        json!({"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": message});
    event(SESSION, "SubagentStop", fields)
}

#[test]
fn prompts_commands_errors_and_reports_are_stored_without_secrets() {
    for shape in sample() {
        let Shape { name, text, secrets } = &shape;
        let scratch = started();
        let prompt = format!("/deploy {text}");
        let start = json!({"agent_id": "a1", "agent_type": "Explore"});
        for event in [
            event(SESSION, "UserPromptSubmit", json!({"prompt": prompt})),
            event(SESSION, "SubagentStart", start),
            failing("t1", json!({"command": text}), "Exit code 1"),
            failing("t2", json!({"command": "make"}), &format!("Exit code 1\n{text}")),
            reporting(&format!("## Findings\n- [S1] {text}\n  Recommendation: rotate {text}")),
        ] {
            scratch.hook(&event);
        }
        let marks = tree(&scratch.state())
            .into_values()
            .filter(|bytes| bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes()));
        assert!(marks.count() >= 3, "{name}: the session, the errors and the result are stored");
        assert_eq!(leaks(&scratch, secrets), [""; 0], "{name}");
    }
}

#[test]
fn a_finding_that_begins_with_a_private_key_does_not_keep_it() {
    let mut dice = Dice(5);
    let key = "key\t{dash}BEGIN RSA PRIVATE KEY{dash}\\n  {b64}\\n  {b64}\\n  {dash}END RSA PRIVATE KEY{dash}";
    let shape = secrets::shapes(key, &mut dice).remove(0);
    for message in [
        format!("- [S0] {}\n- [S1] Another finding", shape.text),
        format!("1. [S0] {}\n", shape.text.replace("\n  ", "\n")),
    ] {
        let scratch = started();
        scratch.hook(&event(SESSION, "SubagentStart", json!({"agent_id": "a1"})));
        scratch.hook(&reporting(&message));
        assert_eq!(leaks(&scratch, &shape.secrets), [""; 0], "{message}");
    }
}

#[test]
fn reported_findings_are_stored_without_secrets() {
    for shape in sample() {
        let Shape { name, text, secrets } = &shape;
        let scratch = started();
        let finding = json!({"summary": text, "file": text, "category": text, "verdict": text,
            "outcome": text, "failure_scenario": text});
        let input = json!({"findings": [finding]});
        let fields =
            json!({"tool_name": "ReportFindings", "tool_use_id": "t1", "tool_input": input});
        scratch.hook(&event(SESSION, "PostToolUse", fields));
        let found = &scratch.doc("agents/results/report-t1.json")["findings"];
        assert!(found[0]["title"].as_str().unwrap().contains(MARK), "{name}: {found}");
        // In lower case too: words are compared without case.
        let lower: Vec<String> = secrets.iter().map(|secret| secret.to_lowercase()).collect();
        assert_eq!(leaks(&scratch, &[secrets.as_slice(), &lower].concat()), [""; 0], "{name}");
    }
}

#[test]
fn what_is_kept_of_a_prompt_and_a_report_does_not_end_in_half_a_secret() {
    let mut dice = Dice(8);
    let token = secrets::shapes("token\tghp_{a36}", &mut dice).remove(0);
    let [secret] = token.secrets.as_slice() else { panic!("one secret") };
    let half = secret.get(..12).unwrap().to_owned();
    let kept = 64 << 10;
    // Where the text is clipped, and where it is no longer looked at.
    for end in [kept, 4 * kept] {
        for before in [0, 8, 16, 30] {
            let mut text = "word ".repeat(end / 5 + 1);
            text.truncate(end - before - 1);
            let text = format!("{text} {} and more {}", token.text, "word ".repeat(2_000));
            let scratch = started();
            scratch.hook(&event(SESSION, "SubagentStart", json!({"agent_id": "a1"})));
            scratch.hook(&reporting(&text));
            let call = json!({"tool_name": "Agent", "tool_use_id": "t1",
                "tool_input": {"description": "work", "prompt": text},
                "tool_response": {"status": "completed", "agentId": "a1"}});
            scratch.hook(&event(SESSION, "PostToolUse", call));
            let result = scratch.doc("agents/results/a1.json");
            for key in ["prompt", "report"] {
                let length = result[key].as_str().unwrap_or_default().len();
                assert!((kept - 100..=kept + 3).contains(&length), "{key}: {length}");
            }
            assert_eq!(leaks(&scratch, std::slice::from_ref(&half)), [""; 0], "{end} {before}");
        }
    }
}

#[test]
fn promises_are_stored_without_secrets() {
    let mut dice = Dice(6);
    let shape = secrets::shapes("token\tDONE ghp_{a36}", &mut dice).remove(0);
    for args in [
        ["branch", "loop", "start", "Work", "--promise"],
        ["autonomous", "start", "Work", "--skip-brainstorm", "--promise"],
    ] {
        let scratch = started();
        let ran = std::process::Command::new("git")
            .args(["init", "--quiet", "--initial-branch=feat/x"])
            .current_dir(scratch.root())
            .status();
        assert!(ran.unwrap().success());
        let mut args = args.to_vec();
        args.push(&shape.text);
        good(scratch.run(&args, b""));
        assert_eq!(leaks(&scratch, &shape.secrets), [""; 0], "{args:?}");
        let files = tree(&scratch.root().join(".claude"));
        let says = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains("DONE [redacted]");
        assert!(files.values().any(says), "{args:?}");
    }
}

/// A pattern that takes too much work is dropped and named, once; the event is settled.
#[test]
fn a_costly_pattern_is_dropped_and_the_user_is_told_once() {
    let scratch = started();
    let settings = json!({"redact": ["(a|aa)*c|a", "CORP-[0-9]+"], "record": true});
    fs::write(scratch.root().join(".claude/hookkeeper.json"), settings.to_string()).unwrap();
    let prompt = format!("{} CORP-481516", "a".repeat(100_000));
    let said: Vec<String> = (0..3)
        .map(|_| {
            scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": prompt}))).stdout
        })
        .collect();
    let told = said.iter().filter(|said| said.contains("takes too much work"));
    assert_eq!(told.count(), 1, "{said:?}");
    assert_eq!(leaks(&scratch, &["CORP-481516".into()]), [""; 0]);
}
