//! `hookkeeper sessions`: those that live, and those that have ended.

use serde_json::json;

use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::table::{self, row};
use crate::core::text::{clip, plural};
use crate::core::time::{self, Time};
use crate::session::live::Live;
use crate::session::metrics::{Entry, Metrics};

#[derive(clap::Args)]
pub struct Arguments {
    /// How many of those that have ended
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// All that have ended, the archive too
    #[arg(long)]
    all: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let view = project.view()?;
    let lives = view.as_ref().map(|view| view.lives()).unwrap_or_default();
    let metrics: Metrics = project.document()?.unwrap_or_default();
    let most = if options.all { usize::MAX } else { options.limit };
    let mut ended = metrics.newest(most);
    if let (true, Some(view)) = (options.all, &view) {
        let archive = view.metrics_archive();
        let lines: Vec<&[u8]> = archive.split(|byte| *byte == b'\n').collect();
        ended.extend(lines.iter().rev().filter_map(|line| serde_json::from_slice(line).ok()));
    }
    if options.json {
        let value = json!({"live": lives, "ended": ended});
        return print_json(&value);
    }
    let now = project.process.now();
    let mut rows: Vec<_> = lives.iter().map(|session| live(session, now)).collect();
    rows.extend(ended.iter().map(entry));
    Ok(Outcome::printed(match rows.is_empty() {
        true => "No session is known yet.".into(),
        false => table::align(&rows),
    }))
}

fn live(live: &Live, now: Time) -> Vec<String> {
    row![
        live.session_id,
        "live",
        format!("for {}", time::human(time::age(&live.started, now))),
        plural(live.agents_spawned as usize, "agent"),
        plural(live.errors_encountered as usize, "error"),
        plural(live.files_modified.len(), "file"),
        live.started.get(..10).unwrap_or_default(),
        clip(live.title().unwrap_or(""), 60),
    ]
}

fn entry(entry: &Entry) -> Vec<String> {
    row![
        entry.session_id,
        entry.ended,
        format!("{} min", entry.duration_minutes),
        plural(entry.agents.spawned as usize, "agent"),
        plural(entry.errors.total as usize, "error"),
        plural(entry.files_modified as usize, "file"),
        entry.date,
        clip(entry.title().unwrap_or(""), 60),
    ]
}
