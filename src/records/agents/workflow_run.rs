//! The client's workflows: scripts that start agents of their own, behind the conversation.

use serde::{Deserialize, Serialize};

use crate::core::event::Event;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::Extra;
use crate::turn::context::Context;

const TOOL: &str = "Workflow";

/// A run of a workflow that the session has started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["id"])))]
pub struct WorkflowRun {
    /// Names the folder of its agents' files.
    pub id: String,
    /// Its id in the client's list of what runs in the background.
    pub task_id: Option<String>,
    pub name: Option<String>,
    pub task: Option<String>,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time_or_empty"))]
    pub started: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl WorkflowRun {
    /// The run that a call has just started.
    pub fn started_by(event: &Event, context: &Context) -> Option<Self> {
        if event.tool_name() != TOOL {
            return None;
        }
        let response = event.tool_response();
        let task = |key: &str| response.word(key).map(|text| context.task(&text));
        Some(Self {
            id: response.word("runId")?,
            task_id: response.word("taskId"),
            name: task("workflowName"),
            task: task("summary"),
            started: context.spelled(),
            extra: Extra::new(),
        })
    }
}
