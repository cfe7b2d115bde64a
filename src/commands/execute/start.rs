//! `execute start`: a worktree and a branch for a task, and an attempt begun.

use anyhow::bail;

use crate::commands::execute::next::agent_brief;
use crate::commands::execute::{TaskTarget, corrections_json};
use crate::console::project::print_json;
use crate::core::outcome::Outcome;
use crate::execute::document::{
    Claim, ClaimedStep, Execution, MAX_ATTEMPTS, TaskRecord, TaskStatus,
};
use crate::execute::error::refuse;
use crate::execute::recover::recover_task;
use crate::execute::remote::Coordination;
use crate::execute::{Repository, TasksFolder, schedule, task_branch, transitions, worktree};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub task: TaskTarget,
    /// With --remote: even if another machine has it, and its lease is not over
    #[arg(long)]
    take_over: bool,
}

pub fn run(
    folder: &TasksFolder,
    options: &Arguments,
    session: Option<String>,
) -> anyhow::Result<Outcome> {
    let (id, json) = (options.task.id.as_str(), options.task.target.json);
    let state = folder.load()?;
    state.task(id)?;
    let repository = folder.repository(&state)?;
    repository.ensure_idle()?;
    let tip = repository.base_tip(state.base())?;
    recover_task(folder, &repository, id)?;
    let shared = Coordination::of(folder, &repository, &state);
    let mut notes = Vec::new();
    if let Some(shared) = &shared {
        notes = shared.prepare_start(id, options.take_over)?;
        notes.extend(shared.set_aside(id)?);
    }
    let state = folder.load()?;
    refuse_leftovers(folder, &repository, &state, id)?;
    let seen = state.task(id)?.remote.as_ref();
    let onto = match seen.and_then(|seen| seen.unmerged_head()) {
        Some(head) if repository.has_commit(head)? => head.clone(),
        _ if shared.is_some() => repository.effective_base(&state)?,
        _ => tip,
    };
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
    let give_up = |before: TaskRecord| {
        folder.update(|state| {
            *state.task_mut(id)? = before;
            Ok(())
        })
    };
    if let Some(shared) = &shared {
        match shared.claim_begun(id, &onto) {
            Ok(note) => notes.extend(note),
            Err(error) => {
                give_up(before)?;
                shared.sync()?;
                return Err(error.context(format!("{id} was not started")).into());
            }
        }
    }
    let locked = repository.lock()?;
    if let Err(error) = worktree::create(&locked, id, &path, &onto, false) {
        drop(locked);
        give_up(before)?;
        if let Some(shared) = &shared {
            shared.sync_if_reachable()?;
            shared.settle(true)?;
        }
        return Err(error.context(format!("{id} was not started")).into());
    }
    drop(locked);
    let state = folder.update(|state| {
        state.task_mut(id)?.claim = None;
        Ok(state.clone())
    })?;
    let task = state.task(id)?;
    if json {
        let mut brief = agent_brief(folder, &state, id, task)?;
        if let (Some(brief), false) = (brief.as_object_mut(), notes.is_empty()) {
            brief.insert("notes".into(), corrections_json(&notes));
        }
        return print_json(&brief);
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
    text.extend(notes.iter().map(|note| format!("{}: {}\n", note.id, note.text)));
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
