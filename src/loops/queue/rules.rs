//! The loop of the work queue: iterations with gates and items, two passes in a row complete it.

use std::path::Path;

use crate::core::gate::Words;
use crate::core::text::{Extra, clip, in_parentheses};
use crate::core::time::{self, Time};
use crate::loops::governor::Stop;
use crate::loops::kind::{MOST_ITERATIONS, MOST_MINUTES, new_limit};
use crate::loops::queue::document::{PASSES, Past, Queue};
use crate::loops::queue::page::LoopStateText;
use crate::loops::queue::phase::{self, PHASES, Step};
use crate::loops::queue::progress::{self, Evidence, STALL};
use crate::loops::queue::render;
use crate::loops::{
    Ending, Loop, LoopKind, SHORT_FROM, Say, Verdict, checkout_digest, iteration_limit, time_limit,
};
use crate::session::live::Live;
use crate::session::queue_note::QueueNote;
use crate::state::plan::Plan;
use crate::state::{Document as _, State};
use crate::turn::context::Facts;

const SHOWN: usize = 12;
const SHOWN_SHORT: usize = 5;
pub const MAX_ITERATIONS: u64 = 50;

/// So much of its task is kept beside its file.
const KEPT_TASK: usize = 500;
const KEPT_GATES: usize = 50;

/// The queue as the governor drives it.
#[derive(Default)]
pub struct QueueLoop {
    pub queue: Queue,
    pub evidence: Evidence,
    /// What was wrong with its file, where it was made anew.
    pub lost: Option<String>,
}

impl Loop for QueueLoop {
    fn kind(&self) -> LoopKind {
        LoopKind::Queue
    }

    fn title(&self) -> String {
        title(&self.queue)
    }

    fn owner(&self) -> Option<&str> {
        self.queue.session_id.as_deref()
    }

    fn bind(&mut self, session: &str) {
        self.queue.session_id = Some(session.to_owned());
    }

    fn clamp(&mut self) {
        self.queue.max_iterations = self.queue.max_iterations.map(|most| most.min(MOST_ITERATIONS));
        self.queue.max_minutes = self.queue.max_minutes.map(|most| most.min(MOST_MINUTES));
    }

    fn is_running(&self) -> bool {
        self.queue.is_running()
    }

    fn ending(&self) -> &Ending {
        &self.queue.ending
    }

    fn end(&mut self, verdict: Verdict, why: &str, now: Time) {
        end(&mut self.queue, verdict, why.to_owned(), now);
    }

    fn reopen(&mut self, most: Option<u64>, now: Time) -> Result<(), String> {
        let queue = &mut self.queue;
        // An iteration that is in the history is over.
        let is_over = queue.history.last().is_some_and(|past| past.iteration >= queue.iteration);
        let iteration = queue.iteration + u64::from(is_over);
        let limit = queue.max_iterations.unwrap_or(MAX_ITERATIONS);
        queue.max_iterations = Some(new_limit(most, limit, iteration)?);
        queue.iteration = iteration;
        queue.ending = Ending::default();
        progress::begin(queue, &self.evidence);
        let phase = queue.phase.as_deref().unwrap_or_default();
        let word = PHASES.iter().find(|(name, _)| *name == phase);
        queue.status = word.map_or("BUILDING", |(_, word)| word).into();
        // Its time begins anew: what has passed since it ended is not its own.
        queue.started_at = Some(time::spell(now));
        Ok(())
    }

    fn reason(&self) -> Words {
        reason(&self.queue)
    }

    fn keep(&self, live: &mut Live) {
        let Queue { task, phase, started_at, gates, max_iterations, max_minutes, .. } = &self.queue;
        live.loop_queue = self.queue.is_running().then(|| QueueNote {
            task: clip(task.as_deref().unwrap_or_default(), KEPT_TASK),
            phase: phase.clone().unwrap_or_default(),
            started_at: started_at.clone().unwrap_or_default(),
            gates: gates.iter().take(KEPT_GATES).cloned().collect(),
            max_iterations: *max_iterations,
            max_minutes: *max_minutes,
            extra: Extra::new(),
        });
    }

    fn counter(&self) -> Option<(String, u64)> {
        Some((counter_name(&self.queue), self.queue.iteration))
    }

    fn restore_count(&mut self, iteration: u64) {
        self.queue.iteration = iteration;
    }

    fn put(&self, plan: &mut Plan, state: &State) {
        if let Some(why) = &self.lost {
            say_lost(why, self.queue.iteration, state);
        }
        if state.get::<Queue>() != Some(&self.queue) {
            put(plan, &self.queue, state);
        }
    }

    /// Its phase follows at the next Stop.
    fn put_owner(&self, plan: &mut Plan, state: &State) {
        let read = state.read::<Queue>(&());
        let owner = read.value.and_then(|queue| queue.session_id.as_ref());
        if self.lost.is_some() || owner == self.queue.session_id.as_ref() {
            return;
        }
        // Items have changed with the same event.
        let planned = plan.take_put(&read);
        let queue = planned.unwrap_or_else(|| self.queue.clone());
        plan.put(&read, &Queue { session_id: self.queue.session_id.clone(), ..queue });
    }

