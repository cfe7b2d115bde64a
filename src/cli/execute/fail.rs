//! `execute fail`: an attempt that came to nothing, and what the next one should know.

use std::path::PathBuf;

use super::site::{Site, done, task, task_mut};
use super::{One, recover};
use crate::Outcome;
use crate::books::clip_block;
use crate::books::errors::Class;
use crate::books::execute::Status;
use crate::cli::said_json;
use crate::execute::steps::{self, Failed};
use crate::facts::classify;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    one: One,
    /// What went wrong
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: String,
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

impl Arguments {
    pub fn tasks(&self) -> &PathBuf {
        &self.one.of.tasks
    }
}

const LONGEST: usize = 2000;

pub fn run(site: &Site, options: &Arguments) -> anyhow::Result<Outcome> {
    let id = options.one.id.as_str();
    anyhow::ensure!(!options.message.trim().is_empty(), "the message must not be empty");
    let state = site.load()?;
    if task(&state, id)?.claim.is_some() {
        let repository = site.repository(&state)?;
        recover::if_dead(site, &repository, id)?;
    }
    let redact = site.project.redactor()?;
    let text = |text: &String| clip_block(&redact.text(text), LONGEST);
    let message = text(&options.message);
    let limited =
        options.rate_limit || classify::failure(&options.message, None) == Class::RateLimit;
    let state = site.change(|state| {
        let task = task_mut(state, id)?;
        site.refuse_busy(id, task)?;
        // What its commands cannot see, somebody may have seen since.
        anyhow::ensure!(
            matches!(task.status, Status::InProgress | Status::Verified),
            "{id} cannot fail: it is {}",
            task.status.word()
        );
        let now = site.now();
        let failed = Failed {
            message: &message,
            details: options.details.as_ref().map(text),
            feedback: options.feedback.as_ref().map(text),
            counts: !limited,
        };
        done(id, steps::fail(state, id, failed, &now))?;
        Ok(state.clone())
    })?;
    let own = task(&state, id)?;
    if options.one.of.json {
        return said_json(own);
    }
    let text = match own.status {
        Status::Abandoned => format!(
            "{id} failed five times and is abandoned; layer {} is stopped.",
            own.layer.as_deref().unwrap_or_default()
        ),
        _ if limited => format!("{id} failed by a rate limit; the attempt does not count."),
        _ => format!("{id}: attempt {} of 5 failed.", own.attempts),
    };
    let then = match own.status {
        Status::Abandoned => site.command(&format!("reset-task {id}")) + " gives it a new start.",
        _ => site.command(&format!("start {id}")) + " begins the next attempt.",
    };
    Ok(Outcome::said(format!("{text} {then}")))
}
