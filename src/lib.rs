//! HookKeeper keeps state for Claude Code hooks.
//!
//! ```text
//! stdin ─► event ─► lock ─► hooks::<event>::plan ─► store commits ─► reply ─► stdout, exit code
//!          parse            reads through State       exchange         one JSON object
//! ```
//!
//! [`run`] is the whole program behind a [`Process`]; `main.rs` only prints what it says.
//! ARCHITECTURE.md has the map.

#![forbid(unsafe_code)]

mod agents;
mod applet;
mod branch;
mod cli;
mod client;
mod compaction;
mod console;
mod core;
mod doctor;
mod errors;
mod execute;
mod export;
mod git;
mod handoff;
mod history;
mod hook_path;
mod hooks;
mod loops;
mod process;
mod report;
mod session;
mod state;
mod store;
mod turn;
mod validate;
mod view;

use applet::Applet;
pub use core::outcome::Outcome;
pub use process::Process;

pub fn run(process: &Process) -> Outcome {
    match applet::find(process.args()) {
        Applet::Hook(expected) => hook_path::run(process, expected),
        Applet::ForeignHook => hook_path::ignore(),
        Applet::CommandLine => cli::run(process),
    }
}

/// What the tests in `tests/` look into. Rooms are private to the crate otherwise, so that the
/// compiler sees what nobody uses.
#[cfg(feature = "inside")]
pub mod inside {
    macro_rules! rooms {
        ($($room:ident),*) => { $(pub mod $room { pub use crate::$room::*; })* };
    }

    rooms!(
        agents, branch, client, console, core, doctor, errors, execute, git, loops, process,
        session
    );
    rooms!(state, turn, validate);
}
