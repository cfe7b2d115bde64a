//! Events whose turn with the lock did not come in time: put into the spool, and played by whoever
//! has the lock next, hook or command (`session::locked_store`).

use std::path::Path;
use std::time::Duration;

use crate::core::error::{Error, Result};
use crate::core::event::{self, Parsed};
use crate::core::redaction::Redactor;
use crate::core::time;
use crate::hook_path::kept::redacted;
use crate::hook_path::{context, journal_lines, settle};
use crate::process::Process;
use crate::session::locked_store::Played;
use crate::store::dir::Dir;
use crate::store::journal::prune::Limits;
use crate::store::spool::{self, Entry};
use crate::store::{Store, journal, rejected};
use crate::turn::context::Context;
use crate::turn::world::World;

/// How long an event may spend on playing others that came before it.
const SPOOL_BUDGET: Duration = Duration::from_millis(300);
/// Plays what waits. What cannot be read or played is moved away after one try: one odd entry stops
/// nothing.
pub fn play_spool(process: &Process, store: &Store, root: &Path) -> Result<Played> {
    let state = store.state_dir();
    let (room, names) = match spool::waiting(state, process.now().timestamp()) {
        Ok(None) => return Ok(Played::All),
        Ok(Some(waiting)) => waiting,
        Err(error @ Error::Planted { .. }) => {
            move_away(process, store, state, spool::ROOM, &error.to_string());
            return Ok(Played::All);
        }
        Err(error) => return Err(error),
    };
    let begun = process.elapsed();
    for name in names {
        if process.elapsed().saturating_sub(begun) > SPOOL_BUDGET {
            return Ok(Played::Some);
        }
        let bytes = match room.read(&name) {
            Ok(bytes) => bytes.unwrap_or_default(),
            // The same event can be read when the machine can.
            Err(error) if error.may_pass() => return Err(error),
            Err(error) => {
                move_away(process, store, &room, &name, &error.to_string());
                continue;
            }
        };
        if let Err(why) = play(process, store, root, &bytes)? {
            let redact = Redactor::new(&store.settings.redact);
            let kept = rejected::keep(state, &bytes, &redact, process.now(), process.pid())?;
            say_rejected(store, &name, &why, &kept);
        }
        room.remove(&name)?;
    }
    spool::close(state)?;
    store.set_time(process.now());
    Ok(Played::All)
}

/// What cannot even be moved stays, and is passed over.
fn move_away(process: &Process, store: &Store, from: &Dir, name: &str, why: &str) {
    let taken = rejected::take(store.state_dir(), from, name, process.now(), process.pid());
    say_rejected(store, name, why, &taken.unwrap_or_else(|_| from.path_of(name)));
}

fn say_rejected(store: &Store, name: &str, why: &str, kept: &Path) {
    let text = format!(
        "HookKeeper: an event that had waited could not be used ({why}); it is in {}.",
        kept.display()
    );
    store.remark(format!("rejected/{name}"), text);
}

/// Plays one event that waited. The inner error says why it cannot be used at all.
fn play(
    process: &Process,
    store: &Store,
    root: &Path,
    bytes: &[u8],
) -> Result<std::result::Result<(), String>> {
    let entry: Entry = match serde_json::from_slice(bytes) {
        Ok(entry) => entry,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let event = match event::parse(entry.payload.get().as_bytes(), None) {
        Ok(Parsed::Event(event)) => event,
        Ok(Parsed::Foreign(_)) => return Ok(Ok(())),
        Err(why) => return Ok(Err(why)),
    };
    let world = World::at(process, root, entry.git, entry.client);
    let mut context = context(process, &event, root, &store.settings, &world);
    // A reply that comes too late is discarded.
    context.is_heard = false;
    context.now = time::parse(&entry.time).unwrap_or(context.now);
    store.set_time(context.now);
    match settle(&event, store, &context) {
        Ok(plan) => {
            let (_, run, mut told) = journal_lines(&event, Ok(plan), &context);
            told.insert(0, run);
            if store.settings.systems.journal {
                journal::add_played(store.state_dir(), &told, Limits::new(&store.settings));
            }
            Ok(Ok(()))
        }
        // A disk that is full now may have room later: the event stays where it is.
        Err(error) if error.may_pass() => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

pub fn put_aside(process: &Process, bytes: &[u8], state: &Dir, context: &Context) -> Result<()> {
    let (client, git) = (context.facts.client(), context.facts.git());
    let payload = redacted(bytes, &context.redact).ok_or_else(|| Error::Payload {
        why: "the lock is held and the payload cannot be spooled".into(),
        kept: None,
    })?;
    let time = time::spell_millis(context.now);
    let nanos = context.now.timestamp_nanos_opt().unwrap_or_default();
    spool::put(state, &Entry { time, client, git, payload }, nanos, process.pid())
}
