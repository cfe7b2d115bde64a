//! The slash command that a session carries out.

use serde::{Deserialize, Serialize};

use crate::core::redaction::Redactor;
use crate::core::text::Extra;

pub const EXECUTING: &str = "executing";
pub const IDLE: &str = "idle";
const LONGEST_ARGUMENTS: usize = 300;

/// The last slash command of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Workflow {
    /// `executing` until a person types something else, then `idle`.
    pub phase: Option<String>,
    /// Its name, without the slash.
    pub active: Option<String>,
    pub args: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Workflow {
    pub fn started(command: &str, args: &str, redact: &Redactor) -> Self {
        Self {
            phase: Some(EXECUTING.into()),
            active: Some(command.to_owned()),
            args: Some(redact.line(args, LONGEST_ARGUMENTS)),
            extra: Extra::new(),
        }
    }

    /// The command and its arguments, if there is one.
    pub fn spelled(&self) -> Option<String> {
        let name = self.active.as_deref().filter(|name| !name.is_empty())?;
        let args = self.args.as_deref().unwrap_or_default();
        Some(format!("/{} {args}", name.trim_start_matches('/')).trim_end().to_owned())
    }

    pub fn is_executing(&self) -> bool {
        self.phase.as_deref().is_some_and(|phase| phase != IDLE)
    }
}
