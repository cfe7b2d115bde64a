//! The merge queue of all clones: who holds the claim to merge takes one verified task to the base
//! branch of the remote, and gives the claim back with the same push.

use std::time::Duration;

use crate::execute::document::{ClaimState, Execution, SeenClaim, TaskStatus};
use crate::execute::merge::{self, MergeOutcome, QueueHead};
use crate::execute::merge_commit::{self, MergeMessage, PreparedMerge};
use crate::execute::remote::claim::MERGE;
use crate::execute::remote::contact::{Coordination, NewClaim};
use crate::execute::remote::push::{Pushed, Update};
use crate::execute::{Repository, Result, TasksFolder, recover, resume};
use crate::process::deadline::{self, Deadline};

/// So long a command waits for another clone that merges.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);
/// A base branch that moves again and again is followed so often.
const TRIES: usize = 20;

/// What came of one try to merge a task.
enum Step {
    Ended(Box<MergeOutcome>),
    /// The remote has changed: look again.
    Again,
}

/// Merges everything that waits, of all clones.
pub fn merge_all(
    folder: &TasksFolder,
    repository: &Repository,
    shared: &Coordination,
) -> Result<(Vec<MergeOutcome>, Option<String>)> {
    let mut outcomes: Vec<MergeOutcome> = Vec::new();
    let busy = merge_waiting(folder, repository, shared, &mut outcomes)?;
    // What others have merged of this clone's is no longer needed.
    for note in resume::remove_merged(folder, &repository.lock()?)? {
        outcomes.push(MergeOutcome { id: note.id, note: Some(note.text), ..Default::default() });
    }
    Ok((outcomes, busy))
}

/// Merges until nothing waits, or another clone is at it: what is said of that.
fn merge_waiting(
    folder: &TasksFolder,
    repository: &Repository,
    shared: &Coordination,
    outcomes: &mut Vec<MergeOutcome>,
) -> Result<Option<String>> {
    let patience = Deadline::after(PATIENCE);
    loop {
        shared.sync_or_refuse("what was verified waits here")?;
        for note in shared.settle(false)? {
            outcomes.push(MergeOutcome {
                id: note.id,
                note: Some(note.text),
                ..Default::default()
            });
        }
        let state = folder.load()?;
        if let Some(text) = merging_elsewhere(&state) {
            if state.open_merges().next().is_none() {
                return Ok(None);
            }
            if patience.is_over() {
                return Ok(Some(text));
            }
            deadline::pause(PAUSE);
            continue;
        }
        merge::refuse_stopped(folder, &state)?;
        match merge::claim_first(folder)? {
            QueueHead::Nobody => return Ok(None),
            QueueHead::Busy(text) => return Ok(Some(text)),
            QueueHead::Orphaned(id) => {
                let note = recover::recover_task(folder, repository, &id)?;
                outcomes.push(MergeOutcome { id, note, ..MergeOutcome::default() });
            }
            QueueHead::Own(id) => match merge_claimed(shared, &id) {
                Ok(Step::Ended(outcome)) => outcomes.push(*outcome),
                Ok(Step::Again) => {}
                Err(error) => {
                    let done = merge::summarize(outcomes);
                    return Err(error.context(format!("{done}{id} was not merged")));
                }
            },
        }
    }
}

/// What is said of another clone that merges.
fn merging_elsewhere(state: &Execution) -> Option<String> {
    let merger = state.remote.as_ref()?.merger.as_ref()?;
    merger.is_worked_on_elsewhere().then(|| {
        format!("{} is merging, since {}; what waits here comes later.", merger.holder(), merger.at)
    })
}

/// Merges a task that this process has claimed in the state. Unless it is merged or has failed, it
/// waits as before.
fn merge_claimed(shared: &Coordination, id: &str) -> Result<Step> {
    let step = merge_task(shared, id);
    if !matches!(step, Ok(Step::Ended(_))) {
        let state = shared.folder.load()?;
        let task = state.task(id)?;
        if task.status == TaskStatus::Merging
            && task.claim.as_ref().is_none_or(|c| c.commit.is_none())
        {
            shared.folder.release_claim(id, TaskStatus::Verified)?;
        }
    }
    step
}

