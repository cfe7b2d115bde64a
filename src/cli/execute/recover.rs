//! What was begun by a process that is gone: finished, or taken back, as git says.

use std::path::Path;

use super::bring::Found;
use super::repository::Repository;
use super::site::{Site, done, task_mut};
use super::{bring, fit, reset, start, worktree};
use crate::books::execute::{Claim, Execution, Status, Step, Turn};
use crate::execute::steps;
use crate::process::child;
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
    let torn = claim.torn || repository.has_torn_index(&claim.at)?;
    if torn && claim.step == Step::Merge {
        // Noted before the lock goes that tells of it.
        site.change(|state| {
            task_mut(state, id)?.claim.iter_mut().for_each(|claim| claim.torn = true);
            Ok(())
        })?;
    }
    let claim = Claim { torn, ..claim };
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
            child::end_marked(&mark(&claim));
            released(site, id, Status::InProgress)?;
            "its verification was interrupted; it has to be verified again".to_owned()
        }
        Step::Merge => match merged(site, repository, &lock, &state, id, &claim)? {
            Ended::Complete(None) => "its merge was interrupted; it is complete now".to_owned(),
            Ended::Complete(Some(note)) => {
                format!("its merge was interrupted; it is complete now; {note}")
            }
            Ended::Waits(others) => {
                released(site, id, Status::Verified)?;
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
        Step::Reset => {
            reset::finish(site, repository, &lock, &state, id)?;
            "its reset was interrupted; it is done now".to_owned()
        }
    };
    Ok(Some(said))
}

/// What came of an interrupted merge.
enum Ended {
    /// With what people should hear of.
    Complete(Option<String>),
    /// These files are in its way.
    Waits(Vec<String>),
}

/// Marks the commands that a verification runs, so that they are known if it is killed.
pub fn mark(claim: &Claim) -> String {
    format!("{}.{}", claim.by.pid, claim.by.started.unwrap_or(0))
}

/// Brings an interrupted merge to its end, if the base branch or the checkout has any of it.
fn merged(
    site: &Site,
    repository: &Repository,
    lock: &Lock,
    state: &Execution,
    id: &str,
    claim: &Claim,
) -> anyhow::Result<Ended> {
    let waits = Ended::Waits(Vec::new());
    let (Some(commit), Some(onto)) = (&claim.commit, &claim.onto) else { return Ok(waits) };
    let base = repository.base_tip(state.base())?;
    if !repository.contains(&base, commit)? {
        if base != *onto || repository.head()?.as_deref() != Some(state.base()) {
            return Ok(waits);
        }
        match bring::finish(repository, lock, state.base(), onto, commit, claim.torn)? {
            Found::Finished => {}
            Found::Untouched => return Ok(waits),
            Found::Others(files) => return Ok(Ended::Waits(files)),
        }
    }
    Ok(Ended::Complete(complete(site, repository, lock, id, commit)?))
}

/// The base branch has it: worktree and branch go, and then the state says so. A worktree that has
/// more than was merged stays; what is said of that.
pub fn complete(
    site: &Site,
    repository: &Repository,
    lock: &Lock,
    id: &str,
    commit: &str,
) -> anyhow::Result<Option<String>> {
    let task = site.load()?.tasks.remove(id).unwrap_or_default();
    let path = task.worktree_path.as_deref().map(Path::new);
    let more = match path {
        Some(path) => fit::work_in(repository, path, id, &task)?,
        None => None,
    };
    if more.is_none() {
        worktree::remove(repository, lock, id, path)?;
    }
    site.change(|state| {
        let now = site.now();
        done(id, steps::complete(state, id, commit, &now))
    })?;
    Ok(more.map(|why| format!("its worktree stays: {why}")))
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
