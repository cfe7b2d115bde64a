//! The timeline of a session: a lane for the main thread and one for each agent. Places are in
//! hundredths of the width, so that the page can be made wider without changing the marks.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::core::text::plural;
use crate::history::describe::describe;
use crate::report::axis::Axis;
use crate::report::lane::{Lane, began};
use crate::report::mark::Mark;
use crate::report::session::{Session, millis};
use crate::report::text::{Clock, duration, line, percent};

/// Pixels of a lane, and of the axis above them.
const LANE: usize = 38;
const AXIS: usize = 26;
/// More lanes are left out, and counted.
const LANES: usize = 60;
/// Characters of a line that tells a mark.
const LONGEST: usize = 110;

/// Entries that fall together.
struct Group {
    mark: Mark,
    /// Where the first begins and the last ends.
    from: i64,
    to: i64,
    entries: Vec<usize>,
}

pub fn timeline(session: &Session, number: usize, most_marks: usize, clock: Clock) -> Markup {
    let shown = session.lanes.get(..LANES).unwrap_or(&session.lanes);
    let moments = |lane: &Lane| -> Vec<i64> {
        let entries = lane.entries.iter().filter_map(|at| session.entries.get(*at));
        entries
            .filter_map(|entry| Some((entry, millis(entry)?)))
            .flat_map(|(entry, moment)| [began(entry, moment), moment])
            .collect()
    };
    let axis = Axis::new(shown.iter().flat_map(moments).collect());
    let (groups, lines) = grouped(session, shown, &axis, most_marks);
    let height = AXIS + shown.len() * LANE;
    let left_out = session.lanes.len() - shown.len();
    let name = format!("Timeline of session {}", line(&session.short_id, 40));
    html! {
        div.timeline data-marks=(groups.iter().map(Vec::len).sum::<usize>()) {
            div.tools role="group" aria-label={ "Zoom of timeline " (number) } {
                button type="button" data-zoom="in" aria-label="Zoom in" { "+" }
                button type="button" data-zoom="out" aria-label="Zoom out" { "−" }
                button type="button" data-zoom="all" { "Whole session" }
                p.hint { "Arrow keys go from mark to mark, Enter keeps its detail." }
            }
            div.plot {
                div.names aria-hidden="true" {
                    @for lane in shown { (lane_name(lane)) }
                }
                div.scroll tabindex="0" role="region" aria-label=(name) {
                    svg.lanes width="100%" height=(height) role="group" aria-label={ (name) ": " (plural(shown.len(), "lane")) } {
                        (backdrop(&axis, shown.len(), height, clock))
                        @for (row, (lane, groups)) in shown.iter().zip(&groups).enumerate() {
                            @let top = AXIS + row * LANE;
                            g.lane data-lane=(lane.agent.as_deref().map_or("main".into(), |id| line(id, 80))) role="group" aria-label=(spoken_name(lane)) {
                                @for (from, to) in &lane.busy {
                                    @let left = axis.place(*from);
                                    rect.busy x=(percent(left)) y=(top + 4) width=(percent((axis.place(*to) - left).max(0.15))) height=(LANE - 8) rx="4" {}
                                }
                                @for group in groups { (mark(session, group, &axis, top + LANE / 2 + 5, lines, clock)) }
                            }
                        }
                    }
                }
            }
            @if left_out > 0 { p.hint { (plural(left_out, "lane")) " more in the table below." } }
            div.detail role="status" aria-live="polite" { p.hint { "Point at a mark, or choose one, to see what it tells." } }
        }
    }
}

fn lane_name(lane: &Lane) -> Markup {
    html! {
        div.name {
            @match &lane.agent {
                None => { b { "Main thread" } }
                Some(id) => {
                    b { (or(&line(&lane.kind, 40), "agent")) }
                    small title=(line(id, 80)) { (or(&line(&lane.task, 80), &line(id, 10))) }
                }
            }
        }
    }
}

