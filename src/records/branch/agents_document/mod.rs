//! `.claude/branches/{branch}/agents.json`: the agents of a branch, in the seed's schema. It
//! outlives sessions, and is primary for nudges, for what an agent said in the end, and for the
//! branch's counts.
//!
//! It is rewritten whenever an agent starts or ends, and only one of a hundred entries is changed
//! then. Those of agents that run are parsed, the others stay text.

#[cfg(test)]
pub mod tests;

use crate::agents::agent::Agent;
use crate::agents::result::AgentResult;
use crate::branch::panels;
use crate::branch::tracked::{COMPLETED, FAILED, RUNNING, STUCK, Stats, Tracked};
use crate::core::entries::{self, Beside, Entries, Shared, Slot};
use crate::core::id::BranchKey;
use crate::core::json;
use crate::core::pieces::Pieces;
use crate::core::text::{clip, plural};
use crate::state::panel::StatusPart;
use crate::state::{Doc, Row, Trouble, document};

/// Finished agents that are kept. Those that run are never dropped.
const FINISHED: usize = 100;
const AGENTS: &str = "agents";
/// Of an agent's last words.
pub const LONGEST_RESULT: usize = 200;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchAgents {
    /// The branch's real name; its folder has another one.
    pub branch: Option<String>,
    entries: Entries<Tracked>,
    stats: Stats,
    beside: Beside,
}

