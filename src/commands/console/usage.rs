//! A command that was not called as it can be. The command line says so with an exit code of its
//! own (64), whether clap sees it or the command itself. Otherwise a command ends with 0, or with
//! 1: it could not. `run-gate` gives the exit code of what it ran.

use std::fmt;

#[derive(Debug)]
pub struct UsageError(String);

/// What is wrong with an argument, whatever the state is: `bail!(usage(…))`.
pub fn usage(text: impl Into<String>) -> UsageError {
    UsageError(text.into())
}

impl fmt::Display for UsageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}
