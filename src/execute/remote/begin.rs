//! A task of a shared execution that is begun here: its claim, and room for its branch.

use crate::execute::document::{ClaimState, TaskStatus};
use crate::execute::remote::contact::{Coordination, NewClaim};
use crate::execute::remote::push::{Pushed, Update};
use crate::execute::remote::wire::{Trouble, earlier_ref, work_ref};
use crate::execute::{Correction, Result, task_branch, worktree, worktree_status};

impl Coordination<'_> {
    /// Claims a task that the state has as begun. Without an answer, one that this clone has had goes
    /// on. What is said of earlier work on the remote, if the attempt does not begin at it.
    pub fn claim_begun(&self, id: &str, onto: &str) -> Result<Option<Correction>> {
        let state = self.folder.load()?;
        let task = state.task(id)?;
        let had = task.remote.as_ref().is_some_and(|seen| seen.is_own(ClaimState::Held));
        match self.hold(id, task.attempts) {
            Err(_) if had && self.read().is_err() => Ok(None),
            Err(error) => Err(error),
            Ok(kept) => Ok(kept.filter(|kept| kept.to != onto).map(|kept| {
                let text = format!(
                    "this attempt begins without the work that was pushed before; {} keeps it as {}",
                    self.remote.name, kept.name
                );
                Correction { id: id.to_owned(), text }
            })),
        }
    }

    /// The step that gives the work on the remote a name of its own: the next push of work would take
    /// its place. To be pushed with the claim that begins something new.
    pub fn keep_earlier(&self, id: &str) -> std::result::Result<Option<Update>, Trouble> {
        let execution = &self.remote.execution;
        let refs = self.wire().read_refs(&[work_ref(execution, id)])?;
        Ok(refs.into_values().next().map(|commit| Update {
            name: earlier_ref(execution, id, &commit),
            expected: None,
            to: commit,
        }))
    }

    /// A branch that is here is gone on with only if it is what the last claim speaks of; else it gets
    /// another name, which is said.
    pub fn set_aside(&self, id: &str) -> Result<Option<Correction>> {
        let state = self.folder.load()?;
        let task = state.task(id)?;
        let branch = task_branch(id);
        let Some(tip) = self.repository.branch_tip(&branch)? else { return Ok(None) };
        let head = task.remote.as_ref().and_then(|seen| seen.head.as_ref());
        let is_own = task.remote.as_ref().is_some_and(|seen| seen.own);
        let goes_on = match head {
            Some(head) => self.repository.contains(&tip, head)?,
            None => is_own,
        };
        if goes_on && task.status == TaskStatus::Failed || task.status.is_running() {
            return Ok(None);
        }
        let locked = self.repository.lock()?;
        let place = state.worktree_path(id);
        if let Some(status) = worktree_status::inspect(&locked, &place, id)?
            && let Some(why) = status.uncommitted(task)
        {
            refuse!("{id} was worked on here before: {why}; commit it or remove it first");
        }
        let base = self.repository.effective_base(&state)?;
        let aside = format!("set-aside/{branch}-{}", tip.get(..12).unwrap_or(&tip));
        let is_ahead = !self.repository.contains(&base, &tip)?;
        if is_ahead {
            locked.change(&["branch", "--force", &aside, &tip])?;
        }
        worktree::remove(&locked, id, Some(&place))?;
        let text = format!("what was done here before is kept on branch {aside}");
        Ok(is_ahead.then(|| Correction { id: id.to_owned(), text }))
    }

    /// Gives back all that this clone works on; what is said of what did not arrive.
    pub fn give_all_back(&self) -> Result<String> {
        // Whatever the remote has now: who takes everything away must be able to.
        if let Err(error) = self.sync_if_reachable() {
            return Ok(format!(" {} was not told: {error}.", self.remote.name));
        }
        let state = self.folder.load()?;
        let mut left = Vec::new();
        for (id, task) in &state.tasks {
            let Some(seen) = task.remote.as_ref().filter(|s| s.is_own(ClaimState::Held)) else {
                continue;
            };
            let attempts = seen.attempts.saturating_sub(1);
            let head = seen.head.clone();
            let free = NewClaim { state: ClaimState::Free, attempts, head, ..NewClaim::default() };
            if self.move_claim(id, &free, Vec::new())? != Pushed::Done {
                left.push(id.as_str());
            }
        }
        Ok(match left.is_empty() {
            true => String::new(),
            false => format!(
                " {} was not told of {}; others take them over after a lease.",
                self.remote.name,
                left.join(", ")
            ),
        })
    }

    /// All that a clone that was away or killed has to put right with the remote.
    pub fn reconcile(&self) -> Result<Vec<Correction>> {
        let (mut notes, away) = self.sync_if_reachable()?;
        match away {
            None => notes.extend(self.settle(true)?),
            Some(why) => {
                let text = format!("{why}; only what git has here was looked at");
                notes.push(Correction { id: self.remote.name.clone(), text });
            }
        }
        Ok(notes)
    }
}
