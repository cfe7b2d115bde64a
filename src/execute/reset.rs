//! Worktrees and branches that are taken away. Commits that no other branch has stay reachable, under
//! a name that is said.

use std::collections::BTreeSet;
use std::path::Path;

use crate::execute::document::{ClaimedStep, Execution, TaskRecord, TaskStatus};
use crate::execute::{
    LockedRepository, Repository, Result, TasksFolder, task_branch, worktree, worktree_status,
};

/// What was taken away: tasks, and the names that their commits are kept under.
pub struct Removed {
    pub ids: BTreeSet<String>,
    pub kept_refs: Vec<String>,
}

/// Takes a task's branch away and begins it anew; the names that its commits are kept under.
pub fn reset_task(
    folder: &TasksFolder,
    repository: &LockedRepository,
    state: &Execution,
    id: &str,
) -> Result<Vec<String>> {
    let kept_refs = remove_task(repository, state, id)?;
    folder.update(|state| {
        state.dequeue(id);
        let task = state.task_mut(id)?;
        let mut old = std::mem::take(task);
        let extra = std::mem::take(&mut old.extra);
        let remote = old.remote.take();
        *task = TaskRecord { extra, remote, ..TaskRecord::default() }.with_plan_of(old);
        // The batch is chosen anew with it.
        state.batch.clear();
        Ok(())
    })?;
    Ok(kept_refs)
}

/// Takes everything away that is not merged, and the state. If that fails, nobody's claim is left.
pub fn reset_all(folder: &TasksFolder, repository: &Repository) -> Result<Removed> {
    // Nobody begins anything from here on. What is merged is not touched, so it is not claimed.
    folder.update(|state| {
        for (id, task) in state.tasks.iter_mut().filter(|(_, t)| t.status != TaskStatus::Completed)
        {
            folder.ensure_unclaimed(id, task)?;
            task.claim = Some(folder.new_claim(ClaimedStep::Reset));
        }
        Ok(())
    })?;
    let removed = remove_all(folder, repository);
    if removed.is_err() {
        folder.update(|state| {
            let own = folder.process.own_process();
            let claimed = |task: &&mut TaskRecord| task.claim.as_ref().is_some_and(|c| c.by == own);
            state.tasks.values_mut().filter(claimed).for_each(|task| task.claim = None);
            Ok(())
        })?;
    }
    removed
}

/// The tasks that git has a branch or a worktree of.
pub fn begun_tasks(repository: &Repository, state: &Execution) -> Result<BTreeSet<String>> {
    let facts = repository.read_facts(state)?;
    Ok(facts.branches.into_keys().chain(facts.worktrees.into_keys()).collect())
}

fn remove_all(folder: &TasksFolder, repository: &Repository) -> Result<Removed> {
    let repository = &repository.lock()?;
    let state = folder.load()?;
    let ids = begun_tasks(repository, &state)?;
    let mut kept_refs = Vec::new();
    for id in &ids {
        kept_refs.extend(remove_task(repository, &state, id)?);
    }
    folder.state_file.lock()?.remove()?;
    Ok(Removed { ids, kept_refs })
}

/// Removes a task's worktree and branch; commits that would be lost are kept under another name.
fn remove_task(repository: &LockedRepository, state: &Execution, id: &str) -> Result<Vec<String>> {
    let path = state.tasks.get(id).and_then(|task| task.worktree_path.as_deref()).map(Path::new);
    let base = repository.effective_base(state)?;
    let checked_out = path.and_then(|path| worktree_status::head_commit(repository, path));
    let tips: BTreeSet<String> =
        repository.branch_tip(&task_branch(id))?.into_iter().chain(checked_out).collect();
    let mut kept_refs = Vec::new();
    for tip in tips {
        if repository.contains(&base, &tip)? {
            continue;
        }
        let short = tip.get(..12).unwrap_or(&tip);
        let name = format!("refs/hookkeeper/reset/{id}/{short}");
        repository.change(&["update-ref", &name, &tip])?;
        kept_refs.push(name);
    }
    worktree::remove(repository, id, path)?;
    Ok(kept_refs)
}
