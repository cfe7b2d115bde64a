//! The state of a clone, brought in line with what the remote has. Pure: the snapshot was read before.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::time::{self, Time};
use crate::execute::document::{
    ClaimState, Execution, MAX_ATTEMPTS, SeenClaim, TaskRecord, TaskStatus, Verification,
};
use crate::execute::reconcile::{rebuild_queue, set_merged};
use crate::execute::remote::claim::ClaimRecord;
use crate::execute::remote::wire::{Snapshot, work_ref};
use crate::execute::{Correction, MergedTask, task_branch};

/// What was read from the remote, and what a clone was when it was asked for.
pub struct Reading<'a> {
    pub snapshot: &'a Snapshot,
    /// What the base branch there has.
    pub merged: &'a [MergedTask],
    /// Where claims were, for this clone, before the remote was asked: what another process of this
    /// clone has pushed since is newer than the snapshot.
    pub known: BTreeMap<String, String>,
    pub now: Time,
}

/// The commits that a state has seen claims at.
pub fn known_claims(state: &Execution) -> BTreeMap<String, String> {
    let seen = |(id, task): (&String, &TaskRecord)| {
        Some((id.clone(), task.remote.as_ref()?.commit.clone()))
    };
    state.tasks.iter().filter_map(seen).collect()
}

/// Brings a state in line with the remote. Tasks that a step was begun of are left alone, until it is
/// finished or taken back. What people should hear of is said: work that others have taken over.
pub fn apply(state: &mut Execution, reading: &Reading) -> Vec<Correction> {
    let begun = state.tasks.iter().filter(|(_, task)| task.claim.is_some());
    let busy: BTreeSet<String> = begun.map(|(id, _)| id.clone()).collect();
    let now = time::spell(reading.now);
    let mut notes = Vec::new();
    let base = state.base().to_owned();
    let Some(remote) = &mut state.remote else { return notes };
    let (name, execution) = (remote.name.clone(), remote.execution.clone());
    remote.base.clone_from(&reading.snapshot.base);
    remote.reached_at = Some(now.clone());
    let own = remote.clone_id.clone();
    let merge_lease = remote.merge_lease();
    remote.merger = reading.snapshot.merger.as_ref().map(|(commit, claim)| {
        let mut seen = see(claim, commit, &own, remote.merger.as_ref(), reading.now);
        seen.stale = is_stale(&seen, merge_lease, reading.now);
        seen
    });
    let merged: BTreeMap<&str, &MergedTask> =
        reading.merged.iter().map(|merged| (merged.id.as_str(), merged)).collect();
    for (id, task) in state.tasks.iter_mut().filter(|(id, _)| !busy.contains(*id)) {
        let found = reading.snapshot.claims.get(id);
        if task.remote.as_ref().map(|seen| &seen.commit) != reading.known.get(id) {
            continue;
        }
        let was_elsewhere = task.is_elsewhere();
        task.remote = found.map(|(commit, claim)| {
            let mut seen = see(claim, commit, &own, task.remote.as_ref(), reading.now);
            seen.stale = is_stale(&seen, claim.lease_seconds, reading.now);
            seen
        });
        match merged.get(id.as_str()) {
            Some(merged) => {
                // Attempts that this clone has not heard of count too.
                if let Some((_, claim)) = found.filter(|(_, claim)| claim.attempts > 0) {
                    task.attempts = claim.attempts;
                }
                set_merged(task, merged);
            }
            None => {
                let claim = found.map(|(_, claim)| claim);
                let had = task.status;
                let text = set_claimed(id, task, claim, was_elsewhere, &now);
                let text = text.or_else(|| {
                    let is_lost = had == TaskStatus::Completed && task.status != had;
                    let work = reading.snapshot.work.contains_key(id);
                    let work = work.then(|| work_ref(&execution, id));
                    let work = work.map(|work| format!("; its work is there as {work}"));
                    is_lost.then(|| {
                        let (is, work) = (task.status, work.unwrap_or_default());
                        format!("was {had}, is {is}: {base} on {name} does not have it{work}")
                    })
                });
                notes.extend(text.map(|text| Correction { id: id.clone(), text }));
            }
        }
    }
    rebuild_queue(state, reading.merged, &busy);
    notes
}

