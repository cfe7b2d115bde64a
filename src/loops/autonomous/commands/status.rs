//! `hookkeeper autonomous status`

use serde_json::{Value, json};

use crate::client::transcript;
use crate::console::checkout;
use crate::console::project::Project;
use crate::core::outcome::Outcome;
use crate::core::table::{self, row};
use crate::core::text::clip;
use crate::git::command::Git;
use crate::loops::autonomous::commands::read;
use crate::loops::autonomous::document::{Autonomous, Receipt};
use crate::loops::autonomous::rules::phase::{Phase, Proof};
use crate::loops::autonomous::rules::receipts::{self, Present};
use crate::loops::autonomous::rules::{AutonomousLoop, words};
use crate::loops::autonomous::watched::Watched;
use crate::loops::commands::headline;
use crate::process::files;
use crate::session::metrics::Metrics;

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
        "running": state.is_running(), "loop": state, "phases": phases, "spent_usd": spent
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
    let mut out = vec![headline(&AutonomousLoop::started(state.clone()))];
    if state.is_running() && state.awaiting_approval {
        out.push(words::wants_approval(&state).to_owned());
    }
    out.push(String::new());
    out.push(table::align(&standings.iter().map(line).collect::<Vec<_>>()).trim_end().to_owned());
    out.push(String::new());
    let spent = spent.map_or("not known".to_owned(), |usd| format!("${usd:.2}"));
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
    let excused = seen.map_or_else(|| receipts::excused(state), |seen| seen.excused);
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
            Some(receipt) => fault(receipt, phase, &present, git.as_ref())?,
            None if word == "done" && phase != Phase::Ship => Some("it has no receipt".to_owned()),
            None => None,
        };
        Ok(PhaseStanding { phase, state: word, receipt: receipt.cloned(), fault })
    };
    Phase::ALL.into_iter().map(standing).collect()
}

/// What is wrong with a receipt, as far as files and git can tell.
fn fault(
    receipt: &Receipt,
    phase: Phase,
    present: &Present,
    git: Option<&Git>,
) -> anyhow::Result<Option<String>> {
    if let Some(fault) = receipts::fault(receipt, phase, present) {
        return Ok(Some(fault));
    }
    let Some(git) = git else { return Ok(Some("there is no git to ask".into())) };
    let sha = receipt.sha();
    // What looks like an option is no commit.
    let known = !sha.starts_with('-')
        && git.ask(&["cat-file", "-e", &format!("{sha}^{{commit}}")])?.is_good();
    if !known {
        return Ok(Some(format!("git has no commit {}", clip(sha, 40))));
    }
    let path = format!("{sha}:{}", receipt.artifact());
    if phase.proof() == Proof::Document && !git.ask(&["cat-file", "-e", &path])?.is_good() {
        return Ok(Some(format!("commit {} does not have it", clip(sha, 40))));
    }
    Ok(None)
}

/// What the session that drives it has spent, as far as its transcript or its metrics say.
fn spent(project: &Project, state: &Autonomous) -> anyhow::Result<Option<f64>> {
    let (Some(view), Some(owner)) = (project.view()?, &state.session_id) else { return Ok(None) };
    let live = view.lives().into_iter().find(|live| live.session_id == *owner);
    let now = live
        .and_then(|live| live.transcript_path)
        .and_then(|path| transcript::cost(path.as_ref()).usd);
    let ended = || view.get::<Metrics>()?.find(owner)?.cost_usd;
    Ok(now.or_else(ended))
}
