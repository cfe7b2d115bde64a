//! PreCompact: what must survive goes into a backup, and a few words go to the summariser.

use std::path::Path;

use serde_json::{Value, json};

use crate::branch::checkout;
use crate::branch::document::BranchState;
use crate::client::plan_file::PlanFile;
use crate::client::todos::Todo;
use crate::client::transcript::InContext;
use crate::compaction::backup::{Backup, Kept, Preserved, kept_backups, too_many};
use crate::core::event::Event;
use crate::core::text::Extra;
use crate::core::time;
use crate::hooks::restored_context;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::queue::document::Queue;
use crate::loops::queue::page::LoopStateText;
use crate::session::active::Active;
use crate::session::current::Current;
use crate::session::live::{LastBackup, Live};
use crate::session::record;
use crate::state::plan::{Change, Plan};
use crate::state::{Document, State};
use crate::turn::context::Context;

const LONGEST_INSTRUCTIONS: usize = 200;

pub fn plan(event: &Event, state: &State, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("a subagent's context, not the session's");
    }
    let mut live = record::open_session(event, state, context);
    live.last_seen = context.spelled();
    let snapshot = SessionSnapshot::read(event, state, context);
    let branch = branch_state(&live, &snapshot, state, context);
    let backup = backup(event, &live, &snapshot, branch.as_ref(), state, context);
    let mut plan = Plan::because("the same as the last backup");
    let kept = kept_backups(state);
    let last = live.last_backup.as_ref().filter(|last| {
        last.checksum == backup.checksum && kept.iter().any(|kept| kept.file == last.file)
    });
    if last.is_none() {
        let file = free_name(&kept, context);
        plan.outcome = format!("backup in {file}");
        let (session_id, checksum) = (live.session_id.clone(), backup.checksum.clone());
        plan.put(&state.read::<Backup>(&file), &backup);
        let mut kept = kept;
        // What says that it is later than now is from when the clock was wrong: it counts as oldest.
        kept.sort_by_key(|old| old.file < file);
        kept.push(Kept { file: file.clone(), session_id });
        for old in
            too_many(&kept, usize::try_from(context.settings.keep_backups).unwrap_or(usize::MAX))
        {
            plan.changes.push(Change::Remove(Backup::doc(&old)));
        }
        let last = live.last_backup.take().unwrap_or_default();
        live.last_backup = Some(LastBackup { file, checksum, ..last });
    }
    if let (Some(here), Some(mut branch)) = (checkout::current(state, context), branch) {
        branch.compacted_at = Some(context.spelled());
        plan.put(&state.read::<BranchState>(&here.key), &branch);
    }
    record::put_with_copies(&mut plan, &live, state);
    let (plan_file, todos) = (snapshot.plan.as_ref(), snapshot.todos.as_slice());
    plan.reply.context =
        restored_context::for_summary(event, &live, plan_file, todos, state, context);
    plan
}

/// Where the session snapshot, as the client's files and the plan tell.
struct SessionSnapshot {
    in_context: InContext,
    plan: Option<PlanFile>,
    todos: Vec<Todo>,
}

impl SessionSnapshot {
    fn read(event: &Event, state: &State, context: &Context) -> Self {
        let here = checkout::current(state, context);
        let transcript = event.text("transcript_path");
        let read = |path: String| context.facts.in_context(Path::new(&path), here.is_some());
        let (in_context, todos) = transcript.map(read).unwrap_or_default();
        let plan = here.and_then(|here| context.plan_file(here.key.as_str(), state));
        Self { in_context, plan, todos }
    }
}

/// The state of the branch that is checked out, with where the session snapshot. It is not dated:
/// a snapshot that differs only in time is the same.
fn branch_state(
    live: &Live,
    snapshot: &SessionSnapshot,
    state: &State,
    context: &Context,
) -> Option<BranchState> {
    let here = checkout::current(state, context)?;
    let found = checkout::with_state(state, context).map(|(_, state)| state.clone());
    let mut branch = found.unwrap_or_default();
    branch.branch.clone_from(&here.branch);
    branch.compacted_at = None;
    let (workflow, plan) = (live.workflow.as_ref(), snapshot.plan.clone());
    branch.save(&live.session_id, workflow, plan, &snapshot.todos, &context.redact);
    Some(branch)
}

fn backup(
    event: &Event,
    live: &Live,
    snapshot: &SessionSnapshot,
    branch: Option<&BranchState>,
    state: &State,
    context: &Context,
) -> Backup {
    let lives = record::others(&live.session_id, state).chain(std::iter::once(live));
    let value = |document: serde_json::Result<Value>| document.unwrap_or_default();
    let in_context = &snapshot.in_context;
    let mut backup = Backup {
        timestamp: context.spelled(),
        reason: reason(event, context),
        preserved: Preserved {
            loop_state: state
                .get::<LoopStateText>()
                .map_or(Value::Null, |text| json!({"markdown": text.0})),
            work_queue: value(serde_json::to_value(state.get::<Queue>())),
            active_agents: value(serde_json::to_value(Active::from_records(
                lives,
                state.get::<Active>(),
            ))),
            session: value(serde_json::to_value(Current::from_record(live, None))),
            extra: other_systems(event, branch, state, context),
        },
        context_tokens_before: in_context.tokens,
        files_in_context: in_context.files.iter().map(|file| context.relative(file)).collect(),
        session_id: live.session_id.clone(),
        ..Backup::default()
    };
    backup.checksum = backup.checksum();
    backup
}

