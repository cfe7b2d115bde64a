//! `hookkeeper export` through the binary, with a collector on loopback: what is sent, what is not,
//! and what becomes of it when the collector is away, slow, or talks nonsense.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::collector::{Collector, Request, attribute};
use crate::support::dice::Dice;
use crate::support::secrets;
use crate::support::{self, Scratch, event, good, misused, refused};

const SESSION: &str = "0f3e8a2c-1111-4222-8333-444455556666";

fn exporting(collector: &Collector) -> Scratch {
    let mut scratch = Scratch::new();
    scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), collector.endpoint.clone());
    scratch
}

/// A session with a turn, an agent with a finding, tools, an error; closed at the end.
fn work(scratch: &Scratch, session: &str) {
    let say = |name: &str, fields: Value| {
        scratch.hook(&event(session, name, fields));
    };
    say("SessionStart", json!({"source": "startup"}));
    say("UserPromptSubmit", json!({"prompt": "Mend the till please", "prompt_id": "p1"}));
    say("SubagentStart", json!({"agent_id": "a1", "agent_type": "Explore"}));
    say(
        "PostToolUse",
        json!({"tool_name": "Read", "tool_use_id": "t1", "tool_input": {"file_path": "/home/dev/shop/a.rs"},
            "tool_response": {}, "duration_ms": 12, "prompt_id": "p1", "agent_id": "a1"}),
    );
    let report = "## Findings\n\n- **[S1]** The till has no limit (src/till.ts:7).\n";
    say(
        "SubagentStop",
        json!({"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": report,
            "background_tasks": [], "stop_hook_active": false}),
    );
    say(
        "PostToolUseFailure",
        json!({"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": "make"},
            "is_interrupt": false, "error": "Exit code 2\nmake: *** No rule to make target 'till'",
            "prompt_id": "p1", "duration_ms": 100}),
    );
    say("Notification", json!({"notification_type": "permission_prompt", "message": "May I?"}));
    say(
        "Stop",
        json!({"prompt_id": "p1", "stop_hook_active": false, "last_assistant_message": "All done here",
            "background_tasks": []}),
    );
    say("SessionEnd", json!({"reason": "other"}));
}

fn flush(scratch: &Scratch) -> Value {
    let run = scratch.run(&["export", "flush", "--json"], b"");
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr))
}

fn status(scratch: &Scratch) -> Value {
    serde_json::from_str(&good(scratch.run(&["export", "status", "--json"], b""))).unwrap()
}

fn names<'a>(records: &'a [Value], key: &str) -> BTreeSet<&'a str> {
    records.iter().map(|record| record[key].as_str().unwrap()).collect()
}

fn uids(logs: &[Value]) -> Vec<String> {
    let uid = |log| attribute(log, "log.record.uid").unwrap().as_str().unwrap().to_owned();
    logs.iter().map(uid).collect()
}

#[test]
fn a_session_arrives_as_logs_spans_and_metrics_that_belong_together() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    good(scratch.run(&["export", "test"], b""));
    collector.forget();
    // A session that lives is sent from its start.
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    work(&scratch, SESSION);
    let done = flush(&scratch);
    assert_eq!(done["flushed"]["trouble"], Value::Null, "{done}");
    let (logs, spans, metrics) = (collector.logs(), collector.spans(), collector.metrics());
    let events = names(&logs, "eventName");
    for wanted in [
        "start",
        "prompt",
        "agent_start",
        "tool",
        "agent_end",
        "error",
        "notification",
        "stop",
        "end",
    ] {
        assert!(events.contains(format!("hookkeeper.{wanted}").as_str()), "{wanted}: {events:?}");
    }
    let traces: BTreeSet<&str> =
        names(&logs, "traceId").union(&names(&spans, "traceId")).copied().collect();
    assert_eq!(traces.len(), 1, "one session is one trace: {traces:?}");
    let by_name = |name: &str| {
        spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name}"))
    };
    let (session, turn) = (by_name("session"), by_name("invoke_agent Claude Code"));
    let (agent, tool) = (by_name("invoke_agent Explore"), by_name("execute_tool Read"));
    assert!(session.get("parentSpanId").is_none());
    assert_eq!(turn["parentSpanId"], session["spanId"]);
    assert_eq!(agent["parentSpanId"], turn["spanId"]);
    assert_eq!(tool["parentSpanId"], agent["spanId"]);
    assert_eq!(by_name("execute_tool Bash")["status"]["code"], 2);
    assert_eq!(attribute(turn, "prompt.id").unwrap(), "p1");
    assert_eq!(attribute(agent, "gen_ai.operation.name").unwrap(), "invoke_agent");
    assert_eq!(by_name("notification permission_prompt")["parentSpanId"], turn["spanId"]);
    for span in &spans {
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
    }
    let log = logs.iter().find(|log| attribute(log, "gen_ai.tool.call.id") == Some(&json!("t1")));
    assert_eq!(log.unwrap()["spanId"], tool["spanId"]);
    let metric_names = names(&metrics, "name");
    for wanted in [
        "hookkeeper.sessions",
        "hookkeeper.sessions.ended",
        "hookkeeper.turns",
        "hookkeeper.agents",
        "hookkeeper.tool.calls",
        "hookkeeper.errors",
        "hookkeeper.findings",
        "hookkeeper.hook.duration",
        "hookkeeper.sessions.live",
        "hookkeeper.agents.running",
        "hookkeeper.sessions.waiting",
    ] {
        assert!(metric_names.contains(wanted), "{wanted}: {metric_names:?}");
    }
    let resource = &collector.requests()[0].json()["resourceLogs"][0]["resource"];
    assert_eq!(attribute(resource, "service.name").unwrap(), "hookkeeper");
    assert_eq!(attribute(resource, "hookkeeper.project").unwrap(), "shop");
    // Prompts and reports stay here.
    let all: String = collector
        .requests()
        .iter()
        .map(|r| String::from_utf8_lossy(&r.body).into_owned())
        .collect();
    assert!(
        !all.contains("Mend the till")
            && !all.contains("All done here")
            && !all.contains("no limit")
    );
    // And nothing is sent twice.
    collector.forget();
    assert_eq!(flush(&scratch)["flushed"]["lines"], 0);
    assert!(collector.logs().is_empty() && collector.spans().is_empty());
    let standing = status(&scratch);
    assert_eq!(standing["waiting"]["bytes"], 0);
    assert_eq!(standing["sent"]["logs"].as_u64().unwrap() as usize, logs.len());
}

