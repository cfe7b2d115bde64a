//! `hookkeeper agents stuck`: who runs, says nothing, and what can be done about it. An agent that
//! still works is never called stuck: its transcript grows, or its events come.

use serde_json::{Value, json};

use crate::agents::agent::Agent;
use crate::branch::folder::branch_agents;
use crate::branch::tracked::Tracked;
use crate::branch::witness;
use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::table::row;
use crate::core::text::plural;
use crate::core::time::{self, Time};
use crate::process::files;
use crate::session::record::lives;
use crate::store::view::View;

/// An agent that is stuck: one of a live session, or one that another tool has left in a branch's
/// document.
pub enum Stuck {
    Own(Box<Agent>),
    Left { entry: Box<Tracked>, folder: String },
}

pub fn run(project: &Project, view: &View, as_json: bool) -> anyhow::Result<Outcome> {
    let now = project.process.now();
    let settings = project.settings()?;
    let stuck = find(view, settings.stuck_after(), now);
    if as_json {
        return print_json(&stuck.iter().map(as_value).collect::<Vec<_>>());
    }
    if stuck.is_empty() {
        return Ok(Outcome::printed(format!(
            "No agent is stuck: none has run and been silent for {}.",
            plural(settings.stuck_after_minutes as usize, "minute")
        )));
    }
    let rows: Vec<_> = stuck.iter().map(|(one, silent)| as_row(one, *silent, now)).collect();
    let columns =
        [("AGENT", 0), ("STATUS", 1), ("TYPE", 4), ("TIME", 3), ("SILENT", 2), ("TASK", 0)];
    let mut text = project.print_rows(&columns, &rows);
    if stuck.iter().any(|(one, _)| matches!(one, Stuck::Own(_))) {
        text.push("\nWhat you can do: hookkeeper agents nudge ID, stop it in Claude Code (/tasks), or wait: it counts as completed if it finishes.");
    }
    if stuck.iter().any(|(one, _)| matches!(one, Stuck::Left { .. })) {
        text.push("\nWhat another tool has left behind no session knows: hookkeeper agents close ID strikes it off.");
    }
    Ok(Outcome::printed(text))
}

/// All that are stuck, with the seconds of their silence.
pub fn find(view: &View, threshold: u64, now: Time) -> Vec<(Stuck, u64)> {
    let lives = lives(view);
    let mut stuck = Vec::new();
    for live in &lives {
        for agent in &live.agents {
            let (is_stuck, silent) =
                witness::is_stuck(agent, live, threshold, now, files::modified);
            if is_stuck {
                stuck.push((Stuck::Own(Box::new(agent.clone())), silent));
            }
        }
    }
    for (folder, document) in branch_agents(view) {
        let left = document.open().filter(|entry| entry.session_id.is_none());
        let left = left.filter(|entry| entry.age(now) > threshold);
        stuck.extend(left.map(|entry| {
            let silent = entry.age(now);
            (Stuck::Left { entry: Box::new(entry.clone()), folder: folder.clone() }, silent)
        }));
    }
    stuck
}

fn as_value((stuck, silent): &(Stuck, u64)) -> Value {
    match stuck {
        Stuck::Own(agent) => json!({"agent": agent, "silent_seconds": silent}),
        Stuck::Left { entry, folder } => {
            json!({"agent": entry, "branch": folder, "silent_seconds": silent})
        }
    }
}

fn as_row(stuck: &Stuck, silent: u64, now: Time) -> Vec<String> {
    let silent = format!("silent {}", time::human(silent));
    match stuck {
        Stuck::Own(agent) => {
            let age = format!("for {}", time::human(time::age(&agent.started, now)));
            row![agent.id, agent.status, agent.kind, age, silent, agent.task_text()]
        }
        Stuck::Left { entry, folder } => row![
            entry.id,
            format!("left on {folder}"),
            entry.kind,
            format!("for {}", time::human(entry.age(now))),
            silent,
            entry.description.as_deref().unwrap_or("task not known"),
        ],
    }
}
