//! Payloads that are kept, redacted: those that could not be used, and those that somebody records.

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use crate::core::error::Error;
use crate::core::event::Event;
use crate::core::journal::{Entry, EntryKind};
use crate::core::json;
use crate::core::redaction::Redactor;
use crate::hook_path::write_journal;
use crate::process::Process;
use crate::session::new_project::note_if_new;
use crate::store::dir::Dir;
use crate::store::home::{self, Entered};
use crate::store::lock;
use crate::store::{Store, recorded, rejected};
use crate::turn::context::Context;
use crate::turn::root;

/// Keeps the payload if that is wanted. A recording that fails is no reason to fail.
pub fn record(process: &Process, event: &Event, bytes: &[u8], state: &Dir, context: &Context) {
    if context.settings.record
        && let Some(payload) = redacted(bytes, &context.redact)
    {
        let pid = process.pid();
        let _ = recorded::keep(state, payload.get(), event.kind, context.now, pid);
    }
}

/// The payload with every text in it redacted, keys and structure as they were.
pub fn redacted(bytes: &[u8], redact: &Redactor) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').trim();
    let text = json::map_strings(text, |key, text| redact.field(key, text));
    RawValue::from_string(text).ok()
}

/// An event that could not be settled is kept where somebody can find it.
pub fn keep_after(
    error: Error,
    bytes: &[u8],
    store: &Store,
    context: &Context,
    process: &Process,
) -> Error {
    match rejected::keep(store.state_dir(), bytes, &context.redact, process.now(), process.pid()) {
        Ok(kept) => {
            let kept = kept.strip_prefix(&context.root).map(Path::to_owned).unwrap_or(kept);
            Error::Payload { why: error.to_string(), kept: Some(kept) }
        }
        Err(_) => error,
    }
}

/// Keeps a payload that cannot be used, and says so.
pub fn reject(process: &Process, bytes: &[u8], why: String) -> Error {
    let kept = || -> Option<PathBuf> {
        let root = root::for_hook(process, None)?;
        let state_root = root::state_root(process, &root);
        let (claude, state, origin) =
            match home::enter(&state_root, process.home().as_deref(), lock::PATIENCE).ok()? {
                Entered::Locked(home) => {
                    note_if_new(process, &root, home.is_new);
                    (home.claude, home.state, Some(home.origin))
                }
                Entered::Busy(claude, state) => (claude, state, None),
            };
        let now = process.now();
        let run = Entry::new(EntryKind::Rejected).at(now, "");
        let run = Entry { outcome: format!("rejected: {why}"), ..run };
        let settings = home::settings(&claude, origin.as_ref()).0;
        write_journal(process, &state, run, Vec::new(), &settings, false);
        if bytes.is_empty() {
            return None;
        }
        let redact = Redactor::new(&settings.redact);
        let kept = rejected::keep(&state, bytes, &redact, now, process.pid()).ok()?;
        Some(kept.strip_prefix(&root).map(Path::to_owned).unwrap_or(kept))
    };
    let kept = kept();
    Error::Payload { why, kept }
}
