//! `execute rebuild`: the state, from git and the task files. What only the file knows (attempts,
//! errors, feedback) is kept as far as it can be read.

use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::{Value, json};

use super::repository::Repository;
use super::site::{Site, absolute};
use super::{elsewhere, init, planned, salvage, worktree};
use crate::Outcome;
use crate::books::execute::{self, Execution, VERSION};
use crate::books::{clip, plural};
use crate::cli::said_json;
use crate::execute::truth::{self, Correction, Facts};
use crate::execute::{counts, unite};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    of: super::Shown,
    /// The checkout, if the state does not say or it was moved
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<PathBuf>,
    /// The branch that tasks are merged to, if the state does not say or it was renamed
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,
}

impl Arguments {
    pub fn tasks(&self) -> &PathBuf {
        &self.of.tasks
    }
}

/// So often a state is read again that others change meanwhile.
pub const TRIES: usize = 20;

pub fn run(site: &Site, options: &Arguments) -> anyhow::Result<Outcome> {
    for _ in 0..TRIES {
        if let Some((said, after)) = rebuilt(site, options)? {
            if options.of.json {
                let list: Vec<Value> = said
                    .iter()
                    .map(|said| json!({"id": said.id, "correction": said.text}))
                    .collect();
                return said_json(
                    &json!({"corrections": list, "metrics": after.metrics, "status": after.status}),
                );
            }
            return Ok(Outcome::said(report(&said, &after)));
        }
    }
    bail!("the state is changed again and again at the same time; try again")
}

/// `None`: the state was changed meanwhile.
fn rebuilt(
    site: &Site,
    options: &Arguments,
) -> anyhow::Result<Option<(Vec<Correction>, Execution)>> {
    let before = site.folder.read()?;
    refuse_newer(before.as_deref())?;
    let known = before.as_deref().and_then(|bytes| execute::parse(bytes).ok());
    let plan = planned::read(site.folder.path());
    let (mut state, mut said) = match known.clone().filter(|state| state.base_branch.is_some()) {
        Some(mut state) => {
            let said = follow(site, &mut state, options)?;
            (state, said)
        }
        None => salvage::state(site, before.as_deref(), plan.as_ref(), options)?,
    };
    match &plan {
        Ok(plan) => said.extend(unite::add(&mut state, plan)),
        Err(why) if state.tasks.values().any(|task| task.layer.is_none()) => bail!("{why:#}"),
        Err(why) => said.push(Correction {
            id: "manifest.json".into(),
            text: format!(
                "the tasks were not compared with the plan: {}",
                clip(&format!("{why:#}"), 200)
            ),
        }),
    }
    let repository = site.repository(&state)?;
    let lock = repository.lock()?;
    worktree::repair(&repository, &lock, &state)?;
    let facts = repository.facts(&state)?;
    if let Ok(plan) = &plan {
        said.extend(unite::drop(&mut state, plan, &facts));
    }
    let (after, corrections) = in_line(site, &repository, &state, &facts);
    said.extend(corrections);
    said.extend(known.as_ref().and_then(|known| counts::wrong(known, &after, &site.now())));
    let held = site.folder.lock()?;
    if held.read()? != before {
        return Ok(None);
    }
    if !said.is_empty() {
        held.keep_copy()?;
    }
    let after = site.write(&held, known.as_ref(), after)?;
    drop((held, lock));
    let old = known.filter(|known| known.base_branch.is_some());
    init::enter_again(site, &after, old.as_ref().map(|known| known.tasks_path.as_str()))?;
    Ok(Some((said, after)))
}

/// A state as git says that it is, and what was wrong in it. Nothing is written.
pub fn in_line(
    site: &Site,
    repository: &Repository,
    state: &Execution,
    facts: &Facts,
) -> (Execution, Vec<Correction>) {
    let mut after = state.clone();
    site.settle(&mut after);
    let said = truth::correct(&mut after, facts, &site.busy(state));
    fill_commits(repository, &mut after);
    (after, said)
}

/// A project, a branch or a folder that is elsewhere now.
fn follow(
    site: &Site,
    state: &mut Execution,
    options: &Arguments,
) -> anyhow::Result<Vec<Correction>> {
    let mut said = Vec::new();
    let mut set = |name: &str, field: &mut String, value: String| {
        if *field != value {
            let text = format!("was {field}, is {value}");
            said.push(Correction { id: name.into(), text });
            *field = value;
        }
    };
    if let Some(dir) = &options.project_path {
        let dir = absolute(site.project, dir)?;
        let dir = dir.canonicalize().unwrap_or(dir);
        elsewhere::refuse_copy(site.project, &dir)?;
        let below = Path::new(&state.worktree_dir).strip_prefix(&state.project_path);
        if let Ok(below) = below.map(|below| dir.join(below).display().to_string()) {
            set("worktree_dir", &mut state.worktree_dir, below);
        }
        set("project_path", &mut state.project_path, dir.display().to_string());
    }
    if let Some(base) = &options.base {
        let mut field = state.base().to_owned();
        set("base_branch", &mut field, base.clone());
        state.base_branch = Some(field);
    }
    set("tasks_path", &mut state.tasks_path, site.folder.path().display().to_string());
    Ok(said)
}

pub fn report(said: &[Correction], state: &Execution) -> String {
    let mut text: String =
        said.iter().map(|said| format!("{}: {}\n", said.id, said.text)).collect();
    let metrics = &state.metrics;
    let verdict = match said.len() {
        0 => "Nothing to correct".to_owned(),
        n => plural(n, "correction"),
    };
    text.push_str(&format!(
        "{verdict}: {} of {} are merged to {}.",
        metrics.completed_tasks,
        plural(state.tasks.len(), "task"),
        state.base()
    ));
    text
}

/// A task that the base branch has, whose commits the file does not know.
fn fill_commits(repository: &Repository, state: &mut Execution) {
    for task in state.tasks.values_mut().filter(|task| task.commits.is_empty()) {
        let Some(merge) = &task.merge_commit else { continue };
        let (first, second) = (format!("{merge}^1"), format!("{merge}^2"));
        if let Ok(commits) = repository.ahead(&first, &second) {
            task.set_commits(commits);
        }
    }
}

/// A file from a later version stays as it is.
fn refuse_newer(bytes: Option<&[u8]>) -> anyhow::Result<()> {
    let value = bytes.and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    let version = value.as_ref().and_then(|value| value.get("schema_version")?.as_str());
    let number = |version: &str| version.parse::<f64>().unwrap_or(0.0);
    match version {
        Some(version) if number(version) > number(VERSION) => {
            bail!(
                "the state is of schema {version}, this program knows {VERSION}; it is left as it is"
            )
        }
        _ => Ok(()),
    }
}
