//! `hookkeeper cost`: tokens and dollars, by session, agent, branch, day or model.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::agents::result::AgentResult;
use crate::client::prices;
use crate::console::project::{Project, print_json};
use crate::core::gate::{Printed, one_line};
use crate::core::journal::EntryKind;
use crate::core::outcome::Outcome;
use crate::core::spelling::{distinct, short_count, short_id};
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::{clip, plural};
use crate::history::commands::collected::{self, Collected};
use crate::history::commands::day_since;
use crate::history::ledger::{self, Asked, Ledger, Session, Sum};
use crate::store::journal;
use crate::store::journal::read::Order;
use crate::store::view::View;

#[derive(clap::Args)]
pub struct Arguments {
    /// What each line is about (default: session; with --all-projects: project)
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,
    /// Not what was before: 7d, 30d, or a local date; counted by whole days in UTC
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Of all projects where HookKeeper has kept state; linked worktrees count with their checkout
    #[arg(long)]
    all_projects: bool,
    /// How many lines; 0: all. JSON and CSV have all
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// Print one JSON object
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum By {
    Session,
    Agent,
    Branch,
    Day,
    Model,
    Project,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Agent => "agent",
            Self::Branch => "branch",
            Self::Day => "day",
            Self::Model => "model",
            Self::Project => "project",
        }
    }
}

/// One line.
struct Line {
    name: String,
    /// What a session or an agent was about.
    about: String,
    /// The session of an agent.
    session: Option<String>,
    /// The project of a session or an agent, where all projects are asked for.
    project: Option<String>,
    sum: Sum,
}

const MAIN_THREAD: &str = "main thread";
/// Of sessions whose journal is gone, or of versions that did not keep it.
const NOT_APART: &str = "agents not told apart";
const NO_BRANCH: &str = "no branch known";

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let since = day_since(project, options.since.as_deref())?;
    let default = if options.all_projects { By::Project } else { By::Session };
    let by = options.by.unwrap_or(default);
    let asked = Asked { since: since.as_deref(), agents: by == By::Agent };
    let found = match options.all_projects {
        true => collected::of_all_projects(project, asked),
        false => collected::of_project(project, asked)?,
    };
    let ledger = &found.ledger;
    let mut lines = lines(&found, by);
    if !options.all_projects {
        lines.iter_mut().for_each(|line| line.project = None);
    }
    let total = ledger::total(&ledger.sessions);
    if options.json {
        let lines: Vec<Value> = lines.iter().map(|line| line.to_json(by)).collect();
        return print_json(&json!({
            "by": by.name(), "since": since, "prices_as_of": prices::AS_OF,
            "lines": lines, "total": sum_json(&total),
            "sessions_without_usage": without_usage(ledger), "damaged_lines": ledger.damaged,
            "unread_projects": found.unread,
        }));
    }
    if options.csv {
        return Ok(Outcome::printed(csv(&lines, by)));
    }
    if lines.is_empty() && without_usage(ledger) == 0 && found.unread.is_empty() {
        return Ok(Outcome::printed(match since {
            Some(day) => format!("No session has used anything since {day}."),
            None => project.nothing_here("No session is known yet.")?,
        }));
    }
    let ids = session_ids(&found);
    let mut out = table(project, &lines, &total, (by, options.limit), &ids);
    for note in notes(&found, &total, since.as_deref()) {
        out.line(note);
    }
    Ok(Outcome::printed(out.trimmed()))
}

fn lines(found: &Collected, by: By) -> Vec<Line> {
    let sessions = &found.ledger.sessions;
    let mut lines: Vec<Line> = match by {
        By::Session => {
            let counted = sessions.iter().filter(|session| !session.usage.is_empty());
            return counted.map(|session| session_line(found, session)).collect();
        }
        By::Agent => agent_lines(found),
        By::Branch => named(ledger::sums_by(sessions, |session, _| {
            session.entry.git_branch.clone().unwrap_or_else(|| NO_BRANCH.to_owned())
        })),
        By::Project => named(ledger::sums_by(sessions, |session, _| {
            found.place(session).unwrap_or_default().to_owned()
        })),
        By::Model => named(ledger::sums_by(sessions, |_, row| row.model.clone())),
        By::Day => {
            let mut days = named(ledger::sums_by(sessions, |_, row| row.day.clone()));
            days.reverse();
            return days;
        }
    };
    let size = |line: &Line| {
        let tokens = line.sum.cost.tokens.as_ref().map_or(0, |tokens| tokens.sum());
        ((line.sum.cost.usd.unwrap_or(0.0) * 1e6) as u64, tokens)
    };
    lines.sort_by_key(|line| Reverse(size(line)));
    lines
}

