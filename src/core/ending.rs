//! How a loop ended: the same three fields in the documents of all loops.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::core::schema_fields;
use crate::core::time::{self, Time};

/// How a loop ended; empty while it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ending {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(schema_with = "schema_fields::time"))]
    pub verdict_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_reason: Option<String>,
}

impl Ending {
    pub fn new(verdict: Verdict, why: &str, now: Time) -> Self {
        Self {
            verdict: Some(verdict.name().to_owned()),
            verdict_at: Some(time::spell(now)),
            verdict_reason: Some(why.to_owned()),
        }
    }

    pub fn is_complete(&self) -> bool {
        self.verdict.as_deref() == Some(Verdict::Complete.name())
    }

    /// `capped, the limit of 3 iterations`; nothing while it runs.
    pub fn line(&self) -> Option<String> {
        let verdict = self.verdict.as_deref()?;
        let why = self
            .verdict_reason
            .as_deref()
            .map(|why| format!(", {}", crate::core::text::clip(why, 200)));
        Some(format!("{verdict}{}", why.unwrap_or_default()))
    }
}

/// The ways in which a loop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did what it was for.
    Complete,
    /// An iteration or time limit was reached.
    Capped,
    /// It went round without getting anywhere.
    Stalled,
    /// A person ended it.
    Cancelled,
    /// It cannot go on.
    Failed,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Capped => "capped",
            Self::Stalled => "stalled",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}
