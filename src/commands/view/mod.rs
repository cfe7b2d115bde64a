//! `hookkeeper status`: the state at a glance, once or for as long as somebody watches.

pub mod all_projects;
pub mod board;
pub mod controls;
pub mod detail;
pub mod layout;
pub mod notes;
pub mod overview;
pub mod picture;
#[cfg(test)]
pub mod picture_tests;
pub mod spent;
pub mod statusline;
pub mod text;
pub mod watch;

use std::time::Duration;

use anyhow::Context as _;

use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::store::home::has_unbelieved;
use overview::Observed;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON object; with --watch one line for each change
    #[arg(long)]
    json: bool,
    /// Loops that ended more than a day ago, too
    #[arg(long)]
    all: bool,
    /// A line for each project where HookKeeper has kept state; linked worktrees behind their checkout
    #[arg(long, conflicts_with_all = ["watch", "all"])]
    all_projects: bool,
    /// Go on showing it: full-screen on a terminal (q leaves), elsewhere each change as text
    #[arg(long, short)]
    watch: bool,
    /// How often --watch looks, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds, requires = "watch")]
    interval: Duration,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    if options.all_projects {
        return all_projects::run(project, options.json);
    }
    if options.watch {
        watch::run(project, options.interval, options.json, options.all)?;
        return Ok(Outcome::quiet());
    }
    let (root, home) = (project.root()?, project.process.home());
    let is_left_out = || has_unbelieved(&root, home.as_deref());
    let seen = Observed::through(project.view()?, options.all, is_left_out);
    if options.json {
        return print_json(&seen.json(&root));
    }
    let place = text::place(&root, home.as_deref());
    Ok(Outcome::printed(text::render(&seen, &place, project.process.now(), project.style())))
}

const LEAST: f64 = 0.1;
const MOST: f64 = 3600.0;

fn seconds(text: &str) -> anyhow::Result<Duration> {
    let seconds: f64 = text.parse().context("it is not a number")?;
    anyhow::ensure!((LEAST..=MOST).contains(&seconds), "it has to be between {LEAST} and {MOST}");
    Ok(Duration::from_secs_f64(seconds))
}
