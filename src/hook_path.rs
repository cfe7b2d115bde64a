//! The hook path: one payload in, the books settled, at most one reply out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::value::RawValue;
use tracing::debug;

use crate::Outcome;
use crate::books::notices::Notices;
use crate::books::settings::Settings;
use crate::books::to_bytes;
use crate::error::{Error, Result};
use crate::event::{self, Event, Kind, Parsed};
use crate::facts::secrets::Redactor;
use crate::gather::{self, Moment};
use crate::hooks;
use crate::json;
use crate::plan::{Change, Plan};
use crate::process::Process;
use crate::process::stdin::{self, Payload};
use crate::reply::{self, Reply};
use crate::root;
use crate::snapshot::{Context, Snapshot};
use crate::store::dir::Dir;
use crate::store::layout::Doc;
use crate::store::log::{self, Line};
use crate::store::spool::{self, Entry};
use crate::store::{Opened, Store, home, rejected};
use crate::time;
use crate::trace::{self, Lines};

/// How long an event may spend on playing others that came before it.
const SPOOL_BUDGET: Duration = Duration::from_millis(300);

pub fn run(process: &Process, expected: Option<Kind>) -> Outcome {
    let payload = stdin::read();
    if process.env("HOOKKEEPER_OFF").as_deref() == Some("1") {
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
            Ok(stdout) => Outcome { stdout, stderr: None, code: 0 },
            Err(error) => Outcome::failed(&error),
        },
        Err((bytes, why)) => Outcome::failed(&reject(process, bytes, why)),
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
    let now = process.now();
    let bytes = match payload {
        Payload::Whole(bytes) | Payload::Refused(bytes, _) => bytes,
    };
    let mut store = match Store::open(&root, process.home().as_deref(), now)? {
        Opened::Locked(store) => store,
        Opened::Busy(state, settings) => {
            let context = context(process, event, &root, &settings);
            let kept = put_aside(process, bytes, &state, &context);
            let outcome = kept
                .as_ref()
                .map_or_else(Error::to_string, |()| "spooled: the lock is held".into());
            write_log(process, event, &state, &[], &outcome, lines, false);
            return kept.map(|()| None);
        }
    };
    debug!("locked");
    let context = context(process, event, &root, &store.settings);
    let settled = match play_spool(process, &mut store, &root) {
        Ok(Played::All) => settle(process, event, &mut store, &context, None),
        // Order matters: this event has to wait for those that still wait.
        Ok(Played::Some) => put_aside(process, bytes, store.state(), &context)
            .map(|()| (Reply::default(), "spooled: others are waiting".into())),
        Err(error) => Err(error),
    };
    let outcome = match &settled {
        Ok((_, outcome)) => outcome.clone(),
        Err(error) => format!("error: {error}"),
    };
    write_log(process, event, store.state(), &store.wrote, &outcome, lines, true);
    match settled {
        Ok((reply, _)) => Ok(reply.render(event.kind)),
        Err(error) => Err(keep_after(error, bytes, &store, &context, process)),
    }
}

/// Reads what the hook asks for, lets it decide, carries its plan out.
fn settle(
    process: &Process,
    event: &Event,
    store: &mut Store,
    context: &Context,
    moment: Option<&Moment>,
) -> Result<(Reply, String)> {
    let hook = hooks::hook(event.kind);
    let mut snapshot = Snapshot::default();
    loop {
        let asks = (hook.asks)(event, &snapshot, context);
        let mut asked_more = false;
        for ask in asks {
            if !snapshot.has(&ask) {
                debug!(?ask, "asked");
                gather::answer(ask, &mut snapshot, event, store, process, context, moment)?;
                asked_more = true;
            }
        }
        if !asked_more {
            break;
        }
    }
    snapshot.frozen.clone_from(&store.frozen);
    let mut plan = (hook.plan)(event, &snapshot, context);
    debug!(outcome = %plan.outcome, changes = plan.changes.len(), "planned");
    // A spooled event's reply is discarded, so it must not use up what waits to be said.
    let can_show = moment.is_none() && reply::can_tell_user(event.kind);
    notify(&mut plan, event.kind, can_show, store, context)?;
    store.commit(&plan.changes)?;
    debug!(wrote = ?store.wrote, "committed");
    Ok((plan.reply, plan.outcome))
}

/// Says what waits to be said if this event can, and keeps what it cannot.
fn notify(
    plan: &mut Plan,
    kind: Kind,
    can_show: bool,
    store: &mut Store,
    context: &Context,
) -> Result<()> {
    let news: Vec<(String, String)> =
        std::mem::take(&mut store.remarks).into_iter().chain(plan.notices.drain(..)).collect();
    // The events of a tool call come by the thousand; they do not look.
    let looks = matches!(kind, Kind::SessionStart | Kind::UserPromptSubmit | Kind::Stop);
    if news.is_empty() && !(looks && can_show) {
        return Ok(());
    }
    let before: Option<Notices> = store.load(&Doc::Notices, gather::json)?;
    let mut notices = before.clone().unwrap_or_default();
    for (key, text) in &news {
        notices.add(key, text, context.spelled());
    }
    if can_show {
        for text in notices.take() {
            plan.reply.tell_user(&text);
        }
    }
    if before.unwrap_or_default() != notices {
        // First of all: what is to be said must not be lost with the rest.
        plan.changes.insert(0, Change::Put(Doc::Notices, to_bytes(&notices)));
    }
    Ok(())
}

enum Played {
    All,
    /// Time was up before all was played.
    Some,
}

