//! Iterative tasks: each unit is worked on, confirmed with the same prompt, verified, and then the
//! next one comes whose needs are done.
//!
//! A task says what it wants by the unit at work. One transition at most is made at a stop, and
//! whatever moves is an entry in `progress.md`. The last column has what cases of a row are called
//! in `tests/cases/stop/`, behind `iterative_`; a test holds that there are some.
//!
//! | the unit at work | the model says | what becomes of it | the stop is | cases |
//! |---|---|---|---|---|
//! | none: the governor's rows | - | as there | as there | `of_nobody` |
//! | any; state.json is lost | - | as the log has it, as below | blocked, told | `is_made_anew` |
//! | none: no log, no state | - | nothing, the files stay | allowed, told | `without_a_log` |
//! | none: an unknown phase | - | nothing, the files stay | allowed, told | `in_an_unknown` |
//! | none: not in `execute` | - | nothing | allowed in silence | `in_discovery` |
//! | none: a person was asked | - | nothing | allowed in silence | `asks_once` |
//! | any; an agent runs | - | nothing, not counted | allowed | `waits_for` |
//! | any; state.json differs | - | as the log has it, as below | blocked, told | `conflicting` |
//! | `in_progress` | nothing that counts | the next iteration | blocked | `goes_on` |
//! | `in_progress`, bad output | DONE | the next iteration | blocked | `done_without` |
//! | `in_progress` | DONE | `confirming` | blocked, same prompt | `said_done` |
//! | `confirming`, no change | DONE | `verifying` | blocked: verify it | `confirmed_is` |
//! | `confirming`, a change | DONE | `in_progress` | blocked | `that_changed` |
//! | `confirming` | nothing | `in_progress` | blocked | `without_a_signal` |
//! | `verifying` | GAPS | `in_progress` | blocked | `gaps_go_back` |
//! | `verifying`, third time | GAPS | `blocked` | as for BLOCKED | `third_gaps` |
//! | `verifying` | VERIFIED | `done`, the next unit | blocked, next unit | `starts_the_next` |
//! | `verifying`, the last | VERIFIED | `done`, the review | blocked, the review | `last_unit` |
//! | none: under review | TASK_VERIFIED | delivered | allowed: `complete` | `completes` |
//! | any | BLOCKED | `blocked` | blocked, another unit | `blocked_goes_on` |
//! | any; no other can go on | BLOCKED | `blocked` | allowed, user asked | `blocked_asks` |
//! | any; iterations used up | anything | `timeout` | as for BLOCKED | `timeout_` |
//! | any; cap - 1 blocks in a row | - | stays | allowed: `stalled` | `stalls_before` |
//!
//! What is blocked comes with what remains, or with what is wrong. A lost state is made anew at a
//! Stop only for the session that drives the task. Output is bad that is missing, empty or as it
//! was. From `confirming` back to `in_progress` is the next iteration. The next unit is one whose
//! needs are done. TASK_VERIFIED counts if the outputs are there. With anything else the review
//! goes on; after five turns a person is asked.

pub mod advance;
pub mod output;
pub mod prompt;
pub mod review;
pub mod signal;

use crate::core::gate::Words;
use crate::core::text::clip;
use crate::core::time::Time;
use crate::loops::governor::Stop;
use crate::loops::iterative::document::lifecycle::Status;
use crate::loops::iterative::document::progress::{Entry, NONE, Step};
use crate::loops::iterative::document::task_documents::TaskDocuments;
use crate::loops::iterative::document::{DELIVER, PHASES, VERIFY};
use crate::loops::kind::MOST_ITERATIONS;
use crate::loops::{Ending, Loop, LoopKind, Say, Verdict};
use crate::session::live::Live;
use crate::state::State;
use crate::state::plan::Plan;
use signal::{Signal, UnitSignal};

