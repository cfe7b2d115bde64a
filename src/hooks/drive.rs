//! A session and the loop that it drives: whose loop it is, and what becomes of a Stop.
//!
//! One file per kind of loop, each with `owner` (whose it is), `take` (a session makes it its own)
//! and `at_stop` (what the governor decides, written down). The order in [`KINDS`] is that in which
//! loops that nobody owns are adopted.

pub mod autonomous;
pub mod branch;
pub mod iterative;
pub mod queue;

use crate::books::live::Live;
use crate::context::Context;
use crate::event::Event;
use crate::loops::governor::{Decision, Stop};
use crate::plan::Plan;
use crate::state::State;

use super::session_record::is_live;

/// Whose a loop is that runs and may be changed.
pub enum Owner<'a> {
    Nobody,
    Session(&'a str),
}

impl<'a> Owner<'a> {
    pub fn of(session_id: Option<&'a String>) -> Self {
        session_id.map_or(Self::Nobody, |id| Self::Session(id))
    }

    fn is(&self, session_id: &str) -> bool {
        matches!(self, Self::Session(owner) if *owner == session_id)
    }
}

/// The kinds of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Queue,
    Autonomous,
    Branch,
    Iterative,
}

impl Name {
    /// The command that ends such a loop.
    pub fn cancel(self) -> &'static str {
        match self {
            Self::Queue => "hookkeeper loop cancel",
            Self::Autonomous => "hookkeeper autonomous cancel",
            Self::Branch => "hookkeeper branch loop cancel",
            Self::Iterative => "hookkeeper iterative cancel",
        }
    }
}

/// The loops that a session drives, as the documents have it: there should be one at most.
pub fn driven_by(session: &str, state: &State) -> Vec<(Name, String)> {
    let mut found = Vec::new();
    let own = |owner: Option<Owner>| owner.is_some_and(|owner| owner.is(session));
    if let Some(queue) = queue::running(state).filter(|_| own(queue::owner(state))) {
        found.push((Name::Queue, crate::loops::queue::title(queue)));
    }
    if let Some(running) = autonomous::running(state).filter(|_| own(autonomous::owner(state))) {
        found.push((Name::Autonomous, crate::loops::autonomous::words::title(running)));
    }
    let live = state.get_by::<Live>(session);
    let branch = live.and_then(|live| live.loop_branch.as_ref());
    found.extend(branch.map(|key| (Name::Branch, format!("loop of branch {key}"))));
    let task = live.and_then(|live| live.loop_task.as_ref());
    found.extend(task.map(|slug| (Name::Iterative, format!("task {slug}"))));
    found
}

/// What a loop is asked with: the event, and everything that it may look at.
pub struct Turn<'a> {
    pub event: &'a Event<'a>,
    pub state: &'a State<'a>,
    pub context: &'a Context<'a>,
}

/// A kind of loop.
struct Kind {
    name: Name,
    /// Whose the loop is, if there is one that runs.
    owner: for<'a> fn(&Turn<'a>) -> Option<Owner<'a>>,
    take: fn(&mut Plan, &mut Live, &Turn),
    /// `None`: the session drives no such loop.
    at_stop: fn(&mut Plan, &mut Live, &Turn, &Stop) -> Option<Decision>,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: Name::Queue,
        owner: |turn| queue::owner(turn.state),
        take: queue::take,
        at_stop: queue::at_stop,
    },
    Kind {
        name: Name::Autonomous,
        owner: |turn| autonomous::owner(turn.state),
        take: autonomous::take,
        at_stop: autonomous::at_stop,
    },
    Kind { name: Name::Branch, owner: branch::owner, take: branch::take, at_stop: branch::at_stop },
    Kind {
        name: Name::Iterative,
        owner: iterative::owner,
        take: iterative::take,
        at_stop: iterative::at_stop,
    },
];

/// A loop that nobody owns is adopted by the only live session; one whose owner was cleared, or has
/// ended and was forked, goes on with what follows it. Another session's is never touched, and a
/// session drives one loop.
///
/// Whether the session drives a loop after that.
pub fn adopt(
    plan: &mut Plan,
    event: &Event,
    live: &mut Live,
    state: &State,
    context: &Context,
) -> Option<Name> {
    if live.loop_task.is_some() {
        return Some(Name::Iterative);
    }
    if live.loop_branch.is_some() {
        return Some(Name::Branch);
    }
    let turn = Turn { event, state, context };
    let found = || KINDS.iter().filter_map(|kind| Some((kind, (kind.owner)(&turn)?)));
    let own = found().find(|(_, owner)| owner.is(&live.session_id));
    let passed_on = || {
        let alone = state.all::<Live>().all(|other| other.session_id == live.session_id);
        let parent = live.lineage.as_ref().map(|lineage| lineage.parent.as_str());
        let parent = parent.filter(|parent| !is_live(parent, state));
        found().find(|(_, owner)| match owner {
            Owner::Nobody => alone,
            Owner::Session(owner) => parent == Some(*owner),
        })
    };
    let (kind, _) = own.or_else(passed_on)?;
    (kind.take)(plan, live, &turn);
    Some(kind.name)
}

/// Lets the governor decide, and writes down what came of it.
pub fn at_stop(plan: &mut Plan, event: &Event, live: &mut Live, state: &State, context: &Context) {
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
    let turn = Turn { event, state, context };
    let decision = KINDS.iter().find_map(|kind| (kind.at_stop)(plan, live, &turn, &stop));
    match decision.unwrap_or(Decision::Nothing) {
        Decision::Nothing => {}
        Decision::Allow { outcome, tell } => {
            live.blocks = 0;
            plan.outcome = outcome;
            if let Some(tell) = tell {
                if context.settings.notify {
                    plan.reply.ring(&tell);
                }
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

/// A counter that somebody rolled back goes on where it was.
fn counted(live: &Live, key: &str, iteration: u64) -> u64 {
    live.loop_iterations.get(key).copied().unwrap_or(0).max(iteration)
}

/// A session drives one loop: the counters of earlier ones are of no use.
fn count(live: &mut Live, key: String, iteration: u64) {
    live.loop_iterations.retain(|known, _| *known == key);
    live.loop_iterations.insert(key, iteration);
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
