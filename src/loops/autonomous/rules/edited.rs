//! A model may write the loop's file. What it says against what we saw last: moves with their
//! receipts are taken over, others are taken back.
//!
//! A model that moves the phase itself may pass several at once. Without a valid, new receipt the
//! phase is moved back once. The second time it is let through, with an entry in `errors`, but
//! stays unproven. It is never let past acceptance tests that nobody approved.

use crate::core::text::{Extra, clip};
use crate::core::time::{self, Time};
use crate::loops::autonomous::document::{Autonomous, Receipt, VERSION};
use crate::loops::autonomous::rules::AutonomousLoop;
use crate::loops::autonomous::rules::phase::Phase;
use crate::loops::autonomous::rules::receipts::set_artifact;
use crate::loops::autonomous::rules::receipts::{self, EXCUSED, is_proven};
use crate::loops::autonomous::watched::Watched;

/// Git is asked when it matters.
pub const UNASKED: &str = "git was not asked about it";

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
        let first = self.watched.receipts as usize;
        let judge = |at, receipt: &Receipt, phase| self.judge(at, receipt, phase);
        match receipts::way(before, &self.state.phase, &self.state.receipts, first, judge) {
            Ok(steps) => Moved::Rightly(steps),
            Err(why) => Moved::Wrongly(before, why),
        }
    }

    /// What is wrong with a receipt in the file, by its place.
    pub fn judge(&self, at: usize, receipt: &Receipt, phase: Phase) -> Option<String> {
        if is_proven(receipt, &self.watched) {
            return None;
        }
        let fault = receipts::fault(receipt, phase, &self.evidence.present);
        let asked = || self.evidence.faults.get(&at).cloned();
        fault.or_else(|| asked().unwrap_or_else(|| Some(UNASKED.into())))
    }

    /// The rounds that are over after these phases.
    pub fn rounds(&self, steps: &[Phase]) -> u64 {
        let new = steps.iter().filter(|step| **step == Phase::ReReview).count() as u64;
        self.watched.fix_review_cycles.saturating_add(new)
    }

    /// Whether these phases lead to a fix that there is no round for.
    pub fn lacks_rounds(&self, steps: &[Phase]) -> bool {
        let more = self.state.phase == Phase::Fix.name();
        more && self.rounds(steps) >= self.state.max_fix_cycles
    }

    /// Takes over phases that the model left by itself.
    pub fn accept(&mut self, steps: &[Phase]) {
        self.prove(steps);
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
        // The next phase may have begun long before this Stop: it needs what is newer than the receipt.
        let (head, began) = (self.last_proven(steps), self.watched.began.clone());
        self.look_again();
        if let Some(head) = head {
            (self.watched.head, self.watched.began) = (Some(head), began);
        }
    }

    fn last_proven(&self, steps: &[Phase]) -> Option<String> {
        let last = self.watched.proven.last()?;
        let is_of_these = steps.iter().any(|step| step.name() == last.phase);
        is_of_these.then(|| last.sha().to_owned())
    }

    /// Keeps the receipts of these phases, and what they say of findings.
    pub fn prove(&mut self, steps: &[Phase]) {
        let first = self.watched.receipts as usize;
        let mut follow = steps.iter().map(|step| step.name()).skip(1).collect::<Vec<_>>();
        let to = self.state.phase.clone();
        follow.push(&to);
        for (step, next) in steps.iter().zip(follow) {
            let good = |(at, receipt): &(usize, &Receipt)| {
                receipt.phase == step.name() && self.judge(*at, receipt, *step).is_none()
            };
            let found = self.state.receipts.iter().enumerate().skip(first).find(good);
            let Some((_, receipt)) = found else { continue };
            let receipt = receipt.clone();
            if step.finds() {
                let by_way = u64::from(next == Phase::Fix.name());
                self.watched.open = receipt.findings().unwrap_or(by_way);
            }
            if !is_proven(&receipt, &self.watched) {
                self.watched.proven.push(receipt);
            }
        }
    }

    /// A move without proof is taken back once; the next one goes through and is written down, but its
    /// phase stays unproven.
    pub fn send_back(&mut self, before: Phase, why: &str, now: Time) -> String {
        let to = clip(&self.state.phase, 40);
        if self.watched.sent_back {
            let message = format!("moved to {to} by hand although {why}");
            let after = std::mem::replace(&mut self.state.phase, before.name().into());
            self.state.add_error(message, time::spell(now));
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
                "The phase was moved from {} to {to} again although {why}. It is let through, and written down under errors; \
                 the loop is not complete without the receipt.",
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

    /// Takes another look at the file.
    pub fn look_again(&mut self) {
        self.watched = watch_again(&self.watched, &self.state, &self.evidence.head, self.now);
    }
}

/// What is to be remembered of a loop's file.
pub fn watch(state: &Autonomous, head: &Option<String>, now: Time) -> Watched {
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
        head: head.clone(),
        began: time::spell(now),
        proven: Vec::new(),
        open: 0,
        out_of_rounds: false,
        budget_limit_usd: state.budget_limit_usd.as_f64(),
        spent: Default::default(),
        copy: None,
        verdict: state.ending.verdict.clone(),
        extra: Extra::new(),
    }
}

/// What is remembered of a loop after another look at it.
pub fn watch_again(
    before: &Watched,
    state: &Autonomous,
    head: &Option<String>,
    now: Time,
) -> Watched {
    // A phase that nobody knows is no phase that was left.
    if Phase::named(&state.phase).is_none() {
        let verdict = state.ending.verdict.clone();
        return Watched { session_id: state.session_id.clone(), verdict, ..before.clone() };
    }
    let same = before.phase == state.phase;
    let fresh = watch(state, head, now);
    let before = before.clone();
    Watched {
        receipts: if same { before.receipts } else { fresh.receipts },
        completed: if same { before.completed } else { fresh.completed },
        head: if same { before.head } else { fresh.head },
        began: if same { before.began } else { fresh.began },
        sent_back: same && before.sent_back,
        gate: before.gate,
        approved: before.approved,
        excused: before.excused,
        proven: before.proven,
        open: before.open,
        out_of_rounds: before.out_of_rounds,
        spent: before.spent,
        copy: before.copy,
        extra: before.extra,
        ..fresh
    }
}

/// Files of version 1 know no checkpoints and no acceptance tests. One that is past the point is not
/// asked for them.
pub fn upgrade(state: &mut Autonomous, now: Time) {
    if state.version >= VERSION {
        return;
    }
    state.version = VERSION;
    let past = Phase::named(&state.phase).is_some_and(|phase| phase > Phase::SpecTest);
    if past && state.phases_completed.iter().all(|done| done != Phase::SpecTest.name()) {
        let phase = std::mem::replace(&mut state.phase, Phase::SpecTest.name().into());
        let why = format!("{EXCUSED}: the file was of version 1, which has no such phase");
        state.add_error(why, time::spell(now));
        state.phase = phase;
    }
}

/// Receipts that git confirmed are not lost with the file.
pub fn restore_receipts(state: &mut Autonomous, watched: &Watched) {
    let is_lost = |proven: &&Receipt| !state.receipts.iter().any(|receipt| receipt.is(proven));
    let lost: Vec<Receipt> = watched.proven.iter().filter(is_lost).cloned().collect();
    state.receipts.splice(..0, lost);
}
