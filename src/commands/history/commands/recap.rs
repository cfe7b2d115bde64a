//! `hookkeeper recap`: what it all came to, in a few lines.

use std::collections::BTreeMap;

use serde_json::json;

use crate::console::project::{Project, print_json};
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::spelling::{grouped, short_count};
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::plural;
use crate::core::time;
use crate::history::commands::collected::{self, Collected};
use crate::history::commands::cost::notes;
use crate::history::commands::{day_of, since};
use crate::history::ledger::{self, Asked};
use crate::history::loops::loop_verdicts;
use crate::loops::Verdict;
use crate::store::journal::Journal;

#[derive(clap::Args)]
pub struct Arguments {
    /// Since when: 7d, 30d, or a local date; counted by whole days in UTC
    #[arg(long, default_value = "7d", value_name = "WHEN")]
    since: String,
    /// Of all projects where HookKeeper has kept state
    #[arg(long)]
    all_projects: bool,
    /// Print Markdown, for a note
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Counts over sessions.
#[derive(Default)]
struct Counts {
    sessions: usize,
    live: usize,
    agents: u64,
    found: u64,
    /// Work items that are no agent's findings.
    added: u64,
    done: u64,
    fixed: u64,
    errors: u64,
    recovered: u64,
    compactions: u64,
    /// How many loops ended how.
    loops: BTreeMap<&'static str, usize>,
    files: u64,
}

impl Counts {
    fn new(found: &Collected) -> Self {
        let mut all = Self::default();
        let journals: Vec<Journal> =
            found.sources.iter().map(|source| source.view.journal()).collect();
        for session in &found.ledger.sessions {
            let entry = &session.entry;
            all.sessions += 1;
            all.live += usize::from(session.is_live);
            all.agents = all.agents.saturating_add(entry.agents.spawned);
            all.found = all.found.saturating_add(entry.findings());
            let added = entry.quality.issues_found.saturating_sub(entry.findings());
            all.added = all.added.saturating_add(added);
            all.done = all.done.saturating_add(entry.quality.items_done);
            all.fixed = all.fixed.saturating_add(entry.findings_fixed());
            all.errors = all.errors.saturating_add(entry.errors.total);
            all.recovered = all.recovered.saturating_add(entry.errors.recovered);
            all.compactions = all.compactions.saturating_add(entry.compactions);
            all.files = all.files.saturating_add(entry.files_modified);
            let journal = journals.get(session.source);
            let told = journal.map(|journal| loop_verdicts(journal, &entry.session_id));
            let mut ended = told.unwrap_or_default();
            // The metrics have the last verdict alone, and the journal may be gone, or its beginning.
            let last = entry.loop_verdict.as_ref().and_then(serde_json::Value::as_str);
            let last = Verdict::ALL.into_iter().find(|verdict| Some(verdict.name()) == last);
            ended.extend(last.filter(|last| !ended.contains(last)));
            for verdict in ended {
                *all.loops.entry(verdict.name()).or_default() += 1;
            }
        }
        all
    }

    /// How many loops ended so.
    fn loops_that(&self, verdict: Verdict) -> usize {
        self.loops.get(verdict.name()).copied().unwrap_or(0)
    }

    /// `1 completed, 1 capped`: every way in which a loop ended.
    fn loops_say(&self) -> String {
        let completed = self.loops_that(Verdict::Complete);
        let mut says = format!("{} completed", grouped(completed as u64));
        for verdict in Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::Complete) {
            match self.loops_that(verdict) {
                0 => {}
                count => says += &format!(", {} {}", grouped(count as u64), verdict.name()),
            }
        }
        says
    }
}

/// What is said of the day that it begins with, where that is not what was asked for: usage is kept by
/// days in UTC.
fn begins(asked: &str, since: &str) -> &'static str {
    let is_date = time::parse(&format!("{asked}T00:00:00Z")).is_some();
    match since.get(10..) {
        Some("T00:00:00.000Z") => "",
        _ if is_date => ", in UTC",
        _ if asked.ends_with(['d', 'w']) => "",
        _ => ", by whole days in UTC",
    }
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let begin = since(project, Some(&options.since))?.unwrap_or_default();
    let utc = begins(&options.since, &begin);
    let since = day_of(&begin);
    let asked = Asked { since: Some(since), agents: false };
    let found = match options.all_projects {
        true => collected::of_all_projects(project, asked),
        false => collected::of_project(project, asked)?,
    };
    let ledger = &found.ledger;
    let counts = Counts::new(&found);
    let total = ledger::total(&ledger.sessions);
    if options.json {
        return print_json(&json!({
            "since": since, "sessions": counts.sessions, "live": counts.live,
            "agents": counts.agents, "files_modified": counts.files,
            "findings": {"found": counts.found, "fixed": counts.fixed},
            "work_items_added": counts.added, "work_items_done": counts.done,
            "errors": {"total": counts.errors, "recovered": counts.recovered},
            "compactions": counts.compactions, "loops_completed": counts.loops_that(Verdict::Complete),
            "tokens": total.cost.tokens, "cost_usd": total.cost.usd, "estimated": total.cost.is_estimate,
            "partial": total.cost.is_partial, "unpriced": total.unpriced,
            "damaged_lines": ledger.damaged, "unread_projects": found.unread,
        }));
    }
    if counts.sessions == 0 {
        return Ok(Outcome::printed(format!("No session since {since}{utc}.")));
    }
    let live = match counts.live {
        0 => String::new(),
        live => format!(", {live} of them live"),
    };
    let tokens_say = match &total.cost.tokens {
        None => "not known".to_owned(),
        Some(tokens) => {
            let read = short_count(tokens.cache_read);
            format!("{}, {read} of them read from the cache", short_count(tokens.sum()))
        }
    };
    let mut rows: Vec<(&str, String)> = vec![
        ("sessions", format!("{}{live}", grouped(counts.sessions as u64))),
        ("agents", grouped(counts.agents)),
        ("findings", format!("{} found, {} fixed", grouped(counts.found), grouped(counts.fixed))),
        ("work items", format!("{} added, {} done", grouped(counts.added), grouped(counts.done))),
        ("errors", format!("{}, {} recovered", grouped(counts.errors), grouped(counts.recovered))),
        ("compactions", format!("{} survived", grouped(counts.compactions))),
        ("loops", counts.loops_say()),
        ("files", format!("{} modified", grouped(counts.files))),
        ("tokens", tokens_say),
        ("cost", total.spelled()),
    ];
    if counts.added + counts.done == 0 {
        rows.retain(|(name, _)| *name != "work items");
    }
    let notes = notes(&found, &total, None);
    let heading = format!("{} since {since}{utc}", plural(counts.sessions, "session"));
    let mut out = Printed::default();
    if options.markdown {
        out.line(format!("### {heading}"));
        out.push("\n");
        rows.iter().for_each(|(name, says)| out.line(format!("- **{name}**: {says}")));
        if !notes.is_empty() {
            out.push("\n");
        }
        notes.iter().for_each(|note| out.line(format!("_{note}_")));
    } else {
        out.line(heading);
        let row = |(name, says): &(&str, String)| {
            vec![Cell::new(Tone::Dim, name), Cell::new(Tone::Strong, says)]
        };
        out.push(project.print_table(&Table::new(&[0, 0], rows.iter().map(row).collect())));
        notes.into_iter().for_each(|note| out.line(note));
    }
    Ok(Outcome::printed(out.trimmed()))
}
