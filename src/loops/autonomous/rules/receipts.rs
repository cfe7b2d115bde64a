//! Whether phases are proven. Git is asked elsewhere; here is what it has to be asked, and what its
//! answers come to.
//!
//! A command and a Stop ask git the same (`git/history.rs`): whether the commit is in the history
//! of HEAD, was made since the phase began and since the last receipt, and for a document wrote
//! that file. At a Stop git has two seconds at most, and is asked only where a phase was moved, or
//! in ship. A release is a pull request, a tag that names a commit of the loop, or a merge that was
//! made in the phase.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::transcript::spent::Spent;
use crate::core::text::clip;
use crate::core::time;
use crate::git::history::{Claim, Shows};
use crate::loops::autonomous::document::{Autonomous, Receipt};
use crate::loops::autonomous::rules::phase::{Phase, Proof};
use crate::loops::autonomous::watched::Watched;

/// How the entry in `errors` begins of a phase that was left without a receipt.
pub const EXCUSED: &str = "advanced without a receipt";
/// Of receipts that are new at once, git is asked for so many.
const CLAIMS: usize = 24;

/// The phases that a file says to be excused; of a file that we have not seen before.
pub fn excused(state: &Autonomous) -> Vec<String> {
    let excuses = state.errors.iter().filter(|error| error.message.starts_with(EXCUSED));
    excuses.map(|error| error.phase.clone()).collect()
}

/// Documents that receipts name and that exist and are not empty.
pub type Present = BTreeSet<String>;

/// What was found outside of the loop's documents.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub present: Present,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// What git says against the receipts that it was asked for, by their place in the file.
    pub faults: BTreeMap<usize, Option<String>>,
    pub spent: Option<Spent>,
}

/// What is wrong with a receipt, without git; `None` if nothing is.
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

/// What git has to say of a receipt.
pub fn shows(receipt: &Receipt, phase: Phase) -> Shows<'_> {
    let artifact = receipt.artifact();
    match phase.proof() {
        Proof::Document => Shows::File(artifact),
        Proof::Commit => Shows::Commit,
        Proof::Summary => Shows::Known,
        Proof::Release if is_url(artifact) => Shows::Known,
        Proof::Release => artifact.strip_prefix(TAG).map_or(Shows::Merge, Shows::Tag),
    }
}

/// How the artifact of a release begins that is a tag.
pub const TAG: &str = "tag ";

/// The address of a pull request: a host and something on it.
pub fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let parts = rest.and_then(|rest| rest.split_once('/'));
    parts.is_some_and(|(host, path)| !host.is_empty() && !path.is_empty())
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

pub fn is_proven(receipt: &Receipt, watched: &Watched) -> bool {
    watched.proven.iter().any(|proven| proven.is(receipt))
}

/// What git has to be asked about the receipts in the file, by their place: about new ones when the
/// phase was moved, and in the last phase about all that are not proven yet.
pub fn claims<'a>(
    state: &'a Autonomous,
    watched: &'a Watched,
    present: &Present,
) -> Vec<(usize, Claim<'a>)> {
    let moved = state.phase != watched.phase;
    let last = state.phase == Phase::Ship.name();
    let mut claims = Vec::new();
    for (at, receipt) in state.receipts.iter().enumerate() {
        let is_new = at as u64 >= watched.receipts;
        let Some(phase) = Phase::named(&receipt.phase) else { continue };
        let is_asked = (is_new && moved) || last;
        if !is_asked || is_proven(receipt, watched) || fault(receipt, phase, present).is_some() {
            continue;
        }
        claims.push((at, claim(state, watched, at, receipt, phase)));
    }
    claims.drain(..claims.len().saturating_sub(CLAIMS));
    claims
}

fn claim<'a>(
    state: &'a Autonomous,
    watched: &'a Watched,
    at: usize,
    receipt: &'a Receipt,
    phase: Phase,
) -> Claim<'a> {
    let is_new = at as u64 >= watched.receipts;
    let shows = shows(receipt, phase);
    let earlier = state.receipts.get(..at).unwrap_or_default();
    let began = Some(watched.began.as_str()).filter(|began| is_new && !began.is_empty());
    let mut claim = claim_of(receipt.sha(), shows, watched, &state.started_at);
    if !is_new {
        claim.since.clear();
    }
    if claim.shows != Shows::Known && !matches!(shows, Shows::Tag(_)) {
        claim.since.extend(earlier.iter().rev().take(CLAIMS).map(Receipt::sha));
        claim.not_before = seconds(began.unwrap_or(&state.started_at));
    }
    claim
}

