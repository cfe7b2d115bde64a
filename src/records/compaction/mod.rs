//! Backups of the state from before a compaction.

pub mod backup;
pub mod panel;

use crate::state::Documents;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add::<backup::Backup>();
}