/// What other systems keep beside the state.
fn other_systems(
    event: &Event,
    branch: Option<&BranchState>,
    state: &State,
    context: &Context,
) -> Extra {
    let mut extra = Extra::new();
    let autonomous = state.get::<Autonomous>().and_then(|s| serde_json::to_value(s).ok());
    extra.extend(autonomous.map(|state| ("autonomous".to_owned(), state)));
    // The branch that is checked out, unless the session drives the loop of another one.
    let own = record::own_record(event, state);
    let driven = checkout::of_loop(own, state, context);
    let here = checkout::current(state, context).map(|here| &here.key);
    let of_another = driven.filter(|(key, driven)| {
        driven.running().is_some() && (branch.is_none() || here != Some(key))
    });
    let (driven, of_another) = (driven.map(|(_, of)| of), of_another.map(|(_, of)| of));
    let branch = of_another.into_iter().chain(branch).chain(driven);
    let branch = branch.into_iter().find(|state| state.has_content());
    let branch = branch.and_then(|state| serde_json::to_value(state).ok());
    extra.extend(branch.map(|state| ("branch".to_owned(), state)));
    let open = crate::loops::iterative::drive::task(event, state, context)
        .filter(|documents| documents.state.is_open());
    let task = open.and_then(|documents| serde_json::to_value(&documents.state).ok());
    extra.extend(task.map(|task| ("iterative".to_owned(), task)));
    extra
}

fn reason(event: &Event, context: &Context) -> String {
    if event.text("trigger").as_deref() == Some("auto") {
        return "context_limit_approaching".into();
    }
    match event.text("custom_instructions") {
        Some(text) => {
            format!("manual: {}", context.redact.line(&text, LONGEST_INSTRUCTIONS))
        }
        None => "manual".into(),
    }
}

/// A name of this millisecond, or of the next one that is free.
fn free_name(kept: &[Kept], context: &Context) -> String {
    let mut at = context.now;
    loop {
        let name = format!("backup_{}.json", time::stamp(at));
        if kept.iter().all(|kept| kept.file != name) {
            return name;
        }
        at += chrono::TimeDelta::milliseconds(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::event::Kind::PreCompact;
    use crate::hooks::testing::*;
    use crate::state::map::Files;

    const NAME: &str = "backup_20260129T100000000Z.json";

    /// With three backups of a session, from three days.
    fn with_backups(files: Files, session_id: &str) -> Files {
        let backup = Backup { session_id: session_id.into(), ..Backup::default() };
        let day = |n| format!("backup_202601{n:02}T{:06}000Z.json", session_id.len());
        (1..=3).fold(files, |files, n| files.with::<Backup>(&day(n), &backup))
    }

    #[test]
    fn a_backup_has_what_must_survive_and_the_oldest_goes() {
        let own = Live { task: Some("Add login".into()), ..own_session(&["a1"]) };
        let files = Files::default().with::<Live>(OWN, &own).with::<Queue>(&(), &queue_of(OWN));
        let plan = plan_event(PreCompact, json!({"trigger": "auto"}), &with_backups(files, OWN));
        let backup = put_of::<Backup>(&plan, NAME).unwrap();
        assert_eq!(backup.reason, "context_limit_approaching");
        assert_eq!(backup.preserved.work_queue["items"][0]["id"], "work-001");
        assert_eq!(backup.preserved.session["task"], "Add login");
        assert_eq!(backup.preserved.active_agents["agents"][0]["id"], "a1");
        assert_eq!(removed(&plan), ["compaction/backup_20260101T000003000Z.json"]);
        let last = own_record(&plan).last_backup.unwrap();
        assert_eq!((last.file.as_str(), last.checksum), (NAME, backup.checksum));
    }

    #[test]
    fn an_empty_state_gets_a_record_and_a_backup_of_it() {
        let plan = plan_event(PreCompact, json!({"trigger": "manual"}), &Files::default());
        let backup = put_of::<Backup>(&plan, NAME).unwrap();
        assert_eq!((backup.reason.as_str(), backup.session_id.as_str()), ("manual", OWN));
        assert_eq!(backup.preserved.work_queue, Value::Null);
        assert_eq!(own_record(&plan).last_backup.unwrap().file, NAME);
    }

    #[test]
    fn the_same_again_is_no_second_backup() {
        let files = Files::default().with::<Live>(OWN, &own_session(&[]));
        let files = after(&files, &plan_event(PreCompact, json!({"trigger": "auto"}), &files));
        let again = plan_event(PreCompact, json!({"trigger": "auto"}), &files);
        assert_eq!(again.outcome, "the same as the last backup");
    }

    #[test]
    fn the_backups_of_another_session_stay() {
        let files =
            with_backups(with_backups(other().with::<Live>(OWN, &own_session(&[])), OWN), OTHER);
        let plan = plan_event(PreCompact, json!({"trigger": "auto"}), &files);
        ensure_other_is_kept(&files, &plan);
        assert_eq!(removed(&plan), ["compaction/backup_20260101T000003000Z.json"]);
        let backup = put_of::<Backup>(&plan, NAME).unwrap();
        assert_eq!(backup.preserved.active_agents["agents"][0]["id"], OTHER_AGENT);
    }
}
