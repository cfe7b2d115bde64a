//! `execute merge`: what was verified goes to the base branch, one by one, in order of completion.

use std::path::Path;

use anyhow::{Context as _, bail};

use super::bring::{self, Named, Prepared};
use super::came::{Came, said, so_far};
use super::repository::Repository;
use super::site::{Site, done, task, task_mut};
use super::{fit, recover};
use crate::Outcome;
use crate::books::execute::{Claim, Execution, Global, Status, Step, Turn};
use crate::execute::steps::{self, Failed};
use crate::execute::truth::branch_of;
use crate::store::lock::Lock;

/// Whose turn it is.
enum First {
    Nobody,
    /// A task that this process has claimed.
    Mine(String),
    /// Another process is at it: what is said of that.
    Busy(String),
    /// The process that was at it is gone.
    Dead(String),
}

pub fn run(site: &Site, json: bool) -> anyhow::Result<Outcome> {
    let state = site.load()?;
    let mut came: Vec<Came> = Vec::new();
    let mut busy = None;
    let mut looked = false;
    if state.waiting().next().is_none() {
        return said(site, &state, &came, busy, json);
    }
    let repository = site.repository(&state)?;
    loop {
        if !looked {
            // Before anything is claimed; later merges are looked at again under git's lock.
            let state = site.load()?;
            if let Err(error) = may(site, &repository, &state) {
                let first = |state: &Execution| {
                    let first = state.waiting().next()?.task_id.clone();
                    let claim = state.tasks.get(&first)?.claim.is_some();
                    Some((first, claim))
                };
                if first(&site.load()?) == first(&state) {
                    return Err(error);
                }
                // Somebody else was merging, and that is what was seen.
                continue;
            }
            looked = true;
        }
        match claim(site)? {
            First::Nobody => break,
            First::Busy(text) => {
                busy = Some(text);
                break;
            }
            First::Dead(id) => {
                let note = recover::if_dead(site, &repository, &id)?;
                let task = site.load()?.tasks.remove(&id).unwrap_or_default();
                let commit = task.merge_commit.filter(|_| task.status == Status::Completed);
                came.push(Came { id, commit, why: None, note });
            }
            First::Mine(id) => {
                let one = one(site, &repository, &id);
                came.push(one.with_context(|| format!("{}{id} was not merged", so_far(&came)))?);
            }
        }
    }
    said(site, &state, &came, busy, json)
}

/// Everything that has to hold before the base branch is touched.
fn may(site: &Site, repository: &Repository, state: &Execution) -> anyhow::Result<()> {
    if state.status == Global::Stopped {
        bail!("the execution is stopped; {} goes on", site.command("resume"));
    }
    // An interrupted merge may have left any of the rest; it is looked at first.
    let first = state.waiting().next().and_then(|queued| state.tasks.get(&queued.task_id));
    if first.and_then(|task| task.claim.as_ref()).is_some() {
        return Ok(());
    }
    repository.calm()?;
    repository.base_tip(state.base())?;
    repository.on(state.base())?;
    let said = repository.try_ask(&["var", "GIT_COMMITTER_IDENT"])?;
    if !said.is_good() {
        bail!("git does not know who commits: set user.name and user.email ({})", said.complaint());
    }
    repository.clean(site.folder.path())
}

fn claim(site: &Site) -> anyhow::Result<First> {
    site.change(|state| {
        let Some(id) = state.waiting().next().map(|queued| queued.task_id.clone()) else {
            return Ok(First::Nobody);
        };
        let claim = site.claim(Step::Merge);
        let task = task_mut(state, &id)?;
        match &task.claim {
            Some(claim) if site.is_dead(claim) => return Ok(First::Dead(id)),
            Some(Claim { step: Step::Merge, by, .. }) => {
                let text =
                    format!("Process {} is merging {id}, and goes on with what waits.", by.pid);
                return Ok(First::Busy(text));
            }
            Some(claim) => {
                let (step, pid) = (claim.step.word(), claim.by.pid);
                return Ok(First::Busy(format!("{id} is being {step} by process {pid}.")));
            }
            None => {}
        }
        done(&id, steps::go(task, Status::Merging))?;
        task.claim = Some(claim);
        state.set_turn(&id, Turn::Merging);
        Ok(First::Mine(id))
    })
}