    /// Nothing ends it between two iterations but its time limit, which ends the iteration too. A
    /// phase that we do not know is somebody's work that we do not understand.
    fn check(&mut self, stop: &Stop) -> Option<Say> {
        if let Some(odd) = unknown_phase(&self.queue) {
            return Some(Say::Wait(format!(
                "HookKeeper: the {} is in an unknown phase ({odd}), so it does not go on by itself. \
                 `hookkeeper loop phase BUILD` mends it.",
                title(&self.queue)
            )));
        }
        let started = self.queue.started_at.clone().unwrap_or_default();
        time_limit(&started, self.queue.max_minutes, stop.now)
            .map(|_| self.end_iteration(stop.tools_ran, stop.is_told, stop.now))
    }

    fn turn(&mut self, stop: &Stop) -> Say {
        self.end_iteration(stop.tools_ran, stop.is_told, stop.now)
    }
}

impl QueueLoop {
    /// Looks at the checkout, if nothing else tells that the work has moved.
    pub fn look(&mut self, facts: &dyn Facts, root: &Path) {
        if progress::needs_tree(&self.queue, &self.evidence) {
            let head = self.evidence.head.as_deref();
            self.evidence.tree = checkout_digest::of_repository(facts, root, head);
        }
    }

    /// The end of an iteration: at a Stop, or when the model asks for the next one. `is_told`: it has
    /// heard how the loop works.
    pub fn end_iteration(&mut self, tools_ran: bool, is_told: bool, now: Time) -> Say {
        if let Some(said) = end_iteration(&mut self.queue, &self.evidence, tools_ran, now) {
            return said;
        }
        // By the third time the rest is known.
        let is_short = is_told && self.queue.iteration >= SHORT_FROM;
        let reason = if is_short { short_reason(&self.queue) } else { reason(&self.queue) };
        let title = title(&self.queue);
        match &self.lost {
            Some(why) => {
                let lost = format!(
                    "{} {why}: it was made anew from LOOP_STATE.md and this session's record. \
                     Look through its items; gates have to pass again.",
                    Queue::doc(&()).path()
                );
                let mut words = Words::lines([lost]);
                words.add(&reason);
                Say::Go { reason: words, title }
            }
            None => Say::Go { reason, title },
        }
    }
}

/// Under what name a session remembers the iteration of the loop.
pub fn counter_name(queue: &Queue) -> String {
    format!("queue {}", queue.started_at.as_deref().unwrap_or_default())
}

/// The queue, and if it has a loop what people read of that.
pub fn put(plan: &mut Plan, queue: &Queue, state: &State) {
    plan.put(&state.read::<Queue>(&()), queue);
    let read = state.read::<LoopStateText>(&());
    if queue.status != "none" && read.value.is_none_or(|text| render::is_ours(&text.0)) {
        plan.put(&read, &LoopStateText(render::markdown(queue)));
    }
}

/// The file as it was is kept, if there was one, and the user hears of it.
fn say_lost(why: &str, iteration: u64, state: &State) {
    let read = state.read::<Queue>(&());
    let aside = if read.is_frozen() { state.put_aside(&read, why) } else { None };
    let aside = aside.map(|aside| format!(" The file as it was is now {aside}."));
    let path = read.doc().path();
    state.remark(
        format!("queue/{iteration}/{why}"),
        format!(
            "HookKeeper: {path} {why}; it was made anew from LOOP_STATE.md and the session's record.{}",
            aside.unwrap_or_default()
        ),
    );
}

fn unknown_phase(queue: &Queue) -> Option<String> {
    let phase = queue.phase.as_ref().filter(|phase| PHASES.iter().all(|(name, _)| name != phase));
    let status = PHASES.iter().all(|(_, word)| *word != queue.status).then_some(&queue.status);
    phase.or(status).map(|word| clip(word, 40))
}

/// A new loop. Items that waited without one are inherited.
pub fn start(
    queue: &mut Queue,
    task: &str,
    session: Option<String>,
    evidence: &Evidence,
    now: Time,
) {
    queue.task = Some(task.to_owned());
    queue.session_id = session;
    queue.started_at = Some(time::spell(now));
    queue.iteration = 1;
    queue.consecutive_passes = 0;
    queue.status = "CONTEXTUALIZING".into();
    queue.phase = Some("CONTEXTUALIZE".into());
    queue.gate_results.clear();
    queue.history.clear();
    queue.ending = Ending::default();
    queue.drop_finished();
    for item in &mut queue.items {
        item.added_iteration = 1;
    }
    progress::begin(queue, evidence);
}

