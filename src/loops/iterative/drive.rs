//! An iterative task. A session that drives one has noted its folder.

use std::path::Path;

use crate::core::event::{Event, Kind};
use crate::core::id::TaskSlug;
use crate::core::time::Time;
use crate::loops::drive::Turn;
use crate::loops::governor::Decision;
use crate::loops::iterative::document::task_documents::{TaskDocuments, TaskProblem};
use crate::loops::iterative::document::{Part, Task, TaskText};
use crate::loops::iterative::folder::newest_tasks;
use crate::loops::iterative::recover;
use crate::loops::iterative::rules::IterativeLoop;
use crate::loops::iterative::rules::signal::{self, Signal, UnitSignal};
use crate::loops::iterative::seen::Eyes;
use crate::loops::ownership::resolve;
use crate::loops::{Loop, LoopKind};
use crate::session::lineage::parent_session;
use crate::session::live::Live;
use crate::session::record;
use crate::state::plan::Plan;
use crate::state::{Frozen, State};
use crate::turn::context::Context;

/// So much of what the model said at the end of a turn is in the log.
const TOLD: usize = 300;

/// The task that a session drives, or the open one that concerns it most; of several, the one that
/// was worked on last.
pub fn task<'s>(event: &Event, state: &'s State, context: &Context) -> Option<&'s TaskDocuments> {
    state.derive(|| find_task(event, state, context)).as_ref()
}

fn find_task(event: &Event, state: &State, context: &Context) -> Option<TaskDocuments> {
    if !context.settings.systems.iterative {
        return None;
    }
    let driven = record::own_record(event, state).and_then(|live| live.loop_task.as_deref());
    if let Some(slug) = driven.and_then(TaskSlug::known) {
        return recover::recreate(&slug, event, state, context)
            .or_else(|| open_book(&slug, state, context.now));
    }
    let mut found: Vec<(u8, std::cmp::Reverse<String>, TaskSlug)> = Vec::new();
    for slug in list_tasks(state) {
        if let Some(task) = state.get_by::<Task>(&slug).filter(|task| task.is_open()) {
            let rank = rank(task.session_id.as_deref(), event, state, context);
            found.push((rank, std::cmp::Reverse(task.updated.clone()), slug));
        }
    }
    found.sort();
    let (.., slug) = found.into_iter().next()?;
    open_book(&slug, state, context.now)
}

/// What is wrong with the folder of the tasks is no reason to lose an event.
fn list_tasks(state: &State) -> Vec<TaskSlug> {
    newest_tasks(state.source()).unwrap_or_else(|error| {
        state.remark("iterative".to_owned(), format!("HookKeeper: {error}."));
        Vec::new()
    })
}

/// The documents of a task. `None`: there is none that can be used; who should know is told.
pub fn open_book(slug: &TaskSlug, state: &State, now: Time) -> Option<TaskDocuments> {
    try_open_book(slug, state, now).unwrap_or_else(|problem| {
        state.freeze(&state.read::<Task>(slug), Frozen::Unusable(problem.to_string()));
        None
    })
}

/// The documents of a task, or why they cannot be used. `None`: it has no state that can be read.
pub fn try_open_book(
    slug: &TaskSlug,
    state: &State,
    now: Time,
) -> Result<Option<TaskDocuments>, TaskProblem> {
    let Some(task) = state.get_by::<Task>(slug).cloned() else { return Ok(None) };
    let text = |part| state.read::<TaskText>(&(slug.clone(), part));
    let progress = text(Part::Progress);
    let plan = text(task.plan_part());
    let plan = plan.value.map(|plan| plan.0.clone());
    match progress.value {
        None if progress.is_frozen() => Err(TaskProblem::Log("is no text".to_owned())),
        progress => {
            let progress = progress.map(|text| text.0.as_str());
            TaskDocuments::open(slug.clone(), task, progress, plan, now).map(Some)
        }
    }
}

