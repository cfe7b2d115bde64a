//! What most hooks do with the record of their session: open it, mark it as seen, put it back, and
//! derive the copies anew.

use crate::core::event::{Event, Kind};
use crate::core::journal::{Entry, EntryKind};
use crate::core::redaction::Redactor;
use crate::core::settings::Settings;
use crate::core::text::to_bytes;
use crate::core::time;
use crate::errors::document::Errors;
use crate::session::active::Active;
use crate::session::current::{Current, CurrentFile, latest};
use crate::session::live::{HOOKS_VERSION, Live};
use crate::session::metrics::{self, Metrics};
use crate::session::running_agents;
use crate::state::State;
use crate::state::plan::{Change, Plan};
use crate::store::view::View;
use crate::turn::context::Context;

/// `last_seen` may be this old.
pub const LAST_SEEN_SECONDS: u64 = 60;

/// How a session began; other events do not say.
pub fn source(event: &Event) -> String {
    event.text("source").unwrap_or_else(|| "unknown".into())
}

/// The record of the event's own session, if it is open.
pub fn own_record<'s>(event: &Event, state: &'s State) -> Option<&'s Live> {
    state.get_by(event.session_id.as_str())
}

/// Whether a session is open.
pub fn is_live(session_id: &str, state: &State) -> bool {
    state.get_by::<Live>(session_id).is_some()
}

/// All open sessions but one.
pub fn others<'s>(session_id: &'s str, state: &'s State) -> impl Iterator<Item = &'s Live> + Clone {
    let lives: Vec<&Live> = state.all::<Live>().collect();
    lives.into_iter().filter(move |other| other.session_id != session_id)
}

/// The session's record, or a new one: an event for an unknown or closed id opens it. What the
/// client's files say of its agents by now is in it.
pub fn open_session(event: &Event, state: &State, context: &Context) -> Live {
    if let Some(live) = own_record(event, state) {
        let mut live = live.clone();
        let side_file = |transcript: &str, id: &str| context.facts.side_file(transcript, id);
        running_agents::identify(&mut live, side_file, &context.redact);
        live.end_waiting(event);
        return live;
    }
    let git = context.facts.git();
    let mut live = Live {
        session_id: event.session_id.clone(),
        started: context.spelled(),
        git_branch: git.branch,
        git_commit_start: git.commit,
        working_directory: event.text("cwd").unwrap_or_else(|| context.root.clone()),
        hooks_version: HOOKS_VERSION.into(),
        source: source(event),
        client: context.facts.client(),
        transcript_path: event.text("transcript_path"),
        last_seen: context.spelled(),
        ..Live::default()
    };
    // A startup has a new id; everything else may go on with a session that was closed.
    let is_new = event.kind == Kind::SessionStart && source(event) == "startup";
    let metrics = if is_new { None } else { state.get::<Metrics>() };
    if let Some(entry) = metrics.and_then(|metrics| metrics.find(&live.session_id)) {
        entry.reopen(&mut live);
    }
    live
}

/// The session is alive. Its time is renewed once a minute: every write has its price.
pub fn mark_seen(live: &mut Live, context: &Context) {
    live.worked = true;
    if time::age(&live.last_seen, context.now) >= LAST_SEEN_SECONDS {
        live.last_seen = context.spelled();
    }
}

/// Whether a person has a note for the agent that this event comes from, and it would be heard.
pub fn is_nudged(event: &Event, live: &Live, context: &Context) -> bool {
    let agent = event.agent_id.as_deref().and_then(|id| live.agent(id));
    context.is_heard && agent.is_some_and(|agent| agent.nudge.is_some())
}

/// A person's note for the agent that this event comes from, which is then told.
pub fn take_nudge(event: &Event, live: &mut Live, context: &Context) -> Option<String> {
    if !context.is_heard {
        return None;
    }
    live.agent_mut(event.agent_id.as_deref()?)?.take_nudge()
}

/// What failed on these targets has just succeeded.
pub fn recover_errors(plan: &mut Plan, live: &mut Live, targets: &[String], state: &State) {
    let read = state.read::<Errors>(&());
    let Some(mut errors) = read.value.cloned() else { return };
    for target in targets {
        errors.recover(&live.session_id, target);
        plan.tell(Entry::new(EntryKind::Recovered).target(target));
        live.close_target(target);
    }
    count_errors(live, &errors);
    plan.put(&read, &errors);
}

