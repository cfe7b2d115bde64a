//! Payloads that the real client sent, played in their order. `tests/payloads` has them all.

use serde_json::{Value, json};

use crate::support::{Scratch, recorded_payloads, tree};

/// Plays a recorded scenario up to (not including) the first payload whose name contains `until`.
fn play(scratch: &Scratch, scenario: &str, until: &str) -> Vec<(String, Value)> {
    let payloads = recorded_payloads(scenario).into_iter();
    let played = payloads.take_while(|(name, _)| until.is_empty() || !name.contains(until));
    played
        .map(|(name, payload)| {
            let run = scratch.hook(&payload);
            let reply = serde_json::from_str(&run.stdout).unwrap_or(Value::String(run.stdout));
            (name, reply)
        })
        .collect()
}

fn finish(scratch: &Scratch, scenario: &str) {
    let (_, end) = recorded_payloads(scenario).pop().unwrap();
    scratch.hook(&end);
}

fn session_of(scenario: &str) -> String {
    recorded_payloads(scenario)[0].1["session_id"].as_str().unwrap().to_owned()
}

fn live(scratch: &Scratch, scenario: &str) -> Value {
    scratch.doc(&format!("session/live/{}.json", session_of(scenario)))
}

fn metrics(scratch: &Scratch) -> Vec<Value> {
    scratch.doc("session/metrics.json")["sessions"].as_array().unwrap().clone()
}

/// What the model was told, all in one.
fn told(replies: &[(String, Value)]) -> String {
    let context = |(_, reply): &(String, Value)| {
        reply["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
    };
    replies.iter().filter_map(context).collect::<Vec<_>>().join("\n")
}

fn strings(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| one[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn implement_login() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "implement-login", "SessionEnd");
    let session = session_of("implement-login");

    assert_eq!(scratch.names("session/live"), [format!("{session}.json")]);
    let current = scratch.doc("session/current.json");
    assert_eq!(current["files_modified"], json!(["src/auth/login.ts"]));
    assert_eq!(current["agents_spawned"], 2);
    assert_eq!(current["errors_encountered"], 4);
    assert_eq!(current["task"], "implement login for users");

    let active = scratch.doc("agents/active.json");
    assert_eq!(active["agents"], json!([]));
    assert_eq!((&active["total_spawned"], &active["total_completed"]), (&json!(2), &json!(2)));
    let task = |id: &str| scratch.doc(&format!("agents/results/{id}.json"))["task"].clone();
    assert_eq!(task("a849e6a7ce0708706"), "Audit authentication implementation");
    assert_eq!(task("a0f70f058ee74f941"), "Map the auth module");

    let synthesis = scratch.doc("agents/results/synthesis.json");
    assert_eq!(strings(&synthesis["findings"], "severity"), ["S1", "S2", "S3"]);
    let sources: Vec<&Value> =
        synthesis["findings"].as_array().unwrap().iter().map(|f| &f["agents"][0]).collect();
    assert_eq!(sources, ["a849e6a7ce0708706", "a0f70f058ee74f941", "a849e6a7ce0708706"]);
    assert_eq!(told(&replies).matches("3 marked findings (").count(), 1);

    let errors = scratch.doc("errors/classified.json");
    let classes = strings(&errors["errors"], "classification");
    assert_eq!(classes[..3], ["network", "syntax", "permission"]);
    let statuses = strings(&errors["errors"], "status");
    assert_eq!(statuses[..3], ["pending_retry", "logged", "escalated"]);
    assert_eq!(errors["summary"]["total"], 4);
    assert_eq!(scratch.doc("loop/work_queue.json")["items"][0]["priority"], "S1");

    finish(&scratch, "implement-login");
    let entries = metrics(&scratch);
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["agents"], json!({"spawned": 2, "completed": 2, "failed": 0}));
    assert_eq!(entries[0]["errors"]["total"], 4);
    assert_eq!(entries[0]["errors"]["escalated"], 1);
    assert_eq!(entries[0]["files_modified"], 1);
    assert_eq!(entries[0]["quality"]["issues_found"], 3, "a mistyped one-liner is none");
    assert_eq!(
        scratch.names(&format!("agents/results-archive/{session}")),
        ["a0f70f058ee74f941.json", "a849e6a7ce0708706.json", "synthesis.json"]
    );
    assert_eq!(scratch.doc("agents/active.json")["agents"], json!([]));
    assert_eq!(scratch.names("session/live"), Vec::<String>::new());
    assert!(!scratch.exists("session/current.json"));
    assert!(!scratch.exists("errors/classified.json"));

    for (name, bytes) in tree(&scratch.state()) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sk-test-FAKE0123456789abcdef"), "the key is in {name}");
    }
}

