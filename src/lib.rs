//! HookKeeper keeps the books for Claude Code hooks.
//!
//! ```text
//! stdin ─► event ─► store reads ─► hooks::<name>::plan ─► store commits ─► reply ─► stdout, exit code
//!          parse     snapshot        pure                  lock + rename     one JSON object
//! ```
//!
//! [`run`] is the whole program behind a [`process::Process`]; `main.rs` only prints what it says.
//! ARCHITECTURE.md has the map.

#![forbid(unsafe_code)]

pub mod applet;
pub mod books;
pub mod cli;
pub mod client;
pub mod context;
pub mod doctor;
pub mod documents;
pub mod error;
pub mod event;
pub mod execute;
pub mod facts;
mod graph;
mod hook_path;
pub mod hooks;
pub mod id;
pub mod json;
pub mod loops;
mod outcome;
pub mod plan;
pub mod process;
pub mod reply;
mod root;
pub mod schema;
pub mod state;
pub mod store;
pub mod time;
mod trace;
pub mod validate;

use applet::Applet;
pub use outcome::Outcome;
use process::Process;

pub fn run(process: &Process) -> Outcome {
    match applet::find(process.args()) {
        Applet::Hook(expected) => hook_path::run(process, expected),
        Applet::ForeignHook => hook_path::ignore(),
        Applet::CommandLine => cli::run(process),
    }
}
