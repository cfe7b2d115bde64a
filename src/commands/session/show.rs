//! `hookkeeper sessions show ID`: the story of a session.

use serde_json::json;

use crate::agents::result::AgentResult;
use crate::commands::errors::list::error_table;
use crate::commands::session::took;
use crate::console::project::{Project, one_of, print_json, unknown};
use crate::console::style::paint;
use crate::core::gate::{Printed, one_line};
use crate::core::journal::{Entry, EntryKind};
use crate::core::outcome::Outcome;
use crate::core::spelling::{short_count, short_id};
use crate::core::table::{Cell, Table, Tone, clean, wrap};
use crate::core::text::{clip, in_parentheses, plural};
use crate::core::time;
use crate::errors::document::RECOVERED;
use crate::history::describe::describe;
use crate::history::sessions::{ended_sessions, known_ids};
use crate::history::story::Story;
use crate::session::ending::ending_in_a_sentence;

/// Lines of the timeline that are shown without `--all`: so many from its beginning and its end.
const FIRST: usize = 10;
const LAST: usize = 30;
/// Findings, errors and agents without `--all`.
const BRIEF: usize = 10;
const LONGEST_PROMPT: usize = 400;
const INDENT: usize = 2;

#[derive(clap::Args)]
pub struct Arguments {
    /// A session's id, or the beginning of it
    id: String,
    /// The whole timeline, with every tool call
    #[arg(long)]
    all: bool,
}

pub fn run(project: &Project, which: &Arguments, as_json: bool) -> anyhow::Result<Outcome> {
    let Some(view) = project.view()? else { anyhow::bail!(unknown("session", &which.id)) };
    let ended = ended_sessions(&view);
    let id = one_of(&which.id, &known_ids(&view, &ended), "session", "")?;
    let story = Story::read(&view, &ended, &id, project.process.now());
    let (timeline, left_out) = shortened(&story.timeline, which.all);
    if as_json {
        return print_json(&json!({
            "session": story.summary,
            "agents": story.agents,
            "errors": story.errors,
            "errors_by_class": story.errors_by_class(),
            "loops": story.told(EntryKind::Loop).collect::<Vec<_>>(),
            "handoffs": story.told(EntryKind::Handoff).collect::<Vec<_>>(),
            "timeline": timeline,
            "left_out": left_out,
            "damaged_lines": story.passed_over.damaged,
            "newer_lines": story.passed_over.newer,
            "unreadable_journals": story.passed_over.unreadable,
        }));
    }
    let page = Page { project, all: which.all, out: Printed::default() };
    Ok(Outcome::printed(page.print(&story, &timeline, left_out).trimmed()))
}

/// What is worth telling first; how many lines are not.
fn shortened(timeline: &[Entry], all: bool) -> (Vec<&Entry>, usize) {
    let is_quiet = |entry: &&Entry| entry.kind == EntryKind::Tool && !entry.failed;
    let mut told: Vec<&Entry> = timeline.iter().filter(|entry| all || !is_quiet(entry)).collect();
    if !all && told.len() > FIRST + LAST {
        told.drain(FIRST..told.len() - LAST);
    }
    let left_out = timeline.len() - told.len();
    (told, left_out)
}

struct Page<'a> {
    project: &'a Project<'a>,
    all: bool,
    out: Printed,
}

