//! What most hooks do: take the session's record (or open one), change it, put it back, and derive
//! the copies anew.

use crate::books::active::Active;
use crate::books::current::{Current, latest};
use crate::books::errors::Errors;
use crate::books::live::{HOOKS_VERSION, Live};
use crate::event::{Event, Kind};
use crate::plan::{Change, Plan};
use crate::snapshot::{Ask, COPIES, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time;

use super::witness::{self, Witness};

/// `last_seen` may be this old.
pub const LAST_SEEN_SECONDS: u64 = 60;

/// What has to be known to take or open the session's record.
pub fn asks(event: &Event, snapshot: &Snapshot) -> Vec<Ask> {
    let mut asks = vec![Ask::Live];
    if snapshot.has(&Ask::Live) && snapshot.own(event).is_none() {
        asks.extend([Ask::Git, Ask::Client]);
        // A startup has a new id; everything else may go on with a session that was closed.
        if event.kind != Kind::SessionStart || source(event) != "startup" {
            asks.push(Ask::Metrics);
        }
    }
    asks
}

/// The same, and the copies too.
pub fn asks_with_copies(event: &Event, snapshot: &Snapshot) -> Vec<Ask> {
    let mut asks = asks(event, snapshot);
    asks.extend(COPIES);
    asks
}

pub fn source(event: &Event) -> String {
    event.text("source").unwrap_or_else(|| "unknown".into())
}

/// The session's record, or a new one: an event for an unknown or closed id opens it.
pub fn take(event: &Event, snapshot: &Snapshot, context: &Context) -> Live {
    if let Some(live) = snapshot.own(event) {
        return live.clone();
    }
    let mut live = Live {
        session_id: event.session_id.clone(),
        started: context.spelled(),
        git_branch: snapshot.git.branch.clone(),
        git_commit_start: snapshot.git.commit.clone(),
        working_directory: event.text("cwd").unwrap_or_else(|| context.root.clone()),
        hooks_version: HOOKS_VERSION.into(),
        source: source(event),
        client: snapshot.client.clone(),
        transcript_path: event.text("transcript_path"),
        last_seen: context.spelled(),
        ..Live::default()
    };
    let closed = snapshot.metrics.as_ref().and_then(|metrics| metrics.find(&live.session_id));
    if let Some(entry) = closed {
        entry.reopen(&mut live);
    }
    live
}

/// The session is alive. Its time is renewed once a minute: every write has its price.
pub fn seen(live: &mut Live, context: &Context) {
    live.worked = true;
    if time::age(&live.last_seen, context.now) >= LAST_SEEN_SECONDS {
        live.last_seen = context.spelled();
    }
}

/// The agent that this event comes from is alive, too.
pub fn agent_seen(event: &Event, live: &mut Live, witness: &mut Witness, context: &Context) {
    let agent = event.agent_id.as_deref().and_then(|id| live.agent_mut(id));
    let Some(agent) = agent else { return };
    if witness::was_silent(agent, context) {
        witness.alive(agent);
    }
    if time::age(&agent.last_seen, context.now) >= LAST_SEEN_SECONDS {
        agent.last_seen = context.spelled();
    }
}

/// The book that may call an agent stuck from which this event comes.
pub fn asks_of_silent(event: &Event, live: &Live, context: &Context) -> Vec<Ask> {
    let agent = event.agent_id.as_deref().and_then(|id| live.agent(id));
    witness::asks(agent.filter(|agent| witness::was_silent(agent, context)), context)
}

/// Whether a person has a note for the agent that this event comes from, and it would be heard.
pub fn is_nudged(event: &Event, live: &Live, context: &Context) -> bool {
    if !context.is_heard {
        return false;
    }
    let agent = event.agent_id.as_deref().and_then(|id| live.agent(id));
    agent.is_some_and(|agent| agent.nudge.is_some())
}

/// The note, which is then told.
pub fn take_nudge(event: &Event, live: &mut Live, context: &Context) -> Option<String> {
    if !context.is_heard {
        return None;
    }
    live.agent_mut(event.agent_id.as_deref()?)?.take_nudge()
}

/// What failed on these targets has just succeeded.
pub fn recover(plan: &mut Plan, live: &mut Live, errors: &Errors, targets: &[String]) {
    let mut errors = errors.clone();
    for target in targets {
        errors.recover(&live.session_id, target);
        live.close_target(target);
    }
    count_errors(live, &errors);
    plan.put_bytes(Doc::Errors, errors.to_bytes());
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
pub fn restore(plan: &mut Plan, snapshot: &Snapshot, live: &Live) {
    let reopened = !snapshot.lives.contains_key(&live.session_id)
        && snapshot
            .metrics
            .as_ref()
            .is_some_and(|metrics| metrics.find(&live.session_id).is_some());
    if reopened && live.agents_spawned > 0 {
        let session_id = live.session_id.clone();
        plan.changes.push(Change::RestoreResults { session_id });
    }
}

/// Puts the record back, then the copies that depend on it.
pub fn put(plan: &mut Plan, snapshot: &Snapshot, live: &Live) {
    restore(plan, snapshot, live);
    plan.put(Doc::live(&live.session_id), live);
    if snapshot.has(&Ask::AllLive) {
        let others = snapshot.lives.values().filter(|other| other.session_id != live.session_id);
        put_copies(plan, snapshot, others.chain(std::iter::once(live)));
    }
}

/// `active.json` and `current.json`, as these live records make them.
pub fn put_copies<'a>(
    plan: &mut Plan,
    snapshot: &Snapshot,
    lives: impl Iterator<Item = &'a Live> + Clone,
) {
    let active = Active::from_records(lives.clone(), snapshot.active.as_ref());
    if snapshot.active.is_some() || active.total_spawned > 0 || !active.agents.is_empty() {
        plan.put(Doc::Active, &active);
    }
    match latest(lives) {
        Some(live) => {
            plan.put(Doc::Current, &Current::from_record(live, snapshot.current.as_ref()))
        }
        None => plan.changes.push(Change::Remove(Doc::Current)),
    }
}
