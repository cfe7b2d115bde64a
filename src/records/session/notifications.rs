//! `notifications.json`: what the client told the user last, and how often it did, by type.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::spelling::short_id;
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::{Extra, keep_newest};
use crate::core::time::Time;
use crate::state::panel::{Panel, PanelContext, Section, StatusPart, since};
use crate::state::{Row, document};

const NEWEST: usize = 100;
/// Types that are counted, [`OTHER`] among them. The client has about a dozen, and may have more.
const TYPES: usize = 50;
/// Where the rarest types are counted when there are too many.
const OTHER: &str = "other";
/// Types that `status` counts beside the title: the most frequent ones.
const SHOWN_TYPES: usize = 4;

/// What the client told the user last, and how often it did, by type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["type_counts", "notifications"])))]
pub struct Notifications {
    /// All that ever came, by type; the rarest types may be in `other`.
    pub type_counts: BTreeMap<String, u64>,
    /// Oldest first.
    pub notifications: Vec<Notification>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["at", "session_id", "type", "text"])))]
pub struct Notification {
    /// With milliseconds: they tell a notification from the same one, played twice.
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub at: String,
    pub session_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Notifications {
    /// Enters a notification and counts it. An event that waited may be played twice, when a
    /// process is killed in between: it is entered once.
    pub fn add(&mut self, new: Notification) {
        if self.notifications.iter().any(|have| have.is(&new)) {
            return;
        }
        self.count(&new.kind, 1);
        while self.type_counts.len() > TYPES
            && let Some(rarest) = self.rarest_but(&new.kind)
        {
            let count = self.type_counts.remove(&rarest).unwrap_or_default();
            self.count(OTHER, count);
        }
        self.notifications.push(new);
        keep_newest(&mut self.notifications, NEWEST);
    }

    /// All types with their counts, the most frequent one first.
    pub fn most_frequent(&self) -> Vec<(&str, u64)> {
        let counts = self.type_counts.iter();
        let mut counts: Vec<_> = counts.map(|(kind, count)| (kind.as_str(), *count)).collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    fn count(&mut self, kind: &str, more: u64) {
        let count = self.type_counts.entry(kind.to_owned()).or_default();
        *count = count.saturating_add(more);
    }

    /// Whoever sends a new type each time displaces no type that has come more often.
    fn rarest_but(&self, kind: &str) -> Option<String> {
        let others = self.type_counts.iter().filter(|(name, _)| *name != kind && *name != OTHER);
        others.min_by_key(|(_, count)| **count).map(|(name, _)| name.clone())
    }
}

impl Notification {
    /// Whether it is the same one, whatever else is written there.
    fn is(&self, other: &Self) -> bool {
        let known =
            |one: &Self| [&one.at, &one.session_id, &one.kind, &one.text].map(String::clone);
        known(self) == known(other)
    }
}

document!(
    Notifications,
    Row {
        name: "notifications",
        path: "state/notifications.json",
        schema: "notifications",
        title: "Notifications",
        about: "what the client told the user last",
        // It outlives sessions, and nothing depends on it: a sync each time would cost more than
        // the rest of the hook.
        status: Some(StatusPart { place: 100, read: section }),
        ..Row::EPHEMERAL
    }
);

/// What `status` shows of them.
fn section(context: &PanelContext) -> Section {
    let all = context.state.get::<Notifications>().cloned().unwrap_or_default();
    Section::new([("notifications", json!(all))], move |now| panel(&all, now))
}

/// The newest first.
fn panel(all: &Notifications, now: Time) -> Option<Panel> {
    let row = |told: &Notification| {
        vec![
            Cell::new(Tone::Dim, &format!("{} ago", since(&told.at, now))),
            Cell::new(Tone::Id, &short_id(&told.session_id, &[])),
            Cell::new(Tone::Strong, &told.kind.replace('_', " ")),
            Cell::new(Tone::Plain, &told.text),
        ]
    };
    let counts = all.most_frequent();
    let total = counts.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
    let counts = counts.iter().take(SHOWN_TYPES);
    let counts: Vec<_> =
        counts.map(|(kind, count)| format!("{count} {}", kind.replace('_', " "))).collect();
    let panel = Panel {
        title: "Notifications",
        is_past: true,
        says: format!("{total} in all ({})", counts.join(", ")),
        table: Table::new(&[3, 2, 0, 1], all.notifications.iter().rev().map(row).collect()),
        spare: 6,
        brief: 5,
        ..Panel::default()
    };
    if total > 0 { Some(panel) } else { panel.unless_empty() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(at: usize, kind: &str) -> Notification {
        Notification { at: at.to_string(), kind: kind.into(), ..Notification::default() }
    }

    #[test]
    fn the_newest_hundred_are_kept_and_all_are_counted() {
        let mut all = Notifications::default();
        (0..150).for_each(|at| all.add(told(at, "idle_prompt")));
        assert_eq!((all.notifications.len(), all.type_counts["idle_prompt"]), (NEWEST, 150));
        assert_eq!(all.notifications[0].at, "50");
        all.add(told(149, "idle_prompt"));
        assert_eq!(all.type_counts["idle_prompt"], 150, "the same one, played twice");
    }

    #[test]
    fn a_new_type_each_time_fills_nothing_and_displaces_nothing() {
        let mut all = Notifications::default();
        (0..3).for_each(|at| all.add(told(at, "idle_prompt")));
        (3..1000).for_each(|at| all.add(told(at, &format!("type-{at}"))));
        assert_eq!(all.type_counts.len(), TYPES);
        assert_eq!(all.type_counts["idle_prompt"], 3);
        assert_eq!(all.type_counts["type-999"], 1);
        assert_eq!(all.type_counts.values().sum::<u64>(), 1000);
        assert_eq!(all.most_frequent()[..2], [(OTHER, 949), ("idle_prompt", 3)]);
    }
}
