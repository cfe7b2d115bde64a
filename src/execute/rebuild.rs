//! The state made anew from git and the task files. What only the file knows (attempts, errors,
//! feedback) is kept as far as it can be read.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::core::text::{Extra, clip, plural};
use crate::execute::counts::stale_counts;
use crate::execute::document::{self, Execution, FILE, TaskRecord, VERSION};
use crate::execute::plan::TaskPlan;
use crate::execute::remote::Coordination;
use crate::execute::remote::apply::{self, Reading};
use crate::execute::remote::join::{self, Sharing};
use crate::execute::{
    Correction, Error, GitFacts, Repository, Result, TasksFolder, locate, plan_files, plan_sync,
    reconcile, setup, worktree,
};

/// So often a state is read again that others change meanwhile.
const TRIES: usize = 20;

/// What the user says about an execution, where its state does not or is wrong.
pub struct RebuildOptions<'a> {
    pub project_path: Option<PathBuf>,
    pub base: Option<&'a str>,
    pub remote: Option<&'a str>,
    /// The project of a plan, if nobody says.
    pub default_project: &'a dyn Fn(&TaskPlan) -> Result<PathBuf>,
}

/// A state that was made anew, what was wrong in it, and where it was before.
pub struct Rebuilt {
    pub state: Execution,
    pub corrections: Vec<Correction>,
    pub old_tasks_path: Option<String>,
}

pub fn rebuild(folder: &TasksFolder, options: &RebuildOptions) -> Result<Rebuilt> {
    retry(|| try_rebuild(folder, options))
}

/// Tries something that gives up (`None`) when the state was changed meanwhile.
pub fn retry<T>(mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    for _ in 0..TRIES {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
    }
    Err("the state is changed again and again at the same time; try again".into())
}

/// A state as git says that it is, and what was wrong in it. Nothing is written.
pub fn reconcile_with_git(
    folder: &TasksFolder,
    repository: &Repository,
    state: &Execution,
    facts: &GitFacts,
) -> (Execution, Vec<Correction>) {
    let mut after = state.clone();
    folder.recompute(&mut after);
    let corrections = reconcile::reconcile(&mut after, facts, &folder.claimed_tasks(state));
    fill_commits(repository, &mut after);
    (after, corrections)
}

fn try_rebuild(folder: &TasksFolder, options: &RebuildOptions) -> Result<Option<Rebuilt>> {
    let before = folder.state_file.read()?;
    refuse_newer(before.as_deref())?;
    let known = before.as_deref().and_then(|bytes| document::parse(bytes).ok());
    // What was not written here is kept as a copy, and not read.
    let is_own = folder.is_own(known.as_ref())?;
    let known = known.filter(|_| is_own);
    let old = before.as_deref().filter(|_| is_own);
    let plan = plan_files::load_plan(folder.path());
    let (mut state, mut corrections) = match known.clone().filter(|s| s.base_branch.is_some()) {
        Some(mut state) => {
            let corrections = apply_options(folder, &mut state, options)?;
            (state, corrections)
        }
        None => restore_from_plan(folder, old, plan.as_ref(), options)?,
    };
    match &plan {
        Ok(plan) => corrections.extend(plan_sync::add_planned(&mut state, plan)),
        Err(why) if state.tasks.values().any(|task| task.layer.is_none()) => {
            return Err(why.to_string().into());
        }
        Err(why) => {
            let why = clip(&why.to_string(), 200);
            let text = format!("the tasks were not compared with the plan: {why}");
            corrections.push(Correction { id: "manifest.json".into(), text });
        }
    }
    let repository = folder.repository(&state)?;
    corrections.extend(read_remote(folder, &repository, &mut state, options.remote)?);
    let repository = repository.lock()?;
    worktree::repair(&repository, &state)?;
    let facts = repository.read_facts(&state)?;
    if let Ok(plan) = &plan {
        corrections.extend(plan_sync::remove_unplanned(&mut state, plan, &facts));
    }
    let (after, found) = reconcile_with_git(folder, &repository, &state, &facts);
    corrections.extend(found);
    corrections.extend(known.as_ref().and_then(|old| stale_counts(old, &after, &folder.now())));
    let locked = folder.state_file.lock()?;
    if locked.read()? != before {
        return Ok(None);
    }
    if !corrections.is_empty() || !is_own {
        locked.write_backup()?;
    }
    let state = folder.write(&locked, known.as_ref(), after)?;
    let old = known.filter(|known| known.base_branch.is_some());
    Ok(Some(Rebuilt { state, corrections, old_tasks_path: old.map(|old| old.tasks_path) }))
}

/// What the remote of a shared execution says, whatever it said before.
fn read_remote(
    folder: &TasksFolder,
    repository: &Repository,
    state: &mut Execution,
    named: Option<&str>,
) -> Result<Vec<Correction>> {
    let mut corrections = Vec::new();
    if let Some(remote) = named.filter(|name| state.remote.as_ref().is_none_or(|r| r.name != *name))
    {
        let sharing = Sharing { remote, lease: None, dry_run: false, recovers: true };
        corrections = join::share(folder, repository, state, &sharing)?.edited;
    }
    let Some(shared) = Coordination::of(folder, repository, state) else { return Ok(corrections) };
    let snapshot = match shared.read() {
        Ok(snapshot) => snapshot,
        Err(trouble) => {
            let text = format!("{}; it was not compared", trouble.explain(&shared.remote.name));
            corrections.push(Correction { id: shared.remote.name.clone(), text });
            return Ok(corrections);
        }
    };
    let merged = match &snapshot.base {
        Some(base) => repository.merged_tasks(state, base)?,
        None => refuse!("{} has no branch {}", shared.remote.name, state.base()),
    };
    let (known, now) = (apply::known_claims(state), folder.process.now());
    let reading = Reading { snapshot: &snapshot, merged: &merged, known, now };
    corrections.extend(apply::apply(state, &reading));
    Ok(corrections)
}

