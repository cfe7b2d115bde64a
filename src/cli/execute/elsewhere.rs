//! Which execution is meant: not the copy that a worktree has of it, and not the one that another
//! folder still has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::site::Site;
use crate::books::execute::{self, Execution, FILE, Global};
use crate::books::executions::Known;
use crate::cli::Project;
use crate::facts::{files, git};
use crate::store::view::View;

/// The executions that a project's books know.
pub fn known(project: &Project, root: &Path) -> Vec<Known> {
    let view = View::open(root, project.process.home().as_deref()).ok().flatten();
    view.map(|view| view.executions()).unwrap_or_default()
}

/// A task's worktree has copies of what is tracked; whoever is in one means the original.
pub fn refuse_copy(project: &Project, path: &Path) -> anyhow::Result<()> {
    let Some(main) = git::main_checkout(path) else { return Ok(()) };
    let Some(top) = path.ancestors().find(|dir| dir.join(".git").exists()) else { return Ok(()) };
    let original = main.join(path.strip_prefix(top).unwrap_or(path));
    let roots = original.ancestors().take_while(|dir| dir.starts_with(&main));
    for known in roots.flat_map(|root| known(project, root)) {
        let dir = PathBuf::from(&known.worktree_dir);
        let dir = dir.canonicalize().unwrap_or(dir);
        let id = top.strip_prefix(&dir).ok().and_then(Path::to_str).unwrap_or_default();
        // Others may have worktrees in the same place.
        if state_in(Path::new(&known.tasks_path)).is_some_and(|state| state.tasks.contains_key(id))
        {
            bail!(
                "{} is in the worktree of {id}, which has only a copy of it; use {}",
                path.display(),
                original.display()
            );
        }
    }
    Ok(())
}

/// A folder that was moved is where it is now; one that was copied is not another execution.
pub fn moved(site: &Site, mut state: Execution) -> anyhow::Result<Execution> {
    let here = site.folder.path();
    let named = Path::new(&state.tasks_path);
    if named == here || named.canonicalize().is_ok_and(|real| real == here) {
        return Ok(state);
    }
    if named.join(FILE).is_file() {
        bail!(
            "{} is a copy of the execution in {}; use that, or {} with --project-path DIR makes this one its own",
            here.join(FILE).display(),
            named.display(),
            site.command("rebuild")
        );
    }
    state.tasks_path = here.display().to_string();
    Ok(state)
}

/// Two executions in one repository would take each other's branches for their own.
pub fn refuse_shared(site: &Site, state: &Execution) -> anyhow::Result<()> {
    let lower = |id: &String| id.to_lowercase();
    let own: BTreeSet<String> = state.tasks.keys().map(lower).collect();
    for known in known(site.project, Path::new(&state.project_path)) {
        let other = Path::new(&known.tasks_path);
        if other == site.folder.path() {
            continue;
        }
        let Some(found) = state_in(other) else { continue };
        let shared: Vec<&String> =
            found.tasks.keys().filter(|id| own.contains(&lower(id))).take(5).collect();
        if let (Some(first), false) = (shared.first(), found.status == Global::Completed) {
            bail!(
                "the execution in {} is not finished and has tasks of the same ids ({first}{}); finish it, or `hookkeeper execute reset {} --force` takes it away",
                other.display(),
                if shared.len() > 1 { ", …" } else { "" },
                other.display()
            );
        }
    }
    Ok(())
}

fn state_in(tasks: &Path) -> Option<Execution> {
    execute::parse(&files::read_all(&tasks.join(FILE)).ok()?).ok()
}
