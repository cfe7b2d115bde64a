//! `hookkeeper sessions`: those that live, and those that have ended.

use serde_json::json;

use crate::console::project::{Project, print_json};
use crate::console::projects::known_projects;
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::table::{self, row};
use crate::core::text::{clip, plural};
use crate::core::time::{self, Time};
use crate::session::live::Live;
use crate::session::metrics::{self, Entry, Metrics};
use crate::state::Source;
use crate::turn::root;

#[derive(clap::Args)]
pub struct Arguments {
    /// How many of those that have ended
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// All that have ended, the archive too
    #[arg(long)]
    all: bool,
    /// Of all projects where HookKeeper has kept state; linked worktrees behind their checkout
    #[arg(long)]
    all_projects: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    if options.all_projects {
        return of_all_projects(project, options);
    }
    let view = project.view()?;
    let lives = view.as_ref().map(|view| view.lives()).unwrap_or_default();
    let metrics: Metrics = project.document()?.unwrap_or_default();
    let most = if options.all { usize::MAX } else { options.limit };
    let mut ended = metrics.newest(most);
    if let (true, Some(view)) = (options.all, &view) {
        let archive = view.bytes(metrics::ARCHIVE.path).ok().flatten().unwrap_or_default();
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

/// The same for each project, under its path.
fn of_all_projects(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let (mut texts, mut values) = (Vec::new(), Vec::new());
    let here = Arguments { all_projects: false, ..*options };
    for known in known_projects(project) {
        let one = Project { process: project.process, named: Some(&known.root) };
        let said = match run(&one, &here) {
            Ok(outcome) => outcome.stdout.unwrap_or_default(),
            Err(_) if options.json => "null".into(),
            Err(error) => format!("its state cannot be read: {error:#}").into(),
        };
        if options.json {
            let value: serde_json::Value = serde_json::from_str(&said)?;
            values.push(
                json!({"project": known.root, "repository": known.repository, "sessions": value}),
            );
        }
        let worktree = if known.is_worktree() { "+ " } else { "" };
        let place = root::from_home(&known.root, project.process.home().as_deref());
        let mut text = Printed::default();
        text.line(format!("{worktree}{place}"));
        text.push(said.trimmed());
        text.push("\n");
        texts.push(text);
    }
    if options.json {
        return print_json(&json!({"projects": values}));
    }
    let mut all = Printed::default();
    for (n, text) in texts.into_iter().enumerate() {
        all.push(if n == 0 { "" } else { "\n" });
        all.push(text);
    }
    Ok(Outcome::printed(match all.is_empty() {
        true => "No project with state is known yet.".into(),
        false => all,
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
