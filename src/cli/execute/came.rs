//! What came of a merge, and how it is said.

use serde_json::json;

use super::site::Site;
use crate::Outcome;
use crate::books::execute::Execution;
use crate::cli::said_json;

/// What came of one task.
pub struct Came {
    pub id: String,
    pub commit: Option<String>,
    /// Why it was not merged.
    pub why: Option<String>,
    /// What else people should hear of.
    pub note: Option<String>,
}

pub fn said(
    site: &Site,
    state: &Execution,
    came: &[Came],
    busy: Option<String>,
    json: bool,
) -> anyhow::Result<Outcome> {
    let failed: Vec<String> = came
        .iter()
        .filter_map(|came| Some(format!("{}: {}", came.id, came.why.as_ref()?)))
        .collect();
    let left = site.load()?.waiting().count();
    let text = match json {
        true => {
            let one = |came: &Came| json!({"task_id": came.id, "commit": came.commit, "error": came.why, "note": came.note});
            let said = said_json(
                &json!({"merged": came.iter().map(one).collect::<Vec<_>>(), "waiting": left}),
            )?;
            said.stdout.unwrap_or_default()
        }
        false => {
            let merged = came.iter().flat_map(|came| {
                let short = |commit: &String| commit.get(..7).unwrap_or(commit).to_owned();
                let merged = came.commit.as_ref().map(|commit| {
                    format!("Merged {} to {} ({}).", came.id, state.base(), short(commit))
                });
                let note = came.note.as_ref().map(|note| format!("{}: {note}", came.id));
                merged.into_iter().chain(note)
            });
            let mut lines: Vec<String> = merged.chain(busy).collect();
            if lines.is_empty() && failed.is_empty() {
                lines.push("Nothing waits to be merged.".into());
            }
            lines.join("\n")
        }
    };
    let stderr = (!failed.is_empty()).then(|| failed.join("; "));
    let code = u8::from(stderr.is_some());
    Ok(Outcome { stdout: Some(text).filter(|text| !text.is_empty()), stderr, code })
}

/// What was done before something went wrong.
pub fn so_far(came: &[Came]) -> String {
    let merged: Vec<&str> =
        came.iter().filter(|came| came.commit.is_some()).map(|came| came.id.as_str()).collect();
    let notes =
        came.iter().filter_map(|came| Some(format!("{}: {}; ", came.id, came.note.as_ref()?)));
    let notes: String = notes.collect();
    match merged.is_empty() {
        true => notes,
        false => format!("{notes}{} merged, but ", merged.join(", ")),
    }
}
