//! What a remote alone tells of executions: who works where, and how far they are. Any clone can ask,
//! also one that has no state.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::execute::document::{ClaimState, Execution, TaskRecord, holder};
use crate::execute::graph::validate_task_id;
use crate::execute::remote::claim::{ClaimRecord, ExecutionRecord, state_name};
use crate::execute::remote::wire::{EXECUTIONS, Snapshot, Trouble, Wire};
use crate::execute::{Repository, Result};

/// An execution on a remote.
#[derive(Debug, Default, Serialize)]
pub struct SharedExecution {
    pub name: String,
    pub base_branch: String,
    pub begun_at: String,
    pub begun_by: String,
    pub lease_seconds: u64,
    pub total: usize,
    pub merged: usize,
    pub verified: usize,
    pub held: usize,
    pub failed: usize,
    pub attempts: u64,
    pub merging: Option<String>,
    pub machines: Vec<Machine>,
    pub claims: Vec<ShownClaim>,
}

/// A clone that has made claims: what it holds now, and what it has done since the execution began.
#[derive(Debug, Default, Serialize)]
pub struct Machine {
    pub host: String,
    pub user: String,
    pub clone_id: String,
    pub held: usize,
    pub verified: usize,
    pub failed: usize,
    pub merged: usize,
    /// Its last claim, by its own clock.
    pub last_at: String,
}

#[derive(Debug, Default, Serialize)]
pub struct ShownClaim {
    pub task: String,
    pub state: &'static str,
    pub host: String,
    pub user: String,
    pub attempts: u64,
    pub at: String,
    pub lease_end: String,
}

/// All executions that a remote has.
pub fn read_all(
    repository: &Repository,
    remote: &str,
) -> Result<std::result::Result<Vec<SharedExecution>, Trouble>> {
    let wire = Wire { repository, remote };
    let found = wire.read_refs(&[format!("{EXECUTIONS}/*")]).and_then(|refs| {
        let objects = wire.read_records(&refs)?;
        Ok((refs, objects))
    });
    let (refs, objects) = match found {
        Ok(found) => found,
        Err(trouble) => return Ok(Err(trouble)),
    };
    let mut all = Vec::new();
    for (name, commit) in &refs {
        let name = name.rsplit('/').next().unwrap_or_default();
        let bytes = objects.get(commit).map(Vec::as_slice).unwrap_or_default();
        let record = crate::execute::remote::claim::parse_execution(bytes, name);
        let Some(record) = record.filter(|_| validate_task_id(name).is_ok()) else { continue };
        let snapshot = match wire.read(name, &record.base_branch) {
            Ok(snapshot) => snapshot,
            Err(trouble) => return Ok(Err(trouble)),
        };
        let merged = match &snapshot.base {
            Some(base) => repository.merged_tasks(&as_state(&record), base)?,
            None => Vec::new(),
        };
        let merged = merged.into_iter().map(|merged| merged.id).collect();
        let history = match wire.read_history(name, &snapshot) {
            Ok(history) => history,
            Err(trouble) => return Ok(Err(trouble)),
        };
        all.push(summarize(&record, &snapshot, &merged, &history));
    }
    Ok(Ok(all))
}

/// As much of a state as the base branch is read by.
fn as_state(record: &ExecutionRecord) -> Execution {
    let tasks = record.tasks.iter().map(|task| (task.id.clone(), TaskRecord::default()));
    Execution {
        base_branch: Some(record.base_branch.clone()),
        base_commit: Some(record.base_commit.clone()),
        tasks: tasks.collect(),
        ..Execution::default()
    }
}

fn summarize(
    record: &ExecutionRecord,
    snapshot: &Snapshot,
    merged: &BTreeSet<String>,
    history: &[ClaimRecord],
) -> SharedExecution {
    let mut shown = SharedExecution {
        name: record.execution.clone(),
        base_branch: record.base_branch.clone(),
        begun_at: record.at.clone(),
        begun_by: holder(&record.user, &record.host),
        lease_seconds: record.lease_seconds,
        total: record.tasks.len(),
        merged: merged.len(),
        ..SharedExecution::default()
    };
    let mut machines: BTreeMap<&str, Machine> = BTreeMap::new();
    let planned: BTreeSet<&str> = record.tasks.iter().map(|task| task.id.as_str()).collect();
    // Who has verified what others merged, and whose attempt failed before another one, only earlier
    // claims tell.
    let mut told = BTreeSet::new();
    let mut mergers = BTreeMap::new();
    for claim in history.iter().filter(|claim| planned.contains(claim.task.as_str())) {
        let machine = machines.entry(&claim.clone_id).or_default();
        note(machine, claim);
        let end = (&claim.clone_id, &claim.task, claim.attempts, state_name(claim.state));
        let is_new = told.insert(end);
        match claim.state {
            ClaimState::Verified if is_new => machine.verified += 1,
            ClaimState::Failed if is_new => machine.failed += 1,
            ClaimState::Merged => drop(mergers.insert(&claim.task, &claim.clone_id)),
            _ => {}
        }
    }
    let claims = snapshot.claims.iter().filter(|(id, _)| planned.contains(id.as_str()));
    for (id, (_, claim)) in claims {
        let state = if merged.contains(id) { ClaimState::Merged } else { claim.state };
        shown.attempts = shown.attempts.saturating_add(claim.attempts);
        let machine = machines.entry(&claim.clone_id).or_default();
        note(machine, claim);
        match state {
            ClaimState::Held => (shown.held, machine.held) = (shown.held + 1, machine.held + 1),
            ClaimState::Verified => shown.verified += 1,
            ClaimState::Failed => shown.failed += 1,
            ClaimState::Merged => {
                let merger = mergers.get(id).copied().unwrap_or(&claim.clone_id);
                machines.entry(merger).or_default().merged += 1;
            }
            ClaimState::Free => {}
        }
        if matches!(state, ClaimState::Held | ClaimState::Verified | ClaimState::Failed) {
            shown.claims.push(ShownClaim {
                task: id.clone(),
                state: state_name(state),
                host: claim.host.clone(),
                user: claim.user.clone(),
                attempts: claim.attempts,
                at: claim.at.clone(),
                lease_end: claim.lease_end.clone(),
            });
        }
    }
    if let Some((_, merger)) = &snapshot.merger {
        note(machines.entry(&merger.clone_id).or_default(), merger);
        let merges = merger.state == ClaimState::Held;
        shown.merging = merges.then(|| holder(&merger.user, &merger.host));
    }
    shown.machines = machines.into_values().collect();
    shown.machines.sort_by(|a, b| (&a.host, &a.clone_id).cmp(&(&b.host, &b.clone_id)));
    shown
}

/// The name of a machine, and when it was heard of last.
fn note(machine: &mut Machine, claim: &ClaimRecord) {
    machine.host.clone_from(&claim.host);
    machine.user.clone_from(&claim.user);
    machine.clone_id.clone_from(&claim.clone_id);
    if machine.last_at < claim.at {
        machine.last_at.clone_from(&claim.at);
    }
}
