//! Loops: their iterations, gates and verdicts, in the order in which they came.

use maud::{Markup, html};

use crate::core::journal::Entry;
use crate::core::text::plural;
use crate::history::describe::describe;
use crate::report::mark::Mark;
use crate::report::session::{Session, millis};
use crate::report::text::{Clock, duration, line};

/// More are counted only.
const MOST: usize = 300;

pub fn section(sessions: &[Session], clock: Clock) -> Markup {
    let mut steps: Vec<(&Session, &Entry, Mark)> = Vec::new();
    for session in sessions {
        let marked = session.entries.iter().filter_map(|entry| Some((entry, Mark::new(entry)?)));
        let of_loops = marked.filter(|(_, mark)| {
            matches!(mark, Mark::Loop | Mark::Gate | Mark::FailedGate | Mark::Block)
        });
        steps.extend(of_loops.map(|(entry, mark)| (session, entry, mark)));
    }
    html! {
        @if steps.is_empty() { p.none { "No loop has run." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="Loops and gates" {
                table {
                    caption { "Iterations, gates and verdicts" }
                    thead { tr { th scope="col" { "When" } th scope="col" { "Session" } th scope="col" { "What" } th scope="col" { "Came to" } th.number scope="col" { "Took" } } }
                    tbody {
                        @for (session, entry, mark) in steps.iter().take(MOST) {
                            tr {
                                td { (clock.element(millis(entry).unwrap_or(0), "%H:%M:%S")) }
                                td { code { (line(&session.short_id, 40)) } }
                                td { svg.sign width="16" height="18" aria-hidden="true" { use.(mark.class()) href={ "#m-" (mark.class()) } x="8" y="9" {} } " " (mark.label()) }
                                td.bad[entry.failed] { (line(&describe(entry).1, 400)) }
                                td.number { @if let Some(ms) = entry.ms { (duration(i64::try_from(ms).unwrap_or(0))) } }
                            }
                        }
                    }
                }
            }
            @if steps.len() > MOST { p.none { (plural(steps.len() - MOST, "step")) " more." } }
        }
    }
}
