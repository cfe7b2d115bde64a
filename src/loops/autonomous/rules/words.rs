//! What the model and the user are told of an autonomous loop.

use crate::core::gate::Words;
use crate::core::text::clip;
use crate::loops::SHORT_FROM;
use crate::loops::autonomous::document::{Autonomous, Receipt};
use crate::loops::autonomous::rules::phase::Phase;
use crate::state::Document;

/// The client gives the model that much.
const LONGEST: usize = 3900;
const APPROACHES: usize = 6;

/// Which loop, and where it stands.
pub fn title(state: &Autonomous) -> String {
    format!(
        "autonomous loop \"{}\", phase {}, iteration {} of {}",
        clip(&state.feature, 80),
        clip(&state.phase, 40),
        state.iteration(),
        state.max_iterations
    )
}

/// What the model is told: it may have just lost its context.
pub fn reason(state: &Autonomous, phase: Phase, first: &[String]) -> Words {
    let mut lines = first.to_vec();
    lines.push(format!("The {} goes on.", title(state)));
    lines.push(format!(
        "Phase {} (iteration {} of {} in it): {}",
        phase.name(),
        state.phase_iteration.max(1),
        state.max_phase_iterations,
        phase.task()
    ));
    lines.push(format!(
        "It ends with `{}` (`--failed-approach '…'` for each approach that failed).",
        phase.command()
    ));
    lines.extend(asks_for(state, phase).map(str::to_owned));
    if phase == Phase::Ship {
        lines.push(format!(
            "The loop is complete when a message has <promise>{}</promise> alone on a line, and that is true.",
            clip(&state.completion_promise, 200)
        ));
    }
    lines.push(format!("Read first: {}.", sources(state).join(", ")));
    if let Some(last) = state.checkpoints.last() {
        let (phase, summary) = (clip(&last.phase, 40), clip(&last.summary, 600));
        lines.push(format!("Last checkpoint ({phase}): {summary}"));
    }
    if let Some(error) = state.errors.last() {
        let (phase, message) = (clip(&error.phase, 40), clip(&error.message, 200));
        lines.push(format!("Last error ({phase}): {message}"));
    }
    lines.extend(failed_approaches(state));
    Words::lines(lines).clipped(LONGEST)
}

/// What a stop is answered with: where the model has heard of the phase, only how it ends.
pub fn at_stop(state: &Autonomous, phase: Phase, first: &[String], is_told: bool) -> Words {
    let is_known = is_told && state.global_iteration >= SHORT_FROM && state.phase_iteration >= 2;
    if !is_known || phase == Phase::Ship {
        return reason(state, phase, first);
    }
    let mut lines = first.to_vec();
    lines.push(format!("The {} goes on.", title(state)));
    lines.push(format!(
        "Phase {} (iteration {} of {} in it) ends with `{}`. `hookkeeper autonomous status` says more.",
        phase.name(),
        state.phase_iteration,
        state.max_phase_iterations,
        phase.command()
    ));
    Words::lines(lines).clipped(LONGEST)
}

/// What a phase has to name beside its receipt.
fn asks_for(state: &Autonomous, phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Work | Phase::Fix if state.artifacts.progress_file.is_none() => Some(
            "Keep a log of what was tried and what failed (docs/progress.md), and name it: \
             `--progress-file docs/progress.md`.",
        ),
        Phase::Ship => Some(
            "Its receipt is the pull request; without `--pr-url` a tag that names HEAD, or a merge that \
             is HEAD.",
        ),
        Phase::Review | Phase::ReReview | Phase::Test => Some(
            "`--findings` is required: P1 findings of a review, failures of a test run, 0 if there are none.",
        ),
        _ => None,
    }
}

/// `1 finding`, for reviews and test runs.
pub fn findings(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} P1 finding{plural} or failing test{plural}")
}

fn sources(state: &Autonomous) -> Vec<String> {
    let files = &state.artifacts;
    let named = [
        ("plan", &files.plan_file),
        ("acceptance tests", &files.acceptance_tests_file),
        ("progress", &files.progress_file),
        ("brainstorm", &files.brainstorm_file),
    ];
    let mut sources = vec![format!("{} (the state)", Autonomous::doc(&()).path())];
    sources.extend(
        named
            .into_iter()
            .filter_map(|(what, file)| Some(format!("{} ({what})", clip(file.as_ref()?, 160)))),
    );
    sources
}

/// The newest ones, of all checkpoints.
fn failed_approaches(state: &Autonomous) -> Vec<String> {
    let all: Vec<&String> =
        state.checkpoints.iter().flat_map(|checkpoint| &checkpoint.failed_approaches).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let newest = all.iter().rev().take(APPROACHES);
    let mut lines = vec!["Approaches that failed; do not repeat them:".to_owned()];
    lines.extend(newest.map(|approach| format!("- {}", clip(approach, 200))));
    lines
}

/// What the user is told while a person's approval is wanted.
pub fn wants_approval(state: &Autonomous) -> String {
    format!(
        "the autonomous loop \"{}\" waits for you to approve {}. Type \"approve\" and nothing else, or \
         run `hookkeeper autonomous approve` in a terminal of your own.",
        clip(&state.feature, 80),
        to_approve(state)
    )
}

/// What the model is told then.
pub fn waits_for_approval(state: &Autonomous) -> String {
    format!(
        "The autonomous loop \"{}\" waits for a person to approve {}. The model cannot approve that; the user \
         is told how when the turn ends.",
        clip(&state.feature, 80),
        to_approve(state)
    )
}

fn to_approve(state: &Autonomous) -> String {
    let spec = |receipt: &&Receipt| receipt.phase == Phase::SpecTest.name();
    let named = state.receipts.iter().rev().find(spec).map(Receipt::artifact);
    match state.artifacts.acceptance_tests_file.as_deref().or(named) {
        Some(file) => format!("the acceptance tests in {}", clip(file, 160)),
        None => "going on without acceptance tests".to_owned(),
    }
}
