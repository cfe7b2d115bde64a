//! `hookkeeper autonomous`: a feature on its way through the phases.

pub mod advance;
pub mod start;
pub mod status;

use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::Number;

use crate::commands::loops::{LoopCommand, Who, ensure_open, existing};
use crate::console::project::{Project, print_json, said_with};
use crate::console::usage::usage;
use crate::core::outcome::Outcome;
use crate::core::text::clip;
use crate::core::time;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::autonomous::drive;
use crate::loops::autonomous::rules::{AutonomousLoop, words};
use crate::loops::autonomous::watched::Watched;
use crate::loops::{Loop as _, LoopKind, Verdict};
use crate::process::files;
use crate::state::State;
use crate::turn::world::World;

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
        after_help = "Examples:\n  hookkeeper autonomous advance --summary 'Plan with 5 steps' \\\n    --artifact docs/plan.md\n  hookkeeper autonomous advance --summary 'Tokens never expire' --findings 1"
    )]
    Advance(advance::Arguments),
    /// Approve the acceptance tests (a person, in a terminal of their own)
    #[command(after_help = "Example:\n  hookkeeper autonomous approve")]
    Approve,
    /// Let it go on although findings are open and no round is left (a person, in a terminal of their own)
    #[command(after_help = "Example:\n  hookkeeper autonomous ship")]
    Ship,
    /// Write down what is known, for a model that loses its context
    #[command(
        after_help = "Example:\n  hookkeeper autonomous checkpoint 'Sessions work' \\\n    --failed-approach 'Storing them in a cookie: too large'"
    )]
    Checkpoint {
        /// What is known, in a few lines
        summary: String,
        /// An approach that failed (may be given several times)
        #[arg(long = "failed-approach", visible_alias = "failed", value_name = "TEXT")]
        failed: Vec<String>,
        /// The file with the log of the work
        #[arg(long, value_name = "PATH")]
        progress_file: Option<PathBuf>,
    },
    /// Write down what went wrong
    #[command(
        after_help = "Example:\n  hookkeeper autonomous error 'Three tests fail in auth_test.py'"
    )]
    Error {
        /// What went wrong
        message: String,
    },
    /// Make a session drive it
    #[command(after_help = "Example:\n  hookkeeper autonomous adopt --session 0f3e8a2c-…")]
    Adopt,
    /// Go on with one that ended before it was complete
    #[command(after_help = "Example:\n  hookkeeper autonomous resume --max-iterations 80")]
    Resume {
        /// Iterations at most, in all
        #[arg(long, value_name = "N")]
        max_iterations: Option<u64>,
        /// Dollars at most, in all
        #[arg(long, value_name = "USD")]
        budget: Option<f64>,
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
        What::Ship => ship(&command),
        What::Checkpoint { summary, failed, progress_file: file } => {
            let file = progress_file(project, file.as_deref())?;
            let summary = required(&redact.text(summary), "the summary")?;
            let failed: Vec<String> = failed.iter().map(|text| redact.text(text)).collect();
            change(&command, |driven, state| {
                command.ensure_running(driven, state)?;
                let at = time::spell(command.now);
                driven.state.add_checkpoint(summary, failed, at);
                let files = &mut driven.state.artifacts;
                files.progress_file = file.or(files.progress_file.take());
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
        What::Resume { max_iterations, budget } => {
            let budget = budget.map(start::budget).transpose()?;
            command.change(
                |_, state| load_or_restore(&command, state),
                |driven, state| {
                    let driven = existing(driven, LoopKind::Autonomous, "autonomous loop")?;
                    if let Some(budget) = budget {
                        ensure_may_spend(&command, driven, &budget)?;
                        driven.watched.budget_limit_usd = budget.as_f64();
                        driven.state.budget_limit_usd = budget;
                    }
                    command.resume(driven, *max_iterations, state)
                },
            )
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
        if !drive::is_awaiting(&driven.state) {
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

/// Only a person may, as above.
fn ship(command: &LoopCommand) -> anyhow::Result<Outcome> {
    let in_client = command.project.process.is_in_client();
    change(command, |driven, _| {
        let title = words::title(&driven.state);
        if !driven.watched.out_of_rounds {
            bail!("the {title} does not wait for that: it has rounds left, or nothing is open");
        }
        if in_client {
            bail!(
                "a person has to say that it may ship with {} open: type \"ship\" as a prompt, or run this in a terminal of your own, outside Claude Code",
                words::findings(driven.watched.open)
            );
        }
        driven.ship_anyway(command.now);
        Ok(format!("The {} goes on at the next prompt.", words::title(&driven.state)))
    })
}

/// Only a person gives it more than it has, as above.
fn ensure_may_spend(
    command: &LoopCommand,
    driven: &AutonomousLoop,
    budget: &Number,
) -> anyhow::Result<()> {
    let limit = &driven.state.budget_limit_usd;
    if budget.as_f64() > limit.as_f64() && command.project.process.is_in_client() {
        bail!(
            "a person has to give it more than ${limit}: run this in a terminal of your own, outside Claude Code"
        );
    }
    Ok(())
}

/// A progress file that exists, as the checkout sees it.
fn progress_file(project: &Project, named: Option<&Path>) -> anyhow::Result<Option<String>> {
    let Some(named) = named else { return Ok(None) };
    let (root, cwd) = (project.root()?, project.process.cwd());
    let file = advance::in_checkout(&root, &[cwd.as_deref(), Some(&root)], named)?;
    match files::present(&[root], vec![&file]).is_empty() {
        true => bail!("the progress file {file} is empty, or is no file"),
        false => Ok(Some(file)),
    }
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
    usable(state)?.map(|found| judged(command, state, found)).transpose()
}

/// The loop as its file has it; where the file is lost, as we left it.
fn load_or_restore(command: &LoopCommand, state: &State) -> anyhow::Result<Option<AutonomousLoop>> {
    if let Some(driven) = load(command, state)? {
        return Ok(Some(driven));
    }
    let Some(copy) = drive::lost_copy(state) else { return Ok(None) };
    let mut driven = judged(command, state, copy)?;
    driven.end(Verdict::Failed, "its file was lost", command.now);
    Ok(Some(driven))
}

fn judged(
    command: &LoopCommand,
    state: &State,
    found: &Autonomous,
) -> anyhow::Result<AutonomousLoop> {
    let places = [Some(command.project.root()?), command.project.process.cwd()];
    let places: Vec<_> = places.into_iter().flatten().collect();
    let root = command.project.root()?;
    let world = World::new(command.project.process, &root);
    let known = state.get::<Watched>().filter(|known| known.is_of(found));
    let evidence = drive::evidence(found, known, &places, &world, command.now);
    Ok(drive::load(known, found, evidence, command.now))
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
        Some(why) if drive::lost_copy(state).is_some() => bail!(
            "{} {why}. The loop that was in it can go on: `hookkeeper validate --repair` puts away what cannot be read, `hookkeeper autonomous resume` then writes the file as it was last.",
            read.doc().path()
        ),
        Some(why) => bail!("{} {why}.", read.doc().path()),
        None => Ok(read.value),
    }
}

/// A text that says something.
fn required(text: &str, what: &str) -> anyhow::Result<String> {
    match text.trim() {
        "" => bail!(usage(format!("{what} is empty"))),
        text => Ok(text.to_owned()),
    }
}
