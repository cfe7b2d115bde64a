//! `hookkeeper log`, `hookkeeper gc`: what happened, and how much of it is kept.

pub mod gc;
pub mod log;

use crate::console::project::{Project, one_of};
use crate::core::time::{self, Time};
use crate::history::filter::parse_since;
use crate::store::journal::{self, Journal};

/// Since when, as lines spell it.
fn since(project: &Project, text: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    let now = project.process.now();
    match parse_since(text, now) {
        Some(since) => Ok(Some(time::spell_millis(since))),
        None => anyhow::bail!("`{text}` is no time: 30m, 2h, 7d, or a date such as 2026-01-29"),
    }
}

/// The session that is meant, by its id or the beginning of it, as the journal has it.
fn session_stem(journal: &Journal, named: &str) -> anyhow::Result<String> {
    let stems: Vec<String> = journal.sessions().into_iter().map(|files| files.stem).collect();
    let whole = journal::stem(named);
    match stems.contains(&whole) {
        true => Ok(whole),
        false => one_of(named, &stems, "session", ""),
    }
}

/// A time for people.
fn moment(project: &Project, spelled: &str, now: Time) -> String {
    project.moment(spelled, now)
}
