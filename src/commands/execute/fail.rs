//! `execute fail`: an attempt that came to nothing, and what the next one should know.

use crate::commands::execute::TaskTarget;
use crate::console::project::{Project, print_json};
use crate::console::usage::usage;
use crate::core::outcome::Outcome;
use crate::errors::classify;
use crate::errors::document::Class;
use crate::execute::TasksFolder;
use crate::execute::document::TaskStatus;
use crate::execute::error::refuse;
use crate::execute::recover::recover_task;
use crate::execute::remote::Coordination;
use crate::execute::transitions::{self, FailedAttempt};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub task: TaskTarget,
    /// What went wrong; not needed for feedback after a verification that has failed
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "feedback"
    )]
    message: Option<String>,
    /// More about it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    details: Option<String>,
    /// What the next attempt should do
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    feedback: Option<String>,
    /// A rate limit ended it: the attempt does not count (found out from the message if not given)
    #[arg(long)]
    rate_limit: bool,
}

pub const LONGEST: usize = 2000;

pub fn run(
    project: &Project,
    folder: &TasksFolder,
    options: &Arguments,
) -> anyhow::Result<Outcome> {
    let id = options.task.id.as_str();
    let given = options.message.as_deref().map(str::trim);
    anyhow::ensure!(given != Some(""), usage("the message must not be empty"));
    let state = folder.load()?;
    let is_claimed = state.task(id)?.claim.is_some();
    let repository = match is_claimed || state.remote.is_some() {
        true => Some(folder.repository(&state)?),
        false => None,
    };
    if let Some(repository) = repository.as_ref().filter(|_| is_claimed) {
        recover_task(folder, repository, id)?;
    }
    let shared = repository.as_ref().and_then(|it| Coordination::of(folder, it, &state));
    if let Some(shared) = &shared {
        shared.sync_if_reachable()?;
        shared.ensure_here(id, folder.load()?.task(id)?)?;
    }
    let state = folder.load()?;
    let redact = project.redactor()?;
    let text = |text: &String| redact.block(text, LONGEST);
    let message = options.message.as_ref().map(text);
    let says_limit = |message: &String| {
        classify::failure(message, &classify::Call::default()) == Class::RateLimit
    };
    let limited = options.rate_limit || options.message.as_ref().is_some_and(says_limit);
    let had_failed = state.task(id)?.status == TaskStatus::Failed;
    let state = folder.update(|state| {
        let task = state.task(id)?;
        folder.ensure_unclaimed(id, task)?;
        if let (TaskStatus::Failed, Some(feedback)) = (task.status, &options.feedback) {
            let task = state.task_mut(id)?;
            if let Some(message) = &message {
                task.add_error(message, options.details.as_ref().map(text), folder.now());
            }
            task.add_feedback(&text(feedback));
            return Ok(state.clone());
        }
        let Some(message) = &message else {
            refuse!("{id} is {}: --message TEXT says what went wrong", task.status);
        };
        // What its commands cannot see, somebody may have seen since.
        if !matches!(task.status, TaskStatus::InProgress | TaskStatus::Verified) {
            refuse!("{id} cannot fail: it is {}", task.status);
        }
        let failed = FailedAttempt {
            message,
            details: options.details.as_ref().map(text),
            feedback: options.feedback.as_ref().map(text),
            counts: !limited,
        };
        transitions::fail_attempt(state, id, failed, &folder.now())?;
        Ok(state.clone())
    })?;
    let untold = match &shared {
        Some(shared) => shared.release(id)?.map(|why| format!(" {why}.")),
        None => None,
    };
    let task = state.task(id)?;
    if options.task.target.json {
        return print_json(task);
    }
    let text = match task.status {
        TaskStatus::Abandoned => format!(
            "{id} failed five times and is abandoned; layer {} is stopped.",
            task.layer.as_deref().unwrap_or_default()
        ),
        _ if had_failed => format!("{id}: noted for attempt {}.", task.attempt()),
        _ if limited => format!("{id} failed by a rate limit; the attempt does not count."),
        _ => format!("{id}: attempt {} of 5 failed.", task.attempts),
    };
    let then = match task.status {
        TaskStatus::Abandoned => {
            folder.command(&format!("reset-task {id}")) + " gives it a new start."
        }
        _ => folder.command(&format!("start {id}")) + " begins the next attempt.",
    };
    Ok(Outcome::printed(format!("{text} {then}{}", untold.unwrap_or_default())))
}
