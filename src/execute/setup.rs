//! Beginning an execution: a state for a plan, in a repository that can be used.

use std::path::{Path, PathBuf};

use crate::execute::document::{Execution, VERSION};
use crate::execute::plan::TaskPlan;
use crate::execute::{
    LockedRepository, Repository, Result, TasksFolder, locate, plan_sync, schedule, task_branch,
};
use crate::store::{exclude, execution};

/// A state for a plan, with nothing done yet.
pub fn new_execution(
    folder: &TasksFolder,
    plan: &TaskPlan,
    project: PathBuf,
    base: Option<&str>,
) -> Result<(Repository, Execution)> {
    let project = project.canonicalize().unwrap_or(project);
    locate::refuse_worktree_copy(folder.process, &project)?;
    let repository = folder.open_repository(&project)?;
    repository.ensure_idle()?;
    let top = repository.top.display();
    let base = match (base, repository.current_branch()?) {
        (Some(base), _) => base.to_owned(),
        (None, Some(head)) => head,
        (None, None) => refuse!(
            "HEAD of {top} is detached, so there is no branch to merge tasks to; `git checkout BRANCH`, or --base BRANCH"
        ),
    };
    let tip = repository.branch_tip(&base)?.ok_or_else(|| {
        format!(
            "{top} has no commit on branch {base}; make one first, or name another: --base BRANCH"
        )
    })?;
    let folder_name = || folder.path().file_name().unwrap_or_default().to_string_lossy();
    let slug = match plan.slug.is_empty() {
        false => plan.slug.clone(),
        true => folder_name().into_owned(),
    };
    let tasks = plan.tasks.iter().map(|task| (task.id.clone(), plan_sync::new_task(task)));
    let state = Execution {
        schema_version: VERSION.into(),
        prd_slug: slug,
        worktree_dir: project.join(".worktrees").display().to_string(),
        project_path: project.display().to_string(),
        tasks_path: folder.path().display().to_string(),
        tasks: tasks.collect(),
        base_branch: Some(base),
        base_commit: Some(tip),
        max_parallel: Some(schedule::MAX_PARALLEL),
        ..Execution::default()
    };
    Ok((repository, state))
}

/// Branches of an execution whose state and worktrees somebody took away, which is how one begins
/// anew: they make room, after [`refuse_leftovers`]. Those that have work in them get another name;
/// which these are.
pub fn set_branches_aside(repository: &LockedRepository, state: &Execution) -> Result<Vec<String>> {
    let facts = repository.read_facts(state)?;
    // Git still knows worktrees that were removed by hand.
    repository.change(&["worktree", "prune"])?;
    let mut kept = Vec::new();
    for (id, tip) in &facts.branches {
        let branch = task_branch(id);
        let aside = format!("set-aside/{branch}-{}", tip.get(..7).unwrap_or(tip));
        match facts.ahead.contains(id) {
            true => repository.change(&["branch", "-M", &branch, &aside])?,
            false => repository.change(&["branch", "-D", "--quiet", &branch])?,
        }
        kept.extend(facts.ahead.contains(id).then_some(aside));
    }
    Ok(kept)
}

/// Worktrees and directories that tasks would need are nobody else's.
pub fn refuse_leftovers(
    folder: &TasksFolder,
    repository: &Repository,
    state: &Execution,
) -> Result<()> {
    let facts = repository.read_facts(state)?;
    let mut found: Vec<String> =
        facts.branches.keys().map(|id| format!("branch {}", task_branch(id))).collect();
    let taken = state.tasks.keys().map(|id| state.worktree_path(id)).filter(|path| path.exists());
    let taken: Vec<String> = taken.map(|path| path.display().to_string()).collect();
    // Branches alone are in nobody's way, if an execution of this folder made them.
    let is_known = || {
        let known = locate::known_executions(folder.process, Path::new(&state.project_path));
        known.iter().any(|known| Path::new(&known.tasks_path) == folder.path())
    };
    let is_free = taken.is_empty() && facts.worktrees.is_empty();
    if is_free && (found.is_empty() || is_known()) {
        return Ok(());
    }
    found.extend(taken);
    let rest = found.len().saturating_sub(5);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    found.truncate(5);
    refuse!(
        "there are leftovers of an earlier execution: {}{more}; {} takes their work over, or remove them",
        found.join(", "),
        folder.command("rebuild")
    )
}

/// Worktrees and locks do not show up in `git status`.
pub fn exclude_from_status(
    folder: &TasksFolder,
    repository: &Repository,
    state: &Execution,
) -> Result<()> {
    let inside = |path: &Path| Some(path.strip_prefix(&repository.top).ok()?.to_str()?.to_owned());
    let worktrees = inside(Path::new(&state.worktree_dir)).map(|path| format!("/{path}/"));
    let lock = inside(&folder.path().join(execution::LOCK)).map(|path| format!("/{path}"));
    for pattern in worktrees.into_iter().chain(lock) {
        exclude::add(&repository.common, &pattern)?;
    }
    Ok(())
}
