//! Where errors stand, in words for people: one word for each state, and how many are in it.

use std::collections::BTreeMap;

use crate::errors::document::{ESCALATED, LOGGED, PENDING, QUEUED, RECOVERED, Record, Tally};

/// Granted, but with no time: what failed has to be changed first, or its session has ended.
const OPEN: &str = "open";
/// What is always said, and what only where there is one.
const ALWAYS: [&str; 3] = ["pending", RECOVERED, ESCALATED];
const IF_ANY: [&str; 3] = [OPEN, QUEUED, LOGGED];

/// Whether somebody may try again.
pub fn is_pending(record: &Record) -> bool {
    record.status == PENDING && record.next_retry.is_some()
}

/// What became of an error, in a word or two.
pub fn word(record: &Record) -> String {
    match record.status.as_str() {
        PENDING if is_pending(record) => "pending".to_owned(),
        PENDING => OPEN.to_owned(),
        other => other.replace('_', " "),
    }
}

/// `3 in all, 1 pending, 1 recovered, 0 escalated, 1 logged`: numbers that sum up to the first. What is
/// counted and has no record here is said to be gone.
pub fn totals(records: &[Record], counted: &Tally, which: &str) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for record in records {
        *counts.entry(word(record)).or_default() += 1;
    }
    for (state, count) in [(RECOVERED, counted.recovered), (ESCALATED, counted.escalated)] {
        let known = counts.entry(state.to_owned()).or_default();
        *known = count.max(*known);
    }
    let all = counted.total.max(counts.values().sum());
    let mut says = format!("{all} {which}");
    let mut left = all;
    let mut say = |count: u64, state: &str| {
        says += &format!(", {count} {state}");
        left -= count.min(left);
    };
    ALWAYS.iter().for_each(|state| say(counts.remove(*state).unwrap_or(0), state));
    for state in IF_ANY {
        if let Some(count) = counts.remove(state) {
            say(count, state);
        }
    }
    // States of another version or tool.
    let others: u64 = counts.values().sum();
    if others > 0 {
        say(others, "other");
    }
    if left > 0 {
        says += &format!(", {left} not listed");
    }
    says
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(status: &str, next_retry: Option<&str>) -> Record {
        let next_retry = next_retry.map(str::to_owned);
        Record { status: status.to_owned(), next_retry, ..Record::default() }
    }

    #[test]
    fn every_state_that_occurs_is_said_and_the_numbers_sum_up() {
        let none = Tally::default();
        assert_eq!(totals(&[], &none, "in all"), "0 in all, 0 pending, 0 recovered, 0 escalated");
        let records = [
            record(PENDING, Some("2026-01-29T10:30:00Z")),
            record(PENDING, None),
            record(RECOVERED, None),
            record(LOGGED, None),
            record(LOGGED, None),
            record(QUEUED, None),
            record("given_up", None),
        ];
        assert_eq!(
            totals(&records, &none, "in all"),
            "7 in all, 1 pending, 1 recovered, 0 escalated, 1 open, 1 queued, 2 logged, 1 other"
        );
        let counted = Tally { total: 6, recovered: 2, escalated: 1, ..Tally::default() };
        assert_eq!(
            totals(&records[1..2], &counted, "in all"),
            "6 in all, 0 pending, 2 recovered, 1 escalated, 1 open, 2 not listed"
        );
    }
}
