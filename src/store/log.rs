//! `log/hooks.jsonl`: one line per hook run, so that a user whose hook "does nothing" can see why.
//! A log that cannot be written is no reason to fail: the books matter more.

use serde::Serialize;

use crate::store::dir::Dir;

const LARGEST: u64 = 1 << 20;

#[derive(Serialize)]
pub struct Line<'a> {
    pub time: &'a str,
    pub event: &'a str,
    pub session: &'a str,
    pub wrote: &'a [String],
    pub us: u64,
    pub outcome: &'a str,
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
