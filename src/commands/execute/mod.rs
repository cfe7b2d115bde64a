//! `hookkeeper execute`: one file per command, and what they share.

pub mod fail;
pub mod fleet;
pub mod heartbeat;
pub mod init;
pub mod merge;
pub mod next;
pub mod rebuild;
pub mod registry;
pub mod reset;
pub mod resume;
pub mod start;
pub mod status;
pub mod verify;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::commands::loops::Who;
use crate::console::project::Project;
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::execute::Error;
use crate::execute::document::{Execution, ExecutionStatus, FILE};
use crate::execute::locate;
use crate::execute::plan::TaskPlan;
use crate::execute::reconcile::Correction;
use crate::execute::registry::Known;
use crate::execute::remote::Coordination;
use crate::execute::tasks_folder::TasksFolder;
use crate::execute::unfinished::unfinished;
use crate::git::refs;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    who: Who,
    #[command(subcommand)]
    subcommand: Subcommand,
}

/// The execution that a command is about, and how it answers.
#[derive(clap::Args)]
pub struct Target {
    /// The folder with manifest.json
    #[arg(value_name = "TASKS_PATH")]
    tasks: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The execution that a command is about; the only one of the project needs no name.
#[derive(clap::Args)]
pub struct OnlyTarget {
    /// The folder with manifest.json (default: that of the project's only execution)
    #[arg(value_name = "TASKS_PATH")]
    tasks: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The task of an execution that a command is about.
#[derive(clap::Args)]
pub struct TaskTarget {
    #[command(flatten)]
    target: Target,
    /// The task
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(clap::Subcommand)]
enum Subcommand {
    /// Read manifest.json, layer_plan.json and the task files, and begin
    #[command(
        after_help = "Example:\n  hookkeeper execute init docs/tasks/shop --project-path ~/shop --max-parallel 3"
    )]
    Init(init::Arguments),
    /// The tasks that are to be worked on now, with everything an agent needs
    #[command(
        after_help = "Example:\n  hookkeeper execute next docs/tasks/shop --json | jq -r '.tasks[].id'"
    )]
    Next(OnlyTarget),
    /// Make the worktree of a task
    #[command(after_help = "Example:\n  hookkeeper execute start docs/tasks/shop L1-001")]
    Start(start::Arguments),
    /// What `run-verify` was called before
    #[command(hide = true)]
    Verify(verify::Arguments),
    /// Record that an attempt failed
    #[command(
        after_help = "Example:\n  hookkeeper execute fail docs/tasks/shop L1-001 \\\n    --message 'test_create failed' --feedback 'Add min_length=1'"
    )]
    Fail(fail::Arguments),
    /// Merge what was verified, in the order in which it was
    #[command(after_help = "Example:\n  hookkeeper execute merge docs/tasks/shop")]
    Merge(OnlyTarget),
    /// With --remote: tell the others that somebody still works on the tasks of this clone
    #[command(
        after_help = "Example, in a crontab:\n  */10 * * * * hookkeeper execute heartbeat ~/shop/docs/tasks/shop"
    )]
    Heartbeat(heartbeat::Arguments),
    /// Where it stands: layers, tasks, the queue
    #[command(after_help = "Example:\n  hookkeeper execute status docs/tasks/shop")]
    Status(OnlyTarget),
    /// Put right what an interruption left, and say what comes next
    #[command(after_help = "Example:\n  hookkeeper execute resume docs/tasks/shop --dry-run")]
    Resume(resume::Arguments),
    /// Bring the state in line with git, and say what was wrong in it
    #[command(after_help = "Example:\n  hookkeeper execute rebuild docs/tasks/shop")]
    Rebuild(rebuild::Arguments),
    /// Begin no more tasks until `resume`
    #[command(after_help = "Example:\n  hookkeeper execute stop docs/tasks/shop")]
    Stop(OnlyTarget),
    /// Take a task's worktree, branch and attempts away, and begin it anew
    #[command(after_help = "Example:\n  hookkeeper execute reset-task docs/tasks/shop L1-001")]
    ResetTask(reset::TaskArguments),
    /// Take all worktrees, branches and the state away
    #[command(after_help = "Example:\n  hookkeeper execute reset docs/tasks/shop --force")]
    Reset(reset::Arguments),
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let open = |target: &Target| open_folder(project, &target.tasks);
    let open_only = |target: &OnlyTarget| match &target.tasks {
        Some(tasks) => open_folder(project, tasks),
        None => open_folder(project, &only_execution(project)?),
    };
    match &options.subcommand {
        Subcommand::Init(init) => init::run(project, &open(&init.target)?, init),
        Subcommand::Next(target) => next::run(&open_only(target)?, target.json),
        Subcommand::Start(start) => {
            let session = options.who.id(project)?;
            start::run(&open(&start.task.target)?, start, session)
        }
        Subcommand::Heartbeat(beat) => heartbeat::run(&open_only(&beat.target)?, beat),
        Subcommand::Verify(verify) => {
            let folder = open(&verify.task.target)?;
            let command = folder.command(&format!("verify {}", verify.task.id));
            bail!("`execute` runs no commands of a plan: {command}");
        }
        Subcommand::Fail(fail) => fail::run(project, &open(&fail.task.target)?, fail),
        Subcommand::Merge(target) => merge::run(&open_only(target)?, target.json),
        Subcommand::Status(target) => status::run(&open_only(target)?, target.json),
        Subcommand::Resume(resume) => resume::run(project, &open_only(&resume.target)?, resume),
        Subcommand::Rebuild(rebuild) => rebuild::run(project, &open(&rebuild.target)?, rebuild),
        Subcommand::Stop(target) => status::stop(&open_only(target)?, target.json),
        Subcommand::ResetTask(reset) => reset::run_task(&open(&reset.task.target)?, reset),
        Subcommand::Reset(reset) => reset::run(project, &open(&reset.target)?, reset),
    }
}