/// A task as the governor drives it.
pub struct IterativeLoop {
    pub documents: TaskDocuments,
    /// A file was changed since the unit was last said to be done.
    pub changed: bool,
    /// A command has moved the unit in this turn already.
    pub signalled: bool,
    /// A command moves the unit now.
    pub signals: bool,
    /// The session that is said to drive it knows that, and so has seen what was changed.
    is_bound: bool,
}

impl IterativeLoop {
    pub fn new(documents: TaskDocuments, state: &State) -> Self {
        let owner = documents.state.session_id.as_deref();
        let driver = owner.and_then(|id| state.get_by::<Live>(id));
        let driver =
            driver.filter(|live| live.loop_task.as_deref() == Some(documents.slug.as_str()));
        Self {
            changed: driver.is_some_and(|live| {
                let (before, now) = (&live.loop_tree, &documents.seen.tree);
                live.loop_edits > 0 || (before.is_some() && now.is_some() && before != now)
            }),
            signalled: driver.is_some_and(|live| live.loop_signalled),
            signals: false,
            is_bound: driver.is_some(),
            documents,
        }
    }

    fn current_status(&self) -> Option<Status> {
        self.documents.state.unit(self.documents.state.current()?)?.status()
    }

    /// Why nothing drives the task at the moment, if nothing does: it is talked about, or a person
    /// was asked already.
    fn rests(&self) -> Option<String> {
        let state = &self.documents.state;
        match state.phase.as_str() {
            VERIFY if review::is_on(&self.documents) => {
                review::waits(&self.documents).then(|| "the task waits for a person".into())
            }
            "discover" | "plan" | VERIFY | DELIVER => {
                Some(format!("the task is in its phase {}", state.phase))
            }
            "execute" => {
                let waits = state.current().is_none() && state.workable().is_none();
                (waits && !state.all_closed()).then(|| "the task waits for a person".into())
            }
            _ => None,
        }
    }
}

impl Loop for IterativeLoop {
    fn kind(&self) -> LoopKind {
        LoopKind::Iterative
    }

    fn folder(&self) -> &str {
        self.documents.slug.as_str()
    }

    fn noun(&self) -> String {
        format!("task {}", self.documents.slug)
    }

    fn title(&self) -> String {
        title(&self.documents)
    }

    fn command(&self, verb: &str) -> String {
        format!("{} {verb} {}", self.kind().command(), self.documents.slug.word())
    }

    fn owner(&self) -> Option<&str> {
        self.documents.state.session_id.as_deref()
    }

    /// What the driver before it changed, or this session before its record was closed, is forgotten.
    /// An entry about the whole task breaks no rule of the lifecycle.
    fn bind(&mut self, session: &str) {
        let is_own = self.owner() == Some(session);
        if self.owner().is_some() && !(is_own && self.is_bound) {
            let _ = advance::confirm_anew(&mut self.documents);
        }
        if !is_own {
            let mut entry = Entry::of_task("Adopted");
            entry.session = Some(session.to_owned());
            let _ = self.documents.record(entry);
        }
    }

    fn clamp(&mut self) {
        let units = self.documents.state.units().iter();
        let over = units.filter(|(_, unit)| unit.max_iterations > MOST_ITERATIONS);
        let over: Vec<(String, u64)> =
            over.map(|(id, unit)| (id.clone(), unit.iterations_used)).collect();
        for (id, used) in over {
            // One that has used more than that is at its end.
            if advance::limit(&mut self.documents, &id, MOST_ITERATIONS).is_err() {
                let _ = advance::limit(&mut self.documents, &id, used.saturating_add(1));
            }
        }
    }

    fn is_running(&self) -> bool {
        self.documents.state.is_open()
    }

    fn ending(&self) -> &Ending {
        &self.documents.state.ending
    }

    fn is_complete(&self) -> bool {
        self.ending().is_complete() || self.documents.state.phase == "complete"
    }

