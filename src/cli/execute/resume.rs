//! `execute resume`: what an interruption left is put right, git is asked for the truth, and the plan
//! is printed.

use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::{Value, json};

use super::repository::Repository;
use super::site::Site;
use super::{fit, init, next, rebuild, recover, start, worktree};
use crate::Outcome;
use crate::books::execute::{Execution, Global, Status, Task};
use crate::cli::said_json;
use crate::execute::truth::{self, Correction, Facts, branch_of};
use crate::execute::{counts, schedule};
use crate::store::lock::Lock;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    of: super::Shown,
    /// Only print the plan
    #[arg(long)]
    dry_run: bool,
}

impl Arguments {
    pub fn tasks(&self) -> &PathBuf {
        &self.of.tasks
    }
}

pub fn run(site: &Site, options: &Arguments) -> anyhow::Result<Outcome> {
    let state = site.load()?;
    let repository = site.repository(&state)?;
    let mut said: Vec<Correction> = Vec::new();
    if options.dry_run {
        let mut state = state;
        let facts = repository.facts(&state)?;
        let busy = site.busy(&state);
        said.extend(truth::correct(&mut state, &facts, &busy));
        resumed(&mut state);
        state.settle(&site.now());
        schedule::next_batch(&mut state);
        return plan(site, &state, &said, options.of.json, true);
    }
    let interrupted = state
        .tasks
        .iter()
        .filter(|(_, task)| task.claim.as_ref().is_some_and(|claim| site.is_dead(claim)));
    let interrupted: Vec<String> = interrupted.map(|(id, _)| id.clone()).collect();
    for id in interrupted {
        let text = recover::if_dead(site, &repository, &id)?;
        said.extend(text.map(|text| Correction { id, text }));
    }
    repository.calm()?;
    // Nobody begins or merges anything between what git is asked and what is made of it.
    let lock = repository.lock()?;
    tidy(site, &repository, &lock, &mut said)?;
    corrected(site, &repository, &mut said)?;
    // A branch of a task that is pending now is nobody's.
    tidy(site, &repository, &lock, &mut said)?;
    drop(lock);
    let after = site.load()?;
    init::enter_again(site, &after, None)?;
    plan(site, &after, &said, options.of.json, false)
}

/// Brings the state in line with git. What others do to it meanwhile is not undone: then git is
/// asked again.
fn corrected(
    site: &Site,
    repository: &Repository,
    said: &mut Vec<Correction>,
) -> anyhow::Result<()> {
    for _ in 0..rebuild::TRIES {
        let bytes = site.folder.read()?;
        let before = site.parsed(bytes.clone())?;
        let facts = repository.facts(&before)?;
        let (mut after, corrections) = rebuild::in_line(site, repository, &before, &facts);
        resumed(&mut after);
        let held = site.folder.lock()?;
        if held.read()? != bytes {
            continue;
        }
        said.extend(corrections);
        said.extend(counts::wrong(&before, &after, &site.now()));
        site.write(&held, Some(&before), after)?;
        return Ok(());
    }
    bail!("the state is changed again and again at the same time; try again")
}

fn resumed(state: &mut Execution) {
    if state.status == Global::Stopped {
        state.status = Global::InProgress;
    }
}

/// What is left of tasks that are merged goes; what tasks under way have lost comes back.
fn tidy(
    site: &Site,
    repository: &Repository,
    lock: &Lock,
    said: &mut Vec<Correction>,
) -> anyhow::Result<()> {
    let state = site.load()?;
    let facts = repository.facts(&state)?;
    let busy = site.busy(&state);
    for (id, task) in state.tasks.iter().filter(|(id, _)| !busy.contains(*id)) {
        let mut say = |text: String| {
            let correction = Correction { id: id.clone(), text };
            if !said.contains(&correction) {
                said.push(correction);
            }
        };
        if is_leftover(&facts, id, task) {
            let path = facts.worktrees.get(id).map(Path::new);
            let more = match path {
                Some(path) => fit::work_in(repository, path, id, task)?,
                None => None,
            };
            match more {
                Some(why) => say(format!("it is merged, but its worktree stays: {why}")),
                None => {
                    worktree::remove(repository, lock, id, path)?;
                    say(format!("what was left of {} is removed", branch_of(id)));
                }
            }
        } else if let Some(tip) = lost_worktree(&facts, id, task) {
            worktree::ensure(repository, lock, id, &start::place(&state, id), tip, false)?;
            say("its worktree was gone and is made again from its branch".into());
        }
    }
    Ok(())
}

/// A branch whose commits the base branch has, of a task that is merged or was never begun.
fn is_leftover(facts: &Facts, id: &str, task: &Task) -> bool {
    let merged = facts.merged.iter().any(|merged| merged.id == id);
    let never_begun = task.status == Status::Pending && !facts.worktrees.contains_key(id);
    let there = facts.branches.contains_key(id) || facts.worktrees.contains_key(id);
    there && !facts.ahead.contains(id) && (merged || never_begun)
}

fn lost_worktree<'a>(facts: &'a Facts, id: &str, task: &Task) -> Option<&'a str> {
    let under_way = !matches!(task.status, Status::Completed | Status::Abandoned)
        && !facts.merged.iter().any(|merged| merged.id == id);
    let goes_on = facts.ahead.contains(id) || task.status != Status::Pending;
    let lost = under_way && goes_on && !facts.worktrees.contains_key(id);
    facts.branches.get(id).filter(|_| lost).map(String::as_str)
}

fn plan(
    site: &Site,
    state: &Execution,
    said: &[Correction],
    json: bool,
    dry_run: bool,
) -> anyhow::Result<Outcome> {
    let batch = next::run(site, false).ok().and_then(|said| said.stdout).filter(|_| !dry_run);
    if json {
        let list: Vec<Value> =
            said.iter().map(|said| json!({"id": said.id, "correction": said.text})).collect();
        return said_json(&json!({
            "corrections": list, "status": state.status, "layer": state.current_layer,
            "batch": state.current_batch, "tasks": state.batch, "metrics": state.metrics,
        }));
    }
    let mut text = rebuild::report(said, state);
    let layer = state.current_layer.as_deref().unwrap_or_default();
    if let Some(counts) = state.layers.get(layer) {
        text.push_str(&format!(
            "\nLayer {layer}: {}/{} completed",
            counts.tasks_completed, counts.tasks_total
        ));
    }
    for (id, task) in &state.tasks {
        if task.status == Status::Failed {
            text.push_str(&format!("\nRetry {id} (attempt {})", task.attempt()));
        }
    }
    match batch {
        Some(batch) => text.push_str(&format!("\n{batch}")),
        None => text.push_str(&format!("\nWould go on with: {}", state.batch.join(", "))),
    }
    Ok(Outcome::said(text))
}
