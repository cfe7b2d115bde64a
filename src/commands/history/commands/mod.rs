//! `hookkeeper log`, `search`, `cost`, `recap`, `gc`: what happened, what it came to, and how much of it
//! is kept.

pub mod collected;
pub mod cost;
pub mod gc;
pub mod log;
pub mod recap;
pub mod search;

use crate::console::project::{Project, one_of};
use crate::console::usage::usage;
use crate::core::error::Error;
use crate::core::time;
use crate::history::filter::parse_since;
use crate::store::journal::{self, Journal};

/// Since when, as lines spell it.
pub fn since(project: &Project, text: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    let now = project.process.now();
    match parse_since(text, now, |day| project.process.day_begins(day)) {
        Some(since) => Ok(Some(time::spell_millis(since))),
        None => anyhow::bail!(usage(format!(
            "`{text}` is no time: 30m, 2h, 7d, or a date such as 2026-01-29"
        ))),
    }
}

/// One that is there and cannot be read is no empty one.
pub fn ensure_readable(journal: &Journal) -> anyhow::Result<()> {
    match journal.trouble() {
        Some(Error::Planted { path, is }) => {
            anyhow::bail!("the journals cannot be read: {} is {is}", path.display())
        }
        Some(why) => anyhow::bail!("the journals cannot be read: {why}"),
        None => Ok(()),
    }
}

/// The session that is meant, by its id or the beginning of it, as the journal has it.
pub fn session_stem(journal: &Journal, named: &str) -> anyhow::Result<String> {
    let stems = journal.stems();
    let whole = journal::stem(named);
    match stems.contains(&whole) {
        true => Ok(whole),
        false => one_of(named, &stems, "session", ""),
    }
}

/// The day that a time lies in, in UTC: that is how usage is kept. Of a local day the first of its two.
fn day_since(project: &Project, text: Option<&str>) -> anyhow::Result<Option<String>> {
    Ok(since(project, text)?.map(|time| day_of(&time).to_owned()))
}

fn day_of(time: &str) -> &str {
    time.get(..10).unwrap_or_default()
}
