//! The JSON Schemas of the documents, and the check against them.
//!
//! The files in `schemas/` are generated from the types in `books/` by a test ([`generate`]), which
//! fails when they differ. So neither the generator nor a general validator is in the program: it
//! has the files, and a small [`checker`] for the part of JSON Schema that they use.

pub mod checker;
#[cfg(test)]
pub mod fields;
#[cfg(test)]
mod generate;
mod node;

/// A kind of document, and what one looks like.
#[derive(Debug)]
pub struct Schema {
    pub name: &'static str,
    /// Where such documents are, below `.claude`.
    pub place: &'static str,
    pub about: &'static str,
    pub text: &'static str,
}

macro_rules! schema {
    ($name:literal, $place:literal, $about:literal) => {
        Schema {
            name: $name,
            place: $place,
            about: $about,
            text: include_str!(concat!("../../schemas/", $name, ".schema.json")),
        }
    };
}

pub static ALL: [Schema; 23] = [
    schema!("live", "state/session/live/{session-id}.json", "the record of a live session"),
    schema!("current", "state/session/current.json", "the live session that started last"),
    schema!("active", "state/agents/active.json", "the running agents of all live sessions"),
    schema!("result", "state/agents/results/{agent-id}.json", "what an agent found"),
    schema!("synthesis", "state/agents/results/synthesis.json", "all findings of a session"),
    schema!("errors", "state/errors/classified.json", "failures, and what became of them"),
    schema!("metrics", "state/session/metrics.json", "what the last sessions came to"),
    schema!(
        "metrics-entry",
        "state/session/metrics-archive.jsonl",
        "a line: what an older session came to"
    ),
    schema!("work-queue", "state/loop/work_queue.json", "prioritised work items"),
    schema!("backup", "state/compaction/backup_{time}.json", "what must survive a compaction"),
    schema!("autonomous-loop", "autonomous-loop.json", "a feature on its way through the phases"),
    schema!("autonomous-watch", "state/loop/autonomous.json", "the same, as we saw it last"),
    schema!("branch-state", "branches/{branch}/state.json", "what belongs to a branch"),
    schema!("branch-agents", "branches/{branch}/agents.json", "the agents of a branch"),
    schema!("iterative", "iterative/{slug}/state.json", "a task in units, and where it stands"),
    schema!(
        "execute-state",
        "{tasks-path}/execute-state.json",
        "tasks in layers, and their merges"
    ),
    schema!("executions", "state/executions.json", "where the executions of a project are"),
    schema!("notices", "state/notices.json", "what the user should hear of"),
    schema!("cleared", "state/session/cleared.json", "the sessions that clients cleared last"),
    schema!("settings", "hookkeeper.json", "what a project may set"),
    schema!("log", "state/log/hooks.jsonl", "a line: one hook run"),
    schema!("wiring", "state/settings/wiring.json", "the settings files that install wired"),
    schema!("spool", "state/spool/{time}-{pid}.json", "an event that waits for the lock"),
];

pub fn named(name: &str) -> Option<&'static Schema> {
    ALL.iter().find(|schema| schema.name == name)
}
