//! Which phase the loop is in: `status` and `phase` move by what happens ([`next`]), and
//! `loop phase` corrects what that gets wrong. A loop starts in CONTEXTUALIZE.
//!
//! A tool call is noted in the live record, and only where it leads to another phase: the first
//! call of an iteration and its first change are written there anyway. The queue and LOOP_STATE.md
//! follow at the next Stop, gate or item.

use crate::core::event::Event;
use crate::loops::queue::document::Queue;
use crate::session::live::Live;

/// The phases and what the status says in them.
pub const PHASES: [(&str, &str); 8] = [
    ("CONTEXTUALIZE", "CONTEXTUALIZING"),
    ("ASSESS", "ASSESSING"),
    ("PLAN", "PLANNING"),
    ("BUILD", "BUILDING"),
    ("TEST", "TESTING"),
    ("QUALITY", "CHECKING"),
    ("EVALUATE", "EVALUATING"),
    ("RECOVER", "RECOVERING"),
];

/// What happens in an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Any other tool call.
    Looks,
    /// A list of what to do (`TodoWrite`, plan mode), or an item that is added or begun.
    Plans,
    /// A tool call that changes a file outside of `.claude/state`.
    Changes,
    /// A gate that passes, or warns; whether its name says that it runs tests.
    Passes { is_test: bool },
    /// A gate that fails.
    Fails,
    /// The iteration is over; whether a gate fails.
    Ends { is_failing: bool },
}

/// The phase after a step, if it is another one.
pub fn next(phase: &str, step: Step) -> Option<&'static str> {
    let is_before_work = matches!(phase, "CONTEXTUALIZE" | "ASSESS" | "EVALUATE" | "");
    let to = match step {
        // Whoever looks round while building or mending still builds or mends.
        Step::Looks if phase == "EVALUATE" => "ASSESS",
        Step::Plans if is_before_work => "PLAN",
        Step::Looks | Step::Plans => return None,
        Step::Changes => "BUILD",
        Step::Passes { is_test: true } => "TEST",
        Step::Passes { is_test: false } => "QUALITY",
        Step::Fails | Step::Ends { is_failing: true } => "RECOVER",
        Step::Ends { is_failing: false } => "EVALUATE",
    };
    (to != phase).then_some(to)
}

/// The word of a phase, if there is such a phase.
fn word(phase: &str) -> Option<&'static str> {
    PHASES.iter().find(|(name, _)| *name == phase).map(|(_, word)| *word)
}

/// The phase that a status is the word of.
pub fn of_status(status: &str) -> Option<&'static str> {
    PHASES.iter().find(|(_, word)| *word == status).map(|(name, _)| *name)
}

/// The queue after a step in it. A phase that we do not know is somebody's, and stays.
pub fn step(queue: &mut Queue, step: Step) {
    let phase = queue.phase.as_deref().unwrap_or_default();
    if let Some(phase) = next(phase, step) {
        set(queue, phase);
    }
}

/// Says which phase the loop is in, if it runs and is in one that we know.
pub fn set(queue: &mut Queue, phase: &str) {
    let is_known = queue.phase.as_deref().is_none_or(|phase| word(phase).is_some())
        && of_status(&queue.status).is_some();
    if let Some(word) = word(phase).filter(|_| queue.is_running() && is_known) {
        queue.phase = Some(phase.to_owned());
        queue.status = word.into();
    }
}

/// A tool call of a session that drives the loop: noted in its record only where the phase is
/// another one by it.
pub fn note(live: &mut Live, step: Step) {
    if let Some(note) = &mut live.loop_queue
        && let Some(phase) = next(&note.phase, step)
    {
        note.phase = phase.to_owned();
    }
}

/// What a tool call is, as far as its name says that.
pub fn of_call(event: &Event) -> Step {
    match event.tool_name().as_str() {
        "TodoWrite" | "TaskCreate" | "EnterPlanMode" | "ExitPlanMode" => Step::Plans,
        _ => Step::Looks,
    }
}

/// Whether a gate's name says that it runs tests.
pub fn is_test(gate: &str) -> bool {
    let gate = gate.to_lowercase();
    ["test", "spec", "e2e", "unit", "coverage"].iter().any(|word| gate.contains(word))
}

/// The queue in the phase that the session which drives it was last seen in.
pub fn catch_up(queue: &mut Queue, driver: Option<&Live>) {
    if let Some(note) = driver.and_then(|live| live.loop_queue.as_ref()) {
        set(queue, &note.phase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_goes_its_way_by_itself() {
        use Step::{Changes, Ends, Fails, Looks, Passes, Plans};
        let way = [
            (Looks, "CONTEXTUALIZE"),
            (Plans, "PLAN"),
            (Looks, "PLAN"),
            (Changes, "BUILD"),
            (Plans, "BUILD"),
            (Passes { is_test: false }, "QUALITY"),
            (Fails, "RECOVER"),
            (Looks, "RECOVER"),
            (Changes, "BUILD"),
            (Passes { is_test: true }, "TEST"),
            (Ends { is_failing: false }, "EVALUATE"),
            (Looks, "ASSESS"),
            (Ends { is_failing: true }, "RECOVER"),
        ];
        let mut queue = Queue { status: "CONTEXTUALIZING".into(), ..Queue::default() };
        queue.phase = Some("CONTEXTUALIZE".into());
        for (seen, phase) in way {
            step(&mut queue, seen);
            let status = word(phase).unwrap();
            assert_eq!(
                (queue.phase.as_deref(), queue.status.as_str()),
                (Some(phase), status),
                "{seen:?}"
            );
        }
        assert!(is_test("unit-tests") && is_test("e2e") && !is_test("lint"));
    }

    #[test]
    fn a_phase_of_somebody_else_and_a_loop_that_has_ended_stay() {
        for (phase, status) in [("DREAM", "DREAMING"), ("BUILD", "COMPLETE"), ("BUILD", "none")] {
            let mut queue = Queue { status: status.into(), ..Queue::default() };
            queue.phase = Some(phase.into());
            let before = queue.clone();
            step(&mut queue, Step::Fails);
            assert_eq!(queue, before);
        }
    }
}
