//! The merge queue: what was verified goes to the base branch, one by one, in order of completion.

use std::path::Path;

use crate::execute::document::{
    Claim, ClaimedStep, Execution, ExecutionStatus, QueueStatus, TaskRecord, TaskStatus,
};
use crate::execute::merge_commit::{self, MergeMessage, PreparedMerge};
use crate::execute::remote::{Coordination, merging};
use crate::execute::transitions::{self, FailedAttempt};
use crate::execute::{
    Error, LockedRepository, Repository, Result, TasksFolder, recover, task_branch, worktree_status,
};

/// What came of merging a task.
#[derive(Default)]
pub struct MergeOutcome {
    pub id: String,
    pub commit: Option<String>,
    /// Why it was not merged.
    pub error: Option<String>,
    /// What else people should hear of.
    pub note: Option<String>,
}

/// Whose turn it is.
pub enum QueueHead {
    Nobody,
    /// A task that this process has claimed.
    Own(String),
    /// Another process is at it: what is said of that.
    Busy(String),
    /// The process that was at it is gone.
    Orphaned(String),
}

/// Merges everything that waits: what came of each task, and what is said of another process that is
/// at it.
pub fn merge_all(
    folder: &TasksFolder,
    state: &Execution,
) -> Result<(Vec<MergeOutcome>, Option<String>)> {
    let mut outcomes: Vec<MergeOutcome> = Vec::new();
    if state.open_merges().next().is_none() && state.remote.is_none() {
        return Ok((outcomes, None));
    }
    let repository = folder.repository(state)?;
    if let Some(shared) = Coordination::of(folder, &repository, state) {
        return merging::merge_all(folder, &repository, &shared);
    }
    // Before anything is claimed; later merges are looked at again under git's lock.
    loop {
        let state = folder.load()?;
        let Err(error) = check_preconditions(folder, &repository, &state) else { break };
        let head = |state: &Execution| {
            let id = state.open_merges().next()?.task_id.clone();
            let is_claimed = state.tasks.get(&id)?.claim.is_some();
            Some((id, is_claimed))
        };
        // Else somebody else was merging, and that is what was seen.
        if head(&folder.load()?) == head(&state) {
            return Err(error);
        }
    }
    loop {
        match claim_first(folder)? {
            QueueHead::Nobody => return Ok((outcomes, None)),
            QueueHead::Busy(text) => return Ok((outcomes, Some(text))),
            QueueHead::Orphaned(id) => {
                let note = recover::recover_task(folder, &repository, &id)?;
                let task = folder.load()?.tasks.remove(&id).unwrap_or_default();
                let commit = task.merge_commit.filter(|_| task.status == TaskStatus::Completed);
                outcomes.push(MergeOutcome { id, commit, error: None, note });
            }
            QueueHead::Own(id) => {
                let outcome = merge_claimed(folder, &repository, &id).map_err(|error| {
                    error.context(format!("{}{id} was not merged", summarize(&outcomes)))
                });
                outcomes.push(outcome?);
            }
        }
    }
}

/// The base branch has a task: worktree and branch go, and then the state says so. A worktree that has
/// more than was merged stays; what is said of that.
pub fn complete_merge(
    folder: &TasksFolder,
    repository: &LockedRepository,
    id: &str,
    commit: &str,
) -> Result<Option<String>> {
    let task = folder.load()?.tasks.remove(id).unwrap_or_default();
    let path = task.worktree_path.as_deref().map(Path::new);
    let obstacle = match extra_commits(repository, id, &task, commit)? {
        None => worktree_status::remove_unless_used(repository, id, path, &task)?,
        kept => kept,
    };
    folder.update(|state| transitions::complete_task(state, id, commit, &folder.now()))?;
    Ok(obstacle.map(|why| format!("its worktree stays: {why}")))
}

