//! A session and the loop that it drives: whose loop it is, and what becomes of a Stop.
//!
//! One file per kind of loop, with what is different: how such a loop is found, and what is said of
//! one that is gone. The order in `FINDERS` is that in which loops that nobody owns are adopted.

use std::path::Path;

use crate::client::version;
use crate::core::event::{Event, Kind};
use crate::loops::autonomous::drive as autonomous;
use crate::loops::branch::drive as branch;
use crate::loops::governor::{Decision, Stop, decide};
use crate::loops::iterative::drive as iterative;
use crate::loops::kind::{remember, restore_count};
use crate::loops::queue::drive as queue;
use crate::loops::queue::phase::{self, Step};
use crate::loops::{Loop, LoopKind, Verdict, journal_line, leave, left};
use crate::session::live::Live;
use crate::session::record::is_live;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

/// What a loop is asked with: the event, and everything that it may look at.
pub struct Turn<'a> {
    pub event: &'a Event<'a>,
    pub state: &'a State<'a>,
    pub context: &'a Context<'a>,
}

/// How the loops of a kind are found.
struct Finder {
    kind: LoopKind,
    /// Whose the loop is (`Some(None)`: nobody's), if there is one that runs and may be changed.
    owner: for<'a> fn(&Turn<'a>) -> Option<Option<&'a str>>,
    find: fn(&Turn) -> Option<Box<dyn Loop>>,
    /// There is none that the session drives; one that it drove before may be gone.
    lost: fn(&mut Plan, &mut Live, &Turn) -> Option<Decision>,
}

static FINDERS: [Finder; LoopKind::ALL.len()] = [
    Finder { kind: LoopKind::Queue, owner: queue::owner, find: queue::find, lost: queue::lost },
    Finder {
        kind: LoopKind::Autonomous,
        owner: autonomous::owner,
        find: autonomous::find,
        lost: autonomous::lost,
    },
    Finder { kind: LoopKind::Branch, owner: branch::owner, find: branch::find, lost: branch::lost },
    Finder {
        kind: LoopKind::Iterative,
        owner: iterative::owner,
        find: iterative::find,
        lost: iterative::lost,
    },
];

/// Those of the systems that are on.
fn finders(context: &Context) -> impl Iterator<Item = &'static Finder> {
    FINDERS.iter().filter(|finder| finder.kind.is_on(&context.settings.systems))
}

