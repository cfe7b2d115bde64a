//! What the sections of a hand-off say, line by line.

use crate::branch::tracked::{STUCK, Tracked};
use crate::core::text::{clip, in_parentheses, plural};
use crate::errors::document::{ESCALATED, PENDING, Record};
use crate::handoff::{Kind, LONGEST, Standing};
use crate::loops::queue::document::Item;

pub fn title(kind: Kind, standing: &Standing) -> String {
    let task = standing.live.as_ref().and_then(|live| live.task.as_deref());
    let prompt = standing.state.the_loop.as_ref().map(|the_loop| the_loop.prompt.as_str());
    let what = task.or(prompt).map(|text| clip(text, 100));
    let kind = match kind {
        Kind::Task => "Task",
        Kind::Triage => "Triage",
        Kind::Session => "Session",
        Kind::Blocked => "Blocked",
    };
    format!("{kind}: {}", what.unwrap_or_else(|| format!("branch {}", standing.branch)))
}

pub fn done(standing: &Standing) -> Vec<String> {
    let todos = standing.todos.iter().filter(|todo| todo.is_done());
    let mut lines: Vec<String> = todos.map(|todo| format!("[x] {}", todo.content)).collect();
    lines.extend(standing.commits.iter().map(|commit| format!("commit {commit}")));
    let items = standing.queue.items.iter().filter(|item| !item.is_open());
    lines.extend(items.map(item_line));
    let ended = standing.agents.iter().filter(|agent| !agent.is_open() && is_own(agent, standing));
    lines.extend(ended.map(|agent| {
        let said = agent.result.as_deref().unwrap_or("nothing said");
        format!("agent {} ({}), {}: {said}", agent.id, task(agent), agent.status)
    }));
    lines
}

pub fn open(standing: &Standing) -> Vec<String> {
    let todos = standing.todos.iter().filter(|todo| !todo.is_done());
    let mut lines: Vec<String> = todos
        .map(|todo| match todo.status.as_str() {
            "in_progress" => format!("[ ] {} (in progress)", todo.content),
            _ => format!("[ ] {}", todo.content),
        })
        .collect();
    lines.extend(standing.queue.open().into_iter().map(item_line));
    if let Some(the_loop) = standing.state.running() {
        lines.push(format!(
            "loop, iteration {} of {}, complete with <promise>{}</promise>: {}",
            the_loop.iteration,
            the_loop.max_iterations,
            the_loop.completion_promise,
            clip(&the_loop.prompt, LONGEST)
        ));
    }
    let agents = standing.agents.iter().filter(|agent| agent.is_open());
    lines.extend(
        agents.map(|agent| format!("agent {} ({}): {}", agent.id, task(agent), agent.status)),
    );
    lines.extend(standing.errors.iter().map(error_line));
    lines
}

pub fn files(standing: &Standing) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let plan = standing.plan.as_ref().and_then(|plan| plan.file.as_ref());
    lines.extend(plan.map(|file| format!("{file} (the plan)")));
    let modified = standing.live.as_ref().map(|live| live.files_modified.as_slice());
    lines.extend(modified.unwrap_or_default().iter().rev().cloned());
    lines
}

pub fn blockers(standing: &Standing) -> Vec<String> {
    let escalated = standing.errors.iter().filter(|error| error.status == ESCALATED);
    let mut lines: Vec<String> = escalated.map(error_line).collect();
    let stuck = standing.agents.iter().filter(|agent| agent.status == STUCK);
    lines.extend(stuck.map(|agent| format!("agent {} ({}) is stuck", agent.id, task(agent))));
    let failing = if standing.queue.is_running() { standing.queue.failing() } else { Vec::new() };
    lines.extend(failing.into_iter().map(|gate| format!("gate {gate} does not pass")));
    let ended = standing.state.the_loop.as_ref().filter(|the_loop| !the_loop.is_running());
    if let Some(verdict) = ended.and_then(|the_loop| the_loop.ending.verdict.as_deref())
        && verdict != "complete"
    {
        lines.push(format!("the loop is {verdict}"));
    }
    lines
}

pub fn findings(standing: &Standing) -> Vec<String> {
    let found = standing.synthesis.iter().flat_map(|synthesis| &synthesis.findings);
    let lines = found.map(|merged| {
        let finding = &merged.finding;
        let place = in_parentheses(finding.file.as_deref(), finding.line);
        format!("{} {}{place}", finding.severity, finding.title)
    });
    lines.chain(standing.errors.iter().map(error_line)).collect()
}

pub fn session(standing: &Standing) -> Vec<String> {
    let Some(live) = &standing.live else { return Vec::new() };
    let mut lines = vec![format!("{}, since {}", live.session_id, live.started)];
    lines.extend(live.task.as_ref().map(|task| format!("task: {task}")));
    lines.extend(
        live.workflow.as_ref().and_then(|w| w.spelled()).map(|c| format!("last command: {c}")),
    );
    lines.push(format!(
        "{} ({} completed, {} failed), {} ({} recovered), {}",
        plural(live.agents_spawned as usize, "agent"),
        live.agents_completed,
        live.agents_failed,
        plural(live.errors_encountered as usize, "error"),
        live.errors_recovered,
        plural(live.compactions as usize, "compaction"),
    ));
    lines
}

fn is_own(agent: &Tracked, standing: &Standing) -> bool {
    standing.session.is_none() || agent.session_id == standing.session
}

fn task(agent: &Tracked) -> String {
    clip(agent.description.as_deref().unwrap_or("task not known"), 120)
}

pub fn item_line(item: &Item) -> String {
    format!("{} {} {} ({})", item.id, item.priority, item.title, item.status)
}

fn error_line(error: &Record) -> String {
    let what = if error.status == PENDING { "to be tried again" } else { error.status.as_str() };
    format!("error, {what}: {} {}", error.classification, error.target)
}
