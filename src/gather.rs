//! Fetches what a hook asks for: documents from the store, facts from the world.

mod branches;

use std::path::PathBuf;

use serde::de::DeserializeOwned;

use crate::books::autonomous::Autonomous;
use crate::books::backup::Kept;
use crate::books::clip;
use crate::books::errors::Errors;
use crate::books::iterative::Task;
use crate::books::iterative::book::Book;
use crate::books::live::{Client, Live};
use crate::books::metrics::Metrics;
use crate::books::result::AgentResult;
use crate::error::Result;
use crate::event::Event;
use crate::facts::git::{self, Git};
use crate::facts::{client, execution, files, side_file, todos, transcript};
use crate::hooks::drive;
use crate::id::TaskSlug;
use crate::json::Object;
use crate::process::Process;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::Store;
use crate::store::layout::{Doc, Part, Room};
use crate::time::Time;

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
        Ask::Errors => snapshot.errors = store.load_shared(&Doc::Errors, Errors::parse_shared)?,
        Ask::Queue => snapshot.queue = store.load(&Doc::Queue, json)?,
        Ask::Branch | Ask::Here | Ask::AgentsHere | Ask::AgentsOf(_) | Ask::PlanHere => {
            branches::answer(&ask, snapshot, event, store, context, moment)?;
        }
        Ask::Todos(path) => snapshot.todos = todos::read(path),
        Ask::Written { agent_id, path } => {
            let written = files::modified(path).map(|then| (agent_id.clone(), then));
            snapshot.written.extend(written);
        }
        Ask::Iterative => {
            let found = iterative(snapshot, event, store, context);
            // What is wrong with a task's folder is no reason to lose an event.
            snapshot.iterative = found.unwrap_or_else(|error| {
                store.remarks.push(("iterative".into(), format!("HookKeeper: {error}.")));
                None
            });
        }
        Ask::LoopState => snapshot.loop_state = store.load(&Doc::LoopState, text)?,
        Ask::Autonomous => {
            snapshot.autonomous = store.load(&Doc::Autonomous, Autonomous::parse)?;
            snapshot.watched = store.load(&Doc::Watched, json)?;
        }
        Ask::Artifacts => {
            let state = snapshot.autonomous.as_ref();
            let named = state.map(Autonomous::documents).unwrap_or_default();
            // A session in a linked worktree has them there.
            let places = [Some(context.root.clone()), event.text("cwd")];
            let places: Vec<PathBuf> = places.into_iter().flatten().map(PathBuf::from).collect();
            snapshot.artifacts = files::present(&places, named);
        }
        Ask::Metrics => {
            snapshot.metrics = store.load_shared(&Doc::Metrics, Metrics::parse_shared)?
        }
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
        Ask::InContext { transcript: path, todos } => {
            let search = todos.then(todos::Search::default);
            (snapshot.in_context, snapshot.todos) = transcript::in_context(path, search);
        }
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

/// The task that a session drives, or the open one that concerns it most; of several, the one that
/// was worked on last.
fn iterative(
    snapshot: &Snapshot,
    event: &Event,
    store: &mut Store,
    context: &Context,
) -> Result<Option<Book>> {
    if context.settings.systems_off.iter().any(|off| off == "iterative") {
        return Ok(None);
    }
    let driven = snapshot.own(event).and_then(|live| live.loop_task.as_deref());
    if let Some(slug) = driven.and_then(TaskSlug::known) {
        return book(store, slug, context.now);
    }
    let mut found: Vec<(u8, std::cmp::Reverse<String>, TaskSlug)> = Vec::new();
    for slug in store.newest_tasks()? {
        if let Some(task) = store.task_state(&slug)?.filter(Task::is_open) {
            let rank = drive::iterative::rank(task.session_id.as_deref(), event, snapshot);
            found.push((rank, std::cmp::Reverse(task.updated), slug));
        }
    }
    found.sort();
    match found.into_iter().next() {
        Some((.., slug)) => book(store, slug, context.now),
        None => Ok(None),
    }
}

/// The documents of a task. `None`: there is none that can be used; who should know is told.
pub fn book(store: &mut Store, slug: TaskSlug, now: Time) -> Result<Option<Book>> {
    let Some(state) = store.task_state(&slug)? else { return Ok(None) };
    let progress = store.task_text(&slug, Part::Progress)?;
    let part = if state.is_knowledge() { Part::Plan } else { Part::Tasks };
    let plan = store.task_text(&slug, part)?;
    let doc = Doc::Iterative(slug.clone(), Part::State);
    let garbled = store.frozen.contains(&Doc::Iterative(slug.clone(), Part::Progress));
    let opened = match progress {
        None if garbled => Err("progress.md is no text".to_owned()),
        progress => Book::open(slug, state, progress.as_deref(), plan, now),
    };
    match opened {
        Ok(book) => Ok(Some(book)),
        Err(why) => {
            store.freeze(&doc, &format!("is not used: {why}"));
            Ok(None)
        }
    }
}

/// The live records and their copies, for a command that changes them.
pub fn copies(snapshot: &mut Snapshot, store: &mut Store) -> Result<()> {
    all_live(snapshot, store)?;
    snapshot.active = store.load(&Doc::Active, json)?;
    snapshot.current = store.load(&Doc::Current, json)?;
    Ok(())
}

/// The loops that a session may drive, for a command that starts or passes on one.
pub fn loops(snapshot: &mut Snapshot, store: &mut Store) -> Result<()> {
    snapshot.queue = store.load(&Doc::Queue, json)?;
    snapshot.autonomous = store.load(&Doc::Autonomous, Autonomous::parse)?;
    snapshot.watched = store.load(&Doc::Watched, json)?;
    snapshot.frozen.clone_from(&store.frozen);
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
