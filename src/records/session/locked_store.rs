//! The store, locked, for a command that changes documents.

use std::path::Path;
use std::time::Duration;

use crate::core::error::{Error, Result};
use crate::process::Process;
use crate::session::new_project::note_if_new;
use crate::session::notices::keep_remarks;
use crate::state::State;
use crate::store::lock::PATIENCE;
use crate::store::{Opened, Store};

/// How long a command plays what waits; what is left waits for the next one.
const COMMANDS_BUDGET: Duration = Duration::from_secs(2);

/// Plays the events that wait in the spool. Only the crate of the hooks can, which no command needs
/// otherwise: so commands are given this function.
pub type PlaySpool = fn(&Process, &Store, &Path) -> Result<Played>;

pub enum Played {
    All,
    /// Time was up before all was played.
    Some,
}

/// What waits in the spool is played first: a command has more time than an event, and comes after
/// the events that came before it.
pub fn locked_store(process: &Process, root: &Path, play_spool: PlaySpool) -> Result<Store> {
    let mut store = unplayed_store(process, root)?;
    store.check_tracked()?;
    let begun = process.elapsed();
    while let Played::Some = play_spool(process, &store, root)? {
        if process.elapsed().saturating_sub(begun) > COMMANDS_BUDGET {
            break;
        }
    }
    keep_remarks(&store, &State::new(&store), process.now())?;
    Ok(store)
}

/// The locked store without playing anything: for a command that is to put right what cannot be played.
pub fn unplayed_store(process: &Process, root: &Path) -> Result<Store> {
    match Store::open(root, process.home().as_deref(), process.now(), PATIENCE)? {
        Opened::Locked(store) => {
            note_if_new(process, root, store.is_new);
            Ok(*store)
        }
        Opened::Busy(..) => Err(Error::Busy),
    }
}