/// Merges a task that this process has claimed. An error leaves it waiting as it was.
fn one(site: &Site, repository: &Repository, id: &str) -> anyhow::Result<Came> {
    let lock = match repository.lock() {
        Ok(lock) => lock,
        Err(error) => {
            recover::released(site, id, Status::Verified)?;
            return Err(error);
        }
    };
    let step = attempt(site, repository, &lock, id);
    match step {
        Ok(came) => Ok(came),
        Err(error) => {
            // Unless the base branch has it: then only the rest is missing, and `resume` does it.
            let task = site.load()?.tasks.remove(id).unwrap_or_default();
            let state = site.load()?;
            let commit = task.claim.and_then(|claim| claim.commit);
            let base = repository.base_tip(state.base())?;
            let has = commit.map(|commit| repository.contains(&base, &commit)).transpose()?;
            if task.status == Status::Merging && has != Some(true) {
                recover::released(site, id, Status::Verified)?;
            }
            Err(error)
        }
    }
}

fn attempt(site: &Site, repository: &Repository, lock: &Lock, id: &str) -> anyhow::Result<Came> {
    let state = site.load()?;
    let own = task(&state, id)?;
    repository.calm()?;
    repository.on(state.base())?;
    repository.clean(site.folder.path())?;
    let onto = repository.base_tip(state.base())?;
    let Some(tip) = repository.tip(&branch_of(id))? else {
        let text = format!("the branch {} is gone", branch_of(id));
        return failed(site, id, &text, None, None);
    };
    let verified = own.verification.as_ref().and_then(|done| done.commit.as_ref());
    if verified != Some(&tip) {
        return back(site, id, "its branch is not at the commit that was verified");
    }
    let worktree = own.worktree_path.as_deref().map(Path::new).filter(|path| path.is_dir());
    if let Some(path) = worktree
        && let Some(why) = fit::obstacle(repository, path, id, own)?
    {
        return back(site, id, &why);
    }
    if repository.ahead(&onto, &tip)?.is_empty() {
        let feedback = "Nothing was committed: commit the work on the task's branch.".to_owned();
        return failed(site, id, "no_commits", None, Some(feedback));
    }
    let named = Named { id, name: own.name.as_deref(), begun: state.base_commit.as_deref() };
    let commit = match bring::prepare(repository, lock, &onto, &tip, &named)? {
        Prepared::Commit(commit) => commit,
        Prepared::Conflict(files) => {
            let files = files.join(", ");
            let feedback = format!(
                "Merging to {base} conflicts in {files}. Run `git rebase {base}` in the worktree, resolve it, and verify again.",
                base = state.base()
            );
            return failed(site, id, "merge_conflict", Some(files), Some(feedback));
        }
    };
    site.change(|state| {
        let claim = task_mut(state, id)?.claim.as_mut().context("the claim is gone")?;
        (claim.onto, claim.commit) = (Some(onto.clone()), Some(commit.clone()));
        Ok(())
    })?;
    bring::bring(repository, lock, &commit)?;
    let stays = recover::complete(site, repository, lock, id, &commit)?;
    let notes = stays.into_iter().chain(bring::submodules(repository, &onto, &commit)?);
    let note = Some(notes.collect::<Vec<_>>().join("; ")).filter(|note| !note.is_empty());
    Ok(Came { id: id.to_owned(), commit: Some(commit), why: None, note })
}

/// The attempt failed in the merge: the base branch is as it was, the worktree stays.
fn failed(
    site: &Site,
    id: &str,
    message: &str,
    details: Option<String>,
    feedback: Option<String>,
) -> anyhow::Result<Came> {
    let details = details.map(|files| format!("conflict in {files}"));
    let why = match &details {
        Some(details) => {
            format!("{message}, {details}; the base branch is as it was, the next attempt rebases")
        }
        None => format!("{message}; the base branch is as it was"),
    };
    site.change(|state| {
        let now = site.now();
        done(id, steps::fail(state, id, Failed { message, details, feedback, counts: true }, &now))
    })?;
    Ok(Came { id: id.to_owned(), commit: None, why: Some(why), note: None })
}

/// It has to be verified again.
fn back(site: &Site, id: &str, why: &str) -> anyhow::Result<Came> {
    recover::released(site, id, Status::InProgress)?;
    let why = format!("{why}; {} again", site.command(&format!("verify {id}")));
    Ok(Came { id: id.to_owned(), commit: None, why: Some(why), note: None })
}
