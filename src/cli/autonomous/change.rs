//! The loop's file and what we remember of it, changed together under the lock.

use anyhow::{Context as _, bail};

use crate::books::autonomous::Autonomous;
use crate::books::watched::Watched;
use crate::cli::Project;
use crate::cli::acting::{absence, ended_as, must_act_for, must_be_free};
use crate::facts::files;
use crate::gather;
use crate::hooks::{desk, drive};
use crate::loops::autonomous::words::title;
use crate::loops::autonomous::{Driven, watch};
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::store::layout::Doc;
use crate::store::{Store, home, is_newer};

/// Which is written first: the loop's file, or what we remember of it. A kill in between leaves the
/// loop where it was: a phase is left when the file says so, a person's approval counts when it is
/// remembered.
#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    LoopFirst,
    MemoryFirst,
}

/// The loop and the sessions around it, under the lock.
pub struct Here {
    pub state: Option<Autonomous>,
    /// The same, as we remember it.
    pub watched: Option<Watched>,
    pub snapshot: Snapshot,
    /// What is wrong with a phase that was moved by hand.
    pub fault: Option<String>,
    /// A live session that drove it, and does not any more.
    left: Option<String>,
    /// Whether the old file is kept.
    aside: bool,
}

impl Here {
    /// The loop, whether it runs or not, if it is this session's to act for.
    pub fn own(&mut self, session: Option<&str>) -> anyhow::Result<&mut Autonomous> {
        let state = self.state.as_mut().context(
            "there is no autonomous loop; `hookkeeper autonomous start FEATURE` starts one",
        )?;
        must_act_for(session, state.session_id.as_deref(), || title(state))?;
        Ok(state)
    }

    pub fn running(&mut self, session: Option<&str>) -> anyhow::Result<&mut Autonomous> {
        let state = self.own(session)?;
        if let Some(verdict) = &state.verdict {
            bail!(
                "the loop has ended ({verdict}); `hookkeeper autonomous resume` goes on with one that is not complete"
            );
        }
        Ok(state)
    }

    /// What to say of an owner that is not there to go on.
    pub fn absence(&self) -> String {
        absence(self.owner().as_deref(), &self.snapshot, "hookkeeper autonomous adopt")
    }

    /// The session that drove it hears that it does not any more.
    pub fn leave(&mut self, before: Option<String>) {
        self.left = before.filter(|id| self.snapshot.lives.contains_key(id));
    }

    pub fn owner(&self) -> Option<String> {
        self.state.as_ref()?.session_id.clone()
    }

    /// Another loop takes the place of this one, which is kept where resets keep things.
    pub fn set_aside(&mut self) {
        self.watched = None;
        self.aside = self.state.is_some();
    }

    /// One session drives one loop.
    pub fn must_be_free(&self, session: &str) -> anyhow::Result<()> {
        must_be_free(session, &self.snapshot, drive::Name::Autonomous)
    }
}

pub fn change<T>(
    project: &Project,
    order: Order,
    work: impl FnOnce(&mut Here) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let root = project.root()?;
    project.change(|store| {
        let mut snapshot = Snapshot::default();
        gather::copies(&mut snapshot, store)?;
        gather::loops(&mut snapshot, store)?;
        must_be_changeable(store)?;
        let before = snapshot.autonomous.clone();
        if let Some(state) = &before {
            let places = [Some(root), project.process.cwd()].into_iter().flatten();
            snapshot.artifacts = files::present(&places.collect::<Vec<_>>(), state.documents());
        }
        let now = project.process.now();
        let held = before.as_ref().map(|state| drive::autonomous::hold(&snapshot, state, now));
        let (held, fault) = held.map_or((None, None), |(held, fault)| (Some(held), fault));
        let state = held.as_ref().map(|held| held.state.clone());
        let watched = held.as_ref().map(|held| held.watched.clone());
        let mut here = Here { state, watched, snapshot, fault, left: None, aside: false };
        let done = work(&mut here)?;
        let Here { state, watched, mut snapshot, left, aside, .. } = here;
        let Some(state) = state.as_ref().filter(|state| Some(*state) != before.as_ref()) else {
            return Ok(done);
        };
        // Another loop's memory is of no use.
        let watched = watched.filter(|seen| seen.is_of(state));
        let present = std::mem::take(&mut snapshot.artifacts);
        let seen = match watched {
            Some(watched) => Driven { state: state.clone(), watched, present }.seen(),
            None => watch(state),
        };
        if aside {
            store.keep_beside(&Doc::Autonomous.file())?;
        }
        let mut plan = Plan::default();
        if order == Order::MemoryFirst {
            plan.put(Doc::Watched, &seen);
        }
        plan.put(Doc::Autonomous, state);
        if order == Order::LoopFirst {
            plan.put(Doc::Watched, &seen);
        }
        if let (Some(left), Some(now)) = (left, &state.session_id) {
            let text = format!(
                "HookKeeper: the {} is now driven by session {now}, not by {left}.",
                title(state)
            );
            store.remarks.push((format!("loop left {left} {now}"), text));
        }
        let ended = before.is_none_or(|before| before.is_running());
        drive::autonomous::note(&mut plan, &mut snapshot, state, ended);
        desk::put_copies(&mut plan, &snapshot, snapshot.lives.values());
        if let (true, Some(verdict)) = (ended, &state.verdict) {
            // Its session hears of it with the next event that can say so.
            let text = ended_as(&title(state), verdict, state.verdict_reason.as_deref());
            let at = state.verdict_at.as_deref().unwrap_or_default();
            store.remarks.push((format!("loop {at}"), text));
        }
        store.commit(&plan.changes)?;
        Ok(done)
    })
}

/// The loop, for reading.
pub fn read(project: &Project) -> anyhow::Result<Option<Autonomous>> {
    let (root, home) = (project.root()?, project.process.home());
    let Some(claude) = home::existing_claude_dir(&root, home.as_deref())? else { return Ok(None) };
    let Some(bytes) = claude.read(&Doc::Autonomous.file())? else { return Ok(None) };
    let name = Doc::Autonomous.path();
    match Autonomous::parse(&bytes) {
        _ if is_newer(&bytes, Doc::Autonomous.version()) => {
            bail!("{name} was written by a newer version")
        }
        Ok(state) => Ok(Some(state)),
        Err(why) => bail!("{name} cannot be read ({why})"),
    }
}

/// A file that is not ours, or cannot be read, is not touched.
fn must_be_changeable(store: &Store) -> anyhow::Result<()> {
    if !store.frozen.contains(&Doc::Autonomous) {
        return Ok(());
    }
    let name = Doc::Autonomous.path();
    let why = store.remarks.iter().find(|(_, text)| text.contains(&name));
    let why = why.map_or("it cannot be read", |(_, text)| text);
    bail!("{}", why.trim_start_matches("HookKeeper: "))
}
