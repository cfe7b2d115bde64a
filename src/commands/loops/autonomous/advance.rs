//! `hookkeeper autonomous advance`: the end of a phase, proven with git.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use serde_json::{Value, json};

use crate::commands::loops::LoopCommand;
use crate::commands::loops::autonomous::{change, load, progress_file, required};
use crate::console::checkout;
use crate::console::project::Project;
use crate::console::usage::usage;
use crate::core::outcome::Outcome;
use crate::core::redaction::Redactor;
use crate::core::text::{Extra, clip};
use crate::core::time;
use crate::git::command::Git;
use crate::git::history::{self, Shows};
use crate::loops::autonomous::document::{Autonomous, Receipt};
use crate::loops::autonomous::rules::phase::{Phase, Proof};
use crate::loops::autonomous::rules::receipts::set_artifact;
use crate::loops::autonomous::rules::receipts::{self, TAG};
use crate::loops::autonomous::rules::{complete, words};
use crate::loops::autonomous::watched::Watched;
use crate::process::files;

const RECEIPTS: usize = 500;
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(clap::Args)]
pub struct Arguments {
    /// What the phase came to (default: what its receipt names)
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The document that it produced; it must be committed
    #[arg(long, value_name = "PATH")]
    artifact: Option<PathBuf>,
    /// P1 findings of a review, or failures of a test phase; they need it, 0 too
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
    progress_file: Option<PathBuf>,
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
    let view = project.view()?;
    let seen = view.map(|view| load(command, &view.state())).transpose()?.flatten();
    let seen = seen
        .context("there is no autonomous loop; `hookkeeper autonomous start FEATURE` starts one")?;
    let (fault, known, seen) = (seen.fault, seen.watched, seen.state);
    let named = options.phase.as_deref().unwrap_or(&seen.phase);
    let unknown = || {
        let known = Phase::ALL.map(Phase::name).join(", ");
        format!("there is no phase `{}`; there are {known}", clip(named, 40))
    };
    let phase = match (Phase::named(named), &options.phase) {
        (Some(phase), _) => phase,
        (None, Some(_)) => bail!(usage(unknown())),
        (None, None) => bail!(unknown()),
    };
    let findings = options.findings.unwrap_or(0);
    ensure!(
        findings == 0 || phase.finds(),
        "--findings is for the phases review, re_review and test; this is {}",
        phase.name()
    );
    ensure!(
        options.findings.is_some() || !phase.finds(),
        "phase {} ends with --findings N: P1 findings of a review, failures of a test run, 0 if there are none",
        phase.name()
    );
    refuse_fault(fault, phase, &known)?;
    let found = format!("{} with {findings} findings", phase.name());
    let summed = summary.as_deref().unwrap_or(&found);
    let progress = progress_file(project, options.progress_file.as_deref())?;
    if let Some(url) = options.pr_url.as_deref() {
        ensure!(
            receipts::is_url(url),
            usage(format!("{} is no address of a pull request", clip(url, 160)))
        );
    }
    let proof = prove(project, options, phase, (&seen, &known), summed, &redact)?;
    let Proven { artifact, git_sha, head, branch } = proof;
    let summary = summary.unwrap_or_else(|| artifact.clone());
    let now = command.now;
    change(command, |driven, around| {
        command.ensure_running(driven, around)?;
        refuse_fault(driven.fault.take(), phase, &driven.watched)?;
        let left = Phase::named(&driven.watched.phase);
        let state = &mut driven.state;
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
        ensure!(!driven.watched.out_of_rounds, "{}", driven.still_open());
        let state = &mut driven.state;
        let receipt = Receipt {
            phase: phase.name().into(),
            artifact: artifact.clone().into(),
            git_sha: git_sha.clone().into(),
            timestamp: time::spell(now),
            findings: options.findings.map_or(Value::Null, |count| json!(count)),
            extra: Extra::new(),
        };
        driven.watched.proven.push(receipt.clone());
        driven.evidence.head = Some(head);
        state.receipts.push(receipt);
        if phase.proof() == Proof::Document {
            set_artifact(state, phase, artifact);
        }
        state.artifacts.branch = state.artifacts.branch.take().or(branch);
        state.artifacts.pr_url =
            options.pr_url.as_ref().map(|url| redact.text(url)).or(state.artifacts.pr_url.take());
        state.artifacts.progress_file = progress.or(state.artifacts.progress_file.take());
        state.last_updated = time::spell(now);
        let receipt = format!("Receipt for {}: {git_sha}.", phase.name());
        if phase.name() != state.phase {
            return Ok(receipt);
        }
        state.add_checkpoint(summary, failed, time::spell(now));
        if phase == Phase::SpecTest && !state.skip_test_review {
            state.awaiting_approval = true;
            let waits = words::waits_for_approval(state);
            return Ok(format!("{receipt} {waits}"));
        }
        if phase.finds() {
            driven.watched.open = findings;
        }
        let said = match complete(state, phase, findings, now) {
            Some(next) => words::reason(state, next, &[receipt]).to_string(),
            None if phase == Phase::Ship => format!(
                "{receipt} When it is true, say <promise>{}</promise>: that completes the loop.",
                state.completion_promise
            ),
            None => {
                driven.use_up(phase, findings, now);
                format!("{receipt} The loop ends with this turn: {}.", driven.still_open())
            }
        };
        driven.look_again();
        Ok(said)
    })
}

