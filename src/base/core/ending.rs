//! How a loop ended: the same three fields in the documents of all loops.

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::time::{self, Time};

/// A loop that ended longer ago leaves `status`.
const OLD_SECONDS: u64 = 24 * 60 * 60;

/// How a loop ended; empty while it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Ending {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
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

    /// Whether it ended so long ago, or nobody knows when, that people need not see it any more.
    pub fn is_old(&self, now: Time) -> bool {
        let age = self.verdict_at.as_deref().map_or(u64::MAX, |at| time::age(at, now));
        self.verdict.is_some() && age >= OLD_SECONDS
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
    pub const ALL: [Self; 5] =
        [Self::Complete, Self::Capped, Self::Stalled, Self::Cancelled, Self::Failed];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_old_a_day_after_its_end() {
        let at = |spelled: &str| time::parse(spelled).unwrap();
        let ending = Ending::new(Verdict::Cancelled, "by a command", at("2026-01-29T10:30:00Z"));
        assert!(!ending.is_old(at("2026-01-30T10:29:59Z")));
        assert!(ending.is_old(at("2026-01-30T10:30:00Z")));
        assert!(!Ending::default().is_old(at("2026-01-30T10:30:00Z")), "it runs");
        let by_hand = Ending { verdict_at: None, ..ending };
        assert!(by_hand.is_old(at("2026-01-29T10:30:00Z")), "nobody knows when");
    }
}
