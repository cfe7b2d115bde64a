//! `hookkeeper autonomous status`

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::prices;
use crate::client::transcript::spent::Spent;
use crate::commands::loops::autonomous::read;
use crate::commands::loops::headline;
use crate::console::checkout;
use crate::console::project::Project;
use crate::core::gate::one_line;
use crate::core::outcome::Outcome;
use crate::core::spelling::dollars;
use crate::core::table::{self, row};
use crate::core::text::{capital, clip, plural};
use crate::git::command::Git;
use crate::git::history::{self, Claim, Shows};
use crate::loops::autonomous::document::{Autonomous, Receipt};
use crate::loops::autonomous::rules::phase::Phase;
use crate::loops::autonomous::rules::receipts::{self, Present};
use crate::loops::autonomous::rules::{AutonomousLoop, words};
use crate::loops::autonomous::watched::Watched;
use crate::process::files;
use crate::session::record::lives;

const PATIENCE: Duration = Duration::from_secs(20);

/// A phase and how it stands.
struct PhaseStanding {
    phase: Phase,
    state: &'static str,
    receipt: Option<Receipt>,
    fault: Option<String>,
}

/// Where it stands, for programs.
pub fn json_state(project: &Project) -> anyhow::Result<Value> {
    let Some(state) = read(project)? else { return Ok(json!({"loop": null})) };
    let phases: Vec<_> = standings(project, &state)?
        .iter()
        .map(|standing| {
            json!({"phase": standing.phase.name(), "state": standing.state,
                   "receipt": standing.receipt, "fault": standing.fault})
        })
        .collect();
    let spent = spent(project, &state)?;
    Ok(json!({
        "running": state.is_running(), "loop": state, "phases": phases, "spent_usd": spent.usd(),
        "unpriced": spent.unpriced
    }))
}

pub fn run(project: &Project) -> anyhow::Result<Outcome> {
    let Some(state) = read(project)? else {
        return Ok(Outcome::printed(
            "No autonomous loop. Start one: hookkeeper autonomous start FEATURE",
        ));
    };
    let standings = standings(project, &state)?;
    let spent = spent(project, &state)?;
    let mut out =
        vec![headline(&AutonomousLoop::started(state.clone(), None, project.process.now()))];
    if state.is_running() && state.awaiting_approval {
        out.push(capital(&words::wants_approval(&state)));
    }
    out.push(String::new());
    out.push(table::align(&standings.iter().map(line).collect::<Vec<_>>()).trim_end().to_owned());
    out.push(String::new());
    let spent = spelled(&spent);
    out.push(format!(
        "spent: {spent} of ${}; rounds of fix and re_review: {} of {}; checkpoints: {}; errors: {}",
        state.budget_limit_usd,
        state.fix_review_cycles,
        state.max_fix_cycles,
        state.checkpoints.len(),
        state.errors.len()
    ));
    if let Some(last) = state.checkpoints.last() {
        out.push(format!(
            "last checkpoint ({}): {}",
            clip(&last.phase, 40),
            clip(&last.summary, 300)
        ));
        out.extend(
            last.failed_approaches.iter().map(|text| format!("  failed: {}", clip(text, 200))),
        );
    }
    if let Some(last) = state.errors.last() {
        out.push(format!("last error ({}): {}", clip(&last.phase, 40), clip(&last.message, 300)));
    }
    Ok(Outcome::printed(out.join("\n")))
}

fn line(standing: &PhaseStanding) -> Vec<String> {
    let receipt = standing.receipt.as_ref();
    row![
        standing.phase.name(),
        standing.state,
        receipt.map_or("-", Receipt::sha),
        clip(receipt.map_or("", Receipt::artifact), 60),
        standing.fault.as_deref().map(|fault| format!("! {fault}")).unwrap_or_default(),
    ]
}

fn standings(project: &Project, state: &Autonomous) -> anyhow::Result<Vec<PhaseStanding>> {
    let root = project.root()?;
    let cwd = project.process.cwd();
    let places: Vec<_> = [Some(root.clone()), cwd].into_iter().flatten().collect();
    let present = files::present(&places, state.documents());
    let git = checkout::open_git(&root).ok();
    let seen = project.document::<Watched>()?.filter(|seen| seen.is_of(state));
    let excused = match &seen {
        Some(seen) => seen.excused.clone(),
        None => receipts::excused(state),
    };
    let standing = |phase: Phase| {
        let done = state.phases_completed.iter().any(|name| name == phase.name());
        let excused = excused.iter().any(|name| name == phase.name());
        let word = match () {
            () if state.phase == phase.name() && state.is_running() => {
                match state.awaiting_approval {
                    true => "awaits approval",
                    false => "now",
                }
            }
            () if phase == Phase::Brainstorm && state.skip_brainstorm => "skipped",
            () if excused => "forced",
            () if done => "done",
            () => "-",
        };
        let receipt = state.receipts.iter().rev().find(|receipt| receipt.phase == phase.name());
        let fault = match receipt {
            Some(receipt) => {
                let is_proven =
                    seen.as_ref().is_some_and(|seen| receipts::is_proven(receipt, seen));
                fault(receipt, phase, (&present, is_proven), git.as_ref())
            }
            None if word == "done" && phase != Phase::Ship => Some("it has no receipt".to_owned()),
            None => None,
        };
        PhaseStanding { phase, state: word, receipt: receipt.cloned(), fault }
    };
    Ok(Phase::ALL.into_iter().map(standing).collect())
}

/// What is wrong with a receipt, as far as files and git can tell. Whether one was new that was
/// confirmed before is not asked again.
fn fault(
    receipt: &Receipt,
    phase: Phase,
    (present, is_proven): (&Present, bool),
    git: Option<&Git>,
) -> Option<String> {
    if let Some(fault) = receipts::fault(receipt, phase, present) {
        return Some(fault);
    }
    let Some(git) = git else { return Some("there is no git to ask".into()) };
    let shows = match (receipts::shows(receipt, phase), is_proven) {
        (Shows::Commit | Shows::Merge, true) => Shows::Known,
        (shows, _) => shows,
    };
    let claim = Claim { sha: receipt.sha(), shows, since: Vec::new(), not_before: None };
    history::fault(&Git::within(&git.dir, PATIENCE), &claim)
}

/// What the loop has spent: by the session's transcript up to now, as far as that can be read.
fn spent(project: &Project, state: &Autonomous) -> anyhow::Result<Spent> {
    let known = project.document::<Watched>()?.filter(|seen| seen.is_of(state));
    let mut spent = known.map(|known| known.spent).unwrap_or_default();
    let (Some(view), Some(owner)) = (project.view()?, &state.session_id) else { return Ok(spent) };
    let live = lives(&view).into_iter().find(|live| live.session_id == *owner);
    if let Some(path) = live.and_then(|live| live.transcript_path) {
        let is_first = spent.transcript.is_empty();
        let since = if is_first { &state.started_at } else { &state.last_updated };
        spent.read_on(path.as_ref(), since);
    }
    Ok(spent)
}

/// `$1.20 (without what gpt-6 did, whose price is not known)`
fn spelled(spent: &Spent) -> String {
    let left_out = match spent.agents_left_out {
        0 => String::new(),
        n => format!(" without {}", plural(n as usize, "agent")),
    };
    let usd = format!("{}{left_out}", dollars(spent.usd()));
    match spent.unpriced.is_empty() {
        true => usd,
        false => format!(
            "{usd} (without {}: the price is not known, as of {})",
            one_line(&spent.unpriced.join(", ")),
            prices::AS_OF
        ),
    }
}