pub fn spoken_name(lane: &Lane) -> String {
    match &lane.agent {
        None => "Main thread".into(),
        Some(id) => {
            let (kind, task) = (line(&lane.kind, 40), line(&lane.task, 120));
            format!("{} {}", or(&kind, "agent"), or(&task, &line(id, 40)))
        }
    }
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

/// Lanes, ticks and pauses, behind the marks.
fn backdrop(axis: &Axis, lanes: usize, height: usize, clock: Clock) -> Markup {
    let coarse = axis.ticks(16.0);
    let fine = axis.ticks(4.0);
    let fine = fine.iter().filter(|tick| !coarse.contains(tick));
    let format = |ticks: &[i64]| match ticks {
        [one, two, ..] if two - one < 1000 => "%H:%M:%S%.3f",
        [one, two, ..] if two - one >= 60_000 => "%H:%M",
        _ => "%H:%M:%S",
    };
    let tick = |moment: i64, class: &str, format: &str| {
        let place = percent(axis.place(moment));
        html! {
            g.tick.(class) {
                line x1=(place) x2=(place) y1="20" y2=(height) {}
                text x=(place) y="14" { (clock.spell(moment, format)) }
            }
        }
    };
    html! {
        g aria-hidden="true" {
            @for row in 0..lanes {
                rect.row.odd[row % 2 == 1] x="0" y=(AXIS + row * LANE) width="100%" height=(LANE) {}
            }
            @for (left, width, long) in axis.pauses() {
                rect.pause x=(percent(left)) y=(AXIS) width=(percent(width)) height=(height - AXIS) { title { "Nothing for " (duration(long)) } }
            }
            @for moment in fine { (tick(*moment, "fine", "%H:%M:%S")) }
            @for moment in &coarse { (tick(*moment, "coarse", format(&coarse))) }
        }
    }
}

/// The marks of each lane, and how many lines each may tell: as fine as the number allows.
fn grouped(
    session: &Session,
    lanes: &[Lane],
    axis: &Axis,
    most: usize,
) -> (Vec<Vec<Group>>, usize) {
    let mut width = 0.2;
    loop {
        let groups: Vec<Vec<Group>> =
            lanes.iter().map(|lane| lane_groups(session, lane, axis, width)).collect();
        let count: usize = groups.iter().map(Vec::len).sum();
        if count <= most || width > 50.0 {
            return (groups, (2 * most / count.max(1)).clamp(2, 12));
        }
        width *= 1.5;
    }
}

/// What is of one kind and no farther apart than `width` is one mark.
fn lane_groups(session: &Session, lane: &Lane, axis: &Axis, width: f64) -> Vec<Group> {
    let mut groups: BTreeMap<(Mark, i64), Group> = BTreeMap::new();
    for at in &lane.entries {
        let Some(entry) = session.entries.get(*at) else { continue };
        let (Some(mark), Some(to)) = (Mark::new(entry), millis(entry)) else { continue };
        let from = began(entry, to);
        let cell = (axis.place(from) / width) as i64;
        let group = groups.entry((mark, cell)).or_insert_with(|| Group {
            mark,
            from,
            to,
            entries: Vec::new(),
        });
        group.from = group.from.min(from);
        group.to = group.to.max(to);
        group.entries.push(*at);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    let weight = |mark: Mark| Mark::ALL.iter().position(|one| *one == mark);
    groups.sort_by_key(|group| (weight(group.mark), group.from));
    groups
}

fn mark(
    session: &Session,
    group: &Group,
    axis: &Axis,
    middle: usize,
    lines: usize,
    clock: Clock,
) -> Markup {
    let count = group.entries.len();
    let left = axis.place(group.from);
    let width = axis.place(group.to) - left;
    let is_call = matches!(group.mark, Mark::Tool | Mark::FailedTool);
    let tall = if group.mark == Mark::FailedTool { 20 } else { 14 };
    html! {
        @if is_call && width > 0.4 {
            rect.m.(group.mark.class()) data-n=(count) x=(percent(left)) y=(middle - tall / 2) width=(percent(width)) height=(tall) rx="2" {
                (title(session, group, lines, clock))
            }
        } @else {
            use.m.(group.mark.class()) data-n=(count) href={ "#m-" (group.mark.class()) } x=(percent(left)) y=(middle - group.mark.lift()) {
                (title(session, group, lines, clock))
            }
        }
    }
}

/// What a mark tells: the accessible name of it, and what is shown for it.
fn title(session: &Session, group: &Group, lines: usize, clock: Clock) -> Markup {
    let count = group.entries.len();
    html! {
        title {
            (group.mark.label())
            @if count > 1 { " ×" (count) }
            @for entry in group.entries.iter().take(lines).filter_map(|at| session.entries.get(*at)) {
                "\n" (clock.spell(millis(entry).unwrap_or(0), "%H:%M:%S")) " " (line(&describe(entry).1, LONGEST))
            }
            @if count > lines { "\n… and " (count - lines) " more" }
        }
    }
}

/// The shapes of the marks, once for the page.
pub fn shapes() -> Markup {
    html! {
        svg.shapes width="0" height="0" aria-hidden="true" {
            defs {
                @for mark in Mark::ALL {
                    path id={ "m-" (mark.class()) } d=(mark.path()) fill-rule="evenodd" {}
                }
            }
        }
    }
}

/// What the marks mean; each can be hidden.
pub fn legend(sessions: &[Session]) -> Markup {
    let count = |mark: Mark| -> usize {
        sessions.iter().flat_map(|session| &session.lanes).map(|lane| lane.count(mark)).sum()
    };
    html! {
        div.legend role="group" aria-label="What the timeline shows" {
            @for mark in Mark::ALL {
                @let count = count(mark);
                @if count > 0 {
                    button type="button" aria-pressed="true" data-kind=(mark.class()) {
                        svg width="16" height="20" aria-hidden="true" { use.(mark.class()) href={ "#m-" (mark.class()) } x="8" y="10" {} }
                        (mark.label()) " " small { (count) }
                    }
                }
            }
        }
    }
}
