//! `hookkeeper log`: what happened, line by line.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;

use crate::console::project::Project;
use crate::console::usage::usage;
use crate::core::gate::Printed;
use crate::core::journal::{Entry, EntryKind};
use crate::core::outcome::Outcome;
use crate::core::spelling::short_id;
use crate::core::table::{Cell, Table, Tone};
use crate::history::commands::{session_stem, since};
use crate::history::describe::describe;
use crate::history::filter::{Filter, Tells};
use crate::process::lines::{Heard, Lines};
use crate::process::signals::Signals;
use crate::store::journal::Journal;
use crate::store::journal::read::{Order, PassedOver};

/// How often it is looked for more.
const INTERVAL: Duration = Duration::from_millis(200);

#[derive(clap::Args)]
pub struct Arguments {
    /// Go on: print what happens as it happens
    #[arg(short, long)]
    follow: bool,
    /// One session, by its id or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// A hook event (Stop, subagent-stop) or what a line tells (prompt, error, loop, …)
    #[arg(long, value_name = "E")]
    event: Option<String>,
    /// One agent, by its id or the beginning of it
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Not what is older: 30m, 2h, 7d, or a local date
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// How many of the newest lines; 0: all
    #[arg(short = 'n', long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Every hook run: what it came to, what it wrote, how long it took
    #[arg(long)]
    runs: bool,
    /// Print one JSON object on each line, as the journal has it
    #[arg(long)]
    json: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let filter = filter(project, options)?;
    let Some(view) = project.view()? else {
        return match options.json {
            // Who reads lines of JSON has read them all.
            true => Ok(Outcome::quiet()),
            false => Ok(Outcome::printed(project.nothing_here("There is no state here yet.")?)),
        };
    };
    let journal = view.journal();
    let stem = options.session.as_deref().map(|named| session_stem(&journal, named)).transpose()?;
    let known = if options.follow { journal.sizes() } else { BTreeMap::new() };
    let (entries, passed_over) = newest(&journal, stem.as_deref(), options, &filter);
    let printer = Printer { project, options };
    let mut text = printer.print(&entries, stem.is_none());
    if !options.follow {
        let left_out = passed_over.in_words();
        if entries.is_empty() && !options.json {
            let nothing = "Nothing has happened that this asks for.";
            text.push(format!("{}\n", project.nothing_here(nothing)?));
        }
        if !options.json {
            left_out.iter().for_each(|line| text.push(format!("{line}\n")));
        }
        return Ok(match text.is_empty() {
            true => Outcome::quiet(),
            false => Outcome::printed(text.trimmed()),
        });
    }
    let lines = Lines::default();
    if entries.is_empty() || lines.print(&text).is_ok() {
        follow(&printer, &journal, stem.as_deref(), known, &filter, lines)?;
    }
    Ok(Outcome::quiet())
}

fn filter(project: &Project, options: &Arguments) -> anyhow::Result<Filter> {
    let tells = match options.event.as_deref() {
        None => None,
        Some(name) => match Tells::from_name(name) {
            Some(tells) => Some(tells),
            None => {
                bail!(usage(format!("`{name}` is no event and nothing that the journal tells")))
            }
        },
    };
    Ok(Filter {
        agent: options.agent.clone(),
        tells,
        since: since(project, options.since.as_deref())?,
    })
}

impl Arguments {
    /// Whether a line is shown at all. Quiet runs are for who looks for them.
    fn shows(&self, entry: &Entry) -> bool {
        match self.runs {
            true => entry.is_run(),
            false => {
                self.json
                    || self.event.is_some() && entry.kind != EntryKind::Other
                    || entry.kind.is_told()
            }
        }
    }
}

/// The newest lines that are asked for, oldest first.
fn newest(
    journal: &Journal,
    stem: Option<&str>,
    options: &Arguments,
    filter: &Filter,
) -> (Vec<Entry>, PassedOver) {
    let most = if options.limit == 0 { usize::MAX } else { options.limit };
    let is_wanted = |entry: &Entry| filter.admits(entry) && options.shows(entry);
    let mut found: Vec<Entry>;
    let passed_over;
    match stem {
        Some(stem) => {
            let mut all = journal.of_stem(stem, Order::NewestFirst);
            found = all.by_ref().filter(is_wanted).take(most).collect();
            passed_over = all.passed_over();
        }
        None => {
            let mut all = journal.newest_since(filter.since.as_deref());
            found = all.by_ref().filter(is_wanted).take(most).collect();
            passed_over = all.passed_over();
        }
    }
    // What waited in the spool stands where it was played.
    found.reverse();
    found.sort_by(|one, other| one.time.cmp(&other.time));
    (found, passed_over)
}

fn follow(
    printer: &Printer,
    journal: &Journal,
    stem: Option<&str>,
    mut known: BTreeMap<String, u64>,
    filter: &Filter,
    mut lines: Lines,
) -> anyhow::Result<()> {
    let signals = Signals::noted()?;
    while !signals.say_end() && lines.wait(INTERVAL) == Heard::Nothing {
        let mut added = journal.added(&mut known);
        added.retain(|(of, entry)| {
            stem.is_none_or(|stem| of == stem)
                && filter.admits(entry)
                && printer.options.shows(entry)
        });
        added.sort_by(|(_, one), (_, other)| one.time.cmp(&other.time));
        let added: Vec<Entry> = added.into_iter().map(|(_, entry)| entry).collect();
        if !added.is_empty() && lines.print(&printer.print(&added, stem.is_none())).is_err() {
            break;
        }
    }
    Ok(())
}

struct Printer<'a> {
    project: &'a Project<'a>,
    options: &'a Arguments,
}

impl Printer<'_> {
    fn print(&self, entries: &[Entry], with_session: bool) -> Printed {
        if self.options.json {
            let line = |entry: &Entry| serde_json::to_value(entry).ok();
            let lines = entries.iter().filter_map(line).map(|value| {
                let mut line = Printed::json_line(&value);
                line.push("\n");
                line
            });
            return lines.collect();
        }
        let row = |entry: &Entry| match self.options.runs {
            true => self.run_row(entry),
            false => self.row(entry, with_session),
        };
        let spare: &[u8] = if self.options.runs { &[0, 0, 3, 2, 4, 1] } else { &[0, 2, 1, 0] };
        let table = Table::new(spare, entries.iter().map(row).collect());
        self.project.print_table(&table)
    }

    fn row(&self, entry: &Entry, with_session: bool) -> Vec<Cell> {
        let (tone, words) = describe(entry);
        let session = if with_session { short_id(&entry.session, &[]) } else { String::new() };
        let agent = entry.agent.as_deref().map(|id| short_id(id, &[])).unwrap_or_default();
        vec![
            Cell::new(Tone::Dim, &self.project.moment(&entry.time)),
            Cell::new(Tone::Dim, &session),
            Cell::new(Tone::Id, &agent),
            Cell::new(tone, &words),
        ]
    }

    fn run_row(&self, entry: &Entry) -> Vec<Cell> {
        let tone = if entry.has_failed() { Tone::Bad } else { Tone::Plain };
        vec![
            Cell::new(Tone::Dim, &self.project.moment(&entry.time)),
            Cell::new(Tone::Good, &entry.event),
            Cell::new(Tone::Dim, &short_id(&entry.session, &[])),
            Cell::new(Tone::Dim, &format!("{} µs", entry.us.unwrap_or(0))),
            Cell::new(
                Tone::Dim,
                &entry.wrote.iter().flatten().cloned().collect::<Vec<_>>().join(" "),
            ),
            Cell::new(tone, &entry.outcome),
        ]
    }
}
