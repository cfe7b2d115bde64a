//! The witness: the agents of a branch from their start to their end, and which of them are stuck.

use std::fs;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::support::books::validate;
use crate::support::{Run, Scratch, event, good, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";
const BOOK: &str = ".claude/branches/unknown/agents.json";

/// A project whose clock we set, with one live session.
struct Shop {
    scratch: Scratch,
    start: DateTime<Utc>,
}

impl Shop {
    fn new() -> Self {
        let start = DateTime::parse_from_rfc3339("2026-01-29T10:00:00Z").unwrap().to_utc();
        let mut shop = Self { scratch: Scratch::new(), start };
        shop.at(0, 0);
        shop.send("SessionStart", json!({"source": "startup"}));
        shop
    }

    /// So long after the start.
    fn at(&mut self, minutes: i64, seconds: i64) -> &mut Self {
        let now = self.start + TimeDelta::seconds(60 * minutes + seconds);
        self.scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), now.to_rfc3339());
        self
    }

    fn send(&self, name: &str, fields: Value) -> Value {
        self.send_as(SESSION, name, fields)
    }

    fn send_as(&self, session: &str, name: &str, mut fields: Value) -> Value {
        fields["transcript_path"] = json!(self.transcripts(session).with_extension("jsonl"));
        let reply = self.scratch.hook(&event(session, name, fields)).stdout;
        if reply.is_empty() { Value::Null } else { serde_json::from_str(&reply).unwrap() }
    }

    fn starts(&self, id: &str) {
        self.send("SubagentStart", json!({"agent_id": id, "agent_type": "general-purpose"}));
    }

    fn stops(&self, id: &str, words: &str) {
        self.send(
            "SubagentStop",
            json!({"agent_id": id, "agent_type": "general-purpose", "last_assistant_message": words}),
        );
    }

    fn transcripts(&self, session: &str) -> PathBuf {
        self.scratch.home().join(".claude/projects/shop").join(session)
    }

    /// An agent wrote a line into its transcript, so long after the start.
    fn writes(&self, id: &str, minutes: i64, seconds: i64) {
        let path = self.transcripts(SESSION).join(format!("subagents/agent-{id}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}\n").unwrap();
        let when = self.start + TimeDelta::seconds(60 * minutes + seconds);
        fs::File::options().write(true).open(path).unwrap().set_modified(when.into()).unwrap();
    }

    /// What the model hears of stuck agents when a session starts.
    fn heard(&self, session: &str, source: &str) -> String {
        let reply = self.send_as(session, "SessionStart", json!({"source": source}));
        let text = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
        let lines = text.lines().skip_while(|line| !line.contains(" stuck, "));
        let lines: Vec<&str> = lines
            .take_while(|line| line.contains(" stuck, ") || line.starts_with("  - "))
            .collect();
        lines.join("\n")
    }

    fn book(&self) -> Value {
        serde_json::from_slice(&fs::read(self.scratch.root().join(BOOK)).unwrap()).unwrap()
    }

    fn entry(&self, id: &str) -> Value {
        let book = self.book();
        let entry = book["agents"].as_array().unwrap().iter().find(|entry| entry["id"] == id);
        entry.unwrap_or_else(|| panic!("no {id} in {book}")).clone()
    }

    /// Spawned, completed, failed, stuck.
    fn counts(&self) -> [u64; 4] {
        let stats = &self.book()["stats"];
        ["total_spawned", "completed", "failed", "stuck"].map(|key| stats[key].as_u64().unwrap())
    }

    fn run(&self, args: &[&str]) -> Run {
        self.scratch.run(args, b"")
    }
}