/// A project, a branch or a folder that is elsewhere now.
fn apply_options(
    folder: &TasksFolder,
    state: &mut Execution,
    options: &RebuildOptions,
) -> Result<Vec<Correction>> {
    let mut corrections = Vec::new();
    let mut set = |name: &str, field: &mut String, value: String| {
        if *field != value {
            let text = format!("was {field}, is {value}");
            corrections.push(Correction { id: name.into(), text });
            *field = value;
        }
    };
    if let Some(dir) = &options.project_path {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        locate::refuse_worktree_copy(folder.process, &dir)?;
        let below = Path::new(&state.worktree_dir).strip_prefix(&state.project_path);
        if let Ok(below) = below.map(|below| dir.join(below).display().to_string()) {
            set("worktree_dir", &mut state.worktree_dir, below);
        }
        set("project_path", &mut state.project_path, dir.display().to_string());
    }
    if let Some(base) = options.base {
        let mut field = state.base().to_owned();
        set("base_branch", &mut field, base.to_owned());
        state.base_branch = Some(field);
    }
    set("tasks_path", &mut state.tasks_path, folder.path().display().to_string());
    Ok(corrections)
}

/// A state anew from the plan, with what can be read of the tasks of a file that cannot be used.
fn restore_from_plan(
    folder: &TasksFolder,
    bytes: Option<&[u8]>,
    plan: std::result::Result<&TaskPlan, &Error>,
    options: &RebuildOptions,
) -> Result<(Execution, Vec<Correction>)> {
    let plan = plan.map_err(|why| why.to_string())?;
    let old: Value = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    let text = |name: &str| old.get(name).and_then(Value::as_str).map(str::to_owned);
    let old_project = || text("project_path").map(PathBuf::from).filter(|path| path.is_dir());
    let project = match options.project_path.clone().or_else(old_project) {
        Some(project) => project,
        None => (options.default_project)(plan)?,
    };
    let base = options.base.map(str::to_owned).or_else(|| text("base_branch"));
    let (repository, mut state) = setup::new_execution(folder, plan, project, base.as_deref())?;
    // Nobody knows where it began, so all of the branch's history counts.
    state.base_commit = text("base_commit");
    if let Some(dir) = text("worktree_dir") {
        state.worktree_dir = dir;
    }
    state.max_parallel = old.get("max_parallel").and_then(Value::as_u64).or(state.max_parallel);
    state.started_at = text("started_at").filter(|time| crate::core::time::parse(time).is_some());
    let mut kept = 0;
    for (id, task) in &mut state.tasks {
        if let Some(Value::Object(fields)) = old.get("tasks").and_then(|tasks| tasks.get(id)) {
            kept += usize::from(restore_task(task, fields));
        }
    }
    state.remote = old.get("remote").and_then(|old| serde_json::from_value(old.clone()).ok());
    state.extra = unknown_fields(&old);
    locate::refuse_shared_ids(folder, &state)?;
    setup::exclude_from_status(folder, &repository, &state)?;
    let text = match bytes {
        None => "there was none; it was made from the task files and git".to_owned(),
        Some(_) => {
            format!("it could not be used as it was; {} kept what they had", plural(kept, "task"))
        }
    };
    Ok((state, vec![Correction { id: FILE.into(), text }]))
}

/// What nobody here knows stays, even where the rest cannot be used.
fn unknown_fields(old: &Value) -> Extra {
    let fields = old.as_object().into_iter().flatten();
    let is_unknown = |(key, value): &(&String, &Value)| {
        let alone = serde_json::json!({ key.as_str(): value });
        serde_json::from_value::<Execution>(alone).is_ok_and(|it| it.extra.contains_key(*key))
    };
    fields.filter(is_unknown).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Takes over the fields of a task that can be read, one by one; whether there were any.
fn restore_task(task: &mut TaskRecord, fields: &Extra) -> bool {
    let whole = Value::Object(fields.clone());
    if let Ok(old) = serde_json::from_value::<TaskRecord>(whole) {
        *task = old.with_plan_of(std::mem::take(task));
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

/// The commits of a task that the base branch has, where the file does not know them.
fn fill_commits(repository: &Repository, state: &mut Execution) {
    for task in state.tasks.values_mut().filter(|task| task.commits.is_empty()) {
        let Some(merge) = &task.merge_commit else { continue };
        let (first, second) = (format!("{merge}^1"), format!("{merge}^2"));
        if let Ok(commits) = repository.commits_ahead(&first, &second) {
            task.set_commits(commits);
        }
    }
}

/// A file from a later version stays as it is.
fn refuse_newer(bytes: Option<&[u8]>) -> Result<()> {
    let value = bytes.and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    let version = value.as_ref().and_then(|value| value.get("schema_version")?.as_str());
    let number = |version: &str| version.parse::<f64>().unwrap_or(0.0);
    match version {
        Some(version) if number(version) > number(VERSION) => refuse!(
            "the state is of schema {version}, this program knows {VERSION}; it is left as it is"
        ),
        _ => Ok(()),
    }
}