/// How the loop ends with this iteration; `None`: the next one begins. `tools_ran`: something was done
/// in it, as far as is known.
fn end_iteration(
    queue: &mut Queue,
    evidence: &Evidence,
    tools_ran: bool,
    now: Time,
) -> Option<Say> {
    let started = queue.started_at.as_deref().unwrap_or_default();
    if let Some(why) = time_limit(started, queue.max_minutes, now) {
        return Some(end(queue, Verdict::Capped, why, now));
    }
    let (failing, not_run) = (queue.failing(), queue.not_run());
    let passed = queue.passes();
    let iteration = queue.iteration;
    let count = |at: fn(&crate::loops::queue::document::Item) -> Option<u64>| {
        queue.items.iter().filter(|item| at(item) == Some(iteration)).count() as u64
    };
    let past = Past {
        iteration,
        fixed: count(|item| item.completed_iteration),
        found: count(|item| Some(item.added_iteration)),
        passed,
        failing,
        not_run,
        ..Past::default()
    };
    queue.history.push(past);
    queue.consecutive_passes = if passed { queue.consecutive_passes + 1 } else { 0 };
    if queue.consecutive_passes >= PASSES {
        let why = format!("all gates passed and no item was open, {PASSES} iterations in a row");
        return Some(end(queue, Verdict::Complete, why, now));
    }
    if tools_ran && progress::is_stalled(queue, evidence) && !passed {
        let why = format!(
            "{STALL} iterations in a row without a commit, a file that a tool changed, another result of a gate, or an item closed or added"
        );
        return Some(end(queue, Verdict::Stalled, why, now));
    }
    let most = queue.max_iterations.unwrap_or(MAX_ITERATIONS);
    if let Some(why) = iteration_limit(iteration, most) {
        return Some(end(queue, Verdict::Capped, why, now));
    }
    let is_failing = !queue.failing().is_empty();
    phase::step(queue, Step::Ends { is_failing });
    queue.iteration += 1;
    None
}

pub fn end(queue: &mut Queue, verdict: Verdict, why: String, now: Time) -> Say {
    queue.ending = Ending::new(verdict, &why, now);
    queue.status = verdict.name().to_uppercase();
    Say::End(verdict, why)
}

/// Which loop, and where it stands.
pub fn title(queue: &Queue) -> String {
    let most = queue.max_iterations.unwrap_or(MAX_ITERATIONS);
    let task = clip(queue.task.as_deref().unwrap_or("no task"), 80);
    format!("loop \"{task}\", iteration {} of {most}", queue.iteration)
}

/// What is left to do, without how.
fn short_reason(queue: &Queue) -> Words {
    let mut lines = left(queue, SHOWN_SHORT);
    lines.extend(lacks_all(queue));
    lines.push(format!(
        "{} of {PASSES} passes in a row. `hookkeeper loop status` says more.",
        queue.consecutive_passes
    ));
    Words::lines(lines)
}

/// Which loop it is, its open items, its gates that have not passed.
fn left(queue: &Queue, most: usize) -> Vec<String> {
    let mut lines = vec![format!("The {} goes on.", title(queue))];
    let open = queue.open();
    if !open.is_empty() {
        lines.push("Open items, most urgent first:".into());
        for item in open.iter().take(most) {
            let doing = if item.status == "in_progress" { ", in progress" } else { "" };
            let place = in_parentheses(item.file.as_deref(), item.line);
            let (id, priority) = (&item.id, &item.priority);
            lines.push(format!("- {id} {priority}{doing}: {}{place}", clip(&item.title, 160)));
        }
        if open.len() > most {
            lines.push(format!("- and {} more: `hookkeeper queue list`", open.len() - most));
        }
    }
    for name in queue.gate_names() {
        let Some(gate) = queue.gate(&name) else {
            lines.push(format!("Gate {name}: not run yet."));
            continue;
        };
        if gate.iteration != Some(queue.iteration) && gate.is_good() {
            lines.push(format!("Gate {name}: passed before, not yet in this iteration."));
        } else if !gate.is_good() {
            let last =
                gate.last_line.as_deref().or(gate.note.as_deref()).unwrap_or("no output kept");
            lines.push(format!("Gate {name}: {}: {}", gate.status, clip(last, 200)));
        }
    }
    lines
}

/// What has to be said of a loop that nothing can complete.
fn lacks_all(queue: &Queue) -> Option<String> {
    let has_items = queue.items.len() > queue.expired();
    let lacks = queue.gate_names().is_empty() && !has_items;
    lacks.then(|| {
        "It has no gate and no item yet, so it cannot be completed: add what has to be done \
         (`hookkeeper queue add --priority S1 --title …`) and what has to pass \
         (`hookkeeper run-gate test -- CMD…`)."
            .into()
    })
}

/// What the model is told: it may have just lost its context.
pub fn reason(queue: &Queue) -> Words {
    let mut lines = left(queue, SHOWN);
    lines.extend(lacks_all(queue));
    lines.push(format!(
        "It is complete after {PASSES} iterations in a row in which every gate passed and no item is open \
         ({} so far). Items: `hookkeeper queue start ID`, `hookkeeper queue done ID`. Gates: `hookkeeper run-gate NAME -- CMD…`. \
         State: .claude/state/loop/LOOP_STATE.md, .claude/state/loop/work_queue.json.",
        queue.consecutive_passes
    ));
    Words::lines(lines)
}