#[test]
fn resume_and_compact() {
    let scratch = Scratch::new();
    play(&scratch, "first-turn", "");
    let replies = play(&scratch, "resume-and-compact", "SessionEnd");

    assert_eq!(scratch.names("compaction").len(), 1);
    let backup = scratch.doc(&format!("compaction/{}", scratch.names("compaction")[0]));
    assert_eq!(backup["reason"], "manual: keep the plan");
    assert_eq!(backup["session_id"], session_of("resume-and-compact").as_str());
    assert_eq!(live(&scratch, "resume-and-compact")["agents_spawned"], 0, "the helper is no agent");
    assert_eq!(live(&scratch, "resume-and-compact")["compactions"], 1);
    let after = replies.iter().find(|(name, _)| name.starts_with("04")).unwrap();
    assert_eq!(told(std::slice::from_ref(after)), "", "a greeting is nothing to give back");

    finish(&scratch, "resume-and-compact");
    let entries = metrics(&scratch);
    assert_eq!(entries.len(), 1, "one entry per session id");
    assert_eq!(entries[0]["compactions"], 1);
    assert_eq!(entries[0]["agents"]["spawned"], 0);
    assert_eq!(scratch.names("compaction").len(), 1);
}

#[test]
fn resume_and_compact_without_the_first_turn() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "resume-and-compact", "SessionEnd");
    assert_eq!(scratch.names("compaction").len(), 1);
    assert_eq!(told(&replies), "", "nothing is known, so nothing is said");
}

#[test]
fn background_agent() {
    let scratch = Scratch::new();
    play(&scratch, "background-agent", "13-");
    let active = scratch.doc("agents/active.json");
    assert_eq!(active["agents"][0]["task"], "audit auth");
    assert_eq!(active["agents"][0]["background"], true);

    let scratch = Scratch::new();
    play(&scratch, "background-agent", "SessionEnd");
    let result = scratch.doc("agents/results/ac22dcd4a33dbee73.json");
    assert_eq!((&result["task"], &result["status"]), (&json!("audit auth"), &json!("success")));
    assert_eq!(result["findings"], json!([]), "prose without a mark is no finding");
    let live = live(&scratch, "background-agent");
    assert_eq!(live["task"], "do the thing", "a notification is no task");
    assert_eq!((&live["agents_spawned"], &live["agents_completed"]), (&json!(1), &json!(1)));
    assert_eq!(live["errors_encountered"], 2);

    finish(&scratch, "background-agent");
    assert_eq!(metrics(&scratch)[0]["agents"], json!({"spawned": 1, "completed": 1, "failed": 0}));
}

#[test]
fn fork() {
    let scratch = Scratch::new();
    play(&scratch, "fork", "SessionEnd");
    assert_eq!(live(&scratch, "fork")["source"], "fork");
    assert_eq!(live(&scratch, "fork")["lineage"], Value::Null, "its transcript is not here");
    finish(&scratch, "fork");
    assert_eq!(metrics(&scratch).len(), 1);
}

#[test]
fn slash_command() {
    let scratch = Scratch::new();
    play(&scratch, "slash-command", "SessionEnd");
    assert_eq!(live(&scratch, "slash-command")["commands_executed"], json!(["loop"]));
    finish(&scratch, "slash-command");
    assert_eq!(metrics(&scratch)[0]["commands"], json!({"loop": 1}));
}

#[test]
fn stop_failures() {
    for (scenario, class, status) in [
        ("stop-failure-rate-limit", "rate_limit", "pending_retry"),
        ("stop-failure-invalid-request", "unknown", "logged"),
    ] {
        let scratch = Scratch::new();
        play(&scratch, scenario, "SessionEnd");
        let errors = scratch.doc("errors/classified.json");
        assert_eq!(strings(&errors["errors"], "classification"), [class]);
        assert_eq!(errors["errors"][0]["status"], status);
        finish(&scratch, scenario);
        assert_eq!(metrics(&scratch)[0]["errors"]["total"], 1);
    }
}

#[test]
fn stop_blocked_three_times() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "stop-blocked-three-times", "SessionEnd");
    assert_eq!(told(&replies), "", "no loop of ours runs: nothing is said");
    assert!(replies.iter().all(|(_, reply)| *reply == json!("")));
    finish(&scratch, "stop-blocked-three-times");
    assert_eq!(metrics(&scratch)[0]["ended"], "other");
}

/// These payloads were not recorded: they have the shape that the client documents.
#[test]
fn notification() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "notification", "");
    let printed =
        replies.iter().filter(|(name, reply)| name.contains("Notification") && reply != "");
    assert_eq!(printed.count(), 0);
    let book = scratch.doc("notifications.json");
    let types = strings(&book["notifications"], "type");
    assert_eq!(types, ["permission_prompt", "idle_prompt"]);
    assert_eq!(book["type_counts"], json!({"idle_prompt": 1, "permission_prompt": 1}));
    assert_eq!(scratch.names("session/live"), Vec::<String>::new());
}

/// Calls that the client did not carry out, beside files that quote its words.
#[test]
fn refused_calls() {
    let scratch = Scratch::new();
    play(&scratch, "refused-calls", "Stop");
    let errors = scratch.doc("errors/classified.json");
    let found: Vec<(&str, &str, u64)> = errors["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| {
            let text = |key: &str| error[key].as_str().unwrap();
            (text("target"), text("classification"), error["occurrences"].as_u64().unwrap())
        })
        .collect();
    let expected = [
        // The text that is not there, and the wrong parameters.
        ("Edit README.md", "deterministic", 2),
        ("Nonsense", "deterministic", 1),
        ("Read missing.txt", "deterministic", 1),
        ("Bash exit 3", "unknown", 1),
        ("Read", "deterministic", 1),
        ("Grep", "deterministic", 1),
    ];
    assert_eq!(found, expected);
    finish(&scratch, "refused-calls");
    assert_eq!(metrics(&scratch)[0]["errors"]["total"], 6);
}

