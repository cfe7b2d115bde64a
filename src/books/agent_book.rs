//! `.claude/branches/{branch}/agents.json`: the agents of a branch, in the seed's schema. It
//! outlives sessions, and is primary for nudges, for what an agent said in the end, and for the
//! branch's counts.
//!
//! It is rewritten whenever an agent starts or ends, and only one of a hundred entries is changed
//! then. So those of finished agents stay what they are: raw text, one line each.

use std::fmt;
use std::rc::Rc;

use memchr::memmem::Finder;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::agent::Agent;
use super::result::AgentResult;
use super::tracked::{COMPLETED, FAILED, RUNNING, STUCK, Stats, Tracked};
use super::{clip, plural};
use crate::id::BranchKey;
use crate::json::Object;
use crate::state::{Doc, Row, Trouble, document};

/// Finished agents that are kept. Those that run are never dropped.
const FINISHED: usize = 100;
const LONGEST_RESULT: usize = 200;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentBook {
    /// The branch's real name; its folder has another one.
    pub branch: Option<String>,
    entries: Vec<Slot>,
    stats: Stats,
    /// Fields that we do not know, as they stand.
    beside: Vec<(String, String)>,
}

/// An entry: opened if it runs or is wanted, else the text that it is.
#[derive(Clone, Debug, PartialEq)]
enum Slot {
    Open(Box<Tracked>),
    Raw(Rc<str>),
}