#[test]
fn prompts_and_reports_go_out_if_they_are_asked_for() {
    let collector = Collector::new();
    let mut scratch = exporting(&collector);
    let settings =
        json!({"export": {"prompts": true, "reports": true, "resource": {"team": "till"}}});
    fs::create_dir_all(scratch.home().join(".claude")).unwrap();
    fs::write(scratch.home().join(".claude/hookkeeper.json"), settings.to_string()).unwrap();
    scratch.env.insert("HOOKKEEPER_OTLP_TRACES".into(), "off".into());
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    work(&scratch, SESSION);
    flush(&scratch);
    let all: String = collector
        .requests()
        .iter()
        .map(|r| String::from_utf8_lossy(&r.body).into_owned())
        .collect();
    assert!(
        all.contains("Mend the till") && all.contains("All done here") && all.contains("no limit")
    );
    assert!(collector.spans().is_empty(), "traces are off");
    assert!(all.contains(r#"{"key":"team","value":{"stringValue":"till"}}"#));
}

#[test]
fn what_ended_before_is_left_to_backfill_which_sends_the_same_ids() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    work(&scratch, SESSION);
    let journal = fs::File::options()
        .append(true)
        .open(scratch.state().join(format!("journal/{SESSION}.jsonl")))
        .unwrap();
    let hour = Duration::from_secs(3600);
    journal.set_modified(std::time::SystemTime::now() - hour).unwrap();
    assert_eq!(flush(&scratch)["flushed"]["lines"], 0);
    good(scratch.run(&["export", "backfill", "--since", "30d"], b""));
    let first = collector.logs();
    assert!(first.len() >= 9, "{}", first.len());
    collector.forget();
    good(scratch.run(&["export", "backfill", "--since", "30d"], b""));
    assert_eq!(uids(&collector.logs()), uids(&first));
    assert_eq!(uids(&first).into_iter().collect::<BTreeSet<_>>().len(), first.len(), "each once");
    collector.forget();
    good(scratch.run(&["export", "backfill", "--since", "2999-01-01"], b""));
    assert!(collector.logs().is_empty());
    let run = scratch.run(&["export", "backfill", "--since", "often"], b"");
    misused(&run, "`often` is no time");
}

#[test]
fn a_collector_that_is_away_costs_nothing_and_loses_nothing() {
    let collector = Collector::new();
    let mut scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    // A port where nobody listens.
    scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), "http://127.0.0.1:9".into());
    work(&scratch, SESSION);
    let run = scratch.run(&["export", "flush"], b"");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("not all was sent"), "{}", run.stderr);
    let standing = status(&scratch);
    assert!(standing["waiting"]["bytes"].as_u64().unwrap() > 1000, "{standing}");
    assert_eq!(standing["trouble"]["tries"], 1);
    // As a hook it waits for its time, says nothing and never fails.
    let payload = event(SESSION, "Stop", json!({})).to_string();
    let hook = scratch.run(&["export", "flush", "--hook"], payload.as_bytes());
    assert_eq!((hook.code, hook.stdout.as_str(), hook.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(status(&scratch)["trouble"]["tries"], 1, "it was too early");
    scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), collector.endpoint.clone());
    collector.forget();
    assert_eq!(flush(&scratch)["flushed"]["trouble"], Value::Null);
    assert!(names(&collector.logs(), "eventName").contains("hookkeeper.end"));
    assert_eq!(status(&scratch)["trouble"], Value::Null);
}

