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
use crate::history::commands::{ensure_readable, session_stem, since};
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
    let journal = journal_of(project)?;
    if journal.is_none() && !options.follow {
        return match options.json {
            // Who reads lines of JSON has read them all.
            true => Ok(Outcome::quiet()),
            false => Ok(Outcome::printed(project.no_state_here()?)),
        };
    }
    // Who follows waits for the first line, whatever is not there yet; what is there and is not
    // believed has to be said all the same.
    let waits = "Nothing has happened here yet.";
    let left_out = project.nothing_here(waits)?;
    let is_left_out = journal.is_none() && left_out != waits && !options.json;
    let journal = journal.unwrap_or_default();
    ensure_readable(&journal)?;
    let stem = options.session.as_deref().map(|named| session_stem(&journal, named)).transpose()?;
    let known = if options.follow { journal.sizes() } else { BTreeMap::new() };
    let (entries, passed_over) = newest(&journal, stem.as_deref(), options, &filter);
    let mut printer = Printer { project, options, ids: journal.stems() };
    let mut text = printer.print(&entries, stem.is_none());
    if !options.follow {
        if entries.is_empty() && passed_over.unreadable == 0 && !options.json {
            let nothing = match journal.stems().is_empty() {
                true => "Nothing has happened here yet. Whether hooks are wired: hookkeeper doctor",
                false => {
                    "Nothing has happened that this asks for. All there is: hookkeeper log -n 0"
                }
            };
            text.push(format!("{}\n", project.nothing_here(nothing)?));
        }
        if !options.json {
            passed_over.in_words().iter().for_each(|line| text.push(format!("{line}\n")));
        }
        let printed = match text.is_empty() {
            true => Outcome::quiet(),
            false => Outcome::printed(text.trimmed()),
        };
        // Between lines of JSON there is no place for it.
        let stderr = passed_over.only_unreadable().in_words().filter(|_| options.json);
        return Ok(Outcome { stderr: stderr.map(Printed::from), ..printed });
    }
    let lines = Lines::default();
    if is_left_out && lines.print(&left_out.into()).is_err() {
        return Ok(Outcome::quiet());
    }
    if entries.is_empty() || lines.print(&text).is_ok() {
        follow(&mut printer, journal, stem.as_deref(), known, &filter, lines)?;
    }
    Ok(Outcome::quiet())
}

/// `None` if there is no state.
fn journal_of(project: &Project) -> anyhow::Result<Option<Journal>> {
    Ok(project.view()?.map(|view| view.journal()))
}

fn filter(project: &Project, options: &Arguments) -> anyhow::Result<Filter> {
    let tells = match options.event.as_deref() {
        None => None,
        Some(name) => match Tells::from_name(name) {
            Some(tells) => Some(tells),
            None => {
                bail!(usage(format!(
                    "`{name}` is no event and nothing that the journal tells: {}",
                    Tells::names().join(", ")
                )))
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
    printer: &mut Printer,
    mut journal: Journal,
    stem: Option<&str>,
    mut known: BTreeMap<String, u64>,
    filter: &Filter,
    mut lines: Lines,
) -> anyhow::Result<()> {
    let signals = Signals::noted()?;
    while !signals.say_end() && lines.wait(INTERVAL) == Heard::Nothing {
        if !journal.is_there() {
            journal = journal_of(printer.project)?.unwrap_or_default();
        }
        let mut added = journal.added(&mut known);
        added.retain(|(of, entry)| {
            stem.is_none_or(|stem| of == stem)
                && filter.admits(entry)
                && printer.options.shows(entry)
        });
        added.sort_by(|(_, one), (_, other)| one.time.cmp(&other.time));
        if added.iter().any(|(of, _)| !printer.ids.contains(of)) {
            printer.ids = journal.stems();
        }
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
    /// The sessions that have to be told apart.
    ids: Vec<String>,
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
        let session = if with_session { self.session(entry) } else { String::new() };
        let agent = entry.agent.as_deref().map(|id| short_id(id, &[])).unwrap_or_default();
        vec![
            Cell::new(Tone::Dim, &self.project.moment(&entry.time)),
            Cell::new(Tone::Dim, &session),
            Cell::new(Tone::Id, &agent),
            Cell::new(tone, &words),
        ]
    }

    fn session(&self, entry: &Entry) -> String {
        let ids: Vec<&str> = self.ids.iter().map(String::as_str).collect();
        short_id(&entry.session, &ids)
    }

    fn run_row(&self, entry: &Entry) -> Vec<Cell> {
        let tone = if entry.has_failed() { Tone::Bad } else { Tone::Plain };
        vec![
            Cell::new(Tone::Dim, &self.project.moment(&entry.time)),
            Cell::new(Tone::Good, &entry.event),
            Cell::new(Tone::Dim, &self.session(entry)),
            Cell::new(Tone::Dim, &format!("{} µs", entry.us.unwrap_or(0))),
            Cell::new(
                Tone::Dim,
                &entry.wrote.iter().flatten().cloned().collect::<Vec<_>>().join(" "),
            ),
            Cell::new(tone, &entry.outcome),
        ]
    }
}
