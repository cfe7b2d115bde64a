//! The branch whose loop a command is about, and that loop.

use anyhow::bail;

use crate::branch::document::{BranchLoop, BranchState};
use crate::branch::folder::branch_key;
use crate::branch::folder::find_key;
use crate::commands::branch::standing;
use crate::commands::loops::{Before, LoopCommand, forget_loop};
use crate::console::project::read_document;
use crate::core::id::BranchKey;
use crate::git::refs;
use crate::loops::branch::rules::DrivenBranch;
use crate::loops::{Loop as _, LoopKind, left};
use crate::session::live::Live;
use crate::state::plan::Plan;
use crate::state::{NoFiles, State};
use crate::store::Store;

/// The loops of branches, for one command.
pub struct BranchLoops<'a> {
    pub command: &'a LoopCommand<'a>,
    pub named: Option<&'a str>,
}

/// A branch, its folder, and its loop if it has one.
pub struct Located {
    pub branch: String,
    pub key: BranchKey,
    pub driven: Option<DrivenBranch>,
}

impl Located {
    pub fn start(&mut self, the_loop: BranchLoop) -> &mut DrivenBranch {
        let (branch, key) = (self.branch.clone(), self.key.clone());
        self.driven.insert(DrivenBranch { the_loop, branch, key, elsewhere: None })
    }
}

impl BranchLoops<'_> {
    /// For reading: without the lock, and nothing is made.
    pub fn look(
        &self,
        work: impl FnOnce(&Located, &State) -> String,
    ) -> anyhow::Result<(String, Located)> {
        let project = self.command.project;
        let branch = standing::name(project, self.named)?;
        let Some(view) = project.view()? else {
            let located = Located { key: BranchKey::from_branch(&branch), branch, driven: None };
            return Ok((work(&located, &State::new(&NoFiles)), located));
        };
        let state = view.state();
        let key = branch_key(&view, &branch, &project.root()?)?;
        let located = self.locate(branch, key, &state);
        // One that is there and cannot be read is an error with its name.
        read_document::<BranchState>(&view, &located.key)?;
        Ok((work(&located, &state), located))
    }

    /// For changing, under the lock.
    pub fn change(
        &self,
        work: impl FnOnce(&mut Located, &State) -> anyhow::Result<String>,
    ) -> anyhow::Result<(String, Located)> {
        self.command.project.change(|store, state| {
            let mut located = self.locate_writable(store, state)?;
            if let Some(driven) = &mut located.driven {
                left::end_left(driven, state, self.command.now);
            }
            let before = located.driven.as_ref().map(|driven| Before::new(driven));
            let said = work(&mut located, state)?;
            if let Some(driven) = &located.driven {
                self.command.write(driven, before.as_ref(), store, state)?;
            }
            Ok((said, located))
        })
    }

    /// A loop that does not run, and that a session takes itself to drive: the session forgets it.
    pub fn forget(&self) -> anyhow::Result<Option<(String, Located)>> {
        self.command.project.change(|store, state| {
            let located = self.locate_writable(store, state)?;
            let mut plan = Plan::default();
            if located.driven.as_ref().is_some_and(|driven| driven.is_running())
                || !forget_loop(&mut plan, (LoopKind::Branch, located.key.as_str()), None, state)
            {
                return Ok(None);
            }
            store.commit(&plan.changes, state)?;
            let said = format!("The loop of branch {} is not running any more.", located.branch);
            Ok(Some((said, located)))
        })
    }

    fn locate_writable(&self, store: &Store, state: &State) -> anyhow::Result<Located> {
        let root = self.command.project.root()?;
        let branch = standing::name(self.command.project, self.named)?;
        let key = find_key(store, &branch, |owner| refs::has_branch(&root, owner))?;
        let located = self.locate(branch, key, state);
        state.check()?;
        let read = state.read::<BranchState>(&located.key);
        if read.is_frozen() {
            bail!(
                "{} cannot be changed: it cannot be read, or is of a newer version (`hookkeeper validate` says why)",
                read.doc().path()
            );
        }
        Ok(located)
    }

    /// The branch that is meant: the one that is named or checked out, unless none was named and the
    /// loop that the session drives is another branch's.
    fn locate(&self, mut branch: String, mut key: BranchKey, state: &State) -> Located {
        if let Some(other) = self.branch_of_driven_loop(&key, state) {
            branch = other.as_str().to_owned();
            key = other;
        }
        let found = state.get_by::<BranchState>(&key);
        // Files of other tools have the folder's name in them.
        let written = found.map(|found| &found.branch).filter(|name| **name != key.as_str());
        let branch = written.cloned().unwrap_or(branch);
        let mut driven =
            found.and_then(|found| crate::loops::branch::drive::load(&key, found, state));
        if let Some(driven) = &mut driven {
            driven.branch.clone_from(&branch);
        }
        Located { branch, key, driven }
    }

    /// The folder that is meant where no branch was named: that of the loop that the session drives,
    /// wherever the checkout is by now. Where the branch that is checked out has no loop and a single
    /// session drives one, it is that.
    fn branch_of_driven_loop(&self, key: &BranchKey, state: &State) -> Option<BranchKey> {
        if self.named.is_some() {
            return None;
        }
        let own = self.command.session.as_deref();
        let own = own.and_then(|id| state.get_by::<Live>(id)?.loop_branch.as_deref());
        let mut all = state.all::<Live>().filter_map(|live| live.loop_branch.as_deref());
        let here = state.get_by::<BranchState>(key);
        let has_loop = here.is_some_and(|here| here.the_loop.is_some());
        let only = all.next().filter(|_| all.next().is_none() && !has_loop);
        own.or(only).and_then(BranchKey::known).filter(|driven| driven != key)
    }
}
