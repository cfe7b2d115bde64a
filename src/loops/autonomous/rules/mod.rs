//! The autonomous loop: a feature goes through phases, each with a receipt, until it is shipped.

pub mod consent;
pub mod edited;
pub mod limits;
pub mod phase;
pub mod receipts;
pub mod words;

use crate::core::gate::Words;
use crate::core::text::clip;
use crate::core::time::{self, Time};
use crate::loops::autonomous::document::{Autonomous, Receipt, VERSION};
use crate::loops::autonomous::watched::Watched;
use crate::loops::governor::Stop;
use crate::loops::kind::{MOST_ITERATIONS, MOST_MINUTES, new_limit};
use crate::loops::{Ending, Loop, LoopKind, Say, Verdict, iteration_limit, promise, time_limit};
use crate::state::State;
use crate::state::plan::Plan;
use edited::Moved;
pub use edited::{watch, watch_again};
use phase::Phase;
use receipts::{EXCUSED, Evidence, missing};

/// The loop as the governor drives it. A model may write its file, so what we saw last is kept
/// elsewhere (`watched`), and holds.
pub struct AutonomousLoop {
    pub state: Autonomous,
    pub watched: Watched,
    pub evidence: Evidence,
    pub now: Time,
    /// What is wrong with a phase that was moved by hand, as far as a command has looked.
    pub fault: Option<String>,
    /// Which is written first. A kill in between leaves the loop where it was: a phase is left when
    /// the file says so, a person's approval counts when it is remembered.
    pub memory_first: bool,
}

impl AutonomousLoop {
    /// A loop that has just begun.
    pub fn started(state: Autonomous, head: Option<String>, now: Time) -> Self {
        let watched = watch(&state, &head, now);
        let evidence = Evidence { head, ..Evidence::default() };
        Self { state, watched, evidence, now, fault: None, memory_first: false }
    }

    pub fn new(
        mut state: Autonomous,
        watched: Option<Watched>,
        evidence: Evidence,
        now: Time,
    ) -> Self {
        let old = state.version < VERSION;
        edited::upgrade(&mut state, now);
        let watched = watched.filter(|seen| seen.is_of(&state));
        let mut watched = watched.unwrap_or_else(|| watch(&state, &evidence.head, now));
        if old {
            watched.excused = receipts::excused(&state);
        }
        if state.phase == watched.phase {
            state.phase_iteration = state.phase_iteration.max(watched.phase_iteration);
        }
        state.global_iteration = state.global_iteration.max(watched.global_iteration);
        state.fix_review_cycles = state.fix_review_cycles.max(watched.fix_review_cycles);
        state.max_iterations = state.max_iterations.min(watched.max_iterations);
        state.max_phase_iterations = state.max_phase_iterations.min(watched.max_phase_iterations);
        state.max_fix_cycles = state.max_fix_cycles.min(watched.max_fix_cycles);
        let least = [state.max_minutes, watched.max_minutes].into_iter().flatten().min();
        state.max_minutes = least;
        limits::hold_budget(&mut state, &watched);
        if let Some(spent) = &evidence.spent {
            watched.spent = spent.clone();
        }
        edited::restore_receipts(&mut state, &watched);
        state.skip_test_review &= !watched.gate;
        state.session_id = state.session_id.take().or_else(|| watched.session_id.clone());
        state.ending.verdict = state.ending.verdict.take().or_else(|| watched.verdict.clone());
        Self { state, watched, evidence, now, fault: None, memory_first: false }
    }

    /// Acceptance tests are a person's to approve, whatever the file says.
    fn waits(&mut self) -> bool {
        let steps = match self.moved() {
            Moved::Rightly(steps) if self.wants_a_person() => steps,
            _ => Vec::new(),
        };
        let gate = steps.iter().position(|step| *step == Phase::SpecTest);
        if let Some(before) = gate.and_then(|at| steps.get(..at)) {
            self.state.phase = Phase::SpecTest.name().into();
            // Before the phase is another one, and with it the receipts that are new.
            self.prove(&[before, &[Phase::SpecTest]].concat());
            self.accept(before);
        }
        if self.watched.awaiting || gate.is_some() {
            self.state.phase = Phase::SpecTest.name().into();
            self.state.awaiting_approval = true;
            self.state.phase_iteration = self.watched.phase_iteration;
            self.state.phases_completed.truncate(self.watched.completed as usize);
        }
        self.state.awaiting_approval &= self.state.phase == Phase::SpecTest.name();
        self.state.awaiting_approval
    }

    fn ask_a_person(&self) -> Say {
        Say::Wait(format!("HookKeeper: {}", words::wants_approval(&self.state)))
    }

    fn wants_a_person(&self) -> bool {
        self.watched.gate && !self.watched.approved
    }

