//! Which branch is checked out, what its folder is, and the branch whose loop a session drives.

use std::path::Path;

use crate::branch::agents_document::BranchAgents;
use crate::branch::document::BranchState;
use crate::branch::folder::{BRANCHES, find_key};
use crate::core::error::{Error, Result};
use crate::core::id::BranchKey;
use crate::git::refs;
use crate::session::live::Live;
use crate::state::State;
use crate::turn::context::Context;

/// A branch and its folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkout {
    pub branch: String,
    pub key: BranchKey,
}

/// The branch that is checked out; `None` where branches are turned off.
pub fn current<'s>(state: &'s State, context: &Context) -> Option<&'s Checkout> {
    if context.settings.systems.branches { find(state, context) } else { None }
}

/// Whether any branch has a folder: looked for once.
struct HasFolders(bool);

fn has_folders(state: &State) -> bool {
    let look = || keep_planted(state, state.source().has_folder(BRANCHES)).unwrap_or(false);
    state.derive(|| HasFolders(look())).0
}

/// The branch that is checked out, where branches have folders: where none has anything, nobody
/// asks git.
pub fn among_folders<'s>(state: &'s State, context: &Context) -> Option<&'s Checkout> {
    if !context.settings.systems.branches || !has_folders(state) {
        return None;
    }
    find(state, context)
}

/// The branch that is checked out, and its state if it has one.
pub fn with_state<'s>(
    state: &'s State,
    context: &Context,
) -> Option<(&'s Checkout, &'s BranchState)> {
    let checkout = among_folders(state, context)?;
    Some((checkout, state.get_by::<BranchState>(&checkout.key)?))
}

/// The branch that is checked out, for who wants its agents: they themselves say whose they are, so
/// nobody has to look into the branch's state for that.
pub fn with_agents<'s>(state: &'s State, context: &Context) -> Option<&'s Checkout> {
    if !context.settings.systems.branches {
        return None;
    }
    let by_agents = || {
        let branch = refs::branch_name(&context.facts.git());
        let key = BranchKey::from_branch(&branch);
        let owner = state.get_by::<BranchAgents>(&key)?.branch.as_ref();
        (owner == Some(&branch)).then_some(Checkout { branch, key })
    };
    state.derive(|| by_agents().or_else(|| look(state, context))).as_ref()
}

/// The branch that is checked out, if somebody wanted to know before.
pub fn already_read<'s>(state: &'s State) -> Option<&'s Checkout> {
    state.derived::<Option<Checkout>>()?.as_ref()
}

fn find<'s>(state: &'s State, context: &Context) -> Option<&'s Checkout> {
    state.derive(|| look(state, context)).as_ref()
}

/// Where somebody planted something in the place of our folders the branch has no documents for
/// this event, and the user is told; the session's own go on.
fn look(state: &State, context: &Context) -> Option<Checkout> {
    let branch = refs::branch_name(&context.facts.git());
    let key = keep_planted(state, folder(&branch, state, context))?;
    Some(Checkout { branch, key })
}

fn folder(branch: &str, state: &State, context: &Context) -> Result<BranchKey> {
    let root = Path::new(&context.root);
    find_key(state.source(), branch, |owner| context.facts.has_branch(root, owner))
}

fn keep_planted<T>(state: &State, result: Result<T>) -> Option<T> {
    match result {
        Err(error @ Error::Planted { .. }) => {
            state.remark(format!("{BRANCHES}/{error}"), format!("HookKeeper: {error}."));
            None
        }
        other => state.keep_error(other),
    }
}

/// The folder of the branch whose loop a session drives, else of the one that is checked out.
#[derive(Clone, Debug)]
struct LoopKey(Option<BranchKey>);

/// The state of the branch whose loop a session drives, else of the one that is checked out.
pub fn of_loop<'s>(
    own: Option<&Live>,
    state: &'s State,
    context: &Context,
) -> Option<(&'s BranchKey, &'s BranchState)> {
    if !has_folders(state) {
        return None;
    }
    let driven = own.and_then(|live| live.loop_branch.as_deref()).and_then(BranchKey::known);
    let key = || driven.or_else(|| find(state, context).map(|checkout| checkout.key.clone()));
    let key = state.derive(|| LoopKey(key())).0.as_ref()?;
    Some((key, state.get_by::<BranchState>(key)?))
}
