//! `hookkeeper agents` and `agents --session ID`: who runs and who has finished, below those that
//! started them.

use serde_json::json;

use crate::agents::agent::Agent;
use crate::agents::result::AgentResult;
use crate::agents::tree::{Node, arrange, indented};
use crate::agents::workflow_run::WorkflowRun;
use crate::console::project::{Project, one_of, print_json};
use crate::core::outcome::Outcome;
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::plural;
use crate::core::time;
use crate::history::agents::{UNKNOWN, kept_results};
use crate::history::sessions::{ended_sessions, known_ids};
use crate::session::record::lives;
use crate::store::journal;
use crate::store::view::View;

/// The agents of all live sessions.
pub fn running(project: &Project, view: &View, as_json: bool) -> anyhow::Result<Outcome> {
    let lives = lives(view);
    let agents: Vec<&Agent> = lives.iter().flat_map(|live| &live.agents).collect();
    if as_json {
        return print_json(&agents);
    }
    let runs = lives.iter().flat_map(|live| &live.workflow_runs);
    let entries = runs.map(Entry::Workflow).chain(agents.into_iter().map(Entry::Running));
    let none = "No agent is running. Those of a session: hookkeeper agents --session ID";
    Ok(print(project, &entries.collect::<Vec<_>>(), none))
}

/// The agents of one session, finished ones too.
pub fn of_session(
    project: &Project,
    view: &View,
    named: &str,
    as_json: bool,
) -> anyhow::Result<Outcome> {
    let lives = lives(view);
    let session_id = &one_of(named, &known_ids(view, &ended_sessions(view)), "session", "")?;
    let live = lives.iter().find(|live| live.session_id == *session_id);
    let agents: Vec<&Agent> = live.into_iter().flat_map(|live| &live.agents).collect();
    let results = kept_results(view, Some(&journal::stem(session_id)));
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
    Ok(print(project, &entries, &format!("{session_id}: no agents are known")))
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

fn print(project: &Project, entries: &[Entry], none: &str) -> Outcome {
    if entries.is_empty() {
        return Outcome::printed(none);
    }
    let nodes: Vec<&Entry> = entries.iter().collect();
    let placed = arrange(&nodes).into_iter();
    let rows = placed.filter_map(|(at, depth)| Some(as_row(project, entries.get(at)?, depth)));
    let columns = [
        ("AGENT", 0),
        ("STATUS", 1),
        ("TYPE", 3),
        ("STARTED", 4),
        ("TIME", 2),
        ("FOUND", 2),
        ("TASK", 0),
    ];
    let table = Table::with_head(&columns, rows.collect());
    Outcome::printed(project.print_table(&table).trimmed())
}

fn as_row(project: &Project, entry: &Entry, depth: usize) -> Vec<Cell> {
    let now = project.process.now();
    let age = |started: &str| format!("for {}", time::human(time::age(started, now)));
    let row = |id: &str, status: (Tone, &str), kind: &str, started: &str, rest: [String; 3]| {
        let [time, found, task] = rest;
        vec![
            Cell::new(Tone::Id, &indented(id, depth)),
            Cell::new(status.0, status.1),
            Cell::new(Tone::Plain, kind),
            Cell::new(Tone::Dim, &project.short_moment(started)),
            Cell::new(Tone::Dim, &time),
            Cell::new(Tone::Plain, &found),
            Cell::new(Tone::Plain, &task),
        ]
    };
    match entry {
        Entry::Workflow(run) => {
            let texts = run.name.iter().chain(&run.task).map(String::as_str);
            let says = texts.collect::<Vec<_>>().join(": ");
            let rest = [age(&run.started), String::new(), says];
            row(&run.id, (Tone::Plain, "running"), "workflow", &run.started, rest)
        }
        Entry::Running(agent) => {
            let rest = [age(&agent.started), String::new(), agent.task_text().to_owned()];
            row(&agent.id, (Tone::Plain, &agent.status), &agent.kind, &agent.started, rest)
        }
        Entry::Finished(result) => {
            let tone = if result.succeeded() { Tone::Good } else { Tone::Warn };
            let took = match result.status.as_str() {
                UNKNOWN => String::new(),
                _ => format!("took {}", time::duration_of_seconds(result.duration_seconds)),
            };
            let found = plural(result.findings.len(), "finding");
            let task = result.task.as_deref().unwrap_or("task not known").to_owned();
            let rest = [took, found, task];
            row(&result.agent_id, (tone, &result.status), &result.kind, &result.started, rest)
        }
    }
}
