//! A branch's state and the sessions around it, for the commands of its loop.

use anyhow::{Context as _, bail};

use super::standing;
use crate::Outcome;
use crate::books::branch::{BranchLoop, BranchState};
use crate::books::live::Live;
use crate::cli::acting::{absence, ended_as, must_act_for, must_be_free, take_over};
use crate::cli::{Project, read_document};
use crate::facts::git;
use crate::hooks::drive::Name;
use crate::hooks::session_record;
use crate::id::BranchKey;
use crate::loops::branch::Driven;
use crate::loops::governor::Loop as _;
use crate::plan::Plan;
use crate::state::{Document, NoFiles, State};
use crate::store::branches::find_key;

pub struct Here<'a> {
    pub state: BranchState,
    pub around: &'a State<'a>,
    key: BranchKey,
}

impl<'a> Here<'a> {
    /// A branch of which nothing is known yet.
    fn fresh(branch: String, key: BranchKey, around: &'a State<'a>) -> Self {
        let state = BranchState { branch, ..BranchState::default() };
        Self { state, around, key }
    }

    pub fn driven(&self) -> anyhow::Result<Driven> {
        Ok(Driven {
            the_loop: self.state.the_loop.clone().context("there is no loop")?,
            branch: self.state.branch.clone(),
            file: BranchState::doc(&self.key).path(),
            elsewhere: None,
        })
    }

    pub fn the_loop(&mut self) -> anyhow::Result<&mut BranchLoop> {
        self.state.the_loop.as_mut().context("there is no loop")
    }

    pub fn owner(&self) -> Option<String> {
        self.state.the_loop.as_ref()?.session_id.clone()
    }

    pub fn must_run(&self) -> anyhow::Result<()> {
        match &self.state.the_loop {
            _ if self.state.running().is_some() => Ok(()),
            Some(_) => bail!(
                "the loop of branch {} has ended; `hookkeeper branch loop resume` goes on with one that is not complete",
                self.state.branch
            ),
            None => bail!(
                "branch {} has no loop; `hookkeeper branch loop start PROMPT` starts one",
                self.state.branch
            ),
        }
    }

    pub fn must_be_own(&self, session: Option<&str>) -> anyhow::Result<()> {
        let title = || self.driven().map_or_else(|_| "loop".into(), |driven| driven.title());
        must_act_for(session, self.owner().as_deref(), title)
    }

    /// One session drives one loop, and one of all branches' loops.
    pub fn refuse_a_second(&self, session: &str) -> anyhow::Result<()> {
        must_be_free(session, self.around, Name::Branch)?;
        let live = self.around.get_by::<Live>(session);
        match live.and_then(|live| live.loop_branch.as_deref()) {
            Some(other) if other != self.key.as_str() => bail!(
                "session {session} drives the loop of branch {other}: `{} --session {session}` ends it",
                Name::Branch.cancel()
            ),
            _ => Ok(()),
        }
    }

    /// Who goes on with the loop of a session that is gone drives it from now on.
    pub fn take_over(&mut self, session: Option<&str>) -> anyhow::Result<()> {
        let mut owner = self.owner();
        take_over(&mut owner, session, self.around);
        self.the_loop()?.session_id = owner;
        Ok(())
    }

    pub fn absence(&self) -> String {
        absence(self.owner().as_deref(), self.around, "hookkeeper branch loop adopt")
    }

    /// Whether a session takes itself for the one that drives it.
    pub fn is_believed(&self) -> bool {
        let mut lives = self.around.all::<Live>();
        lives.any(|live| live.loop_branch.as_deref() == Some(self.key.as_str()))
    }
}

/// The state that is meant: that of the branch whose folder this is, unless none was named and the
/// loop is [`elsewhere`]. `None` if there is no such document yet.
fn meant<'a>(
    mut here: Here<'a>,
    is_named: bool,
    session: Option<&str>,
) -> anyhow::Result<(Here<'a>, Option<BranchState>)> {
    let load = |key: &BranchKey| here.around.get_by::<BranchState>(key).cloned();
    let mut found = load(&here.key);
    if !is_named && let Some(key) = elsewhere(session, here.around, &here.key, found.as_ref()) {
        found = load(&key);
        here.state.branch = key.as_str().to_owned();
        here.key = key;
    }
    here.state = found.clone().unwrap_or(here.state);
    Ok((here, found))
}

