//! `hookkeeper agents`: who runs, who has finished, who may be stuck.

pub mod close;
pub mod stuck;

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::agents::agent::{Agent, LONGEST_NUDGE};
use crate::agents::result::{AgentResult, ArchivedResult};
use crate::branch::agents_document::BranchAgents;
use crate::console::project::{Project, print_json};
use crate::core::gate::one_line;
use crate::core::id::{BranchKey, FileStem};
use crate::core::outcome::Outcome;
use crate::core::table::{self, row};
use crate::core::text::{clip, in_parentheses, plural};
use crate::core::time::{self, Time};
use crate::session::live::Live;
use crate::session::metrics::Metrics;
use crate::session::record;
use crate::state::plan::Plan;
use crate::state::{Doc, Document};
use crate::store::view::View;

#[derive(clap::Args)]
pub struct Arguments {
    /// The agents of one session, finished ones too; from the archive if it has ended
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// One agent in full: what it was asked, what it found
    Show {
        /// An agent's id, or the beginning of it
        id: String,
    },
    /// Agents that run for long and have been silent for as long (`stuck_after_minutes`)
    Stuck,
    /// Strike off an agent that runs no more and that no session knows (`agents stuck` shows it)
    Close {
        /// An agent's id, or the beginning of it
        id: String,
    },
    /// Send a running agent a note; it reads it after its next tool call
    Nudge {
        /// An agent's id, or the beginning of it
        id: String,
        /// What to tell it
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        message: Option<String>,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    if let Some(What::Nudge { id, message }) = &options.what {
        return nudge(project, id, message.as_deref(), options.json);
    }
    if let Some(What::Close { id }) = &options.what {
        return close::run(project, id, options.json);
    }
    let Some(view) = project.view()? else {
        return match (&options.what, &options.session) {
            (Some(What::Show { id: named }), _) => bail!("there is no agent `{named}`"),
            (None, Some(named)) => bail!("there is no session `{named}`"),
            _ => Ok(Outcome::printed(if options.json {
                "[]"
            } else {
                "There is no state here yet."
            })),
        };
    };
    let now = project.process.now();
    match (&options.what, &options.session) {
        (Some(What::Show { id }), _) => show(&view, id, now, options.json),
        (Some(What::Stuck), _) => stuck::run(project, &view, options.json),
        (_, Some(session)) => of_session(&view, session, now, options.json),
        _ => {
            let lives = view.lives();
            let agents: Vec<&Agent> = lives.iter().flat_map(|live| &live.agents).collect();
            if options.json {
                return print_json(&agents);
            }
            let rows: Vec<_> = agents.iter().map(|agent| running(agent, now)).collect();
            let none = "No agent is running. Those of a session: hookkeeper agents --session ID";
            Ok(Outcome::printed(if rows.is_empty() { none.into() } else { table::align(&rows) }))
        }
    }
}

fn running(agent: &Agent, now: Time) -> Vec<String> {
    let task = agent.task.as_deref().unwrap_or("task not known yet");
    row![
        agent.id,
        agent.status,
        agent.kind,
        format!("for {}", time::human(time::age(&agent.started, now))),
        clip(task, 80),
    ]
}

fn finished(result: &AgentResult) -> Vec<String> {
    let task = result.task.as_deref().unwrap_or("task not known");
    row![
        result.agent_id,
        result.status,
        result.kind,
        format!("took {}", time::human(result.duration_seconds)),
        format!("{}: {}", plural(result.findings.len(), "finding"), clip(task, 80)),
    ]
}

/// Where the results of ended sessions are.
const ARCHIVE: &str = "state/agents/results-archive";

/// The results of live sessions and of these ended ones, by folder, in the order of their starts.
fn results(view: &View, archives: &[String]) -> Vec<AgentResult> {
    let state = view.state();
    let mut results: Vec<AgentResult> = state.all::<AgentResult>().cloned().collect();
    for session in archives {
        for name in view.names(&format!("{ARCHIVE}/{session}")) {
            let agent = name.strip_suffix(".json").filter(|agent| !FileStem::is_reserved(agent));
            let Some(agent) = agent else { continue };
            let doc = ArchivedResult::ROWS.first();
            let doc = doc.map(|row| Doc::new(row, format!("{session}/{agent}")));
            let read = doc.and_then(|doc| state.read_doc::<ArchivedResult>(doc).value);
            results.extend(read.map(|archived| archived.0.clone()));
        }
    }
    results.sort_by(|a, b| a.started.cmp(&b.started));
    results
}

fn of_session(view: &View, named: &str, now: Time, as_json: bool) -> anyhow::Result<Outcome> {
    let lives = view.lives();
    let mut known: Vec<String> = lives.iter().map(|live| live.session_id.clone()).collect();
    known.extend(
        view.get::<Metrics>()
            .unwrap_or_default()
            .newest(usize::MAX)
            .into_iter()
            .map(|e| e.session_id),
    );
    let session_id = &crate::console::project::one_of(named, &known, "session", "")?;
    let agents: Vec<&Agent> =
        lives.iter().filter(|l| l.session_id == *session_id).flat_map(|l| &l.agents).collect();
    let mut results = results(view, &[FileStem::from_id(session_id).as_str().to_owned()]);
    results.retain(|result| result.session_id == *session_id);
    if as_json {
        return print_json(
            &json!({"session_id": session_id, "running": agents, "finished": results}),
        );
    }
    let mut rows: Vec<_> = agents.iter().map(|agent| running(agent, now)).collect();
    rows.extend(results.iter().map(finished));
    let none = format!("{session_id}: no agents are known");
    Ok(Outcome::printed(if rows.is_empty() { none } else { table::align(&rows) }))
}

fn show(view: &View, named: &str, now: Time, as_json: bool) -> anyhow::Result<Outcome> {
    let running: Vec<Agent> = view.lives().into_iter().flat_map(|live| live.agents).collect();
    let finished = results(view, &view.names(ARCHIVE));
    let ids = running.iter().map(|agent| agent.id.clone());
    let ids: Vec<String> = ids.chain(finished.iter().map(|r| r.agent_id.clone())).collect();
    let id = crate::console::project::one_of(named, &ids, "agent", "")?;
    if let Some(agent) = running.iter().find(|agent| agent.id == id) {
        return if as_json { print_json(agent) } else { Ok(Outcome::printed(at_work(agent, now))) };
    }
    let result = finished.iter().find(|result| result.agent_id == id).context("it is gone")?;
    if as_json { print_json(result) } else { Ok(Outcome::printed(in_full(result))) }
}

fn at_work(agent: &Agent, now: Time) -> String {
    let mut out = format!(
        "{}  {}, {}, for {}, seen {} ago\n",
        agent.id,
        agent.kind,
        agent.status,
        time::human(time::age(&agent.started, now)),
        time::human(time::age(&agent.last_seen, now))
    );
    out.push_str(&format!(
        "task: {}\n",
        clip(agent.task.as_deref().unwrap_or("not known yet"), 200)
    ));
    out.push_str(&format!("session: {}\n", agent.session_id));
    if agent.nudge_count > 0 {
        out.push_str(&format!("nudged: {}\n", plural(agent.nudge_count as usize, "time")));
    }
    out
}

fn in_full(result: &AgentResult) -> String {
    let mut out = format!(
        "{}  {}, {}, took {}\n",
        result.agent_id,
        result.kind,
        result.status,
        time::human(result.duration_seconds)
    );
    out.push_str(&format!("task: {}\n", clip(result.task.as_deref().unwrap_or("not known"), 200)));
    out.push_str(&format!("session: {}\n", result.session_id));
    if let Some(tokens) = result.metrics.extra.get("tokens") {
        out.push_str(&format!("tokens: {tokens}\n"));
    }
    if !result.files_analyzed.is_empty() {
        out.push_str(&format!("files: {}\n", one_line(&result.files_analyzed.join(", "))));
    }
    for finding in &result.findings {
        let place = in_parentheses(finding.file.as_deref(), finding.line);
        out.push_str(&format!("{} {}{place}\n", finding.severity, clip(&finding.title, 200)));
        if !finding.recommendation.is_empty() {
            out.push_str(&format!("   {}\n", clip(&finding.recommendation, 200)));
        }
    }
    for recommendation in &result.recommendations {
        out.push_str(&format!("recommends: {}\n", clip(recommendation, 200)));
    }
    for (name, text) in [("asked", &result.prompt), ("its last message", &result.report)] {
        if let Some(text) = text {
            out.push_str(&format!("\n{name}:\n"));
            // Indented: none of its lines looks like one of ours.
            let lines = text.trim_end().lines();
            lines.for_each(|line| out.push_str(&format!("  {}\n", one_line(line))));
        }
    }
    out
}

fn nudge(
    project: &Project,
    named: &str,
    message: Option<&str>,
    as_json: bool,
) -> anyhow::Result<Outcome> {
    if message.is_some_and(|message| message.trim().is_empty()) {
        bail!("the message is empty");
    }
    // What a person types may hold a secret too.
    let redact = project.redactor()?;
    let message = message.map(|message| redact.text(message));
    let now = time::spell(project.process.now());
    let agent = project.change(|store, state| {
        let agents = state.all::<Live>().flat_map(|live| &live.agents);
        let ids: Vec<String> = agents.map(|agent| agent.id.clone()).collect();
        if ids.is_empty() {
            bail!("no agent is running");
        }
        let id = crate::console::project::one_of(named, &ids, "running agent", "")?;
        let mut plan = Plan::default();
        let mut live = state.all::<Live>().find(|live| live.agent(&id).is_some()).cloned();
        let live = live.as_mut().context("it is gone")?;
        let agent = live.agent_mut(&id).context("it is gone")?;
        let read = agent.branch.as_deref().and_then(BranchKey::known);
        let read = read.map(|key| state.read::<BranchAgents>(&key));
        let mut document = read.as_ref().and_then(|read| read.value.cloned()).unwrap_or_default();
        if read.is_some() {
            // The branch's document counts over all runs of an agent.
            agent.nudge_count = document.nudge(agent, &now) - 1;
        }
        agent.nudge(message.as_deref(), &now);
        let nudged = agent.clone();
        record::put_with_copies(&mut plan, live, state);
        if let Some(read) = &read {
            plan.put(read, &document);
        }
        store.commit(&plan.changes, state)?;
        Ok(nudged)
    })?;
    if as_json {
        return print_json(&agent);
    }
    let cut = message.is_some_and(|message| message.chars().count() > LONGEST_NUDGE);
    Ok(Outcome::printed(format!(
        "{}: nudged ({}). It reads the note after its next tool call{}.",
        agent.id,
        plural(agent.nudge_count as usize, "time"),
        if cut { ", the first 1000 characters of it" } else { "" }
    )))
}
