//! The loop's file and the record of its session, changed together under the lock.

use anyhow::{Context as _, bail};

use crate::books::autonomous::Autonomous;
use crate::cli::Project;
use crate::cli::work::{must_act_for, must_be_free};
use crate::facts::files;
use crate::gather;
use crate::hooks::{desk, drive};
use crate::loops::autonomous::words::title;
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::store::layout::Doc;
use crate::store::{Store, home, is_newer};

/// Which of both is written first. A kill in between leaves the loop where it was: a phase is left
/// when the file says so, a person's approval counts when the session has noted it.
#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    LoopFirst,
    SessionFirst,
}

/// The loop and the sessions around it, under the lock.
pub struct Here {
    pub state: Option<Autonomous>,
    pub snapshot: Snapshot,
    /// What is wrong with a phase that was moved by hand.
    pub fault: Option<String>,
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

    pub fn owner(&self) -> Option<String> {
        self.state.as_ref()?.session_id.clone()
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
        let mut state = before.clone();
        let fault = state.as_mut().and_then(|state| {
            snapshot.artifacts = files::present(&root, state.documents());
            drive::autonomous::hold(&snapshot, state, project.process.now())
        });
        let mut here = Here { state, snapshot, fault };
        let done = work(&mut here)?;
        let Here { state, mut snapshot, .. } = here;
        let Some(state) = state.as_ref().filter(|state| Some(*state) != before.as_ref()) else {
            return Ok(done);
        };
        let mut plan = Plan::default();
        if order == Order::LoopFirst {
            plan.put(Doc::Autonomous, state);
        }
        drive::autonomous::note(&mut plan, &mut snapshot, state, before.as_ref());
        desk::put_copies(&mut plan, &snapshot, snapshot.lives.values());
        if order == Order::SessionFirst {
            plan.put(Doc::Autonomous, state);
        }
        let ended = before.is_none_or(|before| before.is_running());
        if let (true, Some(verdict)) = (ended, &state.verdict) {
            // Its session hears of it with the next event that can say so.
            let why = state.verdict_reason.as_deref().unwrap_or_default();
            let text = format!("HookKeeper: the {} is {verdict}: {why}.", title(state));
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
