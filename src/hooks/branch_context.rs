//! What a branch's state says to a session that goes on, or begins: where it stood, the plan, the
//! todos, who is stuck, which hand-offs there are.

use std::path::Path;

use crate::branch::document::BranchState;
use crate::branch::saved::Execution;
use crate::branch::tracked::Tracked;
use crate::branch::{checkout, witness};
use crate::client::plan_file::PlanFile;
use crate::client::todos::Todo;
use crate::core::event::Event;
use crate::core::gate::shell_word;
use crate::core::text::{clip, plural};
use crate::core::time;
use crate::session::live::Live;
use crate::session::record::{self, is_live};
use crate::session::workflow::Workflow;
use crate::state::State;
use crate::turn::context::Context;

const TODOS: usize = 25;
const STUCK: usize = 10;
const LONGEST_TODO: usize = 200;
/// In UTF-16 units, which the client counts: none of these may push out what comes after it.
const ROOM_FOR_PREVIEW: usize = 2_000;
const ROOM_FOR_TODOS: usize = 2_000;
const ROOM_FOR_STUCK: usize = 1_200;

/// What is said of a command that was being executed when the state was saved.
const THEN: &str = "the last one then";

/// Where the session stood, if this state is its own or that of the session that it goes on from.
/// After a compaction with the plan's first lines.
pub fn recovered(event: &Event, live: &Live, state: &State, context: &Context) -> Vec<String> {
    let Some((here, saved)) = checkout::with_state(state, context) else { return Vec::new() };
    let source = record::source(event);
    let branch = if continues(live, saved, state) {
        bring_up_to_date(event, saved, live, context)
    } else if source == "compact" && saved.session.as_ref() != Some(&event.session_id) {
        // Another session was compacted in the meantime, and its state is here now: ours is put
        // together again from where it came from.
        let plan = context.plan_file(here.key.as_str(), state);
        let mut branch = BranchState::default();
        let (workflow, todos) = (live.workflow.as_ref(), todos_of(event, context));
        branch.save(&live.session_id, workflow, plan, &todos, &context.redact);
        branch.compacted_at = Some(context.spelled());
        branch
    } else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    lines.extend(branch.workflow.as_ref().and_then(workflow));
    let plan = branch.plan.as_ref().filter(|plan| plan.exists);
    lines.extend(
        plan.into_iter()
            .flat_map(|plan| crate::hooks::branch_context::plan(plan, source == "compact")),
    );
    lines.extend(branch.execution.as_ref().map(todos).unwrap_or_default());
    if lines.is_empty() {
        return lines;
    }
    // Before a compaction it was saved a moment ago.
    let saved = branch.compacted_at.as_deref().filter(|_| source != "compact");
    let saved = saved.map(|saved| format!(", as of {saved}")).unwrap_or_default();
    lines.insert(0, format!("- on branch {}{saved}:", here.branch));
    lines
}

/// A compaction has just saved it; before a resume things may have gone on.
fn bring_up_to_date(
    event: &Event,
    saved: &BranchState,
    live: &Live,
    context: &Context,
) -> BranchState {
    let mut branch = saved.clone();
    let source = record::source(event);
    if source == "compact" {
        return branch;
    }
    if let Some(workflow) = &live.workflow {
        branch.workflow = Some(workflow.clone());
    } else if let Some(workflow) = &mut branch.workflow {
        // Nobody knows whether it is still being executed.
        workflow.phase = Some(THEN.into());
    }
    // What was saved may be older than the transcript that the session goes on with.
    let todos = match source.as_str() {
        "resume" | "fork" => todos_of(event, context),
        _ => Vec::new(),
    };
    if !todos.is_empty() {
        branch.execution.get_or_insert_default().set(&todos, &context.redact);
    }
    branch
}

/// What the session has set out to do, as its transcript tells.
fn todos_of(event: &Event, context: &Context) -> Vec<Todo> {
    let transcript = event.text("transcript_path");
    transcript.map(|path| context.facts.todos(Path::new(&path))).unwrap_or_default()
}

/// A session that goes on from the one whose state was saved has it from now on.
pub fn pass_on(plan: &mut crate::state::plan::Plan, live: &Live, state: &State, context: &Context) {
    let Some((here, saved)) = checkout::with_state(state, context) else { return };
    let read = state.read::<BranchState>(&here.key);
    let is_new = saved.session.as_ref() != Some(&live.session_id);
    if !is_new || !continues(live, saved, state) || read.is_frozen() {
        return;
    }
    // It may have been given the branch's loop just now.
    let mut branch = plan.take_put(&read).unwrap_or_else(|| saved.clone());
    branch.session = Some(live.session_id.clone());
    plan.put(&read, &branch);
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
                shell_word(&entry.id)
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
pub fn for_summary(live: &Live, plan: Option<&PlanFile>, todos: &[Todo]) -> Vec<String> {
    let mut lines = Vec::new();
    let workflow = live.workflow.as_ref().filter(|workflow| workflow.is_executing());
    let workflow = workflow.and_then(Workflow::spelled);
    lines
        .extend(workflow.map(|command| format!("- the command that is being executed: {command}")));
    let plan = plan.and_then(|plan| plan.file.as_ref());
    lines.extend(plan.map(|file| format!("- the plan: {file}")));
    let open: Vec<&Todo> = todos.iter().filter(|todo| !todo.is_done()).collect();
    if !open.is_empty() {
        lines.push(format!("- {}:", plural(open.len(), "open todo")));
        lines.extend(open.into_iter().take(TODOS).map(todo));
    }
    lines
}

/// Whether a session is the one whose state was saved, or what continues it. Nobody continues one
/// that lives.
fn continues(live: &Live, branch: &BranchState, state: &State) -> bool {
    let Some(saved) = &branch.session else { return false };
    let parent = live.lineage.as_ref().map(|lineage| &lineage.parent);
    *saved == live.session_id || (parent == Some(saved) && !is_live(saved, state))
}

fn workflow(workflow: &Workflow) -> Option<String> {
    let command = workflow.spelled()?;
    let phase = workflow.phase.as_deref().filter(|phase| !phase.is_empty()).unwrap_or("unknown");
    Some(format!("  - workflow: {command} ({phase})"))
}

fn plan(plan: &PlanFile, whole: bool) -> Vec<String> {
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