fn merge_task(shared: &Coordination, id: &str) -> Result<Step> {
    let state = shared.folder.load()?;
    let task = state.task(id)?;
    let Some(seen) = task.remote.clone().filter(|seen| seen.state == ClaimState::Verified) else {
        refuse!(
            "{} does not know that it was verified; {}",
            shared.remote.name,
            shared.folder.command("resume")
        );
    };
    let Some(merger) = take_merge(shared, &state)? else { return Ok(Step::Again) };
    for _ in 0..TRIES {
        // Whoever had the claim before may have merged after the last look.
        let Ok(snapshot) = shared.read() else { return Ok(Step::Again) };
        let is_at = |found: Option<&(String, _)>, at: &str| found.is_some_and(|(c, _)| c == at);
        let is_first = is_at(snapshot.merger.as_ref(), &merger.commit);
        let Some(base) = snapshot.base.filter(|_| is_first) else { return Ok(Step::Again) };
        let merged = shared.repository.merged_tasks(&state, &base)?;
        let claimed = is_at(snapshot.claims.get(id), &seen.commit);
        if !claimed || merged.iter().any(|merged| merged.id == id) {
            give_back(shared, &merger)?;
            return Ok(Step::Again);
        }
        match merge_onto(shared, &state, id, &seen, &merger, &base)? {
            Some(step) => return Ok(step),
            None => deadline::pause(Duration::from_millis(50)),
        }
    }
    give_back(shared, &merger)?;
    refuse!("{} on {} moves again and again; try again", state.base(), shared.remote.name)
}

/// Takes the claim to merge; none if another clone was faster.
fn take_merge(shared: &Coordination, state: &Execution) -> Result<Option<SeenClaim>> {
    let before = state.remote.as_ref().and_then(|remote| remote.merger.clone());
    let (update, seen) = shared.step(MERGE, before.as_ref(), &NewClaim::default())?;
    let remote = &shared.remote.name;
    match shared.wire().push(&[update])? {
        Pushed::Done => Ok(Some(seen)),
        Pushed::Changed => Ok(None),
        Pushed::Refused(why) => refuse!("{remote} refuses the claim to merge: {why}"),
        Pushed::Offline(why) => refuse!("{remote} cannot be reached ({why})"),
    }
}

/// Gives the claim to merge back; if that fails, its lease ends.
fn give_back(shared: &Coordination, merger: &SeenClaim) -> Result<()> {
    let free = NewClaim { state: ClaimState::Free, ..NewClaim::default() };
    let (update, _) = shared.step(MERGE, Some(merger), &free)?;
    shared.wire().push(&[update]).map(drop)
}

