//! `hookkeeper gc`: removes the history that is beyond the limits, and forgets projects that are
//! gone. Hooks do the first, in passing.

use std::path::PathBuf;

use serde_json::json;

use crate::console::project::{Project, print_json};
use crate::core::error::Result;
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::store::journal::prune::{self, Limits};
use crate::store::journal::sessions::SessionFiles;
use crate::store::{Store, journal, projects};

#[derive(clap::Args)]
pub struct Arguments {
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let forgotten = forget_gone(project, options.dry_run);
    if project.view()?.is_none() && !options.json {
        let here = "There is no state here, so there is nothing to remove.";
        return Ok(Outcome::printed(format!("{here}{}", said_forgotten(&forgotten, options))));
    }
    if project.view()?.is_none() {
        return print_json(&json!({"dry_run": options.dry_run, "forgotten": forgotten}));
    }
    let _progress = project.progress("removing old history");
    let (gone, kept, limits) = project.change(|store, _| {
        let limits = Limits::new(&store.settings);
        let (gone, kept) = collect(store, limits, options.dry_run)?;
        Ok((gone, kept, limits))
    })?;
    let bytes = |sessions: &[SessionFiles]| sessions.iter().map(|files| files.bytes).sum::<u64>();
    if options.json {
        let stems: Vec<&str> = gone.iter().map(|files| files.stem.as_str()).collect();
        let value = json!({
            "dry_run": options.dry_run, "removed": stems, "bytes": bytes(&gone),
            "kept": kept.len(), "kept_bytes": bytes(&kept),
            "keep_sessions": limits.sessions, "keep_megabytes": limits.bytes >> 20,
            "forgotten": forgotten,
        });
        return print_json(&value);
    }
    let verb = if options.dry_run { "Would remove" } else { "Removed" };
    Ok(Outcome::printed(format!(
        "{verb} the history of {} ({}). Kept: {} ({}); at most {} and {} MB (keep_sessions, keep_megabytes).{}",
        plural(gone.len(), "session"),
        size(bytes(&gone)),
        plural(kept.len(), "session"),
        size(bytes(&kept)),
        plural(limits.sessions, "session"),
        limits.bytes >> 20,
        said_forgotten(&forgotten, options),
    )))
}

/// Projects that were noted for `--all-projects` and have no state any more.
fn forget_gone(project: &Project, dry_run: bool) -> Vec<PathBuf> {
    let Some(client) = project.process.client_dir() else { return Vec::new() };
    let mut gone = projects::list(&client);
    gone.retain(|root| projects::is_gone(root));
    if !dry_run {
        gone.retain(|root| projects::forget(&client, root).is_ok());
    }
    gone
}

fn said_forgotten(forgotten: &[PathBuf], options: &Arguments) -> String {
    match (forgotten.len(), options.dry_run) {
        (0, _) => String::new(),
        (count, true) => format!(" Would forget {} without state.", plural(count, "project")),
        (count, false) => format!(" Forgot {} without state.", plural(count, "project")),
    }
}

/// What goes, and what stays.
fn collect(
    store: &Store,
    limits: Limits,
    dry_run: bool,
) -> Result<(Vec<SessionFiles>, Vec<SessionFiles>)> {
    let state = store.state_dir();
    if !dry_run {
        // Of versions that kept one log of all hook runs.
        if let Ok(Some(log)) = state.sub("log") {
            for name in ["hooks.jsonl", "hooks.1.jsonl"] {
                let _ = log.remove(name);
            }
            let _ = state.remove_empty("log");
        }
    }
    let Some(folder) = state.sub(journal::FOLDER)? else { return Ok(Default::default()) };
    let gone = prune::too_old(state, &folder, limits);
    let mut kept = journal::sessions::list(&folder);
    kept.retain(|files| !gone.contains(files));
    if !dry_run {
        prune::remove(state, &folder, &gone);
    }
    Ok((gone, kept))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KB", bytes >> 10),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}
