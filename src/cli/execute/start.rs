//! `execute start`: a worktree and a branch for a task, and an attempt begun.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::recover;
use super::repository::Repository;
use super::site::{Site, done, task, task_mut};
use super::{next, worktree};
use crate::Outcome;
use crate::books::execute::{Execution, Status, Step};
use crate::cli::said_json;
use crate::execute::truth::branch_of;
use crate::execute::{schedule, steps};

pub fn run(site: &Site, id: &str, session: Option<String>, json: bool) -> anyhow::Result<Outcome> {
    let state = site.load()?;
    task(&state, id)?;
    let repository = site.repository(&state)?;
    repository.calm()?;
    let onto = repository.base_tip(state.base())?;
    recover::if_dead(site, &repository, id)?;
    let state = site.load()?;
    refuse_leftovers(site, &repository, &state, id)?;
    let path = place(&state, id);
    let before = site.change(|state| {
        let current = task(state, id)?;
        site.refuse_busy(id, current)?;
        if let Some(why) = schedule::obstacle(state, id) {
            bail!("{id} cannot be started: {why}");
        }
        let mut claim = site.claim(Step::Start);
        claim.onto = Some(onto.clone());
        let now = site.now();
        let task = task_mut(state, id)?;
        let before = task.clone();
        done(id, steps::go(task, Status::InProgress))?;
        task.attempts = task.attempts.saturating_add(1);
        task.worktree_path = Some(path.display().to_string());
        task.branch = Some(branch_of(id));
        task.started_at = Some(now);
        task.session_id = session.clone().or(task.session_id.take());
        task.agent_id = None;
        task.claim = Some(claim);
        Ok(before)
    })?;
    let lock = repository.lock()?;
    if let Err(error) = worktree::ensure(&repository, &lock, id, &path, &onto, false) {
        site.change(|state| {
            *task_mut(state, id)? = before;
            Ok(())
        })?;
        return Err(error.context(format!("{id} was not started")));
    }
    let state = site.change(|state| {
        task_mut(state, id)?.claim = None;
        Ok(state.clone())
    })?;
    let task = task(&state, id)?;
    if json {
        return said_json(&next::work(site, &state, id, task)?);
    }
    let mut text = format!(
        "Started {id}, attempt {} of {}.\nworktree  {}\nbranch    {}, from {}\n",
        task.attempts,
        crate::books::execute::MAX_ATTEMPTS,
        path.display(),
        branch_of(id),
        state.base()
    );
    for feedback in task.retry_feedback.iter().filter(|feedback| feedback.attempt == task.attempts)
    {
        text.push_str(&format!("feedback  {}\n", feedback.feedback));
    }
    text.push_str(&format!(
        "Commit the work there, then {}.",
        site.command_anywhere(&format!("verify {id}"))
    ));
    Ok(Outcome::said(text))
}

/// Where a task's worktree is.
pub fn place(state: &Execution, id: &str) -> PathBuf {
    Path::new(&state.worktree_dir).join(id)
}

/// A task that was never begun has no branch and no directory; somebody else's are not touched.
fn refuse_leftovers(
    site: &Site,
    repository: &Repository,
    state: &Execution,
    id: &str,
) -> anyhow::Result<()> {
    if task(state, id)?.status != Status::Pending {
        return Ok(());
    }
    let branch = branch_of(id);
    if repository.branch_exists(id)? {
        bail!(
            "branch {branch} exists already; {} takes its work over, `git branch -D {branch}` removes it",
            site.command("resume")
        );
    }
    let path = place(state, id);
    if path.exists() {
        bail!(
            "{} exists already; move it away, or {} removes what is left of a worktree",
            path.display(),
            site.command(&format!("reset-task {id} --force"))
        );
    }
    Ok(())
}
