//! `execute reset-task` and `execute reset`: worktrees and branches are taken away. Commits that no
//! other branch has stay reachable, under a name that is said.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::repository::Repository;
use super::site::{Site, task, task_mut};
use super::{One, Shown, fit, recover, worktree};
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
    let repository = site.repository(&state)?;
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
    Ok(kept)
}

pub fn everything(site: &Site, options: &Everything) -> anyhow::Result<Outcome> {
    let state = site.load()?;
    let repository = site.repository(&state)?;
    if !options.force {
        let ids = begun(&repository, &state)?;
        let branches: Vec<String> = ids.iter().map(|id| branch_of(id)).collect();
        let also = if branches.is_empty() {
            String::new()
        } else {
            format!(" and {}", branches.join(", "))
        };
        bail!("this would take away {FILE}{also}; --force does it (what is merged stays)");
    }
    repository.calm()?;
    let copy = site.folder.lock()?.keep_copy()?;
    claim_all(site)?;
    let took = take_all(site, &repository);
    if took.is_err() {
        site.change(|state| {
            let own = site.claim(Step::Reset).by;
            let claimed = |task: &&mut Task| task.claim.as_ref().is_some_and(|c| c.by == own);
            state.tasks.values_mut().filter(claimed).for_each(|task| task.claim = None);
            Ok(())
        })?;
    }
    let (ids, kept) = took?;
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

/// Nobody begins anything from here on. What is merged is not touched, so it is not claimed.
fn claim_all(site: &Site) -> anyhow::Result<()> {
    site.change(|state| {
        for (id, task) in state.tasks.iter_mut().filter(|(_, t)| t.status != Status::Completed) {
            site.refuse_busy(id, task)?;
            task.claim = Some(site.claim(Step::Reset));
        }
        Ok(())
    })
}

/// The tasks that were taken away, and the names that their commits are kept under.
fn take_all(
    site: &Site,
    repository: &Repository,
) -> anyhow::Result<(BTreeSet<String>, Vec<String>)> {
    let lock = repository.lock()?;
    let state = site.load()?;
    let ids = begun(repository, &state)?;
    let mut kept = Vec::new();
    for id in &ids {
        kept.extend(take(repository, &lock, &state, id)?);
    }
    site.folder.lock()?.remove()?;
    Ok((ids, kept))
}

/// The tasks that git has a branch or a worktree of.
fn begun(repository: &Repository, state: &Execution) -> anyhow::Result<BTreeSet<String>> {
    let facts = repository.facts(state)?;
    Ok(facts.branches.into_keys().chain(facts.worktrees.into_keys()).collect())
}

fn refuse_unsaved(
    repository: &Repository,
    id: &str,
    task: &Task,
    force: bool,
) -> anyhow::Result<()> {
    let path = task.worktree_path.as_deref().map(Path::new).filter(|path| path.is_dir());
    if let Some(path) = path.filter(|_| !force)
        && let Some(why) = fit::obstacle(repository, path, id, task)?
    {
        bail!("{id}: {why}; --force throws away what is not committed");
    }
    Ok(())
}

/// Removes a task's worktree and branch; commits that would be lost are kept under another name.
fn take(
    repository: &Repository,
    lock: &Lock,
    state: &Execution,
    id: &str,
) -> anyhow::Result<Vec<String>> {
    let path = state.tasks.get(id).and_then(|task| task.worktree_path.as_deref()).map(Path::new);
    let base = repository.base_tip(state.base())?;
    let elsewhere = path.and_then(|path| fit::head(repository, path));
    let tips: BTreeSet<String> =
        repository.tip(&branch_of(id))?.into_iter().chain(elsewhere).collect();
    let mut kept = Vec::new();
    for tip in tips {
        if repository.contains(&base, &tip)? {
            continue;
        }
        let short = tip.get(..12).unwrap_or(&tip);
        let name = format!("refs/hookkeeper/reset/{id}/{short}");
        repository.must(&["update-ref", &name, &tip], lock)?;
        kept.push(name);
    }
    worktree::remove(repository, lock, id, path)?;
    Ok(kept)
}

fn said_kept(kept: &[String]) -> String {
    match kept.is_empty() {
        true => String::new(),
        false => format!(" Its commits are kept: {}.", kept.join(", ")),
    }
}