impl AgentBook {
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        // It is not synced; where the file system loses what was not, there is nothing to lose.
        if bytes.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace()) {
            return Ok(Self::default());
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let json = |value: &str| serde_json::to_string(value).unwrap_or_default();
        let mut text = String::with_capacity(400 * self.entries.len() + 200);
        text.push('{');
        if let Some(branch) = &self.branch {
            text.push_str(&format!("\n  \"branch\": {},", json(branch)));
        }
        text.push_str("\n  \"agents\": [");
        for (n, entry) in self.entries.iter().enumerate() {
            text.push_str(if n == 0 { "\n    " } else { ",\n    " });
            match entry {
                Slot::Raw(raw) => text.push_str(raw),
                Slot::Open(entry) => {
                    text.push_str(&serde_json::to_string(entry).unwrap_or_default());
                }
            }
        }
        text.push_str(if self.entries.is_empty() { "]" } else { "\n  ]" });
        let stats = serde_json::to_string(&self.stats()).unwrap_or_default();
        text.push_str(&format!(",\n  \"stats\": {stats}"));
        for (key, raw) in &self.beside {
            text.push_str(&format!(",\n  {}: {raw}", json(key)));
        }
        text.push_str("\n}\n");
        text.into_bytes()
    }

    pub fn stats(&self) -> Stats {
        let stuck = self.open().filter(|entry| entry.status == STUCK).count() as u64;
        Stats { stuck, ..self.stats.clone() }
    }

    /// Those that run, stuck ones too.
    pub fn open(&self) -> impl Iterator<Item = &Tracked> {
        self.entries.iter().filter_map(|entry| match entry {
            Slot::Open(entry) if entry.is_open() => Some(entry.as_ref()),
            _ => None,
        })
    }

    /// All entries that can be read, in the order of their starts.
    pub fn all(&self) -> Vec<Tracked> {
        let read = |entry: &Slot| match entry {
            Slot::Open(entry) => Some(entry.as_ref().clone()),
            Slot::Raw(raw) => serde_json::from_str(raw).ok(),
        };
        self.entries.iter().filter_map(read).collect()
    }

    pub fn find(&self, id: &str) -> Option<Tracked> {
        match self.entries.get(self.position(id)?)? {
            Slot::Open(entry) => Some(entry.as_ref().clone()),
            Slot::Raw(raw) => serde_json::from_str(raw).ok(),
        }
    }

    /// An agent runs. The same start again changes nothing; one that had ended runs again, and is
    /// counted when it ends the next time. `earlier`: how it ended before, as far as that is known;
    /// its entry may have been dropped since.
    pub fn start(&mut self, agent: &Agent, earlier: Option<&AgentResult>) {
        let mut entry = match self.take(&agent.id) {
            Some(Took { entry, at }) if entry.is_open() => {
                let mut entry = entry;
                entry.session_id = Some(agent.session_id.clone());
                entry.know(agent.task.as_ref(), agent.background);
                return self.entries.insert(at, Slot::Open(Box::new(entry)));
            }
            Some(Took { mut entry, .. }) => {
                self.uncount(&entry.status);
                entry.begin(&agent.started);
                entry
            }
            None => {
                match earlier.filter(|was| was.branch == agent.branch) {
                    Some(was) => self.uncount(if was.succeeded() { COMPLETED } else { FAILED }),
                    None => self.stats.total_spawned += 1,
                }
                Tracked::of(&agent.id, &agent.kind, &agent.started)
            }
        };
        entry.session_id = Some(agent.session_id.clone());
        entry.know(agent.task.as_ref(), agent.background);
        self.push(entry);
    }

    /// An agent has ended, with these last words. The same end again changes nothing.
    pub fn end(&mut self, result: &AgentResult, words: Option<&str>) {
        let mut entry = match self.take(&result.agent_id) {
            Some(Took { entry, .. }) => entry,
            None => {
                self.stats.total_spawned += 1;
                Tracked::of(&result.agent_id, &result.kind, &result.started)
            }
        };
        if entry.completed_at.as_ref() != Some(&result.completed) || entry.is_open() {
            self.uncount(&entry.status);
            let (status, count) = match result.succeeded() {
                true => (COMPLETED, &mut self.stats.completed),
                false => (FAILED, &mut self.stats.failed),
            };
            *count += 1;
            entry.status = status.into();
            entry.completed_at = Some(result.completed.clone());
            let words = words.map(|words| clip(words, LONGEST_RESULT));
            entry.result = Some(words.filter(|w| !w.is_empty()).unwrap_or_else(|| says(result)));
        }
        entry.session_id = Some(result.session_id.clone());
        entry.know(result.task.as_ref(), result.background);
        self.push(entry);
        self.drop_oldest();
    }

    /// What an agent was called for has become certain.
    pub fn know(&mut self, id: &str, task: Option<&String>, background: Option<bool>) {
        if let Some(entry) = self.entry(id) {
            entry.know(task, background);
        }
    }

    /// A sign of life, or that there has been none for too long.
    pub fn mark(&mut self, id: &str, is_stuck: bool) {
        if let Some(entry) = self.entry(id).filter(|entry| entry.is_open()) {
            entry.status = if is_stuck { STUCK } else { RUNNING }.into();
        }
    }

    /// A running agent that nobody knows of (any more).
    pub fn lose(&mut self, id: &str, now: &str, why: &str) {
        if let Some(entry) = self.entry(id).filter(|entry| entry.is_open()) {
            entry.status = FAILED.into();
            entry.completed_at = Some(now.to_owned());
            entry.result = Some(format!("lost: {why}"));
            self.stats.failed += 1;
            self.drop_oldest();
        }
    }

    /// A person wants to hear from it; the count is given back.
    pub fn nudge(&mut self, agent: &Agent, now: &str) -> u64 {
        self.start(agent, None);
        let Some(entry) = self.entry(&agent.id) else { return agent.nudge_count + 1 };
        entry.nudge_count = entry.nudge_count.max(agent.nudge_count) + 1;
        entry.last_nudge = Some(now.to_owned());
        entry.nudge_count
    }

    fn uncount(&mut self, status: &str) {
        let count = match status {
            COMPLETED => &mut self.stats.completed,
            FAILED => &mut self.stats.failed,
            _ => return,
        };
        *count = count.saturating_sub(1);
    }

    /// The newest entry of an agent. Those that run are near the end.
    fn position(&self, id: &str) -> Option<usize> {
        let finder = Finder::new(id);
        self.entries.iter().rposition(|entry| entry.is(id, &finder))
    }

    /// An entry to be changed.
    fn entry(&mut self, id: &str) -> Option<&mut Tracked> {
        let at = self.position(id)?;
        self.entries.get_mut(at)?.opened()
    }

    /// Takes an entry out, if it can be read.
    fn take(&mut self, id: &str) -> Option<Took> {
        let at = self.position(id)?;
        let entry = self.entries.get_mut(at)?.opened()?.clone();
        self.entries.remove(at);
        Some(Took { entry, at })
    }

    fn push(&mut self, entry: Tracked) {
        self.entries.push(Slot::Open(Box::new(entry)));
    }

    fn drop_oldest(&mut self) {
        let is_open = |entry: &Slot| matches!(entry, Slot::Open(entry) if entry.is_open());
        let finished = self.entries.iter().filter(|entry| !is_open(entry)).count();
        let mut too_many = finished.saturating_sub(FINISHED);
        self.entries.retain(|entry| {
            let goes = too_many > 0 && !is_open(entry);
            too_many -= usize::from(goes);
            !goes
        });
    }
}

