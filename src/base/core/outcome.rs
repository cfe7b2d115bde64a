//! How the process ends.

use crate::core::error::Error;
use crate::core::gate::Printed;
use crate::core::text::clip;

/// What the process does at its end.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    pub stdout: Option<Printed>,
    /// Without the program's name; one line on the hook path.
    pub stderr: Option<Printed>,
    /// Never 2 on the hook path: Claude Code reads 2 as "block".
    pub code: u8,
}

impl Outcome {
    pub fn quiet() -> Self {
        Self::default()
    }

    /// What a command prints when it could do its work.
    pub fn printed(text: impl Into<Printed>) -> Self {
        Self { stdout: Some(text.into()), stderr: None, code: 0 }
    }

    /// One line, whatever names and paths are in it.
    pub fn failed(error: &Error) -> Self {
        Self { stdout: None, stderr: Some(clip(&error.to_string(), 600).into()), code: 1 }
    }
}
