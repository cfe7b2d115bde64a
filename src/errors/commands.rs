//! `hookkeeper errors`: what failed, and whether a retry makes sense.

use anyhow::Context as _;

use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::table::{self, row};
use crate::core::text::{clip, plural};
use crate::core::time::{self, Time};
use crate::errors::document::{Errors, PENDING, RECOVERED, Record};
use crate::session::live::Live;
use crate::session::record;
use crate::state::plan::Plan;

#[derive(clap::Args)]
pub struct Arguments {
    /// Those that have recovered, too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Call an error recovered: a person has seen to it
    Resolve {
        /// An error's id, or the beginning of it
        id: String,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    if let Some(What::Resolve { id }) = &options.what {
        return resolve(project, id);
    }
    let errors: Errors = project.document()?.unwrap_or_default();
    let records = errors.records();
    let shown = records.iter().filter(|record| options.all || record.status != RECOVERED);
    if options.json {
        let shown: Vec<&Record> = shown.collect();
        return print_json(&shown);
    }
    let now = project.process.now();
    let rows: Vec<_> = shown.map(|record| line(record, now)).collect();
    let summary = &errors.summary;
    Ok(Outcome::printed(format!(
        "{}{} in all, {} pending, {} recovered, {} escalated",
        table::align(&rows),
        summary.total,
        summary.pending,
        summary.recovered,
        summary.escalated
    )))
}

fn line(record: &Record, now: Time) -> Vec<String> {
    let retry = match (&record.next_retry, record.status.as_str()) {
        (Some(at), PENDING) if time::parse(at).is_some_and(|at| at > now) => {
            format!("retry {} of {} at {at}", record.retry_count, record.max_retries)
        }
        (Some(_), PENDING) => format!("retry {} of {} now", record.retry_count, record.max_retries),
        _ => plural(record.occurrences as usize, "time"),
    };
    let short: String = record.id.chars().take(14).collect();
    row![
        short,
        record.classification,
        record.status.replace('_', " "),
        retry,
        clip(&record.target, 70)
    ]
}

fn resolve(project: &Project, named: &str) -> anyhow::Result<Outcome> {
    let record = project.change(|store, state| {
        let read = state.read::<Errors>(&());
        let mut errors = read.value.cloned().unwrap_or_default();
        let ids: Vec<String> = errors.records().iter().map(|record| record.id.clone()).collect();
        let id = crate::console::project::one_of(named, &ids, "error", "error-")?;
        let record = errors.resolve(&id).context("it is gone")?;
        let mut plan = Plan::default();
        plan.put(&read, &errors);
        if let Some(mut live) = state.get_by::<Live>(&record.session_id).cloned() {
            if !errors.is_open_on(&record.session_id, &record.target) {
                live.close_target(&record.target);
            }
            record::count_errors(&mut live, &errors);
            record::put_with_copies(&mut plan, &live, state);
        }
        store.commit(&plan.changes, state)?;
        Ok(record)
    })?;
    Ok(Outcome::printed(format!("{}: recovered ({})", record.id, clip(&record.target, 70))))
}
