//! The witness: the agents of a branch in its `agents.json`, and which of them are stuck.
//!
//! The live records are primary for what runs. Here the same events are written down once more, in
//! a document that outlives sessions. [`Witness`] collects what one event does to these documents
//! and writes each of them once. Every change is keyed by the agent's id and can be done twice. So
//! a kill between two writes is made good:
//!
//! - A start without its entry is entered at the end.
//! - An end without its entry is done again with the result, by the next Stop.
//! - An entry that still runs, of a session that does not know the agent, is closed at the next
//!   SessionStart.
//!
//! An agent is stuck if it runs and has been silent for longer than the threshold, by the newest of
//! its events and the modification time of its transcript. SessionStart marks that. A tool call of
//! an agent that was silent so long takes the mark away. Other events do not look: nothing is stuck
//! that they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::agents::agent::Agent;
use crate::agents::result::AgentResult;
use crate::branch::agents_document::BranchAgents;
use crate::branch::checkout;
use crate::branch::tracked::Tracked;
use crate::client::side_file;
use crate::core::event::Event;
use crate::core::id::BranchKey;
use crate::core::time::{self, Time};
use crate::session::live::Live;
use crate::session::record::LAST_SEEN_SECONDS;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

/// The agents of branches, as one event changes them.
pub struct Witness<'a> {
    state: &'a State<'a>,
    context: &'a Context<'a>,
    /// By folder, as they are now.
    documents: BTreeMap<String, BranchAgents>,
}

impl<'a> Witness<'a> {
    pub fn new(state: &'a State<'a>, context: &'a Context<'a>) -> Self {
        Self { state, context, documents: BTreeMap::new() }
    }

    /// The folder that an agent belongs to which starts now.
    pub fn current_folder(&self) -> Option<String> {
        let checkout = checkout::with_agents(self.state, self.context)?;
        Some(checkout.key.as_str().to_owned())
    }

    pub fn start(&mut self, agent: &Agent, earlier: Option<&AgentResult>) {
        self.change(agent.branch.as_deref(), |document| document.start(agent, earlier));
    }

    /// How often an agent was nudged, in earlier runs too.
    pub fn nudges(&self, agent: &Agent) -> u64 {
        let document = agent.branch.as_ref().and_then(|folder| self.documents.get(folder));
        document.and_then(|document| document.find(&agent.id)).map_or(0, |entry| entry.nudge_count)
    }

    pub fn end(&mut self, result: &AgentResult, words: Option<&str>) {
        self.change(result.branch.as_deref(), |document| document.end(result, words));
    }

    /// What an agent was called for may have become certain.
    pub fn describe(&mut self, agent: &Agent) {
        self.change(agent.branch.as_deref(), |document| {
            document.describe(&agent.id, agent.task.as_ref(), agent.background);
        });
    }

    /// What running agents were called for may be known since the record was last written: their ids.
    pub fn name(&mut self, live: &Live) -> Option<String> {
        let before = self.state.get_by::<Live>(&live.session_id)?;
        let unknown = before.agents.iter().filter(|agent| !agent.is_identified());
        let known = unknown.filter_map(|agent| live.agent(&agent.id));
        let known: Vec<&Agent> = known.filter(|agent| agent.is_identified()).collect();
        known.iter().for_each(|agent| self.describe(agent));
        let ids: Vec<&str> = known.iter().map(|agent| agent.id.as_str()).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }

    /// What an agent that has ended was called for may have become certain.
    pub fn know_result(&mut self, result: &AgentResult) {
        self.change(result.branch.as_deref(), |document| {
            document.describe(&result.agent_id, result.task.as_ref(), result.background);
        });
    }

    /// The agent that this event comes from is alive.
    pub fn mark_seen(&mut self, event: &Event, live: &mut Live) {
        let agent = event.agent_id.as_deref().and_then(|id| live.agent_mut(id));
        let Some(agent) = agent else { return };
        if was_silent(agent, self.context) {
            self.mark_alive(agent);
        }
        if time::age(&agent.last_seen, self.context.now) >= LAST_SEEN_SECONDS {
            agent.last_seen = self.context.spelled();
        }
    }

    /// A sign of life of an agent.
    fn mark_alive(&mut self, agent: &Agent) {
        self.change(agent.branch.as_deref(), |document| document.mark_stuck(&agent.id, false));
    }

