//! `execute rebuild`: the state, from git and the task files. What only the file knows (attempts,
//! errors, feedback) is kept as far as it can be read.

use std::path::PathBuf;

use anyhow::bail;
use serde_json::{Value, json};

use super::repository::Repository;
use super::site::Site;
use super::{init, planned};
use crate::Outcome;
use crate::books::execute::{self, Execution, Task, VERSION};
use crate::books::{Extra, plural};
use crate::cli::said_json;
use crate::execute::truth::{self, Correction};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    of: super::Shown,
    /// The checkout, if the state does not say
    #[arg(long, value_name = "DIR")]
    project_path: Option<PathBuf>,
    /// The branch that tasks are merged to, if the state does not say
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
}

impl Arguments {
    pub fn tasks(&self) -> &PathBuf {
        &self.of.tasks
    }
}

pub fn run(site: &Site, options: &Arguments) -> anyhow::Result<Outcome> {
    let before = site.folder.read()?;
    refuse_newer(before.as_deref())?;
    let known = before.as_deref().and_then(|bytes| execute::parse(bytes).ok());
    let complete = known.clone().filter(|state| state.base_branch.is_some());
    let (repository, state, mut said) = match complete {
        Some(state) => {
            let repository = Repository::open(std::path::Path::new(&state.project_path))?;
            (repository, state, Vec::new())
        }
        None => salvaged(site, before.as_deref(), options)?,
    };
    let facts = repository.facts(&state)?;
    let held = site.folder.lock()?;
    if held.read()? != before {
        bail!("the state was changed at the same time; try again");
    }
    let mut after = state.clone();
    said.extend(truth::correct(&mut after, &facts, &site.busy(&state)));
    fill_commits(&repository, &mut after)?;
    let counts = counted(known.as_ref(), &after, site);
    said.extend(counts);
    if !said.is_empty() {
        held.keep_copy()?;
    }
    let after = site.write(&held, known.as_ref(), after)?;
    drop(held);
    if known.is_none_or(|state| state.base_branch.is_none()) {
        init::enter(site, &after)?;
    }
    if options.of.json {
        let list: Vec<Value> =
            said.iter().map(|said| json!({"id": said.id, "correction": said.text})).collect();
        return said_json(
            &json!({"corrections": list, "metrics": after.metrics, "status": after.status}),
        );
    }
    Ok(Outcome::said(report(&said, &after)))
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
pub fn fill_commits(repository: &Repository, state: &mut Execution) -> anyhow::Result<()> {
    for task in state.tasks.values_mut().filter(|task| task.commits.is_empty()) {
        let Some(merge) = &task.merge_commit else { continue };
        let (first, second) = (format!("{merge}^1"), format!("{merge}^2"));
        if let Ok(commits) = repository.ahead(&first, &second) {
            task.set_commits(commits);
        }
    }
    Ok(())
}

/// Counts that the file had wrong.
pub fn counted(before: Option<&Execution>, after: &Execution, site: &Site) -> Option<Correction> {
    let before = before?;
    let mut settled = after.clone();
    settled.settle(&site.now());
    let (was, is) = (&before.metrics, &settled.metrics);
    let counts = |m: &execute::Metrics| {
        (m.total_tasks, m.completed_tasks, m.failed_tasks, m.total_attempts, m.total_commits)
    };
    let layers = |state: &Execution| -> Vec<(u64, u64, u64, execute::LayerStatus)> {
        let layers = state.layers.values();
        layers.map(|l| (l.tasks_total, l.tasks_completed, l.tasks_failed, l.status)).collect()
    };
    let wrong = counts(was) != counts(is) || layers(before) != layers(&settled);
    wrong.then(|| Correction {
        id: "counts".into(),
        text: format!(
            "said {} of {} tasks complete, {} attempts, {} commits; there are {} of {}, {} and {}",
            was.completed_tasks,
            was.total_tasks,
            was.total_attempts,
            was.total_commits,
            is.completed_tasks,
            is.total_tasks,
            is.total_attempts,
            is.total_commits
        ),
    })
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

/// A state anew from the plan, with what can be read of the old file's tasks.
fn salvaged(
    site: &Site,
    bytes: Option<&[u8]>,
    options: &Arguments,
) -> anyhow::Result<(Repository, Execution, Vec<Correction>)> {
    let plan = planned::read(site.folder.path())?;
    let old: Value = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    let text = |name: &str| old.get(name).and_then(Value::as_str).map(str::to_owned);
    let project = options.project_path.clone();
    let project =
        project.or_else(|| text("project_path").map(PathBuf::from).filter(|path| path.is_dir()));
    let base = options.base.clone().or_else(|| text("base_branch"));
    let (repository, mut state) = init::fresh(site, &plan, project.as_deref(), base.as_deref())?;
    // Nobody knows where it began, so all of the branch's history counts.
    state.base_commit = text("base_commit");
    if let Some(dir) = text("worktree_dir") {
        state.worktree_dir = dir;
    }
    state.max_parallel = old.get("max_parallel").and_then(Value::as_u64).or(state.max_parallel);
    state.started_at = text("started_at").filter(|time| crate::time::parse(time).is_some());
    let mut kept = 0;
    for (id, task) in &mut state.tasks {
        let Some(Value::Object(fields)) = old.get("tasks").and_then(|tasks| tasks.get(id)) else {
            continue;
        };
        kept += usize::from(take(task, fields));
    }
    init::hide(site, &repository, &state)?;
    let text = match bytes {
        None => "there was none; it was made from the task files and git".to_owned(),
        Some(_) => {
            format!("it could not be used as it was; {} kept what they had", plural(kept, "task"))
        }
    };
    let said = vec![Correction { id: execute::FILE.into(), text }];
    Ok((repository, state, said))
}

/// Fields of a task that can be read are taken, one by one.
fn take(task: &mut Task, fields: &Extra) -> bool {
    let whole = Value::Object(fields.clone());
    let before = task.clone();
    if let Ok(old) = serde_json::from_value::<Task>(whole) {
        *task = Task {
            layer: before.layer,
            name: before.name,
            priority: before.priority,
            file: before.file,
            depends_on: before.depends_on,
            ..old
        };
        return true;
    }
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let attempts = field("attempts").as_u64();
    let errors = serde_json::from_value(field("errors")).ok();
    let feedback = serde_json::from_value(field("retry_feedback")).ok();
    let kept = attempts.is_some() || errors.is_some() || feedback.is_some();
    task.attempts = attempts.unwrap_or(0);
    task.errors = errors.unwrap_or_default();
    task.retry_feedback = feedback.unwrap_or_default();
    kept
}