/// A branch of this clone may have more than what another one verified: why it stays.
fn extra_commits(
    repository: &LockedRepository,
    id: &str,
    task: &TaskRecord,
    commit: &str,
) -> Result<Option<String>> {
    let branch = task_branch(id);
    if task.remote.is_none() {
        return Ok(None);
    }
    let Some(tip) = repository.branch_tip(&branch)? else { return Ok(None) };
    let is_merged = repository.contains(commit, &tip)?;
    Ok((!is_merged).then(|| format!("{branch} has commits that were not merged")))
}

/// What was done before something went wrong.
pub fn summarize(outcomes: &[MergeOutcome]) -> String {
    let merged = outcomes.iter().filter(|outcome| outcome.commit.is_some());
    let merged: Vec<&str> = merged.map(|outcome| outcome.id.as_str()).collect();
    let notes = outcomes.iter().filter_map(|o| Some(format!("{}: {}; ", o.id, o.note.as_ref()?)));
    let notes: String = notes.collect();
    match merged.is_empty() {
        true => notes,
        false => format!("{notes}{} merged, but ", merged.join(", ")),
    }
}

/// Everything that has to hold before the base branch is touched.
fn check_preconditions(
    folder: &TasksFolder,
    repository: &Repository,
    state: &Execution,
) -> Result<()> {
    refuse_stopped(folder, state)?;
    // An interrupted merge may have left any of the rest; it is looked at first.
    let first = state.open_merges().next().and_then(|queued| state.tasks.get(&queued.task_id));
    if first.and_then(|task| task.claim.as_ref()).is_some() {
        return Ok(());
    }
    repository.ensure_idle()?;
    repository.base_tip(state.base())?;
    repository.ensure_on_branch(state.base())?;
    repository.ensure_identity()?;
    repository.ensure_clean(folder.path())
}

pub fn refuse_stopped(folder: &TasksFolder, state: &Execution) -> Result<()> {
    if state.status == ExecutionStatus::Stopped {
        let resume = folder.command("resume");
        refuse!("the execution is stopped; {resume} goes on");
    }
    Ok(())
}

/// Claims the first of the queue for this process.
pub fn claim_first(folder: &TasksFolder) -> Result<QueueHead> {
    folder.update(|state| {
        let Some(id) = state.open_merges().next().map(|queued| queued.task_id.clone()) else {
            return Ok(QueueHead::Nobody);
        };
        let task = state.task_mut(&id)?;
        match &task.claim {
            Some(claim) if folder.is_orphaned(claim) => return Ok(QueueHead::Orphaned(id)),
            Some(Claim { step: ClaimedStep::Merge, by, .. }) => {
                let text =
                    format!("Process {} is merging {id}, and goes on with what waits.", by.pid);
                return Ok(QueueHead::Busy(text));
            }
            Some(claim) => {
                let (step, pid) = (claim.step.participle(), claim.by.pid);
                return Ok(QueueHead::Busy(format!("{id} is being {step} by process {pid}.")));
            }
            None => {}
        }
        transitions::advance(&id, task, TaskStatus::Merging)?;
        task.claim = Some(folder.new_claim(ClaimedStep::Merge));
        state.set_queue_status(&id, QueueStatus::Merging);
        Ok(QueueHead::Own(id))
    })
}

/// Merges a task that this process has claimed. An error leaves it waiting as it was.
fn merge_claimed(folder: &TasksFolder, repository: &Repository, id: &str) -> Result<MergeOutcome> {
    let repository = &match repository.lock() {
        Ok(locked) => locked,
        Err(error) => {
            folder.release_claim(id, TaskStatus::Verified)?;
            return Err(error);
        }
    };
    let merged = merge_task(folder, repository, id);
    if merged.is_err() {
        // Unless the base branch has it: then only the rest is missing, and `resume` does it.
        let mut state = folder.load()?;
        let base = repository.base_tip(state.base())?;
        let task = state.tasks.remove(id).unwrap_or_default();
        let commit = task.claim.and_then(|claim| claim.commit);
        let has = commit.map(|commit| repository.contains(&base, &commit)).transpose()?;
        if task.status == TaskStatus::Merging && has != Some(true) {
            folder.release_claim(id, TaskStatus::Verified)?;
        }
    }
    merged
}

