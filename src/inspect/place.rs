//! Which file below `.claude/state` is what, by its path; and which of those beside it.

use crate::store::layout::{BRANCH_AGENTS, BRANCH_STATE, BRANCHES};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// One document of this schema.
    Document(&'static str),
    /// A document of this schema on each line.
    Lines(&'static str),
    /// Ours, but no document: locks, notes for people, what was put aside.
    Beside,
    /// What a killed process left.
    Left,
    Foreign,
}

pub fn of(path: &str) -> Place {
    let segments: Vec<&str> = path.split('/').collect();
    match segments.as_slice() {
        ["notices.json"] => Place::Document("notices"),
        ["executions.json"] => Place::Document("executions"),
        [".lock" | ".gitignore" | "quarantine" | "rejected" | "recorded" | "set-aside"] => {
            Place::Beside
        }
        [".new"] => Place::Left,
        ["session", "current.json"] => Place::Document("current"),
        ["session", "metrics.json"] => Place::Document("metrics"),
        ["session", "metrics-archive.jsonl"] => Place::Lines("metrics-entry"),
        ["session", "cleared.json"] => Place::Document("cleared"),
        ["session", "live", name] => json(name, "live"),
        ["agents", "active.json"] => Place::Document("active"),
        ["agents", "results", name] | ["agents", "results-archive", _, name] => match *name {
            "synthesis.json" => Place::Document("synthesis"),
            name => json(name, "result"),
        },
        ["agents", "synthesis", name] => json(name, "synthesis"),
        ["errors", "classified.json"] => Place::Document("errors"),
        ["loop", "work_queue.json"] => Place::Document("work-queue"),
        ["loop", "autonomous.json"] => Place::Document("autonomous-watch"),
        ["loop", "LOOP_STATE.md"] => Place::Beside,
        ["compaction", name] if name.starts_with("backup_") => json(name, "backup"),
        ["log", "hooks.jsonl" | "hooks.1.jsonl"] => Place::Lines("log"),
        ["log", "debug.log" | "debug.1.log"] => Place::Beside,
        // While it is being written, an event has a dot before its name.
        ["spool", name] if name.starts_with('.') => Place::Beside,
        ["spool", name] => json(name, "spool"),
        ["settings", "wiring.json"] => Place::Document("wiring"),
        // The client's settings as they were.
        ["settings", _] => Place::Beside,
        _ => Place::Foreign,
    }
}

/// The same for what is beside the state, by its path below `.claude`.
pub fn beside(path: &str) -> Place {
    let segments: Vec<&str> = path.split('/').collect();
    match segments.as_slice() {
        [BRANCHES, ".gitignore"] => Place::Beside,
        [BRANCHES, _, BRANCH_STATE] => Place::Document("branch-state"),
        [BRANCHES, _, BRANCH_AGENTS] => Place::Document("branch-agents"),
        [BRANCHES, _, "handoffs", name] if name.ends_with(".md") => Place::Beside,
        _ => Place::Foreign,
    }
}

/// Folders beside the state that documents are in.
pub fn is_room_beside(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    matches!(segments.as_slice(), [BRANCHES, _] | [BRANCHES, _, "handoffs"])
}

/// Folders that documents are in.
pub fn is_room(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    matches!(
        segments.as_slice(),
        ["session" | "agents" | "errors" | "loop" | "compaction" | "log" | "spool" | "settings"]
            | ["session", "live"]
            | ["agents", "results" | "results-archive" | "synthesis"]
            | ["agents", "results-archive", _]
    )
}

fn json(name: &str, schema: &'static str) -> Place {
    if name.ends_with(".json") { Place::Document(schema) } else { Place::Foreign }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::layout::Doc;

    #[test]
    fn every_document_has_its_place() {
        for doc in [
            Doc::live("a"),
            Doc::Current,
            Doc::Metrics,
            Doc::MetricsArchive,
            Doc::Cleared,
            Doc::Executions,
            Doc::Active,
            Doc::result("A/b"),
            Doc::Synthesis,
            Doc::parked("s"),
            Doc::Errors,
            Doc::Queue,
            Doc::Watched,
            Doc::LoopState,
            Doc::Backup("backup_1.json".into()),
            Doc::Notices,
        ] {
            assert_ne!(of(&doc.name()), Place::Foreign, "{}", doc.name());
            let room = doc.room().segments().join("/");
            assert!(room.is_empty() || is_room(&room), "{room}");
        }
        let key = crate::id::BranchKey::of("feat/login");
        for doc in [Doc::Branch(key.clone()), Doc::BranchAgents(key)] {
            assert!(matches!(beside(&doc.name()), Place::Document(_)), "{}", doc.name());
            assert!(is_room_beside(&doc.room().segments().join("/")));
        }
        assert_eq!(beside("branches/feat-login/handoffs/task-2026-01-29-2.md"), Place::Beside);
        assert_eq!(beside("branches/notes.txt"), Place::Foreign);
        assert_eq!(of("agents/results-archive/s/synthesis.json"), Place::Document("synthesis"));
        assert_eq!(of("session/live/notes.txt"), Place::Foreign);
    }
}
