//! Whether phases are proven, without git: the document is there, the commit is named.

use std::collections::BTreeSet;

use crate::core::text::clip;
use crate::loops::autonomous::document::{Autonomous, Receipt};
use crate::loops::autonomous::rules::phase::{Phase, Proof};

/// How the entry in `errors` begins of a phase that was left without a receipt.
pub const EXCUSED: &str = "advanced without a receipt";

/// The phases that a file says to be excused; of a file that we have not seen before.
pub fn excused(state: &Autonomous) -> Vec<String> {
    let excuses = state.errors.iter().filter(|error| error.message.starts_with(EXCUSED));
    excuses.map(|error| error.phase.clone()).collect()
}

/// Documents that receipts name and that exist and are not empty.
pub type Present = BTreeSet<String>;

/// What is wrong with a receipt; `None` if nothing is.
pub fn fault(receipt: &Receipt, phase: Phase, present: &Present) -> Option<String> {
    if receipt.sha().is_empty() {
        return Some("its receipt has no git_sha".into());
    }
    let artifact = receipt.artifact();
    match phase.proof() {
        Proof::Document if artifact.is_empty() => Some("its receipt names no artifact".into()),
        Proof::Document if !present.contains(artifact) => {
            Some(format!("{} does not exist or is empty", clip(artifact, 160)))
        }
        _ => None,
    }
}

/// What is wrong with the newest receipt of a phase among these.
pub fn fault_of(receipts: &[Receipt], phase: Phase, present: &Present) -> Option<String> {
    match receipts.iter().rev().find(|receipt| receipt.phase == phase.name()) {
        Some(receipt) => fault(receipt, phase, present),
        None => Some("it has no receipt".into()),
    }
}

/// The phases that were left on the way from one to another, each with a receipt among these; else
/// what is wrong.
pub fn way(
    from: Phase,
    to: &str,
    receipts: &[Receipt],
    present: &Present,
) -> Result<Vec<Phase>, String> {
    let (mut at, mut steps, mut rest) = (from, Vec::new(), receipts);
    while at.name() != to {
        let Some(found) = rest.iter().position(|receipt| receipt.phase == at.name()) else {
            let follows = Phase::named(to).is_some_and(|to| at.leads_to(to));
            return Err(match follows || at != from {
                true => format!("{} has no new receipt", at.name()),
                false => {
                    let to = clip(to, 40);
                    format!("{to} does not follow {} and {0} has no new receipt", at.name())
                }
            });
        };
        let (through, after) = rest.split_at(found + 1);
        if let Some(fault) = through.last().and_then(|receipt| fault(receipt, at, present)) {
            return Err(format!("{}: {fault}", at.name()));
        }
        rest = after;
        steps.push(at);
        // Where two phases may follow, the next receipt tells which one did; else the end does.
        let next = rest.iter().find_map(|receipt| Phase::named(&receipt.phase));
        let next = next.or_else(|| Phase::named(to)).filter(|next| at.leads_to(*next));
        at = match next.or_else(|| at.next(false, true)) {
            Some(next) => next,
            None => return Err(format!("nothing follows {}", at.name())),
        };
    }
    Ok(steps)
}

/// The phases before ship that are not proven, each with what is missing. Those that were skipped or
/// forced are excused.
pub fn missing(state: &Autonomous, excused: &[String], present: &Present) -> Vec<String> {
    let completed = |phase: Phase| state.phases_completed.iter().any(|done| done == phase.name());
    let wanted = |phase: Phase| match phase {
        Phase::Ship => false,
        Phase::Brainstorm => !state.skip_brainstorm,
        Phase::Fix | Phase::ReReview => completed(phase),
        _ => true,
    };
    let excused = |phase: Phase| excused.iter().any(|name| name == phase.name());
    Phase::ALL
        .into_iter()
        .filter(|phase| wanted(*phase) && !excused(*phase))
        .filter_map(|phase| {
            let fault = fault_of(&state.receipts, phase, present)?;
            Some(format!("{}: {fault}", phase.name()))
        })
        .collect()
}