    fn force(&mut self, phase: Phase, now: Time) -> Option<Say> {
        let most = self.state.max_phase_iterations;
        if phase == Phase::Ship {
            let why = format!("the limit of {most} iterations in phase {}", phase.name());
            return Some(self.finish(Verdict::Capped, why, now));
        }
        let why = format!("{EXCUSED}: {most} iterations in the phase");
        self.state.add_error(why, time::spell(now));
        self.watched.excused.push(phase.name().into());
        if phase == Phase::SpecTest && self.wants_a_person() {
            self.state.awaiting_approval = true;
            return Some(self.ask_a_person());
        }
        let open = self.watched.open;
        if complete(&mut self.state, phase, open, now).is_none() {
            return Some(self.cap_open(phase, open, now));
        }
        self.look_again();
        None
    }
}

impl Loop for AutonomousLoop {
    fn kind(&self) -> LoopKind {
        LoopKind::Autonomous
    }

    fn title(&self) -> String {
        words::title(&self.state)
    }

    fn owner(&self) -> Option<&str> {
        self.state.session_id.as_deref()
    }

    fn bind(&mut self, session: &str) {
        self.state.session_id = Some(session.to_owned());
    }

    fn clamp(&mut self) {
        self.state.max_iterations = self.state.max_iterations.min(MOST_ITERATIONS);
        self.state.max_minutes = self.state.max_minutes.map(|most| most.min(MOST_MINUTES));
    }

    fn is_running(&self) -> bool {
        self.state.is_running()
    }

    fn ending(&self) -> &Ending {
        &self.state.ending
    }

    /// One that somebody wrote by hand is no reason to stay ended.
    /// One whose budget is spent needs another one.
    fn resume_command(&self) -> String {
        let more = if self.budget_reached().is_some() { " --budget USD" } else { "" };
        format!("{} resume{more}", self.kind().command())
    }

    fn is_complete(&self) -> bool {
        self.watched.verdict.as_deref() == Some(Verdict::Complete.name())
    }

    fn end(&mut self, verdict: Verdict, why: &str, now: Time) {
        self.state.ending = Ending::new(verdict, why, now);
        self.state.last_updated = time::spell(now);
    }

    fn reopen(&mut self, most: Option<u64>, now: Time) -> Result<(), String> {
        if let Some(why) = self.budget_reached() {
            return Err(format!("{why}; `--budget USD` gives it more"));
        }
        self.grant_a_round(now);
        let state = &mut self.state;
        state.max_iterations = new_limit(most, state.max_iterations, state.global_iteration)?;
        state.phase_iteration = 0;
        state.ending = Ending::default();
        state.resumed_at = Some(time::spell(now));
        Ok(())
    }

    fn reason(&self) -> Words {
        match Phase::named(&self.state.phase) {
            _ if self.state.awaiting_approval => words::waits_for_approval(&self.state).into(),
            Some(phase) => words::reason(&self.state, phase, &[]),
            None => self.unknown_phase().into(),
        }
    }

    fn put(&self, plan: &mut Plan, state: &State) {
        let (read, memory) = (state.read::<Autonomous>(&()), state.read::<Watched>(&()));
        if self.memory_first {
            plan.put(&memory, &self.seen());
        }
        if read.value != Some(&self.state) {
            plan.put(&read, &self.state);
        }
        if !self.memory_first {
            plan.put(&memory, &self.seen());
        }
    }

    /// The file stays as it is, but for its owner: what it says is judged by the Stop that comes to it.
    fn put_owner(&self, plan: &mut Plan, state: &State) {
        let (read, memory) = (state.read::<Autonomous>(&()), state.read::<Watched>(&()));
        let Some(mut found) = read.value.cloned() else { return };
        let known = memory.value.filter(|seen| seen.is_of(&found));
        let owner = &self.state.session_id;
        if found.session_id != *owner || known.is_none_or(|seen| seen.session_id != *owner) {
            let fresh = || watch(&found, &self.evidence.head, self.now);
            let mut seen = known.cloned().unwrap_or_else(fresh);
            (found.session_id, seen.session_id) = (owner.clone(), owner.clone());
            plan.put(&read, &found);
            plan.put(&memory, &seen);
        }
    }

    fn check(&mut self, stop: &Stop) -> Option<Say> {
        if Phase::named(&self.state.phase).is_none() {
            return Some(Say::Wait(format!("HookKeeper: {}", self.unknown_phase())));
        }
        if self.watched.out_of_rounds {
            let why = self.still_open();
            return Some(self.finish(Verdict::Capped, why, stop.now));
        }
        if self.waits() {
            return Some(self.ask_a_person());
        }
        if let Moved::Rightly(steps) = self.moved() {
            if let Some(said) = self.cap_moved(&steps, stop.now) {
                return Some(said);
            }
            self.accept(&steps);
        }
        let shipping = self.state.phase == Phase::Ship.name() && matches!(self.moved(), Moved::No);
        if shipping && self.promises(stop) && self.missing().is_empty() {
            let why = format!("the promise {} was made", clip(&self.state.completion_promise, 200));
            self.state.phases_completed.push(Phase::Ship.name().into());
            return Some(self.finish(Verdict::Complete, why, stop.now));
        }
        let began = self.state.resumed_at.as_ref().unwrap_or(&self.state.started_at);
        let why = time_limit(began, self.state.max_minutes, stop.now)
            .or_else(|| iteration_limit(self.state.global_iteration, self.state.max_iterations))
            .or_else(|| self.budget_reached())?;
        Some(self.finish(Verdict::Capped, why, stop.now))
    }

