//! Which session waits for a person, and for what. The client says so by the type of a notification;
//! the next event of the session says that somebody has answered.

use serde::{Deserialize, Serialize};

use crate::core::event::Event;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;
use crate::session::live::Live;

/// That a session waits for a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["type", "since"])))]
pub struct Waiting {
    /// The notification's type: `permission_prompt`, `idle_prompt`, …
    #[serde(rename = "type")]
    pub kind: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub since: String,
    #[serde(flatten)]
    pub extra: Extra,
}

const IDLE: &str = "idle_prompt";

/// What a notification of this type says that a person is waited for with; `None` if it only tells
/// something. The client has a dozen types and may have more: new ones are known by their form.
pub fn awaited(kind: &str) -> Option<&'static str> {
    match kind {
        "permission_prompt" | "worker_permission_prompt" => Some("your permission"),
        IDLE => Some("your next prompt"),
        "agent_needs_input" => Some("your answer to an agent"),
        _ if kind.ends_with("_prompt") || kind.ends_with("_dialog") => Some("your answer"),
        _ if kind.ends_with("_needs_input") => Some("your answer"),
        _ => None,
    }
}

impl Waiting {
    pub fn awaits(&self) -> &'static str {
        awaited(&self.kind).unwrap_or("you")
    }
}

impl Live {
    /// Begins to wait; one that has waited for the same goes on.
    pub fn begin_waiting(&mut self, kind: &str, now: String) {
        if self.waiting.as_ref().is_none_or(|waiting| waiting.kind != kind) {
            self.waiting =
                Some(Waiting { kind: kind.to_owned(), since: now, ..Waiting::default() });
        }
    }

    /// An event has come: somebody has answered, unless an agent in the background goes on while
    /// the session itself waits. Whether it was the agent that had asked is not said anywhere.
    pub fn end_waiting(&mut self, event: &Event) {
        let Some(waiting) = &self.waiting else { return };
        let is_agents = waiting.kind.contains("agent") || waiting.kind.contains("worker");
        let beside = event.agent_id.as_deref().is_some_and(|id| {
            let background = self.agent(id).and_then(|agent| agent.background);
            waiting.kind == IDLE || background.unwrap_or(false)
        });
        if is_agents || !beside {
            self.waiting = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_questions_are_waited_with() {
        for kind in ["permission_prompt", "idle_prompt", "agent_needs_input", "elicitation_dialog"]
        {
            assert!(awaited(kind).is_some(), "{kind}");
        }
        for kind in ["agent_completed", "auth_success", "elicitation_complete", "unknown", ""] {
            assert_eq!(awaited(kind), None, "{kind}");
        }
        assert_eq!(awaited("worker_permission_prompt"), awaited("permission_prompt"));
    }
}
