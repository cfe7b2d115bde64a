//! A lane of the timeline: the main thread, or an agent.

use std::collections::BTreeMap;

use crate::agents::result::AgentResult;
use crate::core::journal::{Entry, EntryKind};
use crate::report::mark::Mark;
use crate::report::session::millis;

#[derive(Debug, Default)]
pub struct Lane {
    /// `None`: the main thread.
    pub agent: Option<String>,
    /// The agent's type, and its task.
    pub kind: String,
    pub task: String,
    /// How it ended, of an agent.
    pub status: String,
    /// From its first to its last moment, in milliseconds since 1970.
    pub from: i64,
    pub to: i64,
    /// When it was at work: turns of the main thread, runs of an agent.
    pub busy: Vec<(i64, i64)>,
    pub counts: BTreeMap<Mark, usize>,
    /// The places of its entries in the session's, oldest first.
    pub entries: Vec<usize>,
}

impl Lane {
    pub fn count(&self, mark: Mark) -> usize {
        self.counts.get(&mark).copied().unwrap_or(0)
    }

    pub fn calls(&self) -> usize {
        self.count(Mark::Tool) + self.count(Mark::FailedTool)
    }

    fn take_in(&mut self, at: usize, entry: &Entry, mark: Mark, moment: i64) {
        *self.counts.entry(mark).or_default() += 1;
        if self.entries.is_empty() {
            self.from = began(entry, moment);
        }
        self.from = self.from.min(began(entry, moment));
        self.to = self.to.max(moment);
        self.entries.push(at);
        match entry.kind {
            EntryKind::AgentStart => {
                self.kind = entry.what.clone().unwrap_or_default();
                self.task = entry.target.clone().unwrap_or_default();
                self.status = "running".into();
                self.busy.push((moment, moment));
            }
            EntryKind::AgentEnd => {
                let record = entry.record.as_ref();
                let result = record.and_then(|record| record.read::<AgentResult>());
                let result = result.unwrap_or_default();
                if !result.kind.is_empty() {
                    self.kind = result.kind;
                }
                if let Some(task) = result.task.filter(|task| !task.is_empty()) {
                    self.task = task;
                }
                self.status = entry.what.clone().unwrap_or_default();
            }
            EntryKind::Prompt | EntryKind::Command => {
                if self.agent.is_none() {
                    self.busy.push((moment, moment));
                }
            }
            EntryKind::Start
            | EntryKind::End
            | EntryKind::Call
            | EntryKind::Tool
            | EntryKind::Error
            | EntryKind::Recovered
            | EntryKind::Compact
            | EntryKind::Compacted
            | EntryKind::Stop
            | EntryKind::Loop
            | EntryKind::Gate
            | EntryKind::Handoff
            | EntryKind::Model
            | EntryKind::Notification
            | EntryKind::Rejected
            | EntryKind::Spooled
            | EntryKind::Run
            | EntryKind::Other => {}
        }
        let is_end = entry.kind == EntryKind::End;
        if let Some((_, end)) = self.busy.last_mut().filter(|_| !is_end) {
            *end = (*end).max(moment);
        }
    }
}

/// The main thread, and the agents in the order in which they began.
pub fn lanes(entries: &[Entry]) -> Vec<Lane> {
    let mut lanes = vec![Lane::default()];
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let (Some(moment), Some(mark)) = (millis(entry), Mark::new(entry)) else { continue };
        let place = match entry.agent.as_deref().filter(|agent| !agent.is_empty()) {
            None => 0,
            Some(agent) => *places.entry(agent).or_insert_with(|| {
                lanes.push(Lane { agent: Some(agent.to_owned()), ..Lane::default() });
                lanes.len() - 1
            }),
        };
        if let Some(lane) = lanes.get_mut(place) {
            lane.take_in(at, entry, mark, moment);
        }
    }
    // Without an entry of its own, the main thread has no time.
    if let Some(first) = lanes.get(1).map(|lane| lane.from)
        && let Some(main) = lanes.first_mut().filter(|main| main.entries.is_empty())
    {
        (main.from, main.to) = (first, first);
    }
    lanes
}

/// When it began: a call is told at its end. More than a day is not believed.
pub fn began(entry: &Entry, moment: i64) -> i64 {
    const DAY: i64 = 86_400_000;
    let took = entry.ms.filter(|_| entry.kind == EntryKind::Tool);
    let took = took.and_then(|took| i64::try_from(took).ok()).filter(|took| *took < DAY);
    moment - took.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: EntryKind, second: u32, agent: &str) -> Entry {
        let agent = Some(agent.to_owned()).filter(|agent| !agent.is_empty());
        let time = format!("2026-01-29T10:30:{second:02}.000Z");
        Entry { time, agent, ..Entry::new(kind) }
    }

    #[test]
    fn each_agent_has_a_lane_and_each_entry_one_place() {
        let entries = [
            entry(EntryKind::Prompt, 0, ""),
            entry(EntryKind::AgentStart, 1, "a1").what("Explore").target("Look"),
            Entry { ms: Some(2000), ..entry(EntryKind::Tool, 4, "a1") },
            Entry { failed: true, ..entry(EntryKind::Tool, 5, "") },
            Entry { time: "soon".into(), ..entry(EntryKind::Tool, 0, "") },
            entry(EntryKind::AgentEnd, 6, "a1").what("success"),
            entry(EntryKind::Stop, 9, ""),
        ];
        let lanes = lanes(&entries);
        assert_eq!(lanes.len(), 2);
        assert_eq!((&lanes[0].entries, &lanes[1].entries), (&vec![0, 3, 6], &vec![1, 2, 5]));
        assert_eq!((lanes[0].calls(), lanes[0].count(Mark::FailedTool)), (1, 1));
        assert_eq!((lanes[1].kind.as_str(), lanes[1].status.as_str()), ("Explore", "success"));
        assert_eq!(lanes[1].to - lanes[1].from, 5000);
        assert_eq!(lanes[0].busy[0].1 - lanes[0].busy[0].0, 9000);
    }

    #[test]
    fn a_duration_that_cannot_be_is_none() {
        let long = Entry { ms: Some(u64::MAX), ..entry(EntryKind::Tool, 4, "") };
        assert_eq!(began(&long, 5), 5);
    }
}
