//! Fetches what a hook asks for: documents from the store, facts from the world.

use serde::de::DeserializeOwned;

use crate::books::backup::Kept;
use crate::books::branch::BranchState;
use crate::books::clip;
use crate::books::live::{Client, Live};
use crate::books::metrics::Metrics;
use crate::books::result::AgentResult;
use crate::error::Result;
use crate::event::Event;
use crate::facts::git::{self, Git};
use crate::facts::{client, execution, side_file, transcript};
use crate::id::BranchKey;
use crate::json::Object;
use crate::process::Process;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::Store;
use crate::store::layout::{Doc, Room};

/// Facts that belong to the moment when an event came; a spooled event brings its own.
pub struct Moment {
    pub client: Client,
    pub git: Git,
}

impl Moment {
    pub fn now(process: &Process, context: &Context) -> Self {
        Self { client: process.client(), git: git::read(context.root.as_ref()) }
    }
}

/// Answers one question.
pub fn answer(
    ask: Ask,
    snapshot: &mut Snapshot,
    event: &Event,
    store: &mut Store,
    process: &Process,
    context: &Context,
    moment: Option<&Moment>,
) -> Result<()> {
    match &ask {
        Ask::Live => {
            let doc = Doc::live(&event.session_id);
            let live = store.load(&doc, |bytes| live_record(&doc, bytes))?;
            snapshot.lives.extend(live.map(|live| (event.session_id.clone(), live)));
        }
        Ask::AllLive => all_live(snapshot, store)?,
        Ask::Active => snapshot.active = store.load(&Doc::Active, json)?,
        Ask::Current => snapshot.current = store.load(&Doc::Current, json)?,
        Ask::Result(id) => {
            if !snapshot.results.contains_key(id) {
                let doc = Doc::result(id);
                let mut result = store.load(&doc, |bytes| agent_result(&doc, bytes))?;
                // Events may come after their session was closed.
                if result.is_none() && !snapshot.lives.contains_key(&event.session_id) {
                    let bytes = store.archived_result(&event.session_id, id)?;
                    result = bytes.and_then(|bytes| agent_result(&doc, &bytes).ok());
                }
                snapshot.results.extend(result.map(|result| (id.clone(), result)));
            }
        }
        Ask::AllResults => all_results(snapshot, store)?,
        Ask::Synthesis => snapshot.synthesis = store.load(&Doc::Synthesis, json)?,
        Ask::Parked => snapshot.parked = store.load(&Doc::parked(&event.session_id), json)?,
        Ask::Errors => snapshot.errors = store.load(&Doc::Errors, json)?,
        Ask::Queue => snapshot.queue = store.load(&Doc::Queue, json)?,
        Ask::Branch => {
            let driven = snapshot.own(event).and_then(|live| live.loop_branch.clone());
            snapshot.branch = branch(store, driven.as_deref(), context)?;
        }
        Ask::LoopState => snapshot.loop_state = store.load(&Doc::LoopState, text)?,
        Ask::Autonomous => {
            let bytes = store.beside_state("autonomous-loop.json");
            snapshot.autonomous = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        }
        Ask::Metrics => snapshot.metrics = store.load(&Doc::Metrics, Metrics::parse)?,
        Ask::Cleared => snapshot.cleared = store.load(&Doc::Cleared, json)?,
        Ask::Executions => snapshot.executions = store.load(&Doc::Executions, json)?,
        Ask::Unfinished(tasks) => snapshot.unfinished.extend(execution::unfinished(tasks)),
        Ask::Backups => snapshot.backups = backups(store)?,
        Ask::Git => {
            snapshot.git = match moment {
                Some(moment) => moment.git.clone(),
                None => git::read(context.root.as_ref()),
            }
        }
        Ask::Client => {
            snapshot.client = moment.map_or_else(|| process.client(), |m| m.client.clone());
        }
        Ask::Gone => {
            snapshot.host = process.host();
            let gone = |live: &&Live| client::is_gone(&live.client, &snapshot.host);
            let ids = snapshot.lives.values().filter(gone).map(|live| live.session_id.clone());
            snapshot.gone = ids.collect();
        }
        Ask::SideFile { agent_id, path } => {
            let side = side_file::read(path).map(|side| (agent_id.clone(), side));
            snapshot.side_files.extend(side);
        }
        Ask::AgentWork { agent_id, path } => {
            snapshot.works.insert(agent_id.clone(), transcript::agent_work(path));
        }
        Ask::InContext(path) => snapshot.in_context = transcript::in_context(path),
        Ask::Cost { session_id, transcript: path } => {
            snapshot.costs.insert(session_id.clone(), transcript::cost(path));
        }
        Ask::ForkParent(path) => {
            snapshot.fork_parent = transcript::fork_parent(path, &event.session_id);
        }
    }
    snapshot.asked.push(ask);
    Ok(())
}

