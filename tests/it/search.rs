//! `search`: a text in journals, results and hand-offs.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Scratch, event, good, misused};

/// Two sessions: a prompt, an agent with a finding, an error; the first one has ended.
fn shop() -> Scratch {
    let mut scratch = Scratch::new();
    let say = |time: &str, session: &str, name: &str, fields: Value| {
        scratch.at(time).hook(&event(session, name, fields));
    };
    say(
        "2026-01-20T10:00:00Z",
        "s1",
        "UserPromptSubmit",
        json!({"prompt": "Look at the TILL first"}),
    );
    say(
        "2026-01-20T10:01:00Z",
        "s1",
        "SubagentStart",
        json!({"agent_id": "a1", "agent_type": "Explore"}),
    );
    let report = "## Findings\n\n- **[S1]** The till has no limit (src/till.ts:7).\n";
    say(
        "2026-01-20T10:02:00Z",
        "s1",
        "SubagentStop",
        json!({"agent_id": "a1", "agent_type": "Explore",
        "last_assistant_message": report, "background_tasks": [], "stop_hook_active": false}),
    );
    say(
        "2026-01-20T10:03:00Z",
        "s1",
        "PostToolUseFailure",
        json!({"tool_name": "Bash",
        "tool_use_id": "t1", "tool_input": {"command": "make"}, "is_interrupt": false,
        "error": "Exit code 2\nmake: *** No rule to make target 'till'"}),
    );
    say("2026-01-20T10:04:00Z", "s1", "SessionEnd", json!({"reason": "other"}));
    say(
        "2026-01-29T10:00:00Z",
        "s2",
        "UserPromptSubmit",
        json!({"prompt": "Say \"größer\" at the till"}),
    );
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-01-29T10:30:00Z".into());
    scratch
}

fn hits(scratch: &Scratch, args: &[&str]) -> Vec<Value> {
    let said = good(scratch.run(&[&["search", "--json", "-n", "0"], args].concat(), b""));
    serde_json::from_str::<Value>(&said).unwrap()["hits"].as_array().unwrap().clone()
}

fn kinds(hits: &[Value]) -> Vec<&str> {
    hits.iter().map(|hit| hit["kind"].as_str().unwrap()).collect()
}

#[test]
fn everything_is_found_the_newest_first_with_the_place_to_look_on() {
    let scratch = shop();
    let all = hits(&scratch, &["Till"]);
    let mut some = kinds(&all);
    some.sort_unstable();
    assert_eq!(some, ["error", "finding", "prompt", "prompt", "report"], "{all:?}");
    let times: Vec<&str> = all.iter().map(|hit| hit["time"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|one, other| one >= other), "{times:?}");
    assert_eq!(all[0]["session"], "s2");
    let look = |kind: &str| {
        all.iter().rfind(|hit| hit["kind"] == kind).unwrap()["look"].as_str().unwrap().to_owned()
    };
    assert_eq!(look("prompt"), "hookkeeper sessions show s1");
    assert_eq!(look("finding"), "hookkeeper agents show a1");
    assert!(look("error").starts_with("hookkeeper errors show error-"), "{}", look("error"));
    // What is named there can be looked at.
    assert!(good(scratch.run(&["agents", "show", "a1"], b"")).contains("no limit"));
    for kind in ["prompt", "report", "error", "finding"] {
        let only = hits(&scratch, &["till", "--kind", kind]);
        assert!(!only.is_empty() && kinds(&only).iter().all(|found| *found == kind), "{only:?}");
    }
    assert_eq!(hits(&scratch, &["till", "--since", "2d"]).len(), 1);
    assert_eq!(hits(&scratch, &["\"GRÖßER\""]).len(), 1);
    assert!(hits(&scratch, &["UserPromptSubmit"]).is_empty(), "what we did is no hit");
    let said = good(scratch.run(&["search", "till", "-n", "1"], b""));
    assert!(said.contains("There are older ones") && said.contains("at the till"), "{said}");
}

#[test]
fn results_are_searched_whole_and_hand_offs_too() {
    let scratch = shop();
    let archive = scratch.state().join("agents/results-archive/s1/a1.json");
    let mut result: Value = serde_json::from_slice(&fs::read(&archive).unwrap()).unwrap();
    result["report"] = format!("{} zanzibar", "long ".repeat(10_000)).into();
    fs::write(&archive, result.to_string()).unwrap();
    assert_eq!(kinds(&hits(&scratch, &["Zanzibar"])), ["report"]);
    fs::write(&archive, "{\"report\": \"zanzibar").unwrap();
    let said = good(scratch.run(&["search", "zanzibar"], b""));
    assert!(said.contains("Left out: 1 place that cannot be read."), "{said}");
    let folder = scratch.root().join(".claude/branches/main/handoffs");
    fs::create_dir_all(&folder).unwrap();
    let text = "---\ntype: task\ntimestamp: 2026-01-28T09:00:00Z\n---\n\n# Go on in Zanzibar\n";
    fs::write(folder.join("task-2026-01-28.md"), text).unwrap();
    let found = hits(&scratch, &["zanzibar", "--kind", "handoff"]);
    assert_eq!(found[0]["look"], ".claude/branches/main/handoffs/task-2026-01-28.md");
    assert_eq!(found[0]["time"], "2026-01-28T09:00:00.000Z");
}

