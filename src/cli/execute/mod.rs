//! `hookkeeper execute`: tasks in layers, each in a worktree of its own, verified and merged one by
//! one. The state is a copy of what git knows, and `rebuild` makes it one again.

mod bring;
mod calm;
mod came;
mod elsewhere;
mod fail;
mod fit;
mod halfway;
mod init;
mod merge;
mod next;
mod planned;
mod rebuild;
mod recover;
mod repository;
mod reset;
mod resume;
mod salvage;
mod site;
mod start;
mod status;
mod verify;
mod worktree;

use std::path::PathBuf;

use super::Project;
use super::acting::Who;
use crate::Outcome;
use site::Site;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    who: Who,
    #[command(subcommand)]
    what: What,
}

/// An execution, for commands that only show it.
#[derive(clap::Args)]
pub struct Shown {
    /// The folder with manifest.json
    #[arg(value_name = "TASKS_PATH")]
    tasks: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A task of an execution.
#[derive(clap::Args)]
pub struct One {
    #[command(flatten)]
    of: Shown,
    /// The task
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(clap::Subcommand)]
enum What {
    /// Read manifest.json, layer_plan.json and the task files, and begin
    #[command(
        after_help = "Example:\n  hookkeeper execute init docs/tasks/shop --project-path ~/shop --max-parallel 3"
    )]
    Init(init::Arguments),
    /// The tasks that are to be worked on now, with everything an agent needs
    #[command(
        after_help = "Example:\n  hookkeeper execute next docs/tasks/shop --json | jq -r '.tasks[].id'"
    )]
    Next(Shown),
    /// Make the worktree of a task
    #[command(after_help = "Example:\n  hookkeeper execute start docs/tasks/shop L1-001")]
    Start(One),
    /// Run a task's commands in its worktree; if they pass, it waits to be merged
    #[command(after_help = "Example:\n  hookkeeper execute verify docs/tasks/shop L1-001")]
    Verify(verify::Arguments),
    /// Record that an attempt failed
    #[command(
        after_help = "Example:\n  hookkeeper execute fail docs/tasks/shop L1-001 --message 'test_create failed' --feedback 'Add min_length=1'"
    )]
    Fail(fail::Arguments),
    /// Merge what was verified, in the order in which it was
    #[command(after_help = "Example:\n  hookkeeper execute merge docs/tasks/shop")]
    Merge(Shown),
    /// Where it stands: layers, tasks, the queue
    #[command(after_help = "Example:\n  hookkeeper execute status docs/tasks/shop")]
    Status(Shown),
    /// Put right what an interruption left, and say what comes next
    #[command(after_help = "Example:\n  hookkeeper execute resume docs/tasks/shop --dry-run")]
    Resume(resume::Arguments),
    /// Bring the state in line with git, and say what was wrong in it
    #[command(after_help = "Example:\n  hookkeeper execute rebuild docs/tasks/shop")]
    Rebuild(rebuild::Arguments),
    /// Begin no more tasks until `resume`
    #[command(after_help = "Example:\n  hookkeeper execute stop docs/tasks/shop")]
    Stop(Shown),
    /// Take a task's worktree, branch and attempts away, and begin it anew
    #[command(after_help = "Example:\n  hookkeeper execute reset-task docs/tasks/shop L1-001")]
    ResetTask(reset::OneTask),
    /// Take all worktrees, branches and the state away
    #[command(after_help = "Example:\n  hookkeeper execute reset docs/tasks/shop --force")]
    Reset(reset::Everything),
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let at = |tasks: &PathBuf| Site::open(project, tasks);
    match &options.what {
        What::Init(options) => init::run(project, options),
        What::Next(shown) => next::run(&at(&shown.tasks)?, shown.json),
        What::Start(one) => {
            let session = options.who.id(project.process);
            start::run(&at(&one.of.tasks)?, &one.id, session, one.of.json)
        }
        What::Verify(verify) => verify::run(&at(verify.tasks())?, verify),
        What::Fail(fail) => fail::run(&at(fail.tasks())?, fail),
        What::Merge(shown) => merge::run(&at(&shown.tasks)?, shown.json),
        What::Status(shown) => status::run(&at(&shown.tasks)?, shown.json),
        What::Resume(resume) => resume::run(&at(resume.tasks())?, resume),
        What::Rebuild(rebuild) => rebuild::run(&at(rebuild.tasks())?, rebuild),
        What::Stop(shown) => status::stop(&at(&shown.tasks)?, shown.json),
        What::ResetTask(one) => reset::one_task(&at(one.tasks())?, one),
        What::Reset(all) => reset::everything(&at(all.tasks())?, all),
    }
}
