//! `spool/`: events whose turn with the lock did not come in time. Whoever gets the lock next
//! plays them first, in order of time. The folder exists only while something waits in it, so that
//! everybody else pays one failed `open`.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::core::error::{Error, Result};
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::git::refs::Git;
use crate::process::client::Client;
use crate::state::Row;
use crate::store::dir::Dir;
use crate::store::rotate::{first_free, moment};

pub const ROOM: &str = "spool";
/// A project whose lock is held for hours: then the spool is full, and that is said aloud.
const FILES: usize = 10_000;
/// What a process that died while spooling left behind is removed after this many seconds.
const STALE_AFTER: i64 = 10;
/// Longer than anybody waits for the lock, in nanoseconds.
const TOGETHER: i64 = 2_000_000_000;

/// An event and what was true when it came.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["time", "client", "git", "payload"])))]
pub struct Entry {
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub time: String,
    pub client: Client,
    pub git: Git,
    /// What the client sent, secrets redacted.
    #[cfg_attr(feature = "testing", schemars(with = "crate::core::text::Extra"))]
    pub payload: Box<RawValue>,
}

/// Puts an event into the spool, complete or not at all. Called without the lock. `nanos` says when
/// it came, `pid` who brings it.
pub fn put(state: &Dir, entry: &Entry, nanos: i64, pid: u32) -> Result<()> {
    let bytes = serde_json::to_vec(entry)
        .map_err(|error| Error::io("spool to", &state.path_of(ROOM), io::Error::other(error)))?;
    // A player that has just emptied the folder may remove it under our hands.
    let mut tries = 0;
    loop {
        tries += 1;
        let room = state.make(ROOM)?;
        let names = room.names()?;
        if tries == 1 && names.len() >= FILES {
            let full = io::Error::other(
                "10,000 events are waiting; the lock is held by a process that does not end",
            );
            return Err(Error::io("spool to", room.path(), full));
        }
        let stem = format!("{:020}-{pid}", place_in_line(nanos, &names));
        let written = first_free(&stem, |stem| {
            let (part, name) = (format!(".{stem}.json"), format!("{stem}.json"));
            room.write_and(&part, &[&bytes], true, || room.rename_new(&part, &room, &name))
        });
        match written {
            Err(error) if error.is_not_found() && tries < 5 => {}
            other => return other,
        }
    }
}

/// When an event came, or a moment after the last one that waits if the clock has been put back since
/// then. Those that came together give up in any order, so a small difference means nothing.
fn place_in_line(nanos: i64, names: &[String]) -> i64 {
    let time = |name: &String| name.split_once('-')?.0.parse::<i64>().ok();
    let last = names.iter().rev().find_map(time).unwrap_or(0);
    if last.saturating_sub(nanos) > TOGETHER { last.saturating_add(1) } else { nanos.max(0) }
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
    names.sort_by(|one, other| moment(one).cmp(&moment(other)));
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
