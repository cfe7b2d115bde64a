//! The timeline as tables: its lanes with their counts, and what happened.

use maud::{Markup, html};

use crate::core::journal::{Entry, EntryKind};
use crate::core::spelling::short_count;
use crate::core::text::plural;
use crate::history::describe::describe;
use crate::history::ledger::Sum;
use crate::report::mark::Mark;
use crate::report::session::{Session, millis};
use crate::report::text::{Clock, duration, line};
use crate::report::timeline::spoken_name;

/// More lanes are counted only.
const LANES: usize = 300;

/// A row for each lane, with what it has.
pub fn lanes(session: &Session) -> Markup {
    let columns = [
        Mark::Error,
        Mark::Recovered,
        Mark::Compaction,
        Mark::Block,
        Mark::Loop,
        Mark::Gate,
        Mark::FailedGate,
    ];
    let has_usage =
        session.lanes.iter().any(|lane| session.used_by(lane.agent.as_deref()).is_some());
    html! {
        div.wide tabindex="0" role="region" aria-label="Lanes" {
            table.lanes {
                caption { "Lanes" }
                thead {
                    tr {
                        th scope="col" { "Lane" }
                        th.number scope="col" { "Took" }
                        th.number scope="col" { "Calls" }
                        th.number scope="col" { "Failed" }
                        @for mark in columns { th.number scope="col" { (mark.label()) } }
                        @if has_usage { th.number scope="col" { "Tokens" } th.number scope="col" { "Cost" } }
                        th scope="col" { "Ended" }
                    }
                }
                tbody {
                    @for lane in session.lanes.iter().take(LANES) {
                        tr data-lane=(lane.agent.as_deref().map_or("main".into(), |id| line(id, 80))) {
                            th scope="row" { (spoken_name(lane)) }
                            td.number { (duration(lane.to - lane.from)) }
                            td.number data-count="calls" { (lane.calls()) }
                            td.number { (lane.count(Mark::FailedTool)) }
                            @for mark in columns { td.number { (lane.count(mark)) } }
                            @if has_usage {
                                @let used = session.used_by(lane.agent.as_deref());
                                td.number data-count="tokens" { (used.as_ref().and_then(Sum::tokens).map(short_count).unwrap_or_default()) }
                                td.number { (used.as_ref().map(Sum::spelled).unwrap_or_default()) }
                            }
                            td { (line(&lane.status, 40)) }
                        }
                    }
                }
            }
        }
        @if session.lanes.len() > LANES { p.none { (plural(session.lanes.len() - LANES, "lane")) " more." } }
    }
}

/// What happened, line by line; where it is too much, without the calls that went well.
pub fn events(session: &Session, most: usize, clock: Clock) -> Markup {
    let marked = || session.entries.iter().filter_map(|entry| Some((entry, Mark::new(entry)?)));
    let all = marked().count();
    let is_quiet = |entry: &Entry| entry.kind == EntryKind::Tool && !entry.failed;
    let shown: Vec<(&Entry, Mark)> = match all <= most {
        true => marked().collect(),
        false => marked().filter(|(entry, _)| !is_quiet(entry)).take(most).collect(),
    };
    html! {
        details.events {
            summary { "Line by line: " (plural(shown.len(), "event")) @if shown.len() < all { " of " (all) } }
            div.wide tabindex="0" role="region" aria-label="Events" {
                table {
                    thead { tr { th scope="col" { "When" } th scope="col" { "Where" } th scope="col" { "What" } } }
                    tbody {
                        @for (entry, mark) in shown {
                            tr {
                                td { (clock.element(millis(entry).unwrap_or(0), "%H:%M:%S")) }
                                td { @if let Some(agent) = &entry.agent { code { (line(agent, 8)) } } }
                                td.(mark.class()) { (line(&describe(entry).1, 220)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
