//! `hookkeeper branch loop`: a prompt that is given again until a promise is made.

use anyhow::bail;
use serde_json::json;

use crate::branch::document::BranchLoop;
use crate::commands::loops::branch::locate::{BranchLoops, Located};
use crate::commands::loops::{LoopCommand, absence, existing, headline};
use crate::console::project::{print_json, said_with};
use crate::console::usage::usage;
use crate::core::gate::one_line;
use crate::core::outcome::Outcome;
use crate::core::time;
use crate::loops::branch::rules::{DrivenBranch, MAX_ITERATIONS, PROMISE};
use crate::loops::{Loop, LoopKind};
use crate::state::State;

#[derive(clap::Subcommand)]
pub enum LoopStep {
    /// Start it
    #[command(
        after_help = "Example:\n  hookkeeper branch loop start 'Make all tests pass' --promise 'ALL GREEN'"
    )]
    Start {
        /// What the model is asked to do
        prompt: String,
        /// Iterations at most
        #[arg(long = "max-iterations", alias = "max", value_name = "N", default_value_t = MAX_ITERATIONS, value_parser = clap::value_parser!(u64).range(1..))]
        max: u64,
        /// Minutes at most
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        max_minutes: Option<u64>,
        #[expect(rustdoc::invalid_html_tags, reason = "the help is not HTML")]
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
    #[command(after_help = "Example:\n  hookkeeper branch loop resume --max-iterations 30")]
    Resume {
        /// Iterations at most, in all
        #[arg(long = "max-iterations", alias = "max", value_name = "N")]
        max: Option<u64>,
    },
    /// End it at once
    #[command(after_help = "Example:\n  hookkeeper branch loop cancel")]
    Cancel,
}

pub fn run(
    command: &LoopCommand,
    what: &LoopStep,
    named: Option<&str>,
    as_json: bool,
) -> anyhow::Result<Outcome> {
    let (said, located) = step(command, what, named)?;
    if !as_json {
        return Ok(Outcome::printed(said));
    }
    let Located { branch, driven, .. } = located;
    let json_state = json!({"branch": branch, "loop": driven.map(|driven| driven.the_loop)});
    match what {
        LoopStep::Status => print_json(&json_state),
        _ => said_with(Outcome::printed(said), json_state),
    }
}

fn step(
    command: &LoopCommand,
    what: &LoopStep,
    named: Option<&str>,
) -> anyhow::Result<(String, Located)> {
    let loops = BranchLoops { command, named };
    let change = |work: &dyn Fn(&mut DrivenBranch, &State) -> anyhow::Result<String>| {
        loops.change(|located, state| {
            let name = format!("loop of branch {}", located.branch);
            work(existing(&mut located.driven, LoopKind::Branch, &name)?, state)
        })
    };
    match what {
        LoopStep::Start { prompt, max, max_minutes, promise } => {
            start(command, named, prompt, promise, (*max, *max_minutes))
        }
        LoopStep::Status => loops.look(status),
        LoopStep::Adopt => change(&|driven, state| command.adopt(driven, state)),
        LoopStep::Resume { max } => change(&|driven, state| command.resume(driven, *max, state)),
        LoopStep::Cancel => match loops.forget()? {
            Some(forgotten) => Ok(forgotten),
            None => change(&|driven, state| command.cancel(driven, state)),
        },
    }
}

fn start(
    command: &LoopCommand,
    named: Option<&str>,
    prompt: &str,
    promise: &str,
    (max_iterations, max_minutes): (u64, Option<u64>),
) -> anyhow::Result<(String, Located)> {
    if prompt.trim().is_empty() || promise.trim().is_empty() {
        bail!(usage("the prompt and the promise must not be empty"));
    }
    let command = &command.starting();
    let redact = command.project.redactor()?;
    // A new loop is of the branch that is checked out, wherever the session's last one was.
    let name = crate::commands::branch::standing::name(command.project, named)?;
    BranchLoops { command, named: Some(&name) }.change(|located, state| {
        let open = located.driven.as_ref().map(|driven| driven as &dyn Loop);
        command.ensure_none(open, LoopKind::Branch, located.key.as_str(), state)?;
        let the_loop = BranchLoop {
            active: true,
            iteration: 1,
            max_iterations,
            completion_promise: redact.text(promise.trim()),
            prompt: redact.text(prompt),
            started_at: time::spell(command.now),
            session_id: command.starter(state)?,
            max_minutes,
            ..BranchLoop::default()
        };
        let driven = located.start(the_loop);
        Ok(command.started(driven, state))
    })
}

fn status(located: &Located, state: &State) -> String {
    let Some(driven) = &located.driven else {
        return format!("Branch {} has no loop.", located.branch);
    };
    match driven.is_running() || driven.ending().verdict.is_some() {
        true if driven.is_running() => {
            format!("{}{}", headline(driven), one_line(&absence(driven, state)))
        }
        true => headline(driven),
        false => format!("{}, not active", driven.title()),
    }
}
