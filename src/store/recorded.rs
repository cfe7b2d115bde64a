//! `recorded/`: payloads as they came, redacted, for playing them again. Only while the setting
//! `record` is on.

use crate::core::error::Result;
use crate::core::event::Kind;
use crate::core::time::{self, Time};
use crate::store::dir::Dir;
use crate::store::rotate::{Age, first_free, keep_newest};

pub const ROOM: &str = "recorded";
/// The folder of recorded payloads, below `.claude`.
pub const FOLDER: &str = "state/recorded";
const FILES: usize = 200;

/// Keeps a payload. Needs no lock: every file has a name of its own, in order of time.
pub fn keep(state: &Dir, payload: &str, kind: Kind, now: Time, pid: u32) -> Result<()> {
    let room = state.make(ROOM)?;
    let stem = format!("{}-{}-{pid}", time::stamp(now), kind.wire());
    // Whole or not at all: somebody will play it.
    let part = format!(".{stem}.json");
    room.remove(&part)?;
    let line = format!("{payload}\n");
    let move_to = |stem: &str| {
        let name = format!("{stem}.json");
        room.rename_new(&part, &room, &name).map(|()| name)
    };
    let name = room.write_and(&part, &[line.as_bytes()], false, || first_free(&stem, move_to))?;
    // What others are just writing is not old.
    let is_whole = |name: &str| !name.starts_with('.');
    keep_newest(&room, FILES, Age::ByName, &name, is_whole, Dir::remove)
}