#[test]
fn who_works_is_not_stuck_and_who_is_silent_is() {
    let mut shop = Shop::new();
    shop.starts("busy");
    shop.at(34, 0).starts("silent");
    assert_eq!(shop.counts(), [2, 0, 0, 0]);
    // Forty minutes old, and wrote a line ten seconds ago; six minutes old, and said nothing since.
    shop.writes("busy", 39, 50);
    shop.writes("silent", 33, 0);
    let heard = shop.at(40, 0).heard(SESSION, "compact");
    assert_eq!(
        heard.lines().collect::<Vec<_>>(),
        [
            "- 1 agent stuck, running and silent for more than 5 minutes (`hookkeeper agents nudge ID` sends it a note, TaskStop or /tasks stops it; if it finishes after all, it counts as completed):",
            "  - silent (general-purpose): task not known, for 6m 00s, silent 6m 00s",
        ]
    );
    assert_eq!(
        (shop.entry("busy")["status"].as_str(), shop.entry("silent")["status"].as_str()),
        (Some("running"), Some("stuck"))
    );
    assert_eq!(shop.counts(), [2, 0, 0, 1]);
    let listed = good(shop.run(&["agents", "stuck"]));
    assert!(
        listed.contains("\nsilent  running")
            && !listed.contains("busy")
            && listed.contains("agents nudge ID"),
        "{listed}"
    );
    let view = good(shop.run(&["branch", "show"]));
    assert!(view.contains("2 spawned: 0 completed, 0 failed, 2 running (1 stuck)\n"), "{view}");
    assert!(view.contains("silent  stuck    general-purpose  for 6m 00s, silent 6m 00s"), "{view}");
    assert!(view.contains("busy    running  general-purpose  for 40m 00s, silent 10s"), "{view}");
    assert_eq!(validate(&shop.scratch, &[]).0, 0);

    // A tool call is a sign of life, and so is one that failed.
    for (minute, name) in [(41, "PostToolUse"), (50, "PostToolUseFailure")] {
        let call = json!({"agent_id": "silent", "agent_type": "general-purpose", "tool_name": "Read",
            "tool_use_id": "t", "tool_input": {"file_path": "x"}, "tool_response": {}, "error": "no"});
        shop.at(minute, 0).send(name, call);
        assert_eq!(
            (shop.entry("silent")["status"].as_str(), shop.counts()[3]),
            (Some("running"), 0),
            "{name}"
        );
        shop.writes("busy", minute + 4, 0);
        assert_eq!(shop.at(minute + 4, 59).heard("other", "startup"), "");
        shop.writes("busy", minute + 5, 0);
        let heard = shop.at(minute + 5, 1).heard("other", "startup");
        assert!(heard.contains("  - silent (general-purpose): task not known, for "), "{heard}");
        assert_eq!(shop.counts(), [2, 0, 0, 1]);
    }
    // It finishes after all.
    shop.at(58, 0).stops("silent", "  It took\nlong.  ");
    let entry = shop.entry("silent");
    assert_eq!(
        (&entry["status"], &entry["result"], &entry["completed_at"]),
        (&json!("completed"), &json!("It took long."), &json!("2026-01-29T10:58:00Z"))
    );
    assert_eq!(shop.counts(), [2, 1, 0, 0]);
    shop.stops("silent", "again");
    assert_eq!(shop.counts(), [2, 1, 0, 0]);
    shop.writes("busy", 57, 59);
    assert_eq!(shop.heard("other", "startup"), "");
    // A turn ends and the client does not list the other one: it is lost, and that is no success.
    shop.send("Stop", json!({"background_tasks": [], "last_assistant_message": "x"}));
    assert_eq!(
        (shop.entry("busy")["status"].as_str(), shop.entry("busy")["result"].as_str()),
        (Some("failed"), Some("lost"))
    );
    assert_eq!(shop.counts(), [2, 1, 1, 0]);
    // One that was resumed runs again, and is counted when it ends.
    shop.at(59, 0).starts("busy");
    assert_eq!(shop.counts(), [2, 1, 0, 0]);
    shop.at(60, 0).stops("busy", "Done.");
    assert_eq!(shop.counts(), [2, 2, 0, 0]);
    assert_eq!(shop.entry("busy")["spawned_at"], "2026-01-29T10:59:00Z");
}

#[test]
fn every_end_is_written_down() {
    let mut shop = Shop::new();
    for id in ["quiet", "api", "open", "killed"] {
        shop.starts(id);
    }
    shop.stops("never-seen", "I was here.");
    shop.send("SubagentStop", json!({"agent_id": "quiet", "agent_type": "general-purpose"}));
    shop.send("StopFailure", json!({"agent_id": "api", "error": "overloaded", "last_assistant_message": "API Error: Overloaded"}));
    assert_eq!(shop.counts(), [5, 1, 2, 0]);
    assert_eq!(
        (shop.entry("quiet")["result"].as_str(), shop.entry("api")["result"].as_str()),
        (Some("interrupted"), Some("API Error: Overloaded"))
    );
    // The session ends with two of them; the book stays.
    shop.at(1, 0).send("SessionEnd", json!({"reason": "other"}));
    assert_eq!(shop.counts(), [5, 1, 4, 0]);
    assert_eq!(shop.entry("open")["status"], "failed");
    shop.send_as("second", "SessionStart", json!({"source": "startup"}));
    shop.send_as("second", "SubagentStart", json!({"agent_id": "later", "agent_type": "Explore"}));
    assert_eq!(shop.counts(), [6, 1, 4, 0]);
    // An entry that no session knows any more cannot be running.
    let mut book = shop.book();
    book["agents"].as_array_mut().unwrap().push(json!({"id": "ghost", "type": "x", "description": null,
        "spawned_at": "2026-01-29T10:00:00Z", "spawned_epoch": 1_769_680_800, "background": null, "status": "running",
        "completed_at": null, "result": null, "nudge_count": 0, "last_nudge": null, "session_id": "gone"}));
    fs::write(shop.scratch.root().join(BOOK), book.to_string()).unwrap();
    shop.send_as("second", "SessionStart", json!({"source": "compact"}));
    assert_eq!(
        (shop.entry("ghost")["status"].as_str(), shop.entry("later")["status"].as_str()),
        (Some("failed"), Some("running"))
    );
    assert_eq!(validate(&shop.scratch, &[]).0, 0);
}

