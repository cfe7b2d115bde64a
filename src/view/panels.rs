//! What there is to say about the state, panel by panel: the same for the printed text and for the
//! screen, which differ only in how much room they have.

use crate::agents::agent::ANSWERED;
use crate::console::table::{Cell, Table, Tone};
use crate::core::text::{clip, file_and_line, plural};
use crate::core::time::{self, Time};
use crate::errors::document::{ESCALATED, PENDING, Record};
use crate::session::live::Live;
use crate::session::notifications::Notification;
use crate::store::log::Past;
use crate::view::loops;
use crate::view::overview::{EARLIER, Overview, is_due};

/// No text is longer than this, however wide the terminal.
const TEXT: usize = 160;
/// Types of notifications that are counted beside the title: the most frequent ones.
const TYPES: usize = 4;

pub struct Panel {
    pub title: &'static str,
    /// Beside the title: counts.
    pub says: String,
    /// The colour of what it says.
    pub tone: Tone,
    pub table: Table,
    /// Which panels go first where there is little room: those with a high number.
    pub spare: u8,
    /// How many rows of it are printed.
    pub brief: usize,
}

/// All panels, in the order in which they are read.
pub fn all_panels(overview: &Overview, now: Time) -> Vec<Panel> {
    let mut panels = Vec::new();
    panels.extend(notes(overview));
    panels.push(sessions(overview, now));
    panels.push(agents(overview, now));
    panels.push(errors(overview, now));
    panels.extend(findings(overview));
    panels.extend(loops::loop_panels(overview));
    panels.extend(notifications(overview, now));
    panels.push(backups(overview, now));
    panels.extend(earlier(overview));
    panels
}

/// What needs somebody's eye and has no place of its own.
fn notes(overview: &Overview) -> Option<Panel> {
    let counted = [
        (overview.spooled, "waiting for the lock: .claude/state/spool"),
        (overview.rejected, "could not be used: .claude/state/rejected"),
        (overview.quarantined, "could not be read and was put away: .claude/state/quarantine"),
    ];
    let counted = counted.iter().filter(|(count, _)| *count > 0);
    let mut rows: Vec<_> = counted
        .map(|(count, what)| vec![Cell::new(Tone::Warn, &format!("{count} {what}"))])
        .collect();
    let unreadable = overview.unreadable.iter();
    rows.extend(
        unreadable.map(|path| vec![Cell::new(Tone::Bad, &format!("{path} cannot be read now"))]),
    );
    let says = rows.len().to_string();
    let table = Table::new(&[0], rows);
    let panel = Panel { title: "Notes", says, tone: Tone::Warn, table, spare: 2, brief: 20 };
    (!panel.table.is_empty()).then_some(panel)
}

fn sessions(overview: &Overview, now: Time) -> Panel {
    let ids: Vec<&str> = overview.lives.iter().map(|live| live.session_id.as_str()).collect();
    let row = |live: &Live| {
        vec![
            Cell::new(Tone::Id, &short(&live.session_id, &ids)),
            Cell::new(Tone::Good, &clip(live.git_branch.as_deref().unwrap_or("no branch"), 24)),
            Cell::new(Tone::Dim, &format!("for {}", since(&live.started, now))),
            Cell::new(Tone::Plain, &format!("seen {} ago", since(&live.last_seen, now))),
            Cell::new(Tone::Dim, &plural(live.files_modified.len(), "file")),
            Cell::new(Tone::Plain, live.task.as_deref().unwrap_or("no prompt yet")),
        ]
    };
    let rows = overview.lives.iter().map(row).collect();
    Panel {
        title: "Sessions",
        says: format!("{} live", overview.lives.len()),
        tone: Tone::Plain,
        table: Table::new(&[0, 3, 4, 2, 5, 1], rows),
        spare: 1,
        brief: 20,
    }
}

