//! Limits that end the loop beside iterations and time: rounds of fix and re_review with something
//! still open, and the budget.

use serde_json::Number;

use crate::core::spelling::dollars;
use crate::core::time::{self, Time};
use crate::loops::autonomous::document::Autonomous;
use crate::loops::autonomous::rules::phase::Phase;
use crate::loops::autonomous::rules::{AutonomousLoop, complete, words};
use crate::loops::autonomous::watched::Watched;
use crate::loops::{Ending, Loop as _, Say, Verdict};

impl AutonomousLoop {
    /// Findings, and no round left to mend them: the next Stop ends the loop, and the user hears of it.
    pub fn use_up(&mut self, phase: Phase, open: u64, now: Time) {
        self.state.phase = phase.name().into();
        self.watched.open = open;
        self.watched.out_of_rounds = true;
        let why = self.still_open();
        self.state.add_error(why, time::spell(now));
    }

    pub fn cap_open(&mut self, phase: Phase, open: u64, now: Time) -> Say {
        self.use_up(phase, open, now);
        let why = self.still_open();
        self.finish(Verdict::Capped, why, now)
    }

    /// A model that moved the phase to a fix that there is no round for.
    pub fn cap_moved(&mut self, steps: &[Phase], now: Time) -> Option<Say> {
        let (last, before) = steps.split_last().filter(|_| self.lacks_rounds(steps))?;
        self.prove(steps);
        let open = self.watched.open.max(1);
        self.state.fix_review_cycles = self.state.fix_review_cycles.max(self.rounds(steps));
        self.state.phase = last.name().into();
        self.accept(before);
        Some(self.cap_open(*last, open, now))
    }

    pub fn still_open(&self) -> String {
        format!(
            "phase {} ended with {} open, and no round of fix and re_review is left ({} of {}); a person who types \
             \"ship\" and nothing else lets it go on all the same",
            self.state.phase,
            words::findings(self.watched.open),
            self.state.fix_review_cycles,
            self.state.max_fix_cycles
        )
    }

    /// A person lets it go on with what is open. The phase that follows.
    pub fn ship_anyway(&mut self, now: Time) -> Option<Phase> {
        let phase = Phase::named(&self.state.phase).filter(|_| self.watched.out_of_rounds)?;
        let open = words::findings(std::mem::take(&mut self.watched.open));
        self.state.add_error(format!("a person said ship with {open} open"), time::spell(now));
        self.watched.out_of_rounds = false;
        // The round is over already, and was counted.
        let rounds = self.state.fix_review_cycles;
        let next = complete(&mut self.state, phase, 0, now)?;
        self.state.fix_review_cycles = rounds;
        self.state.ending = Ending::default();
        self.state.resumed_at = Some(time::spell(now));
        self.look_again();
        self.memory_first = true;
        Some(next)
    }

    /// One that goes on after its rounds were used up gets one more.
    pub fn grant_a_round(&mut self, now: Time) {
        let Some(phase) = Phase::named(&self.state.phase).filter(|_| self.watched.out_of_rounds)
        else {
            return;
        };
        self.watched.out_of_rounds = false;
        let rounds = self.state.fix_review_cycles;
        self.state.max_fix_cycles = self.state.max_fix_cycles.max(rounds.saturating_add(1));
        // The review is over already, and was counted.
        self.state.phases_completed.push(phase.name().into());
        self.state.phase = Phase::Fix.name().into();
        self.state.last_updated = time::spell(now);
        self.look_again();
    }

    /// The budget, if it is spent.
    pub fn budget_reached(&self) -> Option<String> {
        let limit = self.state.budget_limit_usd.as_f64()?;
        let spent = self.watched.spent.usd();
        let reached = spent > 0.0 && spent >= limit;
        reached.then(|| {
            format!("the budget of ${} is spent ({})", self.state.budget_limit_usd, dollars(spent))
        })
    }
}

/// The smaller budget holds, of the file's and what we saw last.
pub fn hold_budget(state: &mut Autonomous, watched: &Watched) {
    let Some(known) = watched.budget_limit_usd else { return };
    if state.budget_limit_usd.as_f64().is_none_or(|limit| limit > known)
        && let Some(known) = usd(known)
    {
        state.budget_limit_usd = known;
    }
}

/// Whole dollars stay whole in the file.
pub fn usd(amount: f64) -> Option<Number> {
    let is_whole = amount.fract() == 0.0 && (0.0..9e15).contains(&amount);
    if is_whole { Some(Number::from(amount as u64)) } else { Number::from_f64(amount) }
}
