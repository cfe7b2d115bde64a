//! `execute reset-task` and `execute reset`: worktrees and branches are taken away.

use anyhow::bail;

use crate::commands::execute::{Target, TaskTarget, registry};
use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::execute::document::{ClaimedStep, FILE, TaskStatus};
use crate::execute::recover::recover_task;
use crate::execute::remote::Coordination;
use crate::execute::{TasksFolder, reset, task_branch, worktree_status};

#[derive(clap::Args)]
pub struct TaskArguments {
    #[command(flatten)]
    pub task: TaskTarget,
    /// Even if its worktree has changes that are not committed
    #[arg(long)]
    force: bool,
}

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub target: Target,
    /// Do it; without this it is only said what would go
    #[arg(long)]
    force: bool,
}

pub fn run_task(folder: &TasksFolder, options: &TaskArguments) -> anyhow::Result<Outcome> {
    let id = options.task.id.as_str();
    let state = folder.load()?;
    state.task(id)?;
    let repository = folder.repository(&state)?;
    repository.ensure_idle()?;
    recover_task(folder, &repository, id)?;
    let shared = Coordination::of(folder, &repository, &state);
    if let Some(shared) = &shared {
        shared.sync_or_refuse("a task of a shared execution is not reset without it")?;
        shared.ensure_here(id, folder.load()?.task(id)?)?;
    }
    let state = folder.load()?;
    let task = state.task(id)?;
    if task.status == TaskStatus::Completed {
        bail!(
            "{id} is merged to {}; what git has is not reset. Revert it there if it was wrong",
            state.base()
        );
    }
    if let Some(path) = task.existing_worktree().filter(|_| !options.force)
        && let Some(why) = worktree_status::merge_obstacle(&repository, path, id, task)?
    {
        bail!("{id}: {why}; --force throws away what is not committed");
    }
    folder.state_file.lock()?.write_backup()?;
    folder.update(|state| {
        let task = state.task_mut(id)?;
        folder.ensure_unclaimed(id, task)?;
        task.claim = Some(folder.new_claim(ClaimedStep::Reset));
        Ok(())
    })?;
    let kept = reset::reset_task(folder, &repository.lock()?, &state, id)?;
    let untold = match &shared {
        Some(shared) => shared.release(id)?.map(|why| format!(" {why}.")),
        None => None,
    };
    if options.task.target.json {
        return print_json(folder.load()?.task(id)?);
    }
    Ok(Outcome::printed(format!(
        "{id} is pending again, with no attempt behind it.{}{}",
        describe_kept(&kept),
        untold.unwrap_or_default()
    )))
}

pub fn run(
    project: &Project,
    folder: &TasksFolder,
    options: &Arguments,
) -> anyhow::Result<Outcome> {
    let state = folder.load()?;
    let repository = folder.repository(&state)?;
    if !options.force {
        let ids = reset::begun_tasks(&repository, &state)?;
        let branches: Vec<String> = ids.iter().map(|id| task_branch(id)).collect();
        let also = match branches.is_empty() {
            true => String::new(),
            false => format!(" and {}", branches.join(", ")),
        };
        bail!("this would take away {FILE}{also}; --force does it (what is merged stays)");
    }
    repository.ensure_idle()?;
    let held = match Coordination::of(folder, &repository, &state) {
        Some(shared) => shared.give_all_back()?,
        None => String::new(),
    };
    let copy = folder.state_file.lock()?.write_backup()?;
    let removed = reset::reset_all(folder, &repository)?;
    registry::remove(project, &state)?;
    let copy = copy.map(|path| path.display().to_string()).unwrap_or_default();
    let (ids, kept) = (&removed.ids, &removed.kept_refs);
    if options.target.json {
        return print_json(&serde_json::json!({"removed": ids, "kept": kept, "copy": copy}));
    }
    Ok(Outcome::printed(format!(
        "Took away {FILE} and {}; the old state is in {copy}.{}{held}",
        plural(ids.len(), "branch").replace("branchs", "branches"),
        describe_kept(kept)
    )))
}

fn describe_kept(kept: &[String]) -> String {
    match kept.is_empty() {
        true => String::new(),
        false => format!(" Its commits are kept: {}.", kept.join(", ")),
    }
}
