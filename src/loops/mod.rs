//! Loops: what drives a session on until its work is done, and ends honestly.
//!
//! Each loop says at a Stop what it wants ([`Say`]); the [`governor`] decides. Everything here is
//! pure: documents in, documents out.
//!
//! # One behaviour
//!
//! All four loops (`loop`, `branch loop`, `autonomous`, `iterative`) implement one trait
//! ([`Loop`]), end with one [`Ending`], and are driven by the session that [`ownership`] resolves.
//! [`drive`] binds loops to sessions and drives them at Stop. The commands change them under the
//! lock: load, refuse what is frozen or another session's, work, write, tell, note it in the
//! sessions' records. `all_loops` in the tests runs over all of them what the commands do, by who
//! runs them:
//!
//! - **The session that drives it.** `resume` goes on with a loop that ended; one that runs is
//!   refused ("is running"). `adopt` leaves it where it is. `cancel` ends it.
//! - **Another live session.** `resume` and `cancel` are refused ("is driven by session …").
//!   `adopt` takes it over.
//! - **A live session, when the owner has ended.** `resume` takes it over and goes on, whether it
//!   ended or runs. `adopt` takes it over. `cancel` is refused ("was driven by session …, which has
//!   ended"): `adopt` comes first.
//! - **A person in a terminal.** `resume` goes on with a loop that ended, and says so if its
//!   session is not live; one that runs is refused ("is running"), with the same remark. `adopt`
//!   gives it to the only live session; otherwise one has to be named. `cancel` ends it.
//! - **A person with `--session ID`, or a session that names another one.** As that session.
//!   `adopt` gives the loop to it.
//!
//! **Who is told.** The user hears once, with the next event that can say so, of a loop that
//! somebody else than its driver has ended, and of one that `adopt` took from a live session (the
//! old and the new driver are named). The session that ends its own loop has the command's answer.
//! The new driver gets its work at the next Stop.
//!
//! **A second loop at once** is refused, always. `start` and `new`, `adopt` and `resume` for a
//! session that drives another loop, of any kind, name that one and the command that ends it. So
//! does `start` in the place of a loop that runs, and whatever would make a second loop wait for
//! the next session. There may be several iterative tasks, and loops of several branches, each with
//! a session of its own.
//!
//! **Adopted.** A loop that a person started in a terminal is bound to the only live session.
//! Without one it waits, the mark of the state notes that (`begun` in `store/origin.rs`), and the next
//! session that is alone drives it. So does a session that wrote the loop itself, and the one that
//! follows its owner by compact, resume or fork; after a `/clear` a person is asked. No other loop
//! is driven without `adopt`, which also limits it to 200 iterations and a day.
//!
//! **A person's stop** comes from a prompt without `agent_id` whose `source` is `user`, `sdk` or
//! not given (`session/task.rs`: `may_decide`). So do "approve" and "ship". It holds while the
//! loop's document is gone or cannot be read, too: the session's record notes it ([`left`]), and
//! the loop is ended when it is back, unless somebody goes on with it by a command.
//!
//! **Ended and complete.** Only `resume` changes a loop that has ended, and not one that is
//! complete. A limit that was reached is raised by ten iterations unless another one is asked for.
//! One that was not reached stays.
//!
//! Counters that a model could roll back by rewriting a file are also in the session's record; the
//! larger one holds. Commands and hooks change loops under the same lock.

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
