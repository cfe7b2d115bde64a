//! `hookkeeper branch show` and `plan`: where a branch stands, on one page.

use serde_json::json;

use crate::branch::tracked::Tracked;
use crate::client::plan_file::PlanFile;
use crate::client::todos::Todo;
use crate::commands::branch::standing::{self, Branch};
use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::table::{self, clean, row};
use crate::core::time::{self, Time};
use crate::handoff;

/// Lines of the plan on the page; `branch plan` has more.
const PLAN: usize = 6;
const TODOS: usize = 30;
/// Finished agents on the page, the newest.
const FINISHED: usize = 5;
/// How far the values stand from the left.
const INDENT: usize = 12;

pub fn run(
    project: &Project,
    named: Option<&str>,
    session: Option<&str>,
    as_json: bool,
) -> anyhow::Result<Outcome> {
    let name = standing::name(project, named)?;
    let branch = standing::read(project, &name, session)?;
    if as_json {
        return print_json(&as_value(&branch));
    }
    Ok(Outcome::printed(page(&branch, project.process.now())))
}

/// The branch's plan as far as it is previewed.
pub fn plan(project: &Project, named: Option<&str>, as_json: bool) -> anyhow::Result<Outcome> {
    let name = standing::name(project, named)?;
    let branch = standing::read(project, &name, None)?;
    let plan = branch.standing.plan;
    if as_json {
        return print_json(&json!({"branch": name, "plan": plan.unwrap_or_default()}));
    }
    let Some(PlanFile { file: Some(file), preview, .. }) = plan else {
        anyhow::bail!(
            "branch {name} has no plan; one would be .claude/plans/{}.md",
            branch.key.as_str()
        );
    };
    let lines: Vec<String> = preview.unwrap_or_default().lines().map(visible).collect();
    Ok(Outcome::printed(format!("{file}\n\n{}", lines.join("\n"))))
}

fn as_value(branch: &Branch) -> serde_json::Value {
    let standing = &branch.standing;
    let silent = |id: &str| branch.silent.iter().find(|(known, _)| known == id).map(|(_, s)| *s);
    let agents: Vec<_> = standing
        .agents
        .iter()
        .map(|agent| json!({"agent": agent, "silent_seconds": silent(&agent.id)}))
        .collect();
    let handoffs: Vec<String> =
        branch.handoffs.iter().map(|file| branch.handoff_path(file)).collect();
    json!({
        "branch": standing.branch,
        "folder": format!(".claude/branches/{}", branch.key.as_str()),
        "state": standing.state,
        "plan": standing.plan,
        "todos": standing.todos,
        "agents": agents,
        "stats": branch.stats,
        "handoffs": handoffs,
        "next": next(branch),
    })
}

/// What the state would do next; where it knows of nothing, what the newest open hand-off asks for.
fn next(branch: &Branch) -> String {
    let next = handoff::next(&branch.standing);
    let open = branch.handoffs.iter().rev().find(|file| file.is_open());
    let Some(open) = open.filter(|_| next == handoff::NOTHING_OPEN) else { return next };
    let step = open.next.as_deref().filter(|step| *step != handoff::NOTHING_OPEN);
    match step.or(open.title.as_deref()) {
        Some(step) => format!("{step} (hand-off {})", open.stem()),
        None => format!("Read the hand-off {}", branch.handoff_path(open)),
    }
}

fn page(branch: &Branch, now: Time) -> String {
    let standing = &branch.standing;
    let state = &standing.state;
    let mut page = Page(String::new());
    page.put("branch", &standing.branch);
    page.continue_row(&format!(".claude/branches/{}", branch.key.as_str()));
    if let Some(at) = &state.compacted_at {
        let of = state.session.as_deref().unwrap_or("an unknown session");
        let ago = time::human(time::age(at, now));
        page.put("saved", &format!("{ago} ago, before a compaction of session {of}"));
    }
    // A live session knows better than what was saved.
    let live = standing.live.as_ref().and_then(|live| live.workflow.as_ref());
    let workflow = live.or(state.workflow.as_ref());
    if let Some((workflow, command)) = workflow.and_then(|w| Some((w, w.spelled()?))) {
        let phase = workflow.phase.as_deref().unwrap_or("phase unknown");
        page.put("workflow", &format!("{command} ({phase})"));
    }
    plan_lines(&mut page, standing.plan.as_ref());
    todo_lines(&mut page, &standing.todos);
    loop_lines(&mut page, branch);
    agent_lines(&mut page, branch, now);
    let open = branch.handoffs.iter().filter(|file| file.is_open()).count();
    match branch.handoffs.as_slice() {
        [] => page.put("hand-offs", "none"),
        [only] => {
            page.put("hand-offs", &format!("1, {}: {}", only.status, branch.handoff_path(only)));
        }
        [.., last] => {
            let (all, last) = (branch.handoffs.len(), branch.handoff_path(last));
            page.put("hand-offs", &format!("{all}, {open} open, the last one: {last}"));
        }
    }
    page.put("next", &next(branch));
    page.0
}