/// The record's error counts, as the errors document has them. They never go back: a document that
/// was lost takes its records with it, not what happened.
pub fn count_errors(live: &mut Live, errors: &Errors) {
    let mut tally = errors.tally(&live.session_id);
    tally.join(&live.earlier.errors);
    live.errors_encountered = live.errors_encountered.max(tally.total);
    live.errors_recovered = live.errors_recovered.max(tally.recovered);
    live.errors_escalated = tally.escalated;
}

/// A closed session goes on: its results are its own again.
pub fn restore_results(plan: &mut Plan, live: &Live, state: &State) {
    if live.agents_spawned == 0 || is_live(&live.session_id, state) {
        return;
    }
    let metrics = state.get::<Metrics>();
    if metrics.is_some_and(|metrics| metrics.find(&live.session_id).is_some()) {
        let session_id = live.session_id.clone();
        plan.changes.push(Change::RestoreResults { session_id });
    }
}

/// Puts the record back, without its copies, unless its agents are better known now: else they do
/// not show what changed.
pub fn put_record(plan: &mut Plan, live: &Live, state: &State) {
    let before = state.get_by::<Live>(&live.session_id);
    if before.is_some_and(|before| running_agents::is_better_known(live, before)) {
        return put_with_copies(plan, live, state);
    }
    put_alone(plan, live, state);
}

/// Puts the record back, then the copies that depend on it.
pub fn put_with_copies(plan: &mut Plan, live: &Live, state: &State) {
    put_alone(plan, live, state);
    put_copies(plan, others(&live.session_id, state).chain(std::iter::once(live)), state);
}

fn put_alone(plan: &mut Plan, live: &Live, state: &State) {
    restore_results(plan, live, state);
    plan.put(&state.read::<Live>(&live.session_id), live);
}

/// `active.json` and `current.json`, as these live records make them.
pub fn put_copies<'a>(
    plan: &mut Plan,
    lives: impl Iterator<Item = &'a Live> + Clone,
    state: &State,
) {
    let read = state.read::<Active>(&());
    let active = Active::from_records(lives.clone(), read.value);
    if read.value.is_some() || active.total_spawned > 0 || !active.agents.is_empty() {
        plan.put(&read, &active);
    }
    let read = state.read::<CurrentFile>(&());
    match latest(lives) {
        Some(live) => {
            let current = Current::from_record(live, read.value.map(|file| &file.0));
            plan.changes.push(Change::Put(read.write_bytes(to_bytes(&current))));
        }
        None => plan.remove(&read),
    }
}

/// Live sessions as people see them: the one that started first first, with what the client's
/// files say of their agents by now.
pub fn live_sessions(state: &State, settings: &Settings) -> Vec<Live> {
    let mut lives: Vec<Live> = state.all::<Live>().cloned().collect();
    lives.sort_by(|a, b| a.started.cmp(&b.started));
    running_agents::identify_all(&mut lives, &Redactor::new(&settings.redact));
    lives
}

/// The live sessions of a project that is only looked at.
pub fn lives(view: &View) -> Vec<Live> {
    live_sessions(&view.state(), &view.settings())
}

/// The metrics that were moved to the archive, newest first, and how many of its lines are
/// damaged.
pub fn archived_metrics(view: &View) -> (Vec<metrics::Entry>, usize) {
    let (mut entries, mut damaged) = (Vec::new(), 0);
    for line in metrics_archive(view).split(|byte| *byte == b'\n').rev() {
        match serde_json::from_slice(line) {
            Ok(entry) => entries.push(entry),
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) => damaged += 1,
        }
    }
    (entries, damaged)
}

/// The lines of the metrics' archive: it only grows, beyond what is read as a document.
fn metrics_archive(view: &View) -> Vec<u8> {
    let path = metrics::ARCHIVE.path;
    let Some((folder, name)) = path.rsplit_once('/') else { return Vec::new() };
    let Some(folder) = view.folder(folder) else { return Vec::new() };
    let size = usize::try_from(folder.size(name)).unwrap_or(usize::MAX);
    folder.read_tail(name, size).unwrap_or_default()
}
