//! `hookkeeper search`: a text in everything that is kept, the newest first, with the place to look on.

use anyhow::bail;
use serde_json::{Value, json};

use crate::console::project::{Project, print_json};
use crate::console::usage::usage;
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::core::spelling::{distinct, short_id};
use crate::core::table::{Cell, Table, Tone};
use crate::core::text::plural;
use crate::history::commands::since;
use crate::history::search::hits::{Hit, HitKind};
use crate::history::search::needle::Needle;
use crate::history::search::{Found, Search};

#[derive(clap::Args)]
pub struct Arguments {
    /// What to look for; capitals and small letters are alike
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Only what was asked, reported, failed, found, handed off, or all else
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// Not what is older: 30m, 2h, 7d, or a local date
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// How many of the newest; 0: all
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    Prompt,
    Report,
    Error,
    Finding,
    Handoff,
    /// Tool calls, messages, summaries, loops, gates
    Other,
}

impl From<Kind> for HitKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Prompt => Self::Prompt,
            Kind::Report => Self::Report,
            Kind::Error => Self::Error,
            Kind::Finding => Self::Finding,
            Kind::Handoff => Self::Handoff,
            Kind::Other => Self::Other,
        }
    }
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let Some(needle) = Needle::new(&options.text) else {
        bail!(usage("there is no text to look for"))
    };
    let search = Search {
        needle,
        kind: options.kind.map(HitKind::from),
        since: since(project, options.since.as_deref())?,
        most: if options.limit == 0 { usize::MAX } else { options.limit },
    };
    let view = project.view()?;
    let found = view.as_ref().map(|view| search.run(view)).unwrap_or_default();
    if options.json {
        let hits: Vec<Value> = found.hits.iter().map(Hit::to_json).collect();
        return print_json(
            &json!({"hits": hits, "has_more": found.has_more, "unreadable": found.unreadable}),
        );
    }
    let mut ids = view.map(|view| view.journal().stems()).unwrap_or_default();
    ids.extend(found.hits.iter().map(|hit| hit.session.clone()));
    let ids = distinct(ids);
    let mut out = table(project, &found, &ids);
    if found.hits.is_empty() {
        let is_part = options.kind.is_some() || options.since.is_some();
        let hint = match (ids.is_empty(), is_part) {
            (true, _) => "Nothing is kept yet; whether hooks are wired: hookkeeper doctor",
            (false, true) => "Without --kind and --since everything is looked at.",
            (false, false) => "What is kept: hookkeeper log -n 0",
        };
        out.line(project.nothing_here(&format!("Nothing that is kept says so. {hint}"))?);
    }
    if found.has_more {
        out.line("There are older ones (-n 0 shows all).");
    }
    if found.unreadable > 0 {
        out.line(format!("Left out: {} that cannot be read.", plural(found.unreadable, "place")));
    }
    Ok(Outcome::printed(out.trimmed()))
}

fn table(project: &Project, found: &Found, ids: &[String]) -> Printed {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let row = |hit: &Hit| {
        let tone = match hit.kind {
            HitKind::Error => Tone::Bad,
            HitKind::Finding => Tone::Warn,
            _ => Tone::Plain,
        };
        vec![
            Cell::new(Tone::Dim, &project.moment(&hit.time)),
            Cell::new(tone, hit.kind.name()),
            Cell::new(Tone::Dim, &short_id(&hit.session, &ids)),
            Cell::new(Tone::Plain, &hit.text),
        ]
    };
    let places: Vec<&str> = found.hits.iter().map(|hit| hit.look.as_str()).collect();
    let table = Table::new(&[0, 0, 1, 0], found.hits.iter().map(row).collect());
    project.print_table_with(&table, &places)
}
