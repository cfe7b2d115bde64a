//! How long hooks took: ours by the journal, others' as the client measured them.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::client::hook_runs::HookRun;
use crate::doctor::timings::{TimingRow, percentile, tabulate};
use crate::report::session::Session;
use crate::report::text::line;

/// More rows say nothing.
const MOST: usize = 40;

pub fn section(sessions: &[Session], noted: &[HookRun]) -> Markup {
    let ours = own_rows(sessions);
    let others: Vec<TimingRow> = tabulate(noted).commands;
    let millis = |value: Option<u64>| value.map_or("–".to_owned(), |value| value.to_string());
    html! {
        @if ours.is_empty() && others.is_empty() { p.none { "No hook run is noted." } }
        @if !ours.is_empty() {
            div.wide tabindex="0" role="region" aria-label="HookKeeper's own hook runs" {
                table {
                    caption { "HookKeeper, by its journal (ms)" }
                    thead { tr { th scope="col" { "Event" } th.number scope="col" { "Runs" } th.number scope="col" { "p50" } th.number scope="col" { "p95" } th.number scope="col" { "Max" } } }
                    tbody {
                        @for (event, micros) in &ours {
                            tr {
                                th scope="row" { (line(event, 60)) }
                                td.number { (micros.len()) }
                                @for value in [percentile(micros, 50), percentile(micros, 95), micros.last().copied()] {
                                    td.number { (format!("{:.2}", value.unwrap_or(0) as f64 / 1000.0)) }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if !others.is_empty() {
            div.wide tabindex="0" role="region" aria-label="All hook runs that the client noted" {
                table {
                    caption { "All hooks, as the client measured them (ms)" }
                    thead { tr { th scope="col" { "Event" } th scope="col" { "Command" } th.number scope="col" { "Runs" } th.number scope="col" { "p50" } th.number scope="col" { "p95" } th.number scope="col" { "Max" } th.number scope="col" { "Failed" } } }
                    tbody {
                        @for row in others.iter().take(MOST) {
                            tr.ours[row.ours] {
                                th scope="row" { (line(&row.event, 60)) }
                                td { code { (line(row.command.as_deref().unwrap_or_default(), 120)) } }
                                td.number { (row.count) }
                                td.number { (millis(row.p50)) }
                                td.number { (millis(row.p95)) }
                                td.number { (millis(row.max)) }
                                td.number { (row.failures) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Microseconds of our runs by event, each list in order; the slowest event first.
fn own_rows(sessions: &[Session]) -> Vec<(&str, Vec<u64>)> {
    let mut events: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for entry in sessions.iter().flat_map(|session| &session.entries) {
        if let Some(us) = entry.us.filter(|_| !entry.event.is_empty()) {
            events.entry(&entry.event).or_default().push(us);
        }
    }
    let mut rows: Vec<(&str, Vec<u64>)> = events.into_iter().collect();
    rows.iter_mut().for_each(|(_, micros)| micros.sort_unstable());
    rows.sort_by_key(|(_, micros)| std::cmp::Reverse(percentile(micros, 95)));
    rows.truncate(MOST);
    rows
}
