//! `hookkeeper autonomous advance`: the end of a phase, proven with git.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use super::change::{Order, change, read};
use super::said;
use crate::Outcome;
use crate::books::Extra;
use crate::books::autonomous::Receipt;
use crate::books::clip;
use crate::cli::Project;
use crate::cli::git::Git;
use crate::facts::files;
use crate::loops::autonomous::phase::{Phase, Proof};
use crate::loops::autonomous::{complete, set_artifact, words};
use crate::time;

#[derive(clap::Args)]
pub struct Arguments {
    /// What the phase came to
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// The document that it produced; it must be committed
    #[arg(long, value_name = "PATH")]
    artifact: Option<PathBuf>,
    /// P1 findings of a review, or failures of a test phase
    #[arg(long, value_name = "N")]
    findings: Option<u64>,
    /// An approach that failed (may be given several times)
    #[arg(long, value_name = "TEXT")]
    failed: Vec<String>,
    /// The pull request
    #[arg(long, value_name = "URL")]
    pr_url: Option<String>,
    /// An earlier phase that lacks its receipt; the loop stays where it is
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
}

pub fn run(
    project: &Project,
    options: &Arguments,
    session: Option<&str>,
) -> anyhow::Result<Outcome> {
    let redact = project.redactor()?;
    let summary = said(&redact.text(&options.summary), "the summary")?;
    let failed: Vec<String> = options.failed.iter().map(|text| redact.text(text)).collect();
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
    let (artifact, git_sha, branch) = prove(project, options, phase, &summary)?;
    let now = project.process.now();
    change(project, Order::LoopFirst, |here| {
        let fault = here.fault.take();
        let state = here.running(session)?;
        if let Some(fault) = fault {
            bail!("{fault}; the phase is not left before it has a receipt");
        }
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
        state.artifacts.pr_url = options.pr_url.clone().or(state.artifacts.pr_url.take());
        state.last_updated = time::spell(now);
        let receipt = format!("Receipt for {}: {git_sha}.", phase.name());
        if phase.name() != state.phase {
            return Ok(Outcome::said(receipt));
        }
        state.add_checkpoint(summary, failed, time::spell(now));
        if phase == Phase::SpecTest && !state.skip_test_review {
            state.awaiting_approval = true;
            let waits = words::wants_approval(state);
            return Ok(Outcome::said(format!(
                "{receipt} {}",
                waits.trim_start_matches("HookKeeper: ")
            )));
        }
        Ok(Outcome::said(match complete(state, phase, findings, now) {
            Some(next) => words::reason(state, next, &[receipt]),
            None => format!(
                "{receipt} When it is true, say <promise>{}</promise>: that completes the loop.",
                state.completion_promise
            ),
        }))
    })
}

/// What the receipt says: the artifact, the commit, and the branch.
fn prove(
    project: &Project,
    options: &Arguments,
    phase: Phase,
    summary: &str,
) -> anyhow::Result<(String, String, Option<String>)> {
    let root = project.root()?;
    let git = Git::of(project.process, &root).context("a receipt names a commit")?;
    let head = git.ask(&["log", "-1", "--format=%h %s", "HEAD"])?;
    let head = head.context("there is no commit yet; a receipt names one")?;
    let sha = head.split(' ').next().unwrap_or_default().to_owned();
    let branch = git.ask(&["symbolic-ref", "--short", "-q", "HEAD"])?;
    let Some(named) = &options.artifact else {
        return match phase.proof() {
            Proof::Document => bail!(
                "phase {} ends with a document: --artifact PATH (it must exist, not be empty and be committed)",
                phase.name()
            ),
            Proof::Commit => Ok((clip(&head, 200), sha, branch)),
            Proof::Summary => Ok((clip(summary, 200), sha, branch)),
        };
    };
    let path = in_project(project, &root, named)?;
    let shown = path.as_str();
    ensure!(
        !files::present(&root, vec![shown]).is_empty(),
        "{shown} does not exist, is empty, or is no file"
    );
    ensure!(
        git.says_yes(&["ls-files", "--error-unmatch", "--", shown])?,
        "{shown} is not committed: git does not know it"
    );
    ensure!(
        git.says_yes(&["diff", "--quiet", "HEAD", "--", shown])?,
        "{shown} is not committed as it is now: it has changes"
    );
    let sha = git.ask(&["log", "-1", "--format=%h", "--", shown])?.filter(|sha| !sha.is_empty());
    let sha = sha.with_context(|| format!("no commit has {shown}"))?;
    Ok((path, sha, branch))
}

/// A path as the project sees it, meant from the working directory or from the root.
fn in_project(project: &Project, root: &Path, named: &Path) -> anyhow::Result<String> {
    let root = root.canonicalize()?;
    let cwd = project.process.cwd().unwrap_or_else(|| root.clone());
    let found =
        [cwd.join(named), root.join(named)].into_iter().find_map(|path| path.canonicalize().ok());
    let shown = named.display();
    let path = found.with_context(|| format!("{shown} does not exist"))?;
    let inside = path.strip_prefix(&root).ok().and_then(|path| path.to_str());
    Ok(inside.with_context(|| format!("{shown} is not in the project"))?.to_owned())
}
