//! What the model is given back: after a compaction all that matters, on resume and fork less, at
//! a fresh start only what is unfinished. Facts, most important first, one line each; what is too
//! long loses its end.

use crate::books::errors::{ESCALATED, PENDING};
use crate::books::live::Live;
use crate::books::tracked::Tracked;
use crate::books::{clip, plural};
use crate::facts::execution::Unfinished;
use crate::snapshot::{Ask, Context, Snapshot};
use crate::store::layout::{Doc, Part};
use crate::time;

use super::{branch_recall, synthesis};

const ITEMS: usize = 15;
const AGENTS: usize = 20;
const ERRORS: usize = 8;
const FILES: usize = 40;

/// The executions that were begun last are looked at.
const EXECUTIONS: usize = 3;

pub fn asks_for_executions(snapshot: &Snapshot) -> Vec<Ask> {
    let known = snapshot.executions.iter().flat_map(|known| known.executions.iter().rev());
    let states = known.take(EXECUTIONS).map(|known| Ask::Unfinished((&known.tasks_path).into()));
    std::iter::once(Ask::Executions).chain(states).collect()
}

pub fn at_start(
    source: &str,
    live: &Live,
    snapshot: &Snapshot,
    stuck: &[(Tracked, u64)],
    context: &Context,
) -> Option<String> {
    let mut lines = Vec::new();
    if matches!(source, "compact" | "resume" | "fork") {
        lines.extend(live.task.as_ref().map(|task| format!("- task: {task}")));
    }
    lines.extend(iterative(live, snapshot));
    lines.extend(branch_recall::recovered(source, live, snapshot, context));
    lines.extend(branch_loop(live, snapshot));
    lines.extend(autonomous_loop(live, snapshot));
    lines.extend(branch_recall::handoffs(snapshot));
    lines.extend(snapshot.unfinished.iter().map(execution));
    lines.extend(branch_recall::stuck(stuck, context));
    lines.extend(queue_items(live, snapshot));
    match source {
        "compact" => lines.extend(after_compaction(live, snapshot, context)),
        "resume" | "fork" => lines.extend(after_resume(live, snapshot, context)),
        _ => {}
    }
    if lines.is_empty() {
        return None;
    }
    let head = match source {
        "compact" => "HookKeeper kept this session's books through the compaction:",
        "resume" => "HookKeeper's books for this session:",
        "fork" => "HookKeeper's books for this project (this session is a fork):",
        _ => "HookKeeper: unfinished in this project:",
    };
    Some(std::iter::once(head.to_owned()).chain(lines).collect::<Vec<_>>().join("\n"))
}

/// For the summariser; `None` if the books have nothing that a summary could lose.
pub fn for_summary(live: &Live, snapshot: &Snapshot) -> Option<String> {
    let mut lines = Vec::new();
    lines.extend(live.task.as_ref().map(|task| format!("- the task: {task}")));
    lines.extend(iterative(live, snapshot));
    lines.extend(branch_recall::for_summary(live, snapshot));
    lines.extend(branch_loop(live, snapshot));
    lines.extend(autonomous_loop(live, snapshot));
    lines.extend(queue_items(live, snapshot));
    lines.extend(running(live, None));
    if !live.files_modified.is_empty() {
        lines.push(files(live));
    }
    if lines.is_empty() {
        return None;
    }
    Some(format!("The summary has to keep:\n{}", lines.join("\n")))
}

fn after_compaction(live: &Live, snapshot: &Snapshot, context: &Context) -> Vec<String> {
    let mut lines = running(live, Some(context));
    lines.extend(open_errors(live, snapshot));
    lines.extend(findings(live, snapshot));
    if !live.files_modified.is_empty() {
        lines.push(files(live));
    }
    let branch = live.git_branch.as_deref().map(|b| format!(" on branch {b}")).unwrap_or_default();
    lines.push(format!(
        "- session {} since {}{branch}: {} ({} completed, {} failed), {} ({} recovered)",
        live.session_id,
        live.started,
        plural(live.agents_spawned as usize, "agent"),
        live.agents_completed,
        live.agents_failed,
        plural(live.errors_encountered as usize, "error"),
        live.errors_recovered,
    ));
    if let Some(backup) = &live.last_backup {
        lines.push(format!("- state before it: .claude/state/compaction/{}", backup.file));
    }
    lines
}

