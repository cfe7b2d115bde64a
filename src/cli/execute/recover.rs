//! What was begun by a process that is gone: finished, or taken back, as git says.

use std::path::Path;

use super::repository::Repository;
use super::site::{Site, done, task_mut};
use super::{bring, reset, start, worktree};
use crate::books::execute::{Claim, Execution, Status, Step, Turn};
use crate::execute::steps;
use crate::store::lock::Lock;

/// Takes over a step whose process is gone. `None`: there is none, or somebody was faster.
pub fn take_over(site: &Site, id: &str) -> anyhow::Result<Option<(Claim, Execution)>> {
    site.change(|state| {
        let task = task_mut(state, id)?;
        let Some(claim) = task.claim.clone().filter(|claim| site.is_dead(claim)) else {
            return Ok(None);
        };
        if let Some(own) = &mut task.claim {
            own.by = site.claim(claim.step).by;
        }
        Ok(Some((claim, state.clone())))
    })
}

/// Settles a task's interrupted step, if it has one; what was done about it.
pub fn if_dead(site: &Site, repository: &Repository, id: &str) -> anyhow::Result<Option<String>> {
    let Some((claim, state)) = take_over(site, id)? else { return Ok(None) };
    let lock = repository.lock()?;
    repository.unlock(state.base(), id, &claim.at)?;
    let said = match claim.step {
        Step::Start => {
            let path = start::place(&state, id);
            let onto = match claim.onto {
                Some(onto) => onto,
                None => repository.base_tip(state.base())?,
            };
            worktree::ensure(repository, &lock, id, &path, &onto, true)?;
            let done = "its start was interrupted; the worktree is there now";
            released(site, id, Status::InProgress)?;
            done.to_owned()
        }
        Step::Verify => {
            released(site, id, Status::InProgress)?;
            "its verification was interrupted; it has to be verified again".to_owned()
        }
        Step::Merge => match merged(site, repository, &lock, &state, id, &claim)? {
            Some(note) => format!("its merge was interrupted; it is complete now{note}"),
            None => {
                released(site, id, Status::Verified)?;
                "its merge was interrupted before anything was merged; it waits again".to_owned()
            }
        },
        Step::Reset => {
            reset::finish(site, repository, &lock, &state, id)?;
            "its reset was interrupted; it is done now".to_owned()
        }
    };
    Ok(Some(said))
}

/// Brings an interrupted merge to its end, if the base branch or the checkout has any of it.
pub fn merged(
    site: &Site,
    repository: &Repository,
    lock: &Lock,
    state: &Execution,
    id: &str,
    claim: &Claim,
) -> anyhow::Result<Option<String>> {
    let (Some(commit), Some(onto)) = (&claim.commit, &claim.onto) else { return Ok(None) };
    let base = repository.base_tip(state.base())?;
    let mut note = String::new();
    if !repository.contains(&base, commit)? {
        if base != *onto || repository.head()?.as_deref() != Some(state.base()) {
            return Ok(None);
        }
        match bring::finish(repository, lock, state.base(), onto, commit)? {
            Some(kept) => note = kept,
            None => return Ok(None),
        }
    }
    complete(site, repository, lock, id, commit)?;
    Ok(Some(note))
}

/// The base branch has it: worktree and branch go, and then the state says so.
pub fn complete(
    site: &Site,
    repository: &Repository,
    lock: &Lock,
    id: &str,
    commit: &str,
) -> anyhow::Result<()> {
    let path = site.load()?.tasks.get(id).and_then(|task| task.worktree_path.clone());
    worktree::remove(repository, lock, id, path.as_deref().map(Path::new))?;
    site.change(|state| {
        let now = site.now();
        done(id, steps::complete(state, id, commit, &now))
    })
}

/// Gives a claim up: the task is where the step found it.
pub fn released(site: &Site, id: &str, status: Status) -> anyhow::Result<()> {
    site.change(|state| {
        if status == Status::Verified {
            state.set_turn(id, Turn::Pending);
        } else {
            state.dequeue(id);
        }
        let task = task_mut(state, id)?;
        if task.status != status {
            done(id, steps::go(task, status))?;
        }
        task.claim = None;
        Ok(())
    })
}
