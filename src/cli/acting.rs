//! For whom a command acts, and who drives a loop: what all kinds of loops have in common on the
//! command line.

use anyhow::bail;

use crate::books::live::Live;
use crate::hooks::drive::{self, Name};
use crate::hooks::session_record::is_live;
use crate::process::Process;
use crate::state::State;

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

/// The session that is named, or the only one that lives.
pub fn the_session(named: Option<String>, state: &State) -> anyhow::Result<String> {
    let mut lives = state.all::<Live>().map(|live| &live.session_id);
    match (named, lives.next(), lives.next()) {
        (Some(id), ..) if !is_live(&id, state) => {
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
pub fn must_be_free(session: &str, state: &State, kind: Name) -> anyhow::Result<()> {
    let other = drive::driven_by(session, state).into_iter().find(|(name, _)| *name != kind);
    match other {
        Some((name, title)) => {
            bail!("session {session} drives the {title}: `{}` ends it", name.cancel())
        }
        None => Ok(()),
    }
}

/// What to say of an owner that is not there to go on; `adopt` is the command that hands it on.
pub fn absence(owner: Option<&str>, state: &State, adopt: &str) -> String {
    match owner {
        Some(owner) if !is_live(owner, state) => format!(
            " Its session {owner} is not live: resume that one, or hand the loop to another with `{adopt}`."
        ),
        _ => String::new(),
    }
}

/// A live session that goes on with the loop of one that is gone drives it from now on.
pub fn take_over(owner: &mut Option<String>, session: Option<&str>, state: &State) {
    let is_live = |id: &str| is_live(id, state);
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

/// How a loop ended, for the session that drove it.
pub fn ended_as(title: &str, verdict: &str, why: Option<&str>) -> String {
    format!("HookKeeper: the {title} is {verdict}: {}.", why.unwrap_or_default())
}
