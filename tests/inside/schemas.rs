//! Every document that there is fits its schema. That the program's own checker says the same as a
//! complete implementation of JSON Schema is `tests/schemas.py`.

mod documents;
mod mutations;

use std::collections::{BTreeMap, BTreeSet};

use documents::{distinct, of_cases, of_recorded, seed, seeds};
use hookkeeper::inside::validate::schema;
use hookkeeper::inside::validate::schema::checker::Checker;
use hookkeeper::inside::validate::schema::named;
use mutations::mutations;
use serde_json::{Value, json};

/// Cases that break a document on purpose.
const BROKEN: [&str; 11] = [
    "stop/loop_in_a_file_that_cannot_be_read/",
    "stop/loop_with_a_word_for_a_number/",
    "stop/loop_whose_file_is_broken_goes_on/",
    "/unreadable_",
    "session_end/prints_nothing/",
    "session_start/bad_settings_are_reported/",
    "session_start/settings_are_reported_once/",
    "session_start/settings_that_are_no_json/",
    "stop/iterative_in_an_unknown_phase/",
    "stop/iterative_state_that_cannot_be_read/",
    "stop/iterative_state_that_is_broken_is_made_anew/",
];
/// Cases with documents that have only the fields that matter there.
const SHORT: [&str; 7] = [
    "session_end/a_resumed_session_keeps_its_archived_synthesis/",
    "session_end/results_join_an_archive_that_is_there/",
    "session_start/abandoned_session_is_closed/",
    "session_start/two_abandoned_at_once/",
    "session_start/unknown_fields_of_current_stay/",
    "stop/a_result_after_a_kill_holds/",
    "subagent_start/unknown_fields_of_the_ledger_stay/",
];

#[test]
fn documents_of_the_cases_fit() {
    let documents = of_cases();
    assert!(documents.len() > 250, "{} documents", documents.len());
    let (mut known, mut unexpected) = (BTreeSet::new(), Vec::new());
    for document in documents {
        let faults = checker(document.schema).check(&document.value);
        let is_short = faults.iter().all(|fault| fault.message.starts_with("has no `"));
        let short = SHORT.iter().filter(|_| is_short);
        match BROKEN.iter().chain(short).find(|case| document.from.contains(**case)) {
            _ if faults.is_empty() => {}
            Some(case) => drop(known.insert(*case)),
            None => unexpected.push(format!("{}: {faults:?}", document.from)),
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    assert_eq!(known.len(), BROKEN.len() + SHORT.len(), "only these do not fit: {known:?}");
}

#[test]
fn examples_of_the_seed_fit() {
    let seeds = seeds();
    assert_eq!(seeds.len(), 13);
    for document in seeds {
        let faults = checker(document.schema).check(&document.value);
        assert!(faults.is_empty(), "{}: {faults:?}", document.from);
        // A branch's state grows part by part: a loop alone is a state. A task has its units under one
        // of two names.
        if ["branch-state", "iterative"].contains(&document.schema) {
            continue;
        }
        // Most fields of an autonomous loop and of a queue have a default in the specification.
        let has_default = |key: &str| match document.schema {
            "autonomous-loop" => !["feature", "phase", "started_at", "last_updated"].contains(&key),
            "work-queue" => !["items", "iteration"].contains(&key),
            _ => false,
        };
        // The others have nothing that could be left out.
        for key in document.value.as_object().unwrap().keys() {
            let mut without = document.value.clone();
            without.as_object_mut().unwrap().remove(key);
            let faults = checker(document.schema).check(&without);
            if has_default(key) {
                assert!(faults.is_empty(), "{key}: {faults:?}");
                continue;
            }
            assert_eq!(faults[0].message, format!("has no `{key}`"), "{}", document.from);
        }
    }
}

#[test]
fn documents_of_recorded_sessions_fit() {
    let documents = of_recorded();
    for document in &documents {
        let faults = checker(document.schema).check(&document.value);
        assert!(faults.is_empty(), "{}: {faults:?}", document.from);
    }
    let seen: BTreeSet<&str> = documents.iter().map(|document| document.schema).collect();
    for schema in ["live", "current", "active", "result", "synthesis", "errors", "metrics"] {
        assert!(seen.contains(schema), "no {schema} in {seen:?}");
    }
    for schema in ["work-queue", "backup", "journal", "spool"] {
        assert!(seen.contains(schema), "no {schema} in {seen:?}");
    }
}

/// Documents and mutated ones, of each schema good and bad ones. With `HOOKKEEPER_VERDICTS=FILE` each is
/// written there with our verdict: `tests/schemas.py` asks a complete validator.
#[test]
fn mutated_documents_are_told_apart() {
    let mut lines = String::new();
    let mut counts = BTreeMap::new();
    let mut judge = |schema: &'static str, value: &Value, what: &str| {
        let good = checker(schema).check(value).is_empty();
        let line = json!({"schema": schema, "value": value, "what": what, "good": good});
        lines.push_str(&format!("{line}\n"));
        let (goods, bads) = counts.entry(schema).or_insert((0, 0));
        *if good { goods } else { bads } += 1;
    };
    for row in schema::all() {
        let documents = distinct(row.schema);
        for document in &documents {
            judge(row.schema, &document.value, &document.from);
        }
        for document in documents.iter().take(4) {
            for (what, mutated) in mutations(&document.value) {
                judge(row.schema, &mutated, &format!("{} {what}", document.from));
            }
        }
    }
    for row in schema::all() {
        let (good, bad) = counts.get(row.schema).copied().unwrap_or_default();
        assert!(
            good > 20 && bad > 20,
            "{}: {good} good and {bad} bad documents; make more cases that leave one",
            row.schema
        );
    }
    if let Some(path) = std::env::var_os("HOOKKEEPER_VERDICTS") {
        std::fs::write(path, lines).unwrap();
    }
}

#[test]
fn all_schemas_load_and_unknown_keywords_are_refused() {
    for row in schema::all() {
        let text = schema::text(row.schema);
        assert!(Checker::load(&text).is_ok(), "{}", row.schema);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["$id"], format!("{}.schema.json", row.schema));
        assert!(value["title"].is_string() && value["description"].is_string());
    }
    for (schema, why) in [
        (json!({"maxItems": 3}), "`maxItems`: this keyword is not known"),
        (
            json!({"properties": {"a": {"oneOf": []}}}),
            "`properties`: `oneOf`: this keyword is not known",
        ),
        (json!({"items": {"not": {}}}), "`items`: `not`: this keyword is not known"),
        (json!({"$defs": {"A": {"if": true}}}), "`if`: this keyword is not known"),
        (json!({"$ref": "#/$defs/B"}), "`$ref`: there is no B"),
        (json!({"$ref": "other.json"}), "`$ref`: only #/$defs/NAME is known"),
        (json!({"enum": [1]}), "`enum`: only strings and null are known"),
        (json!({"type": "text"}), "`type`: there is no type text"),
        (json!({"pattern": "("}), "`pattern`: "),
    ] {
        let refused = Checker::load(&schema.to_string()).err().unwrap_or_default();
        assert!(refused.starts_with(why), "{schema}: {refused:?}");
    }
}

