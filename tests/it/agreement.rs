//! One figure everywhere: what one command says of tokens, dollars and days, the others say too.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Scratch, event, good};

/// A session in which this model answered once at this time; the clock is there already.
fn begin(scratch: &Scratch, session: &str, model: &str, time: &str) -> Value {
    let transcript = scratch.home().join(format!("{session}.jsonl"));
    let usage = json!({"input_tokens": 4_000, "output_tokens": 168});
    let line = json!({"type": "assistant", "timestamp": time,
        "message": {"id": session, "model": model, "usage": usage}});
    fs::write(&transcript, format!("{line}\n")).unwrap();
    let fields = json!({"prompt": format!("Ask {model}"), "transcript_path": transcript});
    scratch.at(time).hook(&event(session, "UserPromptSubmit", fields));
    json!({"reason": "other", "transcript_path": transcript})
}

fn used(scratch: &Scratch, session: &str, model: &str, time: &str) {
    let end = begin(scratch, session, model, time);
    scratch.at(time).hook(&event(session, "SessionEnd", end));
}

const PRICED: &str = "claude-opus-4-5";
const UNPRICED: &str = "claude-opus-9-9";

fn two_models() -> Scratch {
    let scratch = Scratch::new();
    used(&scratch, "s-priced", PRICED, "2026-01-29T10:30:00.000Z");
    used(&scratch, "s-unpriced", UNPRICED, "2026-01-29T11:30:00.000Z");
    scratch
}

fn report(scratch: &Scratch, args: &[&str]) -> String {
    good(scratch.run(&[&["report", "-o", "r.html", "--force"], args].concat(), b""));
    fs::read_to_string(scratch.root().join("r.html")).unwrap()
}

/// The words of a table in a report, row by row.
fn table(page: &str, caption: &str) -> Vec<Vec<String>> {
    let table = page.split(&format!("<caption>{caption}</caption>")).nth(1);
    let table = table.unwrap_or_else(|| panic!("no table `{caption}`"));
    let body = table.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap();
    let row = |row: &str| {
        let cells = row.split('<').filter_map(|tag| tag.split_once('>'));
        let texts = cells.map(|(_, text)| text.trim().to_owned());
        texts.filter(|text| !text.is_empty()).collect()
    };
    body.split("<tr").skip(1).map(row).collect()
}