impl BranchAgents {
    /// For tests, which have bytes of their own.
    #[cfg(feature = "testing")]
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::parse_shared(&Shared::new(bytes.to_vec()))
    }

    /// Parses a document without a copy of its bytes.
    pub fn parse_shared(bytes: &Shared) -> Result<Self, String> {
        // It is not synced; where the file system loses what was not, there is nothing to lose.
        if bytes.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace()) {
            return Ok(Self::default());
        }
        let (entries, fields) = Entries::parse(bytes, AGENTS)
            .ok_or_else(|| json::refusal(bytes, AGENTS).to_string())?;
        let mut book = Self { entries, ..Self::default() };
        for (key, raw) in fields {
            match key.as_str() {
                "branch" => book.branch = read(&raw)?,
                "stats" => book.stats = read(&raw)?,
                _ => book.beside.push((key, raw)),
            }
        }
        book.read_open();
        Ok(book)
    }

    fn to_pieces(&self) -> Pieces {
        let mut pieces = Pieces::default();
        pieces.push("{");
        if let Some(branch) = &self.branch {
            pieces.push(&format!("\n  \"branch\": {},", entries::line(branch)));
        }
        pieces.push("\n  \"agents\": ");
        self.entries.write(&mut pieces, entries::line);
        pieces.push(&format!(",\n  \"stats\": {}", entries::line(&self.stats())));
        entries::write_beside(&mut pieces, &self.beside);
        pieces
    }

    /// Whether nothing but the branch's name is new in it: that is no reason to write it.
    pub fn differs_by_name_only(&self, before: Option<&Self>) -> bool {
        let none = Self::default();
        let before = before.unwrap_or(&none);
        self.entries == before.entries && self.stats == before.stats && self.beside == before.beside
    }

    pub fn stats(&self) -> Stats {
        let stuck = self.open().filter(|entry| entry.status == STUCK).count() as u64;
        Stats { stuck, ..self.stats.clone() }
    }

    /// Those that run, stuck ones too.
    pub fn open(&self) -> impl Iterator<Item = &Tracked> {
        self.entries.slots.iter().filter_map(open_entry)
    }

    /// All entries that can be read, in the order of their starts.
    pub fn all(&self) -> Vec<Tracked> {
        self.entries.read_all().collect()
    }

    pub fn find(&self, id: &str) -> Option<Tracked> {
        self.entries.read(self.entries.slots.get(self.position(id)?)?)
    }

    /// An agent runs. The same start again changes nothing; one that had ended runs again, and is
    /// counted when it ends the next time. `earlier`: how it ended before, as far as that is known;
    /// its entry may have been dropped since.
    pub fn start(&mut self, agent: &Agent, earlier: Option<&AgentResult>) {
        let mut entry = match self.remove(&agent.id) {
            Some((mut entry, at)) if entry.is_open() => {
                entry.session_id = Some(agent.session_id.clone());
                entry.describe(agent.task.as_ref(), agent.background);
                return self.entries.slots.insert(at, Slot::Typed(Box::new(entry)));
            }
            Some((mut entry, _)) => {
                self.uncount(&entry.status);
                entry.restart(&agent.started);
                entry
            }
            None => {
                match earlier.filter(|was| was.branch == agent.branch) {
                    Some(was) => self.uncount(if was.succeeded() { COMPLETED } else { FAILED }),
                    None => self.stats.total_spawned += 1,
                }
                Tracked::new(&agent.id, &agent.kind, &agent.started)
            }
        };
        entry.session_id = Some(agent.session_id.clone());
        entry.describe(agent.task.as_ref(), agent.background);
        self.entries.push(entry);
    }

    /// An agent has ended, with these last words. The same end again changes nothing.
    pub fn end(&mut self, result: &AgentResult, words: Option<&str>) {
        let mut entry = match self.remove(&result.agent_id) {
            Some((entry, _)) => entry,
            None => {
                self.stats.total_spawned += 1;
                Tracked::new(&result.agent_id, &result.kind, &result.started)
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
            entry.result =
                Some(words.filter(|w| !w.is_empty()).unwrap_or_else(|| default_words(result)));
        }
        entry.session_id = Some(result.session_id.clone());
        entry.describe(result.task.as_ref(), result.background);
        self.entries.push(entry);
        self.drop_oldest();
    }

    /// What an agent was called for has become certain.
    pub fn describe(&mut self, id: &str, task: Option<&String>, background: Option<bool>) {
        if let Some(entry) = self.entry(id) {
            entry.describe(task, background);
        }
    }

    /// A sign of life, or that there has been none for too long.
    pub fn mark_stuck(&mut self, id: &str, is_stuck: bool) {
        if let Some(entry) = self.entry(id).filter(|entry| entry.is_open()) {
            entry.status = if is_stuck { STUCK } else { RUNNING }.into();
        }
    }

    /// A running agent that nobody knows of (any more).
    pub fn mark_lost(&mut self, id: &str, now: &str, why: &str) {
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
        let is_agent = |slot: &Slot<Tracked>| match slot {
            Slot::Raw(_, outline) => self.entries.is_string(outline.id, id),
            Slot::Typed(entry) => entry.id == id,
        };
        self.entries.slots.iter().rposition(is_agent)
    }

    /// An entry to be changed.
    fn entry(&mut self, id: &str) -> Option<&mut Tracked> {
        self.entries.edit(self.position(id)?)
    }

    /// Takes an entry out, if it can be read; and says where it was.
    fn remove(&mut self, id: &str) -> Option<(Tracked, usize)> {
        let at = self.position(id)?;
        let entry = self.entries.edit(at)?.clone();
        self.entries.slots.remove(at);
        Some((entry, at))
    }

    /// Parses the entries of agents that run. Nearly all have ended.
    fn read_open(&mut self) {
        for at in 0..self.entries.slots.len() {
            let Some(Slot::Raw(_, outline)) = self.entries.slots.get(at) else { continue };
            let has = |status: &str| self.entries.is_string(outline.status, status);
            if has(RUNNING) || has(STUCK) {
                self.entries.edit(at);
            }
        }
    }

    fn drop_oldest(&mut self) {
        let slots = &mut self.entries.slots;
        let finished = slots.iter().filter(|slot| open_entry(slot).is_none()).count();
        let mut too_many = finished.saturating_sub(FINISHED);
        slots.retain(|slot| {
            let goes = too_many > 0 && open_entry(slot).is_none();
            too_many -= usize::from(goes);
            !goes
        });
    }
}

/// The entry of an agent that runs.
fn open_entry(slot: &Slot<Tracked>) -> Option<&Tracked> {
    match slot {
        Slot::Typed(entry) if entry.is_open() => Some(entry),
        _ => None,
    }
}

fn read<T: serde::de::DeserializeOwned>(raw: &str) -> Result<T, String> {
    serde_json::from_str(raw).map_err(|error| error.to_string())
}

/// How an agent ended that said nothing.
fn default_words(result: &AgentResult) -> String {
    match result.findings.len() {
        0 => result.status.clone(),
        n => format!("{}, {}", result.status, plural(n, "finding")),
    }
}

// It outlives sessions, but two syncs for every agent would cost more than all the rest.
document!(BranchAgents by BranchKey, Row {
    name: "branch-agents",
    path: "branches/{branch}/agents.json",
    schema: "branch-agents",
    title: "Branch agents",
    about: "the agents of a branch",
    is_durable: false,
    trouble: Trouble::PlantedIsLeftOut,
    status: Some(StatusPart { place: 20, read: panels::agents }),
    ..Row::SHARED
}, |row, key| Doc::new(row, key.as_str()), schema: crate::branch::tracked::File, parse: |_, bytes| Self::parse_shared(bytes), pieces: Self::to_pieces);
