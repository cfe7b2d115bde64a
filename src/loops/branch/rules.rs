//! The loop of a branch: one prompt, again and again, until the promise is made.

use crate::branch::document::{BranchLoop, BranchState};
use crate::core::gate::Words;
use crate::core::id::BranchKey;
use crate::core::text::{clip, clip_block};
use crate::core::time::{self, Time};
use crate::loops::governor::Stop;
use crate::loops::kind::{MOST_ITERATIONS, MOST_MINUTES, new_limit};
use crate::loops::{
    Ending, Loop, LoopKind, SHORT_FROM, Say, Verdict, iteration_limit, promise, time_limit,
};
use crate::state::plan::Plan;
use crate::state::{Document, State};

pub const MAX_ITERATIONS: u64 = 15;
pub const PROMISE: &str = "BUILD COMPLETE";
const LONGEST_PROMPT: usize = 2500;
const SHORT_PROMPT: usize = 600;

/// The loop of a branch, taken out of the branch's state.
#[derive(Clone)]
pub struct DrivenBranch {
    pub the_loop: BranchLoop,
    /// The branch that it belongs to.
    pub branch: String,
    pub key: BranchKey,
    /// The branch that is checked out, if it is another one.
    pub elsewhere: Option<String>,
}

impl DrivenBranch {
    /// The task again, and what ends it.
    fn short_reason(&self) -> Words {
        let mut lines = vec![format!("The {} goes on. Its task:", self.title())];
        lines.extend(self.task(SHORT_PROMPT));
        let promise = &self.the_loop.completion_promise;
        lines.push(format!("Complete with <promise>{promise}</promise> alone on a line."));
        lines.extend(self.belongs());
        Words::lines(lines)
    }

    /// The prompt may have several lines; none of them may look like one of ours.
    fn task(&self, longest: usize) -> Vec<String> {
        let task = clip_block(&self.the_loop.prompt, longest);
        let indent = if task.trim_end().contains('\n') { "  " } else { "" };
        task.lines().map(|line| format!("{indent}{line}").trim_end().to_owned()).collect()
    }

    fn belongs(&self) -> Option<String> {
        let other = self.elsewhere.as_ref()?;
        Some(format!("It belongs to branch {}; the checkout is on {other} now.", self.branch))
    }
}

impl Loop for DrivenBranch {
    fn kind(&self) -> LoopKind {
        LoopKind::Branch
    }

    fn folder(&self) -> &str {
        self.key.as_str()
    }

    fn title(&self) -> String {
        let BranchLoop { prompt, iteration, max_iterations, .. } = &self.the_loop;
        let prompt = clip(prompt, 60);
        format!(
            "loop of branch {} \"{prompt}\", iteration {iteration} of {max_iterations}",
            self.branch
        )
    }

    fn owner(&self) -> Option<&str> {
        self.the_loop.session_id.as_deref()
    }

    fn bind(&mut self, session: &str) {
        self.the_loop.session_id = Some(session.to_owned());
    }

    fn clamp(&mut self) {
        self.the_loop.max_iterations = self.the_loop.max_iterations.min(MOST_ITERATIONS);
        self.the_loop.max_minutes = self.the_loop.max_minutes.map(|most| most.min(MOST_MINUTES));
    }

    fn is_running(&self) -> bool {
        self.the_loop.is_running()
    }

    fn ending(&self) -> &Ending {
        &self.the_loop.ending
    }

    fn end(&mut self, verdict: Verdict, why: &str, now: Time) {
        self.the_loop.active = false;
        self.the_loop.ending = Ending::new(verdict, why, now);
    }

    fn reopen(&mut self, most: Option<u64>, now: Time) -> Result<(), String> {
        let the_loop = &mut self.the_loop;
        the_loop.max_iterations = new_limit(most, the_loop.max_iterations, the_loop.iteration)?;
        the_loop.active = true;
        the_loop.ending = Ending::default();
        the_loop.started_at = time::spell(now);
        Ok(())
    }

    fn reason(&self) -> Words {
        let mut lines = vec![format!("The {} goes on. Its task:", self.title())];
        lines.extend(self.task(LONGEST_PROMPT));
        lines.push(format!(
            "It is complete when a message has <promise>{}</promise> alone on a line, and that is true. State: {}",
            self.the_loop.completion_promise,
            BranchState::doc(&self.key).path()
        ));
        lines.extend(self.belongs());
        Words::lines(lines)
    }

    fn counter(&self) -> Option<(String, u64)> {
        Some((format!("branch {}", self.the_loop.started_at), self.the_loop.iteration))
    }

    fn restore_count(&mut self, iteration: u64) {
        self.the_loop.iteration = iteration;
    }

    fn check(&mut self, stop: &Stop) -> Option<Say> {
        let BranchLoop { completion_promise, started_at, .. } = &self.the_loop;
        if promise::is_made(stop.message, completion_promise) {
            let why = format!("the promise {completion_promise} was made");
            return Some(self.finish(Verdict::Complete, why, stop.now));
        }
        let why = time_limit(started_at, self.the_loop.max_minutes, stop.now)
            .or_else(|| iteration_limit(self.the_loop.iteration, self.the_loop.max_iterations))?;
        Some(self.finish(Verdict::Capped, why, stop.now))
    }

    fn turn(&mut self, stop: &Stop) -> Say {
        self.the_loop.iteration += 1;
        let is_short = stop.is_told && self.the_loop.iteration >= SHORT_FROM;
        let reason = if is_short { self.short_reason() } else { self.reason() };
        Say::Go { reason, title: self.title() }
    }

    fn put(&self, plan: &mut Plan, state: &State) {
        let read = state.read::<BranchState>(&self.key);
        let before = read.value.and_then(|before| before.the_loop.as_ref());
        if before != Some(&self.the_loop) {
            let fresh = || BranchState { branch: self.branch.clone(), ..BranchState::default() };
            let mut after = read.value.cloned().unwrap_or_else(fresh);
            after.the_loop = Some(self.the_loop.clone());
            plan.put(&read, &after);
        }
    }
}
