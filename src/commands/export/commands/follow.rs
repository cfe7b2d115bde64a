//! `hookkeeper export follow`: goes on sending, for a service.

use std::path::PathBuf;
use std::time::Duration;

use crate::console::project::Project;
use crate::console::projects::known_projects;
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::export::commands::exporter::{self, Asked, Done};
use crate::export::standing;
use crate::process::lines::Lines;
use crate::process::signals::Signals;

#[derive(clap::Args)]
pub struct Arguments {
    /// All projects of this user, not only this one
    #[arg(long)]
    all_projects: bool,
    /// Seconds between two looks
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
}

/// How long one project may take before it is another one's turn.
const LIMIT: Duration = Duration::from_secs(30);
/// Metrics go out at least so often, also if nothing happens: that nobody works is a figure too.
const METRICS: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(100);

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let signals = Signals::noted()?;
    let lines = Lines::default();
    exporter::endpoint(&standing::settings(project.process, &project.root()?))?;
    let mut last = String::new();
    let mut metrics_sent = None;
    while !signals.say_end() {
        let now = project.process.elapsed();
        let with_metrics = metrics_sent.is_none_or(|sent| now.saturating_sub(sent) >= METRICS);
        if with_metrics {
            metrics_sent = Some(now);
        }
        let said = round(project, options, with_metrics, &signals);
        // One line for each thing that is new: a service has a log, and no reader.
        if !said.is_empty() && said != last && lines.print(&said.as_str().into()).is_err() {
            break;
        }
        last = said;
        let until = project.process.elapsed() + Duration::from_secs(options.every);
        while !signals.say_end() && project.process.elapsed() < until {
            std::thread::sleep(TICK);
        }
    }
    Ok(Outcome::quiet())
}

/// One look at every project; what there is to say of it.
fn round(project: &Project, options: &Arguments, with_metrics: bool, signals: &Signals) -> String {
    let roots: Vec<PathBuf> = match options.all_projects {
        true => known_projects(project).into_iter().map(|known| known.root).collect(),
        false => project.root().into_iter().collect(),
    };
    let asked = Asked {
        patience: Duration::from_secs(1),
        is_urgent: false,
        with_metrics,
        limit: LIMIT,
        again_since: None,
    };
    let mut said = Vec::new();
    for root in roots {
        if signals.say_end() {
            break;
        }
        let settings = standing::settings(project.process, &root);
        let done = exporter::flush(project, &root, &settings, asked);
        let shown = project.shown(&root);
        match done {
            Ok(Done::Flushed(flushed)) => match flushed.trouble {
                Some(why) => said.push(format!("{shown}: not sent: {why}")),
                None if flushed.lines > 0 => {
                    let lines = usize::try_from(flushed.lines).unwrap_or(usize::MAX);
                    said.push(format!("{shown}: sent {}", plural(lines, "line")));
                }
                None => {}
            },
            Ok(_) => {}
            Err(error) => said.push(format!("{shown}: {error:#}")),
        }
    }
    said.join("\n")
}
