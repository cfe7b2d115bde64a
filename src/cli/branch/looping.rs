//! `hookkeeper branch loop`: a prompt that is given again until a promise is made.

use anyhow::{Context as _, bail};
use serde_json::json;

use super::here::{Here, change, look};
use crate::Outcome;
use crate::books::branch::{BranchLoop, BranchState};
use crate::cli::acting::{driver, the_session};
use crate::cli::{Project, said_json, said_with};
use crate::loops::Verdict;
use crate::loops::branch::{MAX_ITERATIONS, PROMISE};
use crate::loops::governor::Loop as _;
use crate::time;

#[derive(clap::Subcommand)]
pub enum Step {
    /// Start it
    #[command(
        after_help = "Example:\n  hookkeeper branch loop start 'Make all tests pass' --promise 'ALL GREEN'"
    )]
    Start {
        /// What the model is asked to do
        prompt: String,
        /// Iterations at most
        #[arg(long, value_name = "N", default_value_t = MAX_ITERATIONS, value_parser = clap::value_parser!(u64).range(1..))]
        max: u64,
        /// Minutes at most
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        max_minutes: Option<u64>,
        /// What the model says between <promise> tags when it is done
        #[arg(long, value_name = "TEXT", default_value = PROMISE)]
        promise: String,
    },
    /// Where it stands
    #[command(after_help = "Example:\n  hookkeeper branch loop status --json")]
    Status,
    /// Make a session drive it
    #[command(after_help = "Example:\n  hookkeeper branch loop adopt --session 0f3e8a2c-…")]
    Adopt,
    /// Go on with one that ended before it was complete
    #[command(after_help = "Example:\n  hookkeeper branch loop resume --max 30")]
    Resume {
        /// Iterations at most, in all
        #[arg(long, value_name = "N")]
        max: Option<u64>,
    },
    /// End it at once
    #[command(after_help = "Example:\n  hookkeeper branch loop cancel")]
    Cancel,
}

pub fn run(
    project: &Project,
    what: &Step,
    named: Option<&str>,
    session: Option<String>,
    as_json: bool,
) -> anyhow::Result<Outcome> {
    let (done, state) = step(project, what, named, session)?;
    if !as_json {
        return Ok(done);
    }
    let stands = json!({"branch": state.branch, "loop": state.the_loop});
    if let Step::Status = what { said_json(&stands) } else { said_with(done, stands) }
}

fn step(
    project: &Project,
    what: &Step,
    named: Option<&str>,
    session: Option<String>,
) -> anyhow::Result<(Outcome, BranchState)> {
    let now = project.process.now();
    match what {
        Step::Start { prompt, max, max_minutes, promise } => {
            if prompt.trim().is_empty() || promise.trim().is_empty() {
                bail!("the prompt and the promise must not be empty");
            }
            let redact = project.redactor()?;
            // A new loop is of the branch that is checked out, wherever the session's last one was.
            let name = super::standing::name(project, named)?;
            change(project, Some(&name), session.as_deref(), |here| {
                if here.state.running().is_some() {
                    bail!(
                        "a {} is open: `hookkeeper branch loop cancel` ends it",
                        here.driven()?.title()
                    );
                }
                if let Some(id) = &session {
                    here.refuse_a_second(id)?;
                }
                here.state.the_loop = Some(BranchLoop {
                    active: true,
                    iteration: 1,
                    max_iterations: *max,
                    completion_promise: promise.trim().to_owned(),
                    prompt: redact.text(prompt),
                    started_at: time::spell(now),
                    session_id: session.clone(),
                    max_minutes: *max_minutes,
                    ..BranchLoop::default()
                });
                let driven = here.driven()?;
                let owner = driver(driven.the_loop.session_id.as_deref());
                Ok(Outcome::said(format!(
                    "Started: {}, driven by {owner}.{}\n{}",
                    driven.title(),
                    here.absence(),
                    driven.reason()
                )))
            })
        }
        Step::Status => {
            look(project, named, session.as_deref(), |here| Ok((status(&here)?, here.state)))
        }
        Step::Adopt => change(project, named, session.as_deref(), |here| {
            here.must_run()?;
            let id = the_session(session.clone(), here.around)?;
            here.refuse_a_second(&id)?;
            here.the_loop()?.session_id = Some(id.clone());
            Ok(Outcome::said(format!("{}: now driven by session {id}", here.driven()?.title())))
        }),
        Step::Resume { max } => change(project, named, session.as_deref(), |here| {
            here.the_loop().context("there is no loop to resume")?;
            here.take_over(session.as_deref())?;
            here.must_be_own(session.as_deref())?;
            if let Some(owner) = here.owner() {
                here.refuse_a_second(&owner)?;
            }
            reopen(here.the_loop()?, *max)?;
            here.the_loop()?.started_at = time::spell(now);
            let driven = here.driven()?;
            let absence = here.absence();
            Ok(Outcome::said(format!("Goes on: {}.{absence}\n{}", driven.title(), driven.reason())))
        }),
        Step::Cancel => change(project, named, session.as_deref(), |here| {
            // What a session only believes to drive, it forgets.
            if here.state.running().is_none() && here.is_believed() {
                return Ok(Outcome::said(format!(
                    "The loop of branch {} is not running any more.",
                    here.state.branch
                )));
            }
            here.must_run()?;
            here.must_be_own(session.as_deref())?;
            let mut driven = here.driven()?;
            driven.end(Verdict::Cancelled, "cancelled by a command", now);
            let title = driven.title();
            here.state.the_loop = Some(driven.the_loop);
            Ok(Outcome::said(format!("Cancelled: {title}")))
        }),
    }
}

fn reopen(the_loop: &mut BranchLoop, max: Option<u64>) -> anyhow::Result<()> {
    match the_loop.verdict.as_deref() {
        None if the_loop.active => bail!("the loop is running"),
        Some("complete") => bail!("the loop is complete; start a new one"),
        _ => {}
    }
    let most = max.unwrap_or(the_loop.max_iterations.max(the_loop.iteration + 10));
    if most <= the_loop.iteration {
        bail!("{} iterations are over already; give it more", the_loop.iteration);
    }
    the_loop.active = true;
    the_loop.max_iterations = most;
    (the_loop.verdict, the_loop.verdict_at, the_loop.verdict_reason) = (None, None, None);
    Ok(())
}

fn status(here: &Here) -> anyhow::Result<Outcome> {
    let Some(the_loop) = &here.state.the_loop else {
        return Ok(Outcome::said(format!("Branch {} has no loop.", here.state.branch)));
    };
    let owner = the_loop.session_id.as_deref().unwrap_or("nobody yet");
    let title = here.driven()?.title();
    Ok(Outcome::said(match (&the_loop.verdict, &the_loop.verdict_reason) {
        (Some(verdict), Some(why)) => {
            format!("{title}, driven by {owner}\nended: {verdict}, {why}")
        }
        (Some(verdict), None) => format!("{title}, driven by {owner}\nended: {verdict}"),
        _ if !the_loop.active => format!("{title}, not active"),
        _ => format!("{title}, driven by {owner}{}", here.absence()),
    }))
}
