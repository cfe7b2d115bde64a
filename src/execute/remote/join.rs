//! An execution on the remote: one clone puts it there, the others join it.

use crate::core::text::{clip, plural};
use crate::execute::document::{Execution, SharedRemote, holder};
use crate::execute::remote::claim::{self, ExecutionRecord, MERGE, PlannedRecord, VERSION};
use crate::execute::remote::contact::shallow;
use crate::execute::remote::push::{Pushed, REMOTE_REJECTED, Update};
use crate::execute::remote::remote_name::ensure_remote;
use crate::execute::remote::texts::{self, OtherText};
use crate::execute::remote::wire::{Snapshot, Wire, execution_ref};
use crate::execute::{Correction, Repository, Result, TasksFolder, plan_files};

/// Of many tasks that differ, so many are named.
const MAX_NAMED: usize = 5;

/// How an execution is shared.
pub struct Sharing<'a> {
    pub remote: &'a str,
    pub lease: Option<u64>,
    /// Nothing is pushed.
    pub dry_run: bool,
    /// A lost state is made anew. Whoever did that has named the execution, and other texts are no
    /// reason to keep its claims from them.
    pub recovers: bool,
}

/// How a state became one that is shared.
pub struct Shared {
    /// Whether the execution was there.
    pub joined: bool,
    /// Tasks whose texts were edited since it began.
    pub edited: Vec<Correction>,
}

/// Makes a new state one that is shared with other clones.
pub fn share(
    folder: &TasksFolder,
    repository: &Repository,
    state: &mut Execution,
    sharing: &Sharing,
) -> Result<Shared> {
    ensure_remote(repository, sharing.remote)?;
    if let Some(id) = state.tasks.keys().find(|id| id.eq_ignore_ascii_case(MERGE)) {
        refuse!("a task of a shared execution must not be called {id}: that is the claim to merge");
    }
    if repository.is_shallow()? {
        return Err(shallow(repository, sharing.remote));
    }
    let execution = claim::execution_name(&state.prd_slug)?;
    let wire = Wire { repository, remote: sharing.remote };
    let read = || {
        let read = wire.read(&execution, state.base());
        read.map_err(|trouble| format!("{}; nothing was begun", trouble.explain(sharing.remote)))
    };
    let mut snapshot = read()?;
    let Some(base) = snapshot.base.clone() else {
        refuse!(
            "{remote} has no branch {base}, which tasks are merged to; `git push {remote} {base}` first",
            remote = sharing.remote,
            base = state.base()
        );
    };
    refuse_unfit(&wire, &execution_ref(&execution), &base)?;
    let plan = ExecutionRecord::plan_of(state, &plan_files::task_digests(folder.path(), state));
    let is_new = snapshot.record.is_none() && !snapshot.has_unreadable_record;
    if is_new {
        let process = folder.process;
        let record = ExecutionRecord {
            version: VERSION,
            execution: execution.clone(),
            slug: clip(&state.prd_slug, 100),
            base_branch: state.base().to_owned(),
            base_commit: base.clone(),
            lease_seconds: sharing.lease.unwrap_or(claim::DEFAULT_LEASE),
            host: clip(&process.shown_host(), 100),
            user: process.env("USER").unwrap_or_default(),
            at: folder.now(),
            tasks: plan.clone(),
        };
        match sharing.dry_run {
            true => snapshot.record = Some(record),
            false => {
                publish(&wire, &record)?;
                snapshot = read()?;
            }
        }
    }
    let record = accept(state, &plan, &snapshot, sharing.remote, &execution)?;
    let others = texts::find_others(&plan, record);
    let edited = others.iter().map(|other| Correction {
        id: other.id.to_owned(),
        text: "its text is another one than when the execution began".into(),
    });
    let edited = edited.collect();
    if !sharing.recovers {
        let mut others = others;
        texts::retain_unknown(folder, &wire, record, &base, &mut others)?;
        if !others.is_empty() {
            refuse!("{}", explain_other(record, sharing.remote, &name_texts(&others)));
        }
    }
    state.base_commit = Some(record.base_commit.clone());
    state.remote = Some(SharedRemote {
        name: sharing.remote.to_owned(),
        execution,
        clone_id: folder.process.unique_id(&state.tasks_path),
        lease_seconds: record.lease_seconds,
        base: snapshot.base.clone(),
        reached_at: Some(folder.now()),
        ..SharedRemote::default()
    });
    if !repository.contains(&base, &record.base_commit)? {
        refuse!(
            "{} on {} was rewritten since the execution began: it has not {}",
            state.base(),
            sharing.remote,
            record.base_commit
        );
    }
    Ok(Shared { joined: !is_new, edited })
}

