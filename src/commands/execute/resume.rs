//! `execute resume`: what an interruption left is put right, and it is said what comes next.

use serde_json::json;

use crate::commands::execute::{OnlyTarget, corrections_json, corrections_text, next, registry};
use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::execute::document::{Execution, TaskStatus};
use crate::execute::{Correction, TasksFolder, resume};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub target: OnlyTarget,
    /// Only print the plan
    #[arg(long)]
    dry_run: bool,
}

pub fn run(
    project: &Project,
    folder: &TasksFolder,
    options: &Arguments,
) -> anyhow::Result<Outcome> {
    let (json, dry_run) = (options.target.json, options.dry_run);
    let mut state = folder.load()?;
    let corrections = match dry_run {
        true => resume::preview(folder, &mut state)?,
        false => resume::resume(folder, &state)?,
    };
    if !dry_run {
        state = folder.load()?;
        registry::refresh(project, folder, &state, None)?;
    }
    describe(folder, &state, &corrections, json, dry_run)
}

fn describe(
    folder: &TasksFolder,
    state: &Execution,
    corrections: &[Correction],
    json: bool,
    dry_run: bool,
) -> anyhow::Result<Outcome> {
    let batch = next::describe(folder, false, &[])
        .ok()
        .and_then(|outcome| outcome.stdout)
        .filter(|_| !dry_run);
    if json {
        return print_json(&json!({
            "corrections": corrections_json(corrections), "status": state.status, "layer": state.current_layer,
            "batch": state.current_batch, "tasks": state.batch, "metrics": state.metrics,
        }));
    }
    let mut text = corrections_text(corrections, state);
    let layer = state.current_layer.as_deref().unwrap_or_default();
    if let Some(counts) = state.layers.get(layer) {
        text.push_str(&format!(
            "\nLayer {layer}: {}/{} completed",
            counts.tasks_completed, counts.tasks_total
        ));
    }
    for (id, task) in &state.tasks {
        if task.status == TaskStatus::Failed {
            text.push_str(&format!("\nRetry {id} (attempt {})", task.attempt()));
        }
    }
    match batch {
        Some(batch) => text.push_str(&format!("\n{batch}")),
        None => text.push_str(&format!("\nWould go on with: {}", state.batch.join(", "))),
    }
    Ok(Outcome::printed(text))
}
