//! A project that is new is noted for its user: `status --all-projects` and others show it.

use std::path::Path;

use crate::process::Process;
use crate::store::projects;
use crate::turn::root::STATE_ROOT;

/// Notes the project if its state was made just now. What is only played with is none.
pub fn note_if_new(process: &Process, root: &Path, is_new: bool) {
    if !is_new || process.env(STATE_ROOT).is_some() {
        return;
    }
    if let Some(client) = process.client_dir() {
        projects::note(&client, root);
    }
}