fn play_spool(process: &Process, store: &mut Store, root: &Path) -> Result<Played> {
    let Some((room, names)) = spool::waiting(store.state(), process.now().timestamp())? else {
        return Ok(Played::All);
    };
    let begun = process.elapsed();
    for name in names {
        if process.elapsed().saturating_sub(begun) > SPOOL_BUDGET {
            return Ok(Played::Some);
        }
        let bytes = room.read(&name)?.unwrap_or_default();
        if let Err(why) = play(process, store, root, &bytes)? {
            let redact = Redactor::new(&store.settings.redact);
            let kept =
                rejected::keep(store.state(), &bytes, &redact, process.now(), process.pid())?;
            let text = format!(
                "HookKeeper: an event that had waited could not be used ({why}); it is in {}.",
                kept.display()
            );
            store.remarks.push((format!("rejected/{name}"), text));
        }
        room.remove(&name)?;
    }
    spool::close(store.state())?;
    store.forget(process.now());
    Ok(Played::All)
}

/// Plays one event that waited. The inner error says why it cannot be used at all.
fn play(
    process: &Process,
    store: &mut Store,
    root: &Path,
    bytes: &[u8],
) -> Result<std::result::Result<(), String>> {
    let entry: Entry = match serde_json::from_slice(bytes) {
        Ok(entry) => entry,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let event = match event::parse(entry.payload.get().as_bytes(), None) {
        Ok(Parsed::Event(event)) => event,
        Ok(Parsed::Foreign(_)) => return Ok(Ok(())),
        Err(why) => return Ok(Err(why)),
    };
    let mut context = context(process, &event, root, &store.settings);
    context.now = time::parse(&entry.time).unwrap_or(context.now);
    store.forget(context.now);
    let moment = Moment { client: entry.client, git: entry.git };
    match settle(process, &event, store, &context, Some(&moment)) {
        Ok(_) => Ok(Ok(())),
        // A disk that is full now may have room later: the event stays where it is.
        Err(error @ Error::Io { .. }) => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

fn put_aside(process: &Process, bytes: &[u8], state: &Dir, context: &Context) -> Result<()> {
    let Moment { client, git } = Moment::now(process, context);
    let payload = redacted(bytes, &context.redact).ok_or_else(|| Error::Payload {
        why: "the lock is held and the payload cannot be spooled".into(),
        kept: None,
    })?;
    let time = time::spell_millis(context.now);
    // Nanoseconds, then the process: in order of time, and never the same name twice.
    let nanos = context.now.timestamp_nanos_opt().unwrap_or_default();
    let name = format!("{nanos:020}-{}.json", process.pid());
    spool::put(state, &Entry { time, client, git, payload }, &name)
}

/// The payload with every text in it redacted, keys and structure as they were.
fn redacted(bytes: &[u8], redact: &Redactor) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').trim();
    let text = json::map_strings(text, |key, text| redact.field(key, text));
    RawValue::from_string(text).ok()
}

/// An event that could not be settled is kept where somebody can find it.
fn keep_after(
    error: Error,
    bytes: &[u8],
    store: &Store,
    context: &Context,
    process: &Process,
) -> Error {
    match rejected::keep(store.state(), bytes, &context.redact, process.now(), process.pid()) {
        Ok(kept) => {
            let kept = kept.strip_prefix(&context.root).map(Path::to_owned).unwrap_or(kept);
            Error::Payload { why: error.to_string(), kept: Some(kept) }
        }
        Err(_) => error,
    }
}

/// Keeps a payload that cannot be used, and says so.
fn reject(process: &Process, bytes: &[u8], why: String) -> Error {
    let kept = || -> Option<PathBuf> {
        let root = root::for_hook(process, None)?;
        let (claude, state) = home::open(&root, process.home().as_deref()).ok()?;
        home::hide(&state).ok()?;
        let now = process.now();
        let outcome = format!("rejected: {why}");
        let line = Line {
            time: &time::spell_millis(now),
            event: "",
            session: "",
            wrote: &[],
            us: process.micros(),
            outcome: &outcome,
        };
        log::add(&state, &line, false);
        if bytes.is_empty() {
            return None;
        }
        let redact = Redactor::new(&home::settings(&claude).0.redact);
        let kept = rejected::keep(&state, bytes, &redact, now, process.pid()).ok()?;
        Some(kept.strip_prefix(&root).map(Path::to_owned).unwrap_or(kept))
    };
    let kept = kept();
    Error::Payload { why, kept }
}

fn context(process: &Process, event: &Event, root: &Path, settings: &Settings) -> Context {
    Context {
        now: process.now(),
        fresh_id: if makes_records(event.kind) { fresh_id(process, event) } else { String::new() },
        root: root.to_string_lossy().into_owned(),
        settings: settings.clone(),
        redact: Redactor::new(&settings.redact),
    }
}

fn fresh_id(process: &Process, event: &Event) -> String {
    let call = event.text("tool_use_id").or_else(|| event.prompt_id()).unwrap_or_default();
    process.fresh_id(&format!("{} {call}", event.session_id))
}

/// Failures become records with an id of their own; nothing else needs one.
fn makes_records(kind: Kind) -> bool {
    matches!(kind, Kind::PostToolUseFailure | Kind::StopFailure)
}

fn write_log(
    process: &Process,
    event: &Event,
    state: &Dir,
    wrote: &[String],
    outcome: &str,
    lines: Option<&Lines>,
    locked: bool,
) {
    let line = Line {
        time: &time::spell_millis(process.now()),
        event: event.kind.wire(),
        session: &event.session_id,
        wrote,
        us: process.micros(),
        outcome,
    };
    log::add(state, &line, locked);
    if let Some(lines) = lines {
        log::add_debug(state, &lines.take(), locked);
    }
}

fn no_root() -> Error {
    Error::Payload {
        why: "there is no working directory to find the project from".into(),
        kept: None,
    }
}
