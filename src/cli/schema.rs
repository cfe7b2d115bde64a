//! `hookkeeper schema`: what the documents look like.

use crate::Outcome;
use crate::schema;

#[derive(clap::Args)]
pub struct Arguments {
    /// The document; without it, all of them are listed
    #[arg(value_name = "DOC")]
    name: Option<String>,
}

pub fn run(options: &Arguments) -> anyhow::Result<Outcome> {
    let Some(name) = &options.name else { return Ok(Outcome::said(list())) };
    match schema::named(name) {
        Some(row) => Ok(Outcome::said(schema::text(row.schema))),
        None => {
            let names: Vec<&str> = schema::all().iter().map(|row| row.schema).collect();
            anyhow::bail!("there is no document {name:?}; there are {}", names.join(", "))
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
