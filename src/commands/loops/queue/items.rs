//! `hookkeeper queue`

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::commands::loops::Who;
use crate::commands::loops::queue::{change, read};
use crate::console::project::{Project, one_of, print_json, said_with};
use crate::console::usage::usage;
use crate::core::gate::{Printed, one_line};
use crate::core::outcome::Outcome;
use crate::core::table::row;
use crate::core::text::{clip, plural};
use crate::loops::queue::document::{Item, Queue};
use crate::loops::queue::lifecycle::{DONE, DROPPED, Origin};
use crate::loops::queue::phase::{self, Step};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    who: Who,
    /// Print JSON: what was done, and the open items; of `list` the items
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Add a work item
    #[command(
        after_help = "Example:\n  hookkeeper queue add --priority S1 --title 'Refuse empty passwords'"
    )]
    Add {
        /// S0 (now) to S3 (some day)
        #[arg(long, value_name = "S0..S3")]
        priority: String,
        /// What has to be done, in a line
        #[arg(long, allow_hyphen_values = true)]
        title: String,
        /// More about it
        #[arg(long, default_value = "", allow_hyphen_values = true)]
        description: String,
    },
    /// Say that an item is being worked on
    #[command(after_help = "Example:\n  hookkeeper queue start work-002")]
    Start {
        /// An item's id, or the number in it
        id: String,
    },
    /// Say that an item is done
    #[command(after_help = "Example:\n  hookkeeper queue done work-002")]
    Done {
        /// An item's id, or the number in it
        id: String,
    },
    /// Say that an item is no work, and need not be done
    #[command(after_help = "Example:\n  hookkeeper queue drop work-002")]
    Drop {
        /// An item's id, or the number in it
        id: String,
    },
    /// One item in full
    #[command(after_help = "Example:\n  hookkeeper queue show work-002")]
    Show {
        /// An item's id, or the number in it
        id: String,
    },
    /// The items, most urgent first
    #[command(after_help = "Example:\n  hookkeeper queue list --json")]
    List {
        /// Those that are done, dropped or expired, too
        #[arg(long)]
        all: bool,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let done = step(project, options)?;
    match options.what {
        What::Add { .. } | What::Start { .. } | What::Done { .. } | What::Drop { .. }
            if options.json =>
        {
            said_with(done, json!({"open": read(project)?.open()}))
        }
        _ => Ok(done),
    }
}

fn step(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    match &options.what {
        What::Add { priority, title, description } => {
            let priority = priority.to_uppercase();
            if !matches!(priority.as_str(), "S0" | "S1" | "S2" | "S3") {
                bail!(usage(format!(
                    "there is no priority `{priority}`; there are S0, S1, S2 and S3"
                )));
            }
            if title.trim().is_empty() {
                bail!(usage("the title is empty"));
            }
            let redact = project.redactor()?;
            let item = Item {
                priority,
                title: redact.line(title, 200),
                description: redact.text(description),
                session_id: options.who.id(project)?,
                ..Item::default()
            };
            change(project, |queue, _| {
                queue.add(item);
                phase::step(queue, Step::Plans);
                let added = queue.items.last().context("it was not kept")?;
                Ok(Outcome::printed(answer(added, "added")))
            })
        }
        What::Start { id } => mark(project, id, "in_progress", None),
        What::Done { id } => mark(project, id, DONE, options.who.id(project)?),
        What::Drop { id } => mark(project, id, DROPPED, None),
        What::Show { id } => {
            let queue = read(project)?;
            let item = find(&queue, id)?;
            if options.json { print_json(item) } else { Ok(Outcome::printed(in_full(item))) }
        }
        What::List { all } => {
            let queue = read(project)?;
            let mut items: Vec<&Item> =
                queue.items.iter().filter(|item| *all || item.is_open()).collect();
            items.sort_by(|a, b| a.priority.cmp(&b.priority));
            if options.json {
                return print_json(&items);
            }
            let rows: Vec<_> = items
                .iter()
                .map(|item| row![item.id, item.priority, item.status, item.title])
                .collect();
            let mut printed = match rows.is_empty() {
                true => Printed::from("No item is open."),
                false => project.print_rows(&COLUMNS, &rows).trimmed(),
            };
            let expired = queue.expired();
            if !all && expired > 0 {
                printed.push("\n".to_owned());
                printed.push(format!(
                    "{} expired with the session that found {}: `hookkeeper queue list --all`",
                    plural(expired, "item"),
                    if expired == 1 { "it" } else { "them" }
                ));
            }
            Ok(Outcome::printed(printed))
        }
    }
}

