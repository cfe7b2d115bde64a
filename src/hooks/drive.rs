//! A session and the loop that it drives: whose loop it is, and what becomes of a Stop.

use crate::books::live::Live;
use crate::books::queue::Queue;
use crate::event::Event;
use crate::facts::git;
use crate::loops::branch::Driven;
use crate::loops::governor::{Decision, Stop, decide};
use crate::loops::queue::QueueLoop;
use crate::loops::render;
use crate::plan::Plan;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;

/// What has to be seen to drive a loop at a Stop.
pub fn asks(event: &Event, snapshot: &Snapshot) -> Vec<Ask> {
    let mut asks = vec![Ask::Queue];
    let Some(live) = snapshot.own(event) else { return asks };
    if snapshot.queue.as_ref().is_some_and(Queue::is_running) {
        asks.push(Ask::LoopState);
    }
    if live.loop_branch.is_some() {
        asks.extend([Ask::Branch, Ask::Git]);
    }
    asks
}

/// What has to be seen to find a loop that is nobody's, or was passed on.
pub fn asks_to_adopt() -> [Ask; 2] {
    [Ask::Queue, Ask::Branch]
}

/// A loop that nobody owns is adopted by the only live session; one whose owner was cleared, or has
/// ended and was forked, goes on with what follows it. Another session's is never touched, and a
/// session drives one loop.
pub fn adopt(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot) {
    let alone =
        snapshot.has(&Ask::AllLive) && snapshot.lives.keys().all(|id| *id == live.session_id);
    let parent = live.lineage.as_ref().map(|lineage| &lineage.parent);
    let parent = parent.filter(|parent| !snapshot.lives.contains_key(*parent)).cloned();
    let passes = |owner: Option<&String>| match owner {
        None => alone,
        Some(owner) => parent.as_ref() == Some(owner),
    };
    let queue = snapshot.queue.as_ref().filter(|queue| queue.is_running());
    let branch = snapshot.branch.as_ref().filter(|(_, state)| state.running().is_some());
    let owns = |owner: Option<&String>| owner == Some(&live.session_id);
    let busy =
        queue.is_some_and(|queue| owns(queue.session_id.as_ref())) || live.loop_branch.is_some();
    if busy {
        return;
    }
    if let Some(queue) = queue.filter(|queue| passes(queue.session_id.as_ref()))
        && !snapshot.frozen.contains(&Doc::Queue)
    {
        let mut queue = queue.clone();
        queue.session_id = Some(live.session_id.clone());
        plan.put(Doc::Queue, &queue);
        return;
    }
    let Some((key, state)) = branch else { return };
    let owner = state.running().and_then(|the_loop| the_loop.session_id.as_ref());
    if snapshot.frozen.contains(&Doc::Branch(key.clone())) || !(owns(owner) || passes(owner)) {
        return;
    }
    let mut state = state.clone();
    if let Some(the_loop) = &mut state.the_loop {
        the_loop.session_id = Some(live.session_id.clone());
    }
    live.loop_branch = Some(key.as_str().to_owned());
    plan.put(Doc::Branch(key.clone()), &state);
}

/// Lets the governor decide, and writes down what came of it.
pub fn at_stop(
    plan: &mut Plan,
    event: &Event,
    live: &mut Live,
    snapshot: &Snapshot,
    context: &Context,
) {
    // A tool call sets the count back; a new turn does too, but nothing was done by that.
    let tools_ran = live.blocks == 0;
    if !event.fields.flag("stop_hook_active") {
        live.blocks = 0;
    }
    // A stop that is played later has happened: nobody hears a block.
    if !context.is_heard {
        return;
    }
    let message = event.text("last_assistant_message").unwrap_or_default();
    let stop = Stop {
        message: &message,
        has_company: has_company(event),
        tools_ran,
        blocks: live.blocks,
        cap: context.block_cap,
        now: context.now,
    };
    let decision = match live.loop_branch {
        Some(_) => branch(plan, live, snapshot, &stop),
        None => queue(plan, live, snapshot, &stop),
    };
    match decision {
        Decision::Nothing => {}
        Decision::Allow { outcome, tell } => {
            live.blocks = 0;
            plan.outcome = outcome;
            if let Some(tell) = tell {
                plan.reply.tell_user(&tell);
            }
        }
        Decision::Block { outcome, reason, tell } => {
            live.blocks += 1;
            plan.outcome = outcome;
            plan.reply.block = Some(reason);
            plan.reply.tell_user(&tell);
        }
    }
}