/// A loop that nobody owns is adopted by the only live session if a command started it here, or that
/// session wrote it; any other needs a person or a command. One whose owner has ended and was forked
/// goes on with what follows it; after a `/clear` a person is asked. Another session's is never
/// touched, and a session drives one loop.
///
/// Whether the session drives a loop after that.
pub fn adopt(
    plan: &mut Plan,
    event: &Event,
    live: &mut Live,
    state: &State,
    context: &Context,
) -> Option<LoopKind> {
    let mut noted = [LoopKind::Iterative, LoopKind::Branch].into_iter();
    let systems = &context.settings.systems;
    if let Some(kind) = noted.find(|kind| kind.note(live).is_some() && kind.is_on(systems)) {
        return Some(kind);
    }
    let turn = Turn { event, state, context };
    let found = || finders(context).filter_map(|finder| Some((finder, (finder.owner)(&turn)?)));
    let own = found().find(|(_, owner)| *owner == Some(live.session_id.as_str()));
    let (mut adrift, mut left) = (Vec::new(), Vec::new());
    let mut passed_on = || {
        let alone = state.all::<Live>().all(|other| other.session_id == live.session_id);
        let lineage = live.lineage.as_ref().filter(|lineage| !is_live(&lineage.parent, state));
        let parent = lineage.map(|lineage| lineage.parent.as_str());
        let is_cleared = lineage.is_some_and(|lineage| lineage.by == "clear");
        found().find(|(finder, owner)| match owner {
            None => {
                let folder = (finder.find)(&turn).map(|it| it.folder().to_owned());
                let folder = folder.unwrap_or_default();
                // Started here by a command, or written by this very session.
                let is_ours = state.source().has_begun(&finder.kind.key(&folder))
                    || live.files_modified.contains(&finder.kind.file(&folder));
                if alone && !is_ours {
                    adrift.push(finder.kind);
                }
                alone && is_ours
            }
            Some(_) if is_cleared && parent == *owner => {
                left.push(finder.kind);
                false
            }
            Some(_) => parent == *owner,
        })
    };
    let is_new = own.is_none();
    let driven = own.or_else(&mut passed_on);
    if driven.is_none() && queue::is_foreign(state) {
        adrift.push(LoopKind::Queue);
    }
    for kind in adrift {
        let text = format!(
            "HookKeeper: there is a loop that no session drives and no command started here; \
             `{} adopt` makes a session drive it.",
            kind.command()
        );
        plan.notices.push((format!("adrift/{}", kind.command()), text));
    }
    for kind in left {
        let command = kind.command();
        let text = format!(
            "HookKeeper: the session before /clear drove a loop. It does not go on by itself: \
             `{command} adopt` goes on with it here, `{command} cancel` ends it."
        );
        plan.notices.push((format!("cleared/{} {command}", live.session_id), text));
    }
    let (finder, _) = driven?;
    if let Some(mut the_loop) = (finder.find)(&turn) {
        the_loop.bind(&live.session_id);
        finder.kind.set_note(live, Some(the_loop.folder()));
        remember(the_loop.as_ref(), live);
        if is_new && event.kind == Kind::UserPromptSubmit {
            plan.reply.tell_model(the_loop.reason());
        }
        the_loop.put_owner(plan, state);
        if is_new {
            left::forget(live, the_loop.as_ref());
            plan.tell(journal_line::line(the_loop.as_ref(), "adopted"));
        }
        plan.adopted = Some(finder.kind.key(the_loop.folder()));
    }
    Some(finder.kind)
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
        has_company: has_company(event, live),
        is_told: live.loop_exit_told,
        tools_ran,
        blocks: live.blocks,
        cap: context.block_cap,
        now: context.now,
    };
    let turn = Turn { event, state, context };
    let decision = finders(context).find_map(|finder| drive(finder, plan, live, &turn, &stop));
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
        Decision::Block { outcome, reason, tell, cancel } => {
            live.blocks += 1;
            plan.outcome = outcome;
            plan.reply.block = Some(reason);
            plan.reply.is_quiet = continues_quietly(event, context);
            // The first time, and whenever a person has typed something.
            let exit = match std::mem::replace(&mut live.loop_exit_told, true) {
                true => String::new(),
                false => format!(". To end it: type \"stop the loop\", or run `{cancel}`"),
            };
            plan.reply.tell_user(format!("{tell}{exit}"));
        }
    }
}

/// Whether the client goes on with what the model is told by itself. It says its version nowhere but
/// in its transcript.
fn continues_quietly(event: &Event, context: &Context) -> bool {
    let transcript = event.text("transcript_path");
    let version = transcript.and_then(|path| context.facts.client_version(Path::new(&path)));
    version.is_some_and(|version| version::continues_quietly(&version))
}

/// What becomes of a Stop, if the session drives such a loop.
fn drive(
    finder: &Finder,
    plan: &mut Plan,
    live: &mut Live,
    turn: &Turn,
    stop: &Stop,
) -> Option<Decision> {
    finder.kind.note(live)?;
    let Some(mut the_loop) = own_loop(finder, live, turn) else {
        return (finder.lost)(plan, live, turn);
    };
    live.loop_signalled = false;
    live.loop_untold = false;
    if left::forget(live, the_loop.as_ref()) {
        let tell = pause(plan, live, turn, the_loop.as_mut());
        return Some(Decision::Allow { outcome: "the loop was left".into(), tell: Some(tell) });
    }
    restore_count(the_loop.as_mut(), live);
    let decision = decide(the_loop.as_mut(), stop);
    match decision {
        Decision::Nothing => {}
        Decision::Allow { .. } => plan.tell(journal_line::line(the_loop.as_ref(), "waits")),
        Decision::Block { .. } => plan.tell(journal_line::line(the_loop.as_ref(), "goes on")),
    }
    remember(the_loop.as_ref(), live);
    the_loop.remind(live);
    note_end(the_loop.as_ref(), live);
    the_loop.put(plan, turn.state);
    Some(decision)
}

/// The loop of this kind that the session drives.
fn own_loop(finder: &Finder, live: &Live, turn: &Turn) -> Option<Box<dyn Loop>> {
    finder.kind.note(live)?;
    let is_own = (finder.owner)(turn) == Some(Some(live.session_id.as_str()));
    (finder.find)(turn).filter(|_| is_own)
}

