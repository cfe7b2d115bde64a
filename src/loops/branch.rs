//! The loop of a branch: one prompt, again and again, until the promise is made.

use super::governor::{Loop, Stop};
use super::{Say, Verdict, is_out_of_time, promise};
use crate::books::branch::BranchLoop;
use crate::books::{clip, clip_block};
use crate::time::{self, Time};

pub const MAX_ITERATIONS: u64 = 15;
pub const PROMISE: &str = "BUILD COMPLETE";
const LONGEST_PROMPT: usize = 2500;

pub struct Driven {
    pub the_loop: BranchLoop,
    /// The branch that it belongs to.
    pub branch: String,
    /// Where its state is.
    pub file: String,
    /// The branch that is checked out, if it is another one.
    pub elsewhere: Option<String>,
}

impl Loop for Driven {
    fn is_over(&self) -> bool {
        !self.the_loop.is_running()
    }

    fn check(&mut self, stop: &Stop) -> Option<Say> {
        if promise::is_made(stop.message, &self.the_loop.completion_promise) {
            let why = format!("the promise {} was made", self.the_loop.completion_promise);
            return Some(self.over(Verdict::Complete, why, stop.now));
        }
        if is_out_of_time(&self.the_loop.started_at, self.the_loop.max_minutes, stop.now) {
            let minutes = self.the_loop.max_minutes.unwrap_or(0);
            let why = format!("the time limit of {minutes} minutes");
            return Some(self.over(Verdict::Capped, why, stop.now));
        }
        if self.the_loop.iteration >= self.the_loop.max_iterations {
            let why = format!("the limit of {} iterations", self.the_loop.max_iterations);
            return Some(self.over(Verdict::Capped, why, stop.now));
        }
        None
    }

    fn turn(&mut self, _: &Stop) -> Say {
        self.the_loop.iteration += 1;
        Say::Go { reason: self.reason(), title: self.title() }
    }

    fn end(&mut self, verdict: Verdict, why: &str, now: Time) {
        self.over(verdict, why.to_owned(), now);
    }

    fn title(&self) -> String {
        let BranchLoop { prompt, iteration, max_iterations, .. } = &self.the_loop;
        let prompt = clip(prompt, 60);
        format!(
            "loop of branch {} \"{prompt}\", iteration {iteration} of {max_iterations}",
            self.branch
        )
    }

    fn resume(&self) -> &'static str {
        "hookkeeper branch loop resume"
    }
}

impl Driven {
    pub fn reason(&self) -> String {
        let mut lines = vec![
            format!("The {} goes on. Its task:", self.title()),
            clip_block(&self.the_loop.prompt, LONGEST_PROMPT),
        ];
        lines.push(format!(
            "It is complete when a message says <promise>{}</promise> and that is true. State: {}",
            self.the_loop.completion_promise, self.file
        ));
        if let Some(other) = &self.elsewhere {
            lines.push(format!(
                "It belongs to branch {}; the checkout is on {other} now.",
                self.branch
            ));
        }
        lines.join("\n")
    }

    fn over(&mut self, verdict: Verdict, why: String, now: Time) -> Say {
        self.the_loop.active = false;
        self.the_loop.verdict = Some(verdict.name().into());
        self.the_loop.verdict_at = Some(time::spell(now));
        self.the_loop.verdict_reason = Some(why.clone());
        Say::End(verdict, why)
    }
}
