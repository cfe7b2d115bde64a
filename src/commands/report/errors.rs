//! What failed, by class.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::core::journal::{Entry, EntryKind};
use crate::core::text::plural;
use crate::errors::document::Record;
use crate::errors::standing;
use crate::report::bars::{Row, bars};
use crate::report::session::{Session, millis};
use crate::report::text::{Clock, line};

/// More are counted only.
const MOST: usize = 200;

pub fn section(sessions: &[Session], clock: Clock) -> Markup {
    let errors: Vec<&Entry> = sessions.iter().flat_map(errors_of).collect();
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    for error in &errors {
        *classes.entry(class(error)).or_default() += 1;
    }
    let mut classes: Vec<(String, usize)> = classes.into_iter().collect();
    classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let row = |(class, count): &(String, usize)| Row {
        name: html! { (class) },
        value: count.to_string(),
        parts: vec![("bad", *count as f64)],
    };
    let rows: Vec<Row> = classes.iter().map(row).collect();
    html! {
        @if errors.is_empty() { p.none { "Nothing has failed." } }
        @else {
            (bars("Errors by class", ["Class", "Errors"], &rows))
            div.wide tabindex="0" role="region" aria-label="Errors" {
                table {
                    caption { "Errors" }
                    thead { tr { th scope="col" { "When" } th scope="col" { "Class" } th scope="col" { "What" } th scope="col" { "Message" } th scope="col" { "Came to" } } }
                    tbody { @for session in sessions { @for error in errors_of(session).take(MOST) { (error_row(session, error, clock)) } } }
                }
            }
        }
    }
}

fn errors_of(session: &Session) -> impl Iterator<Item = &Entry> {
    session.entries.iter().filter(|entry| entry.kind == EntryKind::Error)
}

fn class(error: &Entry) -> String {
    line(&error.what.as_deref().unwrap_or("unknown").replace('_', " "), 60)
}

fn error_row(session: &Session, error: &Entry, clock: Clock) -> Markup {
    let record = error.record.as_ref().and_then(|record| record.read::<Record>());
    let record = record.unwrap_or_else(|| {
        let target = error.target.clone().unwrap_or_default();
        Record { target, ..Record::default() }
    });
    let mended = |entry: &&Entry| {
        entry.kind == EntryKind::Recovered
            && record.is_recovered_by(entry)
            && entry.time >= error.time
    };
    let is_recovered = session.entries.iter().any(|entry| mended(&entry));
    let status = if is_recovered { "recovered".to_owned() } else { standing::word(&record) };
    html! {
        tr {
            td { (clock.element(millis(error).unwrap_or(0), "%H:%M:%S")) }
            td { (class(error)) }
            td { code { (line(error.target.as_deref().unwrap_or_default(), 160)) } }
            td { (line(&record.message, 400)) @if record.occurrences > 1 { " (" (plural(record.occurrences as usize, "time")) ")" } }
            td.good[is_recovered] { (line(&status, 40)) }
        }
    }
}
