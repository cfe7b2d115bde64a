//! What `status` shows of sessions: those that live, and the last that ended.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use crate::client::transcript::context_use::context_use;
use crate::core::spelling::short_id;
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::{clip, plural};
use crate::core::time::{self, Time};
use crate::session::current;
use crate::session::ending::ending_in_words;
use crate::session::live::Live;
use crate::session::metrics::{Entry, Metrics};
use crate::session::record::live_sessions;
use crate::state::panel::{Column, Detail, Panel, PanelContext, Section, since};

const EARLIER: usize = 5;
/// A hook ran so short a time ago, in seconds, that its session is at work.
const AT_WORK: u64 = 30;

pub fn sessions(context: &PanelContext) -> Section {
    let mut lives = live_sessions(context.state, context.settings);
    let newest = current::latest(lives.iter()).map(|live| &live.session_id);
    let contexts: BTreeMap<String, Fill> = lives.iter().filter_map(fill).collect();
    let json =
        [("current", json!(newest)), ("sessions", json!(lives)), ("contexts", json!(contexts))];
    lives.sort_by_key(|live| live.waiting.is_none());
    let (last_hooks, gone) = (context.last_hooks.clone(), context.gone.clone());
    let mark = context.settings.context_warning_percent;
    let had_none = context.state.get::<Metrics>().is_none();
    Section::new(json, move |now| {
        Some(sessions_panel(
            &Seen {
                lives: &lives,
                contexts: &contexts,
                last_hooks: &last_hooks,
                gone: &gone,
                mark,
                had_none,
            },
            now,
        ))
    })
}

/// How full a session's context is.
#[derive(Serialize)]
struct Fill {
    tokens: u64,
    window: u64,
    percent: u64,
}

/// As its transcript says; nothing where the model's window is not known.
fn fill(live: &Live) -> Option<(String, Fill)> {
    let used = context_use(Path::new(live.transcript_path.as_deref()?))?;
    let (window, percent) = (used.window(live.asked_model())?, used.percent(live.asked_model())?);
    Some((live.session_id.clone(), Fill { tokens: used.tokens, window, percent }))
}

/// What is known of the live sessions.
struct Seen<'a> {
    lives: &'a [Live],
    contexts: &'a BTreeMap<String, Fill>,
    /// When the last hook of each ran.
    last_hooks: &'a BTreeMap<String, String>,
    /// Those whose client has ended without a word.
    gone: &'a BTreeSet<String>,
    /// From here on a context is nearly full.
    mark: u64,
    /// No session has ended here yet.
    had_none: bool,
}

