//! `execute verify`: a task's commands, in its worktree. Their exit codes decide.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::site::{Site, done, task, task_mut};
use super::{One, fit, next, recover};
use crate::Outcome;
use crate::books::execute::{Status, Step, Verification};
use crate::books::{clip, plural};
use crate::cli::said_json;
use crate::execute::steps::{self, Failed};
use crate::execute::truth::branch_of;
use crate::process::child::{self, End};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    one: One,
    /// Seconds that each command may take
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,
}

impl Arguments {
    pub fn tasks(&self) -> &PathBuf {
        &self.one.of.tasks
    }
}

/// So much is kept of what the commands print.
const KEPT: usize = 500;
/// So many are noted of the files that they leave.
const LEFT: usize = 200;

/// What all the commands came to.
struct Ran {
    /// The one that failed, and how.
    failed: Option<String>,
    interrupted: bool,
    millis: u64,
    output: String,
}

pub fn run(site: &Site, options: &Arguments) -> anyhow::Result<Outcome> {
    let (id, json) = (options.one.id.as_str(), options.one.of.json);
    let state = site.load()?;
    let repository = site.repository(&state)?;
    recover::if_dead(site, &repository, id)?;
    let state = site.load()?;
    let own = task(&state, id)?;
    let brief = next::brief(site, id, own)?;
    let worktree = own.worktree_path.as_deref().map(Path::new).filter(|path| path.is_dir());
    let missing = || {
        format!(
            "{id} is {} and has no worktree; {} makes it again",
            own.status.word(),
            site.command("resume")
        )
    };
    let worktree = match own.status {
        Status::InProgress => worktree.with_context(missing)?,
        other => bail!("{id} cannot be verified: it is {}", other.word()),
    };
    let base = repository.base_tip(state.base())?;
    let branch = branch_of(id);
    let gone =
        || format!("the branch {branch} is gone; {} puts that right", site.command("resume"));
    let tip = repository.tip(&branch)?.with_context(gone)?;
    if let Some(why) = fit::obstacle(&repository, worktree, id, own)? {
        bail!("{id}: {why}; only what is committed on {branch} is merged");
    }
    let claim = site.claim(Step::Verify);
    let mark = recover::mark(&claim);
    site.change(|state| {
        let task = task_mut(state, id)?;
        site.refuse_busy(id, task)?;
        done(id, steps::go(task, Status::Verifying))?;
        task.claim = Some(claim);
        Ok(())
    })?;
    let limit = Duration::from_secs(options.time_limit);
    let shown = site.project.process.terminal().is_terminal && !json;
    let ran = commands(&brief.run, &mark, &worktree.join(&repository.prefix), limit, shown);
    let ran = match ran {
        Ok(ran) if !ran.interrupted => ran,
        other => {
            recover::released(site, id, Status::InProgress)?;
            other?;
            bail!("{id}: interrupted; it is as it was before");
        }
    };
    let commits = repository.ahead(&base, &tip)?;
    let after = fit::look(&repository, worktree, id)?;
    let left = after.iter().flat_map(fit::Worktree::untracked).take(LEFT).cloned().collect();
    let redact = site.project.redactor()?;
    let output = tail(&redact.text(&ran.output));
    let failed = ran.failed.as_ref().map(|why| redact.text(why));
    let (empty, seconds) = (commits.is_empty(), ran.millis / 1000);
    site.change(|state| {
        let now = site.now();
        let own = task_mut(state, id)?;
        own.set_commits(commits);
        own.verification = Some(Verification {
            commit: Some(tip.clone()),
            passed: failed.is_none(),
            commands: brief.run.len() as u64,
            seconds,
            output: output.clone(),
            left,
            at: now.clone(),
            ..Verification::default()
        });
        match &failed {
            Some(message) => {
                let details = (!output.is_empty()).then(|| output.clone());
                let failed = Failed { message, details, feedback: None, counts: true };
                done(id, steps::fail(state, id, failed, &now))
            }
            None => {
                done(id, steps::go(own, Status::Verified))?;
                own.claim = None;
                state.enqueue(id);
                Ok(())
            }
        }
    })?;
    let state = site.load()?;
    let own = task(&state, id)?;
    let code = u8::from(failed.is_some());
    if json {
        let value = json!({
            "id": id, "status": own.status, "attempts": own.attempts, "passed": failed.is_none(),
            "error": failed, "output": output, "commits": own.commits, "check": brief.check,
        });
        return Ok(Outcome { code, ..said_json(&value)? });
    }
    if let Some(why) = failed {
        let then = match own.status {
            Status::Abandoned => "it is abandoned, and its layer is stopped".to_owned(),
            _ => format!(
                "attempt {} of 5 failed; {} begins the next",
                own.attempts,
                site.command(&format!("start {id}"))
            ),
        };
        let stdout = (!shown && !output.is_empty()).then_some(output);
        return Ok(Outcome { stdout, stderr: Some(format!("{id}: {why}; {then}")), code });
    }
    let mut text = format!(
        "Verified {id}: {} passed in {} s, {} on {branch}.",
        plural(brief.run.len(), "command"),
        seconds,
        plural(own.commits.len(), "commit")
    );
    if empty {
        text.push_str("\nNothing is committed on its branch: it cannot be merged like that.");
    }
    for check in &brief.check {
        text.push_str(&format!("\nSee to it yourself: {check}"));
    }
    text.push_str(&format!("\n{} takes it to {}.", site.command("merge"), state.base()));
    Ok(Outcome::said(text))
}

/// Runs the commands one after the other, until one fails.
fn commands(
    lines: &[String],
    mark: &str,
    dir: &Path,
    limit: Duration,
    shown: bool,
) -> anyhow::Result<Ran> {
    let mut ran = Ran { failed: None, interrupted: false, millis: 0, output: String::new() };
    let last_words = crate::process::lines::Lines::default();
    for (n, line) in lines.iter().enumerate() {
        if shown {
            let _ = last_words.print(&format!("[{}/{}] {}", n + 1, lines.len(), clip(line, 200)));
        }
        let tried = child::try_line(line, mark, dir, limit, shown)
            .with_context(|| format!("`{}` cannot be run", clip(line, 200)))?;
        ran.millis += tried.millis;
        ran.output = tried.tail;
        let how = match tried.end {
            End::Code(0) => continue,
            End::Code(code) => format!("exited with {code}"),
            End::TooLong => format!("took longer than {} s", limit.as_secs()),
            End::Interrupted => {
                ran.interrupted = true;
                return Ok(ran);
            }
        };
        ran.failed = Some(format!("`{}` {how}", clip(line, 200)));
        break;
    }
    Ok(ran)
}

/// The last characters, from the beginning of a line where one begins in time.
fn tail(text: &str) -> String {
    let text = text.trim();
    let skip = text.chars().count().saturating_sub(KEPT);
    let cut: String = text.chars().skip(skip).collect();
    match cut.split_once('\n') {
        Some((_, rest)) if skip > 0 && rest.len() > KEPT / 2 => rest.to_owned(),
        _ => cut,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_end_of_an_output_is_kept() {
        let long: String = (0..200).map(|n| format!("line {n}\n")).collect();
        let kept = super::tail(&long);
        assert!(
            kept.len() <= 500 && kept.starts_with("line ") && kept.ends_with("line 199"),
            "{kept}"
        );
        assert_eq!(super::tail(&"é".repeat(600)).chars().count(), 500);
        assert_eq!(super::tail(" short \n"), "short");
    }
}
