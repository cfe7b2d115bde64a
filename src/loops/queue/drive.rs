//! The loop of the work queue. The session that drives it keeps what is needed to make its file anew.

use std::path::Path;

use crate::core::event::Kind;
use crate::loops::drive::Turn;
use crate::loops::governor::Decision;
use crate::loops::ownership::resolve;
use crate::loops::queue::document::Queue;
use crate::loops::queue::progress::Evidence;
use crate::loops::queue::rules::{QueueLoop, put, title};
use crate::loops::queue::{phase, recover};
use crate::loops::{Loop, LoopKind};
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;

/// The queue whose loop runs, made anew if this session drives it and its file was lost.
pub fn running<'s>(own: Option<&Live>, state: &'s State) -> Option<&'s Queue> {
    let written = state.read::<Queue>(&()).writable().filter(|queue| queue.is_running());
    written.or_else(|| recover::lost(own?, state).map(|lost| &lost.queue))
}

/// Whether there is a loop that another tool keeps, and that nobody has taken up.
pub fn is_foreign(state: &State) -> bool {
    state.read::<Queue>(&()).writable().is_some_and(Queue::is_foreign_loop)
}

pub fn owner<'a>(turn: &Turn<'a>) -> Option<Option<&'a str>> {
    let queue = running(record::own_record(turn.event, turn.state), turn.state)?;
    Some(resolve(LoopKind::Queue, "", queue.session_id.as_ref(), turn.state))
}

pub fn find(turn: &Turn) -> Option<Box<dyn Loop>> {
    let own = record::own_record(turn.event, turn.state);
    let queue = running(own, turn.state)?;
    let evidence = Evidence {
        head: turn.context.facts.git().commit,
        has_changes: own.is_some_and(|live| live.loop_changed),
        tree: None,
    };
    let mut the_loop = load(queue, evidence, turn.state);
    // Talk alone is no work: the checkout is looked at only after tools ran.
    let tools_ran = own.is_none_or(|live| live.blocks == 0);
    if turn.event.kind == Kind::Stop && tools_ran {
        the_loop.look(turn.context.facts, Path::new(&turn.context.root));
    }
    // A stop that is played later, and other events, have nothing to say of a file that is gone.
    let is_said = turn.event.kind == Kind::Stop || turn.event.kind == Kind::UserPromptSubmit;
    let lost = own.filter(|_| is_said).and_then(|own| recover::lost(own, turn.state));
    the_loop.lost = lost.map(|lost| lost.why.clone());
    Some(Box::new(the_loop))
}

/// The loop, with the owner that its file may have lost, in the phase that was seen last.
pub fn load(queue: &Queue, evidence: Evidence, state: &State) -> QueueLoop {
    let mut the_loop = QueueLoop { queue: queue.clone(), evidence, lost: None };
    if let Some(id) = resolve(LoopKind::Queue, "", queue.session_id.as_ref(), state) {
        the_loop.bind(id);
        phase::catch_up(&mut the_loop.queue, state.get_by::<Live>(id));
    }
    the_loop
}

/// The session drove a loop that is not its own any more: reset, ended or passed on by hand.
pub fn lost(_: &mut Plan, live: &mut Live, turn: &Turn) -> Option<Decision> {
    let note = live.loop_queue.as_ref()?;
    let read = turn.state.read::<Queue>(&());
    if read.is_frozen() {
        return None;
    }
    let (title, how) = match read.value {
        None => (format!("loop \"{}\"", note.task), "its files were removed".to_owned()),
        Some(queue) => {
            let verdict = queue.ending.verdict.as_ref();
            live.loop_verdict = verdict.cloned();
            let how = match (verdict, &queue.session_id) {
                (Some(verdict), _) => format!("its file says that it is {verdict}"),
                (None, Some(other)) => format!("its file names session {other}"),
                (None, None) => "its file was changed".to_owned(),
            };
            (title(queue), how)
        }
    };
    LoopKind::Queue.set_note(live, None);
    live.loop_iterations.clear();
    let tell = format!("HookKeeper: the {title} is not driven any more: {how}.");
    Some(Decision::Allow { outcome: "the loop is gone".into(), tell: Some(tell) })
}

/// The queue after an event has changed its items; what people read of its loop, if one runs.
pub fn put_items(plan: &mut Plan, queue: &Queue, state: &State) {
    match queue.is_running() {
        true => put(plan, queue, state),
        false => plan.put(&state.read::<Queue>(&()), queue),
    }
}
