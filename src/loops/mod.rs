//! Loops: what drives a session on until its work is done, and ends honestly.
//!
//! Each loop says at a Stop what it wants ([`Say`]); the [`governor`] decides. Everything here is
//! pure: documents in, documents out.

pub mod autonomous;
pub mod branch;
pub mod checkout_digest;
pub mod drive;
pub mod governor;
pub mod iterative;
pub mod journal_line;
pub mod kind;
pub mod leave;
pub mod left;
pub mod ownership;
pub mod promise;
pub mod queue;

pub use crate::core::ending::{Ending, Verdict};
use crate::core::gate::Words;
use crate::core::time::{self, Time};
use crate::state::Documents;
pub use kind::{Loop, LoopKind};

/// The documents of this room.
pub fn documents(all: &mut Documents) {
    all.add::<queue::document::Queue>();
    all.add::<queue::page::LoopStateText>();
    all.add::<autonomous::document::Autonomous>();
    all.add::<autonomous::watched::Watched>();
    all.add::<iterative::document::Task>();
    all.add::<iterative::document::TaskText>();
}

/// From this iteration on the model is told what is left, not how the loop works.
pub const SHORT_FROM: u64 = 3;

/// What a loop wants at a Stop.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    /// It is over, and why.
    End(Verdict, String),
    /// Go on: what the model is told, and for the user which loop and where it stands.
    Go { reason: Words, title: String },
    /// A person has to do something first; the user is told.
    Wait(String),
    /// Nothing drives it at the moment; why, for the log.
    Rest(String),
}

/// The time limit of a loop, if it is reached.
pub fn time_limit(started: &str, max_minutes: Option<u64>, now: Time) -> Option<String> {
    let most = max_minutes.filter(|most| time::age(started, now) >= most.saturating_mul(60))?;
    Some(format!("the time limit of {most} minutes"))
}

/// The limit of a loop's iterations, if it is reached.
pub fn iteration_limit(iteration: u64, most: u64) -> Option<String> {
    (iteration >= most).then(|| format!("the limit of {most} iterations"))
}