fn queue(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot, stop: &Stop) -> Decision {
    let Some(queue) = &snapshot.queue else { return Decision::Nothing };
    if queue.session_id.as_ref() != Some(&live.session_id) || snapshot.frozen.contains(&Doc::Queue)
    {
        return Decision::Nothing;
    }
    let mut driven = QueueLoop(queue.clone());
    let key = format!("queue {}", queue.started_at.as_deref().unwrap_or_default());
    driven.0.iteration = counted(live, &key, driven.0.iteration);
    let decision = decide(&mut driven, stop);
    count(live, key, driven.0.iteration);
    if queue.is_running() && driven.0.verdict.is_some() {
        live.loop_verdict.clone_from(&driven.0.verdict);
    }
    if driven.0 != *queue {
        put(plan, &driven.0, snapshot.loop_state.as_deref());
    }
    decision
}

fn branch(plan: &mut Plan, live: &mut Live, snapshot: &Snapshot, stop: &Stop) -> Decision {
    let Some((key, state)) = &snapshot.branch else {
        live.loop_branch = None;
        return Decision::Nothing;
    };
    let doc = Doc::Branch(key.clone());
    let mine = state.the_loop.as_ref().filter(|the_loop| {
        the_loop.session_id.as_ref() == Some(&live.session_id) && !snapshot.frozen.contains(&doc)
    });
    let Some(the_loop) = mine else { return Decision::Nothing };
    let checked_out = git::branch_name(&snapshot.git);
    let mut driven = Driven {
        the_loop: the_loop.clone(),
        branch: state.branch.clone(),
        file: doc.path(),
        elsewhere: (checked_out != state.branch && checked_out != key.as_str())
            .then_some(checked_out),
    };
    let counter = format!("branch {}", the_loop.started_at);
    driven.the_loop.iteration = counted(live, &counter, the_loop.iteration);
    let decision = decide(&mut driven, stop);
    count(live, counter, driven.the_loop.iteration);
    if !driven.the_loop.is_running() {
        live.loop_branch = None;
        live.loop_verdict.clone_from(&driven.the_loop.verdict);
    }
    if driven.the_loop != *the_loop {
        let mut state = state.clone();
        state.the_loop = Some(driven.the_loop);
        plan.put(doc, &state);
    }
    decision
}

/// A counter that somebody rolled back goes on where it was.
fn counted(live: &Live, key: &str, iteration: u64) -> u64 {
    live.loop_iterations.get(key).copied().unwrap_or(0).max(iteration)
}

/// A session drives one loop: the counters of earlier ones are of no use.
fn count(live: &mut Live, key: String, iteration: u64) {
    live.loop_iterations.retain(|known, _| *known == key);
    live.loop_iterations.insert(key, iteration);
}

/// The queue, and what people read of it.
pub fn put(plan: &mut Plan, queue: &Queue, loop_state: Option<&str>) {
    plan.put(Doc::Queue, queue);
    if loop_state.is_none_or(render::is_ours) {
        plan.put_text(Doc::LoopState, &render::markdown(queue));
    }
}

/// The queue after an event has changed its items; what people read of it, if that was asked for.
pub fn put_items(plan: &mut Plan, queue: &Queue, snapshot: &Snapshot) {
    match queue.is_running() && snapshot.has(&Ask::LoopState) {
        true => put(plan, queue, snapshot.loop_state.as_deref()),
        false => plan.put(Doc::Queue, queue),
    }
}

/// What an event that changes items has to see.
pub fn asks_for_items(snapshot: &Snapshot) -> Vec<Ask> {
    let mut asks = vec![Ask::Queue];
    asks.extend(snapshot.queue.as_ref().filter(|queue| queue.is_running()).map(|_| Ask::LoopState));
    asks
}

/// The model is at work: what was blocked before does not count any more.
pub fn at_work(event: &Event, live: &mut Live) {
    if event.agent_id.is_none() {
        live.blocks = 0;
    }
}

/// Whether something runs in the background that wakes the session when it ends.
fn has_company(event: &Event) -> bool {
    let tasks = event.background_tasks().unwrap_or_default();
    tasks.iter().any(|task| {
        let kind = task.kind.as_deref().unwrap_or_default();
        let runs =
            task.status.as_deref().is_none_or(|status| matches!(status, "running" | "pending"));
        runs && matches!(kind, "subagent" | "workflow" | "teammate")
    })
}
