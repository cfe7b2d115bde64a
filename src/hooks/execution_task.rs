//! Which agent is at which task of an execution: known by the directory that the agent works in, which
//! is the task's worktree, or by the `execute start` that it ran.

use std::path::Path;

use crate::core::event::Event;
use crate::execute::registry::{Executions, Known};
use crate::session::live::Live;
use crate::session::record;
use crate::state::State;
use crate::state::plan::Plan;
use crate::turn::context::Context;

/// In the agent's own record, so that this is looked for only once.
const TASK: &str = "execute_task";

/// Whether the agent that an event comes from may be at a task that nobody knows of.
pub fn may_be_at_one(event: &Event, live: &Live, context: &Context) -> bool {
    let agent = event.agent_id.as_deref().and_then(|id| live.agent(id));
    if agent.is_none_or(|agent| agent.extra.contains_key(TASK)) {
        return false;
    }
    if !context.settings.systems.execute {
        return false;
    }
    let is_elsewhere = event.text("cwd").is_some_and(|cwd| {
        cwd.contains("/.worktrees/") || !Path::new(&cwd).starts_with(&context.root)
    });
    is_elsewhere || started(event).is_some()
}

/// Notes the task that an agent is at; which one.
pub fn note(plan: &mut Plan, event: &Event, live: &mut Live, state: &State) -> Option<String> {
    let read = state.read::<Executions>(&());
    let mut executions = read.writable()?.clone();
    let id = event.agent_id.as_deref()?;
    let (at, task) = find_task(event, &executions)?;
    let session = live.session_id.clone();
    live.agent_mut(id)?.extra.insert(TASK.into(), task.clone().into());
    if executions.executions.get_mut(at)?.note_agent(&task, id, &session) {
        plan.put(&read, &executions);
    }
    Some(task)
}

/// An agent that was at a task has stopped.
pub fn end(plan: &mut Plan, event: &Event, state: &State, context: &Context) {
    let Some(id) = event.agent_id.as_deref() else { return };
    let agent = record::own_record(event, state).and_then(|live| live.agent(id));
    if agent.is_none_or(|agent| !agent.extra.contains_key(TASK)) {
        return;
    }
    let read = state.read::<Executions>(&());
    let Some(mut executions) = read.writable().cloned() else { return };
    let seen = executions.executions.iter_mut().flat_map(|known| known.agents.values_mut());
    let mut any = false;
    for seen in seen.filter(|seen| seen.agent_id == id && seen.stopped.is_none()) {
        seen.stopped = Some(context.spelled());
        any = true;
    }
    if any {
        plan.put(&read, &executions);
    }
}

/// The execution and the task.
fn find_task(event: &Event, executions: &Executions) -> Option<(usize, String)> {
    let cwd = event.text("cwd").unwrap_or_default();
    let in_worktree = |known: &Known| {
        let below = Path::new(&cwd).strip_prefix(&known.worktree_dir).ok()?;
        Some(below.components().next()?.as_os_str().to_str()?.to_owned())
    };
    let by_place = executions.executions.iter().enumerate().rev();
    let by_place = by_place.filter_map(|(at, known)| Some((at, in_worktree(known)?))).next();
    by_place.or_else(|| {
        let (path, task) = started(event)?;
        let named = |known: &&Known| {
            Path::new(&known.tasks_path).ends_with(path.trim_start_matches("./"))
                || Path::new(&cwd).join(&path) == Path::new(&known.tasks_path)
        };
        let at = executions.executions.iter().rposition(|known| named(&known))?;
        Some((at, task))
    })
}

/// The tasks and the id in `hookkeeper execute start TASKS_PATH ID`.
fn started(event: &Event) -> Option<(String, String)> {
    if event.tool_name() != "Bash" {
        return None;
    }
    let command = event.tool_input().word("command")?;
    let (_, after) = command.split_once("execute start ")?;
    let clean = |word: &str| word.trim_matches(['\'', '"', ';']).trim_end_matches('/').to_owned();
    let mut words = after.split_whitespace().filter(|word| !word.starts_with('-')).map(clean);
    let (path, id) = (words.next()?, words.next()?);
    crate::execute::graph::validate_task_id(&id).ok().map(|()| (path, id))
}
