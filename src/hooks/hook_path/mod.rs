//! The hook path: one payload in, the state settled, at most one reply out.

pub mod kept;
pub mod waiting;

use std::io;
use std::path::Path;
use std::time::Duration;

use tracing::debug;

use crate::core::error::{Error, Result};
use crate::core::event::{self, Event, Kind, Parsed};
use crate::core::journal::{Entry, EntryKind, FAILED};
use crate::core::outcome::Outcome;
use crate::core::redaction::Redactor;
use crate::core::reply::{self, Reply};
use crate::core::settings::Settings;
use crate::core::text::clip;
use crate::hooks::{self, run_line};
use crate::loops::governor::CLIENTS_CAP;
use crate::process::Process;
use crate::process::stdin::{self, Payload};
use crate::process::trace::{self, Lines};
use crate::session::locked_store::Played;
use crate::session::new_project::note_if_new;
use crate::session::notices::{Notices, add_news, keep_remarks};
use crate::state::State;
use crate::state::plan::{Change, Plan};
use crate::store::dir::Dir;
use crate::store::journal::prune::Limits;
use crate::store::lock::PATIENCE;
use crate::store::{Opened, Store, journal, log};
use crate::turn::context::{Context, Facts};
use crate::turn::root;
use crate::turn::world::World;

use kept::{keep_after, record, reject};
use waiting::put_aside;

pub use waiting::play_spool;

/// How often an event begins again because the state was removed.
const TRIES: u32 = 5;

pub fn run(process: &Process, expected: Option<Kind>) -> Outcome {
    let payload = stdin::read();
    if process.env("HOOKKEEPER_OFF").as_deref() == Some("1") {
        return Outcome::quiet();
    }
    if is_nothing(&payload, expected) {
        return Outcome::quiet();
    }
    let lines = trace::start(process);
    let parsed = match &payload {
        Payload::Whole(bytes) => event::parse(bytes, expected).map_err(|why| (bytes, why)),
        Payload::Refused(bytes, why) => Err((bytes, (*why).to_owned())),
    };
    match parsed {
        Ok(Parsed::Foreign(_)) => Outcome::quiet(),
        Ok(Parsed::Event(event)) => match handle(process, &event, &payload, lines.as_ref()) {
            Ok(reply) => Outcome { stdout: reply.map(Into::into), stderr: None, code: 0 },
            // Nothing can be noted, so one event of a session has to say it.
            Err(Error::TrackedLink { .. }) if event.kind != Kind::SessionStart => Outcome::quiet(),
            Err(error) => Outcome::failed(&error),
        },
        Err((bytes, why)) => Outcome::failed(&reject(process, bytes, why)),
    }
}

/// Whether a payload is known to say nothing without being parsed. One that is too large to be read
/// is no error where it would hardly ever say something.
fn is_nothing(payload: &Payload, expected: Option<Kind>) -> bool {
    match payload {
        Payload::Whole(bytes) => event::says_nothing(bytes, expected),
        Payload::Refused(bytes, _) => event::named_event(bytes)
            .and_then(Kind::from_wire)
            .is_some_and(|kind| kind.row().may_matter.is_some()),
    }
}

/// Nothing to do for this event, but the client wants its payload read.
pub fn ignore() -> Outcome {
    stdin::read();
    Outcome::quiet()
}

fn handle(
    process: &Process,
    event: &Event,
    payload: &Payload,
    lines: Option<&Lines>,
) -> Result<Option<String>> {
    let root = root::for_hook(process, event.text("cwd").as_deref()).ok_or_else(no_root)?;
    debug!(event = event.kind.wire(), session = %event.session_id, root = %root.display(), "payload read");
    let bytes = match payload {
        Payload::Whole(bytes) | Payload::Refused(bytes, _) => bytes,
    };
    let mut tries = 0;
    loop {
        tries += 1;
        // Somebody removed the state while this event was at it: then it is written nowhere. An event
        // may be played twice.
        let patience = PATIENCE.saturating_sub(process.elapsed());
        let may_again = tries < TRIES && !patience.is_zero();
        match attempt(process, event, bytes, &root, lines, patience)? {
            Attempt::Done(result) => return result,
            Attempt::Removed(_) if may_again => debug!(tries, "the state was removed: once more"),
            Attempt::Removed(error) => return Err(error),
        }
    }
}

