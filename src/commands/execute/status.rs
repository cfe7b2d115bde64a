//! `execute status`: layers as a tree with bars; and `execute stop`.

use crate::commands::execute::refresh;
use crate::console::project::print_json;
use crate::core::outcome::Outcome;
use crate::core::table::{align, clean};
use crate::core::text::{clip, plural};
use crate::core::time;
use crate::execute::TasksFolder;
use crate::execute::document::{
    ClaimState, Execution, ExecutionStatus, LayerStatus, QueueStatus, TaskRecord, TaskStatus,
};

const BAR: u64 = 20;
/// Of a layer's tasks so many are shown; the rest is counted.
const MAX_SHOWN: usize = 40;

pub fn run(folder: &TasksFolder, json: bool) -> anyhow::Result<Outcome> {
    let notes = refresh(folder, true)?;
    let state = folder.load()?;
    if json {
        return print_json(&state);
    }
    let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
    Ok(Outcome::printed(layer_tree(&state) + &notes))
}

pub fn stop(folder: &TasksFolder, json: bool) -> anyhow::Result<Outcome> {
    let state = folder.update(|state| {
        if state.status == ExecutionStatus::Completed {
            return Err("it is complete: there is nothing to stop".into());
        }
        state.status = ExecutionStatus::Stopped;
        Ok(state.clone())
    })?;
    if json {
        return print_json(&state);
    }
    let running = state.tasks.values().filter(|task| task.status.is_running()).count();
    Ok(Outcome::printed(format!(
        "Stopped. No task is begun or merged until {}; {} may end what they do.",
        folder.command("resume"),
        plural(running, "running task")
    )))
}

fn layer_tree(state: &Execution) -> String {
    let metrics = &state.metrics;
    let mut text = format!(
        "{}  {}  {} {}/{}  {}, {}, {}\n",
        clean(&state.prd_slug),
        state.status,
        progress_bar(metrics.completed_tasks, metrics.total_tasks),
        metrics.completed_tasks,
        metrics.total_tasks,
        plural(usize::try_from(metrics.total_attempts).unwrap_or(0), "attempt"),
        plural(usize::try_from(metrics.total_commits).unwrap_or(0), "commit"),
        time::human(metrics.elapsed_time_seconds),
    );
    let names = state.layer_names();
    for (at, name) in names.iter().enumerate() {
        let Some(layer) = state.layers.get(*name) else { continue };
        let last = at + 1 == names.len();
        let (branch, trunk) = if last { ("└─", "  ") } else { ("├─", "│ ") };
        let failed = match layer.tasks_failed {
            0 => String::new(),
            n => format!(", {n} failed"),
        };
        let counts = format!("{}/{}{failed}", layer.tasks_completed, layer.tasks_total);
        let drawn = progress_bar(layer.tasks_completed, layer.tasks_total);
        text.push_str(&format!("{branch} {}  {drawn} {counts}\n", clean(name)));
        // A layer in which only silent machines have something is not in progress.
        let of_layer = || state.tasks.values().filter(|task| task.layer.as_deref() == Some(name));
        let is_silent = |task: &TaskRecord| task.remote.as_ref().is_some_and(|seen| seen.stale);
        if layer.status == LayerStatus::InProgress || of_layer().any(is_silent) {
            text.push_str(&task_rows(state, name, trunk));
        }
    }
    let waiting: Vec<String> = state
        .open_merges()
        .map(|queued| match queued.status {
            QueueStatus::Merging => format!("{} (merging)", queued.task_id),
            _ => queued.task_id.clone(),
        })
        .collect();
    if !waiting.is_empty() {
        text.push_str(&format!("merge queue: {}\n", waiting.join(", ")));
    }
    text
}

/// The tasks of a layer, those first that something is going on with.
fn task_rows(state: &Execution, layer: &str, trunk: &str) -> String {
    let of_layer = state.tasks.iter().filter(|(_, task)| task.layer.as_deref() == Some(layer));
    let mut tasks: Vec<(&String, &TaskRecord)> = of_layer.collect();
    tasks.sort_by_key(|(_, task)| {
        matches!(task.status, TaskStatus::Pending | TaskStatus::Completed)
    });
    let rest = tasks.len().saturating_sub(MAX_SHOWN);
    let row = |(id, task): &(&String, &TaskRecord)| {
        let attempts = match task.attempts {
            0 => String::new(),
            n => format!("attempt {n}"),
        };
        let last = task.errors.last().filter(|_| task.status.is_failed());
        let more = last.map(|error| clip(&error.message, 80)).or_else(|| task.agent_id.clone());
        let more = describe_holder(task).or(more);
        let name = clip(task.name.as_deref().unwrap_or_default(), 40);
        let row =
            [(*id).clone(), task.status.to_string(), attempts, name, more.unwrap_or_default()];
        row.to_vec()
    };
    let rows: Vec<Vec<String>> = tasks.iter().take(MAX_SHOWN).map(row).collect();
    let mut text: String = align(&rows).lines().map(|line| format!("{trunk}   {line}\n")).collect();
    if rest > 0 {
        text.push_str(&format!("{trunk}   … and {rest} more\n"));
    }
    text
}

/// Who works on a task of a shared execution, and where.
fn describe_holder(task: &TaskRecord) -> Option<String> {
    let seen = task.remote.as_ref()?;
    let is_open = !task.status.is_finished() && task.status != TaskStatus::Failed;
    let held = matches!(seen.state, ClaimState::Held | ClaimState::Verified);
    let silent = if seen.stale { ", silent for a lease: it may be taken over" } else { "" };
    (is_open && held).then(|| match seen.own {
        true => "here".to_owned(),
        false => format!("{}, since {}{silent}", seen.holder(), seen.at),
    })
}

fn progress_bar(done: u64, total: u64) -> String {
    let full = (done.min(total) * BAR).checked_div(total).unwrap_or(0);
    let repeat = |piece: &str, times: u64| piece.repeat(usize::try_from(times).unwrap_or(0));
    format!("{}{}", repeat("█", full), repeat("░", BAR - full))
}
