//! Which file below `.claude` is what, by its path.

use crate::core::time;
use crate::handoff;
use crate::state::{Declared, Doc, Format};
use crate::store::{export, settings_file, untrusted};
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
        // The last two are of versions that kept one log of all hook runs.
        ["state", "log", "debug.log" | "debug.1.log" | "hooks.jsonl" | "hooks.1.jsonl"] => true,
        // While it is being written, an event has a dot before its name.
        ["state", "spool", name] => name.starts_with('.'),
        // The client's settings as they were.
        ["state", "settings", name] => settings_file::is_kept(name),
        ["state", "export", name] => export::is_file_name(name),
        ["branches", ".gitignore"] => true,
        ["branches", _, "handoffs", name] => handoff::is_file_name(name),
        _ => false,
    }
}

/// Folders that documents are in, or notes for people.
pub fn is_folder_of_ours(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    documents::has_documents(path)
        || matches!(segments.as_slice(), ["branches", _, "handoffs"] | ["state", export::FOLDER])
}

/// Whether a file below `.claude` is one that only we make, by its name: a document, what is beside
/// them, what was put away.
pub fn is_ours(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    match segments.as_slice() {
        ["state", "quarantine", name] => is_stamped(name.rsplit('.').next()),
        ["state", "rejected" | "recorded", name] => {
            is_stamped(name.trim_start_matches('.').split('-').next())
        }
        // As it was in the state, or beside it.
        ["state", "set-aside", stamp, rest @ ..] => {
            let rest = rest.join("/");
            time::is_stamp(stamp) && (is_ours(&format!("state/{rest}")) || is_ours(&rest))
        }
        _ => !matches!(place_of(path), Place::Foreign),
    }
}

/// Whether a folder below `.claude` is one that we make, by its name.
pub fn is_our_folder(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    match segments.as_slice() {
        ["state" | "branches"] => true,
        ["state", "quarantine" | "rejected" | "recorded" | "set-aside"] => true,
        ["state", "set-aside", stamp] => time::is_stamp(stamp),
        ["state", "set-aside", _, rest @ ..] => is_our_folder(&format!("state/{}", rest.join("/"))),
        _ => is_folder_of_ours(path),
    }
}

fn is_stamped(part: Option<&str>) -> bool {
    part.is_some_and(time::is_stamp)
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

    #[test]
    fn ours_is_known_by_its_name() {
        for ours in [
            "state/.lock",
            "state/.new",
            "state/.gitignore",
            "state/agents/active.json",
            "state/settings/settings.local.json.12",
            "state/settings/.wiring.new",
            "state/quarantine/errors-classified.json.20260129T103000000Z",
            "state/rejected/20260129T103000000Z-7.txt",
            "state/recorded/.20260129T103000000Z-Stop-7.json",
            "state/set-aside/20260129T103000000Z/errors/classified.json",
            "state/set-aside/20260129T103000000Z/autonomous-loop.json",
            "branches/main/handoffs/task-2026-01-29.md",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in [
            "state/notes.md",
            "state/settings/settings.json.mine",
            "state/quarantine/notes",
            "state/rejected/20260129-7.txt",
            "state/set-aside/keep/errors/classified.json",
            "state/set-aside/20260129T103000000Z/notes.md",
            "branches/main/notes.md",
            "branches/main/handoffs/notes.md",
            "settings.json",
        ] {
            assert!(!is_ours(other), "{other}");
        }
        assert!(is_our_folder("state/set-aside/20260129T103000000Z/agents/results"));
        assert!(!is_our_folder("state/mine") && !is_our_folder("state/set-aside/mine"));
    }
}
