//! `hookkeeper queue`

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::console::project::{Project, one_of, print_json, said_with};
use crate::core::gate::one_line;
use crate::core::outcome::Outcome;
use crate::core::table::{self, row};
use crate::core::text::clip;
use crate::loops::commands::Who;
use crate::loops::queue::commands::{change, read};
use crate::loops::queue::document::Item;

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
    /// The items, most urgent first
    #[command(after_help = "Example:\n  hookkeeper queue list --json")]
    List {
        /// Those that are done, too
        #[arg(long)]
        all: bool,
    },
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let done = step(project, options)?;
    match options.what {
        What::Add { .. } | What::Start { .. } | What::Done { .. } if options.json => {
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
                bail!("there is no priority `{priority}`; there are S0, S1, S2 and S3");
            }
            if title.trim().is_empty() {
                bail!("the title is empty");
            }
            let redact = project.redactor()?;
            let item = Item {
                priority,
                title: redact.line(title, 200),
                description: redact.text(description),
                session_id: options.who.id(project)?,
                ..Item::default()
            };
            change(project, |queue| {
                queue.add(item);
                let id = queue.items.last().map(|item| item.id.clone()).unwrap_or_default();
                Ok(Outcome::printed(id))
            })
        }
        What::Start { id } => mark(project, id, "in_progress", None),
        What::Done { id } => mark(project, id, "done", options.who.id(project)?),
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
                .map(|item| row![item.id, item.priority, item.status, clip(&item.title, 120)])
                .collect();
            Ok(Outcome::printed(match rows.is_empty() {
                true => "No item is open.".into(),
                false => table::align(&rows),
            }))
        }
    }
}

fn mark(
    project: &Project,
    named: &str,
    status: &str,
    by: Option<String>,
) -> anyhow::Result<Outcome> {
    change(project, |queue| {
        let ids: Vec<String> = queue.items.iter().map(|item| item.id.clone()).collect();
        let named = match named.parse::<u64>() {
            Ok(number) => format!("work-{number:03}"),
            Err(_) => named.to_owned(),
        };
        let id = one_of(&named, &ids, "item", "work-")?;
        let iteration = queue.iteration;
        let item = queue.items.iter_mut().find(|item| item.id == id).context("it is gone")?;
        item.status = status.into();
        item.completed_iteration = (status == "done").then_some(iteration);
        item.completed_session = by;
        Ok(Outcome::printed(format!("{}: {}", one_line(&id), status.replace('_', " "))))
    })
}