#[test]
fn what_it_was_called_for_is_filled_in_when_it_is_certain() {
    let shop = Shop::new();
    let call = |id: &str, what: &str| json!({"tool_name": "Agent", "tool_use_id": id, "tool_input": {"description": what, "prompt": "p"}});
    let answer = |id: &str, what: &str, agent: &str| {
        let mut answer = call(id, what);
        answer["tool_response"] =
            json!({"status": "async_launched", "agentId": agent, "agentType": "general-purpose"});
        answer
    };
    // The answer comes after the start, before it, and after the end.
    shop.starts("a");
    shop.send("PostToolUse", answer("t1", "Audit the login", "a"));
    shop.send("PostToolUse", answer("t2", "Audit the logout", "b"));
    shop.starts("b");
    shop.starts("c");
    shop.stops("c", "Done.");
    assert_eq!(shop.entry("c")["description"], Value::Null);
    shop.send("PostToolUse", answer("t3", "Audit the rest, password=hunter2hunter2", "c"));
    for (id, what) in [("a", "Audit the login"), ("b", "Audit the logout")] {
        let entry = shop.entry(id);
        assert_eq!((&entry["description"], &entry["background"]), (&json!(what), &json!(true)));
    }
    let entry = shop.entry("c");
    assert!(entry["description"].as_str().unwrap().starts_with("Audit the rest"), "{entry}");
    assert!(!shop.book().to_string().contains("hunter2"));
    // The client's own list names one at the end of a turn.
    shop.starts("d");
    let listed = json!([{"id": "a", "type": "subagent", "status": "running"}, {"id": "b", "type": "subagent", "status": "running"},
        {"id": "d", "type": "subagent", "status": "running", "description": "Audit it all"}]);
    shop.send("Stop", json!({"background_tasks": listed, "last_assistant_message": "x"}));
    assert_eq!(shop.entry("d")["description"], "Audit it all");
    assert_eq!(shop.counts(), [4, 1, 0, 0]);
}

#[test]
fn nudges_are_counted_over_all_runs_and_told_once() {
    let mut shop = Shop::new();
    refused(&shop.run(&["agents", "nudge", "a"]), "no agent is running");
    shop.starts("a");
    good(shop.at(6, 0).run(&["agents", "nudge", "a", "--message", "How far are you?"]));
    let entry = shop.entry("a");
    assert_eq!(
        (&entry["nudge_count"], &entry["last_nudge"]),
        (&json!(1), &json!("2026-01-29T10:06:00Z"))
    );
    let heard = shop.at(7, 0).heard("other", "startup");
    assert!(heard.ends_with("for 7m 00s, silent 7m 00s, nudged 1 time"), "{heard}");
    let call = || {
        let call = json!({"agent_id": "a", "agent_type": "general-purpose", "tool_name": "Read", "tool_use_id": "t",
            "tool_input": {"file_path": "x"}, "tool_response": {}});
        shop.send("PostToolUse", call).to_string()
    };
    assert!(call().contains("How far are you?"));
    assert!(!call().contains("How far are you?"));
    assert_eq!(shop.entry("a")["status"], "running");
    shop.stops("a", "Here.");
    shop.starts("a");
    let said = good(shop.run(&["agents", "nudge", "a"]));
    assert!(said.contains("nudged (2 times)"), "{said}");
    assert_eq!(shop.entry("a")["nudge_count"], 2);
    assert_eq!(shop.counts(), [1, 0, 0, 0]);
}

#[test]
fn the_threshold_is_a_setting() {
    let mut shop = Shop::new();
    shop.starts("a");
    fs::write(shop.scratch.root().join(".claude/hookkeeper.json"), "{\"stuck_after_minutes\": 30}")
        .unwrap();
    assert_eq!(shop.at(30, 0).heard("other", "startup"), "");
    let heard = shop.at(30, 1).heard("other", "startup");
    assert!(
        heard.starts_with("- 1 agent stuck, running and silent for more than 30 minutes"),
        "{heard}"
    );
}