fn plan_lines(page: &mut Page, plan: Option<&PlanFile>) {
    let Some(file) = plan.and_then(|plan| plan.file.as_ref()) else {
        return page.put("plan", "none");
    };
    page.put("plan", file);
    let preview = plan.and_then(|plan| plan.preview.as_deref()).unwrap_or_default();
    let lines: Vec<&str> = preview.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in lines.iter().take(PLAN) {
        page.indented(&visible(line));
    }
    if lines.len() > PLAN {
        page.indented("…  (hookkeeper branch plan)");
    }
}

fn todo_lines(page: &mut Page, todos: &[Todo]) {
    if todos.is_empty() {
        return page.put("todos", "none");
    }
    let done = todos.iter().filter(|todo| todo.is_done()).count();
    page.put("todos", &format!("{done} of {} done", todos.len()));
    let rows = todos.iter().take(TODOS).map(|todo| {
        let status = if todo.is_done() { "done".to_owned() } else { todo.status.replace('_', " ") };
        row![status, todo.content]
    });
    page.table(&rows.collect::<Vec<_>>());
    if todos.len() > TODOS {
        page.indented(&format!("and {} more", todos.len() - TODOS));
    }
}

fn loop_lines(page: &mut Page, branch: &Branch) {
    let Some(the_loop) = &branch.standing.state.the_loop else {
        return page.put("loop", "none");
    };
    let at = format!("iteration {} of {}", the_loop.iteration, the_loop.max_iterations);
    let how =
        match (&the_loop.ending.verdict, &the_loop.ending.verdict_reason, &the_loop.session_id) {
            (Some(verdict), Some(why), _) => format!("{verdict}: {why}"),
            (Some(verdict), None, _) => verdict.clone(),
            (None, _, _) if !the_loop.active => "not active".into(),
            (None, _, Some(session)) => format!("driven by session {session}"),
            (None, _, None) => "driven by nobody yet".into(),
        };
    page.put("loop", &format!("{at}, {how}"));
    page.indented(&clean(&the_loop.prompt));
    if the_loop.is_running() {
        page.indented(&format!(
            "complete with <promise>{}</promise>",
            clean(&the_loop.completion_promise)
        ));
    }
}

fn agent_lines(page: &mut Page, branch: &Branch, now: Time) {
    let stats = &branch.stats;
    if stats.total_spawned == 0 && branch.standing.agents.is_empty() {
        return page.put("agents", "none");
    }
    let (open, ended): (Vec<&Tracked>, Vec<&Tracked>) =
        branch.standing.agents.iter().partition(|agent| agent.is_open());
    let stuck = if stats.stuck > 0 { format!(" ({} stuck)", stats.stuck) } else { String::new() };
    page.put(
        "agents",
        &format!(
            "{} spawned: {} completed, {} failed, {} running{stuck}",
            stats.total_spawned,
            stats.completed,
            stats.failed,
            open.len()
        ),
    );
    let skip = ended.len().saturating_sub(FINISHED);
    let rows = open.into_iter().chain(ended.into_iter().skip(skip)).map(|agent| {
        let quiet = branch.silent.iter().find(|(id, _)| *id == agent.id);
        let when = match (quiet, &agent.completed_at) {
            (Some((_, quiet)), _) => {
                format!("for {}, silent {}", time::human(agent.age(now)), time::human(*quiet))
            }
            (None, Some(at)) => format!("{} ago", time::human(time::age(at, now))),
            (None, None) => String::new(),
        };
        let task = agent.description.as_deref().unwrap_or("task not known");
        let nudged = if agent.nudge_count > 0 {
            format!(", nudged {}x", agent.nudge_count)
        } else {
            String::new()
        };
        row![agent.id, agent.status, agent.kind, format!("{when}{nudged}"), task]
    });
    page.table(&rows.collect::<Vec<_>>());
}

/// Names on the left, values in a column beside them.
struct Page(String);

impl Page {
    fn put(&mut self, name: &str, value: &str) {
        self.0.push_str(&format!("{name:INDENT$}{}\n", clean(value)));
    }

    fn continue_row(&mut self, value: &str) {
        self.put("", value);
    }

    fn indented(&mut self, line: &str) {
        self.0.push_str(&format!("{:INDENT$}  {line}\n", ""));
    }

    fn table(&mut self, rows: &[Vec<String>]) {
        for line in table::align(rows).lines() {
            self.indented(line);
        }
    }
}

/// A line as it stands, without anything that a terminal obeys.
fn visible(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", " ".repeat(indent), clean(line))
}
