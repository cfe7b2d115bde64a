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
use error::Error;
use process::Process;

/// What the process does at its end.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    pub stdout: Option<String>,
    /// Without the program's name; one line on the hook path.
    pub stderr: Option<String>,
    /// Never 2 on the hook path: Claude Code reads 2 as "block".
    pub code: u8,
}

impl Outcome {
    fn quiet() -> Self {
        Self::default()
    }

    /// What a command prints when it could do its work.
    fn said(text: impl Into<String>) -> Self {
        Self { stdout: Some(text.into()), stderr: None, code: 0 }
    }

    /// One line, whatever names and paths are in it.
    fn failed(error: &Error) -> Self {
        Self { stdout: None, stderr: Some(books::clip(&error.to_string(), 600)), code: 1 }
    }
}

pub fn run(process: &Process) -> Outcome {
    match applet::find(process.args()) {
        Applet::Hook(expected) => hook_path::run(process, expected),
        Applet::ForeignHook => hook_path::ignore(),
        Applet::CommandLine => cli::run(process),
    }
}