impl Page<'_> {
    fn print(mut self, story: &Story, timeline: &[&Entry], left_out: usize) -> Printed {
        self.head(story);
        self.agents(&story.agents);
        self.findings(&story.agents);
        self.errors(story);
        self.told("Loops", story.told(EntryKind::Loop));
        self.told("Hand-offs", story.told(EntryKind::Handoff));
        self.title("Timeline");
        if story.timeline.is_empty() && story.passed_over.unreadable == 0 {
            self.out.push("  Its journal is gone, or nothing was told in it.\n");
        }
        self.entries(timeline);
        if left_out > 0 {
            self.out.push(format!("  {} more (--all)\n", plural(left_out, "line")));
        }
        if let Some(text) = story.passed_over.in_words() {
            self.out.push(format!("  {text}\n"));
        }
        self.out
    }

    fn head(&mut self, story: &Story) {
        let summary = &story.summary;
        let colour = self.project.style().colour;
        let title = summary.title().unwrap_or("A session without a prompt");
        let width = self.project.style().width;
        for line in wrap(&clean(&clip(title, LONGEST_PROMPT)), width) {
            self.out.push(paint(Tone::Strong, &line, colour));
            self.out.push("\n");
        }
        let mut field = |name: &str, text: String| {
            let text = one_line(&text);
            let lines = wrap(&format!("{name}: {text}"), width.saturating_sub(INDENT));
            for (at, line) in lines.iter().filter(|_| !text.is_empty()).enumerate() {
                self.out.push(" ".repeat(if at == 0 { 0 } else { INDENT }));
                self.out.push(format!("{line}\n"));
            }
        };
        field("session", summary.session_id.clone());
        let last = summary.last_prompt.as_deref().filter(|last| Some(*last) != summary.title());
        field("last prompt", clip(last.unwrap_or_default(), LONGEST_PROMPT));
        let when = [
            self.project.date_and_time(&summary.started),
            summary.ended.as_ref().map(|end| self.project.date_and_time(end)).unwrap_or_default(),
        ];
        let when: Vec<String> = when.into_iter().filter(|time| !time.is_empty()).collect();
        let took = took(summary);
        let took = if took.is_empty() { took } else { format!(" ({took})") };
        field("when", format!("{}{took}", when.join(" to ")));
        let end = match (summary.is_live, summary.reason.as_deref()) {
            (true, _) => "It is live.".to_owned(),
            (false, reason) => ending_in_a_sentence(reason.unwrap_or_default()),
        };
        field("end", end);
        field("loop", summary.loop_verdict.clone().unwrap_or_default());
        field("model", summary.model_in_words());
        let tokens = summary.tokens.as_ref().map(|tokens| {
            format!(
                "{} (input {}, output {}, cache written {}, cache read {})",
                short_count(tokens.sum()),
                short_count(tokens.input),
                short_count(tokens.output),
                short_count(tokens.cache_creation),
                short_count(tokens.cache_read)
            )
        });
        field("tokens", tokens.unwrap_or_default());
        let used = summary.used();
        let cost =
            used.as_ref().map(|used| [vec![used.spelled()], used.notes()].concat().join(" "));
        field("cost", cost.unwrap_or_default());
        let compactions = match summary.compactions {
            0 => String::new(),
            count => count.to_string(),
        };
        field("compactions", compactions);
        let shown = if self.all { usize::MAX } else { BRIEF };
        let files: Vec<&str> =
            summary.last_files.iter().rev().take(shown).map(String::as_str).collect();
        let more = (summary.files_modified as usize).saturating_sub(files.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        field("changed files", format!("{}{more}", files.join(", ")));
    }

    fn agents(&mut self, agents: &[AgentResult]) {
        if agents.is_empty() {
            return;
        }
        self.title("Agents");
        let ids: Vec<&str> = agents.iter().map(|agent| agent.agent_id.as_str()).collect();
        let row = |agent: &AgentResult| {
            let tone = if agent.succeeded() { Tone::Good } else { Tone::Warn };
            vec![
                Cell::new(Tone::Id, &short_id(&agent.agent_id, &ids)),
                Cell::new(tone, &agent.status),
                Cell::new(Tone::Dim, &agent.kind),
                Cell::new(Tone::Dim, &time::duration_of_seconds(agent.duration_seconds)),
                Cell::new(Tone::Plain, &plural(agent.findings.len(), "finding")),
                Cell::new(Tone::Plain, agent.task.as_deref().unwrap_or("task not known")),
            ]
        };
        let rows = agents.iter().take(self.most()).map(row).collect();
        let columns =
            [("AGENT", 0), ("STATUS", 1), ("TYPE", 3), ("TOOK", 4), ("FOUND", 2), ("TASK", 0)];
        self.table(&Table::with_head(&columns, rows), agents.len());
    }

    fn findings(&mut self, agents: &[AgentResult]) {
        let mut findings: Vec<_> = agents.iter().flat_map(|agent| &agent.findings).collect();
        findings.sort_by(|one, other| one.severity.cmp(&other.severity));
        if findings.is_empty() {
            return;
        }
        self.title("Findings");
        let rows = findings.iter().take(self.most()).map(|finding| {
            let place = in_parentheses(finding.file.as_deref(), finding.line);
            vec![
                Cell::new(Tone::Warn, &finding.severity),
                Cell::new(Tone::Plain, &format!("{}{place}", finding.title)),
            ]
        });
        self.table(&Table::new(&[0, 0], rows.collect()), findings.len());
    }

    fn errors(&mut self, story: &Story) {
        let total = (story.summary.errors.total as usize).max(story.errors.len());
        if total == 0 {
            return;
        }
        self.title("Errors");
        let classes = story.errors_by_class();
        let classes =
            classes.iter().map(|(class, count)| format!("{count} {}", class.replace('_', " ")));
        let mut says: Vec<String> = classes.collect();
        let gone = total - story.errors.len();
        if gone > 0 {
            let how = match story.passed_over.unreadable {
                0 => "is gone",
                _ => "is gone, or cannot be read",
            };
            says.push(format!("{gone} whose record {how}"));
        }
        let recovered = story.errors.iter().filter(|error| error.status == RECOVERED).count();
        let recovered = story.summary.errors.recovered.max(recovered as u64);
        self.out.push(format!("  {}; {recovered} recovered\n", one_line(&says.join(", "))));
        let newest = story.errors.len().saturating_sub(self.most());
        let shown = story.errors.get(newest..).unwrap_or_default();
        self.table(&error_table(self.project, shown, false), story.errors.len());
    }

    fn told<'e>(&mut self, title: &str, entries: impl Iterator<Item = &'e Entry>) {
        let entries: Vec<&Entry> = entries.collect();
        if !entries.is_empty() {
            self.title(title);
            let newest = entries.len().saturating_sub(self.most());
            self.entries(entries.get(newest..).unwrap_or_default());
        }
    }

    fn entries(&mut self, entries: &[&Entry]) {
        let times: Vec<&str> = entries.iter().map(|entry| entry.time.as_str()).collect();
        let row = |(entry, time): (&&Entry, String)| {
            let (tone, words) = describe(entry);
            let agent = entry.agent.as_deref().map(|id| short_id(id, &[])).unwrap_or_default();
            vec![Cell::new(Tone::Dim, &time), Cell::new(Tone::Id, &agent), Cell::new(tone, &words)]
        };
        let table = Table::new(
            &[0, 1, 0],
            entries.iter().zip(self.project.moments(&times)).map(row).collect(),
        );
        self.table(&table, entries.len());
    }

    fn table(&mut self, table: &Table, all: usize) {
        self.out.push(self.project.print_table_below(table));
        if all > table.len() {
            self.out.push(format!("  and {} more (--all)\n", all - table.len()));
        }
    }

    fn title(&mut self, title: &str) {
        self.out.push("\n");
        self.out.push(paint(Tone::Strong, title, self.project.style().colour));
        self.out.push("\n");
    }

    fn most(&self) -> usize {
        if self.all { usize::MAX } else { BRIEF }
    }
}
