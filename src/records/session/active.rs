//! `agents/active.json`: the running agents of all live sessions, a copy of their records.

use serde::{Deserialize, Serialize};

use crate::agents::agent::Agent;
use crate::core::text::Extra;
use crate::session::current::latest;
use crate::session::live::Live;
use crate::state::{Row, document};

/// The running agents of all live sessions: a copy of what their records say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = [
    "agents", "total_spawned", "total_completed", "session_id"
])))]
pub struct Active {
    pub agents: Vec<Agent>,
    /// Agents of all live sessions so far, those that run included.
    pub total_spawned: u64,
    pub total_completed: u64,
    /// The session of `session/current.json`.
    pub session_id: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Active {
    /// The copy of the live records; what `before` held that we do not know stays.
    pub fn from_records<'a>(
        lives: impl Iterator<Item = &'a Live> + Clone,
        before: Option<&Self>,
    ) -> Self {
        let mut agents: Vec<Agent> = lives.clone().flat_map(|live| live.agents.clone()).collect();
        agents.sort_by(|a, b| a.started.cmp(&b.started));
        for agent in &mut agents {
            let known = before.and_then(|old| old.agents.iter().find(|was| was.id == agent.id));
            for (key, value) in known.into_iter().flat_map(|was| &was.extra) {
                agent.extra.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        Self {
            agents,
            total_spawned: lives.clone().map(|live| live.agents_spawned).sum(),
            total_completed: lives.clone().map(|live| live.agents_completed).sum(),
            session_id: latest(lives).map(|live| live.session_id.clone()),
            extra: before.map(|old| old.extra.clone()).unwrap_or_default(),
        }
    }
}

document!(
    Active,
    Row {
        name: "active",
        path: "state/agents/active.json",
        schema: "active",
        title: "Running agents",
        about: "the running agents of all live sessions",
        ..Row::EPHEMERAL
    }
);
