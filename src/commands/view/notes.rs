//! The panels that are no document's: what needs somebody's eye, and what the hooks did.

use serde_json::json;

use crate::core::journal::Entry;
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::clip;
use crate::core::time::Time;
use crate::loops::autonomous::document::Autonomous;
use crate::state::Doc;
use crate::state::panel::{Column, Detail, Panel, PanelContext, Section, since};

/// What needs somebody's eye and has no place of its own.
pub fn section(context: &PanelContext) -> Section {
    let files_in = |folder: &str| context.state.source().names(folder).unwrap_or_default().len();
    let [spool, rejected, quarantine] =
        ["state/spool", "state/rejected", "state/quarantine"].map(files_in);
    let unreadable = context.state.unreadable();
    // Another tool may have a file by the loop's name.
    let unreadable = unreadable.iter().filter(|doc| !doc.is::<Autonomous>());
    let unreadable: Vec<String> = unreadable.map(Doc::name).collect();
    let json = [
        ("waiting", json!({"spool": spool, "rejected": rejected, "quarantine": quarantine})),
        ("unreadable", json!(unreadable)),
    ];
    let counted = [
        (spool, "waiting for the lock: .claude/state/spool"),
        (rejected, "could not be used: .claude/state/rejected"),
        (quarantine, "could not be read and was put away: .claude/state/quarantine"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let counted = counted.map(|(count, what)| (Tone::Warn, format!("{count} {what}")));
    let unreadable =
        unreadable.iter().map(|path| (Tone::Bad, format!("{path} cannot be read now")));
    let notes: Vec<_> = counted.chain(unreadable).collect();
    Section::new(json, move |_| panel(&notes))
}

fn panel(notes: &[(Tone, String)]) -> Option<Panel> {
    let rows = notes.iter().map(|(tone, text)| vec![Cell::new(*tone, text)]);
    let panel = Panel {
        title: "Notes",
        says: notes.len().to_string(),
        tone: Tone::Warn,
        table: Table::new(&[0], rows.collect()),
        spare: 2,
        brief: 20,
        column: Column::Left,
        ..Panel::default()
    };
    panel.unless_empty()
}

/// What the hooks did, newest first: only on the screen.
/// `clock` spells a time for people.
pub fn hooks(log: &[Entry], now: Time, clock: impl Fn(&str) -> String) -> Panel {
    let row = |past: &Entry| {
        vec![
            Cell::new(Tone::Dim, &clock(&past.time)),
            Cell::new(Tone::Good, &clip(&past.event, 20)),
            Cell::new(Tone::Dim, &format!("{} µs", past.us.unwrap_or(0))),
            Cell::new(Tone::Plain, &past.outcome),
        ]
    };
    Panel {
        title: "Hooks",
        says: match log.first() {
            Some(newest) => format!("the last {} ago", since(&newest.time, now)),
            None => "none yet".into(),
        },
        tone: Tone::Dim,
        table: Table::new(&[3, 0, 2, 1], log.iter().map(row).collect()),
        details: log.iter().map(run_detail).collect(),
        spare: 6,
        brief: 0,
        column: Column::Left,
        ..Panel::default()
    }
}

fn run_detail(run: &Entry) -> Detail {
    let wrote = run.wrote.as_ref().map(|files| format!("Wrote: {}\n", files.join(", ")));
    Detail {
        title: format!("{} in session {}", run.event, run.session),
        text: format!("{}\n{}", run.outcome, wrote.unwrap_or_default()),
        session: Some(run.session.clone()),
        agent: run.agent.clone(),
        ..Detail::default()
    }
}