/// A branch's state: of the folder that is named, else of the branch that is checked out. Where no
/// branch has a state, nobody asks git.
fn branch(
    store: &mut Store,
    named: Option<&str>,
    context: &Context,
) -> Result<Option<(BranchKey, BranchState)>> {
    if !store.has_branches()? {
        return Ok(None);
    }
    let key = match named.and_then(BranchKey::known) {
        Some(key) => key,
        None => store.branch_key(&git::branch_name(&git::read(context.root.as_ref())))?,
    };
    let state = store.load(&Doc::Branch(key.clone()), json)?;
    Ok(state.map(|state| (key, state)))
}

/// The live records and their copies, for a command that changes them.
pub fn copies(snapshot: &mut Snapshot, store: &mut Store) -> Result<()> {
    all_live(snapshot, store)?;
    snapshot.active = store.load(&Doc::Active, json)?;
    snapshot.current = store.load(&Doc::Current, json)?;
    Ok(())
}

/// A document that is a JSON object of this type.
pub fn json<T: DeserializeOwned>(bytes: &[u8]) -> std::result::Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// A live record that is in its own file: another id in it would lead its changes elsewhere.
pub fn live_record(doc: &Doc, bytes: &[u8]) -> std::result::Result<Live, String> {
    let live: Live = json(bytes)?;
    match Doc::live(&live.session_id) == *doc {
        true => Ok(live),
        false => Err(format!("its session_id is {:?}", clip(&live.session_id, 80))),
    }
}

pub fn agent_result(doc: &Doc, bytes: &[u8]) -> std::result::Result<AgentResult, String> {
    let result: AgentResult = json(bytes)?;
    match Doc::result(&result.agent_id) == *doc {
        true => Ok(result),
        false => Err(format!("its agent_id is {:?}", clip(&result.agent_id, 80))),
    }
}

pub fn text(bytes: &[u8]) -> std::result::Result<String, String> {
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn all_live(snapshot: &mut Snapshot, store: &mut Store) -> Result<()> {
    let known: Vec<Doc> = snapshot.lives.keys().map(|id| Doc::live(id)).collect();
    for stem in stems(store, Room::Live)? {
        let doc = Doc::Live(stem);
        if known.contains(&doc) {
            continue;
        }
        let live = store.load(&doc, |bytes| live_record(&doc, bytes))?;
        snapshot.lives.extend(live.map(|live| (live.session_id.clone(), live)));
    }
    Ok(())
}

fn all_results(snapshot: &mut Snapshot, store: &mut Store) -> Result<()> {
    let known: Vec<Doc> = snapshot.results.keys().map(|id| Doc::result(id)).collect();
    for stem in stems(store, Room::Results)? {
        let is_synthesis = stem.as_str() == "synthesis";
        let doc = Doc::Result(stem);
        if is_synthesis || known.contains(&doc) {
            continue;
        }
        let result = store.load(&doc, |bytes| agent_result(&doc, bytes))?;
        snapshot.results.extend(result.map(|result| (result.agent_id.clone(), result)));
    }
    Ok(())
}

fn stems(store: &mut Store, room: Room) -> Result<Vec<crate::id::FileStem>> {
    let names = store.names(room)?;
    Ok(names.iter().filter_map(|name| crate::id::FileStem::of_file(name)).collect())
}

/// All backups, oldest first, with their owners.
pub fn backups(store: &mut Store) -> Result<Vec<Kept>> {
    let owner = |bytes: &[u8]| {
        let backup = Object::parse(bytes).map_err(|error| error.to_string())?;
        Ok(backup.text("session_id").unwrap_or_default())
    };
    let mut kept = Vec::new();
    for file in store.names(Room::Compaction)? {
        if file.starts_with("backup_") {
            let session_id = store.load(&Doc::Backup(file.clone()), owner)?;
            kept.extend(session_id.map(|session_id| Kept { file, session_id }));
        }
    }
    Ok(kept)
}