#[test]
fn answers_that_mean_later_keep_everything() {
    let pages = [
        (401, "", "no"),
        (403, "", "no"),
        (404, "", "no"),
        (429, "Retry-After: 60\r\n", ""),
        (500, "", "{}"),
        (502, "", ""),
        (503, "Retry-After: nonsense\r\n", ""),
        (504, "", ""),
        (302, "Location: http://127.0.0.1:9/\r\n", ""),
        (200, "", "<html>please log in</html>"),
        (0, "", "garbage that is no HTTP at all\r\n\r\n"),
        (0, "", ""),
    ];
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    work(&scratch, SESSION);
    for (status_code, headers, body) in pages {
        collector.answer(move |_| (status_code, headers, body.to_owned()));
        let done = flush(&scratch);
        assert!(done["flushed"]["trouble"].is_string(), "{status_code} {body}: {done}");
        assert_eq!(done["flushed"]["lines"], 0, "{status_code}");
    }
    let tries = status(&scratch)["trouble"]["tries"].as_u64().unwrap() as usize;
    assert_eq!(tries, pages.len());
    let said = good(scratch.run(&["export", "status"], b""));
    assert!(said.contains("Not sent since") && said.contains("Waiting: about"), "{said}");
    let doctor = scratch.run(&["doctor", "--json"], b"");
    assert!(doctor.stdout.contains("nothing was sent since"), "{}", doctor.stdout);
    collector.answer(|_| (200, "", "{}".into()));
    collector.forget();
    assert_eq!(flush(&scratch)["flushed"]["trouble"], Value::Null);
    let logs = collector.logs();
    assert!(names(&logs, "eventName").contains("hookkeeper.end"));
    assert_eq!(uids(&logs).into_iter().collect::<BTreeSet<_>>().len(), logs.len());
}

/// An answer as it goes over the wire, its length not being what it says.
fn raw(length: usize, body: &str) -> (u16, &'static str, String) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    (0, "", head + body)
}

#[test]
fn what_is_no_answer_of_a_collector_keeps_everything() {
    let page = format!("<html>{}</html>", "log in ".repeat(20_000));
    let answers = [
        (200, "", page.clone()),
        (200, "", "a".repeat(70_000)),
        raw(5000, "<html>"),
        raw(5000, ""),
        (0, "", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}".into()),
        (200, "", "\u{0}\u{1}\u{7f}\u{0}".into()),
        (200, "", "Please log in".into()),
        (200, "", r#"{"error":"no such tenant"}"#.into()),
        (202, "", r#"{"status":"queued"}"#.into()),
    ];
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    let success = status(&scratch)["last_success"].clone();
    work(&scratch, SESSION);
    let waiting = status(&scratch)["waiting"]["bytes"].clone();
    std::thread::sleep(Duration::from_millis(1100));
    for answer in answers {
        let shown = answer.2.chars().take(60).collect::<String>();
        collector.answer(move |_| answer.clone());
        let done = flush(&scratch);
        assert!(done["flushed"]["trouble"].is_string(), "{shown}: {done}");
        let standing = status(&scratch);
        assert_eq!(standing["waiting"]["bytes"], waiting, "{shown}");
        assert_eq!(standing["last_success"], success, "{shown}");
    }
    // A refusal counts, however long its page is.
    collector.answer(move |_| (404, "", page.clone()));
    let done = flush(&scratch);
    assert!(done["flushed"]["trouble"].as_str().unwrap().contains("404"), "{done}");
    for answer in ["", "{}", r#"{"partialSuccess":{}}"#, r#"{"partialSuccess":null}"#] {
        collector.answer(move |_| (200, "", answer.into()));
        work(&scratch, &format!("s{}", answer.len()));
        assert_eq!(flush(&scratch)["flushed"]["trouble"], Value::Null, "{answer}");
        assert_eq!(status(&scratch)["waiting"]["bytes"], 0);
    }
}

#[test]
fn a_line_that_is_refused_is_dropped_and_counted_and_the_others_arrive() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    work(&scratch, SESSION);
    let is_poison = |body: &[u8]| String::from_utf8_lossy(body).contains("hookkeeper.error\"");
    collector.answer(move |request| match is_poison(&request.body) {
        true => (400, "", "bad record".into()),
        false => (200, "", "{}".into()),
    });
    collector.forget();
    let done = flush(&scratch);
    assert_eq!(done["flushed"]["trouble"], Value::Null, "{done}");
    assert!(done["flushed"]["refused"].as_u64().unwrap() >= 1);
    let standing = status(&scratch);
    assert_eq!(standing["waiting"]["bytes"], 0);
    assert!(standing["dropped"]["why"].as_str().unwrap().contains("400"), "{standing}");
    collector.answer(|_| {
        let partial =
            json!({"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}});
        (200, "", partial.to_string())
    });
    work(&scratch, "s2");
    assert_eq!(flush(&scratch)["flushed"]["refused"], 2);
    assert_eq!(status(&scratch)["dropped"]["why"], "too old");
}

#[test]
fn what_is_refused_for_its_age_does_not_hold_up_what_is_new() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    for session in ["old1", "old2", "old3", "old4", "new1"] {
        work(&scratch, session);
    }
    let is_old = |body: &[u8]| String::from_utf8_lossy(body).contains("\"old");
    collector.answer(move |request| match is_old(&request.body) {
        true => (400, "", "too old".into()),
        false => (200, "", "{}".into()),
    });
    let done = flush(&scratch);
    assert_eq!(done["flushed"]["trouble"], Value::Null, "{done}");
    assert!(done["flushed"]["refused"].as_u64().unwrap() > 50, "{done}");
    let sent = |request: &&Request| !is_old(&request.body);
    assert!(collector.requests().iter().filter(sent).count() >= 3);
    assert_eq!(status(&scratch)["waiting"]["bytes"], 0);
}

#[test]
fn a_place_that_cannot_be_read_is_said_until_all_was_sent_again() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    work(&scratch, SESSION);
    flush(&scratch);
    let place = scratch.state().join("export/cursor.json");
    let bytes = fs::read(&place).unwrap();
    fs::write(&place, &bytes[..bytes.len() / 2]).unwrap();
    let says = |args: &[&str]| scratch.run(args, b"").stdout;
    assert!(says(&["export", "status"]).contains("not known what of earlier sessions was sent"));
    flush(&scratch);
    assert!(says(&["doctor"]).contains("not known what of earlier sessions was sent"));
    good(scratch.run(&["export", "backfill", "--since", "30d"], b""));
    assert_eq!(status(&scratch)["lost_place"], Value::Null);
}

#[test]
fn journals_that_cannot_be_read_keep_their_place() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    work(&scratch, SESSION);
    flush(&scratch);
    let (folder, away) = (scratch.state().join("journal"), scratch.home().join("away"));
    fs::rename(&folder, &away).unwrap();
    fs::write(&folder, "").unwrap();
    refused(&scratch.run(&["export", "flush"], b""), "the journals cannot be read");
    fs::remove_file(&folder).unwrap();
    fs::rename(&away, &folder).unwrap();
    collector.forget();
    assert_eq!(flush(&scratch)["flushed"]["lines"], 0);
    assert!(collector.logs().is_empty(), "nothing comes twice");
}

