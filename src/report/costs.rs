//! Tokens and dollars: by session, by agent, by day.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::client::transcript::Tokens;
use crate::core::spelling::{dollars, short_count};
use crate::report::bars::{Row, bars};
use crate::report::session::Session;
use crate::report::text::{Clock, line};

/// More rows say nothing.
const MOST: usize = 40;
/// The parts of a bar of tokens.
const PARTS: [(&str, &str); 4] =
    [("input", "input"), ("output", "output"), ("write", "cache write"), ("read", "cache read")];

pub fn section(sessions: &[Session], clock: Clock) -> Markup {
    let has_tokens = sessions.iter().any(|session| session.tokens().is_some());
    let has_cost = sessions.iter().any(|session| session.usd().is_some());
    let threads = threads(sessions);
    let projects = projects(sessions);
    let days = days(sessions, clock);
    let name = |session: &Session| html! { code { (line(&session.short_id(), 12)) } " " (line(session.title(), 60)) };
    let tokens = |session: &Session| {
        let tokens = session.metrics.as_ref()?.tokens.as_ref()?;
        Some(Row {
            name: name(session),
            value: short_count(session.tokens()?),
            parts: parts(tokens),
        })
    };
    let cost = |session: &Session| {
        let usd = session.usd().filter(|usd| usd.is_finite())?;
        Some(Row { name: name(session), value: dollars(usd), parts: vec![("cost", usd)] })
    };
    let rows = |row: &dyn Fn(&Session) -> Option<Row>| -> Vec<Row> {
        sessions.iter().filter_map(row).take(MOST).collect()
    };
    html! {
        @if !has_tokens && !has_cost && threads.is_empty() {
            p.none { "No tokens or costs are known: they are read from the client's transcript when a session ends." }
        }
        @if has_tokens {
            (bars("Tokens by session", ["Session", "Tokens"], &rows(&tokens)))
            p.key { @for (class, label) in PARTS { span { i.(class) {} (label) } } }
        }
        @if has_cost { (bars("Cost by session", ["Session", "Dollars"], &rows(&cost))) }
        @if !projects.is_empty() && has_tokens { (bars("Tokens by project", ["Project", "Tokens"], &sum_rows(&projects, false))) }
        @if !projects.is_empty() && has_cost { (bars("Cost by project", ["Project", "Dollars"], &sum_rows(&projects, true))) }
        @if !threads.is_empty() { (bars("Tokens by agent", ["Agent", "Tokens"], &thread_rows(threads.clone(), false))) }
        @if threads.iter().any(|(_, _, usd)| usd.is_some()) { (bars("Cost by agent", ["Agent", "Dollars"], &thread_rows(threads, true))) }
        @if days.len() > 1 && has_tokens { (bars("Tokens by day", ["Day", "Tokens"], &sum_rows(&days, false))) }
        @if days.len() > 1 && has_cost { (bars("Cost by day", ["Day", "Dollars"], &sum_rows(&days, true))) }
    }
}

fn parts(tokens: &Tokens) -> Vec<(&'static str, f64)> {
    let counts = [tokens.input, tokens.output, tokens.cache_creation, tokens.cache_read];
    PARTS.iter().zip(counts).map(|((class, _), count)| (*class, count as f64)).collect()
}

/// What one thread used: its name, tokens, dollars.
type Thread = (Markup, Tokens, Option<f64>);

/// The main threads and all agents, the dearest first.
fn threads(sessions: &[Session]) -> Vec<Thread> {
    let mut threads: Vec<Thread> = Vec::new();
    for session in sessions.iter().filter(|session| session.agents() > 0) {
        for lane in &session.lanes {
            let Some((tokens, usd)) = session.used_by(lane.agent.as_deref()) else { continue };
            let name = match &lane.agent {
                None if sessions.len() == 1 => html! { "main thread" },
                None => html! { "main thread of " code { (session.short_id()) } },
                Some(id) if lane.kind.is_empty() && lane.task.is_empty() => {
                    html! { (line(id, 40)) }
                }
                Some(_) => html! { (line(&lane.kind, 40)) " " (line(&lane.task, 60)) },
            };
            threads.push((name, tokens, usd));
        }
    }
    let micro = |usd: Option<f64>| usd.map_or(0, |usd| (usd * 1e6) as u64);
    threads.sort_by_key(|(_, tokens, usd)| std::cmp::Reverse((micro(*usd), tokens.sum())));
    threads.truncate(MOST);
    threads
}

fn thread_rows(threads: Vec<Thread>, is_cost: bool) -> Vec<Row> {
    let row = |(name, tokens, usd): Thread| match is_cost {
        true => {
            let usd = usd.filter(|usd| usd.is_finite())?;
            Some(Row { name, value: dollars(usd), parts: vec![("cost", usd)] })
        }
        false => Some(Row { name, value: short_count(tokens.sum()), parts: parts(&tokens) }),
    };
    threads.into_iter().filter_map(row).collect()
}

/// Tokens and dollars of each project, in a report on all of them.
fn projects(sessions: &[Session]) -> Vec<(String, u64, f64)> {
    let mut all: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for session in sessions {
        let Some(project) = &session.project else { continue };
        let sum = all.entry(project).or_default();
        sum.0 = sum.0.saturating_add(session.tokens().unwrap_or(0));
        sum.1 += session.usd().unwrap_or(0.0);
    }
    all.into_iter().map(|(place, (tokens, usd))| (line(place, 80), tokens, usd)).collect()
}

/// Tokens and dollars of the sessions that began on a day, newest day first.
fn days(sessions: &[Session], clock: Clock) -> Vec<(String, u64, f64)> {
    let mut days: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for session in sessions {
        let Some((from, _)) = session.span() else { continue };
        let day = days.entry(clock.spell(from, "%Y-%m-%d")).or_default();
        day.0 = day.0.saturating_add(session.tokens().unwrap_or(0));
        day.1 += session.usd().unwrap_or(0.0);
    }
    days.into_iter().rev().map(|(day, (tokens, usd))| (day, tokens, usd)).collect()
}

fn sum_rows(sums: &[(String, u64, f64)], is_cost: bool) -> Vec<Row> {
    let row = |(name, tokens, usd): &(String, u64, f64)| Row {
        name: html! { (name) },
        value: if is_cost { dollars(*usd) } else { short_count(*tokens) },
        parts: vec![if is_cost { ("cost", *usd) } else { ("input", *tokens as f64) }],
    };
    sums.iter().take(MOST).map(row).collect()
}
