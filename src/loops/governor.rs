//! One governor decides at Stop; the loops only say what they want.
//!
//! | the loop | background agents | blocks in a row | the loop says | the stop |
//! |---|---|---|---|---|
//! | none, or it is over | - | - | - | is allowed, nothing is said |
//! | promise, limit | - | - | `End` | is allowed, the verdict is told |
//! | runs | run | - | - | is allowed, nothing is counted: the client wakes the session |
//! | runs | none | - | `Wait` | is allowed, the user is told what is wanted |
//! | runs | none | below the client's cap | `Go` | is blocked, with what to do next |
//! | runs | none | one below the cap | `Go` | is allowed, the loop is `stalled` |

use crate::core::gate::Words;
use crate::core::time::Time;
use crate::loops::{Loop, Say, Verdict};

/// What the client does when nothing is set.
pub const CLIENTS_CAP: u64 = 8;

/// A Stop of the main thread.
pub struct Stop<'a> {
    pub message: &'a str,
    /// An agent, workflow or teammate still runs in the background.
    pub has_company: bool,
    /// The session has been told of the loop, and no person has typed anything since.
    pub is_told: bool,
    /// Whether something was done since the last stop, as far as is known.
    pub tools_ran: bool,
    /// How often we have blocked in a row without a tool call in between.
    pub blocks: u64,
    /// How often the client lets itself be blocked in a row; 0: without end.
    pub cap: u64,
    pub now: Time,
}

impl Stop<'_> {
    /// The client ends the turn after its cap, unannounced. One before that we end the loop
    /// ourselves, and say so.
    fn is_last(&self) -> bool {
        self.cap > 0 && self.blocks >= (self.cap - 1).max(1)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Nothing,
    /// For the log, and for the user.
    Allow {
        outcome: String,
        tell: Option<String>,
    },
    Block {
        outcome: String,
        reason: Words,
        tell: String,
        /// The command that ends it.
        cancel: String,
    },
}

pub fn decide(driven: &mut dyn Loop, stop: &Stop) -> Decision {
    if !driven.is_running() {
        return Decision::Nothing;
    }
    let said = match driven.check(stop) {
        Some(said) => said,
        None if stop.has_company => {
            return Decision::Allow { outcome: "the loop waits for agents".into(), tell: None };
        }
        None => driven.turn(stop),
    };
    match said {
        Say::End(verdict, why) => ended(driven, verdict, &why),
        Say::Rest(outcome) => Decision::Allow { outcome, tell: None },
        Say::Wait(what) => Decision::Allow { outcome: "the loop waits".into(), tell: Some(what) },
        Say::Go { .. } if stop.is_last() => {
            let why = format!(
                "{} answers in a row without a tool call; Claude Code would have ended the turn at the next one",
                stop.blocks + 1
            );
            driven.end(Verdict::Stalled, &why, stop.now);
            ended(driven, Verdict::Stalled, &why)
        }
        Say::Go { reason, title } => Decision::Block {
            outcome: format!("blocked: {title}"),
            reason,
            tell: format!("HookKeeper: {title}"),
            cancel: driven.command("cancel"),
        },
    }
}

fn ended(driven: &dyn Loop, verdict: Verdict, why: &str) -> Decision {
    let name = verdict.name();
    let go_on = match verdict {
        Verdict::Complete | Verdict::Cancelled => String::new(),
        _ => format!(" To go on: `{}`.", driven.resume_command()),
    };
    Decision::Allow {
        outcome: format!("the loop is {name}: {why}"),
        tell: Some(format!("HookKeeper: the {} is {name}: {why}.{go_on}", driven.title())),
    }
}