fn session_line(found: &Collected, session: &Session) -> Line {
    let mut sum = Sum::default();
    sum.add_whole(session);
    let about = session.entry.title().unwrap_or_default().to_owned();
    let project = found.place(session).map(str::to_owned);
    Line { name: session.entry.session_id.clone(), about, session: None, project, sum }
}

fn named(sums: BTreeMap<String, Sum>) -> Vec<Line> {
    let line = |(name, sum)| Line { name, about: String::new(), session: None, project: None, sum };
    sums.into_iter().map(line).collect()
}

fn agent_lines(found: &Collected) -> Vec<Line> {
    // Ids of agents are their session's.
    let sums = ledger::sums_by(&found.ledger.sessions, |session, row| match &row.agent {
        Some(agent) => format!("{}\n{}\n{agent}", session.source, session.entry.session_id),
        None if session.has_agents || session.entry.agents.spawned == 0 => MAIN_THREAD.to_owned(),
        None => NOT_APART.to_owned(),
    });
    let mut lines = named(sums);
    // Two projects may have sessions of one id.
    let mut tasks: BTreeMap<(usize, String), BTreeMap<String, String>> = BTreeMap::new();
    for line in &mut lines {
        let name = line.name.clone();
        let mut parts = name.splitn(3, '\n');
        let (Some(source), Some(session), Some(agent)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let Ok(at) = source.parse::<usize>() else { continue };
        let Some(source) = found.sources.get(at) else { continue };
        let of_session = || agent_tasks(&source.view, session);
        let tasks = tasks.entry((at, session.to_owned())).or_insert_with(of_session);
        line.about = tasks.get(agent).cloned().unwrap_or_default();
        (line.name, line.session) = (agent.to_owned(), Some(session.to_owned()));
        line.project = Some(source.place.clone());
    }
    lines
}

/// What the agents of a session were started for: what is known at an agent's end holds, since its task
/// may not have been known when it began.
fn agent_tasks(view: &View, session: &str) -> BTreeMap<String, String> {
    let journal = view.journal();
    let kinds = ["\"agent_start\"", "\"agent_end\""];
    let lines = journal.of_stem(&journal::stem(session), Order::OldestFirst).with_any(&kinds);
    let mut tasks: BTreeMap<String, (String, String)> = BTreeMap::new();
    for line in lines {
        let Some(agent) = line.agent.clone() else { continue };
        let (kind, task) = match line.kind {
            EntryKind::AgentStart => (line.what, line.target),
            EntryKind::AgentEnd => {
                let result = line.record.and_then(|record| record.read::<AgentResult>());
                result.map_or((None, line.target), |result| (Some(result.kind), result.task))
            }
            _ => continue,
        };
        let known = tasks.entry(agent).or_default();
        known.0 = kind.filter(|kind| !kind.is_empty()).unwrap_or(std::mem::take(&mut known.0));
        known.1 = task.filter(|task| !task.is_empty()).unwrap_or(std::mem::take(&mut known.1));
    }
    let in_words = |(agent, (kind, task)): (String, (String, String))| {
        let words: Vec<String> = [kind, task].into_iter().filter(|word| !word.is_empty()).collect();
        (agent, words.join(": "))
    };
    tasks.into_iter().map(in_words).collect()
}

impl Line {
    fn to_json(&self, by: By) -> Value {
        let mut value = sum_json(&self.sum);
        if let Value::Object(fields) = &mut value {
            fields.insert(by.name().to_owned(), self.name.clone().into());
            if let Some(session) = &self.session {
                fields.insert("session".to_owned(), session.clone().into());
            }
            if let Some(project) = &self.project {
                fields.insert("project".to_owned(), project.clone().into());
            }
            if !self.about.is_empty() {
                fields.insert("about".to_owned(), self.about.clone().into());
            }
        }
        value
    }
}

fn sum_json(sum: &Sum) -> Value {
    let tokens = sum.cost.tokens.clone().unwrap_or_default();
    json!({
        "sessions": sum.sessions.len(), "input": tokens.input, "output": tokens.output,
        "cache_creation": tokens.cache_creation, "cache_read": tokens.cache_read,
        "cost_usd": sum.cost.usd, "estimated": sum.cost.is_estimate,
        "partial": sum.cost.is_partial, "unpriced": sum.unpriced,
    })
}

const COLUMNS: [(&str, u8); 6] =
    [("INPUT", 4), ("OUTPUT", 4), ("CACHE WRITE", 5), ("CACHE READ", 5), ("COST", 0), ("ABOUT", 3)];

/// The sessions that have to be told apart.
fn session_ids(found: &Collected) -> Vec<String> {
    let stems = found.sources.iter().flat_map(|source| source.view.journal().stems());
    let ids = found.ledger.sessions.iter().map(|session| session.entry.session_id.clone());
    distinct(stems.chain(ids).collect())
}

fn table(
    project: &Project,
    lines: &[Line],
    total: &Sum,
    (by, limit): (By, usize),
    ids: &[String],
) -> Printed {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let most = if limit == 0 { usize::MAX } else { limit };
    // Days are kept in UTC, whatever the clock on the wall says.
    let name = if by == By::Day { "DAY (UTC)".to_owned() } else { by.name().to_uppercase() };
    let columns: Vec<(&str, u8)> = [(name.as_str(), 0)].into_iter().chain(COLUMNS).collect();
    let agents = lines.iter().filter(|line| line.session.is_some());
    let agents = distinct(agents.map(|line| line.name.clone()).collect());
    let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
    let mut rows = Vec::new();
    for line in lines.iter().take(most) {
        let name = match &line.session {
            _ if by == By::Session => short_id(&line.name, &ids),
            Some(_) => short_id(&line.name, &agents),
            None => clip(&line.name, 40),
        };
        let about = match &line.project {
            Some(place) => format!("{place}: {}", line.about),
            None => line.about.clone(),
        };
        rows.push(row(Tone::Id, &name, &line.sum, &about));
    }
    rows.push(row(Tone::Strong, "total", total, ""));
    let mut out = project.print_table(&Table::with_head(&columns, rows));
    let left = lines.len().saturating_sub(most);
    if left > 0 {
        out.line(format!("{} more in the total (-n 0 shows all).", plural(left, "line")));
    }
    out
}

fn row(tone: Tone, name: &str, sum: &Sum, about: &str) -> Vec<Cell> {
    let tokens = sum.cost.tokens.clone().unwrap_or_default();
    let counts = [tokens.input, tokens.output, tokens.cache_creation, tokens.cache_read];
    let mut cells = vec![Cell::new(tone, name)];
    cells.extend(counts.map(|count| Cell::new(Tone::Plain, &short_count(count))));
    cells.push(Cell::new(Tone::Plain, &sum.spelled()));
    cells.push(Cell::new(Tone::Dim, about));
    cells
}

fn without_usage(ledger: &Ledger) -> usize {
    ledger.sessions.iter().filter(|session| !session.is_counted()).count()
}

/// What is not in the figures, and where they are from.
pub fn notes(found: &Collected, total: &Sum, since: Option<&str>) -> Vec<String> {
    let ledger = &found.ledger;
    let mut notes = Vec::new();
    notes.extend(since.map(|day| format!("Since {day}, by whole days in UTC.")));
    notes.extend(total.notes());
    match without_usage(ledger) {
        0 => {}
        count => notes.push(format!(
            "Not in it: {} with nothing to count (no transcript, or no answer in it).",
            plural(count, "session")
        )),
    }
    if ledger.damaged > 0 {
        let lines = plural(ledger.damaged, "line");
        notes.push(format!("Left out: {lines} of the archive that cannot be read."));
    }
    if !found.unread.is_empty() {
        let places = one_line(&found.unread.join(", ")).into_owned();
        notes.push(format!("Left out, because its metrics cannot be read: {places}."));
    }
    notes
}

fn csv(lines: &[Line], by: By) -> Printed {
    let mut out = Printed::default();
    out.line(format!(
        "{},session,about,sessions,input,output,cache_creation,cache_read,cost_usd,estimated,partial,unpriced,project",
        if by == By::Session { "id" } else { by.name() },
    ));
    for line in lines {
        let tokens = line.sum.cost.tokens.clone().unwrap_or_default();
        let unpriced: Vec<&str> = line.sum.unpriced.iter().map(String::as_str).collect();
        let cells = [
            csv_cell(&line.name),
            csv_cell(line.session.as_deref().unwrap_or_default()),
            csv_cell(&line.about),
            line.sum.sessions.len().to_string(),
            tokens.input.to_string(),
            tokens.output.to_string(),
            tokens.cache_creation.to_string(),
            tokens.cache_read.to_string(),
            line.sum.cost.usd.map(|usd| usd.to_string()).unwrap_or_default(),
            line.sum.cost.is_estimate.to_string(),
            line.sum.cost.is_partial.to_string(),
            csv_cell(&unpriced.join(" ")),
            csv_cell(line.project.as_deref().unwrap_or_default()),
        ];
        out.line(cells.join(","));
    }
    out.trimmed()
}

/// One field. What a spreadsheet would take for a formula is a text.
fn csv_cell(text: &str) -> String {
    let text = clip(&one_line(text), 200);
    let mark = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    match mark.is_empty() && !text.contains([',', '"']) {
        true => text,
        false => format!("\"{mark}{}\"", text.replace('"', "\"\"")),
    }
}
