//! A model may write the loop's file. What it says against what we saw last: moves with their receipts are
//! taken over, others are taken back.

use crate::core::text::{Extra, clip};
use crate::core::time::{self, Time};
use crate::loops::autonomous::document::Autonomous;
use crate::loops::autonomous::rules::phase::Phase;
use crate::loops::autonomous::rules::receipts::{self, EXCUSED};
use crate::loops::autonomous::rules::{AutonomousLoop, set_artifact};
use crate::loops::autonomous::watched::Watched;

/// What the file says against what we saw last.
pub enum Moved {
    No,
    /// Through these phases, each with a receipt.
    Rightly(Vec<Phase>),
    /// Out of this phase, and what is wrong with that.
    Wrongly(Phase, String),
}

impl AutonomousLoop {
    pub fn moved(&self) -> Moved {
        let Some(before) = Phase::named(&self.watched.phase) else { return Moved::No };
        if self.state.phase == self.watched.phase {
            return Moved::No;
        }
        let new = self.state.receipts.get(self.watched.receipts as usize..).unwrap_or_default();
        match receipts::way(before, &self.state.phase, new, &self.present) {
            Ok(steps) => match self.has_rounds_for(&steps) {
                true => Moved::Rightly(steps),
                false => {
                    Moved::Wrongly(before, "the rounds of fix and re_review are used up".into())
                }
            },
            Err(why) => Moved::Wrongly(before, why),
        }
    }

    /// The rounds that are over after these phases.
    fn rounds(&self, steps: &[Phase]) -> u64 {
        let new = steps.iter().filter(|step| **step == Phase::ReReview).count() as u64;
        self.watched.fix_review_cycles.saturating_add(new)
    }

    fn has_rounds_for(&self, steps: &[Phase]) -> bool {
        let more = self.state.phase == Phase::Fix.name();
        !more || self.rounds(steps) < self.state.max_fix_cycles
    }

    /// Takes over phases that the model left by itself.
    pub fn accept(&mut self, steps: &[Phase]) {
        // The model may have listed them, or not.
        self.state.phases_completed.truncate(self.watched.completed as usize);
        self.state.phases_completed.extend(steps.iter().map(|step| step.name().to_owned()));
        self.state.fix_review_cycles = self.state.fix_review_cycles.max(self.rounds(steps));
        for step in steps {
            let receipt = self.state.receipts.iter().rev().find(|r| r.phase == step.name());
            let artifact = receipt.map(|receipt| receipt.artifact().to_owned());
            if let Some(artifact) = artifact.filter(|artifact| !artifact.is_empty()) {
                set_artifact(&mut self.state, *step, artifact);
            }
        }
        self.state.phase_iteration = 0;
        self.watched = watch_again(&self.watched, &self.state);
    }

    /// A move without proof is taken back once; the next one goes through and is written down.
    pub fn send_back(&mut self, before: Phase, why: &str, now: Time) -> String {
        let to = clip(&self.state.phase, 40);
        if self.watched.sent_back {
            let message = format!("{EXCUSED}: moved to {to} by hand although {why}");
            let after = std::mem::replace(&mut self.state.phase, before.name().into());
            self.state.add_error(message, time::spell(now));
            self.watched.excused.push(before.name().into());
            // Past the acceptance tests only a person leads.
            let past = Phase::named(&after).is_some_and(|after| after > Phase::SpecTest);
            let stops = past && before <= Phase::SpecTest && self.wants_a_person();
            self.state.phase = if stops { Phase::SpecTest.name().into() } else { after };
            self.state.awaiting_approval = stops;
            self.accept(if before == Phase::SpecTest && stops {
                &[]
            } else {
                std::slice::from_ref(&before)
            });
            return format!(
                "The phase was moved from {} to {to} again although {why}. It is let through, and written down under errors.",
                before.name()
            );
        }
        self.state.phase = before.name().into();
        self.state.phase_iteration = self.watched.phase_iteration;
        self.state.fix_review_cycles = self.watched.fix_review_cycles;
        self.state.phases_completed.truncate(self.watched.completed as usize);
        self.watched.sent_back = true;
        format!(
            "The phase was moved from {} to {to} although {why}. It is {} again.",
            before.name(),
            before.name()
        )
    }
}

/// What is to be remembered of a loop's file.
pub fn watch(state: &Autonomous) -> Watched {
    Watched {
        feature: state.feature.clone(),
        started_at: state.started_at.clone(),
        session_id: state.session_id.clone(),
        phase: state.phase.clone(),
        phase_iteration: state.phase_iteration,
        global_iteration: state.global_iteration,
        fix_review_cycles: state.fix_review_cycles,
        max_iterations: state.max_iterations,
        max_phase_iterations: state.max_phase_iterations,
        max_fix_cycles: state.max_fix_cycles,
        max_minutes: state.max_minutes,
        receipts: state.receipts.len() as u64,
        completed: state.phases_completed.len() as u64,
        excused: receipts::excused(state),
        gate: !state.skip_test_review,
        // A file that is new to us and past that point was approved elsewhere, or never had to be.
        approved: Phase::named(&state.phase).is_some_and(|phase| phase > Phase::SpecTest),
        awaiting: state.awaiting_approval,
        sent_back: false,
        verdict: state.ending.verdict.clone(),
        extra: Extra::new(),
    }
}

/// What is remembered of a loop after another look at it.
pub fn watch_again(before: &Watched, state: &Autonomous) -> Watched {
    // A phase that nobody knows is no phase that was left.
    if Phase::named(&state.phase).is_none() {
        let verdict = state.ending.verdict.clone();
        return Watched { session_id: state.session_id.clone(), verdict, ..before.clone() };
    }
    let same = before.phase == state.phase;
    let fresh = watch(state);
    Watched {
        receipts: if same { before.receipts } else { fresh.receipts },
        completed: if same { before.completed } else { fresh.completed },
        sent_back: same && before.sent_back,
        gate: before.gate,
        approved: before.approved,
        excused: before.excused.clone(),
        extra: before.extra.clone(),
        ..fresh
    }
}
