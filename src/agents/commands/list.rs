//! `hookkeeper agents` and `agents --session ID`: who runs and who has finished, below those that
//! started them.

use serde_json::json;

use crate::agents::agent::Agent;
use crate::agents::commands::results;
use crate::agents::result::AgentResult;
use crate::agents::tree::{Node, arrange, indented};
use crate::agents::workflow_run::WorkflowRun;
use crate::console::project::{one_of, print_json};
use crate::core::id::FileStem;
use crate::core::outcome::Outcome;
use crate::core::table::{self, row};
use crate::core::text::{clip, plural};
use crate::core::time::{self, Time};
use crate::session::metrics::Metrics;
use crate::store::view::View;

/// The agents of all live sessions.
pub fn running(view: &View, now: Time, as_json: bool) -> anyhow::Result<Outcome> {
    let lives = view.lives();
    let agents: Vec<&Agent> = lives.iter().flat_map(|live| &live.agents).collect();
    if as_json {
        return print_json(&agents);
    }
    let runs = lives.iter().flat_map(|live| &live.workflow_runs);
    let entries = runs.map(Entry::Workflow).chain(agents.into_iter().map(Entry::Running));
    let none = "No agent is running. Those of a session: hookkeeper agents --session ID";
    Ok(print(&entries.collect::<Vec<_>>(), none, now))
}

/// The agents of one session, finished ones too.
pub fn of_session(view: &View, named: &str, now: Time, as_json: bool) -> anyhow::Result<Outcome> {
    let lives = view.lives();
    let mut known: Vec<String> = lives.iter().map(|live| live.session_id.clone()).collect();
    let ended = view.get::<Metrics>().unwrap_or_default().newest(usize::MAX);
    known.extend(ended.into_iter().map(|entry| entry.session_id));
    let session_id = &one_of(named, &known, "session", "")?;
    let live = lives.iter().find(|live| live.session_id == *session_id);
    let agents: Vec<&Agent> = live.into_iter().flat_map(|live| &live.agents).collect();
    let mut results = results(view, &[FileStem::from_id(session_id).as_str().to_owned()]);
    results.retain(|result| result.session_id == *session_id);
    if as_json {
        return print_json(
            &json!({"session_id": session_id, "running": agents, "finished": results}),
        );
    }
    let runs = live.into_iter().flat_map(|live| &live.workflow_runs).map(Entry::Workflow);
    let entries = runs.chain(agents.into_iter().map(Entry::Running));
    // Who was taken up again runs: what the run before left is in its result.
    let runs_again = |id: &str| live.is_some_and(|live| live.agent(id).is_some());
    let finished = results.iter().filter(|result| !runs_again(&result.agent_id));
    let entries: Vec<Entry> = entries.chain(finished.map(Entry::Finished)).collect();
    Ok(print(&entries, &format!("{session_id}: no agents are known"), now))
}

/// One line of the list.
enum Entry<'a> {
    Workflow(&'a WorkflowRun),
    Running(&'a Agent),
    Finished(&'a AgentResult),
}

impl Node for Entry<'_> {
    fn id(&self) -> &str {
        match self {
            Self::Workflow(run) => &run.id,
            Self::Running(agent) => agent.id(),
            Self::Finished(result) => result.id(),
        }
    }

    fn parent(&self) -> Option<&str> {
        match self {
            Self::Workflow(_) => None,
            Self::Running(agent) => agent.parent(),
            Self::Finished(result) => result.parent(),
        }
    }
}

fn print(entries: &[Entry], none: &str, now: Time) -> Outcome {
    let nodes: Vec<&Entry> = entries.iter().collect();
    let placed = arrange(&nodes).into_iter();
    let rows = placed.filter_map(|(at, depth)| {
        let mut row = as_row(entries.get(at)?, now);
        if let Some(id) = row.first_mut() {
            *id = indented(id, depth);
        }
        Some(row)
    });
    let rows: Vec<_> = rows.collect();
    Outcome::printed(if rows.is_empty() { none.to_owned() } else { table::align(&rows) })
}

fn as_row(entry: &Entry, now: Time) -> Vec<String> {
    match entry {
        Entry::Workflow(run) => {
            let texts = run.name.iter().chain(&run.task).map(String::as_str);
            let says = clip(&texts.collect::<Vec<_>>().join(": "), 80);
            let age = format!("for {}", time::human(time::age(&run.started, now)));
            row![run.id, "running", "workflow", age, says]
        }
        Entry::Running(agent) => running_row(agent, now),
        Entry::Finished(result) => {
            let task = result.task.as_deref().unwrap_or("task not known");
            row![
                result.agent_id,
                result.status,
                result.kind,
                format!("took {}", time::human(result.duration_seconds)),
                format!("{}: {}", plural(result.findings.len(), "finding"), clip(task, 80)),
            ]
        }
    }
}

pub fn running_row(agent: &Agent, now: Time) -> Vec<String> {
    row![
        agent.id,
        agent.status,
        agent.kind,
        format!("for {}", time::human(time::age(&agent.started, now))),
        clip(agent.task_text(), 80),
    ]
}
