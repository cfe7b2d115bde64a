//! `hookkeeper export`: status, test, flush, follow, backfill.

mod exporter;
mod flush;
mod follow;
#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
#[path = "no_http.rs"]
mod http;
mod status;
mod test;

use crate::console::project::Project;
use crate::core::outcome::Outcome;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Where it goes, how far it is, what waits, what was lost
    #[command(after_help = "Example:\n  hookkeeper export status --json")]
    Status(status::Arguments),
    /// Send one record of each kind, and say what becomes of it
    #[command(after_help = "Example:\n  hookkeeper export test")]
    Test(test::Arguments),
    /// Send what has not been sent yet
    #[command(after_help = "Example:\n  hookkeeper export flush")]
    Flush(flush::Arguments),
    /// Go on sending, until a signal ends it: for a service
    #[command(after_help = "Example:\n  hookkeeper export follow")]
    Follow(follow::Arguments),
    /// Send again what happened since a time; ids stay, so nothing need count twice
    #[command(after_help = "Example:\n  hookkeeper export backfill --since 30d")]
    Backfill(flush::BackfillArguments),
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    match &options.action {
        Action::Status(options) => status::run(project, options),
        Action::Test(options) => test::run(project, options),
        Action::Flush(options) => flush::run(project, options),
        Action::Follow(options) => follow::run(project, options),
        Action::Backfill(options) => flush::backfill(project, options),
    }
}
