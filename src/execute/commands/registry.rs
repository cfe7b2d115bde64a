//! Where the executions of a project are, in the project's own state: sessions are told of them.

use std::path::Path;

use anyhow::Context as _;

use crate::console::project::Project;
use crate::console::style::ColourChoice;
use crate::execute::TasksFolder;
use crate::execute::document::Execution;
use crate::execute::registry::{Executions, Known};
use crate::state::plan::Plan;

/// Enters an execution that has just begun.
pub fn add(folder: &TasksFolder, state: &Execution) -> anyhow::Result<()> {
    let now = folder.now();
    change(folder, state, |known| known.begin(&state.tasks_path, &state.worktree_dir, &now))
        .context("it has begun, but sessions will not be told of it")
}

/// Enters an execution that may be known, perhaps in another place: what is known of it stays.
pub fn refresh(folder: &TasksFolder, state: &Execution, old: Option<&str>) -> anyhow::Result<()> {
    let now = folder.now();
    change(folder, state, |registry| {
        let is = |known: &&mut Known| {
            known.tasks_path == state.tasks_path || Some(known.tasks_path.as_str()) == old
        };
        match registry.executions.iter_mut().find(is) {
            Some(known) => {
                known.tasks_path.clone_from(&state.tasks_path);
                known.worktree_dir.clone_from(&state.worktree_dir);
            }
            None => registry.begin(&state.tasks_path, &state.worktree_dir, &now),
        }
    })
}

pub fn remove(folder: &TasksFolder, state: &Execution) -> anyhow::Result<()> {
    change(folder, state, |registry| registry.forget(&state.tasks_path))
}

fn change(
    folder: &TasksFolder,
    state: &Execution,
    work: impl FnOnce(&mut Executions),
) -> anyhow::Result<()> {
    let root = Path::new(&state.project_path);
    Project { process: folder.process, named: Some(root), colour: ColourChoice::Auto }.change(
        |store, around| {
            let read = around.read::<Executions>(&());
            let mut known = read.value.cloned().unwrap_or_default();
            work(&mut known);
            let mut plan = Plan::default();
            plan.put(&read, &known);
            Ok(store.commit(&plan.changes, around)?)
        },
    )
}
