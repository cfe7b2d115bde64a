//! `execute start`: a worktree and a branch for a task, and an attempt begun.

use anyhow::bail;

use crate::console::project::print_json;
use crate::core::outcome::Outcome;
use crate::execute::commands::next::agent_brief;
use crate::execute::document::{Claim, ClaimedStep, Execution, MAX_ATTEMPTS, TaskStatus};
use crate::execute::recover::recover_task;
use crate::execute::{Repository, TasksFolder, schedule, task_branch, transitions, worktree};

pub fn run(
    folder: &TasksFolder,
    id: &str,
    session: Option<String>,
    json: bool,
) -> anyhow::Result<Outcome> {
    let state = folder.load()?;
    state.task(id)?;
    let repository = folder.repository(&state)?;
    repository.ensure_idle()?;
    let onto = repository.base_tip(state.base())?;
    recover_task(folder, &repository, id)?;
    let state = folder.load()?;
    refuse_leftovers(folder, &repository, &state, id)?;
    let path = state.worktree_path(id);
    let before = folder.update(|state| {
        folder.ensure_unclaimed(id, state.task(id)?)?;
        if let Some(why) = schedule::start_obstacle(state, id) {
            refuse!("{id} cannot be started: {why}");
        }
        let claim = Claim { onto: Some(onto.clone()), ..folder.new_claim(ClaimedStep::Start) };
        let task = state.task_mut(id)?;
        let before = task.clone();
        transitions::advance(id, task, TaskStatus::InProgress)?;
        task.attempts = task.attempts.saturating_add(1);
        task.worktree_path = Some(path.display().to_string());
        task.branch = Some(task_branch(id));
        task.started_at = Some(folder.now());
        task.session_id = session.clone().or(task.session_id.take());
        task.agent_id = None;
        task.claim = Some(claim);
        Ok(before)
    })?;
    let repository = repository.lock()?;
    if let Err(error) = worktree::create(&repository, id, &path, &onto, false) {
        folder.update(|state| {
            *state.task_mut(id)? = before;
            Ok(())
        })?;
        return Err(error.context(format!("{id} was not started")).into());
    }
    let state = folder.update(|state| {
        state.task_mut(id)?.claim = None;
        Ok(state.clone())
    })?;
    let task = state.task(id)?;
    if json {
        return print_json(&agent_brief(folder, &state, id, task)?);
    }
    let mut text = format!(
        "Started {id}, attempt {} of {}.\nworktree  {}\nbranch    {}, from {}\n",
        task.attempts,
        MAX_ATTEMPTS,
        path.display(),
        task_branch(id),
        state.base()
    );
    for feedback in task.retry_feedback.iter().filter(|feedback| feedback.attempt == task.attempts)
    {
        text.push_str(&format!("feedback  {}\n", feedback.feedback));
    }
    text.push_str(&format!(
        "Commit the work there, then {}.",
        folder.absolute_command(&format!("verify {id}"))
    ));
    Ok(Outcome::printed(text))
}

/// A task that was never begun has no branch and no directory; somebody else's are not touched.
fn refuse_leftovers(
    folder: &TasksFolder,
    repository: &Repository,
    state: &Execution,
    id: &str,
) -> anyhow::Result<()> {
    if state.task(id)?.status != TaskStatus::Pending {
        return Ok(());
    }
    let branch = task_branch(id);
    if repository.branch_exists(id)? {
        bail!(
            "branch {branch} exists already; {} takes its work over, `git branch -D {branch}` removes it",
            folder.command("resume")
        );
    }
    let path = state.worktree_path(id);
    if path.exists() {
        bail!(
            "{} exists already; move it away, or {} removes what is left of a worktree",
            path.display(),
            folder.command(&format!("reset-task {id} --force"))
        );
    }
    Ok(())
}