fn see(
    claim: &ClaimRecord,
    commit: &str,
    own: &str,
    before: Option<&SeenClaim>,
    now: Time,
) -> SeenClaim {
    let since = before.filter(|before| before.commit == commit && !before.seen_at.is_empty());
    let since = since.map_or_else(|| time::spell(now), |before| before.seen_at.clone());
    claim.seen(commit, own, &since)
}

/// Whether a claim of another clone was not renewed for a whole lease, by our own clock.
fn is_stale(seen: &SeenClaim, lease: u64, now: Time) -> bool {
    let held = seen.state == ClaimState::Held && !seen.own;
    held && time::age(&seen.seen_at, now) >= lease
}

/// Brings a task in line with its claim; the base branch does not have it.
fn set_claimed(
    id: &str,
    task: &mut TaskRecord,
    claim: Option<&ClaimRecord>,
    was_elsewhere: bool,
    now: &str,
) -> Option<String> {
    let Some(claim) = claim else {
        if was_elsewhere {
            set_open(task, TaskStatus::Pending, 0);
        }
        return None;
    };
    let seen = task.remote.clone().unwrap_or_default();
    let had = task.status;
    let works = !was_elsewhere
        && (had.is_running() || matches!(had, TaskStatus::Verified | TaskStatus::Merging));
    if seen.own && (works || matches!(had, TaskStatus::Failed | TaskStatus::Abandoned)) {
        return None;
    }
    match claim.state {
        // Given back by its holder, while this clone had begun it: the next push takes it.
        ClaimState::Free | ClaimState::Merged if works => return None,
        ClaimState::Free | ClaimState::Merged => {
            set_open(task, TaskStatus::Pending, claim.attempts);
        }
        ClaimState::Held if seen.own => {}
        // Its machine is gone: that says nothing about the work.
        ClaimState::Held if seen.stale && !works => {
            set_open(task, TaskStatus::Pending, claim.attempts.saturating_sub(1));
        }
        ClaimState::Held => set_open(task, TaskStatus::InProgress, claim.attempts),
        ClaimState::Failed => set_failed(task, claim, now),
        ClaimState::Verified => {
            set_open(task, TaskStatus::Verified, claim.attempts);
            task.verification = Some(Verification {
                commit: claim.head.clone(),
                passed: true,
                at: now.to_owned(),
                ..Verification::default()
            });
        }
    }
    (works && !seen.own).then(|| {
        format!(
            "{} has taken it over; what was done here stays on branch {}",
            seen.holder(),
            task_branch(id)
        )
    })
}

/// Nobody here is at it.
pub fn set_open(task: &mut TaskRecord, status: TaskStatus, attempts: u64) {
    (task.status, task.attempts) = (status, attempts);
    (task.worktree_path, task.branch) = (None, None);
    (task.agent_id, task.session_id, task.claim) = (None, None, None);
    (task.merged_at, task.merge_commit) = (None, None);
    task.commits.clear();
}

