use super::*;
use crate::client::transcript::Tokens;
use crate::client::transcript::usage::Usage;

fn value(counters: &Counters, metric: &str, attribute: Option<(&str, &str)>) -> f64 {
    let fits = |series: &&Series| {
        series.metric == metric
            && attribute.is_none_or(|(name, value)| {
                series.attributes.get(name).map(String::as_str) == Some(value)
            })
    };
    counters.series.iter().filter(fits).map(|series| series.sum).sum()
}

fn end(input: u64, usd: f64) -> Entry {
    let row = Usage {
        model: "opus".into(),
        tokens: Tokens { input, output: 7, ..Tokens::default() },
        usd: Some(usd),
        ..Usage::default()
    };
    let end = metrics::Entry { usage: vec![row], ..metrics::Entry::default() };
    Entry::new(EntryKind::End).what("other").record(&end)
}

#[test]
fn a_session_that_ends_twice_is_paid_for_once() {
    let (mut counters, mut used) = (Counters::default(), CountedUse::new());
    counters.count(&end(100, 1.0), &mut used);
    counters.count(&end(150, 1.5), &mut used);
    assert_eq!(value(&counters, "hookkeeper.cost", None), 1.5);
    let input = Some((names::TOKEN_TYPE, "input"));
    assert_eq!(value(&counters, "hookkeeper.tokens", input), 150.0);
    assert_eq!(value(&counters, "hookkeeper.sessions.ended", None), 2.0);
    // A transcript that is gone takes nothing back.
    counters.count(&end(10, 0.1), &mut used);
    assert_eq!(value(&counters, "hookkeeper.cost", None), 1.5);
}

#[test]
fn lines_are_counted_by_what_they_are() {
    let (mut counters, mut used) = (Counters::default(), CountedUse::new());
    let tool = Entry::new(EntryKind::Tool).target("Bash make");
    let tool = Entry { ms: Some(1500), us: Some(700), event: "PostToolUse".into(), ..tool };
    counters.count(&tool, &mut used);
    counters.count(&Entry { failed: true, ..tool }, &mut used);
    counters.count(&Entry::new(EntryKind::Error).what("transient"), &mut used);
    for what in ["started", "complete", "adopted"] {
        let line = Entry::new(EntryKind::Loop).what(what).target("loop x").loop_kind("branch");
        counters.count(&line, &mut used);
    }
    assert_eq!(value(&counters, "hookkeeper.tool.calls", None), 2.0);
    assert_eq!(value(&counters, "hookkeeper.tool.calls", Some((names::STATUS, "failed"))), 1.0);
    assert_eq!(value(&counters, "hookkeeper.errors", Some((names::ERROR_TYPE, "transient"))), 1.0);
    assert_eq!(value(&counters, "hookkeeper.loop.verdicts", None), 1.0);
    assert_eq!(value(&counters, "hookkeeper.loop.verdicts", Some((names::LOOP, "branch"))), 1.0);
    assert!((value(&counters, "hookkeeper.tool.duration", None) - 3.0).abs() < 1e-9);
    let time = crate::core::time::parse("2026-01-29T10:30:00Z").unwrap();
    let sent = serde_json::to_value(counters.metrics(time)).unwrap();
    let names: Vec<&str> =
        sent.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"hookkeeper.hook.duration"), "{names:?}");
    let hook = &sent.as_array().unwrap()[names.len() - 2]["histogram"]["dataPoints"][0];
    assert_eq!(hook["count"], "2");
    assert_eq!(hook["bucketCounts"][1], "2", "0.7 ms is between 0.5 and 1: {hook}");
}

#[test]
fn names_from_outside_do_not_make_series_without_end() {
    let (mut counters, mut used) = (Counters::default(), CountedUse::new());
    for n in 0..2000 {
        let tool = Entry::new(EntryKind::Tool).target(format!("Tool{n} x"));
        counters.count(&tool, &mut used);
    }
    assert!(counters.series.len() <= SERIES + DECLARED.len());
    assert_eq!(value(&counters, "hookkeeper.tool.calls", None), 2000.0);
}