    /// Marks who is stuck and who is not in these folders, and strikes off those that no session
    /// knows any more. Gives those that are stuck, with the seconds of their silence.
    pub fn find_stuck(
        &mut self,
        mut folders: BTreeSet<String>,
        lives: &[&Live],
    ) -> Vec<(Tracked, u64)> {
        let mut stuck = Vec::new();
        let context = self.context;
        folders.extend(self.documents.keys().cloned());
        for folder in folders {
            self.change(Some(&folder), |document| find_stuck(document, lives, context, &mut stuck));
        }
        stuck
    }

    /// Writes down what has changed.
    pub fn put(self, plan: &mut Plan) {
        for (folder, document) in self.documents {
            let Some(key) = BranchKey::known(&folder) else { continue };
            let read = self.state.read::<BranchAgents>(&key);
            if !document.differs_by_name_only(read.value) {
                plan.put(&read, &document);
            }
        }
    }

    fn change(&mut self, folder: Option<&str>, change: impl FnOnce(&mut BranchAgents)) {
        let Some(folder) = folder.filter(|_| self.context.settings.systems.branches) else {
            return;
        };
        if !self.documents.contains_key(folder) {
            let Some(key) = BranchKey::known(folder) else { return };
            let mut document = self.state.get_by::<BranchAgents>(&key).cloned().unwrap_or_default();
            if let Some(here) = checkout::already_read(self.state).filter(|here| here.key == key) {
                document.branch = Some(here.branch.clone());
            }
            self.documents.insert(folder.to_owned(), document);
        }
        if let Some(document) = self.documents.get_mut(folder) {
            change(document);
        }
    }
}

fn find_stuck(
    document: &mut BranchAgents,
    lives: &[&Live],
    context: &Context,
    stuck: &mut Vec<(Tracked, u64)>,
) {
    let open: Vec<Tracked> = document.open().cloned().collect();
    for entry in open {
        let owner = lives.iter().find_map(|live| Some((live, live.agent(&entry.id)?)));
        let threshold = context.settings.stuck_after();
        let written = |path: &Path| context.facts.modified(path);
        let (is_stuck, silent) = match (owner, &entry.session_id) {
            (Some((live, agent)), _) => is_stuck(agent, live, threshold, context.now, written),
            // Another tool wrote it down; all we know is when it began.
            (None, None) => {
                let silent = entry.age(context.now);
                (silent > threshold, silent)
            }
            (None, Some(_)) => {
                document.mark_lost(&entry.id, &context.spelled(), ENDED);
                continue;
            }
        };
        document.mark_stuck(&entry.id, is_stuck);
        if is_stuck {
            let task = owner.and_then(|(_, agent)| agent.task.as_ref());
            let mut entry = entry;
            entry.describe(task, None);
            stuck.push((entry, silent));
        }
    }
}

/// Whether an agent is stuck, and the seconds of its silence: since its last event, or the last line
/// in its transcript, which is looked at only if its events say that it could be stuck. This is the
/// one notion of it, for hooks, commands and views.
pub fn is_stuck(
    agent: &Agent,
    live: &Live,
    threshold: u64,
    now: Time,
    modified: impl FnOnce(&Path) -> Option<Time>,
) -> (bool, u64) {
    let silent = time::age(&agent.last_seen, now);
    if !agent.is_stuck(silent, now, threshold) {
        return (false, silent);
    }
    let transcript = live.transcript_path.as_deref();
    let workflow = agent.workflow.as_deref();
    let path = transcript.and_then(|path| side_file::transcript_path(path, &agent.id, workflow));
    let written = path.and_then(|path| modified(&path));
    let silent = silent.min(written.map_or(u64::MAX, |then| time::age(&time::spell(then), now)));
    (agent.is_stuck(silent, now, threshold), silent)
}

/// Whether an agent was silent for so long that it may have been called stuck.
fn was_silent(agent: &Agent, context: &Context) -> bool {
    time::age(&agent.last_seen, context.now) > context.settings.stuck_after()
}

/// Why an agent is lost that its session does not know.
pub const ENDED: &str = "its session has ended";

/// What can be done about agents that are stuck.
pub const OPTIONS: &str = "`hookkeeper agents nudge ID` sends it a note, TaskStop or /tasks stops it; if it finishes after all, it counts as completed";