#[test]
fn a_loop_is_sent_without_the_task_that_somebody_typed() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    let prompt = "a secret plan of mine";
    for start in [
        &["loop", "start", prompt, "--session", SESSION][..],
        &["autonomous", "start", prompt, "--session", SESSION],
        &["branch", "loop", "start", prompt, "--promise", "DONE", "--session", SESSION],
    ] {
        good(scratch.run(start, b""));
        let mut cancel = start[..start.iter().position(|word| *word == "start").unwrap()].to_vec();
        cancel.extend(["cancel", "--session", SESSION]);
        good(scratch.run(&cancel, b""));
    }
    flush(&scratch);
    for request in collector.requests() {
        let body = String::from_utf8(request.body.clone()).unwrap();
        assert!(!body.contains("secret plan"), "{}", request.path);
    }
    let logs = collector.logs();
    let of_loops: Vec<&Value> =
        logs.iter().filter(|log| log["eventName"] == "hookkeeper.loop").collect();
    let kinds: BTreeSet<&str> = of_loops
        .iter()
        .map(|log| attribute(log, "hookkeeper.loop").unwrap().as_str().unwrap())
        .collect();
    assert_eq!(kinds, BTreeSet::from(["queue", "autonomous", "branch"]));
    let metrics = collector.metrics();
    let verdicts = metrics.iter().find(|one| one["name"] == "hookkeeper.loop.verdicts").unwrap();
    let points = verdicts["sum"]["dataPoints"].as_array().unwrap();
    let sum: f64 = points.iter().map(|point| point["asDouble"].as_f64().unwrap()).sum();
    assert!((sum - 3.0).abs() < 1e-9, "a start is no verdict: {verdicts}");
}

#[test]
fn a_secret_in_a_name_does_not_go_out() {
    let collector = Collector::new();
    let mut scratch = exporting(&collector);
    let secret = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
    let resource = format!("team=till,token=plain-word,key2={secret}");
    scratch.env.insert("HOOKKEEPER_OTLP_RESOURCE".into(), resource);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    let say = |name: &str, fields: Value| {
        scratch.hook(&event(SESSION, name, fields));
    };
    let agent = json!({"agent_id": "a1", "agent_type": secret});
    say("SubagentStart", agent);
    say(
        "SubagentStop",
        json!({"agent_id": "a1", "agent_type": secret, "last_assistant_message": "ok",
            "background_tasks": [], "stop_hook_active": false}),
    );
    say("PostToolUse", json!({"tool_name": secret, "tool_use_id": secret, "tool_input": {}}));
    say("SessionEnd", json!({"reason": secret}));
    flush(&scratch);
    assert!(collector.requests().len() >= 3);
    for request in collector.requests() {
        let body = String::from_utf8(request.body.clone()).unwrap();
        assert!(!body.contains(&secret), "{}: {body}", request.path);
        assert!(!body.contains("plain-word") && body.contains("till"), "{}", request.path);
    }
}

#[test]
fn an_endpoint_that_has_come_to_refuse_everything_gets_nothing_and_loses_nothing() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    for n in 0..5 {
        work(&scratch, &format!("s{n}"));
    }
    let waiting = status(&scratch)["waiting"]["bytes"].clone();
    for (code, signal) in [(413, "traces"), (400, "logs")] {
        collector.answer(move |_| (code, "", "no".into()));
        for _ in 0..2 {
            let done = flush(&scratch);
            let trouble = done["flushed"]["trouble"].as_str().unwrap();
            assert!(trouble.contains(&code.to_string()) && trouble.contains(signal), "{done}");
            assert!(done["flushed"]["requests"].as_u64().unwrap() < 100, "{done}");
            let standing = status(&scratch);
            assert_eq!(standing["waiting"]["bytes"], waiting, "{standing}");
            assert_eq!(standing["dropped"]["refused"], 0, "{standing}");
        }
    }
    // It says 200 at first, and then no more: the lines behind that wait too.
    collector.forget();
    let count = std::sync::atomic::AtomicUsize::new(0);
    collector.answer(move |request| {
        let is_first = request.path == "/v1/logs"
            && count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        if is_first { (200, "", "{}".into()) } else { (413, "", String::new()) }
    });
    work(&scratch, "later");
    flush(&scratch);
    assert_eq!(status(&scratch)["dropped"]["refused"], 0);
    collector.answer(|_| (200, "", "{}".into()));
    collector.forget();
    assert_eq!(flush(&scratch)["flushed"]["trouble"], Value::Null);
    let standing = status(&scratch);
    assert_eq!((&standing["waiting"]["bytes"], &standing["trouble"]), (&json!(0), &Value::Null));
    assert_eq!(names(&collector.spans(), "traceId").len(), 6);
}

