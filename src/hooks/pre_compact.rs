//! PreCompact: what must survive goes into a backup, and a few words go to the summariser.

use serde_json::{Value, json};

use crate::books::Extra;
use crate::books::active::Active;
use crate::books::backup::{Backup, Kept, Preserved, too_many};
use crate::books::branch::BranchState;
use crate::books::current::Current;
use crate::books::live::{LastBackup, Live};
use crate::event::Event;
use crate::plan::{Change, Plan};
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time;

use super::{desk, recall, witness};

const LONGEST_INSTRUCTIONS: usize = 200;

pub fn asks(event: &Event, snapshot: &Snapshot, context: &Context) -> Vec<Ask> {
    if event.agent_id.is_some() {
        return Vec::new();
    }
    let mut asks = desk::asks_with_copies(event, snapshot);
    asks.extend([Ask::Queue, Ask::LoopState, Ask::Autonomous, Ask::Branch, Ask::Backups]);
    asks.push(Ask::Iterative);
    let with_branch = context.settings.is_on(witness::SYSTEM);
    let transcript = event.text("transcript_path");
    asks.extend(
        transcript.map(|path| Ask::InContext { transcript: path.into(), todos: with_branch }),
    );
    if with_branch {
        asks.extend([Ask::Here, Ask::PlanHere]);
    }
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("a subagent's context, not the session's");
    }
    let mut live = desk::take(event, snapshot, context);
    live.last_seen = context.spelled();
    let branch = branch(&live, snapshot, context);
    let state = branch.as_ref().map(|(_, state)| state);
    let backup = backup(event, &live, state, snapshot, context);
    let mut plan = Plan::because("the same as the last backup");
    let last = live.last_backup.as_ref().filter(|last| {
        last.checksum == backup.checksum
            && snapshot.backups.iter().any(|kept| kept.file == last.file)
    });
    if last.is_none() {
        let file = free_name(snapshot, context);
        plan.outcome = format!("backup in {file}");
        let (session_id, checksum) = (live.session_id.clone(), backup.checksum.clone());
        plan.put(Doc::Backup(file.clone()), &backup);
        let mut kept = snapshot.backups.clone();
        kept.push(Kept { file: file.clone(), session_id });
        for old in too_many(&kept, context.settings.keep_backups) {
            plan.changes.push(Change::Remove(Doc::Backup(old)));
        }
        let last = live.last_backup.take().unwrap_or_default();
        live.last_backup = Some(LastBackup { file, checksum, ..last });
    }
    if let Some((doc, mut state)) = branch {
        state.compacted_at = Some(context.spelled());
        plan.put(doc, &state);
    }
    desk::put(&mut plan, snapshot, &live);
    plan.reply.context = recall::for_summary(&live, snapshot);
    plan
}

/// The state of the branch that is checked out, with where the session stands. It is not dated:
/// a snapshot that differs only in time is the same.
fn branch(live: &Live, snapshot: &Snapshot, context: &Context) -> Option<(Doc, BranchState)> {
    let here = snapshot.here.as_ref().filter(|_| snapshot.has(&Ask::PlanHere))?;
    let mut state = snapshot.here_state.clone().unwrap_or_default();
    state.branch.clone_from(&here.name);
    state.compacted_at = None;
    let plan = snapshot.plan_here.clone();
    state.save(&live.session_id, live.workflow.as_ref(), plan, &snapshot.todos, &context.redact);
    Some((Doc::Branch(here.key.clone()), state))
}

fn backup(
    event: &Event,
    live: &Live,
    branch: Option<&BranchState>,
    snapshot: &Snapshot,
    context: &Context,
) -> Backup {
    let others = snapshot.lives.values().filter(|other| other.session_id != live.session_id);
    let lives = others.chain(std::iter::once(live));
    let value = |document: serde_json::Result<Value>| document.unwrap_or_default();
    let mut backup = Backup {
        timestamp: context.spelled(),
        reason: reason(event, context),
        preserved: Preserved {
            loop_state: snapshot
                .loop_state
                .as_ref()
                .map_or(Value::Null, |markdown| json!({"markdown": markdown})),
            work_queue: value(serde_json::to_value(&snapshot.queue)),
            active_agents: value(serde_json::to_value(Active::from_records(
                lives,
                snapshot.active.as_ref(),
            ))),
            session: value(serde_json::to_value(Current::from_record(live, None))),
            extra: beside(branch, snapshot),
        },
        context_tokens_before: snapshot.in_context.tokens,
        files_in_context: snapshot.in_context.files.iter().map(|f| context.relative(f)).collect(),
        session_id: live.session_id.clone(),
        ..Backup::default()
    };
    backup.checksum = backup.checksum();
    backup
}

/// What other systems keep beside the state.
fn beside(branch: Option<&BranchState>, snapshot: &Snapshot) -> Extra {
    let mut extra = Extra::new();
    let autonomous = snapshot.autonomous.as_ref().and_then(|s| serde_json::to_value(s).ok());
    extra.extend(autonomous.map(|state| ("autonomous".to_owned(), state)));
    // The branch that is checked out, unless the session drives the loop of another one.
    let driven = snapshot.branch.as_ref().map(|(_, state)| state);
    let of_another = driven.filter(|driven| {
        driven.running().is_some() && branch.is_none_or(|here| here.branch != driven.branch)
    });
    let branch = of_another.into_iter().chain(branch).chain(driven);
    let branch = branch.into_iter().find(|state| state.has_content());
    let branch = branch.and_then(|state| serde_json::to_value(state).ok());
    extra.extend(branch.map(|state| ("branch".to_owned(), state)));
    let open = snapshot.iterative.as_ref().filter(|book| book.state.is_open());
    let task = open.and_then(|book| serde_json::to_value(&book.state).ok());
    extra.extend(task.map(|task| ("iterative".to_owned(), task)));
    extra
}

fn reason(event: &Event, context: &Context) -> String {
    if event.text("trigger").as_deref() == Some("auto") {
        return "context_limit_approaching".into();
    }
    match event.text("custom_instructions") {
        Some(text) => {
            let text = context.redact.text(&text);
            format!("manual: {}", crate::books::clip(&text, LONGEST_INSTRUCTIONS))
        }
        None => "manual".into(),
    }
}

/// A name of this millisecond, or of the next one that is free.
fn free_name(snapshot: &Snapshot, context: &Context) -> String {
    let mut at = context.now;
    loop {
        let name = format!("backup_{}.json", time::stamp(at));
        if snapshot.backups.iter().all(|kept| kept.file != name) {
            return name;
        }
        at += chrono::TimeDelta::milliseconds(1);
    }
}