fn after_resume(live: &Live, snapshot: &Snapshot, context: &Context) -> Vec<String> {
    let mut lines = running(live, Some(context));
    lines.extend(open_errors(live, snapshot));
    lines
}

/// Whose a loop is, if it is not this session's.
fn whose(owner: Option<&String>, live: &Live) -> String {
    match owner {
        Some(owner) if *owner != live.session_id => format!(" (driven by session {owner})"),
        _ => String::new(),
    }
}

fn queue_items(live: &Live, snapshot: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(queue) = &snapshot.queue else { return lines };
    if queue.is_running() {
        let task = queue.task.as_deref().unwrap_or("no task given");
        lines.push(format!(
            "- a loop in .claude/state/loop/work_queue.json{}: {task}, iteration {}, {}",
            whose(queue.session_id.as_ref(), live),
            queue.iteration,
            queue.status
        ));
    }
    let open = queue.open();
    if open.is_empty() {
        return lines;
    }
    lines.push(format!(
        "- {} in .claude/state/loop/work_queue.json:",
        plural(open.len(), "open work item")
    ));
    lines.extend(
        open.iter().take(ITEMS).map(|item| {
            format!("  - {} {} {} ({})", item.id, item.priority, item.title, item.status)
        }),
    );
    lines
}

fn execution(execution: &Unfinished) -> String {
    format!(
        "- an execution, {} ({}), {} of {} merged, layer {}: `hookkeeper execute resume {}` goes on with it",
        clip(&execution.slug, 60),
        execution.status,
        execution.completed,
        plural(execution.total as usize, "task"),
        clip(&execution.layer, 60),
        execution.tasks_path
    )
}

fn autonomous_loop(live: &Live, snapshot: &Snapshot) -> Vec<String> {
    let Some(state) = snapshot.autonomous.as_ref().filter(|state| state.is_running()) else {
        return Vec::new();
    };
    let waits = if state.awaiting_approval { ", waits for a person's approval" } else { "" };
    let mut lines = vec![format!(
        "- an autonomous loop in {}{}: {}, phase {}, iteration {} of {}{waits}; `hookkeeper autonomous status` says more",
        Doc::Autonomous.path(),
        whose(state.session_id.as_ref(), live),
        clip(&state.feature, 300),
        clip(&state.phase, 40),
        state.global_iteration,
        state.max_iterations
    )];
    let last = state.checkpoints.last();
    lines.extend(last.map(|last| {
        format!("  - last checkpoint ({}): {}", clip(&last.phase, 40), clip(&last.summary, 300))
    }));
    lines
}

fn branch_loop(live: &Live, snapshot: &Snapshot) -> Option<String> {
    let (key, state) = snapshot.branch.as_ref()?;
    let the_loop = state.running()?;
    // A switch in the middle of a session leaves the loop where it began.
    let elsewhere = snapshot.here.as_ref().filter(|here| here.key != *key);
    let elsewhere = elsewhere
        .map(|here| format!(" (the checkout is on {} now)", here.name))
        .unwrap_or_default();
    Some(format!(
        "- a loop of branch {}{elsewhere} in {}{}: iteration {} of {}, complete with <promise>{}</promise>: {}",
        state.branch,
        Doc::Branch(key.clone()).path(),
        whose(the_loop.session_id.as_ref(), live),
        the_loop.iteration,
        the_loop.max_iterations,
        the_loop.completion_promise,
        clip(&the_loop.prompt, 500)
    ))
}