#[test]
fn a_signal_that_is_refused_stays_behind_and_the_others_go_on() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    for (refused, other) in [("traces", "logs"), ("logs", "traces")] {
        let path = format!("/v1/{refused}");
        collector.forget();
        collector.answer(move |request| match request.path == path {
            true => (404, "", "no such page".into()),
            false => (200, "", "{}".into()),
        });
        work(&scratch, &format!("{refused}-1"));
        let done = flush(&scratch);
        let trouble = done["flushed"]["trouble"].as_str().unwrap();
        assert!(trouble.starts_with(&format!("{refused}: it answers 404")), "{trouble}");
        for _ in 0..2 {
            flush(&scratch);
        }
        work(&scratch, &format!("{refused}-2"));
        flush(&scratch);
        let paths: Vec<String> = collector.requests().into_iter().map(|it| it.path).collect();
        let sent = |signal: &str| paths.iter().filter(|it| it.ends_with(signal)).count();
        assert_eq!((sent(other), sent(refused)), (2, 4), "{paths:?}");
        assert_eq!(sent("metrics"), 4, "{paths:?}");
        let standing = status(&scratch);
        assert_eq!(standing["trouble"]["signals"], json!([refused]), "{standing}");
        assert!(standing["waiting"]["bytes"].as_u64().unwrap() > 1000, "{standing}");
        assert_eq!(standing["dropped"]["refused"], 0);
        // Beside the turns the one that is refused waits, the other one does not.
        work(&scratch, &format!("{refused}-3"));
        let payload = event(SESSION, "Stop", json!({})).to_string();
        good(scratch.run(&["export", "flush", "--hook"], payload.as_bytes()));
        let paths: Vec<String> = collector.requests().into_iter().map(|it| it.path).collect();
        let sent = |signal: &str| paths.iter().filter(|it| it.ends_with(signal)).count();
        assert_eq!((sent(other), sent(refused)), (3, 4), "{paths:?}");
        // It is taken again: all of it comes, once, and the two go together.
        collector.answer(|_| (200, "", "{}".into()));
        collector.forget();
        assert_eq!(flush(&scratch)["flushed"]["trouble"], Value::Null);
        assert_eq!(status(&scratch)["trouble"], Value::Null);
        assert_eq!(status(&scratch)["waiting"]["bytes"], 0);
        match refused {
            "traces" => {
                let count = names(&collector.spans(), "traceId").len();
                assert_eq!((count, collector.logs().len()), (3, 0));
            }
            _ => {
                let count = names(&collector.logs(), "traceId").len();
                assert_eq!((count, collector.spans().len()), (3, 0));
            }
        }
        let cursor = fs::read_to_string(scratch.state().join("export/cursor.json")).unwrap();
        assert!(!cursor.contains("\"behind\""), "{cursor}");
    }
    let counted = status(&scratch);
    assert_eq!(counted["dropped"]["refused"], 0);
    assert_eq!(counted["dropped"]["bytes"], 0);
}

#[test]
fn a_refused_line_of_one_signal_is_given_up_when_a_later_one_is_taken() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    collector.answer(|request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let is_last = request.path == "/v1/logs" && text.contains("hookkeeper.end\"");
        if is_last { (413, "", String::new()) } else { (200, "", "{}".into()) }
    });
    work(&scratch, SESSION);
    let done = flush(&scratch);
    assert!(done["flushed"]["trouble"].as_str().unwrap().starts_with("logs: "), "{done}");
    assert_eq!(status(&scratch)["dropped"]["refused"], 0, "nothing behind it was taken yet");
    std::thread::sleep(Duration::from_millis(1100));
    work(&scratch, "s2");
    flush(&scratch);
    let standing = status(&scratch);
    assert!(standing["dropped"]["refused"].as_u64().unwrap() >= 1, "{standing}");
    let logs = collector.logs();
    let sessions: BTreeSet<&str> = names(&logs, "traceId");
    assert_eq!(sessions.len(), 2);
}

#[test]
fn figures_of_a_collector_that_cannot_be_are_not_believed() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    collector.answer(|_| {
        let most = u64::MAX;
        let body = json!({"partialSuccess": {"rejectedLogRecords": most.to_string(),
            "rejectedSpans": most, "rejectedDataPoints": most}});
        (200, "", body.to_string())
    });
    work(&scratch, SESSION);
    let done = flush(&scratch);
    let flushed = &done["flushed"];
    let sum: u64 = ["logs", "spans", "points"].iter().map(|it| flushed[it].as_u64().unwrap()).sum();
    assert_eq!(flushed["refused"], sum, "{done}");
    work(&scratch, "s2");
    flush(&scratch);
}

