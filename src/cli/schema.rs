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
        Some(schema) => Ok(Outcome::said(schema.text)),
        None => {
            let names: Vec<&str> = schema::ALL.iter().map(|schema| schema.name).collect();
            anyhow::bail!("there is no document {name:?}; there are {}", names.join(", "))
        }
    }
}

fn list() -> String {
    let lines = schema::ALL.iter().map(|schema| {
        // An execution's state is where its user says.
        let below = if schema.place.starts_with("{tasks-path}") { "" } else { ".claude/" };
        let place = format!("{below}{}", schema.place);
        format!("{:<13}  {place:<48}  {}", schema.name, schema.about)
    });
    lines.collect::<Vec<_>>().join("\n")
}
