//! What was begun by a process that is gone: finished, or taken back, as git says.

use crate::execute::document::{Claim, ClaimedStep, Execution, TaskStatus};
use crate::execute::partial_checkout::{self, CheckoutOutcome};
use crate::execute::{
    LockedRepository, Repository, Result, TasksFolder, merge, reset, verification, worktree,
};
use crate::process::child;

/// Settles a task's interrupted step, if it has one; what was done about it.
pub fn recover_task(
    folder: &TasksFolder,
    repository: &Repository,
    id: &str,
) -> Result<Option<String>> {
    let Some((claim, state)) = take_over(folder, id)? else { return Ok(None) };
    let repository = &repository.lock()?;
    let torn = claim.torn || repository.has_torn_index(&claim.at)?;
    if torn && claim.step == ClaimedStep::Merge {
        // Noted before the lock goes that tells of it.
        folder.update(|state| {
            state.task_mut(id)?.claim.iter_mut().for_each(|claim| claim.torn = true);
            Ok(())
        })?;
    }
    let claim = Claim { torn, ..claim };
    repository.remove_stale_locks(state.base(), id, &claim.at)?;
    let text = match claim.step {
        ClaimedStep::Start => {
            let onto = match claim.onto {
                Some(onto) => onto,
                None => repository.base_tip(state.base())?,
            };
            worktree::create(repository, id, &state.worktree_path(id), &onto, true)?;
            folder.release_claim(id, TaskStatus::InProgress)?;
            "its start was interrupted; the worktree is there now".to_owned()
        }
        ClaimedStep::Verify => {
            child::end_marked(&verification::process_mark(&claim));
            folder.release_claim(id, TaskStatus::InProgress)?;
            "its verification was interrupted; it has to be verified again".to_owned()
        }
        ClaimedStep::Merge => match recover_merge(folder, repository, &state, id, &claim)? {
            RecoveredMerge::Complete(None) => {
                "its merge was interrupted; it is complete now".to_owned()
            }
            RecoveredMerge::Complete(Some(note)) => {
                format!("its merge was interrupted; it is complete now; {note}")
            }
            RecoveredMerge::Undone(others) => {
                folder.release_claim(id, TaskStatus::Verified)?;
                let why = match others.is_empty() {
                    true => " before anything was merged; it waits again".to_owned(),
                    false => format!(
                        "; it waits again, because the checkout has changes that are not committed ({})",
                        others.join(", ")
                    ),
                };
                format!("its merge was interrupted{why}")
            }
        },
        ClaimedStep::Reset => {
            reset::reset_task(folder, repository, &state, id)?;
            "its reset was interrupted; it is done now".to_owned()
        }
    };
    Ok(Some(text))
}

/// Takes over a step whose process is gone. `None`: there is none, or somebody was faster.
fn take_over(folder: &TasksFolder, id: &str) -> Result<Option<(Claim, Execution)>> {
    folder.update(|state| {
        let task = state.task_mut(id)?;
        let Some(claim) = task.claim.clone().filter(|claim| folder.is_orphaned(claim)) else {
            return Ok(None);
        };
        if let Some(own) = &mut task.claim {
            own.by = folder.process.own_process();
        }
        Ok(Some((claim, state.clone())))
    })
}

/// What came of an interrupted merge.
enum RecoveredMerge {
    /// With what people should hear of.
    Complete(Option<String>),
    /// These files are in its way.
    Undone(Vec<String>),
}

/// Brings an interrupted merge to its end, if the base branch or the checkout has any of it.
fn recover_merge(
    folder: &TasksFolder,
    repository: &LockedRepository,
    state: &Execution,
    id: &str,
    claim: &Claim,
) -> Result<RecoveredMerge> {
    let undone = RecoveredMerge::Undone(Vec::new());
    let (Some(commit), Some(onto)) = (&claim.commit, &claim.onto) else { return Ok(undone) };
    let base = repository.base_tip(state.base())?;
    if !repository.contains(&base, commit)? {
        if base != *onto || repository.current_branch()?.as_deref() != Some(state.base()) {
            return Ok(undone);
        }
        match partial_checkout::finish(repository, state.base(), onto, commit, claim.torn)? {
            CheckoutOutcome::Finished => {}
            CheckoutOutcome::Untouched => return Ok(undone),
            CheckoutOutcome::ForeignChanges(files) => return Ok(RecoveredMerge::Undone(files)),
        }
    }
    Ok(RecoveredMerge::Complete(merge::complete_merge(folder, repository, id, commit)?))
}
