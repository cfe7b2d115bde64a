//! `hookkeeper autonomous start`

use std::path::PathBuf;

use anyhow::ensure;
use serde_json::Number;

use crate::client::transcript::spent::Spent;
use crate::commands::loops::autonomous::{load, progress_file, required};
use crate::commands::loops::{Before, LoopCommand};
use crate::console::checkout;
use crate::console::usage::usage;
use crate::core::outcome::Outcome;
use crate::core::time;
use crate::git::refs;
use crate::loops::autonomous::document::{
    Artifacts, Autonomous, BUDGET_USD, MAX_FIX_CYCLES, MAX_ITERATIONS, MAX_PHASE_ITERATIONS,
    PROMISE,
};
use crate::loops::autonomous::rules::phase::Phase;
use crate::loops::autonomous::rules::{AutonomousLoop, limits};
use crate::loops::{Loop, LoopKind};
use crate::session::live::Live;
use crate::state::Document as _;

#[derive(clap::Args)]
pub struct Arguments {
    /// What is to be built
    #[arg(value_name = "FEATURE", required_unless_present = "named")]
    feature: Option<String>,
    /// What is to be built, as an option
    #[arg(long = "feature", value_name = "FEATURE", conflicts_with = "feature")]
    named: Option<String>,
    /// Begin with the plan
    #[arg(long)]
    skip_brainstorm: bool,
    /// Nobody has to approve the acceptance tests
    #[arg(long)]
    skip_test_review: bool,
    /// Iterations at most
    #[arg(long, value_name = "N", default_value_t = MAX_ITERATIONS, value_parser = clap::value_parser!(u64).range(1..))]
    max_iterations: u64,
    /// Iterations at most in one phase
    #[arg(long, value_name = "N", default_value_t = MAX_PHASE_ITERATIONS, value_parser = clap::value_parser!(u64).range(1..))]
    max_phase_iterations: u64,
    /// Rounds of fix and re_review at most
    #[arg(long, value_name = "N", default_value_t = MAX_FIX_CYCLES)]
    max_fix_cycles: u64,
    /// Minutes at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_minutes: Option<u64>,
    /// Dollars at most, by what the session's transcript says of tokens and their price
    #[arg(long, value_name = "USD", default_value_t = BUDGET_USD as f64)]
    budget: f64,
    #[expect(rustdoc::invalid_html_tags, reason = "the help is not HTML")]
    /// What the model says between <promise> tags when it is shipped
    #[arg(long, visible_alias = "completion-promise", value_name = "TEXT", default_value = PROMISE)]
    promise: String,
    /// The file with the log of the work
    #[arg(long, value_name = "PATH")]
    progress_file: Option<PathBuf>,
}

pub fn run(command: &LoopCommand, options: &Arguments) -> anyhow::Result<Outcome> {
    let command = &command.starting();
    let project = command.project;
    let now = time::spell(command.now);
    let redact = project.redactor()?;
    let feature = options.feature.as_ref().or(options.named.as_ref());
    let feature = required(&redact.text(feature.map_or("", String::as_str)), "the feature")?;
    let promise = required(&redact.text(&options.promise), "the promise")?;
    let budget = budget(options.budget)?;
    let root = project.root()?;
    let progress = progress_file(project, options.progress_file.as_deref())?;
    let git = refs::read(&root);
    let first = if options.skip_brainstorm { Phase::Plan } else { Phase::Brainstorm };
    let started = Autonomous {
        feature,
        phase: first.name().into(),
        max_iterations: options.max_iterations,
        max_phase_iterations: options.max_phase_iterations,
        max_fix_cycles: options.max_fix_cycles,
        artifacts: Artifacts {
            progress_file: progress,
            branch: git.branch,
            ..Artifacts::default()
        },
        budget_limit_usd: budget,
        completion_promise: promise,
        skip_brainstorm: options.skip_brainstorm,
        skip_test_review: options.skip_test_review,
        started_at: now.clone(),
        last_updated: now,
        max_minutes: options.max_minutes,
        ..Autonomous::default()
    };
    let said = project.change(|store, state| {
        let open = load(command, state)?;
        let open = open.as_ref().map(|open| open as &dyn Loop);
        command.ensure_none(open, LoopKind::Autonomous, "", state)?;
        // Another loop takes the place of one that is over, which is kept where resets keep things.
        if open.is_some() {
            store.keep_beside(&Autonomous::doc(&()).below_claude())?;
        }
        let session_id = command.starter(state)?;
        let live = session_id.as_deref().and_then(|id| state.get_by::<Live>(id));
        let transcript = live.and_then(|live| live.transcript_path.clone());
        let started = Autonomous { session_id, ..started };
        let mut driven = AutonomousLoop::started(started, git.commit, command.now);
        if let Some(transcript) = transcript {
            driven.watched.spent = Spent::from_now(transcript.as_ref());
        }
        command.write(&driven, open.map(Before::new).as_ref(), store, state)?;
        Ok(command.started(&driven, state))
    })?;
    let stderr = checkout::hide_from_git(&project.root()?, &Autonomous::doc(&()).path())
        .err()
        .map(|why| format!("git sees its file: {why:#}").into());
    Ok(Outcome { stderr, ..Outcome::printed(said) })
}

pub fn budget(usd: f64) -> anyhow::Result<Number> {
    let none = || usage(format!("{usd} is no budget"));
    ensure!(usd > 0.0, none());
    Ok(limits::usd(usd).ok_or_else(none)?)
}