    fn end(&mut self, verdict: Verdict, why: &str, _: Time) {
        let mut entry = Entry::of_task("Ended");
        entry.verdict = Some(format!("{}: {why}", verdict.name()));
        let _ = self.documents.record(entry);
    }

    fn reopen(&mut self, _: Option<u64>, _: Time) -> Result<(), String> {
        let mut entry = Entry::of_task("Resumed");
        entry.verdict = Some(NONE.to_owned());
        self.documents.record(entry)
    }

    fn begin_next(&mut self) -> Result<(), String> {
        advance::go_on(&mut self.documents)
    }

    fn reason(&self) -> Words {
        prompt::what_is_next(&self.documents)
    }

    fn counter(&self) -> Option<(String, u64)> {
        let TaskDocuments { slug, state, .. } = &self.documents;
        let unit = state.current().filter(|_| self.rests().is_none())?;
        Some((format!("iterative {slug} {} {unit}", state.created), state.current_iteration))
    }

    fn restore_count(&mut self, iteration: u64) {
        let (id, was) = (self.documents.state.current(), self.documents.state.current_iteration);
        let (Some(id), Some(is)) = (id.map(str::to_owned), self.current_status()) else { return };
        let mut entry = Entry::of_unit(&id, iteration);
        entry.did = Some(format!("The count of iterations had been set back to {was}."));
        entry.step = Some(Step::new(is, is, Some(iteration)));
        // It stays where it is, which no rule forbids.
        let _ = self.documents.record(entry);
    }

    fn remind(&self, live: &mut Live) {
        live.loop_signalled |= self.signals;
        if self.documents.begins_to_confirm() {
            live.loop_edits = 0;
            live.loop_tree.clone_from(&self.documents.seen.tree);
        }
    }

    fn check(&mut self, _: &Stop) -> Option<Say> {
        let TaskDocuments { slug, state, .. } = &self.documents;
        if !PHASES.contains(&state.phase.as_str()) {
            let word = slug.word();
            return Some(Say::Wait(format!(
                "HookKeeper: the task {slug} is in an unknown phase ({}), so it does not go on by itself. \
                 `hookkeeper iterative phase {word} execute` mends it.",
                clip(&state.phase, 40),
            )));
        }
        self.rests().map(Say::Rest)
    }

    fn turn(&mut self, stop: &Stop) -> Say {
        let before = self.documents.state.current().map(str::to_owned);
        let word = self.documents.slug.word();
        match self.step(stop) {
            Ok(note) => self.say(before.as_deref(), note, stop.is_told),
            // What is in the files does not fit together: somebody has to look.
            Err(why) => Say::Wait(format!(
                "HookKeeper: the task {} cannot go on: {why}. `hookkeeper iterative rebuild {word}` makes its state anew.",
                self.documents.slug
            )),
        }
    }

    /// What the log corrects is written with the entry that says so.
    fn put(&self, plan: &mut Plan, state: &State) {
        if self.documents.is_changed()
            && (self.documents.has_entries() || self.documents.conflicts.is_empty())
        {
            self.documents.write(plan, state);
        }
    }

    fn put_owner(&self, plan: &mut Plan, state: &State) {
        if self.documents.has_entries() {
            self.documents.write(plan, state);
        }
    }
}

impl IterativeLoop {
    /// One transition at most. What was said and does not count comes back.
    fn step(&mut self, stop: &Stop) -> Result<Option<String>, String> {
        let mut note = None;
        if review::is_on(&self.documents) && !self.signalled {
            let said = UnitSignal::parse_all(stop.message);
            return Ok(review::record_verdict(&mut self.documents, &said).err());
        }
        if self.documents.state.current().is_some() && !self.signalled {
            let said = of_the_unit(&self.documents, UnitSignal::parse_all(stop.message));
            let taken = said.map(|said| advance::signal(&mut self.documents, &said, self.changed));
            if !matches!(taken, Some(Ok(()))) {
                note = taken.and_then(Result::err);
                advance::no_signal(&mut self.documents)?;
            }
        }
        advance::go_on(&mut self.documents)?;
        Ok(note)
    }

