//! The loop of the work queue, as people and models drive it: `loop`, `queue`, `gate`.

pub mod gate;
pub mod items;
pub mod looping;

use anyhow::bail;

use super::Project;
use crate::books::queue::Queue;
use crate::gather;
use crate::hooks::drive::Name;
use crate::hooks::{desk, drive};
use crate::loops::queue::title;
use crate::plan::Plan;
use crate::process::Process;
use crate::snapshot::Snapshot;
use crate::store::layout::Doc;

/// For whom a command acts.
#[derive(clap::Args)]
pub struct Who {
    /// The session (default: the one that runs the command)
    #[arg(long, value_name = "ID", global = true)]
    session: Option<String>,
}

impl Who {
    pub fn id(&self, process: &Process) -> Option<String> {
        self.session.clone().or_else(|| process.env("CLAUDE_CODE_SESSION_ID"))
    }
}

/// Changes the queue under the lock, with what people read of it and what its session knows of it.
fn change<T>(
    project: &Project,
    work: impl FnOnce(&mut Queue, &Snapshot) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    project.change(|store| {
        let mut snapshot = Snapshot::default();
        gather::copies(&mut snapshot, store)?;
        gather::loops(&mut snapshot, store)?;
        snapshot.loop_state = store.load(&Doc::LoopState, gather::text)?;
        if store.frozen.contains(&Doc::Queue) {
            let why = store.remarks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>();
            bail!("{}", why.join(" ").trim_start_matches("HookKeeper: "));
        }
        let before = snapshot.queue.clone();
        let mut queue = before.clone().unwrap_or_default();
        let done = work(&mut queue, &snapshot)?;
        if before.as_ref() == Some(&queue) {
            return Ok(done);
        }
        let mut plan = Plan::default();
        match queue.status.as_str() {
            "none" => plan.put(Doc::Queue, &queue),
            _ => drive::queue::put(&mut plan, &queue, snapshot.loop_state.as_deref()),
        }
        let was = before.and_then(|before| before.verdict);
        let ended = queue.verdict.is_some() && was.is_none();
        let owner = queue.session_id.clone().unwrap_or_default();
        if let (true, Some(verdict)) = (ended, &queue.verdict) {
            // Its session hears of it with the next event that can say so.
            let why = queue.verdict_reason.as_deref().unwrap_or_default();
            let text = format!("HookKeeper: the {} is {verdict}: {why}.", title(&queue));
            let at = queue.verdict_at.as_deref().unwrap_or_default();
            store.remarks.push((format!("loop {at}"), text));
        }
        if let (true, Some(live)) = (queue.verdict != was, snapshot.lives.get_mut(&owner)) {
            live.loop_verdict.clone_from(&queue.verdict);
            plan.put(Doc::live(&owner), live);
            desk::put_copies(&mut plan, &snapshot, snapshot.lives.values());
        }
        store.commit(&plan.changes)?;
        Ok(done)
    })
}

/// The queue, for reading.
fn read(project: &Project) -> anyhow::Result<Queue> {
    Ok(project.document("loop/work_queue.json")?.unwrap_or_default())
}

/// The session that is named, or the only one that lives.
pub fn the_session(named: Option<String>, snapshot: &Snapshot) -> anyhow::Result<String> {
    let mut lives = snapshot.lives.keys();
    match (named, lives.next(), lives.next()) {
        (Some(id), ..) if !snapshot.lives.contains_key(&id) => {
            bail!("session {id} is not live (hookkeeper sessions)")
        }
        (Some(id), ..) => Ok(id),
        (None, Some(id), None) => Ok(id.clone()),
        (None, None, _) => bail!("no session is live; name one: --session ID"),
        _ => bail!("several sessions are live; name one: --session ID (hookkeeper sessions)"),
    }
}

/// A command that a model runs acts for its session; a person's acts for all.
pub fn must_act_for(
    session: Option<&str>,
    owner: Option<&str>,
    title: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match (session, owner) {
        (Some(own), Some(owner)) if own != owner => {
            bail!("the {} is driven by session {owner}; to act for it: --session {owner}", title())
        }
        _ => Ok(()),
    }
}

/// One session drives one loop; this is the kind that it is about to drive.
pub fn must_be_free(session: &str, snapshot: &Snapshot, kind: Name) -> anyhow::Result<()> {
    let other = drive::driven_by(session, snapshot).into_iter().find(|(name, _)| *name != kind);
    match other {
        Some((name, title)) => {
            bail!("session {session} drives the {title}: `{}` ends it", name.cancel())
        }
        None => Ok(()),
    }
}

/// What to say of an owner that is not there to go on; `adopt` is the command that hands it on.
pub fn absence(owner: Option<&str>, snapshot: &Snapshot, adopt: &str) -> String {
    match owner {
        Some(owner) if !snapshot.lives.contains_key(owner) => format!(
            " Its session {owner} is not live: resume that one, or hand the loop to another with `{adopt}`."
        ),
        _ => String::new(),
    }
}

/// A live session that goes on with the loop of one that is gone drives it from now on.
pub fn take_over(owner: &mut Option<String>, session: Option<&str>, snapshot: &Snapshot) {
    let is_live = |id: &str| snapshot.lives.contains_key(id);
    if let Some(id) = session.filter(|id| is_live(id))
        && owner.as_deref().is_none_or(|owner| !is_live(owner))
    {
        *owner = Some(id.to_owned());
    }
}

/// Who drives a loop that has just been started.
pub fn driver(owner: Option<&str>) -> String {
    match owner {
        Some(id) => format!("session {id}"),
        None => "the next session here, if it is the only one".into(),
    }
}
