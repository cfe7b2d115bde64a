//! The hook path: one payload in, the books settled, at most one reply out.

mod kept;
mod waiting;

use std::path::Path;

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
use crate::loops::governor::CLIENTS_CAP;
use crate::plan::{Change, Plan};
use crate::process::Process;
use crate::process::stdin::{self, Payload};
use crate::reply::{self, Reply};
use crate::root;
use crate::snapshot::{Context, Snapshot};
use crate::store::dir::Dir;
use crate::store::layout::Doc;
use crate::store::log::{self, Line};
use crate::store::{Opened, Store};

use crate::time;
use crate::trace::{self, Lines};
use kept::{keep_after, record, reject};
use waiting::{Played, play_spool, put_aside};

pub use waiting::{keep_remarks, locked_store};

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
    let books = root::of_books(process, &root);
    let mut store = match Store::open(&books, process.home().as_deref(), now)? {
        Opened::Locked(store) => store,
        Opened::Busy(state, settings) => {
            let context = context(process, event, &root, &settings);
            record(process, event, bytes, &state, &context);
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
    record(process, event, bytes, store.state(), &context);
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

fn context(process: &Process, event: &Event, root: &Path, settings: &Settings) -> Context {
    Context {
        now: process.now(),
        fresh_id: if makes_records(event.kind) { fresh_id(process, event) } else { String::new() },
        root: root.to_string_lossy().into_owned(),
        settings: settings.clone(),
        redact: Redactor::new(&settings.redact),
        block_cap: process
            .env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")
            .and_then(|cap| cap.trim().parse().ok())
            .unwrap_or(CLIENTS_CAP),
        is_heard: true,
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
