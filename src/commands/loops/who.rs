//! For whom a command acts.

use anyhow::bail;

use crate::commands::loops::LoopCommand;
use crate::console::project::{Project, one_of};
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::session::record::is_live;
use crate::state::State;

/// For whom a command acts.
#[derive(clap::Args)]
pub struct Who {
    /// The session (default: the one that runs the command)
    #[arg(long, value_name = "ID", global = true)]
    session: Option<String>,
}

impl Who {
    /// The session that is named, by its id or the beginning of it; else the one that runs the
    /// command. One that nobody knows is refused.
    pub fn id(&self, project: &Project) -> anyhow::Result<Option<String>> {
        let Some(named) = &self.session else {
            return Ok(project.process.env("CLAUDE_CODE_SESSION_ID"));
        };
        let known = project.view()?.map(|view| known_sessions(&view.state())).unwrap_or_default();
        one_of(named, &known, "session", "").map(Some)
    }

    pub fn command<'a>(&self, project: &'a Project<'a>) -> anyhow::Result<LoopCommand<'a>> {
        let session = self.id(project)?;
        Ok(LoopCommand { project, session, now: project.process.now(), is_start: false })
    }
}

/// The sessions that live, and those that have ended, as far as they are remembered.
fn known_sessions(state: &State) -> Vec<String> {
    let mut known: Vec<String> = state.all::<Live>().map(|live| live.session_id.clone()).collect();
    let ended = state.get::<Metrics>().map(|metrics| metrics.newest(usize::MAX));
    known.extend(ended.into_iter().flatten().map(|entry| entry.session_id));
    known
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
