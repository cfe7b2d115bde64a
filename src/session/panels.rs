//! What `status` shows of sessions: those that live, and the last that ended.

use serde_json::json;

use crate::core::table::{Cell, Table, Tone};
use crate::core::text::{clip, plural};
use crate::core::time::Time;
use crate::session::current;
use crate::session::live::Live;
use crate::session::metrics::{Entry, Metrics};
use crate::state::State;
use crate::state::panel::{Column, Panel, PanelContext, Section, short, since};

const EARLIER: usize = 5;

/// The records of live sessions, the oldest session first.
pub fn live_sessions(state: &State) -> Vec<Live> {
    let mut lives: Vec<Live> = state.all::<Live>().cloned().collect();
    lives.sort_by(|a, b| a.started.cmp(&b.started));
    lives
}

pub fn sessions(context: &PanelContext) -> Section {
    let lives = live_sessions(context.state);
    let newest = current::latest(lives.iter()).map(|live| &live.session_id);
    let json = [("current", json!(newest)), ("sessions", json!(lives))];
    Section::new(json, move |now| Some(sessions_panel(&lives, now)))
}

fn sessions_panel(lives: &[Live], now: Time) -> Panel {
    let ids: Vec<&str> = lives.iter().map(|live| live.session_id.as_str()).collect();
    let row = |live: &Live| {
        vec![
            Cell::new(Tone::Id, &short(&live.session_id, &ids)),
            Cell::new(Tone::Good, &clip(live.git_branch.as_deref().unwrap_or("no branch"), 24)),
            Cell::new(Tone::Dim, &format!("for {}", since(&live.started, now))),
            Cell::new(Tone::Plain, &format!("seen {} ago", since(&live.last_seen, now))),
            Cell::new(Tone::Dim, &plural(live.files_modified.len(), "file")),
            Cell::new(Tone::Plain, live.title().unwrap_or("no prompt yet")),
        ]
    };
    Panel {
        title: "Sessions",
        says: format!("{} live", lives.len()),
        table: Table::new(&[0, 3, 4, 2, 5, 1], lives.iter().map(row).collect()),
        spare: 1,
        brief: 20,
        column: Column::Left,
        ..Panel::default()
    }
}

/// The last sessions that ended.
pub fn earlier(context: &PanelContext) -> Section {
    let entries = context.state.get::<Metrics>().map(|all| all.newest(EARLIER)).unwrap_or_default();
    Section::new([("earlier", json!(entries))], move |_| earlier_panel(&entries))
}

fn earlier_panel(entries: &[Entry]) -> Option<Panel> {
    let row = |entry: &Entry| {
        let counts = format!(
            "{} min, {}, {}, ended: {}",
            entry.duration_minutes,
            plural(entry.agents.spawned as usize, "agent"),
            plural(entry.errors.total as usize, "error"),
            entry.ended
        );
        vec![
            Cell::new(Tone::Dim, &entry.date),
            Cell::new(Tone::Id, &short(&entry.session_id, &[])),
            Cell::new(Tone::Plain, &clip(&counts, 60)),
            Cell::new(Tone::Dim, entry.task.as_deref().unwrap_or_default()),
        ]
    };
    let panel = Panel {
        title: "Earlier",
        says: format!("the last {}", entries.len()),
        tone: Tone::Dim,
        table: Table::new(&[3, 1, 0, 2], entries.iter().map(row).collect()),
        spare: 8,
        brief: EARLIER,
        column: Column::Left,
        ..Panel::default()
    };
    panel.unless_empty()
}
