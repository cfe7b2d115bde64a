//! HK026: what is sent elsewhere, if anything is. The network is not asked: whoever sends has noted
//! what came of it.

use crate::client::settings::scope::Scope;
use crate::core::text::plural;
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, or_ok};
use crate::export::backlog::Backlog;
use crate::export::cursor::{Cursor, LOST_PLACE, SEND_AGAIN};
use crate::export::settings::ExportSettings;

/// Tries that came to nothing, after which it is no accident.
const TRIES: u32 = 3;
/// More than so much waits only if nobody sends.
const MUCH: u64 = 4 << 20;

/// How the handler ends that sends.
const FLUSH: [&str; 3] = ["export", "flush", "--hook"];

#[derive(Default)]
pub struct ExportFacts {
    pub settings: ExportSettings,
    pub cursor: Cursor,
    pub backlog: Backlog,
}

pub fn export(facts: &Facts) -> Vec<Finding> {
    let ExportFacts { settings, cursor, backlog } = &facts.export;
    let mut problems: Vec<Finding> = settings
        .faults
        .iter()
        .map(|fault| Finding::warning(fault, "`hookkeeper export status` shows what holds."))
        .collect();
    if settings.is_on() {
        let trouble = cursor.trouble.as_ref();
        if let Some(trouble) = trouble.filter(|it| it.is_here || it.tries >= TRIES) {
            let what = if trouble.signals.is_empty() { "nothing" } else { "not all" };
            problems.push(Finding::warning(
                format!("{what} was sent since {}: {}", trouble.since, trouble.what),
                "`hookkeeper export test` tries it at once.",
            ));
        }
        let is_wired =
            facts.hooks().any(|(_, hook)| hook.words.ends_with(&FLUSH.map(String::from)));
        if cursor.last_success.is_none() && cursor.trouble.is_none() && !is_wired {
            // A shared file and a plugin get no such hook: wiring it beside them would run all twice.
            let is_shared = facts.ours().any(|(file, _)| file.scope == Scope::Project)
                || facts.plugins().next().is_some();
            let hint = match is_shared {
                true => "`hookkeeper export follow` as a service sends (docs/fleet.md).",
                false => {
                    "Run `hookkeeper install` again, or `hookkeeper export follow` as a service."
                }
            };
            problems.push(Finding::warning(
                "an endpoint is set, but nothing was ever sent, and no hook here does it",
                hint,
            ));
        }
        if backlog.bytes > MUCH {
            problems.push(Finding::warning(
                format!("{} MB of journals wait to be sent", backlog.bytes >> 20),
                "Run `hookkeeper export flush`; `hookkeeper install` wires a hook that does it.",
            ));
        }
    }
    if let Some(when) = &cursor.lost_place {
        let hint = format!("{SEND_AGAIN}.");
        problems.push(Finding::warning(format!("since {when} {LOST_PLACE}"), &hint));
    }
    let dropped = &cursor.dropped;
    if dropped.bytes > 0 {
        let files = plural(usize::try_from(dropped.sessions).unwrap_or(0), "journal");
        problems.push(Finding::warning(
            format!("{} bytes of {files} went before they were sent", dropped.bytes),
            "Raise `keep_megabytes`, or send more often.",
        ));
    }
    if dropped.refused > 0 {
        let why = dropped.why.as_deref().unwrap_or("it does not say why");
        problems.push(Finding::note(
            format!("the endpoint did not take {} records: {why}", dropped.refused),
            "",
        ));
    }
    or_ok(problems, || match &settings.endpoint {
        Some(endpoint) => format!("what happens is sent to {}", endpoint.url),
        None => "nothing is sent elsewhere".into(),
    })
}
