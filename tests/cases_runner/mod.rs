//! What plays the folders below `tests/cases`. README there has the words; here is what they stand on:
//!
//! - `bundle` reads what a case begins with, `case` plays it, `step` is one payload of it;
//! - `outcome` says what came of the last one: `changes` of documents and `lines` of texts, spelled by
//!   `show`, `journal` for what was told;
//! - `copies` and `synthesis` are not said, but worked out; `promises` hold after every payload, of every
//!   case; `trials` show that both see what is wrong.

mod bundle;
pub mod case;
mod changes;
mod copies;
mod documents;
mod journal;
mod lines;
mod outcome;
mod promises;
mod show;
mod step;
mod synthesis;
pub mod trials;

use std::path::{Path, PathBuf};

/// The folder that has a folder for each event.
pub fn base() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// What other cases refer to is rewritten before them.
pub fn update_fresh() {
    for case in documents::fresh_cases() {
        case::Case::read(&base().join(case)).update_whole();
    }
}

/// Every case, in order.
pub fn folders() -> Vec<PathBuf> {
    let mut cases = Vec::new();
    for event in below(&base()) {
        if !event.ends_with("shared") {
            cases.extend(below(&event));
        }
    }
    cases
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    folders
}

/// The files of a project that stand in the cases: what is there before, and what is kept whole. Which
/// case, the path, the text.
#[allow(dead_code, reason = "the cases themselves do not ask for them; tests of the schemas do")]
pub fn written_files() -> Vec<(String, String, String)> {
    let mut files = Vec::new();
    for folder in folders() {
        let case = folder.strip_prefix(base()).unwrap().display().to_string();
        for name in ["before.txt", case::WHOLE] {
            let before = bundle::Before::read(&folder.join(name), case::USUAL_SESSION);
            for (path, file) in before.files {
                files.push((format!("{case}/{name}"), path, file.text));
            }
        }
    }
    files
}

/// The same of what the cases of an event leave: they are played.
#[allow(dead_code, reason = "the cases themselves do not ask for them; tests of the schemas do")]
pub fn left_files(event: &str) -> Vec<(String, String, String)> {
    let mut files = Vec::new();
    for folder in below(&base().join(event)) {
        let case = folder.strip_prefix(base()).unwrap().display().to_string();
        let (step, _) = case::Case::read(&folder).play().unwrap();
        for (path, text) in step.after {
            files.push((case.clone(), path, text));
        }
    }
    files
}
