//! What the model is given back: after a compaction all that matters, on resume and fork less, at
//! a fresh start only what is unfinished. Facts, most important first, one line each; what is too
//! long loses its end.

use std::path::Path;

use crate::agents::result::AgentResult;
use crate::branch::checkout;
use crate::branch::document::BranchState;
use crate::branch::tracked::Tracked;
use crate::client::plan_file::PlanFile;
use crate::client::todos::Todo;
use crate::core::event::Event;
use crate::core::gate::{Words, shell_word};
use crate::core::spelling::short_id;
use crate::core::text::{clip, plural};
use crate::core::time;
use crate::errors::document::{ESCALATED, Errors, PENDING};
use crate::execute::registry::Executions;
use crate::execute::unfinished::Unfinished;
use crate::hooks::{branch_context, lost_agents, open_handoffs, synthesis};
use crate::loops::LoopKind;
use crate::loops::autonomous::document::Autonomous;
use crate::loops::drive::Turn;
use crate::loops::iterative::recover;
use crate::loops::queue::document::Queue;
use crate::session::live::Live;
use crate::session::record;
use crate::state::{Document, State};
use crate::turn::context::Context;

const ITEMS: usize = 15;
const AGENTS: usize = 20;
const ERRORS: usize = 8;
const FILES: usize = 40;

/// The executions that were begun last are looked at.
const EXECUTIONS: usize = 3;

/// The executions that are not complete; of those that were begun last.
fn unfinished_executions(state: &State, context: &Context) -> Vec<Unfinished> {
    let known = state.get::<Executions>().into_iter();
    let known = known.flat_map(|known| known.executions.iter().rev()).take(EXECUTIONS);
    known.filter_map(|known| context.facts.unfinished(Path::new(&known.tasks_path))).collect()
}

pub fn at_start(
    event: &Event,
    live: &Live,
    stuck: &[(Tracked, u64)],
    lost: &[AgentResult],
    state: &State,
    context: &Context,
) -> Option<Words> {
    let source = record::source(event);
    let source = match source.as_str() {
        "compact" if !context.settings.systems.compaction => "startup",
        source => source,
    };
    let turn = Turn { event, state, context };
    let mut lines = Vec::new();
    // A session that is resumed or forked has its prompts in its context.
    if source == "compact" {
        lines.extend(live.task.as_ref().map(|task| format!("- task: {task}")));
        lines.extend(live.asked_last().map(|prompt| format!("- asked last: {prompt}")));
    }
    lines.extend(iterative(live, &turn));
    if context.settings.systems.iterative {
        let lost = recover::without_state(state);
        lines.extend(lost.iter().map(|slug| format!("- {}.", recover::hint(slug))));
    }
    lines.extend(branch_context::recovered(event, live, state, context));
    lines.extend(branch_loop(live, &turn));
    lines.extend(autonomous_loop(live, state));
    lines.extend(open_handoffs::lines(live, state, context));
    lines.extend(unfinished_executions(state, context).iter().map(execution));
    lines.extend(lost_agents::lines(lost));
    lines.extend(branch_context::stuck(stuck, context));
    lines.extend(queue_items(live, state));
    match source {
        "compact" => lines.extend(after_compaction(live, state, context)),
        "resume" | "fork" => lines.extend(after_resume(live, state, context)),
        _ => {}
    }
    if lines.is_empty() {
        return None;
    }
    let head = match source {
        "compact" => "HookKeeper kept this session's state through the compaction:",
        "resume" => "HookKeeper's state for this session:",
        "fork" => "HookKeeper's state for this project (this session is a fork):",
        _ => "HookKeeper: unfinished in this project:",
    };
    lines.insert(0, head.to_owned());
    Some(Words::lines(lines))
}

/// For the summariser; `None` if there is nothing that a summary could lose.
pub fn for_summary(
    event: &Event,
    live: &Live,
    plan: Option<&PlanFile>,
    todos: &[Todo],
    state: &State,
    context: &Context,
) -> Option<Words> {
    let turn = Turn { event, state, context };
    let mut lines = Vec::new();
    lines.extend(live.task.as_ref().map(|task| format!("- the task: {task}")));
    lines.extend(live.asked_last().map(|prompt| format!("- what was asked last: {prompt}")));
    lines.extend(iterative(live, &turn));
    lines.extend(branch_context::for_summary(live, plan, todos));
    lines.extend(branch_loop(live, &turn));
    lines.extend(autonomous_loop(live, state));
    lines.extend(queue_items(live, state));
    lines.extend(running(live, None));
    if !live.files_modified.is_empty() {
        lines.push(files(live));
    }
    if lines.is_empty() {
        return None;
    }
    lines.insert(0, "The summary has to keep:".to_owned());
    Some(Words::lines(lines))
}