    fn say(&self, before: Option<&str>, note: Option<String>, is_told: bool) -> Say {
        let state = &self.documents.state;
        if let Some(verdict) = &state.ending.verdict {
            let why = state.ending.verdict_reason.clone().unwrap_or_default();
            debug_assert_eq!(verdict, Verdict::Complete.name());
            return Say::End(Verdict::Complete, why);
        }
        let prompt = match review::is_on(&self.documents) {
            true => prompt::of_review(&self.documents),
            false => prompt::of_unit(&self.documents, is_told),
        };
        let Some(prompt) = prompt else {
            return Say::Wait(prompt::question(&self.documents));
        };
        let mut lines: Vec<String> = note.map(|note| format!("{note}.")).into_iter().collect();
        lines.extend(self.conflict());
        lines.extend(before.filter(|id| state.current() != Some(id)).and_then(|id| self.ended(id)));
        lines.extend(prompt);
        Say::Go { reason: Words::lines(lines), title: title(&self.documents) }
    }

    fn conflict(&self) -> Option<String> {
        self.documents.conflicts.first()?;
        let all = clip(&self.documents.conflicts.join("; "), 600);
        if self.documents.is_made_anew() {
            return Some(format!("{all}; it was made anew from progress.md."));
        }
        Some(format!(
            "state.json and progress.md did not agree ({all}); the log holds. States change by signals and \
             commands, not by editing the file."
        ))
    }

    fn ended(&self, id: &str) -> Option<String> {
        let unit = self.documents.state.unit(id)?;
        let why = unit.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let is = if unit.is(Status::Timeout) { "has stopped" } else { "is" };
        let status =
            if unit.is(Status::Timeout) { String::new() } else { format!(" {}", unit.status) };
        let mut said = format!("Unit {id} {is}{status}{why}.");
        if !unit.is_closed() {
            let word = self.documents.slug.word();
            said.push_str(&format!(
                " If that is a pattern, keep it: `hookkeeper iterative guardrail {word} 'NAME' --when '…' --problem '…' --solution '…'`."
            ));
        }
        Some(said)
    }
}

/// The signal that counts: of the unit at work, and of several the one that claims least.
fn of_the_unit(documents: &TaskDocuments, said: Vec<UnitSignal>) -> Option<UnitSignal> {
    let current = documents.state.current()?;
    let verifying = documents.state.unit(current).is_some_and(|unit| unit.is(Status::Verifying));
    let rank = |said: &UnitSignal| match said.signal {
        Signal::Blocked(_) => 0,
        Signal::Gaps if verifying => 1,
        Signal::Verified if verifying => 2,
        Signal::Done => 3,
        _ => 4,
    };
    let own = |said: &UnitSignal| said.unit.as_deref().is_none_or(|unit| unit == current);
    let foreign = said.iter().find(|said| !own(said)).cloned();
    said.into_iter().filter(own).min_by_key(rank).or(foreign)
}

/// Which task, and where it stands. For the user: the model is not told what a turn is for.
pub fn title(documents: &TaskDocuments) -> String {
    let state = &documents.state;
    let (done, all) = state.done();
    let at_work = state.current().and_then(|id| Some((id, state.unit(id)?)));
    let place = match at_work {
        Some((id, unit)) => match unit.status() {
            Some(Status::Confirming) => format!("{id} confirmation {}, ", unit.confirmations_used),
            Some(Status::Verifying) => format!("{id} verification, "),
            _ => format!("{id} iteration {} of {}, ", unit.iterations_used, unit.max_iterations),
        },
        None if state.is_open() => format!("phase {}, ", clip(&state.phase, 40)),
        None => String::new(),
    };
    format!("task {} \"{}\", {place}{done} of {all} done", documents.slug, clip(&state.task, 60))
}