    fn turn(&mut self, stop: &Stop) -> Say {
        let mut first = Vec::new();
        if let Moved::Wrongly(before, why) = self.moved() {
            first.push(self.send_back(before, &why, stop.now));
        }
        if self.state.awaiting_approval {
            return self.ask_a_person();
        }
        let Some(phase) = Phase::named(&self.state.phase) else {
            return Say::Wait(words::title(&self.state));
        };
        if self.promises(stop) {
            first.push(self.not_yet(phase));
        }
        if self.state.phase_iteration >= self.state.max_phase_iterations {
            if let Some(said) = self.force(phase, stop.now) {
                return said;
            }
            first.push(format!(
                "Phase {} took too long and was left without a receipt.",
                phase.name()
            ));
        }
        let phase = Phase::named(&self.state.phase).unwrap_or(phase);
        self.state.phase_iteration = self.state.phase_iteration.saturating_add(1);
        self.state.global_iteration = self.state.global_iteration.saturating_add(1);
        self.state.last_updated = time::spell(stop.now);
        Say::Go {
            reason: words::at_stop(&self.state, phase, &first, stop.is_told),
            title: self.title(),
        }
    }
}

impl AutonomousLoop {
    fn unknown_phase(&self) -> String {
        format!(
            "the {} is in a phase that is not known, so it does not go on by itself. The phases: {}.",
            words::title(&self.state),
            Phase::ALL.map(Phase::name).join(", ")
        )
    }

    /// What is to be remembered for the next time. A phase that was moved by hand is judged by the
    /// Stop that comes to it.
    pub fn seen(&self) -> Watched {
        let again = watch_again(&self.watched, &self.state, &self.evidence.head, self.now);
        match self.moved() {
            Moved::No => Watched { copy: Some(Box::new(self.state.clone())), ..again },
            _ => Watched {
                session_id: again.session_id,
                verdict: again.verdict,
                max_iterations: again.max_iterations,
                budget_limit_usd: again.budget_limit_usd,
                ..self.watched.clone()
            },
        }
    }

    /// Brings the file and what we saw last together, for a command: a move that is proven is taken
    /// over, what is wrong with one that is not is noted.
    pub fn settle(&mut self) {
        if self.waits() {
            return;
        }
        match self.moved() {
            Moved::No => {}
            Moved::Rightly(steps) => self.accept(&steps),
            Moved::Wrongly(before, why) => {
                self.fault = Some(format!(
                    "the phase was moved by hand from {} to {} although {why}",
                    before.name(),
                    clip(&self.state.phase, 40)
                ));
            }
        }
    }

    /// A person has approved the acceptance tests. The time that it took is not the loop's.
    pub fn approve(&mut self, now: Time) -> Option<Phase> {
        let next = complete(&mut self.state, Phase::SpecTest, 0, now)?;
        self.state.resumed_at = Some(time::spell(now));
        self.look_again();
        self.watched.approved = true;
        self.memory_first = true;
        Some(next)
    }

    /// What a promise would need.
    fn missing(&self) -> Vec<String> {
        // Before the last phase an earlier receipt is as good as it looks.
        let is_last = self.state.phase == Phase::Ship.name();
        let judge = |at, receipt: &Receipt, phase| {
            self.judge(at, receipt, phase).filter(|why| is_last || why != edited::UNASKED)
        };
        let mut missing = missing(&self.state, &self.watched, judge);
        if self.watched.open > 0 {
            missing.push(format!("{} open", words::findings(self.watched.open)));
        }
        if self.wants_a_person() {
            missing.push("spec_test: nobody has approved the acceptance tests".into());
        }
        missing
    }

    fn promises(&self, stop: &Stop) -> bool {
        promise::is_made(stop.message, &self.state.completion_promise)
    }

    /// Why a promise does not complete the loop.
    fn not_yet(&self, phase: Phase) -> String {
        let missing = self.missing();
        let mut why = "The promise came too early.".to_owned();
        if phase != Phase::Ship {
            why.push_str(&format!(" It counts in phase ship; this is {}.", phase.name()));
        }
        if !missing.is_empty() {
            why.push_str(&format!(
                " Not proven yet: {}. A receipt for an earlier phase: `hookkeeper autonomous advance --phase NAME …`.",
                clip(&missing.join("; "), 800)
            ));
        }
        why
    }
}

/// Leaves a phase; the one that follows, or `None` after the last, and with findings and no round.
pub fn complete(state: &mut Autonomous, phase: Phase, findings: u64, now: Time) -> Option<Phase> {
    if phase == Phase::ReReview {
        state.fix_review_cycles = state.fix_review_cycles.saturating_add(1);
    }
    let next = phase.next(findings > 0, state.fix_review_cycles < state.max_fix_cycles)?;
    state.phases_completed.push(phase.name().into());
    state.phase = next.name().into();
    state.phase_iteration = 0;
    state.awaiting_approval = false;
    state.last_updated = time::spell(now);
    Some(next)
}