/// The session drives a loop no more that is over.
fn note_end(the_loop: &dyn Loop, live: &mut Live) {
    if !the_loop.is_running() {
        the_loop.kind().set_note(live, None);
        live.loop_verdict.clone_from(&the_loop.ending().verdict);
        live.loop_exit_told = false;
    }
}

/// What a prompt means to the loop that the session drives: the model hears of one that somebody
/// else gave it, and a person who plainly asks to stop pauses it. Whether it was paused.
pub fn at_prompt(plan: &mut Plan, live: &mut Live, turn: &Turn, prompt: &str) -> bool {
    live.loop_exit_told = false;
    let asks_to_stop = leave::is_asked(prompt);
    if !asks_to_stop && !live.loop_untold {
        return false;
    }
    let found = finders(turn.context).find_map(|finder| own_loop(finder, live, turn));
    let systems = &turn.context.settings.systems;
    let unreadable = left::unreadable(live, turn.state);
    let unreadable = unreadable.filter(|(kind, _)| asks_to_stop && kind.is_on(systems));
    if let Some((kind, folder)) = &unreadable {
        left::note(live, *kind, folder);
    }
    let Some(mut the_loop) = found else {
        let Some((kind, folder)) = unreadable else { return false };
        say_paused(plan, &left_unreadable(kind, &folder));
        return true;
    };
    let is_untold = std::mem::take(&mut live.loop_untold);
    if !asks_to_stop {
        if is_untold {
            let words = "HookKeeper: this session drives a loop that was started in a terminal.";
            plan.reply.tell_model(words);
            plan.reply.tell_model(the_loop.reason());
        }
        return false;
    }
    let text = pause(plan, live, turn, the_loop.as_mut());
    say_paused(plan, &text);
    true
}

/// Ends a loop because a person asked for it; what is said of that.
fn pause(plan: &mut Plan, live: &mut Live, turn: &Turn, the_loop: &mut dyn Loop) -> String {
    let title = the_loop.title();
    the_loop.end(Verdict::Cancelled, left::ASKED, turn.context.now);
    plan.tell(journal_line::line(the_loop, "ended"));
    the_loop.remind(live);
    note_end(the_loop, live);
    the_loop.put(plan, turn.state);
    format!(
        "HookKeeper: the {title} is paused: {}. To go on: `{}`.",
        left::ASKED,
        the_loop.command("resume")
    )
}

fn say_paused(plan: &mut Plan, text: &str) {
    plan.reply.tell_user(text);
    plan.reply.tell_model(text);
}

/// What is said of a loop that a person leaves while its document cannot be read.
fn left_unreadable(kind: LoopKind, folder: &str) -> String {
    format!(
        "HookKeeper: the loop in {} is paused: {}. The file cannot be read; when it is back the loop does not go on by itself. To go on then: `{} resume`.",
        kind.file(folder),
        left::ASKED,
        kind.command()
    )
}

/// The model is at work: what was blocked before does not count any more.
pub fn at_work(event: &Event, live: &mut Live) {
    if event.agent_id.is_none() {
        live.blocks = 0;
    }
    if live.loop_queue.is_some() {
        phase::note(live, phase::of_call(event));
    }
}

/// A tool call has changed a file. State is no work.
pub fn at_change(live: &mut Live, file: &str) {
    if !file.starts_with(".claude/state/") {
        live.loop_changed |= !live.loop_iterations.is_empty();
        phase::note(live, Step::Changes);
    }
}

/// Whether something runs in the background that wakes the session when it ends. A teammate is
/// listed as running while it is idle, too: it counts as long as its agent has not stopped.
fn has_company(event: &Event, live: &Live) -> bool {
    let tasks = event.background_tasks().unwrap_or_default();
    let has_teammate = live.agents.iter().any(|agent| agent.team.is_some());
    tasks.iter().any(|task| {
        let runs =
            task.status.as_deref().is_none_or(|status| matches!(status, "running" | "pending"));
        runs && match task.kind.as_deref() {
            Some("subagent" | "workflow") => true,
            Some("teammate") => has_teammate,
            _ => false,
        }
    })
}
