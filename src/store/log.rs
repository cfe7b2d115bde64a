//! `log/debug.log`: what `HOOKKEEPER_LOG` asked for. A log that cannot be written is no reason to
//! fail. What the hooks did is in the [`journal`](crate::store::journal).

use crate::store::dir::Dir;

const LARGEST: u64 = 1 << 20;

/// Adds to it. Whoever holds the lock also turns the file over when it is full.
pub fn add_debug(state: &Dir, text: &str, may_turn_over: bool) {
    let Ok(room) = state.make("log") else { return };
    let Ok(size) = room.append("debug.log", text.as_bytes()) else { return };
    if may_turn_over && size > LARGEST {
        let _ = room.rename("debug.log", &room, "debug.1.log");
    }
}
