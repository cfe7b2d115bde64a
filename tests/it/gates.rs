//! What `run-gate` reads from the output of test runners, compilers and linters.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Scratch, good};

/// Each file has what is to be read (`issues N`, `coverage N`), a line of dashes, and the output.
#[test]
fn the_output_of_a_gate_is_counted() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/test_output");
    let scratch = Scratch::new();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let (head, output) = text.split_once("----\n").unwrap();
        let wanted = |key: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(key));
            line.map_or(Value::Null, |value| serde_json::from_str(value.trim()).unwrap())
        };
        let printed = scratch.root().join("output");
        fs::write(&printed, output).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        good(scratch.run(&["run-gate", name, "--", "cat", printed.to_str().unwrap()], b""));
        let gate = &scratch.doc("loop/work_queue.json")["gate_results"][name];
        let number = |value: &Value| value.as_f64();
        for key in ["issues", "coverage"] {
            if number(&gate[key]) != number(&wanted(key)) {
                wrong.push(format!("{name}: {key} is {}, not {}", gate[key], wanted(key)));
            }
        }
        seen += 1;
    }
    assert!(seen >= 20, "{seen} outputs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_said_by_hand_holds() {
    let scratch = Scratch::new();
    let run = ["run-gate", "test", "--issues", "5", "--", "echo", "== 3 failed in 0.1s =="];
    let said = good(scratch.run(&run, b""));
    assert!(said.contains("Tests: pass (exit 0, 0.0 s, 5 issues)"), "{said}");
    let gates = scratch.doc("loop/work_queue.json")["gate_results"].clone();
    assert_eq!(gates["test"]["issues"], 5);
}