#[test]
fn a_price_that_is_not_known_is_said_everywhere() {
    let scratch = two_models();
    let cost = good(scratch.run(&["cost"], b""));
    assert!(cost.contains("~$0.0242+") && cost.contains(&format!("not known: {UNPRICED}.")));
    let page = report(&scratch, &["--since", "2026-01-01"]);
    let headline =
        page.split("data-figure=\"cost\"").nth(1).unwrap().split("</div>").next().unwrap();
    assert!(headline.contains("<dd>~$0.0242+<small>without claude-opus-9-9"), "{headline}");
    assert!(page.contains(&format!("because the price is not known: {UNPRICED}.")), "a note");
    assert_eq!(
        table(&page, "Cost by session"),
        [
            ["s-unpric", "Ask claude-opus-9-9", "not known"],
            ["s-priced", "Ask claude-opus-4-5", "~$0.0242"]
        ]
    );
    let rows = table(&page, "Sessions");
    assert_eq!(rows[0][rows[0].len() - 2], "not known", "{rows:?}");
    let sessions = good(scratch.run(&["sessions"], b""));
    assert!(sessions.contains("  ~$0.0242  ") && sessions.contains("  not known  "), "{sessions}");
    let shown = good(scratch.run(&["sessions", "show", "s-priced"], b""));
    assert!(shown.contains("cost: ~$0.0242 ~: not the client's own figures"), "{shown}");
    // A project of which nothing is priced costs nobody knows what, not nothing.
    for (session, ends) in [("s-priced", false), ("s-unpriced", true)] {
        let page = report(&scratch, &[session]);
        assert_eq!(page.contains("<dd>not known<small>"), ends, "{session}");
        assert!(!page.contains("$0.00"), "{session}");
    }
    let metrics = scratch.state().join("session/metrics.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&metrics).unwrap()).unwrap();
    document["sessions"].as_array_mut().unwrap().retain(|one| one["session_id"] == "s-unpriced");
    fs::write(&metrics, document.to_string()).unwrap();
    fs::remove_file(scratch.state().join("journal/s-priced.jsonl")).unwrap();
    let page = report(&scratch, &["--all-projects", "--since", "2026-01-01"]);
    assert_eq!(table(&page, "Cost by project"), [["~/shop", "not known"]]);
}

#[test]
fn what_lives_is_counted_in_all_views() {
    let scratch = Scratch::new();
    begin(&scratch, "s-live", PRICED, "2026-01-29T10:30:00.000Z");
    let here = scratch.at("2026-01-29T10:31:00Z");
    for args in [&["cost"][..], &["sessions"], &["sessions", "show", "s-live"]] {
        let text = good(here.run(args, b""));
        assert!(text.contains("~$0.0242"), "{args:?} {text}");
        assert!(args[0] == "cost" || text.contains("4.2k"), "{args:?} {text}");
    }
    let story = good(here.run(&["sessions", "show", "s-live"], b""));
    assert!(story.contains(&format!("\nmodel: {PRICED}\n")), "{story}");
    let json = good(here.run(&["sessions", "--json"], b""));
    let live = &serde_json::from_str::<Value>(&json).unwrap()["live"][0];
    assert_eq!((&live["cost_usd"], &live["tokens"]["input"]), (&json!(0.0242), &json!(4000)));
    assert_eq!((&live["session_id"], &live["cost_estimated"]), (&json!("s-live"), &json!(true)));
}

/// In Tokyo the morning of the 19th is still the 18th in UTC.
#[test]
fn a_date_is_a_day_of_the_clock_on_the_wall() {
    let mut scratch = Scratch::new();
    scratch.env.insert("TZ".into(), "Asia/Tokyo".into());
    let (before, morning) = ("2026-01-28T14:59:00.000Z", "2026-01-28T23:30:00.000Z");
    used(&scratch, "s-before", PRICED, before);
    let failure = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "curl x.test"},
        "error": "Exit code 7\nConnection refused"});
    let end = begin(&scratch, "s-morning", PRICED, morning);
    scratch.at(morning).hook(&event("s-morning", "PostToolUseFailure", failure));
    scratch.at(morning).hook(&event("s-morning", "SessionEnd", end));
    let here = scratch.at("2026-01-29T03:00:00Z");
    let since = |day: &str, args: &[&str]| good(here.run(&[args, &["--since", day]].concat(), b""));
    let log = since("2026-01-29", &["log"]);
    assert!(
        log.contains("s-mornin") && log.contains("08:30:00") && !log.contains("s-before"),
        "{log}"
    );
    assert!(since("2026-01-29", &["errors"]).contains("curl x.test"));
    assert!(since("2026-01-29", &["search", "claude"]).contains("s-mornin"));
    assert!(since("2026-01-29", &["cost"]).contains("s-mornin"));
    let recap = since("2026-01-29", &["recap"]);
    assert!(recap.starts_with("2 sessions since 2026-01-28, in UTC\n"), "{recap}");
    for (asked, says) in [
        ("1h", "since 2026-01-29, by whole days in UTC"),
        ("2026-01-28T23:00:00Z", "since 2026-01-28, by whole days in UTC"),
        ("2026-01-28T00:00:00Z", "since 2026-01-28\n"),
        ("7d", "since 2026-01-22\n"),
    ] {
        let recap = since(asked, &["recap"]);
        assert!(recap.contains(says), "{asked}: {recap}");
    }
    let page = |day: &str| {
        since(day, &["report", "-o", "r.html", "--force"]);
        fs::read_to_string(here.root().join("r.html")).unwrap()
    };
    let report = page("2026-01-29");
    assert!(report.contains("s-mornin") && !report.contains("s-before"));
    assert!(report.contains("Since 2026-01-28, by whole days in UTC."));
    assert!(!since("2026-01-30", &["log"]).contains("s-mornin"));
    // The days of usage are kept in UTC, here and there.
    used(&scratch, "s-late", PRICED, "2026-01-29T00:30:00.000Z");
    let report = page("2026-01-01");
    let text = since("2026-01-01", &["cost", "--by", "day"]);
    assert!(text.starts_with("DAY (UTC)"), "{text}");
    let json = since("2026-01-01", &["cost", "--by", "day", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let days = |of: &Value| -> Vec<Vec<String>> {
        let line = |line: &Value| {
            let usd = format!("~${:.4}", line["cost_usd"].as_f64().unwrap());
            vec![line["day"].as_str().unwrap().to_owned(), usd]
        };
        of["lines"].as_array().unwrap().iter().map(line).collect()
    };
    assert_eq!(table(&report, "Cost by day, in UTC"), days(&json));
    assert_eq!(days(&json).len(), 2);
}

/// In New York the 28th begins in the morning of the same day in UTC.
#[test]
fn a_recap_says_utc_where_the_local_day_begins_later() {
    let mut scratch = Scratch::new();
    scratch.env.insert("TZ".into(), "America/New_York".into());
    used(&scratch, "s-one", PRICED, "2026-01-28T23:30:00.000Z");
    let here = scratch.at("2026-01-29T03:00:00Z");
    let recap = good(here.run(&["recap", "--since", "2026-01-28"], b""));
    assert!(recap.starts_with("1 session since 2026-01-28, in UTC\n"), "{recap}");
    let none = good(here.run(&["recap", "--since", "2026-01-29"], b""));
    assert!(none.contains("No session since 2026-01-29, in UTC."), "{none}");
}

#[test]
fn what_a_recap_counts_is_what_the_lists_count() {
    let mut scratch = Scratch::new();
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-01-29T10:30:00Z".into());
    let entry = |id: &str| {
        json!({"session_id": id, "date": "2026-01-29", "duration_minutes": 5, "commands": {},
            "agents": {"spawned": 3, "completed": 3, "failed": 0},
            "quality": {"issues_found": 5, "issues_fixed": 1, "coverage_delta": null, "findings": 4},
            "errors": {"total": 2, "recovered": 1, "escalated": 0}, "ended": "other"})
    };
    fs::create_dir_all(scratch.state().join("session")).unwrap();
    let metrics = json!({"sessions": [entry("s-a"), entry("s-b")]});
    fs::write(scratch.state().join("session/metrics.json"), metrics.to_string()).unwrap();
    scratch.trust();
    let recap = good(scratch.run(&["recap"], b""));
    assert!(recap.contains("findings     8 found, 2 fixed\n"), "{recap}");
    assert!(recap.contains("work items   2 added, 0 done\n"), "{recap}");
    assert!(
        recap.contains("tokens       not known\n") && recap.contains("cost         not known\n"),
        "{recap}"
    );
    let used = two_models();
    for (session, model) in [("s-priced", PRICED), ("s-unpriced", UNPRICED)] {
        let story = good(used.run(&["sessions", "show", session], b""));
        assert!(story.contains(&format!("\nmodel: {model}\n")), "{story}");
    }
    let json: Value = serde_json::from_str(&good(scratch.run(&["recap", "--json"], b""))).unwrap();
    assert_eq!((&json["findings"]["found"], &json["tokens"]), (&json!(8), &Value::Null));
}
