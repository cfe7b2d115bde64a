//! SessionStart: opens the session's record or takes it up again, closes sessions whose client is
//! gone, and gives the model what it may have lost.

use chrono::TimeDelta;

use crate::books::live::{Client, Lineage, Live};
use crate::event::Event;
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time;

use super::close::{self, Closing};
use super::witness::Witness;
use super::{branch_recall, desk, drive, recall, synthesis};

/// A session on another machine is given up when it was silent for this long.
const SILENT_HOURS: i64 = 24;

pub fn asks(event: &Event, snapshot: &Snapshot, context: &Context) -> Vec<Ask> {
    if event.agent_id.is_some() {
        return Vec::new();
    }
    let mut asks = desk::asks_with_copies(event, snapshot);
    asks.extend([Ask::Client, Ask::Gone]);
    asks.extend(drive::asks_to_adopt());
    asks.extend(recall::asks_for_executions(snapshot));
    match desk::source(event).as_str() {
        "clear" => asks.push(Ask::Cleared),
        "fork" => asks.extend(fork_parent(event)),
        "compact" => {
            asks.push(Ask::Errors);
            asks.extend(synthesis::asks(snapshot.own(event), snapshot));
        }
        "resume" => asks.push(Ask::Errors),
        _ => {}
    }
    if let Some(live) = snapshot.own(event).filter(|live| snapshot.gone.contains(&live.session_id))
    {
        asks.extend(close::agents(live, context));
    }
    for live in abandoned(event, snapshot, context) {
        asks.extend(close::asks(live, context));
    }
    asks.extend(branch_recall::asks(event, snapshot, context));
    // After what says whom the session goes on from.
    asks.push(Ask::Iterative);
    asks
}

pub fn plan(event: &Event, snapshot: &Snapshot, context: &Context) -> Plan {
    if event.agent_id.is_some() {
        return Plan::because("a subagent's context, not the session's");
    }
    let source = desk::source(event);
    let mut plan = Plan::because(source.clone());
    let gone = abandoned(event, snapshot, context);
    let is_gone = |live: &Live| gone.iter().any(|other| other.session_id == live.session_id);
    let mut witness = Witness::new(snapshot);
    if !gone.is_empty() {
        let mut closing = Closing::new(snapshot, snapshot.lives.len() > gone.len());
        for live in &gone {
            // Nobody knows when its client died; it was last seen alive then.
            let end = time::parse(&live.last_seen).unwrap_or(context.now);
            closing.session(live, "abandoned", &mut witness, end);
        }
        closing.finish(&mut plan);
        plan.outcome = format!("{source}, closed {} abandoned", gone.len());
    }

    let mut live = desk::take(event, snapshot, context);
    desk::restore(&mut plan, snapshot, &live);
    if snapshot.gone.contains(&live.session_id) {
        begin_again(&mut plan, &mut live, &mut witness, context);
    }
    live.source.clone_from(&source);
    if !live.client.is(&snapshot.client) {
        live.client = snapshot.client.clone();
    }
    live.transcript_path = event.text("transcript_path").or(live.transcript_path);
    live.last_seen = context.spelled();
    if live.lineage.is_none() {
        live.lineage = lineage(&source, snapshot, &live);
    }
    if source == "fork" && live.task.is_none() {
        live.task = inherited_task(&live, snapshot);
    }
    drive::adopt(&mut plan, &mut live, snapshot);
    branch_recall::pass_on(&mut plan, &live, snapshot);
    plan.put(Doc::live(&live.session_id), &live);
    let own = std::iter::once(&live);
    let others = snapshot.lives.values().filter(|other| other.session_id != live.session_id);
    let stay = others.filter(|other| !is_gone(other)).chain(own);
    desk::put_copies(&mut plan, snapshot, stay.clone());
    let stuck = witness.look(&stay.collect::<Vec<_>>(), context);
    witness.put(&mut plan);
    plan.reply.context = recall::at_start(&source, &live, snapshot, &stuck, context);
    plan
}

/// The session's client was killed and it goes on in another one: nothing of the old one runs any
/// more, and the time in between does not count.
fn begin_again(plan: &mut Plan, live: &mut Live, witness: &mut Witness, context: &Context) {
    let end = time::parse(&live.last_seen).unwrap_or(context.now);
    for result in close::end_agents(live, witness, end) {
        plan.put(Doc::result(&result.agent_id), &result);
    }
    let minutes = time::seconds_between(&live.started, &live.last_seen).unwrap_or(0) / 60;
    live.earlier.minutes += minutes;
    live.started = context.spelled();
    live.calls.clear();
}

/// A fork takes the task over from a parent that has ended.
fn inherited_task(live: &Live, snapshot: &Snapshot) -> Option<String> {
    let parent = &live.lineage.as_ref()?.parent;
    if snapshot.lives.contains_key(parent) {
        return None;
    }
    snapshot.metrics.as_ref()?.find(parent)?.task
}

/// Live sessions of this machine whose client no longer runs, and silent ones of other machines.
fn abandoned<'a>(event: &Event, snapshot: &'a Snapshot, context: &Context) -> Vec<&'a Live> {
    let silent = |live: &Live| {
        live.client.host != snapshot.host
            && time::parse(&live.last_seen)
                .is_none_or(|seen| context.now - seen > TimeDelta::hours(SILENT_HOURS))
    };
    if !snapshot.has(&Ask::Gone) {
        return Vec::new();
    }
    let others = snapshot.lives.values().filter(|live| live.session_id != event.session_id);
    others.filter(|live| snapshot.gone.contains(&live.session_id) || silent(live)).collect()
}

/// Which session this one goes on from. A compaction and a resume keep the id.
fn lineage(source: &str, snapshot: &Snapshot, live: &Live) -> Option<Lineage> {
    let parent = parent_by(source, snapshot, &live.client)?;
    (parent != live.session_id).then(|| Lineage::new(parent, source))
}

fn parent_by(source: &str, snapshot: &Snapshot, client: &Client) -> Option<String> {
    match source {
        "clear" => Some(snapshot.cleared.as_ref()?.by(client)?.session_id.clone()),
        "fork" => snapshot.fork_parent.clone(),
        _ => None,
    }
}

/// The same before the session's record knows.
pub fn parent(event: &Event, snapshot: &Snapshot) -> Option<String> {
    let parent = parent_by(&desk::source(event), snapshot, &snapshot.client);
    parent.or_else(|| snapshot.fork_parent.clone())
}

pub fn fork_parent(event: &Event) -> Option<Ask> {
    event.text("transcript_path").map(|path| Ask::ForkParent(path.into()))
}
