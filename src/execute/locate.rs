//! Which execution is meant: not the copy that a worktree has of it, and not the one that another
//! folder still has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::core::gate::shell_word;
use crate::execute::document::{self, Execution, ExecutionStatus, FILE};
use crate::execute::registry::{Executions, Known};
use crate::execute::{Result, TasksFolder};
use crate::git::refs;
use crate::process::{Process, files};
use crate::store::view::View;

/// The executions that the state of a project knows.
pub fn known_executions(process: &Process, root: &Path) -> Vec<Known> {
    match View::open(root, process.home().as_deref()) {
        Ok(Some(view)) => view.get::<Executions>().unwrap_or_default().executions,
        _ => Vec::new(),
    }
}

/// A task's worktree has copies of what is tracked; whoever is in one means the original.
pub fn refuse_worktree_copy(process: &Process, path: &Path) -> Result<()> {
    let Some((id, original)) = original_of(process, path) else { return Ok(()) };
    refuse!(
        "{} is in the worktree of {id}, which has only a copy of it; use {}",
        path.display(),
        original.display()
    );
}

/// Of a path in a task's worktree: the task, and what it is a copy of.
pub fn original_of(process: &Process, path: &Path) -> Option<(String, PathBuf)> {
    let main = refs::main_checkout(path)?;
    let top = path.ancestors().find(|dir| dir.join(".git").exists())?;
    let original = main.join(path.strip_prefix(top).unwrap_or(path));
    let roots = original.ancestors().take_while(|dir| dir.starts_with(&main));
    for known in roots.flat_map(|root| known_executions(process, root)) {
        let dir = PathBuf::from(&known.worktree_dir);
        let dir = dir.canonicalize().unwrap_or(dir);
        let id = top.strip_prefix(&dir).ok().and_then(Path::to_str).unwrap_or_default();
        // Others may have worktrees in the same place.
        if read_state(Path::new(&known.tasks_path))
            .is_some_and(|state| state.tasks.contains_key(id))
        {
            return Some((id.to_owned(), original));
        }
    }
    None
}

/// A folder that was moved is where it is now; one that was copied is not another execution.
pub fn follow_move(folder: &TasksFolder, mut state: Execution) -> Result<Execution> {
    let here = folder.path();
    let named = Path::new(&state.tasks_path);
    if named == here || named.canonicalize().is_ok_and(|real| real == here) {
        return Ok(state);
    }
    if named.join(FILE).is_file() {
        refuse!(
            "{} is a copy of the execution in {}; use that, or {} with --project-path DIR makes this one its own",
            here.join(FILE).display(),
            named.display(),
            folder.command("rebuild")
        );
    }
    state.tasks_path = here.display().to_string();
    Ok(state)
}

/// Two executions in one repository would take each other's branches for their own.
pub fn refuse_shared_ids(folder: &TasksFolder, state: &Execution) -> Result<()> {
    let lower = |id: &String| id.to_lowercase();
    let own: BTreeSet<String> = state.tasks.keys().map(lower).collect();
    for known in known_executions(folder.process, Path::new(&state.project_path)) {
        let other = Path::new(&known.tasks_path);
        if other == folder.path() {
            continue;
        }
        let Some(found) = read_state(other) else { continue };
        let shared: Vec<&String> =
            found.tasks.keys().filter(|id| own.contains(&lower(id))).take(5).collect();
        if let (Some(first), false) = (shared.first(), found.status == ExecutionStatus::Completed) {
            refuse!(
                "the execution in {} is not finished and has tasks of the same ids ({first}{}); finish it, or `hookkeeper execute reset {} --force` takes it away",
                other.display(),
                if shared.len() > 1 { ", …" } else { "" },
                shell_word(&known.tasks_path)
            );
        }
    }
    Ok(())
}

fn read_state(tasks: &Path) -> Option<Execution> {
    document::parse(&files::read_all(&tasks.join(FILE)).ok()?).ok()
}
