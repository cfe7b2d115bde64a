//! `rejected/`: payloads that could not be used, as redacted text, for whoever looks into it.

use std::path::PathBuf;

use crate::core::error::Result;
use crate::core::redaction::Redactor;
use crate::core::time::{self, Time};
use crate::store::dir::Dir;
use crate::store::rotate::{Age, first_free, keep_newest};

const ROOM: &str = "rejected";
const FILES: usize = 20;
const LARGEST: usize = 1 << 20;

/// Moves something here that is no payload, as it is, and says where it is.
pub fn take(state: &Dir, from: &Dir, name: &str, now: Time, pid: u32) -> Result<PathBuf> {
    let room = state.make(ROOM)?;
    let kept = first_free(&format!("{}-{pid}", time::stamp(now)), |free| {
        from.rename_new(name, &room, free).map(|()| free.to_owned())
    })?;
    keep_newest(&room, FILES, Age::ByName, &kept, |_| true, Dir::remove_any)?;
    Ok(room.path_of(&kept))
}

/// Keeps a payload and says where. Needs no lock: every file has a name of its own.
pub fn keep(state: &Dir, bytes: &[u8], redact: &Redactor, now: Time, pid: u32) -> Result<PathBuf> {
    let room = state.make(ROOM)?;
    let text = match bytes.get(..LARGEST) {
        Some(head) => redact.cut(&String::from_utf8_lossy(head)),
        None => redact.text(&String::from_utf8_lossy(bytes)),
    };
    let text = text.get(..text.floor_char_boundary(LARGEST)).unwrap_or_default();
    let name = first_free(&format!("{}-{pid}", time::stamp(now)), |stem| {
        let name = format!("{stem}.txt");
        room.create(&name, text.as_bytes(), false).map(|()| name)
    })?;
    keep_newest(&room, FILES, Age::ByName, &name, |_| true, Dir::remove_any)?;
    Ok(room.path_of(&name))
}
