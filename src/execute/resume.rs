//! What an interruption left is put right, and git is asked for what is so.

use std::path::Path;

use crate::execute::counts::stale_counts;
use crate::execute::document::{Execution, ExecutionStatus, TaskRecord, TaskStatus};
use crate::execute::remote::Coordination;
use crate::execute::{
    Correction, GitFacts, LockedRepository, Repository, Result, TasksFolder, rebuild, reconcile,
    recover, schedule, task_branch, worktree, worktree_status,
};

/// What `resume` would make of a state.
pub fn preview(folder: &TasksFolder, state: &mut Execution) -> Result<Vec<Correction>> {
    let facts = folder.repository(state)?.read_facts(state)?;
    let claimed = folder.claimed_tasks(state);
    let corrections = reconcile::reconcile(state, &facts, &claimed);
    clear_stop(state);
    state.recompute(&folder.now());
    schedule::update_batch(state);
    Ok(corrections)
}

/// Puts everything right; what that was.
pub fn resume(folder: &TasksFolder, state: &Execution) -> Result<Vec<Correction>> {
    let repository = folder.repository(state)?;
    let mut corrections = Vec::new();
    let is_orphaned =
        |task: &TaskRecord| task.claim.as_ref().is_some_and(|claim| folder.is_orphaned(claim));
    for (id, _) in state.tasks.iter().filter(|(_, task)| is_orphaned(task)) {
        let text = recover::recover_task(folder, &repository, id)?;
        corrections.extend(text.map(|text| Correction { id: id.clone(), text }));
    }
    if let Some(shared) = Coordination::of(folder, &repository, state) {
        corrections.extend(shared.reconcile()?);
    }
    repository.ensure_idle()?;
    // Nobody begins or merges anything between what git is asked and what is made of it.
    let repository = repository.lock()?;
    tidy_worktrees(folder, &repository, &mut corrections)?;
    corrections.extend(rebuild::retry(|| try_reconcile(folder, &repository))?);
    // A branch of a task that is pending now is nobody's.
    tidy_worktrees(folder, &repository, &mut corrections)?;
    Ok(corrections)
}

/// Brings the state in line with git. What others do to it meanwhile is not undone: then `None`, and
/// git has to be asked again.
fn try_reconcile(folder: &TasksFolder, repository: &Repository) -> Result<Option<Vec<Correction>>> {
    let bytes = folder.state_file.read()?;
    let before = folder.parse_state(bytes.clone())?;
    let facts = repository.read_facts(&before)?;
    let (mut after, mut corrections) =
        rebuild::reconcile_with_git(folder, repository, &before, &facts);
    clear_stop(&mut after);
    let locked = folder.state_file.lock()?;
    if locked.read()? != bytes {
        return Ok(None);
    }
    corrections.extend(stale_counts(&before, &after, &folder.now()));
    folder.write(&locked, Some(&before), after)?;
    Ok(Some(corrections))
}

fn clear_stop(state: &mut Execution) {
    if state.status == ExecutionStatus::Stopped {
        state.status = ExecutionStatus::InProgress;
    }
}

/// What is left of tasks that are merged goes: what that was.
pub fn remove_merged(
    folder: &TasksFolder,
    repository: &LockedRepository,
) -> Result<Vec<Correction>> {
    let state = folder.load()?;
    let facts = repository.read_facts(&state)?;
    let mut removed = Vec::new();
    let is_merged = |task: &TaskRecord| task.status == TaskStatus::Completed;
    for (id, task) in state.tasks.iter().filter(|(_, task)| is_merged(task)) {
        if is_leftover(&facts, id, task) {
            let text = remove_leftover(repository, &facts, id, task)?;
            removed.push(Correction { id: id.clone(), text });
        }
    }
    Ok(removed)
}

fn remove_leftover(
    repository: &LockedRepository,
    facts: &GitFacts,
    id: &str,
    task: &TaskRecord,
) -> Result<String> {
    let path = facts.worktrees.get(id).map(Path::new);
    Ok(match worktree_status::remove_unless_used(repository, id, path, task)? {
        Some(why) => format!("it is merged, but its worktree stays: {why}"),
        None => format!("what was left of {} is removed", task_branch(id)),
    })
}

/// What is left of tasks that are merged goes; what tasks under way have lost comes back.
fn tidy_worktrees(
    folder: &TasksFolder,
    repository: &LockedRepository,
    corrections: &mut Vec<Correction>,
) -> Result<()> {
    let state = folder.load()?;
    let facts = repository.read_facts(&state)?;
    let claimed = folder.claimed_tasks(&state);
    for (id, task) in state.tasks.iter().filter(|(id, _)| !claimed.contains(*id)) {
        let text = if is_leftover(&facts, id, task) {
            remove_leftover(repository, &facts, id, task)?
        } else if let Some(tip) = lost_worktree(&facts, id, task) {
            worktree::create(repository, id, &state.worktree_path(id), tip, false)?;
            "its worktree was gone and is made again from its branch".into()
        } else {
            continue;
        };
        let correction = Correction { id: id.clone(), text };
        if !corrections.contains(&correction) {
            corrections.push(correction);
        }
    }
    Ok(())
}

/// A branch whose commits the base branch has, of a task that is merged or was never begun.
fn is_leftover(facts: &GitFacts, id: &str, task: &TaskRecord) -> bool {
    let merged = facts.merged.iter().any(|merged| merged.id == id);
    let never_begun = task.status == TaskStatus::Pending && !facts.worktrees.contains_key(id);
    let exists = facts.branches.contains_key(id) || facts.worktrees.contains_key(id);
    exists && !facts.ahead.contains(id) && (merged || never_begun)
}

/// The commit of a task under way whose worktree is gone.
fn lost_worktree<'a>(facts: &'a GitFacts, id: &str, task: &TaskRecord) -> Option<&'a str> {
    let under_way = !task.status.is_finished() && !facts.merged.iter().any(|m| m.id == id);
    let goes_on = facts.ahead.contains(id) || task.status != TaskStatus::Pending;
    let lost = under_way && goes_on && !facts.worktrees.contains_key(id);
    facts.branches.get(id).filter(|_| lost).map(String::as_str)
}
