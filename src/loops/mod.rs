//! Loops: what drives a session on until its work is done, and ends honestly.
//!
//! Each loop says at a Stop what it wants ([`Say`]); the [`governor`] decides. Everything here is
//! pure: documents in, documents out.

pub mod autonomous;
pub mod branch;
pub mod governor;
pub mod iterative;
pub mod promise;
pub mod queue;
pub mod render;

use crate::time::{self, Time};

/// How a loop ended.
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

/// What a loop wants at a Stop.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    /// It is over, and why.
    End(Verdict, String),
    /// Go on: what the model is told, and for the user which loop and where it stands.
    Go { reason: String, title: String },
    /// A person has to do something first; the user is told.
    Wait(String),
}

/// Whether more than so many minutes have passed since a loop began.
pub fn is_out_of_time(started: &str, max_minutes: Option<u64>, now: Time) -> bool {
    max_minutes.is_some_and(|most| time::age(started, now) >= most.saturating_mul(60))
}
