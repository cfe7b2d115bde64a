//! Which branch is checked out, and what its folder has.

use super::{Moment, json};
use crate::books::agent_book::AgentBook;
use crate::books::branch::BranchState;
use crate::error::Result;
use crate::facts::git;
use crate::id::BranchKey;
use crate::snapshot::{Context, Here, Snapshot};
use crate::store::Store;
use crate::store::layout::Doc;

/// A branch's state: of the folder that is named, else of the branch that is checked out. Where no
/// branch has a state, nobody asks git.
pub fn state(
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
    let state = store.load(&Doc::Branch(key.clone()), json)?;
    Ok(state.map(|state| (key, state)))
}

/// The branch that is checked out, found once.
pub fn here(
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
pub fn agents_here(
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
        store.load(&Doc::BranchAgents(key.clone()), AgentBook::parse)?;
    let is_own = |book: &AgentBook| book.branch.as_ref() == Some(&name);
    if snapshot.here.is_none() && book.as_ref().is_some_and(is_own) {
        snapshot.here = Some(Here { name: name.clone(), key: key.clone() });
    }
    let here = here(snapshot, store, context, moment)?;
    if here.key != key {
        book = store.load(&Doc::BranchAgents(here.key.clone()), AgentBook::parse)?;
    }
    let mut book = book.unwrap_or_default();
    book.branch = Some(name);
    snapshot.agent_books.insert(here.key.as_str().to_owned(), book);
    Ok(())
}
