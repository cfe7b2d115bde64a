//! A state of this format that another tool has kept: what it does not say is found out from the
//! plan, the layers and the checkout.

use std::path::Path;

use crate::execute::document::{Execution, layer_order};
use crate::execute::{TasksFolder, plan_files, plan_sync};
use crate::git::refs;

/// Whether a state lacks what this program has to know.
pub fn is_foreign(state: &Execution) -> bool {
    state.base_branch.is_none() || state.tasks.values().any(|task| task.layer.is_none())
}

/// Fills in what a state lacks, as far as it can be found out.
pub fn complete(folder: &TasksFolder, mut state: Execution) -> Execution {
    // It may have been written on another machine, for a checkout that is elsewhere here.
    if !Path::new(&state.project_path).is_dir()
        && let Some(top) = folder.path().ancestors().find(|dir| refs::is_checkout(dir))
    {
        state.worktree_dir = top.join(".worktrees").display().to_string();
        state.project_path = top.display().to_string();
    }
    if state.base_branch.is_none() {
        state.base_branch = refs::read(Path::new(&state.project_path)).branch;
    }
    let plan = plan_files::load_plan(folder.path()).ok();
    let planned = |id: &str| plan.as_ref()?.tasks.iter().find(|task| task.id == id);
    let layers: Vec<String> = state.layers.keys().cloned().collect();
    for (id, task) in state.tasks.iter_mut().filter(|(_, task)| task.layer.is_none()) {
        let done = std::mem::take(task);
        *task = match planned(id) {
            Some(planned) => done.with_plan_of(plan_sync::new_task(planned)),
            None => done,
        };
        let by_number = || layers.iter().find(|layer| is_of_layer(id, layer)).cloned();
        task.layer = task.layer.take().or_else(by_number).or_else(|| state.current_layer.clone());
    }
    state
}

/// Whether a task's id has the number of a layer: `L2-003`, `2-backend`.
fn is_of_layer(id: &str, layer: &str) -> bool {
    let number = layer_order(id.trim_start_matches(|c: char| c.is_ascii_alphabetic())).0;
    number != u64::MAX && number == layer_order(layer).0
}