#[test]
fn what_is_wrong_here_is_noted_by_the_hook_that_sends() {
    let collector = Collector::new();
    let mut scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    work(&scratch, SESSION);
    let payload = event(SESSION, "Stop", json!({})).to_string();
    for (name, value, says) in [
        ("HOOKKEEPER_OTLP_HEADERS_COMMAND", "echo x >> ran; false", "headers_command failed"),
        ("HOOKKEEPER_OTLP_HEADERS_FILE", "/nowhere", "cannot be read"),
        ("HOOKKEEPER_OTLP_CA", "/nowhere", "cannot be read"),
    ] {
        collector.forget();
        scratch.env.insert(name.into(), value.into());
        if name.ends_with("CA") {
            let https = collector.endpoint.replace("http:", "https:");
            scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), https);
        }
        for _ in 0..2 {
            let hook = scratch.run(&["export", "flush", "--hook"], payload.as_bytes());
            assert_eq!((hook.code, hook.stderr.as_str()), (Some(0), ""));
        }
        let trouble = status(&scratch)["trouble"].clone();
        assert!(trouble["what"].as_str().unwrap().contains(says), "{trouble}");
        assert_eq!(trouble["tries"], 1, "it waits after a failure of its own too");
        let doctor = scratch.run(&["doctor", "--json"], b"");
        assert!(doctor.stdout.contains(says), "{}", doctor.stdout);
        assert!(collector.requests().is_empty());
        scratch.env.remove(name);
        scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), collector.endpoint.clone());
        flush(&scratch);
        assert_eq!(status(&scratch)["trouble"], Value::Null);
    }
    let ran = fs::read_to_string(scratch.home().join("ran")).unwrap();
    assert_eq!(ran.lines().count(), 1, "a command that fails is not asked at each turn");
}

#[test]
fn a_project_that_cannot_be_read_does_not_stop_the_others() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    fs::create_dir_all(scratch.home().join(".claude")).unwrap();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    good(scratch.run(&["export", "flush"], b""));
    let other = |name: &str| {
        let root = scratch.home().join(name);
        fs::create_dir_all(&root).unwrap();
        let mut payload = event(name, "SessionStart", json!({"source": "startup"}));
        payload["cwd"] = json!(root);
        let mut command = scratch.command(&["hook"]);
        command.env("CLAUDE_PROJECT_DIR", &root).current_dir(&root);
        let run = support::finish(support::spawn(command), payload.to_string().as_bytes());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        root
    };
    let (broken, fine) = (other("broken"), other("fine"));
    for root in [&broken, &fine] {
        assert!(root.join(".claude/state").exists(), "{}", root.display());
    }
    // A lock that is a folder cannot be locked.
    fs::create_dir_all(broken.join(".claude/state/export/.lock")).unwrap();
    collector.forget();
    let run = scratch.run(&["export", "flush", "--all-projects"], b"");
    assert_eq!(run.code, Some(1), "{} {}", run.stdout, run.stderr);
    assert!(run.stderr.contains("broken: "), "{}", run.stderr);
    assert!(
        run.stdout.contains("fine: Sent") && run.stdout.contains("shop: Sent"),
        "{}",
        run.stdout
    );
    assert_eq!(names(&collector.logs(), "traceId").len(), 1);
    let run = scratch.run(&["export", "flush", "--all-projects", "--json"], b"");
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, json["projects"].as_array().unwrap().len()), (Some(1), 3), "{json}");
}

#[test]
fn an_endpoint_that_refuses_everything_from_the_start_costs_nothing() {
    let collector = Collector::answering(|_| (400, "", "I am a web server".into()));
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    let done = flush(&scratch);
    assert!(done["flushed"]["trouble"].as_str().unwrap().contains("400"), "{done}");
    assert_eq!(status(&scratch)["dropped"]["refused"], 0);
    let run = scratch.run(&["export", "test"], b"");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stdout.contains("logs: not taken: it answers 400 (I am a web server)"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_slow_collector_is_not_waited_for_for_ever() {
    let collector = Collector::answering(|_| {
        std::thread::sleep(Duration::from_secs(6));
        (200, "", "{}".into())
    });
    let mut scratch = exporting(&collector);
    scratch.env.insert("HOOKKEEPER_OTLP_TIMEOUT_SECONDS".into(), "1".into());
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    let began = Instant::now();
    let done = flush(&scratch);
    assert!(done["flushed"]["trouble"].as_str().unwrap().contains("timeout"), "{done}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_flush_that_is_killed_loses_nothing() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    let mut journal = fs::File::options()
        .append(true)
        .open(scratch.state().join(format!("journal/{SESSION}.jsonl")))
        .unwrap();
    let count = 6000;
    for n in 0..count {
        let line = json!({"v": 1, "time": "2026-01-29T10:30:00.000Z", "kind": "tool", "session": SESSION,
            "event": "PostToolUse", "call": format!("call{n}"), "target": "Bash make", "ms": 5, "us": 300});
        writeln!(journal, "{line}").unwrap();
    }
    collector.forget();
    collector.answer(|_| {
        std::thread::sleep(Duration::from_millis(30));
        (200, "", "{}".into())
    });
    for wait in [60, 130, 90, 200] {
        let mut child = support::spawn(scratch.command(&["export", "flush"]));
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let done = flush(&scratch);
    assert_eq!(done["flushed"]["trouble"], Value::Null, "{done}");
    let calls: BTreeSet<String> = collector
        .logs()
        .iter()
        .filter_map(|log| Some(attribute(log, "gen_ai.tool.call.id")?.as_str()?.to_owned()))
        .collect();
    assert_eq!(calls.len(), count, "every line arrived, some perhaps twice");
}

#[test]
fn two_who_send_at_once_send_everything_once() {
    let collector = Collector::answering(|_| {
        std::thread::sleep(Duration::from_millis(100));
        (200, "", "{}".into())
    });
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    work(&scratch, SESSION);
    collector.forget();
    let children: Vec<_> =
        (0..4).map(|_| support::spawn(scratch.command(&["export", "flush", "--json"]))).collect();
    for child in children {
        assert_eq!(support::finish(child, b"").code, Some(0));
    }
    let uids = uids(&collector.logs());
    assert_eq!(uids.iter().collect::<BTreeSet<_>>().len(), uids.len());
}

#[test]
fn a_sessions_end_is_waited_for_by_the_hook_that_sends() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    let payload = event(SESSION, "SessionEnd", json!({"reason": "other"}));
    let mut sender = support::spawn(scratch.command(&["export", "flush", "--hook"]));
    // The client starts both at the same time; the one that writes the line may be slower.
    sender.stdin.as_mut().unwrap().write_all(format!("{payload}\n").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "x"})));
    scratch.hook(&payload);
    assert_eq!(support::finish(sender, b"").code, Some(0));
    assert!(names(&collector.logs(), "eventName").contains("hookkeeper.end"));
}