#[test]
fn journals_that_are_cut_damaged_huge_or_newer_are_no_reason_to_fail() {
    let scratch = shop();
    assert_eq!(
        good(Scratch::new().run(&["search", "x"], b"")).trim(),
        "Nothing that is kept says so. Nothing is kept yet; whether hooks are wired: hookkeeper doctor"
    );
    misused(&scratch.run(&["search", " "], b""), "there is no text");
    misused(&scratch.run(&["search", "x", "--since", "soon"], b""), "is no time");
    let journal = scratch.state().join("journal/s1.jsonl");
    let mut bytes = fs::read(&journal).unwrap();
    let newer = r#"{"v":99,"time":"2026-01-20T10:00:00.000Z","kind":"prompt","session":"s1","text":"quark"}"#;
    let good_line = newer.replace("99", "1").replace("quark", "Quark soup");
    bytes.extend(format!("\0\u{1b}quark\n{newer}\n").bytes());
    // A line that nobody of us wrote, longer than any block.
    bytes.extend(vec![b'x'; 3 << 20]);
    bytes.extend(format!(" quark\n{good_line}\n{}", good_line.get(..60).unwrap()).bytes());
    fs::write(&journal, bytes).unwrap();
    let said = good(scratch.run(&["search", "quark", "--json"], b""));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["hits"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(said["hits"][0]["text"], "Quark soup");
    assert_eq!(said["unreadable"], 2, "the damaged one and the newer one");
}

#[test]
fn hits_are_one_table_with_the_time_at_which_it_was_said() {
    let scratch = shop();
    let mut here = scratch.at("2026-01-29T10:30:00Z");
    here.env.insert("TZ".into(), "UTC".into());
    let say = |time: &str, name: &str, fields: Value| {
        scratch.at(time).hook(&event("s3", name, fields));
    };
    let agent = json!({"agent_id": "a3", "agent_type": "Explore"});
    let call = json!({"tool_name": "Agent", "tool_use_id": "c3", "tool_input": {"description": "Look",
        "subagent_type": "Explore", "prompt": "Count the\nspoons in the drawer"}});
    say("2026-01-29T09:00:00Z", "PreToolUse", call);
    say("2026-01-29T09:00:01Z", "SubagentStart", agent.clone());
    let mut end = agent;
    end["last_assistant_message"] = "There are no spoons in the drawer.".into();
    say("2026-01-29T09:05:00Z", "SubagentStop", end);
    // As people see it, whatever is between the words.
    let found = hits(&scratch, &["the spoons"]);
    assert_eq!(kinds(&found), ["prompt"], "{found:?}");
    assert!(found[0]["time"].as_str().unwrap().starts_with("2026-01-29T09:00:0"), "{found:?}");
    assert_eq!(hits(&scratch, &["the  SPOONS\tin"]).len(), 1);
    assert_eq!(hits(&scratch, &["count thespoons"]).len(), 0);
    let text = good(here.run(&["search", "the"], b""));
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with("    ")).collect();
    let column = |row: &str| row.find("  s").unwrap();
    assert!(rows.len() > 3 && rows.iter().all(|row| column(row) == column(rows[0])), "{text}");
    say("2026-01-29T09:06:00Z", "PreCompact", json!({"trigger": "auto"}));
    say(
        "2026-01-29T09:07:00Z",
        "PostCompact",
        json!({"trigger": "auto", "compact_summary": "The spoons are gone"}),
    );
    let other = hits(&scratch, &["spoons", "--kind", "other"]);
    assert_eq!(kinds(&other), ["other"], "{other:?}");
}

/// No more is kept than will be shown, and the newest of it.
#[test]
fn of_a_common_word_the_newest_are_found() {
    let scratch = shop();
    let line = |n: usize| {
        json!({"v": 1, "time": format!("2026-01-22T{:02}:{:02}:{:02}.000Z", n / 3600, n / 60 % 60, n % 60),
            "kind": "prompt", "session": "s9", "text": format!("Mend the till, part {n}")})
    };
    let text: String = (0..3000).map(|n| format!("{}\n", line(n))).collect();
    fs::write(scratch.state().join("journal/s9.jsonl"), text).unwrap();
    let said = good(scratch.run(&["search", "till", "--json", "-n", "5"], b""));
    let said: Value = serde_json::from_str(&said).unwrap();
    let texts: Vec<&str> =
        said["hits"].as_array().unwrap().iter().map(|hit| hit["text"].as_str().unwrap()).collect();
    assert_eq!(texts[0], "Say \"größer\" at the till");
    assert_eq!(texts[1..], [2999, 2998, 2997, 2996].map(|n| format!("Mend the till, part {n}")));
    assert_eq!(said["has_more"], true);
    assert_eq!(hits(&scratch, &["mend the till"]).len(), 3000);
}