fn after_compaction(live: &Live, state: &State, context: &Context) -> Vec<String> {
    let mut lines = running(live, Some(context));
    lines.extend(open_errors(live, state));
    lines.extend(findings(live, state));
    if !live.files_modified.is_empty() {
        lines.push(files(live));
    }
    lines.extend(ended_agents(live));
    lines
}

/// What agents did is in the summary at best; where their reports are is not.
fn ended_agents(live: &Live) -> Option<String> {
    let ended = live.agents_completed + live.agents_failed;
    let failed = match live.agents_failed {
        0 => String::new(),
        failed => format!(", {failed} of them failed"),
    };
    let ended = plural(ended as usize, "agent");
    (live.agents_completed + live.agents_failed > 0)
        .then(|| format!("- {ended} ended before{failed}: `{}` has their reports", agents_of(live)))
}

fn agents_of(live: &Live) -> String {
    format!("hookkeeper agents --session {}", shell_word(&live.session_id))
}

fn after_resume(live: &Live, state: &State, context: &Context) -> Vec<String> {
    let mut lines = running(live, Some(context));
    lines.extend(open_errors(live, state));
    lines
}

/// Whose a loop is, if it is not this session's.
fn whose(owner: Option<&String>, kind: LoopKind, live: &Live, state: &State) -> String {
    let Some(owner) = owner.filter(|owner| **owner != live.session_id) else {
        return String::new();
    };
    let cleared = live.lineage.as_ref().filter(|lineage| lineage.by == "clear");
    let is_cleared = cleared.is_some_and(|lineage| lineage.parent == *owner);
    if !is_cleared && record::is_live(owner, state) {
        return format!(" (driven by session {})", short_id(owner, &[]));
    }
    let of = match is_cleared {
        true => "of this session before /clear".to_owned(),
        false => format!("of session {}, which has ended", short_id(owner, &[])),
    };
    format!(" ({of}; it does not go on until somebody runs `{} adopt`)", kind.command())
}