fn merge_task(
    folder: &TasksFolder,
    repository: &LockedRepository,
    id: &str,
) -> Result<MergeOutcome> {
    let state = folder.load()?;
    let task = state.task(id)?;
    repository.ensure_idle()?;
    repository.ensure_on_branch(state.base())?;
    repository.ensure_clean(folder.path())?;
    let onto = repository.base_tip(state.base())?;
    let Some(tip) = repository.branch_tip(&task_branch(id))? else {
        let text = format!("the branch {} is gone", task_branch(id));
        return fail_merge(folder, id, &text, None, None);
    };
    let verified = task.verification.as_ref().and_then(|done| done.commit.as_ref());
    if verified != Some(&tip) {
        return require_verification(
            folder,
            id,
            "its branch is not at the commit that was verified",
        );
    }
    if let Some(path) = task.existing_worktree()
        && let Some(why) = worktree_status::merge_obstacle(repository, path, id, task)?
    {
        return require_verification(folder, id, &why);
    }
    if repository.commits_ahead(&onto, &tip)?.is_empty() {
        let feedback = "Nothing was committed: commit the work on the task's branch.".to_owned();
        return fail_merge(folder, id, "no_commits", None, Some(feedback));
    }
    let begun = state.base_commit.as_deref();
    let message = MergeMessage { id, name: task.name.as_deref(), begun };
    let commit = match merge_commit::prepare(repository, &onto, &tip, &message)? {
        PreparedMerge::Commit(commit) => commit,
        PreparedMerge::Conflict(files) => {
            let files = files.join(", ");
            let feedback = format!(
                "Merging to {base} conflicts in {files}. Run `git rebase {base}` in the worktree, resolve it, and verify again.",
                base = state.base()
            );
            return fail_merge(folder, id, "merge_conflict", Some(files), Some(feedback));
        }
    };
    folder.update(|state| {
        let claim = state.task_mut(id)?.claim.as_mut();
        let claim = claim.ok_or_else(|| Error::from("the claim is gone"))?;
        (claim.onto, claim.commit) = (Some(onto.clone()), Some(commit.clone()));
        Ok(())
    })?;
    merge_commit::fast_forward(repository, &commit)?;
    let stays = complete_merge(folder, repository, id, &commit)?;
    let notes = stays.into_iter().chain(merge_commit::submodule_hint(repository, &onto, &commit)?);
    let note = Some(notes.collect::<Vec<_>>().join("; ")).filter(|note| !note.is_empty());
    Ok(MergeOutcome { id: id.to_owned(), commit: Some(commit), error: None, note })
}

/// The attempt failed in the merge: the base branch is as it was, the worktree stays.
pub fn fail_merge(
    folder: &TasksFolder,
    id: &str,
    message: &str,
    conflicts: Option<String>,
    feedback: Option<String>,
) -> Result<MergeOutcome> {
    let details = conflicts.map(|files| format!("conflict in {files}"));
    let error = match &details {
        Some(details) => {
            format!("{message}, {details}; the base branch is as it was, the next attempt rebases")
        }
        None => format!("{message}; the base branch is as it was"),
    };
    let failed = FailedAttempt { message, details, feedback, counts: true };
    folder.update(|state| transitions::fail_attempt(state, id, failed, &folder.now()))?;
    Ok(MergeOutcome { id: id.to_owned(), error: Some(error), ..MergeOutcome::default() })
}

fn require_verification(folder: &TasksFolder, id: &str, why: &str) -> Result<MergeOutcome> {
    folder.release_claim(id, TaskStatus::InProgress)?;
    let error = format!("{why}; {} again", folder.command(&format!("verify {id}")));
    Ok(MergeOutcome { id: id.to_owned(), error: Some(error), ..MergeOutcome::default() })
}
