//! `hookkeeper errors show ID`: one error in full, whether its session lives or not.

use anyhow::Context as _;

use crate::commands::errors::list::retry;
use crate::console::project::{Project, one_of, print_json};
use crate::core::gate::{Printed, one_line};
use crate::core::outcome::Outcome;
use crate::core::text::{clip, plural};
use crate::errors::document::Record;
use crate::errors::standing;
use crate::history::errors::{kept_errors, last_seen};

pub fn run(project: &Project, named: &str, as_json: bool) -> anyhow::Result<Outcome> {
    let view = project.view()?;
    let records = view.map(|view| kept_errors(&view, None, None).records).unwrap_or_default();
    let ids: Vec<String> = records.iter().map(|record| record.id.clone()).collect();
    let id = one_of(named, &ids, "error", "error-")?;
    let record = records.iter().find(|record| record.id == id).context("it is gone")?;
    match as_json {
        true => print_json(record),
        false => Ok(Outcome::printed(page(project, record).trimmed())),
    }
}

fn page(project: &Project, record: &Record) -> Printed {
    let mut out = Printed::default();
    let mut field = |name: &str, text: &str| {
        if !text.is_empty() {
            out.line(format!("{name}: {text}"));
        }
    };
    field("error", &record.id);
    field("class", &record.classification.replace('_', " "));
    field("status", &standing::word(record));
    field("retry", &retry(project, record).unwrap_or_default());
    field("failed", &plural(record.occurrences.max(1) as usize, "time"));
    let mut when = project.date_and_time(&record.timestamp);
    if last_seen(record) != record.timestamp {
        when = format!("{when}, last {}", project.date_and_time(last_seen(record)));
    }
    field("when", &when);
    field("session", &record.session_id);
    field("agent", record.agent_id.as_deref().unwrap_or_default());
    field("target", &record.target);
    for (name, value) in &record.context {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        field(name, &clip(&text, 1000));
    }
    out.push("\nmessage:\n");
    // Indented: none of its lines looks like one of ours.
    for line in record.message.trim_end().lines() {
        out.push(format!("  {}\n", one_line(line)));
    }
    out
}
