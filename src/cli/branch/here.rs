//! A branch's state and the sessions around it, for the commands of its loop.

use anyhow::{Context as _, bail};

use super::standing;
use crate::Outcome;
use crate::books::branch::{BranchLoop, BranchState};
use crate::cli::Project;
use crate::cli::acting::{absence, ended_as, must_act_for, must_be_free, take_over};
use crate::gather;
use crate::hooks::desk;
use crate::hooks::drive::Name;
use crate::id::BranchKey;
use crate::loops::branch::Driven;
use crate::loops::governor::Loop as _;
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::store::layout::Doc;

pub struct Here {
    pub state: BranchState,
    pub snapshot: Snapshot,
    key: BranchKey,
}

impl Here {
    /// A branch of which nothing is known yet.
    fn fresh(branch: String, key: BranchKey, snapshot: Snapshot) -> Self {
        let state = BranchState { branch, ..BranchState::default() };
        Self { state, snapshot, key }
    }

    pub fn driven(&self) -> anyhow::Result<Driven> {
        Ok(Driven {
            the_loop: self.state.the_loop.clone().context("there is no loop")?,
            branch: self.state.branch.clone(),
            file: Doc::Branch(self.key.clone()).path(),
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
        must_be_free(session, &self.snapshot, Name::Branch)?;
        let live = self.snapshot.lives.get(session);
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
        take_over(&mut owner, session, &self.snapshot);
        self.the_loop()?.session_id = owner;
        Ok(())
    }

    pub fn absence(&self) -> String {
        absence(self.owner().as_deref(), &self.snapshot, "hookkeeper branch loop adopt")
    }

    /// Whether a session takes itself for the one that drives it.
    pub fn is_believed(&self) -> bool {
        self.snapshot
            .lives
            .values()
            .any(|live| live.loop_branch.as_deref() == Some(self.key.as_str()))
    }
}

/// The state that is meant: that of the branch whose folder this is, unless none was named and the
/// loop is [`elsewhere`]. `None` if there is no such document yet.
fn meant(
    mut here: Here,
    is_named: bool,
    session: Option<&str>,
    mut load: impl FnMut(&BranchKey) -> anyhow::Result<Option<BranchState>>,
) -> anyhow::Result<(Here, Option<BranchState>)> {
    let mut found = load(&here.key)?;
    if !is_named && let Some(key) = elsewhere(session, &here.snapshot, &here.key, found.as_ref()) {
        found = load(&key)?;
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
    snapshot: &Snapshot,
    key: &BranchKey,
    state: Option<&BranchState>,
) -> Option<BranchKey> {
    let own = session.and_then(|id| snapshot.lives.get(id)?.loop_branch.as_deref());
    let mut all = snapshot.lives.values().filter_map(|live| live.loop_branch.as_deref());
    let has_loop = state.is_some_and(|state| state.the_loop.is_some());
    let only = all.next().filter(|_| all.next().is_none() && !has_loop);
    own.or(only).and_then(BranchKey::known).filter(|driven| driven != key)
}

/// For reading: without the lock, and nothing is made.
pub fn look(project: &Project, named: Option<&str>, session: Option<&str>) -> anyhow::Result<Here> {
    let root = project.root()?;
    let mut snapshot = Snapshot::default();
    let branch = standing::name(project, named)?;
    let Some(view) = project.view()? else {
        let key = BranchKey::of(&branch);
        return Ok(Here::fresh(branch, key, snapshot));
    };
    snapshot.lives = view.lives().into_iter().map(|live| (live.session_id.clone(), live)).collect();
    let key = view.branch_key(&branch, &root)?;
    let here = Here::fresh(branch, key, snapshot);
    Ok(meant(here, named.is_some(), session, |key| standing::state(&view, key))?.0)
}

/// For changing, under the lock.
pub fn change(
    project: &Project,
    named: Option<&str>,
    session: Option<&str>,
    work: impl FnOnce(&mut Here) -> anyhow::Result<Outcome>,
) -> anyhow::Result<(Outcome, BranchState)> {
    let root = project.root()?;
    project.change(|store| {
        let mut snapshot = Snapshot::default();
        gather::copies(&mut snapshot, store)?;
        gather::loops(&mut snapshot, store)?;
        let branch = standing::name(project, named)?;
        let key = store.branch_key(&branch, &root)?;
        let here = Here::fresh(branch, key, snapshot);
        let load = |key: &BranchKey| Ok(store.load(&Doc::Branch(key.clone()), gather::json)?);
        let (mut here, before) = meant(here, named.is_some(), session, load)?;
        let doc = Doc::Branch(here.key.clone());
        if store.frozen.contains(&doc) {
            bail!(
                "{} cannot be changed: it cannot be read, or is of a newer version (`hookkeeper validate` says why)",
                doc.path()
            );
        }
        let done = work(&mut here)?;
        let Here { state, mut snapshot, key } = here;
        let mut plan = Plan::default();
        if before.as_ref() != Some(&state) && (before.is_some() || state.the_loop.is_some()) {
            plan.put(doc, &state);
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
            store.remarks.push((format!("loop {at}"), text));
        }
        let noted = note_driver(&mut plan, &mut snapshot, &state, &key);
        if noted {
            desk::put_copies(&mut plan, &snapshot, snapshot.lives.values());
        }
        store.commit(&plan.changes)?;
        Ok((done, state))
    })
}

/// The session that drives it knows where it is, and one that does not any more forgets it.
fn note_driver(
    plan: &mut Plan,
    snapshot: &mut Snapshot,
    state: &BranchState,
    key: &BranchKey,
) -> bool {
    let owner = state.running().and_then(|the_loop| the_loop.session_id.clone());
    let mut noted = false;
    for live in snapshot.lives.values_mut() {
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
        plan.put(Doc::live(&live.session_id), live);
        noted = true;
    }
    noted
}