#[test]
fn journals_that_go_before_they_are_sent_are_counted() {
    let collector = Collector::new();
    let mut scratch = exporting(&collector);
    scratch.hook(&event("keep", "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), "http://127.0.0.1:9".into());
    work(&scratch, "gone");
    let bytes = fs::metadata(scratch.state().join("journal/gone.jsonl")).unwrap().len();
    fs::write(scratch.root().join(".claude/hookkeeper.json"), r#"{"keep_sessions": 1}"#).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    work(&scratch, "newer");
    good(scratch.run(&["gc"], b""));
    assert!(!scratch.exists("journal/gone.jsonl"));
    assert_eq!(status(&scratch)["dropped"]["bytes"], bytes, "seen by who only looks");
    scratch.run(&["export", "flush"], b"");
    let dropped = &status(&scratch)["dropped"];
    assert_eq!((&dropped["bytes"], &dropped["sessions"]), (&json!(bytes), &json!(1)));
    assert!(good(scratch.run(&["export", "status"], b"")).contains("Lost: about"));
}

#[test]
fn a_journal_that_is_turned_over_is_followed() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": "x"})));
    let (now, old) = (format!("{SESSION}.jsonl"), format!("{SESSION}.1.jsonl"));
    let folder = scratch.state().join("journal");
    fs::rename(folder.join(now), folder.join(old)).unwrap();
    scratch.hook(&event(
        SESSION,
        "Stop",
        json!({"stop_hook_active": false, "background_tasks": []}),
    ));
    collector.forget();
    flush(&scratch);
    let logs = collector.logs();
    let events = names(&logs, "eventName");
    assert_eq!(events, BTreeSet::from(["hookkeeper.prompt", "hookkeeper.stop"]));
}

#[test]
fn settings_that_lead_astray_are_refused_and_secrets_stay_out_of_messages() {
    let collector = Collector::new();
    let mut scratch = Scratch::new();
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    let project =
        json!({"export": {"endpoint": collector.endpoint, "headers": {"Authorization": "s3cret"}}});
    fs::write(scratch.root().join(".claude/hookkeeper.json"), project.to_string()).unwrap();
    let run = scratch.run(&["export", "flush"], b"");
    refused(&run, "in the project's settings does not count");
    assert!(collector.requests().is_empty());
    fs::remove_file(scratch.root().join(".claude/hookkeeper.json")).unwrap();
    refused(&scratch.run(&["export", "flush"], b""), "export is off: name an endpoint");
    scratch.env.insert("HOOKKEEPER_OTLP_ENDPOINT".into(), collector.endpoint.clone());
    for (name, value, says) in [
        ("HOOKKEEPER_OTLP_HEADERS_FILE", "/nowhere/s3cret-file", "cannot be read"),
        ("HOOKKEEPER_OTLP_HEADERS_COMMAND", "echo s3cret; exit 3", "headers_command failed"),
        ("HOOKKEEPER_OTLP_HEADERS_COMMAND", "echo 'A B: s3cret'", "a name that is none"),
    ] {
        scratch.env.insert(name.into(), value.into());
        let run = scratch.run(&["export", "flush"], b"");
        refused(&run, says);
        assert!(!run.stderr.contains("s3cret") || value.starts_with('/'), "{}", run.stderr);
        scratch.env.remove(name);
    }
    scratch.env.insert("HOOKKEEPER_OTLP_HEADERS".into(), "Authorization=Bearer%0ds3cret".into());
    let said = good(scratch.run(&["export", "status"], b""));
    assert!(said.contains("the header `Authorization` has a line break in it"), "{said}");
    assert!(said.contains("Nothing is sent: ") && !said.contains("s3cret"), "{said}");
    let run = scratch.run(&["export", "flush"], b"");
    refused(&run, "nothing is sent: HOOKKEEPER_OTLP_HEADERS: the header `Authorization`");
    let payload = event(SESSION, "Stop", json!({})).to_string();
    good(scratch.run(&["export", "flush", "--hook"], payload.as_bytes()));
    let trouble = status(&scratch)["trouble"]["what"].clone();
    assert!(trouble.as_str().unwrap().contains("line break"), "{trouble}");
    assert!(collector.requests().is_empty(), "not without what it was to go with");
    for word in ["1", "yes", "TRUE", "true", "nonsense"] {
        scratch.env.insert("HOOKKEEPER_OTLP_OFF".into(), word.into());
        refused(&scratch.run(&["export", "flush"], b""), "export is off: `export.off` or");
        good(scratch.run(&["export", "flush", "--hook"], payload.as_bytes()));
    }
    assert!(collector.requests().is_empty());
    scratch.env.remove("HOOKKEEPER_OTLP_OFF");
    scratch.env.insert("HOOKKEEPER_OTLP_HEADERS".into(), "Authorization=Bearer%20s3cret".into());
    scratch.env.insert("HOOKKEEPER_OTLP_HEADERS_COMMAND".into(), "echo 'X-Team: till'".into());
    flush(&scratch);
    let request = &collector.requests()[0];
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(request.header("x-team"), Some("till"));
    assert!(!good(scratch.run(&["export", "status", "--json"], b"")).contains("s3cret"));
    let cursor = fs::read_to_string(scratch.state().join("export/cursor.json")).unwrap();
    assert!(!cursor.contains("s3cret"));
    fs::write(scratch.root().join(".claude/hookkeeper.json"), r#"{"systems": {"export": false}}"#)
        .unwrap();
    collector.forget();
    refused(&scratch.run(&["export", "flush"], b""), "`systems.export` is off");
    assert!(collector.requests().is_empty());
}

#[test]
fn hostile_text_arrives_as_text_and_secrets_do_not_arrive() {
    let collector = Collector::new();
    let mut scratch = exporting(&collector);
    scratch.env.insert("HOOKKEEPER_OTLP_PROMPTS".into(), "on".into());
    scratch.env.insert("HOOKKEEPER_OTLP_REPORTS".into(), "on".into());
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    flush(&scratch);
    let hostile = "\u{1b}[2J\u{202e}\"}],\"x\":[{\"\u{0}\r\n${jndi:ldap://x}";
    scratch.hook(&event(
        SESSION,
        "UserPromptSubmit",
        json!({"prompt": hostile, "prompt_id": hostile}),
    ));
    let mut dice = Dice(77);
    let mut shapes = secrets::shapes(secrets::PROVIDERS, &mut dice);
    shapes.extend(secrets::shapes(secrets::FORMS, &mut dice));
    let shapes: Vec<_> = shapes.into_iter().step_by(16).collect();
    for (n, shape) in shapes.iter().enumerate() {
        let text = &shape.text;
        scratch.hook(&event(SESSION, "UserPromptSubmit", json!({"prompt": text})));
        let fields = json!({"tool_name": "Bash", "tool_use_id": format!("t{n}"), "error": text,
            "tool_input": {"command": text}});
        scratch.hook(&event(SESSION, "PostToolUseFailure", fields));
        let fields = json!({"agent_id": format!("a{n}"), "agent_type": "Explore", "last_assistant_message": text,
            "background_tasks": [], "stop_hook_active": false});
        scratch.hook(&event(SESSION, "SubagentStop", fields));
    }
    assert_eq!(flush(&scratch)["flushed"]["trouble"], Value::Null);
    let logs = collector.logs();
    assert!(logs.len() > shapes.len() * 3);
    for request in collector.requests() {
        let body = String::from_utf8(request.body.clone()).unwrap();
        for shape in &shapes {
            for secret in &shape.secrets {
                assert!(!body.contains(secret.as_str()), "{}: {secret}", request.path);
            }
        }
    }
}

#[test]
fn follow_goes_on_sending_until_it_is_told_to_end() {
    let collector = Collector::new();
    let scratch = exporting(&collector);
    scratch.hook(&event(SESSION, "SessionStart", json!({"source": "startup"})));
    let child = support::spawn(scratch.command(&["export", "follow", "--every", "1"]));
    let wait = |what: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !what() {
            assert!(began.elapsed() < Duration::from_secs(20), "it did not come");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait(&|| !collector.logs().is_empty());
    work(&scratch, SESSION);
    wait(&|| names(&collector.logs(), "eventName").contains("hookkeeper.end"));
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
    let run = support::finish(child, b"");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("sent"), "{}", run.stdout);
}

/// The dashboard asks for nothing that is not sent.
#[test]
fn the_dashboard_asks_for_names_that_exist() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let dashboard = fs::read_to_string(here.join("docs/fleet/grafana/hookkeeper.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let mut known = String::new();
    for entry in ["names.rs", "counters.rs", "logs.rs", "commands/exporter.rs"] {
        known += &fs::read_to_string(here.join("src/commands/export").join(entry)).unwrap();
    }
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        let sql = panel["targets"][0]["rawSql"].as_str().unwrap();
        for word in sql.split('\'').skip(1).step_by(2).filter(|word| word.contains('.')) {
            assert!(known.contains(&format!("\"{word}\"")), "{}: {word}", panel["title"]);
            asked += 1;
        }
    }
    assert!(asked > 30, "{asked} names were looked at");
}