#[test]
fn denied_calls() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "denied-calls", "Stop");
    let errors = scratch.doc("errors/classified.json");
    let classes = strings(&errors["errors"], "classification");
    assert_eq!(classes, ["permission", "permission", "permission", "deterministic", "permission"]);
    assert!(told(&replies).contains("ask the user for leave to run it"));
    finish(&scratch, "denied-calls");
    let scratch = Scratch::new();
    play(&scratch, "auto-mode-denied", "Stop");
    let errors = scratch.doc("errors/classified.json");
    assert_eq!(errors["summary"]["total"], 2, "the denied call and its batch are one error");
    finish(&scratch, "auto-mode-denied");
}

#[test]
fn a_switch_of_the_model() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "model-switch", "");
    assert_eq!(told(&replies), "");
    assert_eq!(metrics(&scratch)[0]["model"], "claude-sonnet-5-5");
}

/// No settings file is wired here, so there is nothing to say.
#[test]
fn a_change_of_the_settings() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "config-change", "SessionEnd");
    assert!(replies.iter().all(|(_, reply)| *reply == json!("")), "{replies:?}");
    finish(&scratch, "config-change");
}

/// Spawned, completed, failed.
fn counts(scratch: &Scratch) -> Vec<u64> {
    let entry = metrics(scratch).pop().unwrap();
    ["spawned", "completed", "failed"].map(|key| entry["agents"][key].as_u64().unwrap()).to_vec()
}

#[test]
fn the_agents_of_a_workflow_work_on_after_the_turn() {
    let scratch = Scratch::new();
    play(&scratch, "workflow", "13-");
    let running = live(&scratch, "workflow");
    assert_eq!(
        strings(&running["agents"], "type"),
        ["workflow-subagent", "workflow-subagent"],
        "the turn was over, and they are not in the client's list"
    );
    assert_eq!(running["workflow_runs"][0]["name"], "review-all");
    let scratch = Scratch::new();
    let replies = play(&scratch, "workflow", "SessionEnd");
    assert!(told(&replies).contains("2 marked findings (2 S1)"), "{}", told(&replies));
    assert_eq!(live(&scratch, "workflow")["workflow_runs"], Value::Null);
    finish(&scratch, "workflow");
    assert_eq!(counts(&scratch), [2, 2, 0]);
}

#[test]
fn agents_of_an_agent_work_on_after_the_turn() {
    let scratch = Scratch::new();
    play(&scratch, "nested-agents", "16-");
    let running = live(&scratch, "nested-agents");
    assert_eq!(running["agents"].as_array().unwrap().len(), 3, "{running}");
    let scratch = Scratch::new();
    let replies = play(&scratch, "nested-agents", "SessionEnd");
    finish(&scratch, "nested-agents");
    assert_eq!(counts(&scratch), [3, 3, 0]);
    assert!(told(&replies).contains("2 marked findings"), "{}", told(&replies));
    let archive = format!("agents/results-archive/{}", session_of("nested-agents"));
    for id in ["aaef99c6ea6271186", "a111d099a4c328258"] {
        let result = scratch.doc(&format!("{archive}/{id}.json"));
        assert_eq!(result["parent_agent"], "a454bf8c27c4bd40b", "{result}");
    }
}

#[test]
fn teammates_run_beside_the_session_and_again() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "agent-team", "SessionEnd");
    let team = live(&scratch, "agent-team");
    assert_eq!(team["agents"], json!([]), "idle is not at work");
    finish(&scratch, "agent-team");
    assert_eq!(counts(&scratch), [3, 3, 0]);
    let archive = format!("agents/results-archive/{}", session_of("agent-team"));
    let alice = scratch.doc(&format!("{archive}/aalice-120e65e27b0cad74.json"));
    assert_eq!((&alice["task"], &alice["run"]), (&json!("mate alice"), &json!(1)));
    assert_eq!(alice["team"], "session-eb3ac2f7");
    let found = scratch.doc(&format!("{archive}/synthesis.json"));
    let titles = strings(&found["findings"], "title");
    assert_eq!(titles, ["mate two found", "mate one found", "inner found"]);
    // The client gives the lead what they say; no event of ours comes with it.
    assert_eq!(told(&replies), "");
}

#[test]
fn who_resumes_a_session_hears_of_the_agent_that_its_client_took_along() {
    let scratch = Scratch::new();
    let replies = play(&scratch, "ended-with-an-agent", "");
    let told = told(&replies);
    assert_eq!(told.matches("1 agent lost when the client ended").count(), 1, "{told}");
    assert!(told.contains("a241c8cb61b363142 (general-purpose): slow audit"), "{told}");
    assert_eq!(counts(&scratch), [1, 0, 1]);
}
