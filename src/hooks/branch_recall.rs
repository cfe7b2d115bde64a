//! What a branch's books say to a session that goes on, or begins: where it stood, the plan, the
//! todos, who is stuck, which hand-offs there are.

use crate::books::branch::BranchState;
use crate::books::live::Live;
use crate::books::saved::{Execution, Plan, Todo, Workflow};
use crate::books::tracked::Tracked;
use crate::books::{clip, plural};
use crate::event::Event;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::Doc;
use crate::time;

use super::{desk, witness};

const TODOS: usize = 25;
const STUCK: usize = 10;
const LONGEST_TODO: usize = 200;
/// The plan's beginning must not push out what comes after it.
const LONGEST_PREVIEW: usize = 2_500;

/// What has to be seen at a start.
pub fn asks(event: &Event, snapshot: &Snapshot, context: &Context) -> Vec<Ask> {
    if !context.settings.is_on(witness::SYSTEM) {
        return Vec::new();
    }
    let mut asks = vec![Ask::Here];
    asks.extend(snapshot.here.as_ref().map(|_| Ask::AgentsHere));
    if let Some(live) = snapshot.own(event) {
        asks.extend(witness::asks(&live.agents, context));
    }
    // Another session was compacted in the meantime, and its state is here now.
    let replaced = snapshot.here_state.as_ref().is_some_and(|state| {
        desk::source(event) == "compact" && state.session.as_ref() != Some(&event.session_id)
    });
    if replaced {
        asks.push(Ask::PlanHere);
        asks.extend(event.text("transcript_path").map(|path| Ask::Todos(path.into())));
    }
    if snapshot.has(&Ask::AllLive) {
        asks.extend(witness::asks_for_life(snapshot.lives.values(), context));
    }
    asks
}

/// Where the session stood, if these books are its own or those of the session that it goes on
/// from. After a compaction with the plan's first lines.
pub fn recovered(source: &str, live: &Live, snapshot: &Snapshot, context: &Context) -> Vec<String> {
    let (Some(here), Some(saved)) = (&snapshot.here, &snapshot.here_state) else {
        return Vec::new();
    };
    let state = match continues(live, saved) {
        true => saved.clone(),
        // It is put together again from where it came from.
        false if snapshot.has(&Ask::PlanHere) => {
            let mut state = BranchState::default();
            let (workflow, plan) = (live.workflow.as_ref(), snapshot.plan_here.clone());
            state.save(&live.session_id, workflow, plan, &snapshot.todos, &context.redact);
            state.compacted_at = Some(context.spelled());
            state
        }
        false => return Vec::new(),
    };
    let mut lines = Vec::new();
    let workflow = state.workflow.as_ref().and_then(workflow);
    lines.extend(workflow);
    let plan = state.plan.as_ref().filter(|plan| plan.exists);
    lines.extend(plan.into_iter().flat_map(|plan| self::plan(plan, source == "compact")));
    lines.extend(state.execution.as_ref().map(todos).unwrap_or_default());
    if lines.is_empty() {
        return lines;
    }
    let saved = state.compacted_at.as_deref().unwrap_or("an unknown time");
    let file = Doc::Branch(here.key.clone()).path();
    lines.insert(0, format!("- recovered for branch {}, as of {saved}, from {file}:", here.name));
    lines
}

/// Hand-offs are for whoever comes next.
pub fn handoffs(snapshot: &Snapshot) -> Option<String> {
    let here = snapshot.here.as_ref()?;
    let handoff = snapshot.here_state.as_ref()?.handoff.as_ref()?;
    let last = handoff.last.as_ref().filter(|_| handoff.count > 0)?;
    Some(format!(
        "- {} of branch {} in {}/, the last one: {last}",
        plural(handoff.count as usize, "hand-off"),
        here.name,
        Doc::handoffs(&here.key),
    ))
}

/// Agents that run and have been silent for too long, and what can be done about them.
pub fn stuck(stuck: &[(Tracked, u64)], context: &Context) -> Vec<String> {
    if stuck.is_empty() {
        return Vec::new();
    }
    let minutes = plural(context.settings.stuck_after_minutes as usize, "minute");
    let mut lines = vec![format!(
        "- {} stuck, running and silent for more than {minutes} ({}):",
        plural(stuck.len(), "agent"),
        witness::OPTIONS
    )];
    lines.extend(stuck.iter().take(STUCK).map(|(entry, silent)| {
        let task = entry.description.as_deref().unwrap_or("task not known");
        let nudged = match entry.nudge_count {
            0 => String::new(),
            n => format!(", nudged {}", plural(n as usize, "time")),
        };
        format!(
            "  - {} ({}): {}, for {}, silent {}{nudged}",
            entry.id,
            entry.kind,
            clip(task, LONGEST_TODO),
            time::human(entry.age(context.now)),
            time::human(*silent)
        )
    }));
    lines
}

/// For the summariser: what is about to be saved.
pub fn for_summary(live: &Live, snapshot: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    let workflow = live.workflow.as_ref().filter(|workflow| workflow.is_executing());
    let workflow = workflow.and_then(Workflow::spelled);
    lines
        .extend(workflow.map(|command| format!("- the command that is being executed: {command}")));
    let plan = snapshot.plan_here.as_ref().and_then(|plan| plan.file.as_ref());
    lines.extend(plan.map(|file| format!("- the plan: {file}")));
    let open: Vec<&Todo> = snapshot.todos.iter().filter(|todo| !todo.is_done()).collect();
    if !open.is_empty() {
        lines.push(format!("- {}:", plural(open.len(), "open todo")));
        lines.extend(open.into_iter().take(TODOS).map(todo));
    }
    lines
}

/// Whether a session is the one whose state was saved, or what continues it.
fn continues(live: &Live, state: &BranchState) -> bool {
    let saved = state.session.as_ref();
    let parent = live.lineage.as_ref().map(|lineage| &lineage.parent);
    saved.is_some() && (saved == Some(&live.session_id) || saved == parent)
}

fn workflow(workflow: &Workflow) -> Option<String> {
    let command = workflow.spelled()?;
    let phase = workflow.phase.as_deref().filter(|phase| !phase.is_empty()).unwrap_or("unknown");
    Some(format!("  - workflow: {command} ({phase})"))
}

fn plan(plan: &Plan, whole: bool) -> Vec<String> {
    let file = plan.file.as_deref().unwrap_or("of an unknown name");
    let preview = plan.preview.as_deref().unwrap_or_default();
    if !whole || preview.trim().is_empty() {
        return vec![format!("  - plan: {file}")];
    }
    let mut lines = vec![format!("  - plan: {file}, which begins:")];
    let mut length = 0;
    for line in preview.lines() {
        length += line.encode_utf16().count() + 7;
        if length > LONGEST_PREVIEW {
            lines.push("      …".into());
            break;
        }
        lines.push(format!("      {line}").trim_end().to_owned());
    }
    lines
}

fn todos(execution: &Execution) -> Vec<String> {
    if execution.todos.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "  - todos: {} pending, {} completed",
        execution.pending_count, execution.completed_count
    )];
    let open: Vec<&Todo> = execution.pending().collect();
    let more = open.len().saturating_sub(TODOS);
    lines.extend(open.into_iter().take(TODOS).map(|one| format!("  {}", todo(one))));
    if more > 0 {
        lines.push(format!("    - and {more} more"));
    }
    lines
}

fn todo(todo: &Todo) -> String {
    let mark = if todo.status == "in_progress" { " (in progress)" } else { "" };
    format!("  - {}{mark}", clip(&todo.content, LONGEST_TODO))
}
