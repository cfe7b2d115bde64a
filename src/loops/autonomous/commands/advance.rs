//! `hookkeeper autonomous advance`: the end of a phase, proven with git.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use crate::console::checkout;
use crate::console::project::Project;
use crate::core::outcome::Outcome;
use crate::core::redaction::Redactor;
use crate::core::text::{Extra, clip};
use crate::core::time;
use crate::loops::autonomous::commands::{change, read, required};
use crate::loops::autonomous::document::Receipt;
use crate::loops::autonomous::rules::phase::{Phase, Proof};
use crate::loops::autonomous::rules::{complete, set_artifact, watch_again, words};
use crate::loops::commands::LoopCommand;
use crate::process::files;

const RECEIPTS: usize = 500;

#[derive(clap::Args)]
pub struct Arguments {
    /// What the phase came to (default: what its receipt names)
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The document that it produced; it must be committed
    #[arg(long, value_name = "PATH")]
    artifact: Option<PathBuf>,
    /// P1 findings of a review, or failures of a test phase
    #[arg(long, value_name = "N")]
    findings: Option<u64>,
    /// An approach that failed (may be given several times)
    #[arg(long, visible_alias = "failed", value_name = "TEXT")]
    failed_approach: Vec<String>,
    /// The pull request
    #[arg(long, value_name = "URL")]
    pr_url: Option<String>,
    /// The file with the log of the work
    #[arg(long, value_name = "PATH")]
    progress_file: Option<String>,
    /// An earlier phase that lacks its receipt; the loop stays where it is
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
}

pub fn run(command: &LoopCommand, options: &Arguments) -> anyhow::Result<Outcome> {
    let project = command.project;
    let redact = project.redactor()?;
    let summary = options.summary.as_ref().map(|text| required(&redact.text(text), "the summary"));
    let summary = summary.transpose()?;
    let failed: Vec<String> =
        options.failed_approach.iter().map(|text| redact.text(text)).collect();
    // Git is asked without the lock; whether the phase is still the same is seen under it.
    let seen = read(project)?;
    let seen = seen
        .context("there is no autonomous loop; `hookkeeper autonomous start FEATURE` starts one")?;
    let named = options.phase.as_deref().unwrap_or(&seen.phase);
    let phase = Phase::named(named).with_context(|| {
        format!(
            "there is no phase `{}`; there are {}",
            clip(named, 40),
            Phase::ALL.map(Phase::name).join(", ")
        )
    })?;
    let findings = options.findings.unwrap_or(0);
    ensure!(
        findings == 0 || phase.finds(),
        "--findings is for the phases review, re_review and test; this is {}",
        phase.name()
    );
    let found = format!("{} with {findings} findings", phase.name());
    let summed = summary.as_deref().unwrap_or(&found);
    let proof = prove(project, options, phase, summed, &redact)?;
    let (artifact, git_sha, branch) = proof;
    let summary = summary.unwrap_or_else(|| artifact.clone());
    let now = command.now;
    change(command, |driven, around| {
        command.ensure_running(driven, around)?;
        let fault = driven.fault.take();
        let left = Phase::named(&driven.watched.phase);
        let state = &mut driven.state;
        // The receipt that a phase moved by hand lacks is welcome.
        if let Some(fault) = fault.filter(|_| left != Some(phase)) {
            bail!("{fault}; `--phase {}` gives it the receipt", left.map_or("NAME", Phase::name));
        }
        ensure!(state.receipts.len() < RECEIPTS, "there are {RECEIPTS} receipts already");
        let now_in = Phase::named(&state.phase);
        ensure!(
            now_in.is_none_or(|now_in| phase <= now_in) || left == Some(phase),
            "phase {} is not over yet; this is {}",
            phase.name(),
            state.phase
        );
        ensure!(
            state.phase == seen.phase,
            "the phase is {} by now; look again",
            clip(&state.phase, 40)
        );
        let receipt = Receipt {
            phase: phase.name().into(),
            artifact: artifact.clone().into(),
            git_sha: git_sha.clone().into(),
            timestamp: time::spell(now),
            extra: Extra::new(),
        };
        state.receipts.push(receipt);
        if phase.proof() == Proof::Document {
            set_artifact(state, phase, artifact);
        }
        state.artifacts.branch = state.artifacts.branch.take().or(branch);
        state.artifacts.pr_url =
            options.pr_url.as_ref().map(|url| redact.text(url)).or(state.artifacts.pr_url.take());
        if let Some(file) = &options.progress_file {
            state.artifacts.progress_file = Some(file.clone());
        }
        state.last_updated = time::spell(now);
        let receipt = format!("Receipt for {}: {git_sha}.", phase.name());
        if phase.name() != state.phase {
            return Ok(receipt);
        }
        state.add_checkpoint(summary, failed, time::spell(now));
        if phase == Phase::SpecTest && !state.skip_test_review {
            state.awaiting_approval = true;
            let waits = words::wants_approval(state);
            return Ok(format!("{receipt} {waits}"));
        }
        let said = match complete(state, phase, findings, now) {
            Some(next) => words::reason(state, next, &[receipt]).to_string(),
            None => format!(
                "{receipt} When it is true, say <promise>{}</promise>: that completes the loop.",
                state.completion_promise
            ),
        };
        driven.watched = watch_again(&driven.watched, &driven.state);
        Ok(said)
    })
}