fn agents(overview: &Overview, now: Time) -> Panel {
    let ids: Vec<&str> = overview.active.agents.iter().map(|agent| agent.id.as_str()).collect();
    let calls = overview.lives.iter().flat_map(|live| &live.calls);
    let calls: Vec<&str> = calls.filter_map(|call| call.task.as_deref()).collect();
    let rows = overview.active.agents.iter().map(|agent| {
        let silence = since(&agent.last_seen, now);
        let (tone, state) = match agent.status.as_str() {
            _ if overview.is_quiet(agent, now) => (Tone::Warn, format!("quiet {silence}")),
            ANSWERED => (Tone::Dim, "answered".into()),
            _ => (Tone::Plain, format!("seen {silence} ago")),
        };
        let task = match (&agent.task, calls.as_slice()) {
            (Some(task), _) => task.clone(),
            (None, []) => "task not known yet".into(),
            (None, calls) => format!("one of: {}", calls.join(" | ")),
        };
        vec![
            Cell::new(Tone::Id, &short(&agent.id, &ids)),
            Cell::new(Tone::Good, &clip(&agent.kind, 20)),
            Cell::new(Tone::Dim, &format!("for {}", since(&agent.started, now))),
            Cell::new(tone, &state),
            Cell::new(Tone::Plain, &task),
        ]
    });
    let rows = rows.collect();
    let quiet = overview.active.agents.iter().filter(|agent| overview.is_quiet(agent, now)).count();
    let quiet = if quiet > 0 { format!(", {quiet} quiet") } else { String::new() };
    let active = &overview.active;
    Panel {
        title: "Agents",
        says: format!(
            "{} running{quiet}, {} spawned, {} completed",
            active.agents.len(),
            active.total_spawned,
            active.total_completed
        ),
        tone: if quiet.is_empty() { Tone::Plain } else { Tone::Warn },
        table: Table::new(&[0, 4, 3, 2, 1], rows),
        spare: 0,
        brief: 20,
    }
}

fn errors(overview: &Overview, now: Time) -> Panel {
    let row = |record: &Record| {
        let (tone, becomes) = match record.status.as_str() {
            PENDING if is_due(record, now) => (Tone::Warn, retry(record, "now")),
            PENDING => {
                let at = record.next_retry.as_deref().unwrap_or_default();
                let wait = time::seconds_between(&time::spell(now), at).unwrap_or(0);
                (Tone::Warn, retry(record, &format!("in {}", time::human(wait))))
            }
            ESCALATED => (Tone::Bad, "escalated".to_owned()),
            other => (Tone::Plain, other.replace('_', " ")),
        };
        vec![
            Cell::new(Tone::Strong, &record.classification.replace('_', " ")),
            Cell::new(tone, &becomes),
            Cell::new(Tone::Dim, &format!("{} ago", since(&record.last_seen, now))),
            Cell::new(Tone::Plain, &record.target),
        ]
    };
    let rows: Vec<_> = overview.open_errors().map(|record| row(&record)).collect();
    let summary = &overview.errors.summary;
    Panel {
        title: "Errors",
        says: match summary.total {
            0 => "none".into(),
            total => format!(
                "{total} in all, {} pending, {} recovered, {} escalated",
                summary.pending, summary.recovered, summary.escalated
            ),
        },
        tone: if summary.escalated > 0 { Tone::Bad } else { Tone::Plain },
        table: Table::new(&[2, 0, 3, 0], rows),
        spare: 3,
        brief: 8,
    }
}

fn findings(overview: &Overview) -> Option<Panel> {
    let synthesis =
        overview.synthesis.as_ref().filter(|synthesis| !synthesis.findings.is_empty())?;
    let rows = synthesis.findings.iter().map(|merged| {
        let finding = &merged.finding;
        let tone = severity(&finding.severity);
        let title = Cell::new(Tone::Plain, &finding.title);
        let place = file_and_line(finding.file.as_deref(), finding.line).unwrap_or_default();
        vec![Cell::new(tone, &finding.severity), Cell::new(Tone::Dim, &clip(&place, 28)), title]
    });
    let count = &synthesis.summary;
    let counts = [("S0", count.s0), ("S1", count.s1), ("S2", count.s2), ("S3", count.s3)];
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<_> = counts.map(|(name, count)| format!("{count} {name}")).collect();
    Some(Panel {
        title: "Findings",
        says: format!("{} ({})", synthesis.findings.len(), counts.join(", ")),
        tone: if count.s0 > 0 { Tone::Bad } else { Tone::Plain },
        table: Table::new(&[0, 2, 1], rows.collect()),
        spare: 5,
        brief: 8,
    })
}

/// What the client told the user, newest first.
fn notifications(overview: &Overview, now: Time) -> Option<Panel> {
    let row = |told: &Notification| {
        vec![
            Cell::new(Tone::Dim, &format!("{} ago", since(&told.at, now))),
            Cell::new(Tone::Id, &short(&told.session_id, &[])),
            Cell::new(Tone::Strong, &told.kind.replace('_', " ")),
            Cell::new(Tone::Plain, &told.text),
        ]
    };
    let rows = overview.notifications.notifications.iter().rev().map(row).collect();
    let counts = overview.notifications.most_frequent();
    let total = counts.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
    let counts = counts.iter().take(TYPES);
    let counts: Vec<_> =
        counts.map(|(kind, count)| format!("{count} {}", kind.replace('_', " "))).collect();
    let says = format!("{total} in all ({})", counts.join(", "));
    let table = Table::new(&[3, 2, 0, 1], rows);
    let panel =
        Panel { title: "Notifications", says, tone: Tone::Plain, table, spare: 6, brief: 5 };
    (total > 0 || !panel.table.is_empty()).then_some(panel)
}

