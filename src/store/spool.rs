//! `spool/`: events whose turn with the lock did not come in time. Whoever gets the lock next
//! plays them first, in order of time. The folder exists only while something waits in it, so that
//! everybody else pays one failed `open`.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::core::error::{Error, Result};
#[cfg(test)]
use crate::core::schema_fields;
use crate::git::refs::Git;
use crate::process::client::Client;
use crate::state::Row;
use crate::store::dir::Dir;

const ROOM: &str = "spool";
/// A project whose lock is held for hours: then the spool is full, and that is said aloud.
const FILES: usize = 10_000;
/// What a process that died while spooling left behind is removed after this many seconds.
const STALE_AFTER: i64 = 10;

/// An event and what was true when it came.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = ["time", "client", "git", "payload"])))]
pub struct Entry {
    #[cfg_attr(test, schemars(schema_with = "schema_fields::time"))]
    pub time: String,
    pub client: Client,
    pub git: Git,
    /// What the client sent, secrets redacted.
    #[cfg_attr(test, schemars(with = "crate::core::text::Extra"))]
    pub payload: Box<RawValue>,
}

/// Puts an event into the spool, complete or not at all. Called without the lock.
pub fn put(state: &Dir, entry: &Entry, name: &str) -> Result<()> {
    let bytes = serde_json::to_vec(entry)
        .map_err(|error| Error::io("spool to", &state.path_of(ROOM), io::Error::other(error)))?;
    let part = format!(".{name}");
    // A player that has just emptied the folder may remove it under our hands.
    let mut tries = 0;
    loop {
        tries += 1;
        let room = state.make(ROOM)?;
        if tries == 1 && room.names()?.len() >= FILES {
            let full = io::Error::other(
                "10,000 events are waiting; the lock is held by a process that does not end",
            );
            return Err(Error::io("spool to", room.path(), full));
        }
        let written =
            room.create(&part, &bytes, true).and_then(|()| room.rename(&part, &room, name));
        match written {
            Err(error) if error.is_not_found() && tries < 5 => {}
            other => return other,
        }
    }
}

/// What waits, oldest first, and the folder to read it from.
pub fn waiting(state: &Dir, now: i64) -> Result<Option<(Dir, Vec<String>)>> {
    let Some(room) = state.sub(ROOM)? else { return Ok(None) };
    let mut names = room.names()?;
    names.retain(|name| {
        let part = name.starts_with('.');
        if part && now - room.modified(name) > STALE_AFTER {
            let _ = room.remove(name);
        }
        !part
    });
    Ok(Some((room, names)))
}

/// Removes the folder when nothing waits in it any more.
pub fn close(state: &Dir) -> Result<()> {
    state.remove_empty(ROOM)
}

pub const ROW: Row = Row {
    name: "spool",
    path: "state/spool/{time}-{pid}.json",
    schema: "spool",
    title: "Waiting event",
    about: "an event that waits for the lock",
    ..Row::EPHEMERAL
};