/// Whether a document must stay as it is that nothing can go on without. The plan is none of them.
pub fn is_frozen(slug: &TaskSlug, state: &State) -> bool {
    state.read::<Task>(slug).is_frozen()
        || state.read::<TaskText>(&(slug.clone(), Part::Progress)).is_frozen()
}

/// Of several tasks, the one that concerns a session: its own, the one that it goes on with, one
/// that nobody drives. The smaller the nearer.
fn rank(owner: Option<&str>, event: &Event, state: &State, context: &Context) -> u8 {
    let known = record::own_record(event, state).and_then(|live| live.lineage.as_ref());
    let parent = known.map(|lineage| lineage.parent.clone());
    let parent = parent.or_else(|| parent_session(event, state, context));
    match owner {
        Some(owner) if owner == event.session_id => 0,
        Some(owner) if parent.as_deref() == Some(owner) => 1,
        None => 2,
        Some(_) => 3,
    }
}

fn running<'a>(turn: &Turn<'a>) -> Option<&'a TaskDocuments> {
    let documents =
        task(turn.event, turn.state, turn.context).filter(|documents| documents.state.is_open())?;
    (!is_frozen(&documents.slug, turn.state)).then_some(documents)
}

pub fn owner<'a>(turn: &Turn<'a>) -> Option<Option<&'a str>> {
    let documents = running(turn)?;
    let written = documents.state.session_id.as_ref();
    Some(resolve(LoopKind::Iterative, documents.slug.as_str(), written, turn.state))
}

pub fn find(turn: &Turn) -> Option<Box<dyn Loop>> {
    let mut documents = running(turn)?.clone();
    if turn.event.kind == Kind::Stop {
        look(&mut documents, turn);
    }
    Some(Box::new(IterativeLoop::new(documents, turn.state)) as Box<dyn Loop>)
}

/// What is seen of the work at the end of a turn. The whole checkout matters only where a unit is
/// said to be done.
fn look(documents: &mut TaskDocuments, turn: &Turn) {
    let message = turn.event.text("last_assistant_message").unwrap_or_default();
    let is_done = |said: &UnitSignal| said.signal == Signal::Done;
    let at_tree = UnitSignal::parse_all(&message).iter().any(is_done);
    let Context { facts, root, redact, .. } = turn.context;
    let eyes = Eyes { facts: *facts, root: Path::new(root), redact };
    let seen = eyes.look(&documents.slug, &documents.state, &documents.log, at_tree);
    documents.see(seen);
    let told = redact.line(&signal::without_signals(&message), TOLD);
    documents.told = Some(told).filter(|told| !told.is_empty());
}

pub fn lost(plan: &mut Plan, live: &mut Live, turn: &Turn) -> Option<Decision> {
    if running(turn).is_some() {
        live.loop_signalled = false;
        return None;
    }
    settle_ended(plan, turn);
    // It was ended elsewhere, or is gone; one that cannot be read may come back.
    let slug = live.loop_task.as_deref().and_then(TaskSlug::known);
    let is_lost = task(turn.event, turn.state, turn.context).is_none();
    let may_come_back = |slug: &TaskSlug| is_lost && is_frozen(slug, turn.state);
    live.loop_task = live.loop_task.take().filter(|_| slug.as_ref().is_some_and(may_come_back));
    None
}

/// A task that its log has ended, by a command that was killed before it could say so in the state.
fn settle_ended(plan: &mut Plan, turn: &Turn) {
    let documents = task(turn.event, turn.state, turn.context);
    if let Some(mut documents) =
        documents.filter(|documents| !is_frozen(&documents.slug, turn.state)).cloned()
        && documents.settle_conflicts()
    {
        documents.write(plan, turn.state);
    }
}

/// A file was changed: what was said to be done before that is not confirmed. The task's own
/// documents are not its work.
pub fn at_change(live: &mut Live, file: &str) {
    let Some(slug) = &live.loop_task else { return };
    let own = file.strip_prefix(&format!(".claude/iterative/{slug}/"));
    let is_work =
        own.is_none_or(|rest| rest.starts_with("outputs/") || rest.starts_with("sources/"));
    if is_work {
        live.loop_edits += 1;
    }
}