impl<'de> Deserialize<'de> for AgentBook {
    /// In one scan: entries of agents that have ended are not looked into.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = AgentBook;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AgentBook, A::Error> {
                let mut book = AgentBook::default();
                let status = Finder::new("\"status\"");
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "branch" => book.branch = map.next_value()?,
                        "stats" => book.stats = map.next_value()?,
                        "agents" => {
                            let entries: Vec<&RawValue> = map.next_value()?;
                            let read = |raw: &&RawValue| Slot::read(raw.get(), &status);
                            book.entries = entries.iter().map(read).collect();
                        }
                        _ => {
                            let raw: &RawValue = map.next_value()?;
                            book.beside.push((key, raw.get().to_owned()));
                        }
                    }
                }
                Ok(book)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

impl Slot {
    fn read(raw: &str, status: &Finder) -> Self {
        // Nearly all have ended; these are not looked into.
        let value = |at: usize| {
            let rest = raw.get(at + "\"status\"".len()..)?.trim_start().strip_prefix(':')?;
            rest.trim_start().strip_prefix('"')
        };
        let value = status.find(raw.as_bytes()).and_then(value);
        let has_ended =
            value.is_some_and(|value| value.starts_with(COMPLETED) || value.starts_with(FAILED));
        if !has_ended
            && let Ok(entry) = serde_json::from_str::<Tracked>(raw)
            && entry.is_open()
        {
            return Self::Open(Box::new(entry));
        }
        Self::Raw(raw.into())
    }

    fn is(&self, id: &str, finder: &Finder) -> bool {
        match self {
            Self::Open(entry) => entry.id == id,
            Self::Raw(raw) => {
                finder.find(raw.as_bytes()).is_some()
                    && Object::parse(raw.as_bytes())
                        .is_ok_and(|entry| entry.text("id").as_deref() == Some(id))
            }
        }
    }

    /// `None` if it cannot be read: then it stays as it is.
    fn opened(&mut self) -> Option<&mut Tracked> {
        if let Self::Raw(raw) = self {
            *self = Self::Open(serde_json::from_str(raw).ok()?);
        }
        match self {
            Self::Open(entry) => Some(entry),
            Self::Raw(_) => None,
        }
    }
}

/// An entry, and where it was.
struct Took {
    entry: Tracked,
    at: usize,
}

/// How an agent ended that said nothing.
fn says(result: &AgentResult) -> String {
    match result.findings.len() {
        0 => result.status.clone(),
        n => format!("{}, {}", result.status, plural(n, "finding")),
    }
}