/// What git is asked about a receipt that is given now.
pub fn claim_of<'a>(
    sha: &'a str,
    shows: Shows<'a>,
    watched: &'a Watched,
    started_at: &str,
) -> Claim<'a> {
    // A tag may name any commit of this loop.
    if matches!(shows, Shows::Tag(_)) {
        return Claim { sha, shows, since: Vec::new(), not_before: seconds(started_at) };
    }
    let since = watched.head.iter().map(String::as_str);
    let since = since.chain(watched.proven.last().map(Receipt::sha)).collect();
    let began = if watched.began.is_empty() { started_at } else { &watched.began };
    Claim { sha, shows, since, not_before: seconds(began) }
}

fn seconds(at: &str) -> Option<i64> {
    time::parse(at).map(|at| at.timestamp())
}

/// The phases that were left on the way from one to another, each with a receipt among those from
/// this place on; else what is wrong.
pub fn way(
    from: Phase,
    to: &str,
    receipts: &[Receipt],
    first: usize,
    judge: impl Fn(usize, &Receipt, Phase) -> Option<String>,
) -> Result<Vec<Phase>, String> {
    let mut new = receipts.iter().enumerate().skip(first).peekable();
    let (mut at, mut steps) = (from, Vec::new());
    while at.name() != to {
        let Some((place, receipt)) = new.find(|(_, receipt)| receipt.phase == at.name()) else {
            let follows = Phase::named(to).is_some_and(|to| at.leads_to(to));
            return Err(match follows || at != from {
                true => format!("{} has no new receipt", at.name()),
                false => {
                    let to = clip(to, 40);
                    format!("{to} does not follow {} and {0} has no new receipt", at.name())
                }
            });
        };
        if let Some(fault) = judge(place, receipt, at) {
            return Err(format!("{}: {fault}", at.name()));
        }
        steps.push(at);
        // Where two phases may follow, the next receipt tells which one did; else the end does.
        let next = new.clone().find_map(|(_, receipt)| Phase::named(&receipt.phase));
        let next = next.or_else(|| Phase::named(to)).filter(|next| at.leads_to(*next));
        let next = next.or_else(|| at.next(false, true));
        let findings = receipt.findings().unwrap_or(0);
        if at.finds() && findings > 0 && next != Some(Phase::Fix) {
            return Err(format!("{} has findings ({findings}): fix follows", at.name()));
        }
        at = match next {
            Some(next) => next,
            None => return Err(format!("nothing follows {}", at.name())),
        };
    }
    Ok(steps)
}

/// The phases that are not proven, each with what is missing. Those that were skipped or forced are
/// excused.
pub fn missing(
    state: &Autonomous,
    watched: &Watched,
    judge: impl Fn(usize, &Receipt, Phase) -> Option<String>,
) -> Vec<String> {
    let completed = |phase: Phase| state.phases_completed.iter().any(|done| done == phase.name());
    let wanted = |phase: Phase| match phase {
        Phase::Brainstorm => !state.skip_brainstorm,
        Phase::Fix | Phase::ReReview => completed(phase),
        _ => true,
    };
    let excused = |phase: Phase| {
        phase != Phase::Ship && watched.excused.iter().any(|name| name == phase.name())
    };
    let proven = |phase: Phase| watched.proven.iter().any(|known| known.phase == phase.name());
    let fault = |phase: Phase| {
        let mut all = state.receipts.iter().enumerate().rev();
        match all.find(|(_, receipt)| receipt.phase == phase.name()) {
            Some((at, receipt)) => judge(at, receipt, phase),
            None => Some("it has no receipt".into()),
        }
    };
    Phase::ALL
        .into_iter()
        .filter(|phase| wanted(*phase) && !excused(*phase) && !proven(*phase))
        .filter_map(|phase| Some(format!("{}: {}", phase.name(), fault(phase)?)))
        .collect()
}

/// Notes the document of a phase where the format has a field for it.
pub fn set_artifact(state: &mut Autonomous, phase: Phase, artifact: String) {
    let files = &mut state.artifacts;
    let field = match phase {
        Phase::Brainstorm => &mut files.brainstorm_file,
        Phase::Plan | Phase::Deepen => &mut files.plan_file,
        Phase::SpecTest => &mut files.acceptance_tests_file,
        _ => return,
    };
    *field = Some(artifact);
}