/// What came of an event.
enum Attempt {
    Done(Result<Option<String>>),
    /// Where it was written is no longer the project's state.
    Removed(Error),
}

fn attempt(
    process: &Process,
    event: &Event,
    bytes: &[u8],
    root: &Path,
    lines: Option<&Lines>,
    patience: Duration,
) -> Result<Attempt> {
    let now = process.now();
    let home = root::state_root(process, root);
    let world = World::new(process, root);
    let mut store = match Store::open(&home, process.home().as_deref(), now, patience)? {
        Opened::Locked(store) => store,
        Opened::Busy(state, settings) => {
            let mut context = context(process, event, root, &settings, &world);
            // Events that wait are played in the order in which they came, not in which they gave up.
            context.now = now;
            record(process, event, bytes, &state, &context);
            let kept = put_aside(process, bytes, &state, &context);
            let outcome = match &kept {
                Ok(()) => "spooled: the lock is held".to_owned(),
                Err(error) => format!("{FAILED}{error}"),
            };
            let run = Entry::new(EntryKind::Spooled).at(now, &event.session_id);
            let run = Entry { event: event.kind.wire().into(), outcome, ..run };
            write_journal(process, &state, run, Vec::new(), &settings, false);
            write_debug(&state, lines, false);
            return Ok(match state.is_in_place() {
                true => Attempt::Done(kept.map(|()| None)),
                false => removed(&state),
            });
        }
    };
    debug!("locked");
    note_if_new(process, root, store.is_new);
    if event.kind == Kind::SessionStart {
        store.check_tracked()?;
    }
    let context = context(process, event, root, &store.settings, &world);
    record(process, event, bytes, store.state_dir(), &context);
    let settled = match play_spool(process, &store, root) {
        Ok(Played::All) => settle(event, &store, &context),
        // Order matters: this event has to wait for those that still wait.
        Ok(Played::Some) => put_aside(process, bytes, store.state_dir(), &context)
            .map(|()| Plan::because("spooled: others are waiting")),
        Err(error) => Err(error),
    };
    let (settled, run, told) = journal_lines(event, settled, &context);
    let run = Entry { wrote: Some(store.written()), ..run };
    write_journal(process, store.state_dir(), run, told, &store.settings, true);
    write_debug(store.state_dir(), lines, true);
    Ok(match settled {
        _ if !store.is_in_place() => removed(store.state_dir()),
        Ok(reply) => Attempt::Done(Ok(reply.render(event.kind))),
        // A folder of it went.
        Err(error) if error.is_not_found() => {
            Attempt::Removed(keep_after(error, bytes, &store, &context, process))
        }
        Err(error) => Attempt::Done(Err(keep_after(error, bytes, &store, &context, process))),
    })
}

fn removed(state: &Dir) -> Attempt {
    let cause = io::Error::other("somebody removed it while the event was written");
    Attempt::Removed(Error::io("use", state.path(), cause))
}

/// What a settled event, or one that could not be, has for the journal, apart from its reply.
fn journal_lines(
    event: &Event,
    settled: Result<Plan>,
    context: &Context,
) -> (Result<Reply>, Entry, Vec<Entry>) {
    let mut run = run_line::entry(event, context).at(context.now, &event.session_id);
    let settled = settled.map(|mut plan| {
        run.outcome = std::mem::take(&mut plan.outcome);
        if plan.reply.block.is_some() {
            run.what = Some("blocked".into());
        }
        let told = std::mem::take(&mut plan.told).into_iter();
        (plan.reply, told.map(|told| told.at(context.now, &event.session_id)).collect())
    });
    match settled {
        Ok((reply, told)) => (Ok(reply), run, told),
        Err(error) => {
            run.outcome = format!("{FAILED}{error}");
            (Err(error), run, Vec::new())
        }
    }
}

