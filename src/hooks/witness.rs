//! The witness: the agents of a branch in its `agents.json`, and which of them are stuck.
//!
//! The live records are primary for what runs; here the same events are written down once more, in
//! a book that outlives sessions. Everything is keyed by id and can be done twice, so that a kill
//! between two writes is made good by the next event.

use std::collections::BTreeMap;

use crate::books::agent::Agent;
use crate::books::agent_book::AgentBook;
use crate::books::live::Live;
use crate::books::result::AgentResult;
use crate::books::tracked::Tracked;
use crate::facts::side_file;
use crate::plan::{Change, Plan};
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time;

/// The system's name in the settings.
pub const SYSTEM: &str = "branches";

/// The books that these agents are in.
pub fn asks<'a>(agents: impl IntoIterator<Item = &'a Agent>, context: &Context) -> Vec<Ask> {
    let mut asks: Vec<Ask> = Vec::new();
    if !context.settings.is_on(SYSTEM) {
        return asks;
    }
    for folder in agents.into_iter().filter_map(|agent| agent.branch.clone()) {
        let ask = Ask::AgentsOf(folder);
        if !asks.contains(&ask) {
            asks.push(ask);
        }
    }
    asks
}

/// The book of the branch that is checked out.
pub fn asks_here(context: &Context) -> Option<Ask> {
    context.settings.is_on(SYSTEM).then_some(Ask::AgentsHere)
}

/// The folder that an agent belongs to which starts now.
pub fn folder(snapshot: &Snapshot) -> Option<String> {
    let here = snapshot.here.as_ref().filter(|_| snapshot.has(&Ask::AgentsHere))?;
    Some(here.key.as_str().to_owned())
}

/// The books as one event changes them.
pub struct Witness<'a> {
    pub snapshot: &'a Snapshot,
    changed: BTreeMap<String, AgentBook>,
}

impl<'a> Witness<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, changed: BTreeMap::new() }
    }

    pub fn start(&mut self, agent: &Agent, earlier: Option<&AgentResult>) {
        self.change(agent.branch.as_deref(), |book| book.start(agent, earlier));
    }

    /// How often an agent was nudged, in earlier runs too.
    pub fn nudges(&self, agent: &Agent) -> u64 {
        let book = agent.branch.as_ref().and_then(|folder| self.changed.get(folder));
        book.and_then(|book| book.find(&agent.id)).map_or(0, |entry| entry.nudge_count)
    }

    pub fn end(&mut self, result: &AgentResult, words: Option<&str>) {
        self.change(result.branch.as_deref(), |book| book.end(result, words));
    }

    /// What these agents were called for may have become certain.
    pub fn know<'b>(&mut self, agents: impl IntoIterator<Item = &'b Agent>) {
        for agent in agents {
            self.change(agent.branch.as_deref(), |book| {
                book.describe(&agent.id, agent.task.as_ref(), agent.background);
            });
        }
    }

    /// The same for one that has ended.
    pub fn know_result(&mut self, result: &AgentResult) {
        self.change(result.branch.as_deref(), |book| {
            book.describe(&result.agent_id, result.task.as_ref(), result.background);
        });
    }

    /// A sign of life of an agent.
    pub fn alive(&mut self, agent: &Agent) {
        self.change(agent.branch.as_deref(), |book| book.mark_stuck(&agent.id, false));
    }

    /// Marks who is stuck and who is not, and strikes off those that no session knows any more.
    /// Gives those that are stuck, with the seconds of their silence.
    pub fn look(&mut self, lives: &[&Live], context: &Context) -> Vec<(Tracked, u64)> {
        let mut stuck = Vec::new();
        let folders: Vec<String> = self.snapshot.agent_books.keys().cloned().collect();
        for folder in folders {
            self.change(Some(&folder), |book| {
                look(book, lives, self.snapshot, context, &mut stuck)
            });
        }
        stuck
    }

    /// Writes down what has changed.
    pub fn put(self, plan: &mut Plan) {
        for (folder, book) in self.changed {
            let same = self.snapshot.agent_books.get(&folder) == Some(&book);
            if let (false, Some(key)) = (same, crate::id::BranchKey::known(&folder)) {
                plan.changes.push(Change::Put(Doc::BranchAgents(key), book.to_bytes()));
            }
        }
    }

    /// A book that nobody asked for stays as it is.
    fn change(&mut self, folder: Option<&str>, change: impl FnOnce(&mut AgentBook)) {
        let Some(folder) = folder else { return };
        let Some(before) = self.snapshot.agent_books.get(folder) else { return };
        let book = self.changed.entry(folder.to_owned()).or_insert_with(|| before.clone());
        change(book);
    }
}

fn look(
    book: &mut AgentBook,
    lives: &[&Live],
    snapshot: &Snapshot,
    context: &Context,
    stuck: &mut Vec<(Tracked, u64)>,
) {
    let open: Vec<Tracked> = book.open().cloned().collect();
    for entry in open {
        let agent = lives.iter().find_map(|live| live.agent(&entry.id));
        let silent = match (agent, &entry.session_id) {
            (Some(agent), _) => silence(agent, snapshot.written.get(&agent.id), context.now),
            // Another tool wrote it down; all we know is when it began.
            (None, None) => entry.age(context.now),
            (None, Some(_)) => {
                book.mark_lost(&entry.id, &context.spelled(), ENDED);
                continue;
            }
        };
        let is_stuck = match agent {
            Some(agent) => agent.is_stuck(silent, context.now, context.settings.stuck_after()),
            None => silent > context.settings.stuck_after(),
        };
        book.mark_stuck(&entry.id, is_stuck);
        if is_stuck {
            stuck.push((entry, silent));
        }
    }
}

/// Seconds since an agent's last sign of life: an event, or a line in its transcript.
pub fn silence(agent: &Agent, written: Option<&time::Time>, now: time::Time) -> u64 {
    let written = written.map_or(u64::MAX, |then| time::age(&time::spell(*then), now));
    time::age(&agent.last_seen, now).min(written)
}

/// The transcripts of agents that could be stuck by what their events say.
pub fn asks_for_life<'a>(lives: impl IntoIterator<Item = &'a Live>, context: &Context) -> Vec<Ask> {
    let mut asks = Vec::new();
    for live in lives {
        let Some(transcript) = &live.transcript_path else { continue };
        for agent in &live.agents {
            let silent = silence(agent, None, context.now);
            if agent.is_stuck(silent, context.now, context.settings.stuck_after())
                && let Some(path) = side_file::transcript_path(transcript, &agent.id)
            {
                asks.push(Ask::Written { agent_id: agent.id.clone(), path });
            }
        }
    }
    asks
}

/// Whether an agent was silent for so long that it may have been called stuck.
pub fn was_silent(agent: &Agent, context: &Context) -> bool {
    silence(agent, None, context.now) > context.settings.stuck_after()
}

/// Why an agent is lost that its session does not know.
pub const ENDED: &str = "its session has ended";

/// What can be done about agents that are stuck.
pub const OPTIONS: &str = "`hookkeeper agents nudge ID` sends it a note, TaskStop or /tasks stops it; if it finishes after all, it counts as completed";
