//! `execute next`: the current batch, with everything an agent needs.

use serde_json::{Value, json};

use crate::commands::execute::refresh;
use crate::console::project::print_json;
use crate::core::outcome::Outcome;
use crate::core::text::{clip, plural};
use crate::execute::document::{Execution, ExecutionStatus, MAX_ATTEMPTS, TaskRecord, TaskStatus};
use crate::execute::plan_files::load_task_file;
use crate::execute::{TasksFolder, schedule, task_branch};

pub fn run(folder: &TasksFolder, json: bool) -> anyhow::Result<Outcome> {
    let notes = refresh(folder, false)?;
    describe(folder, json, &notes)
}

/// The batch as the state has it, after what else there is to say.
pub fn describe(folder: &TasksFolder, json: bool, notes: &[String]) -> anyhow::Result<Outcome> {
    let mut state = folder.load()?;
    schedule::update_batch(&mut state);
    let tasks = state.batch.iter().filter_map(|id| Some((id, state.tasks.get(id)?)));
    let why = explain_empty(folder, &state);
    if json {
        let briefs = tasks.map(|(id, task)| agent_brief(folder, &state, id, task));
        let mut value = json!({
            "layer": state.current_layer,
            "batch": state.current_batch,
            "status": state.status,
            "tasks": briefs.collect::<anyhow::Result<Vec<Value>>>()?,
        });
        if let Some(fields) = value.as_object_mut() {
            fields.extend(why.map(|why| ("reason".to_owned(), why.into())));
            if !notes.is_empty() {
                fields.insert("notes".into(), json!(notes));
            }
        }
        return print_json(&value);
    }
    let mut lines: Vec<String> = Vec::new();
    for (id, task) in tasks {
        let name = task.name.as_deref().unwrap_or_default();
        lines.push(format!("{id}  {}  {}", clip(name, 60), next_action(folder, id, task)));
    }
    if !lines.is_empty() {
        let layer = state.current_layer.as_deref().unwrap_or_default();
        lines.insert(0, format!("Layer {layer}, batch {}:", state.current_batch));
    }
    lines.extend(why);
    lines.extend(notes.iter().cloned());
    Ok(Outcome::printed(lines.join("\n")))
}

/// Why there is nothing to begin.
fn explain_empty(folder: &TasksFolder, state: &Execution) -> Option<String> {
    match state.status {
        ExecutionStatus::Completed => {
            Some(format!("All {} are merged.", plural(state.tasks.len(), "task")))
        }
        ExecutionStatus::Stopped => {
            Some(format!("It is stopped; {} goes on.", folder.command("resume")))
        }
        ExecutionStatus::Abandoned => Some(format!("{}.", schedule::explain_abandoned(state))),
        ExecutionStatus::Pending | ExecutionStatus::InProgress if state.batch.is_empty() => {
            Some(schedule::explain_waiting(state))
        }
        ExecutionStatus::Pending | ExecutionStatus::InProgress => None,
    }
}

/// What is to be done with a task now.
fn next_action(folder: &TasksFolder, id: &str, task: &TaskRecord) -> String {
    let command = |what: &str| folder.absolute_command(&format!("{what} {id}"));
    match task.status {
        TaskStatus::Pending => command("start"),
        TaskStatus::Failed => format!("{} (attempt {})", command("start"), task.attempt()),
        TaskStatus::InProgress => {
            format!("is being worked on (attempt {}); then {}", task.attempts, command("verify"))
        }
        TaskStatus::Verifying => "is being verified".into(),
        TaskStatus::Verified => folder.absolute_command("merge"),
        TaskStatus::Merging => "is being merged".into(),
        TaskStatus::Completed => "is merged".into(),
        TaskStatus::Abandoned => command("reset-task"),
    }
}

/// A task as an agent gets it.
pub fn agent_brief(
    folder: &TasksFolder,
    state: &Execution,
    id: &str,
    task: &TaskRecord,
) -> anyhow::Result<Value> {
    let path = task.worktree_path.clone();
    let path = path.unwrap_or_else(|| state.worktree_path(id).display().to_string());
    Ok(json!({
        "id": id,
        "name": task.name,
        "layer": task.layer,
        "priority": task.priority,
        "status": task.status,
        "attempt": task.attempt(),
        "max_attempts": MAX_ATTEMPTS,
        "worktree_path": path,
        "branch": task_branch(id),
        "base_branch": state.base(),
        "depends_on": task.depends_on,
        "agent_id": task.agent_id,
        "file": task.file.as_ref().map(|file| folder.path().join(file)),
        "task": load_task_file(folder.path(), id, task)?,
        "errors": task.errors,
        "retry_feedback": task.retry_feedback,
        "then": next_action(folder, id, task),
    }))
}