/// A phase that was moved by hand and lacks its receipt; that one is welcome.
fn refuse_fault(fault: Option<String>, phase: Phase, known: &Watched) -> anyhow::Result<()> {
    let left = Phase::named(&known.phase);
    match fault.filter(|_| left != Some(phase)) {
        Some(fault) => {
            let name_word = left.map_or("NAME", Phase::name);
            bail!("{fault}; `--phase {name_word}` gives it the receipt")
        }
        None => Ok(()),
    }
}

/// What the receipt says.
struct Proven {
    artifact: String,
    git_sha: String,
    head: String,
    branch: Option<String>,
}

fn prove(
    project: &Project,
    options: &Arguments,
    phase: Phase,
    (seen, known): (&Autonomous, &Watched),
    summary: &str,
    redact: &Redactor,
) -> anyhow::Result<Proven> {
    let root = project.root()?;
    let cwd = project.process.cwd();
    let git = checkout::around(&root, cwd.as_deref()).context("a receipt names a commit")?;
    let line = git.answer(&["log", "-1", "--format=%H %h %s", "HEAD"])?;
    let line = line.context("there is no commit yet; a receipt names one")?;
    let (head, line) = line.split_once(' ').unwrap_or((&line, ""));
    let short = line.split(' ').next().unwrap_or_default();
    let branch = git.answer(&["symbolic-ref", "--short", "-q", "HEAD"])?;
    let top = checkout::top(&git)?;
    let git = Git::in_dir(&top);
    let (artifact, sha) = match (&options.artifact, phase.proof()) {
        (Some(named), _) => {
            let path = in_checkout(&top, &[cwd.as_deref(), Some(&root)], named)?;
            let sha = committed(&git, &top, &path)?;
            (path, sha)
        }
        (None, Proof::Document) => bail!(
            "phase {} ends with a document: --artifact PATH (it must exist, not be empty and be committed in this phase)",
            phase.name()
        ),
        (None, Proof::Summary) => (clip(summary, 200), short.to_owned()),
        (None, Proof::Release) => (release(&git, options, line)?, short.to_owned()),
        (None, Proof::Commit) => (redact.line(line, 200), short.to_owned()),
    };
    let receipt = Receipt { artifact: artifact.clone().into(), ..Receipt::default() };
    let shows = match (&options.artifact, phase.proof()) {
        (Some(_), Proof::Commit) => Shows::File(&artifact),
        _ => receipts::shows(&receipt, phase),
    };
    let claim = receipts::claim_of(&sha, shows, known, &seen.started_at);
    if let Some(fault) = history::fault(&Git::within(&git.dir, PATIENCE), &claim) {
        bail!("{fault}; {}", wanted(phase));
    }
    Ok(Proven { artifact, git_sha: sha, head: head.to_owned(), branch })
}

/// What a phase has to show, for one that has not.
fn wanted(phase: Phase) -> String {
    match phase.proof() {
        Proof::Document => {
            format!("phase {} ends with a document that is committed in it", phase.name())
        }
        Proof::Commit => format!("phase {} ends with a commit that is made in it", phase.name()),
        Proof::Summary => format!("phase {} names a commit of this checkout", phase.name()),
        Proof::Release => {
            "phase ship ends with --pr-url URL, a tag that names HEAD, or a merge that is HEAD"
                .into()
        }
    }
}

/// The pull request, the tag at HEAD, or HEAD as a merge.
fn release(git: &Git, options: &Arguments, head: &str) -> anyhow::Result<String> {
    if let Some(url) = &options.pr_url {
        return Ok(url.clone());
    }
    let tags = git.answer(&["tag", "--points-at", "HEAD"])?.unwrap_or_default();
    let tag = tags.lines().next().map(|tag| format!("{TAG}{tag}"));
    Ok(tag.unwrap_or_else(|| clip(head, 200)))
}

/// The commit that has a file as it is now.
fn committed(git: &Git, top: &Path, path: &str) -> anyhow::Result<String> {
    ensure!(
        !files::present(&[top.to_owned()], vec![path]).is_empty(),
        "{path} does not exist, is empty, or is no file"
    );
    let ask = |args: &[&str]| git.answer(&[args, &["--", path]].concat());
    ensure!(
        ask(&["ls-files", "--error-unmatch"])?.is_some(),
        "{path} is not committed: git does not know it"
    );
    ensure!(
        ask(&["diff", "--no-ext-diff", "--no-textconv", "--quiet", "HEAD"])?.is_some(),
        "{path} is not committed as it is now: it has changes"
    );
    let sha = ask(&["log", "-1", "--format=%h"])?.filter(|sha| !sha.is_empty());
    sha.with_context(|| format!("no commit has {path}"))
}

/// A path as the checkout sees it, meant from one of these directories.
pub fn in_checkout(top: &Path, from: &[Option<&Path>], named: &Path) -> anyhow::Result<String> {
    let top = top.canonicalize()?;
    let places = from.iter().flatten().map(|dir| dir.join(named));
    let found = places.into_iter().find_map(|path| path.canonicalize().ok());
    let shown = named.display();
    let path = found.with_context(|| format!("{shown} does not exist"))?;
    let inside = path.strip_prefix(&top).ok().and_then(|path| path.to_str());
    Ok(inside.with_context(|| format!("{shown} is not in the project"))?.to_owned())
}