/// Lets the hook decide, and carries its plan out.
fn settle(event: &Event, store: &Store, context: &Context) -> Result<Plan> {
    let state = State::for_hook(store, context.settings.systems);
    let mut plan = hooks::plan(event, &state, context);
    debug!(outcome = %plan.outcome, changes = plan.changes.len(), "planned");
    notify(&mut plan, event.kind, store, &state, context);
    store.commit(&plan.changes, &state)?;
    // What only writing has found waits for the next event.
    keep_remarks(store, &state, context.now)?;
    if let Some(adopted) = &plan.adopted {
        store.note_begun(adopted, false)?;
    }
    debug!(wrote = ?store.written(), "committed");
    Ok(plan)
}

/// Says what waits to be said if this event can, and keeps what it cannot.
fn notify(plan: &mut Plan, kind: Kind, store: &Store, state: &State, context: &Context) {
    // A reply that nobody hears must not use up what waits to be said.
    let can_show = context.is_heard && reply::can_tell_user(kind);
    let mut news = store.take_remarks();
    news.extend(state.take_remarks());
    if !context.settings.systems.notices {
        return;
    }
    news.append(&mut plan.notices);
    news.extend(context.redact.dropped().into_iter().map(too_costly));
    // The events of a tool call come by the thousand; they do not look.
    if news.is_empty() && !(kind.row().shows_notices && can_show) {
        return;
    }
    // A plan may have one of its own to write.
    let planned = plan.take_put(&state.read::<Notices>(&()));
    let (read, mut notices) = add_news(state, news, context.now);
    notices.commands_told |= planned.is_some_and(|planned| planned.commands_told);
    if can_show {
        for text in notices.take_waiting() {
            plan.reply.tell_user(text);
        }
    }
    if read.value.cloned().unwrap_or_default() != notices {
        // First of all: what is to be said must not be lost with the rest.
        plan.changes.insert(0, Change::Put(read.write(&notices)));
    }
}

/// A pattern that a project's settings have and that was not used to its end.
fn too_costly(pattern: String) -> (String, String) {
    let name = clip(&pattern, 40);
    let text = format!(
        "HookKeeper: the pattern `{name}` in `redact` of .claude/hookkeeper.json takes too much work; \
         what comes after that is not searched for it."
    );
    (format!("settings/redact/{name}"), text)
}

fn context<'a>(
    process: &Process,
    event: &Event,
    root: &Path,
    settings: &Settings,
    facts: &'a dyn Facts,
) -> Context<'a> {
    Context {
        now: process.now(),
        fresh_id: if event.kind.row().makes_records {
            fresh_id(process, event)
        } else {
            String::new()
        },
        root: root.to_string_lossy().into_owned(),
        settings: settings.clone(),
        redact: Redactor::new(&settings.redact),
        block_cap: process
            .env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")
            .and_then(|cap| cap.trim().parse().ok())
            .unwrap_or(CLIENTS_CAP),
        is_heard: true,
        facts,
    }
}

fn fresh_id(process: &Process, event: &Event) -> String {
    let first = || event.fields.objects("tool_calls")?.first()?.word("tool_use_id");
    let call = event.text("tool_use_id").or_else(first).or_else(|| event.prompt_id());
    let call = call.unwrap_or_default();
    process.fresh_id(&format!("{} {call}", event.session_id))
}

/// Tells the journal of a hook run: its own line, and what came of it.
fn write_journal(
    process: &Process,
    state: &Dir,
    run: Entry,
    told: Vec<Entry>,
    settings: &Settings,
    is_locked: bool,
) {
    if !settings.systems.journal {
        return;
    }
    let limits = is_locked.then(|| Limits::new(settings));
    let run = Entry { us: Some(process.micros()), wrote: run.wrote.or(Some(Vec::new())), ..run };
    let mut entries = vec![run];
    entries.extend(told);
    journal::add(state, &entries, limits);
}

fn write_debug(state: &Dir, lines: Option<&Lines>, locked: bool) {
    if let Some(lines) = lines {
        log::add_debug(state, &lines.drain(), locked);
    }
}

fn no_root() -> Error {
    Error::Payload {
        why: "there is no working directory to find the project from".into(),
        kept: None,
    }
}