fn sessions_panel(seen: &Seen, now: Time) -> Panel {
    let Seen { lives, contexts, last_hooks, gone, mark, had_none } = *seen;
    let ids: Vec<&str> = lives.iter().map(|live| live.session_id.as_str()).collect();
    // The record is renewed once a minute; the log has every hook. Times sort as texts do.
    let row = |live: &Live| {
        let seen = last_hooks.get(&live.session_id).unwrap_or(&live.last_seen).max(&live.last_seen);
        let (tone, does) = match &live.waiting {
            _ if gone.contains(&live.session_id) => (Tone::Dim, "its client is gone".into()),
            Some(waiting) => (
                Tone::Warn,
                format!("waits for {} {}", waiting.awaits(), since(&waiting.since, now)),
            ),
            None if time::age(seen, now) <= AT_WORK => (Tone::Good, "at work".into()),
            None => (Tone::Plain, format!("seen {} ago", since(seen, now))),
        };
        let percent = contexts.get(&live.session_id).map(|fill| fill.percent);
        let is_full = mark > 0 && percent.is_some_and(|percent| percent >= mark);
        let percent = percent.map(|percent| format!("context {percent} %")).unwrap_or_default();
        vec![
            Cell::new(Tone::Id, &short_id(&live.session_id, &ids)),
            Cell::new(Tone::Good, &clip(live.git_branch.as_deref().unwrap_or("no branch"), 24)),
            Cell::new(Tone::Dim, &format!("for {}", since(&live.started, now))),
            Cell::new(tone, &does),
            Cell::new(if is_full { Tone::Warn } else { Tone::Dim }, &percent),
            Cell::new(Tone::Dim, &plural(live.files_modified.len(), "file")),
            Cell::new(Tone::Plain, live.title().unwrap_or("no prompt yet")),
        ]
    };
    let (gone, live): (Vec<&Live>, Vec<&Live>) =
        lives.iter().partition(|live| gone.contains(&live.session_id));
    let waiting = live.iter().filter(|live| live.waiting.is_some()).count();
    let waits = match waiting {
        0 => None,
        1 => Some("1 waits for you".to_owned()),
        more => Some(format!("{more} wait for you")),
    };
    let gone = (!gone.is_empty()).then(|| format!("{} gone", gone.len()));
    let says = match had_none && lives.is_empty() {
        true => "none yet; start Claude Code here".to_owned(),
        false => {
            let parts = [Some(format!("{} live", live.len())), waits, gone];
            parts.into_iter().flatten().collect::<Vec<String>>().join(", ")
        }
    };
    Panel {
        title: "Sessions",
        says,
        tone: if waiting == 0 { Tone::Plain } else { Tone::Warn },
        due: waiting,
        urgent: waiting,
        details: lives.iter().map(detail).collect(),
        table: Table::new(&[0, 4, 5, 2, 3, 6, 1], lives.iter().map(row).collect()),
        spare: 1,
        brief: 20,
        column: Column::Left,
        ..Panel::default()
    }
}

fn detail(live: &Live) -> Detail {
    let text = |name: &str, value: Option<&str>| value.map(|value| format!("{name}: {value}\n"));
    let files = Some(live.files_modified.join(", ")).filter(|files| !files.is_empty());
    let lines = [
        text("Task", live.title()),
        text("Branch", live.git_branch.as_deref()),
        text("Files", files.as_deref()),
    ];
    Detail {
        title: format!("Session {}", live.session_id),
        text: lines.into_iter().flatten().collect(),
        time: Some(("Started", live.started.clone())),
        session: Some(live.session_id.clone()),
        agent: None,
    }
}

/// The last sessions that ended.
pub fn earlier(context: &PanelContext) -> Section {
    let entries = context.state.get::<Metrics>().map(|all| all.newest(EARLIER)).unwrap_or_default();
    Section::new([("earlier", json!(entries))], move |_| earlier_panel(&entries))
}

/// Metrics have whole minutes.
fn minutes(minutes: u64) -> String {
    match minutes {
        0 => "under 1 min".into(),
        minutes => time::duration_of_seconds(minutes.saturating_mul(60)),
    }
}

fn earlier_panel(entries: &[Entry]) -> Option<Panel> {
    let row = |entry: &Entry| {
        let counts = format!(
            "{}, {}, {}, {}",
            minutes(entry.duration_minutes),
            plural(entry.agents.spawned as usize, "agent"),
            plural(entry.errors.total as usize, "error"),
            ending_in_words(&entry.ended)
        );
        vec![
            Cell::new(Tone::Dim, &entry.date),
            Cell::new(Tone::Id, &short_id(&entry.session_id, &[])),
            Cell::new(Tone::Plain, &clip(&counts, 60)),
            Cell::new(Tone::Dim, entry.title().unwrap_or_default()),
        ]
    };
    let panel = Panel {
        title: "Earlier",
        is_past: true,
        details: entries.iter().map(earlier_detail).collect(),
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

fn earlier_detail(entry: &Entry) -> Detail {
    let title = entry.title().unwrap_or_default();
    Detail {
        title: format!("Session {}", entry.session_id),
        text: format!("Task: {title}\nEnded: {}\n", entry.ended),
        session: Some(entry.session_id.clone()),
        ..Detail::default()
    }
}
