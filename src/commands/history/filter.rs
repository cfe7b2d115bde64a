//! Which lines of the journal are asked for.

use chrono::{NaiveDate, TimeDelta};

use crate::core::event::Kind;
use crate::core::journal::{Entry, EntryKind};
use crate::core::time::{self, Time};

/// Which lines are asked for; what is not said is not asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// The beginning of an agent's id.
    pub agent: Option<String>,
    pub tells: Option<Tells>,
    /// As lines spell it.
    pub since: Option<String>,
}

/// A hook event, or what a line tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Tells {
    Event(Kind),
    Kind(EntryKind),
}

/// What can be asked for beside events, as lines spell it.
const KINDS: [EntryKind; 20] = [
    EntryKind::Start,
    EntryKind::End,
    EntryKind::Prompt,
    EntryKind::Command,
    EntryKind::Call,
    EntryKind::Tool,
    EntryKind::AgentStart,
    EntryKind::AgentEnd,
    EntryKind::Error,
    EntryKind::Recovered,
    EntryKind::Compact,
    EntryKind::Compacted,
    EntryKind::Loop,
    EntryKind::Gate,
    EntryKind::Handoff,
    EntryKind::Model,
    EntryKind::Rejected,
    EntryKind::Spooled,
    EntryKind::Run,
    EntryKind::Notification,
];

impl Tells {
    /// All that can be asked for: events, then what lines tell.
    pub fn names() -> Vec<String> {
        let spell = |kind: &EntryKind| serde_json::to_value(kind).ok()?.as_str().map(str::to_owned);
        let kinds = KINDS.iter().filter_map(spell);
        let events = Kind::ALL.iter().map(|kind| kind.wire().to_owned());
        let is_event = |name: &String| matches!(Self::from_name(name), Some(Self::Event(_)));
        events.chain(kinds.filter(|name| !is_event(name))).collect()
    }

    /// `Stop`, `subagent-stop`, `error`; for what is both, the event.
    pub fn from_name(name: &str) -> Option<Self> {
        let kind = || {
            let quoted = serde_json::Value::from(name);
            let kind = serde_json::from_value(quoted).ok();
            kind.filter(|kind| *kind != EntryKind::Other).map(Self::Kind)
        };
        Kind::from_name(name).map(Self::Event).or_else(kind)
    }
}

impl Filter {
    pub fn admits(&self, entry: &Entry) -> bool {
        let is_agents = |begin: &String| {
            entry.agent.as_ref().is_some_and(|agent| agent.starts_with(begin.as_str()))
        };
        self.agent.as_ref().is_none_or(is_agents)
            && self.since.as_ref().is_none_or(|since| entry.time >= *since)
            && match &self.tells {
                None => true,
                Some(Tells::Event(kind)) => entry.event == kind.wire(),
                Some(Tells::Kind(kind)) => entry.kind == *kind,
            }
    }
}

/// Since when: `90s`, `30m`, `2h`, `7d`, `2w` ago, a time, or a date, which is a day of the person who
/// asks: `day_begins` says when.
pub fn parse_since(text: &str, now: Time, day_begins: impl Fn(NaiveDate) -> Time) -> Option<Time> {
    if let Some(time) = time::parse(text) {
        return Some(time);
    }
    if let Some(day) = time::parse(&format!("{text}T00:00:00Z")) {
        return Some(day_begins(day.date_naive()));
    }
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: i64 = number.trim().parse().ok().filter(|number| *number >= 0)?;
    let ago = match unit {
        "s" => TimeDelta::try_seconds(number),
        "m" => TimeDelta::try_minutes(number),
        "h" => TimeDelta::try_hours(number),
        "d" => TimeDelta::try_days(number),
        "w" => TimeDelta::try_weeks(number),
        _ => None,
    };
    // Before all times is since the beginning.
    Some(now.checked_sub_signed(ago?).unwrap_or(Time::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_while_ago_or_a_time() {
        let now = time::parse("2026-01-29T10:30:00Z").unwrap();
        let midnight =
            |day: NaiveDate| time::parse(&format!("{day}T00:00:00+09:00")).unwrap_or_default();
        let since = |text| parse_since(text, now, midnight).map(time::spell);
        assert_eq!(since("2h").as_deref(), Some("2026-01-29T08:30:00Z"));
        assert_eq!(since("7d").as_deref(), Some("2026-01-22T10:30:00Z"));
        assert_eq!(since("2026-01-01").as_deref(), Some("2025-12-31T15:00:00Z"), "a local day");
        assert_eq!(since("2026-01-01T05:00:00Z").as_deref(), Some("2026-01-01T05:00:00Z"));
        for wrong in ["", "h", "2", "-1h", "2y", "soon", "2ü", "99999999999999999999d"] {
            assert_eq!(since(wrong), None, "{wrong}");
        }
        assert!(since("999999999d").is_some());
    }

    #[test]
    fn lines_are_admitted_by_all_that_is_asked_for() {
        let entry = Entry {
            time: "2026-01-29T10:30:00.000Z".into(),
            event: "Stop".into(),
            agent: Some("a849".into()),
            ..Entry::new(EntryKind::Stop)
        };
        let all = Filter::default();
        assert!(all.admits(&entry));
        for (tells, admits) in [("Stop", true), ("stop", true), ("error", false)] {
            let tells = Tells::from_name(tells);
            assert!(tells.is_some());
            assert_eq!(Filter { tells, ..all.clone() }.admits(&entry), admits);
        }
        assert_eq!(Tells::from_name("dream"), None);
        assert!(Filter { agent: Some("a8".into()), ..all.clone() }.admits(&entry));
        assert!(!Filter { agent: Some("b".into()), ..all.clone() }.admits(&entry));
        let later = Some("2026-01-29T10:30:00.001Z".into());
        assert!(!Filter { since: later, ..all }.admits(&entry));
    }
}