/// What a remote cannot do is found before any work, not by the first push that needs it.
fn refuse_unfit(wire: &Wire, name: &str, commit: &str) -> Result<()> {
    match wire.probe(name, commit)? {
        Pushed::Done | Pushed::Changed => Ok(()),
        Pushed::Refused(why) | Pushed::Offline(why) => {
            refuse!("an execution cannot be shared over {}: {why}. Nothing was begun", wire.remote)
        }
    }
}

/// Puts the record there, unless another clone is faster.
fn publish(wire: &Wire, record: &ExecutionRecord) -> Result<()> {
    let commit = wire.write_commit(None, &record.message())?;
    let name = execution_ref(&record.execution);
    let pushed = wire.push(&[Update { name: name.clone(), expected: Some(None), to: commit }])?;
    match pushed {
        Pushed::Done | Pushed::Changed => Ok(()),
        // Else git says itself what is wrong, and it is not the name.
        Pushed::Refused(why) if !why.contains(REMOTE_REJECTED) => {
            refuse!("{} refuses {name}: {why}. Nothing was begun", wire.remote)
        }
        Pushed::Refused(why) => refuse!(
            "{} refuses {name}: {why}; an execution can only be shared over a remote that takes refs below refs/hookkeeper. Nothing was begun",
            wire.remote
        ),
        Pushed::Offline(why) => {
            refuse!("{} cannot be reached ({why}); nothing was begun", wire.remote)
        }
    }
}

/// The record, if it is of this plan, whatever the texts of its tasks say.
fn accept<'a>(
    state: &Execution,
    plan: &[PlannedRecord],
    snapshot: &'a Snapshot,
    remote: &str,
    execution: &str,
) -> Result<&'a ExecutionRecord> {
    let name = execution_ref(execution);
    let Some(record) = &snapshot.record else {
        refuse!("{name} on {remote} is nothing that this program can read; nothing was begun");
    };
    let Some(differs) = explain_other_plan(record, state, plan) else { return Ok(record) };
    refuse!("{}", explain_other(record, remote, &differs))
}

fn explain_other(record: &ExecutionRecord, remote: &str, differs: &str) -> String {
    format!(
        "{remote} has another execution of the name {}, begun by {} at {}: {differs}. Give this plan another prd_slug, or remove the refs of the other one (docs/fleet-git.md). Nothing was begun",
        record.execution,
        holder(&record.user, &record.host),
        record.at
    )
}

/// In what a record is of another plan; `None` if it is of this one.
fn explain_other_plan(
    record: &ExecutionRecord,
    state: &Execution,
    plan: &[PlannedRecord],
) -> Option<String> {
    if record.slug != clip(&state.prd_slug, 100) {
        return Some(format!("it is called {}", record.slug));
    }
    if record.base_branch != state.base() {
        return Some(format!(
            "its tasks are merged to {}, not {}",
            record.base_branch,
            state.base()
        ));
    }
    let pairs = || plan.iter().zip(&record.tasks);
    let other = pairs().find(|(own, theirs)| !own.has_place_of(theirs));
    if other.is_some() || plan.len() != record.tasks.len() {
        let other = other.map(|(own, _)| format!(" from {} on", own.id)).unwrap_or_default();
        let tasks = plural(record.tasks.len(), "task");
        return Some(format!("it has {tasks}, and they differ{other}"));
    }
    None
}

fn name_texts(others: &[OtherText]) -> String {
    let rest = others.len().saturating_sub(MAX_NAMED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let named = others.iter().take(MAX_NAMED).map(|other| other.id).collect::<Vec<_>>().join(", ");
    format!(
        "the text of {named}{more} is another one there (if both are meant to be one, the task files have to be the same)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_differ_by_place_and_by_text_as_far_as_that_is_known() {
        let task = |id: &str, digest: &str| PlannedRecord {
            id: id.into(),
            digest: digest.into(),
            ..PlannedRecord::default()
        };
        let state = Execution { prd_slug: "shop".into(), ..Execution::default() };
        let record = |tasks: &[PlannedRecord]| ExecutionRecord {
            slug: "shop".into(),
            base_branch: state.base().into(),
            tasks: tasks.to_vec(),
            ..ExecutionRecord::default()
        };
        let plan = [task("a", "1"), task("b", "2")];
        let explain = |tasks: &[PlannedRecord]| explain_other_plan(&record(tasks), &state, &plan);
        assert_eq!(explain(&plan), None);
        assert_eq!(explain(&[task("a", ""), task("b", "")]), None, "of an older program");
        assert!(explain(&plan[..1]).unwrap().contains("1 task, and they differ"));
        let other = explain(&[task("a", "1"), task("c", "2")]).unwrap();
        assert!(other.contains("differ from b on"), "{other}");
        let tasks = [task("a", "9"), task("b", "2")];
        assert_eq!(explain(&tasks), None, "texts are told apart by themselves");
        let record = record(&tasks);
        let other = name_texts(&texts::find_others(&plan, &record));
        assert!(other.starts_with("the text of a is another one there"), "{other}");
    }
}
