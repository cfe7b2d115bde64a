//! The loop's file and what we remember of it, changed together under the lock.

use anyhow::{Context as _, bail};

use crate::books::autonomous::Autonomous;
use crate::books::live::Live;
use crate::books::watched::Watched;
use crate::cli::Project;
use crate::cli::acting::{absence, ended_as, must_act_for, must_be_free};
use crate::facts::files;
use crate::hooks::session_record::is_live;
use crate::hooks::{drive, session_record};
use crate::loops::autonomous::words::title;
use crate::loops::autonomous::{Driven, watch};
use crate::plan::Plan;
use crate::state::{Document, State, is_newer};
use crate::store::home;

/// Which is written first: the loop's file, or what we remember of it. A kill in between leaves the
/// loop where it was: a phase is left when the file says so, a person's approval counts when it is
/// remembered.
#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    LoopFirst,
    MemoryFirst,
}

/// The loop and the sessions around it, under the lock.
pub struct Here<'a> {
    pub state: Option<Autonomous>,
    /// The same, as we remember it.
    pub watched: Option<Watched>,
    pub around: &'a State<'a>,
    /// What is wrong with a phase that was moved by hand.
    pub fault: Option<String>,
    /// A live session that drove it, and does not any more.
    left: Option<String>,
    /// Whether the old file is kept.
    aside: bool,
}

impl Here<'_> {
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
        absence(self.owner().as_deref(), self.around, "hookkeeper autonomous adopt")
    }

    /// The session that drove it hears that it does not any more.
    pub fn leave(&mut self, before: Option<String>) {
        self.left = before.filter(|id| is_live(id, self.around));
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
        must_be_free(session, self.around, drive::Name::Autonomous)
    }
}

pub fn change<T>(
    project: &Project,
    order: Order,
    work: impl FnOnce(&mut Here) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let root = project.root()?;
    project.change(|store, around| {
        let read = around.read::<Autonomous>(&());
        // A file that is not ours, or cannot be read, is not touched.
        if let Some(why) = read.frozen() {
            bail!("{} {why}.", read.doc().path());
        }
        let before = read.value.cloned();
        let places = [Some(root), project.process.cwd()].into_iter().flatten().collect::<Vec<_>>();
        let names = before.as_ref().map(Autonomous::documents).unwrap_or_default();
        let artifacts = files::present(&places, names);
        let now = project.process.now();
        let hold = |found| drive::autonomous::hold(around, found, artifacts.clone(), now);
        let held = before.as_ref().map(hold);
        let (held, fault) = held.map_or((None, None), |(held, fault)| (Some(held), fault));
        let state = held.as_ref().map(|held| held.state.clone());
        let watched = held.as_ref().map(|held| held.watched.clone());
        let mut here = Here { state, watched, around, fault, left: None, aside: false };
        let done = work(&mut here)?;
        let Here { state, watched, left, aside, .. } = here;
        let Some(state) = state.as_ref().filter(|state| Some(*state) != before.as_ref()) else {
            return Ok(done);
        };
        // Another loop's memory is of no use.
        let watched = watched.filter(|seen| seen.is_of(state));
        let seen = match watched {
            Some(watched) => Driven { state: state.clone(), watched, present: artifacts }.seen(),
            None => watch(state),
        };
        if aside {
            store.keep_beside(&read.doc().below_claude())?;
        }
        let mut plan = Plan::default();
        if order == Order::MemoryFirst {
            plan.put(&around.read::<Watched>(&()), &seen);
        }
        plan.put(&read, state);
        if order == Order::LoopFirst {
            plan.put(&around.read::<Watched>(&()), &seen);
        }
        if let (Some(left), Some(now)) = (left, &state.session_id) {
            let text = format!(
                "HookKeeper: the {} is now driven by session {now}, not by {left}.",
                title(state)
            );
            store.remark(format!("loop left {left} {now}"), text);
        }
        let ended = before.is_none_or(|before| before.is_running());
        let owner = state.session_id.as_deref().and_then(|id| around.get_by::<Live>(id));
        if let Some(mut live) = owner.filter(|_| ended != state.is_running()).cloned() {
            live.loop_verdict.clone_from(&state.verdict);
            session_record::put_with_copies(&mut plan, &live, around);
        }
        if let (true, Some(verdict)) = (ended, &state.verdict) {
            // Its session hears of it with the next event that can say so.
            let text = ended_as(&title(state), verdict, state.verdict_reason.as_deref());
            let at = state.verdict_at.as_deref().unwrap_or_default();
            store.remark(format!("loop {at}"), text);
        }
        store.commit(&plan.changes, around)?;
        Ok(done)
    })
}

/// The loop, for reading.
pub fn read(project: &Project) -> anyhow::Result<Option<Autonomous>> {
    let (root, home) = (project.root()?, project.process.home());
    let Some(claude) = home::existing_claude_dir(&root, home.as_deref())? else { return Ok(None) };
    let Some(bytes) = claude.read(&Autonomous::doc(&()).below_claude())? else { return Ok(None) };
    let doc = Autonomous::doc(&());
    let name = doc.path();
    match Autonomous::parse(&bytes) {
        _ if is_newer(&bytes, doc.row.version) => {
            bail!("{name} was written by a newer version")
        }
        Ok(state) => Ok(Some(state)),
        Err(why) => bail!("{name} cannot be read ({why})"),
    }
}