/// The folder that is meant where no branch was named: that of the loop that the session drives,
/// wherever the checkout is by now; else that of the branch that is checked out. Where that one has
/// no loop and a single session drives one, it is that.
fn elsewhere(
    session: Option<&str>,
    around: &State,
    key: &BranchKey,
    state: Option<&BranchState>,
) -> Option<BranchKey> {
    let own = session.and_then(|id| around.get_by::<Live>(id)?.loop_branch.as_deref());
    let mut all = around.all::<Live>().filter_map(|live| live.loop_branch.as_deref());
    let has_loop = state.is_some_and(|state| state.the_loop.is_some());
    let only = all.next().filter(|_| all.next().is_none() && !has_loop);
    own.or(only).and_then(BranchKey::known).filter(|driven| driven != key)
}

/// For reading: without the lock, and nothing is made.
pub fn look<T>(
    project: &Project,
    named: Option<&str>,
    session: Option<&str>,
    work: impl FnOnce(Here) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let root = project.root()?;
    let branch = standing::name(project, named)?;
    let Some(view) = project.view()? else {
        let key = BranchKey::of(&branch);
        return work(Here::fresh(branch, key, &State::new(&NoFiles)));
    };
    let around = view.state();
    let key = view.branch_key(&branch, &root)?;
    let (here, _) = meant(Here::fresh(branch, key, &around), named.is_some(), session)?;
    // One that is there and cannot be read is an error with its name.
    read_document::<BranchState>(&view, &here.key)?;
    work(here)
}

/// For changing, under the lock.
pub fn change(
    project: &Project,
    named: Option<&str>,
    session: Option<&str>,
    work: impl FnOnce(&mut Here) -> anyhow::Result<Outcome>,
) -> anyhow::Result<(Outcome, BranchState)> {
    let root = project.root()?;
    project.change(|store, around| {
        let branch = standing::name(project, named)?;
        let key = find_key(store, &branch, |owner| git::has_branch(&root, owner))?;
        let here = Here::fresh(branch, key, around);
        let (mut here, before) = meant(here, named.is_some(), session)?;
        around.check()?;
        let read = around.read::<BranchState>(&here.key);
        if read.is_frozen() {
            bail!(
                "{} cannot be changed: it cannot be read, or is of a newer version (`hookkeeper validate` says why)",
                read.doc().path()
            );
        }
        let done = work(&mut here)?;
        let Here { state, key, .. } = here;
        let mut plan = Plan::default();
        if before.as_ref() != Some(&state) && (before.is_some() || state.the_loop.is_some()) {
            plan.put(&read, &state);
        }
        let was_running = before.as_ref().is_some_and(|before| before.running().is_some());
        if let (true, Some(the_loop)) = (was_running, &state.the_loop)
            && let (Some(verdict), Some(owner)) = (&the_loop.verdict, &the_loop.session_id)
            && session != Some(owner)
        {
            // Its session hears of it with the next event that can say so.
            let title = format!("loop of branch {}", state.branch);
            let text = ended_as(&title, verdict, the_loop.verdict_reason.as_deref());
            let at = the_loop.verdict_at.as_deref().unwrap_or_default();
            store.remark(format!("loop {at}"), text);
        }
        note_driver(&mut plan, around, &state, &key);
        store.commit(&plan.changes, around)?;
        Ok((done, state))
    })
}

/// The session that drives it knows where it is, and one that does not any more forgets it.
fn note_driver(plan: &mut Plan, around: &State, state: &BranchState, key: &BranchKey) {
    let owner = state.running().and_then(|the_loop| the_loop.session_id.clone());
    let mut lives: Vec<Live> = around.all::<Live>().cloned().collect();
    let mut is_changed = false;
    for live in &mut lives {
        let drives = owner.as_ref() == Some(&live.session_id);
        let had = live.loop_branch.as_deref() == Some(key.as_str());
        if drives == had {
            continue;
        }
        live.loop_branch = drives.then(|| key.as_str().to_owned());
        if had {
            let ended = state.the_loop.as_ref().and_then(|the_loop| the_loop.verdict.clone());
            live.loop_verdict = ended.or(live.loop_verdict.take());
        }
        plan.put(&around.read::<Live>(&live.session_id), live);
        is_changed = true;
    }
    if is_changed {
        session_record::put_copies(plan, lives.iter(), around);
    }
}
