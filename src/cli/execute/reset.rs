//! `execute reset-task` and `execute reset`: worktrees and branches are taken away. Commits that no
//! other branch has stay reachable, under a name that is said.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::repository::Repository;
use super::site::{Site, task, task_mut};
use super::{One, Shown, recover, worktree};
use crate::Outcome;
use crate::books::execute::{Execution, FILE, Status, Step, Task};
use crate::books::plural;
use crate::cli::said_json;
use crate::execute::truth::branch_of;
use crate::store::lock::Lock;

#[derive(clap::Args)]
pub struct OneTask {
    #[command(flatten)]
    one: One,
    /// Even if its worktree has changes that are not committed
    #[arg(long)]
    force: bool,
}

#[derive(clap::Args)]
pub struct Everything {
    #[command(flatten)]
    of: Shown,
    /// Do it; without this it is only said what would go
    #[arg(long)]
    force: bool,
}

impl OneTask {
    pub fn tasks(&self) -> &PathBuf {
        &self.one.of.tasks
    }
}

impl Everything {
    pub fn tasks(&self) -> &PathBuf {
        &self.of.tasks
    }
}

pub fn one_task(site: &Site, options: &OneTask) -> anyhow::Result<Outcome> {
    let id = options.one.id.as_str();
    let state = site.load()?;
    task(&state, id)?;
    let repository = Repository::open(Path::new(&state.project_path))?;
    repository.calm()?;
    recover::if_dead(site, &repository, id)?;
    let state = site.load()?;
    let own = task(&state, id)?;
    if own.status == Status::Completed {
        bail!(
            "{id} is merged to {}; what git has is not reset. Revert it there if it was wrong",
            state.base()
        );
    }
    refuse_unsaved(&repository, id, own, options.force)?;
    site.folder.lock()?.keep_copy()?;
    site.change(|state| {
        let claim = site.claim(Step::Reset);
        let task = task_mut(state, id)?;
        site.refuse_busy(id, task)?;
        task.claim = Some(claim);
        Ok(())
    })?;
    let lock = repository.lock()?;
    let kept = finish(site, &repository, &lock, &state, id)?;
    if options.one.of.json {
        return said_json(task(&site.load()?, id)?);
    }
    Ok(Outcome::said(format!(
        "{id} is pending again, with no attempt behind it.{}",
        said_kept(&kept)
    )))
}

/// Takes a task's branch away and begins it anew.
pub fn finish(
    site: &Site,
    repository: &Repository,
    lock: &Lock,
    state: &Execution,
    id: &str,
) -> anyhow::Result<Vec<String>> {
    let kept = take(repository, lock, state, id)?;
    site.change(|state| {
        state.dequeue(id);
        let task = task_mut(state, id)?;
        *task = Task {
            layer: task.layer.take(),
            name: task.name.take(),
            priority: task.priority,
            file: task.file.take(),
            depends_on: std::mem::take(&mut task.depends_on),
            extra: std::mem::take(&mut task.extra),
            ..Task::default()
        };
        // The batch is chosen anew with it.
        state.batch.clear();
        Ok(())
    })?;
    Ok(kept.into_iter().collect())
}

pub fn everything(site: &Site, options: &Everything) -> anyhow::Result<Outcome> {
    let state = site.load()?;
    let repository = Repository::open(Path::new(&state.project_path))?;
    let facts = repository.facts(&state)?;
    let ids: Vec<String> = facts.branches.keys().chain(facts.worktrees.keys()).cloned().collect();
    let ids: std::collections::BTreeSet<String> = ids.into_iter().collect();
    if !options.force {
        let branches: Vec<String> = ids.iter().map(|id| branch_of(id)).collect();
        let also = if branches.is_empty() {
            String::new()
        } else {
            format!(" and {}", branches.join(", "))
        };
        bail!("this would take away {FILE}{also}; --force does it (what is merged stays)");
    }
    repository.calm()?;
    if let Some(id) = site.busy(&state).first() {
        site.refuse_busy(id, task(&state, id)?)?;
    }
    let held = site.folder.lock()?;
    let copy = held.keep_copy()?;
    let lock = repository.lock()?;
    let mut kept = Vec::new();
    for id in &ids {
        kept.extend(take(&repository, &lock, &state, id)?);
    }
    held.remove()?;
    drop(held);
    site.register(&state, |known| known.forget(&state.tasks_path))?;
    let copy = copy.map(|path| path.display().to_string()).unwrap_or_default();
    if options.of.json {
        return said_json(&serde_json::json!({"removed": ids, "kept": kept, "copy": copy}));
    }
    Ok(Outcome::said(format!(
        "Took away {FILE} and {}; the old state is in {copy}.{}",
        plural(ids.len(), "branch").replace("branchs", "branches"),
        said_kept(&kept)
    )))
}

fn refuse_unsaved(
    repository: &Repository,
    id: &str,
    task: &Task,
    force: bool,
) -> anyhow::Result<()> {
    let path = task.worktree_path.as_deref().map(Path::new).filter(|path| path.is_dir());
    if let Some(path) = path.filter(|_| !force) {
        let modified = repository.modified(path)?;
        if let Some(first) = modified.first() {
            bail!(
                "the worktree of {id} has changes that are not committed ({first}); --force throws them away"
            );
        }
    }
    Ok(())
}

/// Removes a task's worktree and branch; commits that would be lost are kept under another name.
fn take(
    repository: &Repository,
    lock: &Lock,
    state: &Execution,
    id: &str,
) -> anyhow::Result<Option<String>> {
    let tip = repository.tip(&branch_of(id))?;
    let base = repository.base_tip(state.base())?;
    let mut kept = None;
    if let Some(tip) = tip
        && !repository.contains(&base, &tip)?
    {
        let short = tip.get(..12).unwrap_or(&tip);
        let name = format!("refs/hookkeeper/reset/{id}/{short}");
        repository.must(&["update-ref", &name, &tip], lock)?;
        kept = Some(name);
    }
    let path = state.tasks.get(id).and_then(|task| task.worktree_path.as_deref()).map(Path::new);
    worktree::remove(repository, lock, id, path)?;
    Ok(kept)
}

fn said_kept(kept: &[String]) -> String {
    match kept.is_empty() {
        true => String::new(),
        false => format!(" Its commits are kept: {}.", kept.join(", ")),
    }
}
