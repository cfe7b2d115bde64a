//! `hookkeeper agents`: who runs, who has finished, who may be stuck.

pub mod close;
pub mod list;
pub mod stuck;

use anyhow::{Context as _, bail};

use crate::agents::agent::{Agent, LONGEST_NUDGE};
use crate::agents::result::AgentResult;
use crate::branch::agents_document::BranchAgents;
use crate::console::project::{Project, print_json, unknown};
use crate::console::usage::usage;
use crate::core::gate::one_line;
use crate::core::id::BranchKey;
use crate::core::outcome::Outcome;
use crate::core::text::{clip, in_parentheses, plural};
use crate::core::time;
use crate::history::agents::{UNKNOWN, kept_results};
use crate::session::live::Live;
use crate::session::record;
use crate::session::record::lives;
use crate::state::plan::Plan;
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
    #[command(after_help = "Example:\n  hookkeeper agents show a1b2")]
    Show {
        /// An agent's id, or the beginning of it
        id: String,
    },
    /// Agents that run for long and have been silent for as long (`stuck_after_minutes`)
    #[command(after_help = "Example:\n  hookkeeper agents stuck")]
    Stuck,
    /// Strike off an agent that runs no more and that no session knows (`agents stuck` shows it)
    #[command(after_help = "Example:\n  hookkeeper agents close a1b2")]
    Close {
        /// An agent's id, or the beginning of it
        id: String,
    },
    /// Send a running agent a note; it reads it after its next tool call
    #[command(after_help = "Example:\n  hookkeeper agents nudge a1b2 --message 'How far are you?'")]
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
            (Some(What::Show { id: named }), _) => bail!(unknown("agent", named)),
            (None, Some(named)) => bail!(unknown("session", named)),
            _ if options.json => Ok(Outcome::printed("[]")),
            _ => Ok(Outcome::printed(project.no_state_here()?)),
        };
    };
    match (&options.what, &options.session) {
        (Some(What::Show { id }), _) => show(project, &view, id, options.json),
        (Some(What::Stuck), _) => stuck::run(project, &view, options.json),
        (_, Some(session)) => list::of_session(project, &view, session, options.json),
        _ => list::running(project, &view, options.json),
    }
}

fn show(project: &Project, view: &View, named: &str, as_json: bool) -> anyhow::Result<Outcome> {
    let running: Vec<Agent> = lives(view).into_iter().flat_map(|live| live.agents).collect();
    let finished = kept_results(view, None);
    let ids = running.iter().map(|agent| agent.id.clone());
    let ids: Vec<String> = ids.chain(finished.iter().map(|r| r.agent_id.clone())).collect();
    let id = crate::console::project::one_of(named, &ids, "agent", "")?;
    if let Some(agent) = running.iter().find(|agent| agent.id == id) {
        return if as_json {
            print_json(agent)
        } else {
            Ok(Outcome::printed(at_work(project, agent)))
        };
    }
    let result = finished.iter().find(|result| result.agent_id == id).context("it is gone")?;
    if as_json { print_json(result) } else { Ok(Outcome::printed(in_full(project, result))) }
}

fn at_work(project: &Project, agent: &Agent) -> String {
    let now = project.process.now();
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
    out.push_str(&format!("started: {}\n", project.date_and_time(&agent.started)));
    out.push_str(&format!("session: {}\n", agent.session_id));
    out.push_str(&started_by(agent.parent_agent.as_deref(), agent.workflow.as_deref()));
    if agent.nudge_count > 0 {
        out.push_str(&format!("nudged: {}\n", plural(agent.nudge_count as usize, "time")));
    }
    out
}

fn in_full(project: &Project, result: &AgentResult) -> String {
    let took = match result.status.as_str() {
        UNKNOWN => "nobody knows how it ended".to_owned(),
        _ => format!("took {}", time::duration_of_seconds(result.duration_seconds)),
    };
    let mut out = format!("{}  {}, {}, {took}\n", result.agent_id, result.kind, result.status);
    out.push_str(&format!("task: {}\n", clip(result.task.as_deref().unwrap_or("not known"), 200)));
    let mut when = project.date_and_time(&result.started);
    if !result.completed.is_empty() {
        when = format!("{when} to {}", project.date_and_time(&result.completed));
    }
    out.push_str(&format!("when: {when}\n"));
    out.push_str(&format!("session: {}\n", result.session_id));
    out.push_str(&started_by(result.parent_agent.as_deref(), result.workflow.as_deref()));
    if let Some(tokens) = result.metrics.extra.get("tokens") {
        out.push_str(&format!(
            "context of its last answer: {tokens} tokens (all that it used: hookkeeper cost --by agent)\n"
        ));
    }
    if !result.files_analyzed.is_empty() {
        out.push_str(&format!("files: {}\n", one_line(&result.files_analyzed.join(", "))));
    }
    if !result.files_modified.is_empty() {
        out.push_str(&format!("changed: {}\n", one_line(&result.files_modified.join(", "))));
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

fn started_by(agent: Option<&str>, workflow: Option<&str>) -> String {
    match (agent, workflow) {
        (Some(agent), _) => format!("started by: agent {}\n", one_line(agent)),
        (None, Some(workflow)) => format!("started by: workflow {}\n", one_line(workflow)),
        (None, None) => String::new(),
    }
}

fn nudge(
    project: &Project,
    named: &str,
    message: Option<&str>,
    as_json: bool,
) -> anyhow::Result<Outcome> {
    if message.is_some_and(|message| message.trim().is_empty()) {
        bail!(usage("the message is empty"));
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
