//! Tokens and dollars: by session, by agent, by day. As `cost` counts and spells them.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::client::transcript::Tokens;
use crate::core::spelling::short_count;
use crate::history::ledger::{self, Sum};
use crate::report::bars::{Row, bars};
use crate::report::session::Session;
use crate::report::text::line;

/// More rows say nothing.
const MOST: usize = 40;
/// The parts of a bar of tokens.
const PARTS: [(&str, &str); 4] =
    [("input", "input"), ("output", "output"), ("write", "cache write"), ("read", "cache read")];

/// What all of them used.
pub fn total(sessions: &[Session]) -> Sum {
    ledger::total(known(sessions))
}

fn known(sessions: &[Session]) -> impl Iterator<Item = &ledger::Session> {
    sessions.iter().filter_map(|session| session.known.as_ref())
}

pub fn section(sessions: &[Session], since: Option<&str>) -> Markup {
    let all = total(sessions);
    let name = |session: &Session| html! { code { (line(&session.short_id, 40)) } " " (line(session.title(), 60)) };
    let by_session: Vec<Used> =
        sessions.iter().filter_map(|session| Some((name(session), session.sum()?))).collect();
    let (threads, projects, days) = (threads(sessions), projects(sessions), days(sessions));
    html! {
        @if all.tokens().is_none() {
            p.none { "No tokens or costs are known: they are read from the client's transcript when a session ends." }
        } @else {
            (bars("Tokens by session", ["Session", "Tokens"], &rows(&by_session, tokens)))
            p.key { @for (class, label) in PARTS { span { i.(class) {} (label) } } }
            (bars("Cost by session", ["Session", "Dollars"], &rows(&by_session, cost)))
            @if !projects.is_empty() {
                (bars("Tokens by project", ["Project", "Tokens"], &rows(&projects, tokens)))
                (bars("Cost by project", ["Project", "Dollars"], &rows(&projects, cost)))
            }
            @if !threads.is_empty() {
                (bars("Tokens by agent", ["Agent", "Tokens"], &rows(&threads, tokens)))
                (bars("Cost by agent", ["Agent", "Dollars"], &rows(&threads, cost)))
            }
            @if days.len() > 1 {
                (bars("Tokens by day, in UTC", ["Day", "Tokens"], &rows(&days, tokens)))
                (bars("Cost by day, in UTC", ["Day", "Dollars"], &rows(&days, cost)))
            }
            @if let Some(day) = since { p.none { "Since " (day) ", by whole days in UTC." } }
            @for note in all.notes() { p.none { (note) } }
        }
    }
}

/// A name, and what was used under it.
type Used = (Markup, Sum);

fn rows(all: &[Used], row: impl Fn(&Used) -> Row) -> Vec<Row> {
    all.iter().take(MOST).map(row).collect()
}

fn tokens((name, sum): &Used) -> Row {
    let tokens = sum.cost.tokens.clone().unwrap_or_default();
    Row { name: name.clone(), value: short_count(tokens.sum()), parts: parts(&tokens) }
}

/// A cost that is not known has no bar.
fn cost((name, sum): &Used) -> Row {
    let usd = sum.cost.usd.filter(|usd| usd.is_finite());
    let parts = usd.map(|usd| ("cost", usd)).into_iter().collect();
    Row { name: name.clone(), value: sum.spelled(), parts }
}

fn parts(tokens: &Tokens) -> Vec<(&'static str, f64)> {
    let counts = [tokens.input, tokens.output, tokens.cache_creation, tokens.cache_read];
    PARTS.iter().zip(counts).map(|((class, _), count)| (*class, count as f64)).collect()
}

/// The main threads and all agents, the dearest first.
fn threads(sessions: &[Session]) -> Vec<Used> {
    let mut threads: Vec<Used> = Vec::new();
    for session in sessions.iter().filter(|session| session.agents() > 0) {
        for lane in &session.lanes {
            let Some(sum) = session.used_by(lane.agent.as_deref()) else { continue };
            let name = match &lane.agent {
                None if sessions.len() == 1 => html! { "main thread" },
                None => html! { "main thread of " code { (session.short_id) } },
                Some(id) if lane.kind.is_empty() && lane.task.is_empty() => {
                    html! { (line(id, 40)) }
                }
                Some(_) => html! { (line(&lane.kind, 40)) " " (line(&lane.task, 60)) },
            };
            threads.push((name, sum));
        }
    }
    let micro = |sum: &Sum| sum.cost.usd.map_or(0, |usd| (usd * 1e6) as u64);
    threads.sort_by_key(|(_, sum)| std::cmp::Reverse((micro(sum), sum.tokens())));
    threads
}

/// What each project used, in a report on all of them.
fn projects(sessions: &[Session]) -> Vec<Used> {
    let mut all: BTreeMap<&str, Vec<&ledger::Session>> = BTreeMap::new();
    for session in sessions {
        let Some(project) = &session.project else { continue };
        all.entry(project).or_default().extend(&session.known);
    }
    let used = |(place, known): (&str, Vec<&ledger::Session>)| {
        (html! { (line(place, 80)) }, ledger::total(known))
    };
    all.into_iter().map(used).filter(|(_, sum)| sum.tokens().is_some()).collect()
}

/// What was used on each day, newest day first; the days are those of `cost --by day`.
fn days(sessions: &[Session]) -> Vec<Used> {
    let days = ledger::sums_by(known(sessions), |_, row| row.day.clone());
    days.into_iter().rev().map(|(day, sum)| (html! { (line(&day, 20)) }, sum)).collect()
}
