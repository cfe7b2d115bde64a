//! `hookkeeper autonomous`: a feature on its way through the phases.

mod advance;
mod change;
mod start;
mod status;

use anyhow::bail;

use super::acting::{Who, the_session};
use super::{Project, said_json, said_with};
use crate::Outcome;
use crate::books::autonomous::Autonomous;
use crate::books::clip;
use crate::hooks::drive;
use crate::loops::Verdict;
use crate::loops::autonomous::{approve, end, words};
use crate::time;
use change::{Order, change};

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
        What::Status if options.json => said_json(&status::stands(project)?),
        _ if options.json => said_with(step(project, options)?, status::stands(project)?),
        _ => step(project, options),
    }
}

fn step(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let now = project.process.now();
    let session = options.who.id(project.process);
    let redact = project.redactor()?;
    match &options.what {
        What::Start(options) => start::run(project, options, session),
        What::Status => status::run(project),
        What::Advance(options) => advance::run(project, options, session.as_deref()),
        What::Approve => approval(project),
        What::Checkpoint { summary, failed, progress_file } => {
            let summary = said(&redact.text(summary), "the summary")?;
            let failed: Vec<String> = failed.iter().map(|text| redact.text(text)).collect();
            change(project, Order::LoopFirst, |here| {
                let state = here.running(session.as_deref())?;
                state.add_checkpoint(summary, failed, time::spell(now));
                if let Some(file) = progress_file {
                    state.artifacts.progress_file = Some(file.clone());
                }
                Ok(Outcome::said(format!("Noted: {} checkpoints.", state.checkpoints.len())))
            })
        }
        What::Error { message } => {
            let message = said(&redact.text(message), "the message")?;
            change(project, Order::LoopFirst, |here| {
                let state = here.running(session.as_deref())?;
                state.add_error(message, time::spell(now));
                Ok(Outcome::said(format!("Noted: {} errors.", state.errors.len())))
            })
        }
        What::Adopt => change(project, Order::LoopFirst, |here| {
            here.running(None)?;
            let id = the_session(session, here.around)?;
            here.must_be_free(&id)?;
            let state = here.running(None)?;
            let before = state.session_id.replace(id.clone()).filter(|before| *before != id);
            here.leave(before);
            let state = here.running(None)?;
            Ok(Outcome::said(format!("{}: now driven by session {id}", words::title(state))))
        }),
        What::Resume { max_iterations } => change(project, Order::LoopFirst, |here| {
            let ended = here.watched.as_ref().and_then(|seen| seen.verdict.clone());
            let state = here.own(session.as_deref())?;
            resume(state, ended.as_deref(), *max_iterations)?;
            state.resumed_at = Some(time::spell(now));
            let title = words::title(state);
            if let Some(owner) = here.owner() {
                here.must_be_free(&owner)?;
            }
            Ok(Outcome::said(format!("Goes on: {title}.{}", here.absence())))
        }),
        What::Cancel => change(project, Order::LoopFirst, |here| {
            let state = here.running(session.as_deref())?;
            end(state, Verdict::Cancelled, "cancelled by a command", now);
            Ok(Outcome::said(format!("Cancelled: {}", words::title(state))))
        }),
    }
}

/// Only a person may: where the client or the model runs it, it is refused.
fn approval(project: &Project) -> anyhow::Result<Outcome> {
    let now = project.process.now();
    let in_client = project.process.is_in_client();
    change(project, Order::MemoryFirst, |here| {
        let mut watched = here.watched.clone();
        let state = here.running(None)?;
        if !drive::autonomous::is_awaiting(state) {
            bail!("the {} waits for no approval", words::title(state));
        }
        let files = state.artifacts.acceptance_tests_file.clone();
        if in_client {
            bail!(
                "a person has to approve the acceptance tests{}: type \"approve\" as a prompt, or run this in a terminal of your own, outside Claude Code",
                files.map(|file| format!(" in {}", clip(&file, 160))).unwrap_or_default()
            );
        }
        if let Some(watched) = &mut watched {
            approve(state, watched, now);
        }
        let said = format!("Approved. The {} goes on at the next prompt.", words::title(state));
        here.watched = watched;
        Ok(Outcome::said(said))
    })
}

/// `ended`: the verdict that we remember. One that somebody wrote by hand is no reason to stay ended.
fn resume(state: &mut Autonomous, ended: Option<&str>, most: Option<u64>) -> anyhow::Result<()> {
    match (&state.verdict, ended) {
        (None, _) => bail!("the loop is running"),
        (_, Some("complete")) => bail!("the loop is complete; start a new one"),
        _ => {}
    }
    let enough = state.max_iterations.max(state.global_iteration.saturating_add(10));
    let full = state.global_iteration >= state.max_iterations;
    let most = most.unwrap_or(if full { enough } else { state.max_iterations });
    if most <= state.global_iteration {
        bail!("{} iterations are over already; give it more", state.global_iteration);
    }
    state.max_iterations = most;
    state.phase_iteration = 0;
    (state.verdict, state.verdict_at, state.verdict_reason) = (None, None, None);
    Ok(())
}

/// A text that says something.
fn said(text: &str, what: &str) -> anyhow::Result<String> {
    match text.trim() {
        "" => bail!("{what} is empty"),
        text => Ok(text.to_owned()),
    }
}
