//! `hookkeeper iterative`: tasks whose units are worked on, confirmed and verified.

pub mod cancel;
pub mod clear;
pub mod find;
pub mod guardrail;
pub mod new;
pub mod rebuild;
pub mod show;
pub mod steps;
pub mod task_command;
pub mod unit;

use crate::commands::loops::Who;
use crate::console::project::Project;
use crate::core::outcome::Outcome;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    who: Who,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Make a task, and start it if it has units
    #[command(
        after_help = "Example:\n  hookkeeper iterative new user-auth --task 'User authentication' \\\n    --mode development --outcome 'People can log in' \\\n    --done-when 'Wrong passwords are refused' \\\n    --unit 'T1: User model | its tests pass | max 5 | files src/user.rs' \\\n    --unit 'T2: Login | 401 without a password | needs T1 | model sonnet'"
    )]
    New(new::New),
    /// Add units to a task
    #[command(
        after_help = "Example:\n  hookkeeper iterative unit user-auth 'T3: Log out | no cookie | needs T2'"
    )]
    Unit {
        /// The task
        slug: String,
        /// ID: title | criteria | max N | needs IDS | files PATHS | output PATH | model NAME
        #[arg(required = true)]
        units: Vec<String>,
    },
    /// All tasks
    #[command(after_help = "Example:\n  hookkeeper iterative list --json")]
    List,
    /// Where a task stands: its units, what blocks them, what is next
    #[command(after_help = "Example:\n  hookkeeper iterative status user-auth")]
    Status {
        /// The task (default: the session's, or the only open one)
        slug: Option<String>,
    },
    /// What to do now; starts the next unit if none is at work
    #[command(after_help = "Example:\n  hookkeeper iterative next user-auth")]
    Next {
        /// The task (default: the session's, or the only open one)
        slug: Option<String>,
    },
    /// Say what was done in an iteration, and what is left
    #[command(
        override_usage = "hookkeeper iterative log [OPTIONS] SLUG UNIT --did TEXT --remaining TEXT",
        after_help = "Example:\n  hookkeeper iterative log user-auth T1 --did 'Added the model' \\\n    --remaining 'Tests' --commit abc1234"
    )]
    Log(steps::Log),
    /// Say that a unit is done, verified, has gaps, or is blocked
    #[command(
        after_help = "Examples:\n  hookkeeper iterative signal user-auth T1_DONE\n  hookkeeper iterative signal user-auth 'BLOCKED: the key is missing'"
    )]
    Signal {
        /// The task
        slug: String,
        /// T1_DONE, T1_VERIFIED, T1_GAPS, BLOCKED: why, or TASK_VERIFIED after a review of the whole
        signal: String,
    },
    /// Say which phase the task is in
    #[command(after_help = "Example:\n  hookkeeper iterative phase user-auth execute")]
    Phase {
        /// The task
        slug: String,
        /// discover, plan, execute or verify
        name: String,
    },
    /// Do without a unit; units that need it can go on
    #[command(
        after_help = "Example:\n  hookkeeper iterative skip user-auth T3 --reason 'Not in this version'"
    )]
    Skip {
        /// The task
        slug: String,
        /// The unit, by its id
        unit: String,
        /// Why, for the log
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Take up a unit again that was blocked, skipped or out of iterations
    #[command(after_help = "Example:\n  hookkeeper iterative unblock user-auth T3")]
    Unblock {
        /// The task
        slug: String,
        /// The unit, by its id
        unit: String,
    },
    /// Change a unit's limit; one that was out of iterations goes on
    #[command(after_help = "Example:\n  hookkeeper iterative set user-auth T3 max=12")]
    Set {
        /// The task
        slug: String,
        /// The unit, by its id
        unit: String,
        /// max=N
        value: String,
    },
    /// Keep a lesson for later iterations, or take over those of an archived task
    #[command(
        after_help = "Examples:\n  hookkeeper iterative guardrail user-auth 'Migrations first' \\\n    --when 'Models change' --problem 'Tests ran on the old schema' \\\n    --solution 'Run the migrations before the tests'\n  hookkeeper iterative guardrail user-auth --from payments-20260114"
    )]
    Guardrail(guardrail::Guardrail),
    /// Go on with a task that was interrupted, or that ended before it was complete
    #[command(after_help = "Example:\n  hookkeeper iterative resume user-auth")]
    Resume {
        /// The task (default: the session's, or the only one)
        slug: Option<String>,
    },
    /// Make a session drive a task
    #[command(after_help = "Example:\n  hookkeeper iterative adopt user-auth --session 0f3e8a2c-…")]
    Adopt {
        /// The task (default: the only open one)
        slug: Option<String>,
    },
    /// End a task at once
    #[command(after_help = "Example:\n  hookkeeper iterative cancel user-auth")]
    Cancel {
        /// The task (default: the session's, or the only open one)
        slug: Option<String>,
    },
    /// Make state.json anew from progress.md, the plan, the brief and git
    #[command(after_help = "Example:\n  hookkeeper iterative rebuild user-auth")]
    Rebuild {
        /// The task
        slug: String,
        /// progress.md is lost: begin a new one with the state as it is
        #[arg(long)]
        new_log: bool,
    },
    /// Put a finished task away; its guardrails are offered to new ones
    #[command(after_help = "Example:\n  hookkeeper iterative archive user-auth")]
    Archive {
        /// The task
        slug: String,
        /// One that still runs, too
        #[arg(long)]
        force: bool,
    },
    /// Delete a task and all its files
    #[command(after_help = "Example:\n  hookkeeper iterative remove user-auth")]
    Remove {
        /// The task
        slug: String,
        /// One that still runs, too
        #[arg(long)]
        force: bool,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let command = options.who.command(project)?;
    let at_tree = matches!(options.what, What::Signal { .. });
    let at = task_command::TaskCommand { command, json: options.json, at_tree };
    match &options.what {
        What::New(new) => new::run(&at, new),
        What::Unit { slug, units } => unit::add(&at, slug, units),
        What::List => show::list(&at),
        What::Status { slug } => show::status(&at, slug.as_deref()),
        What::Next { slug } => steps::next(&at, slug.as_deref()),
        What::Log(log) => steps::log(&at, log),
        What::Signal { slug, signal } => steps::signal(&at, slug, signal),
        What::Phase { slug, name } => steps::phase(&at, slug, name),
        What::Skip { slug, unit, reason } => steps::skip(&at, slug, unit, reason.as_deref()),
        What::Unblock { slug, unit } => steps::unblock(&at, slug, unit),
        What::Set { slug, unit, value } => steps::set(&at, slug, unit, value),
        What::Guardrail(guardrail) => guardrail::run(&at, guardrail),
        What::Resume { slug } => steps::resume(&at, slug.as_deref()),
        What::Adopt { slug } => steps::adopt(&at, slug.as_deref()),
        What::Cancel { slug } => cancel::cancel(&at, slug.as_deref()),
        What::Rebuild { slug, new_log } => rebuild::rebuild(&at, slug, *new_log),
        What::Archive { slug, force } => clear::archive(&at, slug, *force),
        What::Remove { slug, force } => clear::remove(&at, slug, *force),
    }
}
