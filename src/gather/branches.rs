//! Which branch is checked out, and what its folder has.

use super::{Moment, json};
use crate::books::agent_book::AgentBook;
use crate::books::branch::BranchState;
use crate::books::entries::Shared;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::facts::{git, plans};
use crate::id::BranchKey;
use crate::snapshot::{Ask, Context, Here, Snapshot};
use crate::store::Store;
use crate::store::layout::Doc;

/// Answers a question about branches. Where somebody planted something in the place of our folders
/// the branch has no books for this event, and the user is told; the session's own go on.
pub fn answer(
    ask: &Ask,
    snapshot: &mut Snapshot,
    event: &Event,
    store: &mut Store,
    context: &Context,
    moment: Option<&Moment>,
) -> Result<()> {
    match read(ask, snapshot, event, store, context, moment) {
        Err(error @ Error::Planted { .. }) => {
            store.remarks.push((format!("branches/{error}"), format!("HookKeeper: {error}.")));
            Ok(())
        }
        other => other,
    }
}

fn read(
    ask: &Ask,
    snapshot: &mut Snapshot,
    event: &Event,
    store: &mut Store,
    context: &Context,
    moment: Option<&Moment>,
) -> Result<()> {
    match ask {
        Ask::Branch => {
            let driven = snapshot.own(event).and_then(|live| live.loop_branch.clone());
            snapshot.branch = state(store, driven.as_deref(), context)?;
        }
        // Where no branch has anything, nobody asks git.
        Ask::Here if store.has_branches()? => {
            let key = here(snapshot, store, context, moment)?.key;
            snapshot.here_state = load(store, &Doc::Branch(key), |bytes| json(bytes))?;
        }
        Ask::AgentsHere => agents_here(snapshot, store, context, moment)?,
        Ask::AgentsOf(folder) => {
            if let Some(key) = BranchKey::known(folder)
                && !snapshot.agent_books.contains_key(folder)
            {
                let book = load(store, &Doc::BranchAgents(key), AgentBook::parse_shared)?;
                snapshot.agent_books.insert(folder.clone(), book.unwrap_or_default());
            }
        }
        Ask::PlanHere => {
            let key = here(snapshot, store, context, moment)?.key;
            snapshot.plan_here = plans::find(context.root.as_ref(), key.as_str(), &context.redact);
        }
        _ => {}
    }
    Ok(())
}

/// A document; one that is no file of ours stays what it is.
fn load<T>(
    store: &mut Store,
    doc: &Doc,
    parse: impl FnOnce(&Shared) -> std::result::Result<T, String>,
) -> Result<Option<T>> {
    store.load_shared(doc, parse).inspect_err(|error| {
        if matches!(error, Error::Planted { .. }) {
            store.frozen.push(doc.clone());
        }
    })
}

/// A branch's state: of the folder that is named, else of the branch that is checked out. Where no
/// branch has a state, nobody asks git.
fn state(
    store: &mut Store,
    named: Option<&str>,
    context: &Context,
) -> Result<Option<(BranchKey, BranchState)>> {
    if !store.has_branches()? {
        return Ok(None);
    }
    let key = match named.and_then(BranchKey::known) {
        Some(key) => key,
        None => {
            let root = context.root.as_ref();
            store.branch_key(&git::branch_name(&git::read(root)), root)?
        }
    };
    let state = load(store, &Doc::Branch(key.clone()), |bytes| json(bytes))?;
    Ok(state.map(|state| (key, state)))
}

/// The branch that is checked out, found once.
fn here(
    snapshot: &mut Snapshot,
    store: &Store,
    context: &Context,
    moment: Option<&Moment>,
) -> Result<Here> {
    if let Some(here) = &snapshot.here {
        return Ok(here.clone());
    }
    let name = branch_now(context, moment);
    let key = store.branch_key(&name, context.root.as_ref())?;
    Ok(snapshot.here.insert(Here { name, key }).clone())
}

fn branch_now(context: &Context, moment: Option<&Moment>) -> String {
    match moment {
        Some(moment) => git::branch_name(&moment.git),
        None => git::branch_name(&git::read(context.root.as_ref())),
    }
}

/// The agents of the branch that is checked out. The book itself says whose it is, so nobody has to
/// look into the branch's state for that.
fn agents_here(
    snapshot: &mut Snapshot,
    store: &mut Store,
    context: &Context,
    moment: Option<&Moment>,
) -> Result<()> {
    let (name, key) = match &snapshot.here {
        Some(here) => (here.name.clone(), here.key.clone()),
        None => {
            let name = branch_now(context, moment);
            let key = BranchKey::of(&name);
            (name, key)
        }
    };
    let mut book: Option<AgentBook> =
        load(store, &Doc::BranchAgents(key.clone()), AgentBook::parse_shared)?;
    let is_own = |book: &AgentBook| book.branch.as_ref() == Some(&name);
    if snapshot.here.is_none() && book.as_ref().is_some_and(is_own) {
        snapshot.here = Some(Here { name: name.clone(), key: key.clone() });
    }
    let here = here(snapshot, store, context, moment)?;
    if here.key != key {
        book = load(store, &Doc::BranchAgents(here.key.clone()), AgentBook::parse_shared)?;
    }
    let mut book = book.unwrap_or_default();
    book.branch = Some(name);
    snapshot.agent_books.insert(here.key.as_str().to_owned(), book);
    Ok(())
}
