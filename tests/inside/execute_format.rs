//! The examples of the execution format, read by the library and by the program.

use std::fs;

use hookkeeper::inside::execute::document::parse;
use hookkeeper::inside::validate::schema;
use hookkeeper::inside::validate::schema::checker::Checker;
use serde_json::{Value, json};

use crate::support::execution::{Plan, TWO};
use crate::support::{good, refused};

#[test]
fn the_examples_of_the_format_load_and_stay() {
    let plan = Plan::new(&TWO);
    let example: Value =
        serde_json::from_str(include_str!("../seeds/003/execute-state.json")).unwrap();
    let state = serde_json::to_value(parse(example.to_string().as_bytes()).unwrap()).unwrap();
    assert_eq!(state, example);
    let checker = Checker::load(&schema::text("execute-state")).unwrap();
    assert!(checker.check(&example).is_empty());
    // It was not begun by this program, which does not know its base branch.
    plan.put("execute-state.json", &example);
    refused(&plan.run("next", &[]), "was not made on this machine");
    let tasks = plan.tasks.display().to_string();
    good(plan.scratch.run(&["trust", "--yes", "--tasks", &tasks], b""));
    // The project that it names is not here: nobody knows its base branch.
    refused(&plan.run("next", &[]), "was not begun by `hookkeeper execute init`");
    assert_eq!(plan.state(), example);
    // Unknown fields survive.
    fs::remove_file(plan.file()).unwrap();
    plan.init(&[]);
    let mut state = plan.state();
    state["note"] = json!("mine");
    state["tasks"]["L1-001"]["owner"] = json!("me");
    state["metrics"]["cost"] = json!(3.5);
    plan.put("execute-state.json", &state);
    plan.good("start", &["L1-001"]);
    let state = plan.state();
    assert_eq!(
        (&state["note"], &state["tasks"]["L1-001"]["owner"], &state["metrics"]["cost"]),
        (&json!("mine"), &json!("me"), &json!(3.5))
    );
}