#[test]
fn one_that_runs_again_after_its_entry_was_dropped_is_counted_once() {
    let shop = Shop::new();
    let all = std::iter::once("first".to_owned()).chain((0..100).map(|n| format!("a{n}")));
    for id in all {
        shop.starts(&id);
        shop.stops(&id, "done");
    }
    assert_eq!(shop.counts(), [101, 101, 0, 0]);
    shop.starts("first");
    assert_eq!(shop.counts(), [101, 100, 0, 0]);
    shop.stops("first", "done again");
    assert_eq!(shop.counts(), [101, 101, 0, 0]);
}

#[test]
fn one_that_a_session_knows_is_not_closed() {
    let shop = Shop::new();
    shop.starts("a1");
    refused(&shop.run(&["agents", "close", "a1"]), "runs in session");
    refused(&shop.run(&["agents", "close", "zz"]), "zz");
}

#[test]
fn a_running_agent_is_not_struck_off() {
    let shop = Shop::new();
    shop.starts("a241c8cb");
    for named in ["a241c8cb", "a24"] {
        refused(&shop.run(&["agents", "close", named]), "agent a241c8cb runs in session");
    }
    assert_eq!(shop.entry("a241c8cb")["status"], "running");
}

/// The agent's side file, as the client writes it.
fn side_file(shop: &Shop, place: &str, fields: &Value) {
    let path = shop.transcripts(SESSION).join("subagents").join(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, fields.to_string()).unwrap();
}

#[test]
fn every_view_looks_at_the_side_files_and_shows_who_started_whom() {
    let shop = Shop::new();
    shop.starts("a1");
    shop.starts("a2");
    shop.send("SubagentStart", json!({"agent_id": "a3", "agent_type": "workflow-subagent"}));
    side_file(
        &shop,
        "agent-a1.meta.json",
        &json!({"agentType": "general-purpose", "description": "Outer work"}),
    );
    side_file(
        &shop,
        "agent-a2.meta.json",
        &json!({"agentType": "general-purpose", "description": "Inner work", "parentAgentId": "a1"}),
    );
    side_file(
        &shop,
        "workflows/wf_1/agent-a3.meta.json",
        &json!({"agentType": "workflow-subagent", "description": "review:auth"}),
    );
    let listed = good(shop.run(&["agents"]));
    let lines: Vec<&str> = listed.lines().skip(1).collect();
    assert!(lines[0].starts_with("a1 ") && lines[0].ends_with("Outer work"), "{listed}");
    assert!(lines[1].starts_with("└ a2 ") && lines[1].ends_with("Inner work"), "{listed}");
    assert!(lines[2].starts_with("a3 ") && lines[2].ends_with("review:auth"), "{listed}");
    let status = good(shop.run(&["status"]));
    for task in ["Outer work", "Inner work", "review:auth"] {
        assert!(status.contains(task), "{task}: {status}");
    }
    assert!(status.contains("└ a2"), "{status}");
    assert!(good(shop.run(&["agents", "show", "a2"])).contains("started by: agent a1\n"));
    // The next event writes it down.
    shop.send("UserPromptSubmit", json!({"prompt": "How far are they?"}));
    let active = shop.scratch.doc("agents/active.json");
    let tasks: Vec<&str> =
        active["agents"].as_array().unwrap().iter().map(|a| a["task"].as_str().unwrap()).collect();
    assert_eq!(tasks, ["Outer work", "Inner work", "review:auth"]);
    assert_eq!(active["agents"][2]["workflow"], "wf_1");
}

/// The transcript of a workflow's agent is elsewhere, and it grows.
#[test]
fn an_agent_of_a_workflow_that_writes_is_not_stuck() {
    let mut shop = Shop::new();
    shop.send("SubagentStart", json!({"agent_id": "a3", "agent_type": "workflow-subagent"}));
    let meta = json!({"agentType": "workflow-subagent", "description": "review:auth"});
    side_file(&shop, "workflows/wf_1/agent-a3.meta.json", &meta);
    side_file(&shop, "workflows/wf_1/agent-a3.jsonl", &json!({}));
    let path = shop.transcripts(SESSION).join("subagents/workflows/wf_1/agent-a3.jsonl");
    let when = shop.start + TimeDelta::seconds(60 * 39);
    fs::File::options().write(true).open(path).unwrap().set_modified(when.into()).unwrap();
    shop.at(40, 0);
    assert!(good(shop.run(&["agents", "stuck"])).contains("No agent is stuck"));
    shop.at(50, 0);
    assert!(good(shop.run(&["agents", "stuck"])).contains("review:auth"));
}