fn queue_items(live: &Live, state: &State) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(queue) = state.get::<Queue>() else { return lines };
    if queue.is_running() {
        let task = queue.task.as_deref().unwrap_or("no task given");
        lines.push(format!(
            "- a loop in .claude/state/loop/work_queue.json{}: {task}, iteration {}, {}",
            whose(queue.session_id.as_ref(), LoopKind::Queue, live, state),
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
        shell_word(&execution.tasks_path)
    )
}

fn autonomous_loop(live: &Live, state: &State) -> Vec<String> {
    let Some(found) = state.get::<Autonomous>().filter(|found| found.is_running()) else {
        return Vec::new();
    };
    let waits = if found.awaiting_approval { ", waits for a person's approval" } else { "" };
    let mut lines = vec![format!(
        "- an autonomous loop in {}{}: {}, phase {}, iteration {} of {}{waits}; `hookkeeper autonomous status` says more",
        Autonomous::doc(&()).path(),
        whose(found.session_id.as_ref(), LoopKind::Autonomous, live, state),
        clip(&found.feature, 300),
        clip(&found.phase, 40),
        found.iteration(),
        found.max_iterations
    )];
    let last = found.checkpoints.last();
    lines.extend(last.map(|last| {
        format!("  - last checkpoint ({}): {}", clip(&last.phase, 40), clip(&last.summary, 300))
    }));
    lines
}

fn branch_loop(live: &Live, turn: &Turn) -> Option<String> {
    if !LoopKind::Branch.is_on(&turn.context.settings.systems) {
        return None;
    }
    let own = record::own_record(turn.event, turn.state);
    let (key, branch) = checkout::of_loop(own, turn.state, turn.context)?;
    let the_loop = branch.running()?;
    // A switch in the middle of a session leaves the loop where it began.
    let here = checkout::current(turn.state, turn.context);
    let (name, elsewhere) = match here {
        Some(here) if here.key == *key => (&here.branch, String::new()),
        Some(here) => (&branch.branch, format!(" (the checkout is on {} now)", here.branch)),
        None => (&branch.branch, String::new()),
    };
    Some(format!(
        "- a loop of branch {name}{elsewhere} in {}{}: iteration {} of {}, complete with <promise>{}</promise>: {}",
        BranchState::doc(key).path(),
        whose(the_loop.session_id.as_ref(), LoopKind::Branch, live, turn.state),
        the_loop.iteration,
        the_loop.max_iterations,
        the_loop.completion_promise,
        clip(&the_loop.prompt, 500)
    ))
}

/// Where an open task stands, and what its log leaves to do. Not whether its unit is being confirmed:
/// that is not for the model to know.
fn iterative(live: &Live, turn: &Turn) -> Option<String> {
    let documents = crate::loops::iterative::drive::task(turn.event, turn.state, turn.context)?;
    if !documents.state.is_open() {
        return None;
    }
    // What another session works on is not this one's to go on with.
    let own = live.loop_task.as_deref() == Some(documents.slug.as_str());
    let owner = documents.state.session_id.as_ref().filter(|id| !own && **id != live.session_id);
    let owner_record = owner.and_then(|id| turn.state.get_by::<Live>(id));
    if owner_record.is_some_and(|owner| !turn.context.facts.is_gone(&owner.client)) {
        return None;
    }
    let (done, all) = documents.state.done();
    let mut line = format!(
        "- an iterative task in {}: {}, phase {}, {done} of {} done",
        documents.state_path(),
        clip(&documents.state.task, 200),
        documents.state.phase,
        plural(all, "unit"),
    );
    if let Some(id) = documents.state.current() {
        let unit = documents.state.unit(id).cloned().unwrap_or_default();
        line.push_str(&format!("; at work: {id} {}", clip(&unit.title, 200)));
        if let Some(left) = documents.log.remaining(id) {
            line.push_str(&format!("; remaining: {}", clip(left, 500)));
        }
    }
    let word = documents.slug.word();
    let adopt = owner.map(|owner| {
        format!(" Session {}, which drove it, has ended; to go on with it here: `hookkeeper iterative adopt {word}`.", short_id(owner, &[]))
    });
    let adopt = adopt.unwrap_or_default();
    Some(format!("{line}.{adopt} What to do now: `hookkeeper iterative next {word}`"))
}

fn running(live: &Live, context: Option<&Context>) -> Vec<String> {
    if live.agents.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("- {} still running:", plural(live.agents.len(), "agent"))];
    lines.extend(live.agents.iter().take(AGENTS).map(|agent| {
        let task = agent.task_text();
        let age = context.map(|context| time::age(&agent.started, context.now));
        let age = age.map(|age| format!(", for {}", time::human(age))).unwrap_or_default();
        format!("  - {} ({}): {task}{age}", agent.id, agent.kind)
    }));
    lines
}

fn open_errors(live: &Live, state: &State) -> Vec<String> {
    let errors = state.get::<Errors>().map(Errors::records).unwrap_or_default();
    let open: Vec<_> = errors
        .into_iter()
        .filter(|record| record.session_id == live.session_id)
        .filter(|record| matches!(record.status.as_str(), PENDING | ESCALATED))
        .collect();
    let mut lines = Vec::from_iter(earlier_errors(live));
    if open.is_empty() {
        return lines;
    }
    lines.push(format!("- {} unresolved:", plural(open.len(), "error")));
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

/// When a session ends its errors go from the state; they stay in its journal.
fn earlier_errors(live: &Live) -> Option<String> {
    let left = live.earlier.errors.total.saturating_sub(live.earlier.errors.recovered);
    (left > 0).then(|| {
        format!(
            "- {} from before it was resumed did not recover: `hookkeeper errors --session {}`",
            plural(left as usize, "error"),
            shell_word(&live.session_id)
        )
    })
}

fn findings(live: &Live, state: &State) -> Option<String> {
    let synthesis = synthesis::synthesis_of(live, state);
    if synthesis.findings.is_empty() {
        return None;
    }
    let place = match synthesis::kept_synthesis(live, state) {
        Some((_, doc)) => format!("in {}", doc.path()),
        None => format!("(`{}`)", agents_of(live)),
    };
    let worst = synthesis.findings.iter().take(5);
    let worst: Vec<String> =
        worst.map(|f| format!("{} {}", f.finding.severity, f.finding.title)).collect();
    Some(format!(
        "- {} of agents {place}: {}",
        plural(synthesis.findings.len(), "finding"),
        worst.join("; ")
    ))
}

fn files(live: &Live) -> String {
    let newest: Vec<&str> =
        live.files_modified.iter().rev().take(FILES).map(String::as_str).collect();
    format!("- {} modified: {}", plural(live.files_modified.len(), "file"), newest.join(", "))
}
