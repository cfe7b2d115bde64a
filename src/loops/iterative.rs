//! Iterative tasks: each unit is worked on, confirmed with the same prompt, verified, and then the
//! next one comes whose needs are done.

pub mod advance;
pub mod prompt;
pub mod signal;

use super::governor::{Loop, Stop};
use super::{Say, Verdict};
use crate::books::clip;
use crate::books::iterative::PHASES;
use crate::books::iterative::book::Book;
use crate::books::iterative::lifecycle::Status;
use crate::time::Time;
use signal::{Said, Signal};

/// A task as the governor drives it.
pub struct Driven {
    pub book: Book,
    /// A file was changed since the unit was last said to be done.
    pub changed: bool,
    /// A command has moved the unit in this turn already.
    pub signalled: bool,
}

impl Loop for Driven {
    fn is_over(&self) -> bool {
        !self.book.state.is_open()
    }

    fn check(&mut self, _: &Stop) -> Option<Say> {
        let phase = &self.book.state.phase;
        if PHASES.contains(&phase.as_str()) {
            return None;
        }
        Some(Say::Wait(format!(
            "HookKeeper: the task {} is in an unknown phase ({}), so it does not go on by itself. \
             `hookkeeper iterative phase {} execute` mends it.",
            self.book.slug,
            clip(phase, 40),
            self.book.slug
        )))
    }

    fn turn(&mut self, stop: &Stop) -> Say {
        let before = self.book.state.current().map(str::to_owned);
        match self.step(stop) {
            Ok(note) => self.say(before.as_deref(), note),
            // What is in the files does not fit together: somebody has to look.
            Err(why) => Say::Wait(format!(
                "HookKeeper: the task {} cannot go on: {why}. `hookkeeper iterative rebuild {}` makes its state anew.",
                self.book.slug, self.book.slug
            )),
        }
    }

    fn end(&mut self, verdict: Verdict, why: &str, _: Time) {
        // A verdict breaks no rule of the lifecycle.
        let _ = advance::end(&mut self.book, verdict, why);
    }

    fn title(&self) -> String {
        title(&self.book)
    }

    fn resume(&self) -> &'static str {
        "hookkeeper iterative resume"
    }
}

impl Driven {
    /// One transition at most. What was said and does not count comes back.
    fn step(&mut self, stop: &Stop) -> Result<Option<String>, String> {
        let mut note = None;
        if self.book.state.current().is_some() && !self.signalled {
            let said = of_the_unit(&self.book, Said::all(stop.message));
            let taken = said.map(|said| advance::signal(&mut self.book, &said, self.changed));
            if !matches!(taken, Some(Ok(()))) {
                note = taken.and_then(Result::err);
                advance::no_signal(&mut self.book)?;
            }
        }
        advance::go_on(&mut self.book)?;
        Ok(note)
    }

    fn say(&self, before: Option<&str>, note: Option<String>) -> Say {
        let state = &self.book.state;
        if let Some(verdict) = &state.verdict {
            let why = state.verdict_reason.clone().unwrap_or_default();
            debug_assert_eq!(verdict, Verdict::Complete.name());
            return Say::End(Verdict::Complete, why);
        }
        let Some(prompt) = prompt::of(&self.book) else {
            return Say::Wait(prompt::question(&self.book));
        };
        let mut lines: Vec<String> = note.map(|note| format!("{note}.")).into_iter().collect();
        lines.extend(self.conflict());
        lines.extend(before.filter(|id| state.current() != Some(id)).and_then(|id| self.ended(id)));
        lines.push(prompt);
        Say::Go { reason: lines.join("\n"), title: title(&self.book) }
    }

    fn conflict(&self) -> Option<String> {
        self.book.conflicts.first()?;
        let all = clip(&self.book.conflicts.join("; "), 600);
        Some(format!(
            "state.json and progress.md did not agree ({all}); the log holds. States change by signals and \
             commands, not by editing the file."
        ))
    }

    fn ended(&self, id: &str) -> Option<String> {
        let unit = self.book.state.unit(id)?;
        let why = unit.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let is = if unit.is(Status::Timeout) { "has stopped" } else { "is" };
        let status =
            if unit.is(Status::Timeout) { String::new() } else { format!(" {}", unit.status) };
        let mut said = format!("Unit {id} {is}{status}{why}.");
        if !unit.is_closed() {
            said.push_str(&format!(
                " If that is a pattern, keep it: `hookkeeper iterative guardrail {} 'NAME' --when '…' --problem '…' --solution '…'`.",
                self.book.slug
            ));
        }
        Some(said)
    }
}

/// The signal that counts: of the unit at work, and of several the one that claims least.
fn of_the_unit(book: &Book, said: Vec<Said>) -> Option<Said> {
    let current = book.state.current()?;
    let verifying = book.state.unit(current).is_some_and(|unit| unit.is(Status::Verifying));
    let rank = |said: &Said| match said.signal {
        Signal::Blocked(_) => 0,
        Signal::Gaps if verifying => 1,
        Signal::Verified if verifying => 2,
        Signal::Done => 3,
        _ => 4,
    };
    let own = |said: &Said| said.unit.as_deref().is_none_or(|unit| unit == current);
    let foreign = said.iter().find(|said| !own(said)).cloned();
    said.into_iter().filter(own).min_by_key(rank).or(foreign)
}

/// Which task, and where it stands. For the user: the model is not told what a turn is for.
pub fn title(book: &Book) -> String {
    let state = &book.state;
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
    format!("task {} \"{}\", {place}{done} of {all} done", book.slug, clip(&state.task, 60))
}
