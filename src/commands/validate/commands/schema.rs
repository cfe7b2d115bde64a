//! `hookkeeper schema`: what the documents look like.

use serde_json::{Value, json};

use crate::console::usage::usage;
use crate::core::outcome::Outcome;
use crate::state::{Format, Row, Writers};
use crate::validate::{documents, schema};

#[derive(clap::Args)]
pub struct Arguments {
    /// The document; without it, all of them are listed
    #[arg(value_name = "DOC")]
    name: Option<String>,
    /// Every document and every other file as JSON: where it is, and how it is kept
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

pub fn run(options: &Arguments) -> anyhow::Result<Outcome> {
    if options.json {
        let rows: Vec<Value> = documents::all().iter().map(|known| as_json(known.row)).collect();
        return crate::console::project::print_json(&rows);
    }
    let Some(name) = &options.name else { return Ok(Outcome::printed(list())) };
    match schema::named(name) {
        Some(row) => Ok(Outcome::printed(schema::text(row.schema).into_owned())),
        None => {
            let names: Vec<&str> = schema::all().iter().map(|row| row.schema).collect();
            anyhow::bail!(usage(format!(
                "there is no document {name:?}; there are {}",
                names.join(", ")
            )))
        }
    }
}

fn list() -> String {
    let rows = schema::all();
    let lines = rows.iter().map(|row| {
        // An execution's state is where its user says.
        let below = if row.path.starts_with("{tasks-path}") { "" } else { ".claude/" };
        let place = format!("{below}{}", row.path);
        format!("{:<13}  {place:<48}  {}", row.schema, row.about)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A row, with its paths below `.claude`.
fn as_json(row: &Row) -> Value {
    json!({
        "name": row.name,
        "path": row.path,
        "also_at": row.also_at,
        "schema": Some(row.schema).filter(|schema| !schema.is_empty()),
        "title": row.title,
        "about": row.about,
        "format": match row.format {
            Format::Json => "json",
            Format::Lines => "lines",
            Format::Text => "text",
        },
        "durable": row.is_durable,
        "writers": match row.writers {
            Writers::Ours => "ours",
            Writers::Shared => "shared",
        },
        "version": row.version,
    })
}