/// What the receipt says: the artifact, the commit, and the branch.
fn prove(
    project: &Project,
    options: &Arguments,
    phase: Phase,
    summary: &str,
    redact: &Redactor,
) -> anyhow::Result<(String, String, Option<String>)> {
    let root = project.root()?;
    let cwd = project.process.cwd();
    let git = checkout::around(&root, cwd.as_deref()).context("a receipt names a commit")?;
    let head = git.answer(&["log", "-1", "--format=%h %s", "HEAD"])?;
    let head = head.context("there is no commit yet; a receipt names one")?;
    let sha = head.split(' ').next().unwrap_or_default().to_owned();
    let branch = git.answer(&["symbolic-ref", "--short", "-q", "HEAD"])?;
    let Some(named) = &options.artifact else {
        return match phase.proof() {
            Proof::Document => bail!(
                "phase {} ends with a document: --artifact PATH (it must exist, not be empty and be committed)",
                phase.name()
            ),
            Proof::Commit => Ok((redact.line(&head, 200), sha, branch)),
            Proof::Summary => Ok((clip(summary, 200), sha, branch)),
        };
    };
    let top = checkout::top(&git)?;
    let path = in_checkout(&top, &[cwd.as_deref(), Some(&root)], named)?;
    let shown = path.as_str();
    ensure!(
        !files::present(std::slice::from_ref(&top), vec![shown]).is_empty(),
        "{shown} does not exist, is empty, or is no file"
    );
    let dir = top.to_str().context("the checkout's path is no text")?;
    let ask = |args: &[&str]| git.answer(&[&["-C", dir], args, &["--", shown]].concat());
    ensure!(
        ask(&["ls-files", "--error-unmatch"])?.is_some(),
        "{shown} is not committed: git does not know it"
    );
    ensure!(
        ask(&["diff", "--no-ext-diff", "--no-textconv", "--quiet", "HEAD"])?.is_some(),
        "{shown} is not committed as it is now: it has changes"
    );
    let sha = ask(&["log", "-1", "--format=%h"])?.filter(|sha| !sha.is_empty());
    let sha = sha.with_context(|| format!("no commit has {shown}"))?;
    Ok((path, sha, branch))
}

/// A path as the checkout sees it, meant from one of these directories.
fn in_checkout(top: &Path, from: &[Option<&Path>], named: &Path) -> anyhow::Result<String> {
    let top = top.canonicalize()?;
    let places = from.iter().flatten().map(|dir| dir.join(named));
    let found = places.into_iter().find_map(|path| path.canonicalize().ok());
    let shown = named.display();
    let path = found.with_context(|| format!("{shown} does not exist"))?;
    let inside = path.strip_prefix(&top).ok().and_then(|path| path.to_str());
    Ok(inside.with_context(|| format!("{shown} is not in the project"))?.to_owned())
}