const COLUMNS: [(&str, u8); 4] = [("ITEM", 0), ("PRIORITY", 1), ("STATUS", 2), ("TITLE", 0)];

fn mark(
    project: &Project,
    named: &str,
    status: &str,
    by: Option<String>,
) -> anyhow::Result<Outcome> {
    change(project, |queue, _| {
        let id = match named.parse::<u64>() {
            // A number is easily meant for something else where hooks add items too.
            Ok(_) => ensure_named(queue, find(queue, named)?)?.id.clone(),
            Err(_) => find(queue, named)?.id.clone(),
        };
        let iteration = queue.iteration;
        let item = queue.items.iter_mut().find(|item| item.id == id).context("it is gone")?;
        if status == DROPPED && item.status == DONE {
            return Ok(Outcome::printed(answer(item, "was done already")));
        }
        item.status = status.into();
        item.completed_iteration = (status == DONE).then_some(iteration);
        item.completed_session = by;
        let said = answer(item, &status.replace('_', " "));
        if status == "in_progress" {
            phase::step(queue, Step::Plans);
        }
        Ok(Outcome::printed(said))
    })
}

/// The item that an id, or the number in it, names.
fn find<'q>(queue: &'q Queue, named: &str) -> anyhow::Result<&'q Item> {
    let ids: Vec<String> = queue.items.iter().map(|item| item.id.clone()).collect();
    let named = match named.parse::<u64>() {
        Ok(number) => format!("work-{number:03}"),
        Err(_) => named.to_owned(),
    };
    let id = one_of(&named, &ids, "item", "work-")?;
    queue.items.iter().find(|item| item.id == id).context("it is gone")
}

/// Refuses an item that is named by its number alone, where items of several origins are open.
fn ensure_named<'q>(queue: &'q Queue, item: &'q Item) -> anyhow::Result<&'q Item> {
    let open = queue.open();
    let first = open.first().map(|item| item.origin());
    if open.iter().all(|item| Some(item.origin()) == first) {
        return Ok(item);
    }
    let title = clip(&item.title, 120);
    let (id, title) = (one_line(&item.id), one_line(&title));
    bail!("{id} is \"{title}\" ({}); name it by {id} if it is meant", origin_words(item))
}

fn answer(item: &Item, what: &str) -> String {
    format!("{} {what}: {}", one_line(&item.id), one_line(&item.title))
}

fn in_full(item: &Item) -> String {
    let mut lines = vec![
        format!("{} {}: {}", one_line(&item.id), one_line(&item.priority), one_line(&item.title)),
        format!("status: {}", one_line(&item.status)),
        format!("from: {}", origin_words(item)),
    ];
    if let Some(file) = &item.file {
        let line = item.line.map_or(String::new(), |line| format!(":{line}"));
        lines.push(format!("file: {}{line}", one_line(file)));
    }
    if let Some(session) = &item.session_id {
        lines.push(format!("session: {}", one_line(session)));
    }
    if !item.description.is_empty() {
        lines.push(String::new());
        // Indented: no line of it can be taken for one of ours.
        lines.extend(item.description.lines().map(|line| format!("    {line}")));
    }
    lines.join("\n")
}

fn origin_words(item: &Item) -> &'static str {
    match item.origin() {
        Origin::Person => "added by a command",
        Origin::Agent => "a finding of an agent",
        Origin::Error => "an error of a tool call",
    }
}
