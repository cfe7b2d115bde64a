//! `execute next`: the current batch, with everything an agent needs.

use serde_json::{Value, json};

use super::site::Site;
use super::start::place;
use crate::Outcome;
use crate::books::execute::{Execution, Feedback, Global, Status, Task};
use crate::books::{clip, plural};
use crate::cli::said_json;
use crate::execute::brief::{self, Brief};
use crate::execute::schedule;
use crate::execute::truth::branch_of;
use crate::facts::files;

pub fn run(site: &Site, json: bool) -> anyhow::Result<Outcome> {
    let mut state = site.load()?;
    schedule::next_batch(&mut state);
    let tasks = state.batch.iter().filter_map(|id| Some((id, state.tasks.get(id)?)));
    let why = nothing(site, &state);
    if json {
        let work = tasks.map(|(id, task)| work(site, &state, id, task));
        let mut value = json!({
            "layer": state.current_layer,
            "batch": state.current_batch,
            "status": state.status,
            "tasks": work.collect::<anyhow::Result<Vec<Value>>>()?,
        });
        if let (Some(why), Some(fields)) = (why, value.as_object_mut()) {
            fields.insert("reason".into(), why.into());
        }
        return said_json(&value);
    }
    let mut lines: Vec<String> = Vec::new();
    for (id, task) in tasks {
        let name = task.name.as_deref().unwrap_or_default();
        lines.push(format!("{id}  {}  {}", clip(name, 60), doing(site, id, task)));
    }
    if !lines.is_empty() {
        let layer = state.current_layer.as_deref().unwrap_or_default();
        lines.insert(0, format!("Layer {layer}, batch {}:", state.current_batch));
    }
    lines.extend(why);
    Ok(Outcome::said(lines.join("\n")))
}

/// Why there is nothing to begin.
fn nothing(site: &Site, state: &Execution) -> Option<String> {
    match state.status {
        Global::Completed => Some(format!("All {} are merged.", plural(state.tasks.len(), "task"))),
        Global::Stopped => Some(format!("It is stopped; {} goes on.", site.command("resume"))),
        Global::Abandoned => Some(format!("{}.", schedule::abandoned(state))),
        Global::Pending | Global::InProgress if state.batch.is_empty() => {
            Some(schedule::waits(state))
        }
        Global::Pending | Global::InProgress => None,
    }
}

/// What is to be done with a task now.
fn doing(site: &Site, id: &str, task: &Task) -> String {
    let command = |what: &str| site.command_anywhere(&format!("{what} {id}"));
    match task.status {
        Status::Pending => command("start"),
        Status::Failed => format!("{} (attempt {})", command("start"), task.attempt()),
        Status::InProgress => {
            format!("is being worked on (attempt {}); then {}", task.attempts, command("verify"))
        }
        Status::Verifying => "is being verified".into(),
        Status::Verified => site.command_anywhere("merge"),
        Status::Merging => "is being merged".into(),
        Status::Completed => "is merged".into(),
        Status::Abandoned => command("reset-task"),
    }
}

/// A task as an agent gets it.
pub fn work(site: &Site, state: &Execution, id: &str, task: &Task) -> anyhow::Result<Value> {
    let attempt = task.attempt();
    let path = task.worktree_path.clone();
    let path = path.unwrap_or_else(|| place(state, id).display().to_string());
    let feedback: Vec<&Feedback> = task.retry_feedback.iter().collect();
    Ok(json!({
        "id": id,
        "name": task.name,
        "layer": task.layer,
        "priority": task.priority,
        "status": task.status,
        "attempt": attempt,
        "max_attempts": crate::books::execute::MAX_ATTEMPTS,
        "worktree_path": path,
        "branch": branch_of(id),
        "base_branch": state.base(),
        "depends_on": task.depends_on,
        "agent_id": task.agent_id,
        "file": task.file.as_ref().map(|file| site.folder.path().join(file)),
        "task": brief(site, id, task)?,
        "errors": task.errors,
        "retry_feedback": feedback,
        "then": doing(site, id, task),
    }))
}

/// What the task's file says.
pub fn brief(site: &Site, id: &str, task: &Task) -> anyhow::Result<Brief> {
    let Some(file) = &task.file else { return Ok(Brief::default()) };
    let path = site.folder.path().join(file);
    let bytes = files::read_all(&path).map_err(|error| {
        anyhow::anyhow!("the task file of {id} cannot be read: {}: {error}", path.display())
    })?;
    brief::read(&bytes).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))
}
