//! Which file below `.claude` is what, by its path.

use crate::state::Declared;
use crate::state::{Doc, Format};
use crate::store::untrusted;
use crate::validate::documents;

pub enum Place {
    /// One document.
    Document(Declared, Doc),
    /// A document on each line.
    Lines(Declared, Doc),
    /// Ours, but no document: locks, notes for people, what was put aside.
    Beside,
    /// What a killed process left.
    Left,
    Foreign,
}

pub fn place_of(path: &str) -> Place {
    if path == "state/.new" {
        return Place::Left;
    }
    if is_beside(path) {
        return Place::Beside;
    }
    match documents::declared_at(path) {
        None => Place::Foreign,
        Some((declared, doc)) => match declared.row.format {
            Format::Json => Place::Document(declared, doc),
            Format::Lines => Place::Lines(declared, doc),
            Format::Text => Place::Beside,
        },
    }
}

/// Files and folders of ours that no row declares, because nothing reads them as documents.
fn is_beside(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    match segments.as_slice() {
        [
            "state",
            ".lock" | ".gitignore" | ".trusted" | "quarantine" | "rejected" | "recorded"
            | "set-aside",
        ] => true,
        ["state", room] if untrusted::is_room(room) => true,
        ["state", "log", "debug.log" | "debug.1.log"] => true,
        // While it is being written, an event has a dot before its name.
        ["state", "spool", name] => name.starts_with('.'),
        // The client's settings as they were.
        ["state", "settings", name] => *name != "wiring.json",
        ["branches", ".gitignore"] => true,
        ["branches", _, "handoffs", name] => name.ends_with(".md"),
        _ => false,
    }
}

/// Folders that documents are in, or notes for people.
pub fn is_folder_of_ours(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    documents::has_documents(path) || matches!(segments.as_slice(), ["branches", _, "handoffs"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_place() {
        for declared in documents::all() {
            let row = declared.row;
            if row.path.starts_with('{') {
                continue;
            }
            let path = row.path.replace("{time}-{pid}", "1-2").replace(['{', '}'], "");
            match place_of(&path) {
                Place::Document(found, _) | Place::Lines(found, _) => {
                    assert_eq!(found.row.name, row.name, "{path}");
                }
                Place::Beside => assert_eq!(row.format, Format::Text, "{path}"),
                Place::Left | Place::Foreign => panic!("{path} is nobody's"),
            }
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            assert!(folder.is_empty() || is_folder_of_ours(folder), "{folder}");
        }
        let name = |path| match place_of(path) {
            Place::Document(found, _) => found.row.name,
            _ => "",
        };
        assert_eq!(name("state/agents/results-archive/s/synthesis.json"), "synthesis");
        assert_eq!(name("state/agents/results/synthesis.json"), "synthesis");
        assert_eq!(name("state/agents/results/abc.json"), "result");
        assert!(matches!(
            place_of("branches/feat-login/handoffs/task-2026-01-29-2.md"),
            Place::Beside
        ));
        assert!(matches!(place_of("branches/notes.txt"), Place::Foreign));
        assert!(matches!(place_of("state/session/live/notes.txt"), Place::Foreign));
    }
}
