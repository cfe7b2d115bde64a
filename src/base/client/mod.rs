//! What belongs to Claude Code: its own files, as far as we read or change them.

pub mod context_window;
pub mod hook_runs;
pub mod plan_file;
pub mod prices;
pub mod settings;
pub mod side_file;
pub mod slash_commands;
pub mod todos;
pub mod transcript;
pub mod version;
pub mod wiring;

use crate::state::Documents;
use crate::state::declared::parses_as;

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add_file::<wiring::Wiring>(&wiring::ROW, parses_as::<wiring::Wiring>);
}
