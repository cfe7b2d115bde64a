//! Tests of the metrics' entries.

use super::*;
use crate::state::Document;

fn entry(id: &str, minutes: u64) -> Entry {
    Entry { session_id: id.into(), duration_minutes: minutes, ..Entry::default() }
}

#[test]
fn one_entry_per_id_and_unknown_fields_stay() {
    let seed = br#"{"sessions": [{"session_id": "a", "duration_minutes": 45, "mine": 1}], "v": 2}"#;
    let mut metrics = Metrics::parse(seed).unwrap();
    assert!(metrics.put(entry("a", 50)).is_empty());
    metrics.put(entry("b", 1));
    let back = Metrics::parse(&metrics.to_bytes()).unwrap();
    assert_eq!(back.newest(9).len(), 2);
    assert_eq!(back.find("a").unwrap().duration_minutes, 50);
    assert_eq!(back.find("a").unwrap().extra["mine"], 1);
    assert!(String::from_utf8(back.to_bytes()).unwrap().contains("\"v\": 2"));
    assert!(Metrics::parse(br#"{"sessions": 3}"#).is_err());
}

#[test]
fn bad_entries_go_and_the_rest_stays() {
    let file = br#"{"sessions": [{"session_id": "a"}, 3, {"session_id": "b"}], "v": 2}"#;
    let mut metrics = Metrics::parse(file).unwrap();
    assert_eq!(metrics.retain(|raw| raw.starts_with('{')), 1);
    assert!(metrics.find("a").is_some() && metrics.find("b").is_some());
    assert!(String::from_utf8(metrics.to_bytes()).unwrap().contains("\"v\": 2"));
}

#[test]
fn the_newest_two_hundred_stay() {
    let mut metrics = Metrics::default();
    let old: Vec<String> = (0..203).flat_map(|n| metrics.put(entry(&format!("s{n}"), n))).collect();
    assert_eq!(old.len(), 3);
    assert!(old[0].contains("\"s0\"") && !old[0].contains('\n'));
    assert_eq!(Metrics::parse(&metrics.to_bytes()).unwrap().newest(999).len(), ENTRIES);
}
