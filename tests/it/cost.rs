//! What sessions used and cost: counted again from the transcripts, by a second and simple count.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Scratch, event, good, misused, refused};

/// Dollars for a million tokens: input, output, cache read. Written down apart from the program's table.
const OPUS: (&str, f64, f64, f64) = ("claude-opus-5-5", 4.0, 20.0, 0.2);
const HAIKU: (&str, f64, f64, f64) = ("claude-haiku-4-5", 1.0, 5.0, 0.1);
const OLDER_OPUS: (&str, f64, f64, f64) = ("claude-opus-4-", 5.0, 25.0, 0.5);
const PRICES: [(&str, f64, f64, f64); 3] = [OPUS, HAIKU, OLDER_OPUS];

/// Of clients that wrote no cost line of their own.
const WITHOUT_COST_LINE: [&str; 5] = [
    "background-agent",
    "implement-login",
    "resume-and-compact",
    "client-2.1.139",
    "client-2.1.200",
];

fn recorded(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(name);
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap()
}

/// The lines of a recorded transcript that have this field.
fn lines_with(transcript: &Path, key: &str) -> Vec<Value> {
    let text = fs::read_to_string(transcript).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get(key).is_some()).collect()
}

fn agents_of(transcript: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(transcript.with_extension("").join("subagents")) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    paths
}

/// Input, output, cache writes, cache reads; dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Naive([u64; 4], f64);

/// The last line of each message in all files, by who said it.
fn naive(transcript: &Path) -> BTreeMap<String, Naive> {
    let mut by_thread: BTreeMap<String, Naive> = BTreeMap::new();
    let mut files = vec![(String::new(), transcript.to_owned())];
    for path in agents_of(transcript) {
        let name = path.file_stem().unwrap().to_str().unwrap().replacen("agent-", "", 1);
        files.push((name, path));
    }
    for (thread, path) in files {
        let mut last: BTreeMap<String, Value> = BTreeMap::new();
        for line in fs::read_to_string(path).unwrap().lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let message = &line["message"];
            if line["type"] == "assistant"
                && message["model"] != "<synthetic>"
                && message["usage"].is_object()
            {
                last.insert(message["id"].as_str().unwrap().to_owned(), message.clone());
            }
        }
        for message in last.values() {
            let usage = &message["usage"];
            let count = |key: &str| usage[key].as_u64().unwrap_or(0);
            let hour = usage["cache_creation"]["ephemeral_1h_input_tokens"].as_u64().unwrap_or(0);
            let tokens = [
                count("input_tokens"),
                count("output_tokens"),
                count("cache_creation_input_tokens"),
                count("cache_read_input_tokens"),
            ];
            let model = message["model"].as_str().unwrap();
            let price = PRICES.into_iter().find(|price| model.starts_with(price.0)).unwrap();
            let sum = by_thread.entry(thread.clone()).or_default();
            (0..4).for_each(|n| sum.0[n] += tokens[n]);
            sum.1 += (tokens[0] as f64 * price.1
                + tokens[1] as f64 * price.2
                + (tokens[2] - hour) as f64 * price.1 * 1.25
                + hour as f64 * price.1 * 2.0
                + tokens[3] as f64 * price.3)
                / 1e6;
        }
    }
    by_thread
}

fn in_all(by_thread: &BTreeMap<String, Naive>) -> Naive {
    by_thread.values().fold(Naive::default(), |mut all, one| {
        (0..4).for_each(|n| all.0[n] += one.0[n]);
        all.1 += one.1;
        all
    })
}

fn tokens(value: &Value) -> [u64; 4] {
    ["input", "output", "cache_creation", "cache_read"].map(|key| value[key].as_u64().unwrap())
}

fn same_dollars(said: &Value, counted: f64) -> bool {
    said.as_f64().is_some_and(|said| (said - counted).abs() < 2e-6)
}

fn begin(scratch: &Scratch, session: &str, transcript: &Path) {
    let fields = json!({"prompt": "Count it", "transcript_path": transcript});
    scratch.hook(&event(session, "UserPromptSubmit", fields));
}

fn end(scratch: &Scratch, session: &str, transcript: &Path) {
    let fields = json!({"reason": "other", "transcript_path": transcript});
    scratch.hook(&event(session, "SessionEnd", fields));
}

