//! What a branch's `state.json` keeps of a session that works on it: what it runs, its plan, its
//! todos, its hand-offs. The loop has a type of its own, in `branch`.

use serde::{Deserialize, Serialize};

use crate::branch::document::BranchState;
use crate::client::plan_file::PlanFile;
use crate::client::todos::Todo;
use crate::core::redaction::Redactor;
use crate::core::text::{Extra, keep_newest};
use crate::session::workflow::{IDLE, Workflow};

const LONGEST_TODO: usize = 300;
const TODOS: usize = 100;
const ANNOUNCED: usize = 500;

/// What a session has set out to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Execution {
    pub todos: Vec<Todo>,
    /// Those in progress too.
    pub pending_count: u64,
    pub completed_count: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Execution {
    pub fn pending(&self) -> impl Iterator<Item = &Todo> {
        self.todos.iter().filter(|todo| !todo.is_done())
    }

    /// These todos in the place of the ones before.
    pub fn set(&mut self, todos: &[Todo], redact: &Redactor) {
        let short = |text: &str| redact.line(text, LONGEST_TODO);
        let kept = todos.iter().take(TODOS).map(|todo| Todo {
            content: short(&todo.content),
            active_form: todo.active_form.as_deref().map(short),
            ..todo.clone()
        });
        self.todos = kept.collect();
        self.completed_count = self.todos.iter().filter(|todo| todo.is_done()).count() as u64;
        self.pending_count = self.todos.len() as u64 - self.completed_count;
    }
}

/// How many hand-offs were written, and where the last one is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Handoff {
    pub count: u64,
    pub last: Option<String>,
    /// Those that a session was told of, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub announced: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Handoff {
    /// Notes that a session was told of these.
    pub fn announce(&mut self, names: impl Iterator<Item = String>) {
        self.announced.extend(names);
        keep_newest(&mut self.announced, ANNOUNCED);
    }
}

impl BranchState {
    /// Takes down where a session stands. The loop and the hand-offs are not the session's: they
    /// stay as they are, and so does what we do not know.
    pub fn save(
        &mut self,
        session_id: &str,
        workflow: Option<&Workflow>,
        plan: Option<PlanFile>,
        todos: &[Todo],
        redact: &Redactor,
    ) {
        let same = self.session.as_deref() == Some(session_id);
        self.session = Some(session_id.to_owned());
        let before = self.workflow.take().unwrap_or_default();
        let idle = || Workflow {
            phase: Some(IDLE.into()),
            active: Some(String::new()),
            args: Some(String::new()),
            extra: Extra::new(),
        };
        // A session that was closed and goes on has forgotten its last command.
        let saved = same.then(|| before.clone()).filter(|saved| saved.spelled().is_some());
        let now = workflow.cloned().or(saved).unwrap_or_else(idle);
        self.workflow = Some(Workflow { extra: before.extra, ..now });
        let before = self.plan.take().unwrap_or_default();
        self.plan = Some(PlanFile { extra: before.extra, ..plan.unwrap_or_default() });
        self.execution.get_or_insert_default().set(todos, redact);
    }

    /// Whether it says anything that a session could lose.
    pub fn has_content(&self) -> bool {
        self.the_loop.is_some()
            || self.handoff.as_ref().is_some_and(|handoff| handoff.count > 0)
            || self.plan.as_ref().is_some_and(|plan| plan.exists)
            || self.execution.as_ref().is_some_and(|execution| !execution.todos.is_empty())
            || self.workflow.as_ref().is_some_and(|workflow| workflow.spelled().is_some())
    }
}