/// Another clone's attempt failed; what it learned is for the next one.
fn set_failed(task: &mut TaskRecord, claim: &ClaimRecord, now: &str) {
    set_open(task, TaskStatus::Failed, claim.attempts);
    if claim.attempts >= MAX_ATTEMPTS {
        task.status = TaskStatus::Abandoned;
    }
    let is_new = |error: &String| !task.errors.iter().any(|known| known.message == *error);
    if let Some(error) = claim.error.as_ref().filter(|error| is_new(error)) {
        task.add_error(error, None, now.to_owned());
    }
    let has = |feedback: &String| task.retry_feedback.iter().any(|f| f.feedback == *feedback);
    if let Some(feedback) = claim.feedback.as_ref().filter(|feedback| !has(feedback)) {
        task.add_feedback(feedback);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::document::SharedRemote;

    fn at(time: &str) -> Time {
        time::parse(time).unwrap()
    }

    fn claim(state: ClaimState, clone_id: &str) -> ClaimRecord {
        ClaimRecord {
            state,
            clone_id: clone_id.into(),
            host: "north".into(),
            attempts: 2,
            lease_seconds: 60,
            ..ClaimRecord::default()
        }
    }

    fn sync(
        state: &mut Execution,
        claim: ClaimRecord,
        commit: &str,
        time: &str,
    ) -> Vec<Correction> {
        let mut snapshot = Snapshot::default();
        snapshot.claims.insert("a".into(), (commit.into(), claim));
        let known = known_claims(state);
        let reading = Reading { snapshot: &snapshot, merged: &[], known, now: at(time) };
        apply(state, &reading)
    }

    fn state(status: TaskStatus) -> Execution {
        let remote = Some(SharedRemote { clone_id: "me".into(), ..SharedRemote::default() });
        let mut state = Execution { remote, ..Execution::default() };
        state.tasks.insert("a".into(), TaskRecord { status, ..TaskRecord::default() });
        state
    }

    #[test]
    fn a_claim_is_stale_when_this_clone_has_seen_it_for_a_lease() {
        let mut s = state(TaskStatus::Pending);
        let far = ClaimRecord { at: "2099-01-01T00:00:00Z".into(), ..claim(ClaimState::Held, "x") };
        for (time, commit, status, attempts) in [
            ("2026-01-01T10:00:00Z", "c1", TaskStatus::InProgress, 2),
            ("2026-01-01T10:00:59Z", "c1", TaskStatus::InProgress, 2),
            ("2026-01-01T10:00:59Z", "c2", TaskStatus::InProgress, 2),
            ("2026-01-01T10:01:58Z", "c2", TaskStatus::InProgress, 2),
            ("2026-01-01T10:01:59Z", "c2", TaskStatus::Pending, 1),
        ] {
            assert!(sync(&mut s, far.clone(), commit, time).is_empty());
            let task = &s.tasks["a"];
            assert_eq!((task.status, task.attempts), (status, attempts), "{time} {commit}");
            assert_eq!(task.is_elsewhere(), status == TaskStatus::InProgress);
        }
    }

    #[test]
    fn what_is_merged_has_the_attempts_of_its_claim() {
        let mut s = state(TaskStatus::Pending);
        let mut snapshot = Snapshot::default();
        snapshot.claims.insert("a".into(), ("c".into(), claim(ClaimState::Merged, "x")));
        let merged = [MergedTask { id: "a".into(), ..MergedTask::default() }];
        let known = known_claims(&s);
        let now = at("2026-01-01T10:00:00Z");
        apply(&mut s, &Reading { snapshot: &snapshot, merged: &merged, known, now });
        assert_eq!((s.tasks["a"].status, s.tasks["a"].attempts), (TaskStatus::Completed, 2));
    }

    #[test]
    fn what_others_took_over_is_theirs_and_ours_is_left_alone() {
        let now = "2026-01-01T10:00:00Z";
        let mut s = state(TaskStatus::InProgress);
        assert!(sync(&mut s, claim(ClaimState::Held, "me"), "c1", now).is_empty());
        assert_eq!(s.tasks["a"].status, TaskStatus::InProgress);
        assert!(!s.tasks["a"].is_elsewhere());
        let notes = sync(&mut s, claim(ClaimState::Verified, "x"), "c2", now);
        assert!(notes[0].text.starts_with("north has taken it over"), "{notes:?}");
        assert_eq!(s.tasks["a"].status, TaskStatus::Verified);
        assert_eq!(s.open_merges().count(), 1);
        let failed = ClaimRecord { error: Some("no".into()), ..claim(ClaimState::Failed, "x") };
        assert!(sync(&mut s, failed, "c3", now).is_empty());
        let task = &s.tasks["a"];
        assert_eq!((task.status, task.errors.len()), (TaskStatus::Failed, 1));
        assert_eq!(s.open_merges().count(), 0);
    }
}
