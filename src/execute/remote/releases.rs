//! What a clone tells the remote of its own tasks: that an attempt ended and how, that somebody still
//! works on one, and what it could not tell while the remote was away.

use std::path::Path;

use crate::core::id::FileStem;
use crate::core::text::clip;
use crate::core::time;
use crate::execute::document::{ClaimState, Execution, TaskRecord, TaskStatus};
use crate::execute::remote::contact::{Coordination, NewClaim};
use crate::execute::remote::push::{Pushed, Update};
use crate::execute::remote::wire::work_ref;
use crate::execute::{Correction, Result, task_branch};
use crate::process::files;

/// A renewal is due after this part of a lease, so that one or two may be lost.
const RENEWALS: u64 = 4;
const LONGEST: usize = 1000;

impl Coordination<'_> {
    /// Tells the remote how an attempt ended, as the state has it. What is said of it where it did not
    /// arrive; an error if another clone has taken the task over.
    pub fn release(&self, id: &str) -> Result<Option<String>> {
        let remote = &self.remote.name;
        for _ in 0..2 {
            return match self.push_status(id)? {
                Pushed::Done => Ok(None),
                Pushed::Offline(why) => Ok(Some(format!(
                    "{remote} cannot be reached ({why}); {} tells it later",
                    self.folder.command("resume")
                ))),
                Pushed::Refused(why) => {
                    Ok(Some(format!("{remote} refuses it: {why}; it is kept here")))
                }
                Pushed::Changed => match self.explain_changed(id) {
                    Ok(()) => continue,
                    Err(error) => {
                        self.sync()?;
                        Err(error)
                    }
                },
            };
        }
        Ok(Some(format!("{remote} has another claim of {id}; {}", self.folder.command("resume"))))
    }

    /// Pushes what the state says of a task, with its branch.
    fn push_status(&self, id: &str) -> Result<Pushed> {
        let state = self.folder.load()?;
        let task = state.task(id)?;
        let tip = self.repository.branch_tip(&task_branch(id))?;
        let base = self.repository.effective_base(&state)?;
        let work = match (task.status, tip) {
            (TaskStatus::Verified | TaskStatus::Merging, _) => {
                task.verification.as_ref().and_then(|done| done.commit.clone())
            }
            (TaskStatus::Pending, _) | (_, None) => None,
            // A branch that is here may be what was left of an attempt that others took over.
            _ if task.remote.as_ref().is_some_and(|seen| !seen.own) => None,
            (_, Some(tip)) => (!self.repository.contains(&base, &tip)?).then_some(tip),
        };
        let is_held = task.remote.as_ref().is_some_and(|seen| seen.is_own(ClaimState::Held));
        let with = work.iter().map(|tip| Update {
            name: work_ref(&self.remote.execution, id),
            expected: None,
            to: tip.clone(),
        });
        let mut with: Vec<Update> = with.collect();
        // Who has held the task all the time has put the work there, or kept what was there before.
        if !is_held && let Some(tip) = &work {
            match self.keep_earlier(id) {
                Ok(kept) => with.extend(kept.filter(|kept| kept.to != *tip)),
                Err(trouble) => return Ok(trouble.into()),
            }
        }
        let had = task.remote.as_ref().and_then(|seen| seen.unmerged_head().cloned());
        let head = if task.status == TaskStatus::Pending { None } else { work.or(had) };
        self.move_claim(id, &NewClaim { head, ..status_claim(task) }, with)
    }

    /// Tells the remote what it could not be told: attempts that ended while it was away. With
    /// `and_open`, tasks that are worked on here without a claim are claimed, and claims of tasks that
    /// nobody began are given back. The state was in line with the remote a moment ago.
    pub fn settle(&self, and_open: bool) -> Result<Vec<Correction>> {
        let state = self.folder.load()?;
        let mut notes = Vec::new();
        for (id, task) in state.tasks.iter().filter(|(_, task)| is_owed(task, and_open)) {
            let text = match self.release(id) {
                Ok(None) => format!("{} knows now that it is {}", self.remote.name, task.status),
                Ok(Some(why)) => why,
                Err(error) => error.to_string(),
            };
            notes.push(Correction { id: id.clone(), text });
        }
        Ok(notes)
    }

    /// Renews the claim of a task that is worked on, with what its branch has; if that is due.
    pub fn renew(&self, id: &str, even_if_new: bool) -> Result<Pushed> {
        let state = self.folder.load()?;
        let seen = state.task(id)?.remote.clone().unwrap_or_default();
        let age = time::age(&seen.seen_at, self.folder.process.now());
        match seen.is_own(ClaimState::Held) && (even_if_new || age >= self.renewal_seconds()) {
            true => self.push_status(id),
            false => Ok(Pushed::Done),
        }
    }

    pub fn renewal_seconds(&self) -> u64 {
        (self.remote.lease_seconds / RENEWALS).max(1)
    }

    /// Seconds since somebody was seen at a task: its start, its worktree, the session's journal.
    pub fn silence(&self, state: &Execution, id: &str, task: &TaskRecord) -> u64 {
        let now = self.folder.process.now();
        let admin = self.repository.common.join("worktrees").join(id);
        let journal = task.session_id.as_ref().map(|session| {
            let stem = FileStem::from_id(session);
            let file = format!(".claude/state/journal/{}.jsonl", stem.as_str());
            Path::new(&state.project_path).join(file)
        });
        let places = ["index", "HEAD", "logs/HEAD"].map(|name| admin.join(name));
        let places = places.into_iter().chain(journal);
        let places = places.chain(task.worktree_path.as_ref().map(Into::into));
        let touched = places.filter_map(|path| files::modified(&path)).max();
        let touched = touched.map_or(u64::MAX, |at| time::age(&time::spell(at), now));
        let started = task.started_at.as_ref().map_or(u64::MAX, |at| time::age(at, now));
        if task.claim.is_some() { 0 } else { touched.min(started) }
    }
}

