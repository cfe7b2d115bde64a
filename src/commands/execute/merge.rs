//! `execute merge`: merges the queue, and says what came of it.

use serde_json::{Value, json};

use crate::console::project::print_json;
use crate::core::outcome::Outcome;
use crate::execute::TasksFolder;
use crate::execute::merge::{self, MergeOutcome};

pub fn run(folder: &TasksFolder, json: bool) -> anyhow::Result<Outcome> {
    let state = folder.load()?;
    let (outcomes, busy) = merge::merge_all(folder, &state)?;
    let failed = outcomes.iter().filter_map(|o| Some(format!("{}: {}", o.id, o.error.as_ref()?)));
    let failed: Vec<String> = failed.collect();
    let stderr = (!failed.is_empty()).then(|| failed.join("; ").into());
    let code = u8::from(stderr.is_some());
    if json {
        let row = |o: &MergeOutcome| json!({"task_id": o.id, "commit": o.commit, "error": o.error, "note": o.note});
        let merged: Vec<Value> = outcomes.iter().map(row).collect();
        let left = folder.load()?.open_merges().count();
        let value = json!({"merged": merged, "waiting": left});
        return Ok(Outcome { stderr, code, ..print_json(&value)? });
    }
    let lines = outcomes.iter().flat_map(|outcome| {
        let merged = outcome.commit.as_ref().map(|commit| {
            let short = commit.get(..7).unwrap_or(commit);
            format!("Merged {} to {} ({short}).", outcome.id, state.base())
        });
        let note = outcome.note.as_ref().map(|note| format!("{}: {note}", outcome.id));
        merged.into_iter().chain(note)
    });
    let mut lines: Vec<String> = lines.chain(busy).collect();
    if lines.is_empty() && failed.is_empty() {
        lines.push("Nothing waits to be merged.".into());
    }
    let stdout = (!lines.is_empty()).then(|| lines.join("\n").into());
    Ok(Outcome { stdout, stderr, code })
}
