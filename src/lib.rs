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

mod applet;

use hookkeeper_base::{core, process};
use hookkeeper_commands::cli;
use hookkeeper_hooks::hook_path;

use applet::Applet;
pub use core::outcome::Outcome;
pub use process::Process;

pub fn run(process: &Process) -> Outcome {
    match applet::find(process.args()) {
        Applet::Hook(expected) => hook_path::run(process, expected),
        Applet::ForeignHook => hook_path::ignore(),
        Applet::CommandLine => cli::run(process, hook_path::play_spool),
    }
}

/// What the tests in `tests/` look into.
#[cfg(feature = "inside")]
pub mod inside {
    pub use hookkeeper_base::{client, core, git, process, state};
    pub use hookkeeper_commands::{console, doctor, validate};
    pub use hookkeeper_execute::execute;
    pub use hookkeeper_loops::loops;
    pub use hookkeeper_records::{agents, branch, errors, session, turn};
}
