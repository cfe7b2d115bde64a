//! One governor decides at Stop; the loops only say what they want. The first row that fits counts.
//! The last column has what cases of it are called in `tests/cases/stop/`; a test holds that there
//! are some for each row.
//!
//! | the loop is | agents | blocks | the stop is | cases |
//! |---|---|---|---|---|
//! | none, or over | - | - | allowed in silence | `over_says_nothing` |
//! | another session's | - | - | allowed in silence | `of_another_session` |
//! | asked by a subagent's stop | - | - | allowed in silence | `in_a_subagent` |
//! | nobody's, but from here | - | - | as below, adopted first | `of_nobody_is_adopted` |
//! | nobody's otherwise | - | - | allowed, told once | `of_nobody_is_left_alone` |
//! | broken, of wrong types | - | - | allowed, told once | `cannot_be_read`, `with_a_word` |
//! | of a newer version | - | - | allowed, told once | `of_a_newer_version` |
//! | ended, passed on by hand | - | - | allowed, told | `ended_by_hand` |
//! | removed, reset | - | - | allowed, told | `whose_file_is_gone`, `was_reset` |
//! | a queue without its file | - | - | as below, made anew | `is_gone_goes`, `is_broken_goes` |
//! | `complete` without passes | - | - | as below, made anew | `said_to_be_complete` |
//! | in an unknown phase | - | - | allowed, told | `in_an_unknown_phase` |
//! | waiting for a person | any | - | allowed, told what is wanted | `waits_for_a_person` |
//! | promised | any | - | allowed: `complete` | `completes_by_its_promise` |
//! | at a limit | any | - | allowed: `capped` | `is_capped` |
//! | running | run | - | allowed, nothing is counted | `waits_for_a_background` |
//! | at a second pass in a row | none | - | allowed: `complete` | `at_the_second_pass` |
//! | at the same work, 3 times | none | - | allowed: `stalled` | `stalled_by_the_same` |
//! | running | none | cap - 1 | allowed: `stalled` | `stalled_before` |
//! | running | none | fewer | blocked, with what to do next | `goes_on` |
//!
//! `agents` are those in the background: the client wakes the session when one ends. `blocks` are
//! those in a row, and the cap is the client's. A loop is from here if a command started it here,
//! or if this very session wrote it; a session that is alone adopts it. Of any other the user is
//! told how to adopt it. A file that cannot be used stays as it is. What becomes of an iterative
//! task is in a table of its own, on the first page of `iterative/rules`.

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
