//! How far an execution is, by its state file, without reading all of it.

use std::path::Path;

use serde::Serialize;

use crate::core::json::Object;
use crate::process::files;

pub use crate::store::execution::FILE;
use crate::store::execution::StateFile;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Unfinished {
    pub tasks_path: String,
    pub slug: String,
    pub status: String,
    pub layer: String,
    pub completed: u64,
    pub total: u64,
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
    };
    (found.status != "completed").then_some(found)
}