fn backups(overview: &Overview, now: Time) -> Panel {
    let rows = overview.backups.iter().rev().map(|kept| {
        let age = stamped(&kept.file).map(|at| format!("{} ago", since(&time::spell(at), now)));
        vec![
            Cell::new(Tone::Dim, &age.unwrap_or_default()),
            Cell::new(Tone::Id, &short(&kept.session_id, &[])),
            Cell::new(Tone::Plain, &kept.file),
        ]
    });
    Panel {
        title: "Backups",
        says: overview.backups.len().to_string(),
        tone: Tone::Plain,
        table: Table::new(&[1, 2, 0], rows.collect()),
        spare: 7,
        brief: 3,
    }
}

/// When a backup was made, by its name.
fn stamped(file: &str) -> Option<Time> {
    let stamp = file.strip_prefix("backup_")?.get(..15)?;
    let time = chrono::NaiveDateTime::parse_from_str(stamp, "%Y%m%dT%H%M%S").ok()?;
    Some(time.and_utc())
}

fn earlier(overview: &Overview) -> Option<Panel> {
    let entries = overview.metrics.newest(EARLIER);
    let rows: Vec<_> = entries
        .into_iter()
        .map(|entry| {
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
        })
        .collect();
    let says = format!("the last {}", rows.len());
    let table = Table::new(&[3, 1, 0, 2], rows);
    let panel = Panel { title: "Earlier", says, tone: Tone::Dim, table, spare: 8, brief: EARLIER };
    (!panel.table.is_empty()).then_some(panel)
}

/// What the hooks did, newest first: only on the screen.
pub fn hooks(log: &[Past], now: Time) -> Panel {
    let row = |past: &Past| {
        let clock = past.time.get(11..19).unwrap_or(&past.time);
        vec![
            Cell::new(Tone::Dim, clock),
            Cell::new(Tone::Good, &clip(&past.event, 20)),
            Cell::new(Tone::Dim, &format!("{} µs", past.us)),
            Cell::new(Tone::Plain, &past.outcome),
        ]
    };
    let says = match log.first() {
        Some(newest) => format!("the last {} ago", since(&newest.time, now)),
        None => "none yet".into(),
    };
    let table = Table::new(&[3, 0, 2, 1], log.iter().map(row).collect());
    Panel { title: "Hooks", says, tone: Tone::Dim, table, spare: 6, brief: 0 }
}

fn retry(record: &Record, when: &str) -> String {
    format!("retry {} of {} {when}", record.retry_count, record.max_retries)
}

pub fn severity(name: &str) -> Tone {
    match name {
        "S0" => Tone::Bad,
        "S1" => Tone::Warn,
        "S2" => Tone::Strong,
        _ => Tone::Plain,
    }
}

/// `1m 35s`; `?` for what is not a time.
fn since(spelled: &str, now: Time) -> String {
    match time::age(spelled, now) {
        u64::MAX => "?".into(),
        seconds => time::human(seconds),
    }
}

/// The first eight characters of an id, or as many as tell it from the others.
pub fn short(id: &str, all: &[&str]) -> String {
    let begins = |most: usize| id.chars().take(most).collect::<String>();
    let unlike = |most: &usize| {
        let begin = begins(*most);
        all.iter().filter(|other| other.starts_with(&begin)).count() <= 1
    };
    let longest = id.chars().count().min(TEXT);
    (8..longest).find(unlike).map_or_else(|| begins(longest), begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_as_short_as_the_others_allow() {
        assert_eq!(short("9f99b61b-a627", &["9f99b61b-a627"]), "9f99b61b");
        assert_eq!(short("9f99b61b-a627", &["9f99b61b-a627", "9f99b61b-b"]), "9f99b61b-a");
        assert_eq!(short("a1", &["a1", "a12"]), "a1");
        assert_eq!(short("abcdefghi", &["abcdefghi", "abcdefghij"]), "abcdefghi");
    }

    #[test]
    fn a_backup_is_as_old_as_its_name_says() {
        let made = stamped("backup_20260129T103000000Z.json").map(time::spell);
        assert_eq!(made.as_deref(), Some("2026-01-29T10:30:00Z"));
        assert_eq!(stamped("backup_mine.json"), None);
    }
}