/// What runs the commands of a plan has a word of its own: a permission for `execute` does not cover it.
pub fn run_verify(project: &Project, options: &verify::Arguments) -> anyhow::Result<Outcome> {
    verify::run(project, &open_folder(project, &options.task.target.tasks)?, options)
}

fn open_folder<'a>(project: &'a Project, tasks: &Path) -> anyhow::Result<TasksFolder<'a>> {
    let path = match in_main_checkout(project, tasks) {
        Some(path) => path,
        None => absolute(project, tasks)?,
    };
    Ok(TasksFolder::open(project.process, &path, tasks)?)
}

/// The folder of the only execution that is not finished, or else of the only one.
fn only_execution(project: &Project) -> anyhow::Result<PathBuf> {
    let cwd = project.root()?;
    let root = refs::main_checkout(&cwd).unwrap_or(cwd);
    let known = locate::known_executions(project.process, &root);
    let folder = |known: &Known| PathBuf::from(&known.tasks_path);
    let open: Vec<PathBuf> =
        known.iter().map(folder).filter(|tasks| unfinished(tasks).is_some()).collect();
    let all: Vec<PathBuf> = known.iter().map(folder).collect();
    match (open.as_slice(), all.as_slice()) {
        ([only], _) | ([], [only]) => Ok(only.clone()),
        (_, []) => bail!("this project has no execution; TASKS_PATH names the folder of one"),
        (_, all) => {
            let names = all.iter().map(|tasks| tasks.display().to_string()).collect::<Vec<_>>();
            bail!("this project has several executions; TASKS_PATH names one: {}", names.join(", "))
        }
    }
}

/// A relative path in a task's worktree means what it means in the checkout that this belongs to,
/// if there is an execution.
fn in_main_checkout(project: &Project, tasks: &Path) -> Option<PathBuf> {
    let cwd = project.process.cwd().filter(|_| project.named.is_none() && tasks.is_relative())?;
    let (_, path) = locate::original_of(project.process, &cwd.join(tasks))?;
    path.join(FILE).is_file().then_some(path)
}

/// From the working directory, or from `-C DIR`.
fn absolute(project: &Project, path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let base = match project.named {
        Some(_) => project.root()?,
        None => project.process.cwd().context("there is no working directory")?,
    };
    Ok(base.join(path))
}

/// The project that a plan is for: as it says, or the one that the command is run in.
fn project_of_plan(project: &Project, plan: &TaskPlan) -> Result<PathBuf, Error> {
    let own = |error: anyhow::Error| Error::from(format!("{error:#}"));
    let root = project.root().map_err(own)?;
    let Some(named) = &plan.project_path else { return Ok(root) };
    let path = absolute(project, Path::new(named)).map_err(own)?;
    // A plan may come from anywhere: git is not run in a place of its choice.
    let repository = refs::repository_of(&path);
    if repository.is_some() && repository != refs::repository_of(&root) {
        return Err("manifest.json names another repository than the one that this command is run in; --project-path DIR says that it is meant".to_owned().into());
    }
    Ok(path)
}

/// Brings the state of a shared execution in line with its remote, if that answers; what there is to
/// say of it. For who only looks, a remote that cannot be believed is one of these things.
fn refresh(folder: &TasksFolder, only_looks: bool) -> Result<Vec<String>, Error> {
    let state = folder.load()?;
    let Some(remote) = &state.remote else { return Ok(Vec::new()) };
    let repository = folder.repository(&state)?;
    let Some(shared) = Coordination::of(folder, &repository, &state) else {
        return Ok(Vec::new());
    };
    let only_looks = only_looks || state.status == ExecutionStatus::Completed;
    let (notes, away) = match shared.sync_if_reachable() {
        Err(error) if only_looks => (Vec::new(), Some(error.to_string())),
        synced => synced?,
    };
    let as_of = remote.reached_at.as_deref().unwrap_or("never");
    let away = away.map(|why| format!("{why}; what others do is as of {as_of}."));
    Ok(notes.iter().map(|note| format!("{}: {}", note.id, note.text)).chain(away).collect())
}

fn corrections_json(corrections: &[Correction]) -> Value {
    let pairs = corrections.iter().map(|c| json!({"id": c.id, "correction": c.text}));
    pairs.collect::<Vec<Value>>().into()
}

/// What was wrong in a state, and how much is merged now.
fn corrections_text(corrections: &[Correction], state: &Execution) -> String {
    let mut text: String = corrections
        .iter()
        .map(|correction| format!("{}: {}\n", correction.id, correction.text))
        .collect();
    let verdict = match corrections.len() {
        0 => "Nothing to correct".to_owned(),
        n => plural(n, "correction"),
    };
    text.push_str(&format!(
        "{verdict}: {} of {} are merged to {}.",
        state.metrics.completed_tasks,
        plural(state.tasks.len(), "task"),
        state.base()
    ));
    text
}