/// Where an open task stands, and what its log leaves to do. Not whether its unit is being confirmed:
/// that is not for the model to know.
fn iterative(live: &Live, snapshot: &Snapshot) -> Option<String> {
    let book = snapshot.iterative.as_ref().filter(|book| book.state.is_open())?;
    // What another session works on is not this one's to go on with.
    let own = live.loop_task.as_deref() == Some(book.slug.as_str());
    let owner = book.state.session_id.as_ref().filter(|id| !own && **id != live.session_id);
    let is_live = |id: &&String| snapshot.lives.contains_key(*id) && !snapshot.gone.contains(*id);
    if owner.is_some_and(|owner| is_live(&owner)) {
        return None;
    }
    let (done, all) = book.state.done();
    let mut line = format!(
        "- an iterative task in {}: {}, phase {}, {done} of {} done",
        book.file(Part::State),
        clip(&book.state.task, 200),
        book.state.phase,
        plural(all, "unit"),
    );
    if let Some(id) = book.state.current() {
        let unit = book.state.unit(id).cloned().unwrap_or_default();
        line.push_str(&format!("; at work: {id} {}", clip(&unit.title, 200)));
        if let Some(left) = book.log.remaining(id) {
            line.push_str(&format!("; remaining: {}", clip(left, 500)));
        }
    }
    let slug = &book.slug;
    let adopt = owner.map(|owner| {
        format!(" Session {owner}, which drove it, has ended; to go on with it here: `hookkeeper iterative adopt {slug}`.")
    });
    let adopt = adopt.unwrap_or_default();
    Some(format!("{line}.{adopt} What to do now: `hookkeeper iterative next {slug}`"))
}

fn running(live: &Live, context: Option<&Context>) -> Vec<String> {
    if live.agents.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("- {} still running:", plural(live.agents.len(), "agent"))];
    lines.extend(live.agents.iter().take(AGENTS).map(|agent| {
        let task = agent.task.as_deref().unwrap_or("task not known yet");
        let age = context.map(|context| time::age(&agent.started, context.now));
        let age = age.map(|age| format!(", for {}", time::human(age))).unwrap_or_default();
        format!("  - {} ({}): {task}{age}", agent.id, agent.kind)
    }));
    lines
}

fn open_errors(live: &Live, snapshot: &Snapshot) -> Vec<String> {
    let Some(errors) = &snapshot.errors else { return Vec::new() };
    let open: Vec<_> = errors
        .records()
        .into_iter()
        .filter(|record| record.session_id == live.session_id)
        .filter(|record| matches!(record.status.as_str(), PENDING | ESCALATED))
        .collect();
    if open.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("- {} unresolved:", plural(open.len(), "error"))];
    lines.extend(open.iter().rev().take(ERRORS).map(|record| {
        let next = record.next_retry.as_deref().map(|at| format!(", retry after {at}"));
        let what = record.status.replace('_', " ");
        format!(
            "  - {} {}: {what}{}",
            record.classification,
            record.target,
            next.unwrap_or_default()
        )
    }));
    lines
}

fn findings(live: &Live, snapshot: &Snapshot) -> Option<String> {
    let synthesis = synthesis::of(live, snapshot);
    if synthesis.findings.is_empty() {
        return None;
    }
    let worst = synthesis.findings.iter().take(5);
    let worst: Vec<String> =
        worst.map(|f| format!("{} {}", f.finding.severity, f.finding.title)).collect();
    Some(format!(
        "- {} of agents in .claude/state/agents/results/synthesis.json: {}",
        plural(synthesis.findings.len(), "finding"),
        worst.join("; ")
    ))
}

fn files(live: &Live) -> String {
    let newest: Vec<&str> =
        live.files_modified.iter().rev().take(FILES).map(String::as_str).collect();
    format!("- {} modified: {}", plural(live.files_modified.len(), "file"), newest.join(", "))
}