// It outlives sessions, but two syncs for every agent would cost more than all the rest.
document!(AgentBook by BranchKey, Row {
    name: "branch-agents",
    path: "branches/{branch}/agents.json",
    schema: "branch-agents",
    title: "Branch agents",
    about: "the agents of a branch",
    is_durable: false,
    trouble: Trouble::PlantedIsLeftOut,
    ..Row::SHARED
}, |row, key| Doc::new(row, key.as_str()), parse: |_, bytes| Self::parse(bytes), bytes: Self::to_bytes);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::result::{LOST, SUCCESS};
    use crate::time;

    fn agent(id: &str, started: &str) -> Agent {
        Agent { id: id.into(), kind: "Explore".into(), started: started.into(), ..Agent::default() }
    }

    fn ended(id: &str, status: &str, at: &str) -> AgentResult {
        AgentResult::of(agent(id, "2026-01-29T10:00:00Z"), status, time::parse(at).unwrap())
    }

    fn counts(book: &AgentBook) -> [u64; 4] {
        let stats = AgentBook::parse(&book.to_bytes()).unwrap().stats();
        [stats.total_spawned, stats.completed, stats.failed, stats.stuck]
    }

    #[test]
    fn counts_hold_through_everything() {
        let mut book = AgentBook::default();
        let a = agent("a", "2026-01-29T10:00:00Z");
        book.start(&a, None);
        book.start(&a, None);
        assert_eq!(counts(&book), [1, 0, 0, 0]);
        book.mark("a", true);
        assert_eq!(counts(&book), [1, 0, 0, 1]);
        book.mark("a", false);
        assert_eq!(counts(&book), [1, 0, 0, 0]);
        book.mark("a", true);
        let end = ended("a", SUCCESS, "2026-01-29T10:10:00Z");
        for _ in 0..2 {
            book = AgentBook::parse(&book.to_bytes()).unwrap();
            book.end(&end, Some("All  good.\n"));
            assert_eq!(counts(&book), [1, 1, 0, 0]);
        }
        assert_eq!(book.find("a").unwrap().result.as_deref(), Some("All good."));
        // It is resumed, and interrupted.
        book.start(&agent("a", "2026-01-29T10:20:00Z"), None);
        assert_eq!(counts(&book), [1, 0, 0, 0]);
        assert_eq!(book.find("a").unwrap().spawned_epoch, 1_769_682_000);
        book.end(&ended("a", LOST, "2026-01-29T10:30:00Z"), None);
        assert_eq!(counts(&book), [1, 0, 1, 0]);
        // One whose start was never seen, and one whose session is gone.
        book.end(&ended("b", SUCCESS, "2026-01-29T10:30:00Z"), None);
        book.start(&agent("c", "2026-01-29T10:30:00Z"), None);
        book.lose("c", "2026-01-29T10:31:00Z", "gone");
        book.lose("c", "2026-01-29T10:32:00Z", "gone");
        assert_eq!(counts(&book), [3, 1, 2, 0]);
        let results: Vec<_> = book.all().into_iter().map(|entry| entry.result.unwrap()).collect();
        assert_eq!(results, ["lost", "success", "lost: gone"]);
    }

    #[test]
    fn running_agents_are_never_dropped_and_the_counts_stay() {
        let mut book = AgentBook::default();
        book.start(&agent("first", "2026-01-29T10:00:00Z"), None);
        for n in 0..150 {
            book = AgentBook::parse(&book.to_bytes()).unwrap();
            book.end(&ended(&format!("a{n}"), SUCCESS, "2026-01-29T10:10:00Z"), None);
        }
        let ids: Vec<String> = book.all().into_iter().map(|entry| entry.id).collect();
        assert_eq!((ids.len(), ids[0].as_str(), ids[1].as_str()), (101, "first", "a50"));
        assert_eq!(counts(&book), [151, 150, 0, 0]);
    }

    #[test]
    fn what_it_does_not_know_stays_as_it_is() {
        let text = r#"{"agents": [3, {"id": "a", "status": "completed", "mine": [1]},
            {"id": "b", "status": "running", "spawned_epoch": "soon"}, {"id": "c", "status": "running", "x": 1}],
            "stats": {"total_spawned": 7, "y": 2}, "z": {"deep": true}}"#;
        let mut book = AgentBook::parse(text.as_bytes()).unwrap();
        assert_eq!(book.open().count(), 1);
        book.end(&ended("c", SUCCESS, "2026-01-29T10:10:00Z"), None);
        book.end(&ended("b", SUCCESS, "2026-01-29T10:10:00Z"), None);
        let text = String::from_utf8(book.to_bytes()).unwrap();
        for part in [
            "3,",
            r#"{"id": "a", "status": "completed", "mine": [1]}"#,
            r#"{"id": "b", "status": "running", "spawned_epoch": "soon"}"#,
            r#""x":1"#,
            r#""y":2"#,
            r#""z": {"deep": true}"#,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(AgentBook::parse(b"[]").is_err());
        assert!(AgentBook::parse(br#"{"agents": {}}"#).is_err());
        assert_eq!(AgentBook::parse(b"\0\0\0"), Ok(AgentBook::default()));
    }
}
