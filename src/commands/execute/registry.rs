//! Where the executions of a project are, in the project's own state: sessions are told of them.

use std::path::Path;

use anyhow::Context as _;

use crate::console::project::Project;
use crate::execute::TasksFolder;
use crate::execute::document::Execution;
use crate::execute::registry::{Executions, Known};
use crate::state::plan::Plan;

/// Enters an execution that has just begun.
pub fn add(project: &Project, folder: &TasksFolder, state: &Execution) -> anyhow::Result<()> {
    let now = folder.now();
    change(project, state, |known| known.begin(&state.tasks_path, &state.worktree_dir, &now))
        .context("it has begun, but sessions will not be told of it")
}

/// Enters an execution that may be known, perhaps in another place: what is known of it stays.
pub fn refresh(
    project: &Project,
    folder: &TasksFolder,
    state: &Execution,
    old: Option<&str>,
) -> anyhow::Result<()> {
    let now = folder.now();
    change(project, state, |registry| {
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

pub fn remove(project: &Project, state: &Execution) -> anyhow::Result<()> {
    change(project, state, |registry| registry.forget(&state.tasks_path))
}

fn change(
    project: &Project,
    state: &Execution,
    work: impl FnOnce(&mut Executions),
) -> anyhow::Result<()> {
    let root = Path::new(&state.project_path);
    Project { named: Some(root), ..*project }.change(|store, around| {
        let read = around.read::<Executions>(&());
        let mut known = read.value.cloned().unwrap_or_default();
        work(&mut known);
        let mut plan = Plan::default();
        plan.put(&read, &known);
        Ok(store.commit(&plan.changes, around)?)
    })
}
