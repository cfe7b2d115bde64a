//! How far an execution is, by its state file, without reading all of it.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use crate::core::json::Object;
use crate::core::text::clip;
use crate::execute::document::holder;
use crate::process::files;

pub use crate::store::execution::FILE;
use crate::store::execution::StateFile;

/// A name of a machine is no longer.
const LONGEST_NAME: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Unfinished {
    pub tasks_path: String,
    pub slug: String,
    pub status: String,
    pub layer: String,
    pub completed: u64,
    pub total: u64,
    /// Other machines whose claims were not renewed for a lease, when the remote was asked last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
}

/// `None` if it is complete, gone or not to be read.
pub fn unfinished(tasks: &Path) -> Option<Unfinished> {
    if !StateFile::open(tasks).is_ok_and(|file| file.is_own(|| true).unwrap_or(false)) {
        return None;
    }
    let bytes = files::head(&tasks.join(FILE), 32 << 20)?;
    let state = Object::parse(&bytes).ok()?;
    let metrics = state.object("metrics").unwrap_or_default();
    let found = Unfinished {
        tasks_path: tasks.display().to_string(),
        slug: state.text("prd_slug").unwrap_or_default(),
        status: state.text("status")?,
        layer: state.text("current_layer").unwrap_or_default(),
        completed: metrics.number("completed_tasks").unwrap_or(0),
        total: metrics.number("total_tasks").unwrap_or(0),
        silent: Vec::new(),
    };
    (found.status != "completed").then_some(found)
}

/// Who has claims of its tasks and is silent: for people, so hooks do not look for it.
pub fn silent_holders(tasks: &Path) -> Vec<String> {
    let bytes = files::head(&tasks.join(FILE), 32 << 20).unwrap_or_default();
    let all = Object::parse(&bytes).ok().and_then(|state| state.object("tasks"));
    let all = all.unwrap_or_default();
    let holder = |id: &str| {
        let seen = all.object(id)?.object("remote").filter(|seen| seen.flag("stale"))?;
        let text = |name: &str| clip(&seen.text(name).unwrap_or_default(), LONGEST_NAME);
        Some(holder(&text("user"), &text("host")))
    };
    let holders: BTreeSet<String> = all.names().filter_map(holder).collect();
    holders.into_iter().collect()
}