fn asked(scratch: &Scratch, args: &[&str]) -> Value {
    serde_json::from_str(&good(scratch.run(args, b""))).unwrap()
}

fn line(id: &str, model: &str, usage: Value, day: &str) -> Value {
    json!({"type": "assistant", "timestamp": format!("{day}T10:00:00.000Z"),
        "message": {"id": id, "model": model, "usage": usage}})
}

fn write(scratch: &Scratch, name: &str, lines: &[Value]) -> PathBuf {
    let path = scratch.home().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn recorded_sessions_are_counted_as_by_a_second_count_live_and_ended() {
    for transcript in WITHOUT_COST_LINE.map(recorded) {
        let scratch = Scratch::new();
        let id = transcript.file_stem().unwrap().to_str().unwrap();
        let counted = naive(&transcript);
        let all = in_all(&counted);
        assert!(all.0[0] > 0 && all.1 > 0.0, "{}", transcript.display());
        begin(&scratch, id, &transcript);
        let check = |when: &str| {
            let cost = asked(&scratch, &["cost", "--json"]);
            assert_eq!(tokens(&cost["total"]), all.0, "{when} {}", transcript.display());
            assert!(same_dollars(&cost["total"]["cost_usd"], all.1), "{when} {cost} {all:?}");
            assert_eq!(cost["total"]["estimated"], true);
            let cost = asked(&scratch, &["cost", "--by", "agent", "--json"]);
            let lines = cost["lines"].as_array().unwrap();
            assert_eq!(lines.len(), counted.len(), "{when} {cost}");
            for line in lines {
                let agent = line["agent"].as_str().unwrap().replace("main thread", "");
                assert_eq!(tokens(line), counted[&agent].0, "{when} {line}");
                assert!(same_dollars(&line["cost_usd"], counted[&agent].1), "{when} {line}");
            }
        };
        check("live");
        end(&scratch, id, &transcript);
        check("ended");
        let entry = &scratch.doc("session/metrics.json")["sessions"][0];
        assert_eq!(tokens(&entry["tokens"]), all.0);
        assert!(same_dollars(&entry["cost_usd"], all.1));
    }
}

/// The client counts requests that no transcript keeps: here the summary of a compaction. Its agents are
/// told apart as before, the rest is the main thread's.
#[test]
fn the_newest_client_s_own_account_holds_for_tokens_too() {
    let transcript = recorded("client-2.1.327");
    let told = lines_with(&transcript, "totalCostUSD").pop().unwrap();
    let used = &told["modelUsage"][OPUS.0];
    let keys = ["inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens"];
    let own = keys.map(|key| used[key].as_u64().unwrap());
    let counted = naive(&transcript);
    let answers = in_all(&counted);
    assert_eq!((own[0], answers.0[0]), (8000, 7000), "the recording has such a request");
    let scratch = Scratch::new();
    begin(&scratch, "s1", &transcript);
    for when in ["live", "ended"] {
        let cost = asked(&scratch, &["cost", "--by", "agent", "--json"]);
        assert_eq!(tokens(&cost["total"]), own, "{when}");
        assert_eq!(cost["total"]["cost_usd"], told["totalCostUSD"], "{when}");
        assert_eq!(cost["total"]["estimated"], false, "{when}");
        let mut dollars = 0.0;
        for line in cost["lines"].as_array().unwrap() {
            dollars += line["cost_usd"].as_f64().unwrap();
            match line["agent"].as_str().unwrap() {
                "main thread" => assert_eq!(tokens(line)[0], counted[""].0[0] + 1000, "{when}"),
                agent => assert_eq!(tokens(line), counted[agent].0, "{when}"),
            }
        }
        assert!(same_dollars(&told["totalCostUSD"], dollars), "{when} {dollars}");
        end(&scratch, "s1", &transcript);
    }
    let sessions = good(scratch.run(&["sessions"], b""));
    assert!(sessions.contains("8.2k") && sessions.contains("$0.0352"), "{sessions}");
}

/// A fork begins with the other session's answers, and the client's account has them too.
#[test]
fn a_fork_counts_what_it_used_itself() {
    let transcript = recorded("client-2.1.327-fork");
    assert_eq!(lines_with(&transcript, "requestSessionId").len(), 1, "one answer is a copy");
    let told = lines_with(&transcript, "totalCostUSD").pop().unwrap();
    assert_eq!((&told["totalCostUSD"], in_all(&naive(&transcript)).0[0]), (&json!(0.0088), 2000));
    let scratch = Scratch::new();
    begin(&scratch, "s1", &transcript);
    let cost = asked(&scratch, &["cost", "--json"]);
    assert_eq!(tokens(&cost["total"]), [1000, 20, 0, 0]);
    assert!(same_dollars(&cost["total"]["cost_usd"], 0.0044), "{cost}");
}

/// The first clients wrote the dollars beside every answer.
#[test]
fn the_oldest_client_s_dollars_are_its_own() {
    let transcript = recorded("client-0.2.126");
    let answers = lines_with(&transcript, "costUSD");
    let dollars: f64 = answers.iter().map(|line| line["costUSD"].as_f64().unwrap()).sum();
    assert!(answers.len() == 2 && dollars > 0.0);
    let scratch = Scratch::new();
    begin(&scratch, "s1", &transcript);
    let cost = asked(&scratch, &["cost", "--json"]);
    assert!(same_dollars(&cost["total"]["cost_usd"], dollars), "{cost}");
    assert_eq!((&cost["total"]["estimated"], tokens(&cost["total"])[0]), (&json!(false), 2000));
}

#[test]
fn repeated_lines_synthetic_models_and_kinds_of_cache_are_counted_once_and_right() {
    let scratch = Scratch::new();
    let day = "2026-01-29";
    let part = json!({"input_tokens": 10, "output_tokens": 1});
    let whole = json!({"input_tokens": 10, "output_tokens": 500, "cache_read_input_tokens": 7000,
        "cache_creation_input_tokens": 900, "cache_creation": {"ephemeral_1h_input_tokens": 400}});
    let mut agents_line = line("m3", HAIKU.0, whole.clone(), day);
    agents_line["isSidechain"] = true.into();
    let mut forked = line("m0", OPUS.0, whole.clone(), day);
    forked["forkedFrom"] = json!({"sessionId": "s0"});
    let transcript = write(
        &scratch,
        "t/s1.jsonl",
        &[
            line("m1", OPUS.0, part.clone(), day),
            line("m2", HAIKU.0, part.clone(), day),
            line("m1", OPUS.0, whole.clone(), day),
            line("m9", "<synthetic>", json!({"input_tokens": 5000}), day),
            json!({"type": "user", "message": {"content": "\"usage\" \"costUSD\":5"}}),
        ],
    );
    write(&scratch, "t/s1/subagents/agent-a1.jsonl", &[agents_line.clone(), agents_line]);
    let all = in_all(&naive(&transcript));
    assert_eq!(all.0, [30, 1001, 1800, 14_000], "the second count itself");
    // What was copied from another session is that one's.
    let text = fs::read_to_string(&transcript).unwrap();
    fs::write(&transcript, format!("{forked}\n{text}")).unwrap();
    begin(&scratch, "s1", &transcript);
    let cost = asked(&scratch, &["cost", "--by", "model", "--json"]);
    assert_eq!(tokens(&cost["total"]), all.0);
    assert!(same_dollars(&cost["total"]["cost_usd"], all.1), "{cost} {all:?}");
    assert_eq!(cost["lines"].as_array().unwrap().len(), 2, "{cost}");
}

#[test]
fn the_client_s_own_figures_hold_and_later_answers_are_added() {
    let scratch = Scratch::new();
    let day = "2026-01-29";
    let used = json!({"input_tokens": 1_000_000});
    let mut lines =
        vec![line("m1", OPUS.0, used.clone(), day), json!({"type": "cost", "totalCostUSD": 5.0})];
    let transcript = write(&scratch, "t/s1.jsonl", &lines);
    let mut agents_line = line("a1", HAIKU.0, used.clone(), day);
    agents_line["isSidechain"] = true.into();
    write(&scratch, "t/s1/subagents/agent-a1.jsonl", &[agents_line]);
    begin(&scratch, "s1", &transcript);
    let cost = asked(&scratch, &["cost", "--by", "agent", "--json"]);
    assert_eq!(
        (&cost["total"]["cost_usd"], &cost["total"]["estimated"]),
        (&json!(5.0), &json!(false))
    );
    // 4 and 1 by the table: the client's total is what is shared out.
    let usd: Vec<&Value> =
        cost["lines"].as_array().unwrap().iter().map(|line| &line["cost_usd"]).collect();
    assert_eq!(usd, [&json!(4.0), &json!(1.0)]);
    // It goes on, and its client writes no further total.
    lines.push(json!({"type": "assistant", "timestamp": "2026-01-30T10:00:00.000Z",
        "message": {"id": "m2", "model": HAIKU.0, "usage": used}}));
    write(&scratch, "t/s1.jsonl", &lines);
    let cost = asked(&scratch, &["cost", "--json"]);
    assert_eq!(
        (&cost["total"]["cost_usd"], &cost["total"]["estimated"]),
        (&json!(6.0), &json!(true))
    );
    // Clients of long ago said it of each answer, and wrote agents into the session's transcript.
    let scratch = Scratch::new();
    let mut old = line("m1", "claude-3-opus-20240229", json!({"input_tokens": 10}), day);
    old["costUSD"] = 0.25.into();
    let mut aside = old.clone();
    aside["message"]["id"] = "m2".into();
    aside["isSidechain"] = true.into();
    let transcript = write(&scratch, "t/s1.jsonl", &[old.clone(), old, aside]);
    begin(&scratch, "s1", &transcript);
    let cost = asked(&scratch, &["cost", "--by", "agent", "--json"]);
    assert_eq!(
        (&cost["total"]["cost_usd"], &cost["total"]["estimated"]),
        (&json!(0.5), &json!(false))
    );
    assert_eq!(cost["total"]["input"], 20);
    assert_eq!(cost["lines"].as_array().unwrap().len(), 2);
}

#[test]
fn a_price_that_nobody_knows_is_said_and_not_guessed() {
    let scratch = Scratch::new();
    let day = "2026-01-29";
    let used = json!({"input_tokens": 1_000_000});
    let lines = [line("m1", "gpt-6", used.clone(), day), line("m2", OPUS.0, used, day)];
    let transcript = write(&scratch, "t/s1.jsonl", &lines);
    begin(&scratch, "s1", &transcript);
    end(&scratch, "s1", &transcript);
    let entry = &scratch.doc("session/metrics.json")["sessions"][0];
    assert_eq!((&entry["cost_usd"], &entry["tokens"]["input"]), (&Value::Null, &json!(2_000_000)));
    let cost = asked(&scratch, &["cost", "--json"]);
    assert_eq!(cost["total"]["unpriced"], json!(["gpt-6"]));
    assert_eq!(cost["total"]["cost_usd"], 4.0);
    let said = good(scratch.run(&["cost", "--by", "model"], b""));
    assert!(said.contains("gpt-6") && said.contains("not known"), "{said}");
    assert!(said.contains("$4.00+"), "{said}");
}

#[test]
fn what_was_known_stays_when_the_client_has_deleted_its_transcripts() {
    let scratch = Scratch::new();
    let used = json!({"input_tokens": 1_000_000});
    let lines =
        [line("m1", OPUS.0, used.clone(), "2026-01-20"), line("m2", HAIKU.0, used, "2026-01-29")];
    let transcript = write(&scratch, "t/s1.jsonl", &lines);
    begin(&scratch, "s1", &transcript);
    end(&scratch, "s1", &transcript);
    fs::remove_file(&transcript).unwrap();
    let total = || asked(&scratch, &["cost", "--json"])["total"]["cost_usd"].clone();
    assert_eq!(total(), 5.0);
    begin(&scratch, "s1", &transcript);
    assert_eq!(total(), 5.0, "live again");
    end(&scratch, "s1", &transcript);
    assert_eq!(total(), 5.0, "ended again");
    let days = asked(&scratch, &["cost", "--by", "day", "--json"]);
    let names: Vec<&Value> =
        days["lines"].as_array().unwrap().iter().map(|line| &line["day"]).collect();
    assert_eq!(names, ["2026-01-29", "2026-01-20"]);
    let late = asked(&scratch, &["cost", "--since", "2026-01-25", "--json"]);
    assert_eq!(
        (&late["total"]["cost_usd"], &late["total"]["input"]),
        (&json!(1.0), &json!(1_000_000))
    );
    // One whose transcript nobody ever saw is named, not counted as nothing.
    begin(&scratch, "s2", Path::new("/nowhere/s2.jsonl"));
    let cost = asked(&scratch, &["cost", "--json"]);
    assert_eq!(cost["sessions_without_usage"], 1);
    assert!(good(scratch.run(&["cost"], b"")).contains("Not in it: 1 session"), "{cost}");
}

#[test]
fn tables_for_people_and_for_spreadsheets() {
    let scratch = Scratch::new();
    assert_eq!(good(scratch.run(&["cost"], b"")).trim(), "No session is known yet.");
    assert!(good(scratch.run(&["recap"], b"")).contains("No session since"));
    let lines = [line("m1", "=cmd,\"x\"", json!({"input_tokens": 12_345}), "2026-01-29")];
    let transcript = write(&scratch, "t/s1.jsonl", &lines);
    begin(&scratch, "s1", &transcript);
    let csv = good(scratch.run(&["cost", "--by", "model", "--csv"], b""));
    assert!(csv.contains("\n\"'=cmd,\"\"x\"\"\",,,1,12345,0,0,0,,"), "{csv}");
    assert!(good(scratch.run(&["cost"], b"")).contains("12.3k"));
    misused(&scratch.run(&["cost", "--since", "soon"], b""), "is no time");
}

#[test]
fn a_recap_counts_what_the_metrics_say_and_damaged_lines_are_left_out() {
    let mut scratch = Scratch::new();
    scratch.env.insert("HOOKKEEPER_FIXED_TIME".into(), "2026-01-29T10:30:00Z".into());
    let entry = |id: &str, date: &str, verdict: Value| {
        json!({"session_id": id, "date": date, "duration_minutes": 5, "commands": {},
            "agents": {"spawned": 3, "completed": 3, "failed": 0},
            "quality": {"issues_found": 4, "issues_fixed": 1, "coverage_delta": null},
            "errors": {"total": 2, "recovered": 1, "escalated": 0}, "ended": "other",
            "compactions": 1, "loop": verdict, "cost_usd": 1.5, "files_modified": 2,
            "tokens": {"input": 1000, "output": 20, "cache_creation": 0, "cache_read": 7}})
    };
    let folder = scratch.state().join("session");
    fs::create_dir_all(&folder).unwrap();
    let now = [entry("a", "2026-01-28", json!("complete")), entry("b", "2026-01-29", Value::Null)];
    fs::write(folder.join("metrics.json"), json!({"sessions": now}).to_string()).unwrap();
    let old = [entry("a", "2026-01-27", Value::Null), entry("c", "2026-01-01", Value::Null)];
    let archive = format!("{}\n{{\"session_id\": \"cut\n{}\n", old[0], old[1]);
    fs::write(folder.join("metrics-archive.jsonl"), archive).unwrap();
    scratch.trust();
    let recap = asked(&scratch, &["recap", "--json"]);
    assert_eq!((&recap["sessions"], &recap["agents"]), (&json!(2), &json!(6)));
    assert_eq!(recap["findings"], json!({"found": 8, "fixed": 2}));
    assert_eq!(recap["errors"], json!({"total": 4, "recovered": 2}));
    assert_eq!((&recap["compactions"], &recap["loops_completed"]), (&json!(2), &json!(1)));
    assert_eq!((&recap["cost_usd"], &recap["tokens"]["input"]), (&json!(3.0), &json!(2000)));
    assert_eq!(recap["damaged_lines"], 1);
    assert_eq!(asked(&scratch, &["recap", "--since", "60d", "--json"])["sessions"], 3);
    let markdown = good(scratch.run(&["recap", "--markdown"], b""));
    assert!(
        markdown.starts_with("### 2 sessions since 2026-01-22\n\n- **sessions**: 2\n"),
        "{markdown}"
    );
    assert!(markdown.contains("- **cost**: $3.00\n"), "{markdown}");
    assert!(markdown.contains("1 line of the archive"), "{markdown}");
    fs::write(folder.join("metrics.json"), "{").unwrap();
    refused(&scratch.run(&["cost"], b""), "metrics.json cannot be read");
}
