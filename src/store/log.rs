//! `log/hooks.jsonl`: one line per hook run, so that a user whose hook "does nothing" can see why.
//! A log that cannot be written is no reason to fail: the state matter more.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::core::schema_fields;
use crate::state::{Format, Row};
use crate::store::dir::Dir;

const LARGEST: u64 = 1 << 20;

/// One hook run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = [
    "time", "event", "session", "wrote", "us", "outcome"
])))]
pub struct Line<'a> {
    #[cfg_attr(test, schemars(schema_with = "schema_fields::time"))]
    pub time: &'a str,
    pub event: &'a str,
    pub session: &'a str,
    /// Documents that were replaced, removed (`-`) or moved.
    pub wrote: &'a [String],
    /// Microseconds from start to end.
    pub us: u64,
    pub outcome: &'a str,
}

/// A line as it is read again. What is not there is empty: the line may be another version's.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LoggedRun {
    pub time: String,
    pub event: String,
    pub session: String,
    pub us: u64,
    pub outcome: String,
}

/// How the outcome begins when the run failed.
pub const FAILED: &str = "error: ";
/// How the outcome begins when the payload could not be used.
pub const REJECTED: &str = "rejected: ";

impl LoggedRun {
    /// Whether the event did not get into the state.
    pub fn has_failed(&self) -> bool {
        self.outcome.starts_with(FAILED) || self.outcome.starts_with(REJECTED)
    }
}

/// Bytes to look at for one line: more than most lines have.
const LINE: usize = 600;

/// The newest lines, newest first.
pub fn newest(room: &Dir, most: usize) -> Vec<LoggedRun> {
    let tail = room.read_tail("hooks.jsonl", most * LINE).unwrap_or_default();
    parse_newest(&tail, most)
}

/// The newest of some lines, newest first. What is no line of ours is passed over.
pub fn parse_newest(lines: &[u8], most: usize) -> Vec<LoggedRun> {
    let lines = lines.rsplit(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).take(most).collect()
}

/// Adds a line. Whoever holds the lock also turns the file over when it is full.
pub fn add(state: &Dir, line: &Line, may_turn_over: bool) {
    let Ok(mut bytes) = serde_json::to_vec(line) else { return };
    bytes.push(b'\n');
    write(state, "hooks", "jsonl", &bytes, may_turn_over);
}

/// What `HOOKKEEPER_LOG` asked for.
pub fn add_debug(state: &Dir, text: &str, may_turn_over: bool) {
    write(state, "debug", "log", text.as_bytes(), may_turn_over);
}

fn write(state: &Dir, stem: &str, extension: &str, bytes: &[u8], may_turn_over: bool) {
    let file = format!("{stem}.{extension}");
    let Ok(room) = state.make("log") else { return };
    let Ok(size) = room.append(&file, bytes) else { return };
    if may_turn_over && size > LARGEST {
        let _ = room.rename(&file, &room, &format!("{stem}.1.{extension}"));
    }
}

pub const ROW: Row = Row {
    name: "log",
    path: "state/log/hooks.jsonl",
    also_at: &["state/log/hooks.1.jsonl"],
    schema: "log",
    title: "Log line",
    about: "a line: one hook run",
    format: Format::Lines,
    ..Row::EPHEMERAL
};
