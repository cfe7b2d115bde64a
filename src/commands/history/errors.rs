//! Errors of all sessions. Those of live ones are in the state; of ended ones the journal has the
//! records as they were, and what recovered.

use std::collections::BTreeMap;

use crate::core::journal::EntryKind;
use crate::core::time;
use crate::errors::document::{Errors, Record};
use crate::session::record::lives;
use crate::store::journal::Journal;
use crate::store::journal::read::{Order, PassedOver};
use crate::store::view::View;

/// What was found.
#[derive(Default)]
pub struct KeptErrors {
    /// Oldest first.
    pub records: Vec<Record>,
    pub passed_over: PassedOver,
}

/// The errors of one session, by the stem of its journal, or of all; those that happened (again)
/// since a time.
pub fn kept_errors(view: &View, stem: Option<&str>, since: Option<&str>) -> KeptErrors {
    let journal = view.journal();
    let from = since.and_then(time::parse).map_or(i64::MIN, |since| since.timestamp());
    let mut found = KeptErrors::default();
    let stems: Vec<String> = match stem {
        Some(stem) => vec![stem.to_owned()],
        None => {
            found.passed_over = journal.passed_over();
            let sessions = journal.sessions().into_iter().filter(|files| files.modified >= from);
            sessions.map(|files| files.stem).collect()
        }
    };
    let mut records = BTreeMap::new();
    for stem in stems {
        found.passed_over += read_session(&journal, &stem, &mut records);
    }
    // Nobody tries again in a session that has ended.
    let lives: Vec<String> = lives(view).into_iter().map(|live| live.session_id).collect();
    let ended = records.values_mut().filter(|record| !lives.contains(&record.session_id));
    ended.for_each(|record| record.next_retry = None);
    // What the state says of a live session's is newer.
    for record in view.get::<Errors>().unwrap_or_default().records() {
        if stem.is_none_or(|stem| crate::store::journal::stem(&record.session_id) == stem) {
            records.insert(record.id.clone(), record);
        }
    }
    found.records = records.into_values().collect();
    found.records.retain(|record| since.is_none_or(|since| last_seen(record) >= cut(since)));
    found.records.sort_by(|one, other| {
        (last_seen(one), &one.timestamp, &one.id).cmp(&(
            last_seen(other),
            &other.timestamp,
            &other.id,
        ))
    });
    found
}

/// When it happened last.
pub fn last_seen(record: &Record) -> &str {
    match record.last_seen.as_str() {
        "" => &record.timestamp,
        last => last,
    }
}

/// Records have whole seconds.
fn cut(since: &str) -> &str {
    since.get(..19).unwrap_or(since)
}

fn read_session(
    journal: &Journal,
    stem: &str,
    records: &mut BTreeMap<String, Record>,
) -> PassedOver {
    let mut own: BTreeMap<String, Record> = BTreeMap::new();
    let kinds = ["\"error\"", "\"recovered\""];
    let mut lines = journal.of_stem(stem, Order::OldestFirst).with_any(&kinds);
    for entry in lines.by_ref() {
        let record = || entry.record.as_ref().and_then(|record| record.read::<Record>());
        match entry.kind {
            EntryKind::Error => {
                if let Some(record) = record().filter(|record| !record.id.is_empty()) {
                    own.insert(record.id.clone(), record);
                }
            }
            EntryKind::Recovered => {
                let is_meant = |record: &&mut Record| record.is_recovered_by(&entry);
                own.values_mut().filter(is_meant).for_each(Record::recover);
            }
            _ => {}
        }
    }
    records.extend(own);
    lines.passed_over()
}