/// One merge on top of the base branch; `None` if that has moved.
fn merge_onto(
    shared: &Coordination,
    state: &Execution,
    id: &str,
    seen: &SeenClaim,
    merger: &SeenClaim,
    base: &str,
) -> Result<Option<Step>> {
    let task = state.task(id)?;
    let Some(head) = &seen.head else {
        refuse!("its claim on {} names no commit", shared.remote.name);
    };
    if !shared.repository.has_commit(head)? {
        let feedback = "Verify it again: its branch is not on the remote.".to_owned();
        return fail(shared, id, merger, "the verified commit is gone", None, feedback).map(Some);
    }
    if shared.repository.commits_ahead(base, head)?.is_empty() {
        let feedback = "Nothing was committed: commit the work on the task's branch.".to_owned();
        return fail(shared, id, merger, "no_commits", None, feedback).map(Some);
    }
    let message =
        MergeMessage { id, name: task.name.as_deref(), begun: state.base_commit.as_deref() };
    let prepared = merge_commit::prepare(&shared.repository.lock()?, base, head, &message)?;
    let commit = match prepared {
        PreparedMerge::Commit(commit) => commit,
        PreparedMerge::Conflict(files) => {
            let files = files.join(", ");
            let feedback = format!(
                "Merging to {} conflicts in {files}. Run `git fetch {}` and `git rebase {base}` in the worktree, resolve it, and verify again.",
                state.base(),
                shared.remote.name
            );
            return fail(shared, id, merger, "merge_conflict", Some(files), feedback).map(Some);
        }
    };
    let done = NewClaim {
        state: ClaimState::Merged,
        attempts: seen.attempts,
        head: Some(commit.clone()),
        ..NewClaim::default()
    };
    let free = NewClaim { state: ClaimState::Free, ..NewClaim::default() };
    let (claim, noted) = shared.step(id, Some(seen), &done)?;
    let (merge, _) = shared.step(MERGE, Some(merger), &free)?;
    let base_branch = Update {
        name: format!("refs/heads/{}", state.base()),
        expected: Some(Some(base.to_owned())),
        to: commit.clone(),
    };
    match shared.wire().push(&[claim, merge, base_branch])? {
        Pushed::Done => {
            shared.note(id, noted)?;
            complete(shared, id, &commit).map(Some)
        }
        Pushed::Changed => Ok(None),
        Pushed::Refused(why) => {
            give_back(shared, merger)?;
            refuse!("{} refuses to move {}: {why}", shared.remote.name, state.base())
        }
        Pushed::Offline(why) => refuse!(
            "{} cannot be reached ({why}); whether it was merged is seen by the next `merge`",
            shared.remote.name
        ),
    }
}

/// The remote has it: the checkout follows if nothing is in its way, worktree and branch go.
fn complete(shared: &Coordination, id: &str, commit: &str) -> Result<Step> {
    let folder = shared.folder;
    let repository = shared.repository.lock()?;
    let state = folder.load()?;
    let mut notes = Vec::new();
    match follow(folder, &repository, &state, id, commit) {
        Ok(None) => {}
        Ok(Some(note)) => notes.push(note),
        Err(error) => notes.push(format!("the checkout stays behind: {error}")),
    }
    folder.update(|state| {
        state.remote.iter_mut().for_each(|remote| remote.base = Some(commit.to_owned()));
        Ok(())
    })?;
    notes.extend(merge::complete_merge(folder, &repository, id, commit)?);
    let note = Some(notes.join("; ")).filter(|note| !note.is_empty());
    let commit = Some(commit.to_owned());
    Ok(Step::Ended(Box::new(MergeOutcome { id: id.to_owned(), commit, error: None, note })))
}

/// Moves the base branch of this clone and its checkout; what is said if they have to stay.
fn follow(
    folder: &TasksFolder,
    repository: &crate::execute::LockedRepository,
    state: &Execution,
    id: &str,
    commit: &str,
) -> Result<Option<String>> {
    let onto = repository.base_tip(state.base())?;
    if !repository.contains(commit, &onto)? {
        let base = state.base();
        return Ok(Some(format!(
            "your own {base} has commits that the remote has not, so it was not moved; `git pull` brings the merge"
        )));
    }
    repository.ensure_idle()?;
    repository.ensure_on_branch(state.base())?;
    repository.ensure_clean(folder.path())?;
    // Noted only now: after a kill it is the checkout that is brought to its end, nothing else.
    folder.update(|state| {
        if let Some(claim) = state.task_mut(id)?.claim.as_mut() {
            (claim.onto, claim.commit) = (Some(onto.clone()), Some(commit.to_owned()));
        }
        Ok(())
    })?;
    merge_commit::fast_forward(repository, commit)?;
    merge_commit::submodule_hint(repository, &onto, commit)
}

/// The attempt failed in the merge: the base branch is as it was, all clones hear of it.
fn fail(
    shared: &Coordination,
    id: &str,
    merger: &SeenClaim,
    message: &str,
    conflicts: Option<String>,
    feedback: String,
) -> Result<Step> {
    let outcome = merge::fail_merge(shared.folder, id, message, conflicts, Some(feedback))?;
    let note = shared.release(id)?;
    give_back(shared, merger)?;
    Ok(Step::Ended(Box::new(MergeOutcome { note, ..outcome })))
}
