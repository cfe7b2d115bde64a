//! Tests of the document as a whole: the course of failures, and text that is spliced.

use crate::core::time;
use crate::errors::document::*;
use crate::state::Document;

fn failure(class: Class, call: &str) -> Failure {
    Failure {
        class,
        tool: "Bash".into(),
        target: "Bash curl example.com".into(),
        message: "no".into(),
        context: Extra::new(),
        session_id: "s".into(),
        agent_id: None,
        tool_use_id: Some(call.into()),
        not_before: None,
        place: Some(("src/a.rs".into(), 3)),
        needs_change: false,
    }
}

/// Status, retry count and seconds to the next retry of failure after failure.
fn course(class: Class) -> Vec<(String, u64, Option<u64>)> {
    let now = time::parse("2026-01-29T10:30:00Z").unwrap();
    let mut errors = Errors::default();
    (0..5)
        .map(|n| {
            let record =
                errors.record(failure(class, &format!("call-{n}")), "1".into(), now).unwrap();
            assert_eq!(errors.records().len(), 1);
            let next = record.next_retry.as_deref();
            let wait = next.and_then(|at| time::seconds_between("2026-01-29T10:30:00Z", at));
            (record.status, record.retry_count, wait)
        })
        .collect()
}

#[test]
fn each_class_takes_its_course() {
    let row = |status: &str, n, wait| (status.to_owned(), n, wait);
    let (pending, escalated, logged) = (PENDING, ESCALATED, LOGGED);
    assert_eq!(
        course(Class::Network)[..4],
        [
            row(pending, 1, Some(30)),
            row(pending, 2, Some(60)),
            row(pending, 3, Some(120)),
            row(escalated, 3, None)
        ]
    );
    assert_eq!(course(Class::RateLimit)[2], row(pending, 3, Some(240)));
    assert_eq!(course(Class::RateLimit)[3], row(escalated, 3, None));
    assert_eq!(course(Class::Timeout)[1], row(pending, 2, Some(0)));
    assert_eq!(course(Class::Timeout)[2], row(escalated, 2, None));
    assert_eq!(course(Class::Resource)[1], row(pending, 2, Some(30)));
    assert_eq!(course(Class::Syntax)[0], row(QUEUED, 0, None));
    assert_eq!(course(Class::Permission)[0], row(escalated, 0, None));
    for silent in [Class::Unknown, Class::Deterministic] {
        assert!(course(silent).iter().all(|end| *end == row(logged, 0, None)));
    }
}

#[test]
fn a_call_counts_once_and_open_records_go_last() {
    let now = time::parse("2026-01-29T10:30:00Z").unwrap();
    let mut errors = Errors::default();
    assert!(errors.record(failure(Class::Network, "a"), "1".into(), now).is_some());
    assert!(errors.record(failure(Class::Network, "a"), "2".into(), now).is_none());
    for n in 0..300 {
        let mut next = failure(Class::Deterministic, &format!("n{n}"));
        next.target = format!("Bash grep {n}");
        errors.record(next, format!("{n}"), now);
    }
    assert_eq!(errors.records().len(), RECORDS);
    assert_eq!(errors.records()[0].status, PENDING);
    assert_eq!(errors.summary.total, 301);
    assert_eq!(errors.tally("s").total, 301);
    assert_eq!(errors.recover("s", "Bash curl example.com"), 1);
    assert_eq!(errors.summary.recovered, 1);
    errors.clear("s");
    assert!(errors.is_empty());
    assert_eq!(errors.summary.total, 0);
}

/// A document of many records, as it is written.
fn many() -> Errors {
    let now = time::parse("2026-01-29T10:30:00Z").unwrap();
    let mut errors = Errors::default();
    for n in 0..RECORDS + 5 {
        let class = if n % 3 == 0 { Class::Network } else { Class::Deterministic };
        let mut next = failure(class, &format!("call-{n}"));
        next.target = format!("Bash grep \"{}\" \\", n % 190);
        next.session_id = format!("s{}", n % 4);
        errors.record(next, n.to_string(), now);
    }
    errors
}

#[test]
fn what_stays_text_is_written_as_if_it_had_been_parsed() {
    let now = time::parse("2026-01-29T10:40:00Z").unwrap();
    let mut typed = many();
    let spliced = || Errors::parse(&many().to_bytes()).unwrap();
    assert!(spliced().entries.slots.iter().all(|slot| matches!(slot, Slot::Raw(..))));
    assert_eq!(spliced().to_bytes(), crate::core::text::to_bytes(&typed));
    let changes: [fn(&mut Errors, Time); 5] = [
        |errors, now| drop(errors.record(failure(Class::Network, "new"), "new".into(), now)),
        |errors, now| {
            let mut again = failure(Class::Network, "again");
            (again.target, again.session_id) = ("Bash grep \"9\" \\".into(), "s1".into());
            assert!(errors.find_open(&again).is_some());
            errors.record(again, "again".into(), now);
        },
        |errors, _| assert_eq!(errors.recover("s3", "Bash grep \"3\" \\"), 1),
        |errors, _| assert!(errors.find_by_call("s2", Some(&"call-30".into())).is_some()),
        |errors, _| errors.clear("s0"),
    ];
    let mut text = typed.to_bytes();
    for change in changes {
        let mut spliced = Errors::parse(&text).unwrap();
        change(&mut spliced, now);
        change(&mut typed, now);
        text = spliced.to_bytes();
        assert_eq!(text, crate::core::text::to_bytes(&typed));
        assert_eq!(spliced.tally("s1"), typed.tally("s1"));
    }
}

#[test]
fn damage_is_found_as_if_all_were_parsed() {
    let mut few = many();
    few.entries.slots.truncate(2);
    let whole = few.to_bytes();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        for damaged in [&whole[..at], &flipped] {
            let parsed = serde_json::from_slice::<File>(damaged);
            match Errors::parse(damaged) {
                Err(why) => assert_eq!(why, parsed.err().unwrap().to_string()),
                Ok(errors) => {
                    assert!(parsed.is_ok() && Errors::parse(&errors.to_bytes()).is_ok())
                }
            }
        }
    }
}
