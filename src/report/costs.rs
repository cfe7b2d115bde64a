//! Tokens and dollars: by session, by agent, by day.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::client::transcript::Tokens;
use crate::report::bars::{Row, bars};
use crate::report::session::Session;
use crate::report::text::{Clock, dollars, line, short_number};

/// More rows say nothing.
const MOST: usize = 40;
/// The parts of a bar of tokens.
const PARTS: [(&str, &str); 4] =
    [("input", "input"), ("output", "output"), ("write", "cache write"), ("read", "cache read")];

pub fn section(sessions: &[Session], clock: Clock) -> Markup {
    let has_tokens = sessions.iter().any(|session| session.tokens().is_some());
    let has_cost = sessions.iter().any(|session| session.usd().is_some());
    let agents = agent_rows(sessions);
    let days = days(sessions, clock);
    let name = |session: &Session| html! { code { (line(&session.short_id(), 12)) } " " (line(session.title(), 60)) };
    let tokens = |session: &Session| {
        let tokens = session.metrics.as_ref()?.tokens.as_ref()?;
        Some(Row {
            name: name(session),
            value: short_number(session.tokens()?),
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
        @if !has_tokens && !has_cost && agents.is_empty() {
            p.none { "No tokens or costs are known: they are read from the client's transcript when a session ends." }
        }
        @if has_tokens {
            (bars("Tokens by session", ["Session", "Tokens"], &rows(&tokens)))
            p.key { @for (class, label) in PARTS { span { i.(class) {} (label) } } }
        }
        @if has_cost { (bars("Cost by session", ["Session", "Dollars"], &rows(&cost))) }
        @if !agents.is_empty() { (bars("Tokens by agent", ["Agent", "Tokens"], &agents)) }
        @if days.len() > 1 && has_tokens { (bars("Tokens by day", ["Day", "Tokens"], &day_rows(&days, false))) }
        @if days.len() > 1 && has_cost { (bars("Cost by day", ["Day", "Dollars"], &day_rows(&days, true))) }
    }
}

fn parts(tokens: &Tokens) -> Vec<(&'static str, f64)> {
    let counts = [tokens.input, tokens.output, tokens.cache_creation, tokens.cache_read];
    PARTS.iter().zip(counts).map(|((class, _), count)| (*class, count as f64)).collect()
}

fn agent_rows(sessions: &[Session]) -> Vec<Row> {
    let mut agents: Vec<(u64, Markup)> = Vec::new();
    for result in sessions.iter().flat_map(Session::results) {
        let tokens = result.metrics.extra.get("tokens").and_then(serde_json::Value::as_u64);
        let task = result.task.as_deref().unwrap_or(&result.agent_id);
        let name = html! { (line(&result.kind, 40)) " " (line(task, 60)) };
        agents.extend(tokens.map(|tokens| (tokens, name)));
    }
    agents.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
    let row = |(tokens, name): (u64, Markup)| Row {
        name,
        value: short_number(tokens),
        parts: vec![("input", tokens as f64)],
    };
    agents.into_iter().take(MOST).map(row).collect()
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

fn day_rows(days: &[(String, u64, f64)], is_cost: bool) -> Vec<Row> {
    let row = |(day, tokens, usd): &(String, u64, f64)| Row {
        name: html! { (day) },
        value: if is_cost { dollars(*usd) } else { short_number(*tokens) },
        parts: vec![if is_cost { ("cost", *usd) } else { ("input", *tokens as f64) }],
    };
    days.iter().take(MOST).map(row).collect()
}
