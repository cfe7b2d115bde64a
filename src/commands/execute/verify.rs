//! `run-verify`: a task's commands, in its worktree. Their exit codes decide.

use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::commands::execute::{TaskTarget, fail};
use crate::console::project::{Project, print_json};
use crate::core::gate::shell_word;
use crate::core::outcome::Outcome;
use crate::core::text::plural;
use crate::execute::document::{ClaimedStep, TaskStatus, Verification};
use crate::execute::plan_files::load_task_file;
use crate::execute::recover::recover_task;
use crate::execute::remote::Coordination;
use crate::execute::transitions::{self, FailedAttempt};
use crate::execute::worktree_status::{self, WorktreeStatus};
use crate::execute::{TasksFolder, task_branch, verification};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub task: TaskTarget,
    /// Seconds that each command may take
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,
    /// What the next attempt should do, if this one fails
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    feedback: Option<String>,
}

/// So many are noted of the files that the commands leave.
const MAX_LEFTOVERS: usize = 200;

pub fn run(
    project: &Project,
    folder: &TasksFolder,
    options: &Arguments,
) -> anyhow::Result<Outcome> {
    let (id, json) = (options.task.id.as_str(), options.task.target.json);
    let state = folder.load()?;
    let repository = folder.repository(&state)?;
    recover_task(folder, &repository, id)?;
    let shared = Coordination::of(folder, &repository, &state);
    let mut away = None;
    if let Some(shared) = &shared {
        away = shared.sync_if_reachable()?.1;
        shared.ensure_here(id, folder.load()?.task(id)?)?;
    }
    let state = folder.load()?;
    let task = state.task(id)?;
    let file = load_task_file(folder.path(), id, task)?;
    let resume = folder.command("resume");
    let missing =
        || format!("{id} is {} and has no worktree; {resume} makes it again", task.status);
    let worktree = match task.status {
        TaskStatus::InProgress => task.existing_worktree().with_context(missing)?,
        other => bail!("{id} cannot be verified: it is {other}"),
    };
    let base = repository.effective_base(&state)?;
    let branch = task_branch(id);
    let gone = || format!("the branch {branch} is gone; {resume} puts that right");
    let tip = repository.branch_tip(&branch)?.with_context(gone)?;
    if let Some(why) = worktree_status::merge_obstacle(&repository, worktree, id, task)? {
        bail!("{id}: {why}; only what is committed on {branch} is merged");
    }
    let commits = repository.commits_ahead(&base, &tip)?;
    if commits.is_empty() {
        bail!(
            "{id}: nothing is committed on {branch}, so there is nothing to verify; commit the work in {}, the attempt goes on",
            worktree.display()
        );
    }
    if let Some(shared) = shared.as_ref().filter(|_| away.is_none()) {
        shared.keep(id, task)?;
    }
    let claim = folder.new_claim(ClaimedStep::Verify);
    let mark = verification::process_mark(&claim);
    folder.update(|state| {
        let task = state.task_mut(id)?;
        folder.ensure_unclaimed(id, task)?;
        transitions::advance(id, task, TaskStatus::Verifying)?;
        task.claim = Some(claim);
        Ok(())
    })?;
    let limit = Duration::from_secs(options.time_limit);
    let shown = folder.process.terminal().is_terminal && !json;
    let dir = worktree.join(&repository.prefix);
    // What is shown of the commands is progress enough.
    let progress = (!shown)
        .then(|| project.progress(&format!("{}, in {id}", plural(file.run.len(), "command"))));
    let mut renewed = folder.process.elapsed();
    let mut renew = || {
        let due = |shared: &&Coordination| {
            folder.process.elapsed().saturating_sub(renewed).as_secs() >= shared.renewal_seconds()
        };
        if let Some(shared) = shared.as_ref().filter(due) {
            // Whether it is still ours is seen at the end.
            let _ = shared.renew(id, true);
            renewed = folder.process.elapsed();
        }
    };
    let run = verification::run_commands(&file.run, &mark, &dir, limit, shown, &mut renew);
    let result = match run {
        Ok(result) if !result.interrupted => result,
        other => {
            folder.release_claim(id, TaskStatus::InProgress)?;
            other?;
            bail!("{id}: interrupted; it is as it was before");
        }
    };
    drop(progress);
    let after = worktree_status::inspect(&repository, worktree, id)?;
    let left = after.iter().flat_map(WorktreeStatus::untracked).take(MAX_LEFTOVERS);
    let left = left.cloned().collect();
    let redact = project.redactor()?;
    let output = verification::output_tail(&redact.text(&result.output));
    let failed = result.failure.as_ref().map(|why| redact.text(why));
    let feedback = options.feedback.as_ref().map(|text| redact.block(text, fail::LONGEST));
    let seconds = result.millis / 1000;
    folder.update(|state| {
        let now = folder.now();
        let task = state.task_mut(id)?;
        task.set_commits(commits);
        task.verification = Some(Verification {
            commit: Some(tip.clone()),
            passed: failed.is_none(),
            commands: file.run.len() as u64,
            seconds,
            output: output.clone(),
            left,
            at: now.clone(),
            ..Verification::default()
        });
        match &failed {
            Some(message) => {
                let details = (!output.is_empty()).then(|| output.clone());
                let failed = FailedAttempt { message, details, feedback, counts: true };
                transitions::fail_attempt(state, id, failed, &now)?;
            }
            None => {
                transitions::advance(id, task, TaskStatus::Verified)?;
                task.claim = None;
                state.enqueue(id);
            }
        }
        Ok(())
    })?;
    let untold = match &shared {
        Some(shared) => shared.release(id).map_err(|error| match failed {
            None => error.context("it was verified, but is not pushed"),
            Some(_) => error,
        })?,
        None => None,
    };
    let state = folder.load()?;
    let task = state.task(id)?;
    let code = u8::from(failed.is_some());
    if json {
        let value = json!({
            "id": id, "status": task.status, "attempts": task.attempts, "passed": failed.is_none(),
            "error": failed, "output": output, "commits": task.commits, "check": file.check,
        });
        let value = with_note(value, untold);
        return Ok(Outcome { code, ..print_json(&value)? });
    }
    if let Some(why) = failed {
        let then = match task.status {
            TaskStatus::Abandoned => "it is abandoned, and its layer is stopped".to_owned(),
            _ => format!(
                "attempt {} of 5 failed; {} begins the next, {} says what it should do",
                task.attempts,
                folder.command(&format!("start {}", shell_word(id))),
                folder.command(&format!("fail {} --feedback TEXT", shell_word(id)))
            ),
        };
        let stdout = (!shown && !output.is_empty()).then(|| output.into());
        let untold = untold.map(|why| format!("; {why}")).unwrap_or_default();
        let stderr = Some(format!("{id}: {why}; {then}{untold}").into());
        return Ok(Outcome { stdout, stderr, code });
    }
    let mut text = format!(
        "Verified {id}: {} passed in {seconds} s, {} on {branch}.",
        plural(file.run.len(), "command"),
        plural(task.commits.len(), "commit")
    );
    for check in &file.check {
        text.push_str(&format!("\nSee to it yourself: {check}"));
    }
    text.extend(untold.map(|why| format!("\n{why}.")));
    text.push_str(&format!("\n{} takes it to {}.", folder.command("merge"), state.base()));
    Ok(Outcome::printed(text))
}

/// What the remote was not told, where there is one.
fn with_note(mut value: serde_json::Value, note: Option<String>) -> serde_json::Value {
    if let (Some(note), Some(fields)) = (note, value.as_object_mut()) {
        fields.insert("note".into(), note.into());
    }
    value
}
