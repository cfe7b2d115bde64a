//! `hookkeeper errors`: what failed, and whether a retry makes sense.

pub mod list;
pub mod show;

use anyhow::{Context as _, bail};

use crate::commands::errors::list::bare;
use crate::console::project::{Project, one_of};
use crate::core::outcome::Outcome;
use crate::core::text::clip;
use crate::errors::document::Errors;
use crate::history::errors::kept_errors;
use crate::session::live::Live;
use crate::session::record;
use crate::state::plan::Plan;

#[derive(clap::Args)]
pub struct Arguments {
    /// Those that have recovered, and those of ended sessions, too
    #[arg(long)]
    all: bool,
    /// All of one session, by its id or the beginning of it
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    session: Option<String>,
    /// All of any session, but not what is older: 30m, 2h, 7d, or a local date
    #[arg(long, value_name = "WHEN", conflicts_with = "all")]
    since: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// One error in full: its message, its context, its retries
    #[command(after_help = "Example:\n  hookkeeper errors show 3f2a")]
    Show {
        /// An error's id, or the beginning of it
        id: String,
    },
    /// Call an error recovered: a person has seen to it
    #[command(after_help = "Example:\n  hookkeeper errors resolve 3f2a")]
    Resolve {
        /// An error's id, or the beginning of it
        id: String,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    match &options.what {
        Some(What::Resolve { id }) => resolve(project, id),
        Some(What::Show { id }) => show::run(project, id, options.json),
        None => list::run(project, options),
    }
}

fn resolve(project: &Project, named: &str) -> anyhow::Result<Outcome> {
    ensure_not_ended(project, named)?;
    let record = project.change(|store, state| {
        let read = state.read::<Errors>(&());
        let mut errors = read.value.cloned().unwrap_or_default();
        let ids: Vec<String> = errors.records().iter().map(|record| record.id.clone()).collect();
        let id = one_of(named, &ids, "error", "error-")?;
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
        store.tell(Some(&record.session_id), record.recovered_by_hand());
        Ok(record)
    })?;
    Ok(Outcome::printed(format!("{}: recovered ({})", record.id, clip(&record.target, 70))))
}

/// The errors of ended sessions are history: they can be read, and stay as they were.
fn ensure_not_ended(project: &Project, named: &str) -> anyhow::Result<()> {
    let Some(view) = project.view()? else { return Ok(()) };
    let current = view.state().get::<Errors>().map(Errors::records).unwrap_or_default();
    let kept = kept_errors(&view, None, None).records;
    let ids: Vec<String> = kept.iter().map(|record| record.id.clone()).collect();
    match one_of(named, &ids, "error", "error-") {
        Ok(id) if current.iter().all(|record| record.id != id) => {
            bail!("the session of error {} has ended: its errors stay as they were", bare(&id))
        }
        _ => Ok(()),
    }
}
