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
/// In UTF-16 units, which the client counts: none of these may push out what comes after it.
const ROOM_FOR_PREVIEW: usize = 2_000;
const ROOM_FOR_TODOS: usize = 2_000;
const ROOM_FOR_STUCK: usize = 1_200;

/// What is said of a command that was being executed when the state was saved.
const THEN: &str = "the last one then";

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
    let source = desk::source(event);
    // Another session was compacted in the meantime, and its state is here now.
    let replaced = snapshot.here_state.as_ref().is_some_and(|state| {
        source == "compact" && state.session.as_ref() != Some(&event.session_id)
    });
    if replaced {
        asks.push(Ask::PlanHere);
    }
    // What was saved may be older than the transcript that the session goes on with.
    if replaced || (snapshot.here_state.is_some() && matches!(source.as_str(), "resume" | "fork")) {
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
    let state = match continues(live, saved, snapshot) {
        true => brought_up_to_date(source, saved, live, snapshot, context),
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

/// A compaction has just saved it; before a resume things may have gone on.
fn brought_up_to_date(
    source: &str,
    saved: &BranchState,
    live: &Live,
    snapshot: &Snapshot,
    context: &Context,
) -> BranchState {
    let mut state = saved.clone();
    if source == "compact" {
        return state;
    }
    if let Some(workflow) = &live.workflow {
        state.workflow = Some(workflow.clone());
    } else if let Some(workflow) = &mut state.workflow {
        // Nobody knows whether it is still being executed.
        workflow.phase = Some(THEN.into());
    }
    if !snapshot.todos.is_empty() {
        state.execution.get_or_insert_default().set(&snapshot.todos, &context.redact);
    }
    state
}

/// A session that goes on from the one whose state was saved has it from now on.
pub fn pass_on(plan: &mut crate::plan::Plan, live: &Live, snapshot: &Snapshot) {
    let (Some(here), Some(saved)) = (&snapshot.here, &snapshot.here_state) else { return };
    let doc = Doc::Branch(here.key.clone());
    let is_new = saved.session.as_ref() != Some(&live.session_id);
    if !is_new || !continues(live, saved, snapshot) || snapshot.frozen.contains(&doc) {
        return;
    }
    // It may have been given the branch's loop just now.
    let mut state = plan.take_put(&doc).unwrap_or_else(|| saved.clone());
    state.session = Some(live.session_id.clone());
    plan.put(doc, &state);
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
    let shown = stuck.iter().take(STUCK).map(|(entry, silent)| {
        let task = entry.description.as_deref().unwrap_or("task not known");
        let nudged = match entry.nudge_count {
            0 => String::new(),
            n => format!(", nudged {}", plural(n as usize, "time")),
        };
        let left = match entry.session_id {
            Some(_) => String::new(),
            None => format!(
                ", left by another tool (`hookkeeper agents close {}` strikes it off)",
                entry.id
            ),
        };
        format!(
            "  - {} ({}): {}, for {}, silent {}{nudged}{left}",
            entry.id,
            entry.kind,
            clip(task, LONGEST_TODO),
            time::human(entry.age(context.now)),
            time::human(*silent)
        )
    });
    lines.extend(fitting(shown, stuck.len(), ROOM_FOR_STUCK, "  - "));
    lines
}

/// As many lines as there is room for, and how many of all are left out.
fn fitting(
    lines: impl Iterator<Item = String>,
    all: usize,
    room: usize,
    bullet: &str,
) -> Vec<String> {
    let mut length = 0;
    let mut shown: Vec<String> = lines
        .take_while(|line| {
            length += line.encode_utf16().count() + 1;
            length <= room
        })
        .collect();
    if shown.len() < all {
        shown.push(format!("{bullet}and {} more", all - shown.len()));
    }
    shown
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

/// Whether a session is the one whose state was saved, or what continues it. Nobody continues one
/// that lives.
fn continues(live: &Live, state: &BranchState, snapshot: &Snapshot) -> bool {
    let Some(saved) = &state.session else { return false };
    let parent = live.lineage.as_ref().map(|lineage| &lineage.parent);
    *saved == live.session_id || (parent == Some(saved) && !snapshot.lives.contains_key(saved))
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
        if length > ROOM_FOR_PREVIEW {
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
    let open = execution.pending().take(TODOS).map(|one| format!("  {}", todo(one)));
    lines.extend(fitting(open, execution.pending().count(), ROOM_FOR_TODOS, "    - "));
    lines
}

fn todo(todo: &Todo) -> String {
    let mark = if todo.status == "in_progress" { " (in progress)" } else { "" };
    format!("  - {}{mark}", clip(&todo.content, LONGEST_TODO))
}
