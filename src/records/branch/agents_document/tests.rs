//! Tests of a branch's agents: counts through everything, what is dropped, what stays text.

use crate::agents::result::{LOST, SUCCESS};
use crate::branch::agents_document::*;
use crate::core::time;
use crate::state::Document;

fn agent(id: &str, started: &str) -> Agent {
    Agent { id: id.into(), kind: "Explore".into(), started: started.into(), ..Agent::default() }
}

fn ended(id: &str, status: &str, at: &str) -> AgentResult {
    AgentResult::from_agent(agent(id, "2026-01-29T10:00:00Z"), status, time::parse(at).unwrap())
}

fn counts(book: &BranchAgents) -> [u64; 4] {
    let stats = BranchAgents::parse(&book.to_bytes()).unwrap().stats();
    [stats.total_spawned, stats.completed, stats.failed, stats.stuck]
}

#[test]
fn counts_hold_through_everything() {
    let mut book = BranchAgents::default();
    let a = agent("a", "2026-01-29T10:00:00Z");
    book.start(&a, None);
    book.start(&a, None);
    assert_eq!(counts(&book), [1, 0, 0, 0]);
    book.mark_stuck("a", true);
    assert_eq!(counts(&book), [1, 0, 0, 1]);
    book.mark_stuck("a", false);
    assert_eq!(counts(&book), [1, 0, 0, 0]);
    book.mark_stuck("a", true);
    let end = ended("a", SUCCESS, "2026-01-29T10:10:00Z");
    for _ in 0..2 {
        book = BranchAgents::parse(&book.to_bytes()).unwrap();
        book.end(&end, Some("All  good.\n"));
        assert_eq!(counts(&book), [1, 1, 0, 0]);
    }
    assert_eq!(book.find("a").unwrap().result.as_deref(), Some("All good."));
    // It is resumed, and interrupted.
    book.start(&agent("a", "2026-01-29T10:20:00Z"), None);
    assert_eq!(counts(&book), [1, 0, 0, 0]);
    assert_eq!(book.find("a").unwrap().spawned_epoch, 1_769_682_000);
    book.end(&ended("a", LOST, "2026-01-29T10:30:00Z"), None);
    assert_eq!(counts(&book), [1, 0, 1, 0]);
    // One whose start was never seen, and one whose session is gone.
    book.end(&ended("b", SUCCESS, "2026-01-29T10:30:00Z"), None);
    book.start(&agent("c", "2026-01-29T10:30:00Z"), None);
    book.mark_lost("c", "2026-01-29T10:31:00Z", "gone");
    book.mark_lost("c", "2026-01-29T10:32:00Z", "gone");
    assert_eq!(counts(&book), [3, 1, 2, 0]);
    let results: Vec<_> = book.all().into_iter().map(|entry| entry.result.unwrap()).collect();
    assert_eq!(results, ["lost", "success", "lost: gone"]);
}

#[test]
fn running_agents_are_never_dropped_and_the_counts_stay() {
    let mut book = BranchAgents::default();
    book.start(&agent("first", "2026-01-29T10:00:00Z"), None);
    for n in 0..150 {
        book = BranchAgents::parse(&book.to_bytes()).unwrap();
        book.end(&ended(&format!("a{n}"), SUCCESS, "2026-01-29T10:10:00Z"), None);
    }
    let ids: Vec<String> = book.all().into_iter().map(|entry| entry.id).collect();
    assert_eq!((ids.len(), ids[0].as_str(), ids[1].as_str()), (101, "first", "a50"));
    assert_eq!(counts(&book), [151, 150, 0, 0]);
}

#[test]
fn what_it_does_not_know_stays_as_it_is() {
    let text = r#"{"agents": [3, {"id": "a", "status": "completed", "mine": [1]},
        {"id": "b", "status": "running", "spawned_epoch": "soon"}, {"id": "c", "status": "running", "x": 1}],
        "stats": {"total_spawned": 7, "y": 2}, "z": {"deep": true}}"#;
    let mut book = BranchAgents::parse(text.as_bytes()).unwrap();
    assert_eq!(book.open().count(), 1);
    book.end(&ended("c", SUCCESS, "2026-01-29T10:10:00Z"), None);
    book.end(&ended("b", SUCCESS, "2026-01-29T10:10:00Z"), None);
    let text = String::from_utf8(book.to_bytes()).unwrap();
    for part in [
        "3,",
        r#"{"id": "a", "status": "completed", "mine": [1]}"#,
        r#"{"id": "b", "status": "running", "spawned_epoch": "soon"}"#,
        r#""x":1"#,
        r#""y":2"#,
        r#""z": {"deep": true}"#,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(BranchAgents::parse(b"[]").is_err());
    assert!(BranchAgents::parse(br#"{"agents": {}}"#).is_err());
    assert_eq!(BranchAgents::parse(b"\0\0\0"), Ok(BranchAgents::default()));
}