/// Whether the remote has to be told where a task of this clone is.
fn is_owed(task: &TaskRecord, and_open: bool) -> bool {
    let held = task.remote.as_ref().is_some_and(|seen| seen.is_own(ClaimState::Held));
    let taken = task.remote.as_ref().is_some_and(|seen| {
        !seen.own && matches!(seen.state, ClaimState::Held | ClaimState::Verified)
    });
    if task.claim.is_some() || taken {
        return false;
    }
    match task.status {
        TaskStatus::Verified => {
            task.remote.as_ref().is_none_or(|s| s.state != ClaimState::Verified)
        }
        TaskStatus::Failed | TaskStatus::Abandoned => held,
        TaskStatus::Pending => held && and_open,
        TaskStatus::InProgress => !held && and_open,
        TaskStatus::Verifying | TaskStatus::Merging | TaskStatus::Completed => false,
    }
}

/// What the claim of a task says that is where the state has it.
fn status_claim(task: &TaskRecord) -> NewClaim {
    let state = match task.status {
        TaskStatus::Pending => ClaimState::Free,
        TaskStatus::InProgress | TaskStatus::Verifying => ClaimState::Held,
        TaskStatus::Verified | TaskStatus::Merging => ClaimState::Verified,
        TaskStatus::Failed | TaskStatus::Abandoned => ClaimState::Failed,
        TaskStatus::Completed => ClaimState::Merged,
    };
    let failed = state == ClaimState::Failed;
    let text = |text: &String| clip(text, LONGEST);
    let feedback = task.retry_feedback.iter().rev();
    let feedback = feedback.filter(|f| failed && f.attempt == task.attempt()).map(|f| &f.feedback);
    NewClaim {
        state,
        attempts: task.attempts,
        head: None,
        error: task.errors.last().filter(|_| failed).map(|error| text(&error.message)),
        feedback: feedback.map(text).next(),
    }
}