#[test]
fn faults_say_where_and_what() {
    let faults = |schema: &str, value: Value| -> Vec<String> {
        let faults = checker(named(schema).unwrap().schema).check(&value);
        faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect()
    };
    let mut active: Value = seed("active.json");
    active["agents"][0]["started"] = json!(7);
    assert_eq!(
        faults("active", active.clone()),
        ["/agents/0/started: is a number, must be a string"]
    );
    active["agents"][0]["started"] = json!("yesterday");
    active["agents"][0]["status"] = json!("asleep");
    active["total_spawned"] = json!(-1);
    assert_eq!(
        faults("active", active),
        [
            "/agents/0/started: is \"yesterday\", must be like 2026-01-29T10:30:00Z",
            "/agents/0/status: is \"asleep\", must be one of \"running\", \"answered\", \"ending\"",
            "/total_spawned: is -1, must be at least 0",
        ]
    );
    let mut current = seed("current.json");
    current["lineage"] = json!({"parent": 1});
    current["agents_spawned"] = json!(1.5);
    current["git_branch"] = json!([]);
    assert_eq!(
        faults("current", current),
        [
            "/git_branch: is a list, must be a string or null",
            "/agents_spawned: is 1.5, must be a whole number",
            "/lineage/parent: is a number, must be a string",
        ]
    );
    let mut metrics = seed("metrics.json");
    metrics["sessions"][0]["commands"] = json!({"a/b~c": "often"});
    assert_eq!(
        faults("metrics", metrics),
        ["/sessions/0/commands/a~1b~0c: is a string, must be a whole number"]
    );
    assert_eq!(faults("journal", json!(null)), [": is null, must be an object"]);
}

fn checker(schema: &'static str) -> &'static Checker {
    use std::sync::OnceLock;
    static CHECKERS: OnceLock<BTreeMap<&'static str, Checker>> = OnceLock::new();
    let load = || {
        let rows = schema::all().into_iter().map(|row| row.schema);
        rows.map(|name| (name, Checker::load(&schema::text(name)).unwrap())).collect()
    };
    &CHECKERS.get_or_init(load)[schema]
}
