//! What `status` shows of backups.

use serde_json::{Value, json};

use crate::compaction::backup::{Kept, kept_backups};
use crate::core::spelling::short_id;
use crate::core::table::{Cell, Table, Tone};
use crate::core::time::{self, Time};
use crate::state::panel::{Panel, PanelContext, Section, since};

pub fn section(context: &PanelContext) -> Section {
    let backups = kept_backups(context.state);
    let named = |kept: &Kept| json!({"file": kept.file, "session_id": kept.session_id});
    let json: Vec<Value> = backups.iter().map(named).collect();
    Section::new([("backups", json.into())], move |now| Some(panel(&backups, now)))
}

fn panel(backups: &[Kept], now: Time) -> Panel {
    let row = |kept: &Kept| {
        let age = stamped(&kept.file).map(|at| format!("{} ago", since(&time::spell(at), now)));
        vec![
            Cell::new(Tone::Dim, &age.unwrap_or_default()),
            Cell::new(Tone::Id, &short_id(&kept.session_id, &[])),
            Cell::new(Tone::Plain, &kept.file),
        ]
    };
    Panel {
        title: "Backups",
        is_past: true,
        says: backups.len().to_string(),
        table: Table::new(&[1, 2, 0], backups.iter().rev().map(row).collect()),
        spare: 7,
        brief: 3,
        ..Panel::default()
    }
}

/// When a backup was made, by its name.
fn stamped(file: &str) -> Option<Time> {
    let stamp = file.strip_prefix("backup_")?.get(..15)?;
    let time = chrono::NaiveDateTime::parse_from_str(stamp, "%Y%m%dT%H%M%S").ok()?;
    Some(time.and_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_as_old_as_its_name_says() {
        let made = stamped("backup_20260129T103000000Z.json").map(time::spell);
        assert_eq!(made.as_deref(), Some("2026-01-29T10:30:00Z"));
        assert_eq!(stamped("backup_mine.json"), None);
    }
}
