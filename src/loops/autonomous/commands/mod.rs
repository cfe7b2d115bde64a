//! `hookkeeper autonomous`: a feature on its way through the phases.

pub mod advance;
pub mod start;
pub mod status;

use anyhow::bail;

use crate::console::project::{Project, print_json, said_with};
use crate::core::outcome::Outcome;
use crate::core::text::clip;
use crate::core::time;
use crate::loops::LoopKind;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::autonomous::rules::{AutonomousLoop, words};
use crate::loops::commands::{LoopCommand, Who, ensure_open, existing};
use crate::process::files;
use crate::state::State;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    who: Who,
    /// Print one JSON object: what was done, and where it stands now
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Start with a feature
    #[command(
        after_help = "Examples:\n  hookkeeper autonomous start 'Add user authentication'\n  hookkeeper autonomous start 'Add login' --skip-brainstorm --max-iterations 30"
    )]
    Start(start::Arguments),
    /// Where it stands, which phases are proven, what it has cost
    #[command(after_help = "Example:\n  hookkeeper autonomous status --json")]
    Status,
    /// End the present phase with its receipt and a checkpoint
    #[command(
        after_help = "Examples:\n  hookkeeper autonomous advance --summary 'Plan with 5 steps' --artifact docs/plan.md\n  hookkeeper autonomous advance --summary 'One P1: tokens never expire' --findings 1"
    )]
    Advance(advance::Arguments),
    /// Approve the acceptance tests (a person, in a terminal of their own)
    #[command(after_help = "Example:\n  hookkeeper autonomous approve")]
    Approve,
    /// Write down what is known, for a model that loses its context
    #[command(
        after_help = "Example:\n  hookkeeper autonomous checkpoint 'Sessions work' --failed-approach 'Storing them in a cookie: too large'"
    )]
    Checkpoint {
        summary: String,
        /// An approach that failed (may be given several times)
        #[arg(long = "failed-approach", visible_alias = "failed", value_name = "TEXT")]
        failed: Vec<String>,
        /// The file with the log of the work
        #[arg(long, value_name = "PATH")]
        progress_file: Option<String>,
    },
    /// Write down what went wrong
    #[command(
        after_help = "Example:\n  hookkeeper autonomous error 'Three tests fail in auth_test.py'"
    )]
    Error { message: String },
    /// Make a session drive it
    #[command(after_help = "Example:\n  hookkeeper autonomous adopt --session 0f3e8a2c-…")]
    Adopt,
    /// Go on with one that ended before it was complete
    #[command(after_help = "Example:\n  hookkeeper autonomous resume --max-iterations 80")]
    Resume {
        /// Iterations at most, in all
        #[arg(long, value_name = "N")]
        max_iterations: Option<u64>,
    },
    /// End it at once
    #[command(after_help = "Example:\n  hookkeeper autonomous cancel")]
    Cancel,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    match options.what {
        What::Status if options.json => print_json(&status::json_state(project)?),
        _ if options.json => said_with(step(project, options)?, status::json_state(project)?),
        _ => step(project, options),
    }
}

fn step(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let command = options.who.command(project)?;
    let redact = project.redactor()?;
    match &options.what {
        What::Start(options) => start::run(&command, options),
        What::Status => status::run(project),
        What::Advance(options) => advance::run(&command, options),
        What::Approve => approve(&command),
        What::Checkpoint { summary, failed, progress_file } => {
            let summary = required(&redact.text(summary), "the summary")?;
            let failed: Vec<String> = failed.iter().map(|text| redact.text(text)).collect();
            change(&command, |driven, state| {
                command.ensure_running(driven, state)?;
                let at = time::spell(command.now);
                driven.state.add_checkpoint(summary, failed, at);
                if let Some(file) = progress_file {
                    driven.state.artifacts.progress_file = Some(file.clone());
                }
                Ok(format!("Noted: {} checkpoints.", driven.state.checkpoints.len()))
            })
        }
        What::Error { message } => {
            let message = required(&redact.text(message), "the message")?;
            change(&command, |driven, state| {
                command.ensure_running(driven, state)?;
                driven.state.add_error(message, time::spell(command.now));
                Ok(format!("Noted: {} errors.", driven.state.errors.len()))
            })
        }
        What::Adopt => change(&command, |driven, state| command.adopt(driven, state)),
        What::Resume { max_iterations } => {
            change(&command, |driven, state| command.resume(driven, *max_iterations, state))
        }
        What::Cancel => change(&command, |driven, state| command.cancel(driven, state)),
    }
}

/// Only a person may: where the client or the model runs it, it is refused.
fn approve(command: &LoopCommand) -> anyhow::Result<Outcome> {
    let in_client = command.project.process.is_in_client();
    change(command, |driven, _| {
        ensure_open(driven)?;
        let title = words::title(&driven.state);
        if !crate::loops::autonomous::drive::is_awaiting(&driven.state) {
            bail!("the {title} waits for no approval");
        }
        if in_client {
            let file = driven.state.artifacts.acceptance_tests_file.as_deref();
            bail!(
                "a person has to approve the acceptance tests{}: type \"approve\" as a prompt, or run this in a terminal of your own, outside Claude Code",
                file.map(|file| format!(" in {}", clip(file, 160))).unwrap_or_default()
            );
        }
        driven.approve(command.now);
        Ok(format!("Approved. The {} goes on at the next prompt.", words::title(&driven.state)))
    })
}

/// Changes the loop that there is.
fn change(
    command: &LoopCommand,
    work: impl FnOnce(&mut AutonomousLoop, &State) -> anyhow::Result<String>,
) -> anyhow::Result<Outcome> {
    command.change(
        |_, state| load(command, state),
        |driven, state| work(existing(driven, LoopKind::Autonomous, "autonomous loop")?, state),
    )
}

/// The loop as it really is.
fn load(command: &LoopCommand, state: &State) -> anyhow::Result<Option<AutonomousLoop>> {
    let Some(found) = usable(state)? else { return Ok(None) };
    let places = [Some(command.project.root()?), command.project.process.cwd()];
    let places: Vec<_> = places.into_iter().flatten().collect();
    let artifacts = files::present(&places, found.documents());
    Ok(Some(crate::loops::autonomous::drive::load(state, found, artifacts, command.now)))
}

/// The loop, for reading.
fn read(project: &Project) -> anyhow::Result<Option<Autonomous>> {
    let Some(view) = project.view()? else { return Ok(None) };
    Ok(usable(&view.state())?.cloned())
}

/// The loop's file. One that is not ours, or cannot be read, is not touched.
fn usable<'s>(state: &'s State) -> anyhow::Result<Option<&'s Autonomous>> {
    let read = state.read::<Autonomous>(&());
    state.check()?;
    match read.frozen() {
        Some(why) => bail!("{} {why}.", read.doc().path()),
        None => Ok(read.value),
    }
}

/// A text that says something.
fn required(text: &str, what: &str) -> anyhow::Result<String> {
    match text.trim() {
        "" => bail!("{what} is empty"),
        text => Ok(text.to_owned()),
    }
}
