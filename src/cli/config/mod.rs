//! `hookkeeper config`: every setting, its value, where that comes from, and changing it.

mod change;
mod list;

use anyhow::Context as _;
use serde_json::Value;

use crate::client::commands::settings::SuggestedValues;
use crate::console::project::{Project, print_json};
use crate::core::gate::{Printed, Words, one_line};
use crate::core::outcome::Outcome;
use crate::core::settings::layers::Resolved;
use crate::core::settings::nearest::nearest;
use crate::core::settings::table::{self, Setting, TABLE};

pub use change::set_own;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Every key: its value, where that comes from, and its default
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// The value of a key
    Get {
        /// Such as systems.errors
        #[arg(value_name = "KEY", value_parser = SuggestedValues(KEYS))]
        key: String,
        /// Print it with its origin and its default, as a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Give a key a value, and leave the rest of the file as it is
    Set {
        /// Such as systems.errors
        #[arg(value_name = "KEY", value_parser = SuggestedValues(KEYS))]
        key: String,
        /// What it shall be; a list takes several
        #[arg(value_name = "VALUE", required = true, allow_negative_numbers = true)]
        values: Vec<String>,
        #[command(flatten)]
        scope: ScopeArgument,
    },
    /// Take a key out of the file: its default holds again
    Unset {
        /// Such as systems.errors
        #[arg(value_name = "KEY", value_parser = SuggestedValues(KEYS))]
        key: String,
        #[command(flatten)]
        scope: ScopeArgument,
    },
}

#[derive(clap::Args)]
struct ScopeArgument {
    /// Which file: project (.claude/hookkeeper.json, which hooks read) or user
    /// (~/.claude/hookkeeper.json, for keys that no project may set). Without it: the one that the
    /// key belongs to
    #[arg(long, value_name = "SCOPE")]
    scope: Option<Scope>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scope {
    Project,
    User,
}

/// For completions.
const KEYS: &[&str] = &{
    let mut keys = [""; TABLE.len()];
    let (mut rest, mut table): (&mut [&str], &[Setting]) = (&mut keys, TABLE);
    while let (Some((key, keys)), Some((row, rows))) = (rest.split_first_mut(), table.split_first())
    {
        *key = row.key;
        (rest, table) = (keys, rows);
    }
    keys
};

const USAGE: u8 = 64;

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    match &options.what {
        None => list::run(project, false),
        Some(What::List { json }) => list::run(project, *json),
        Some(What::Get { key, json }) => get(project, key, *json),
        Some(What::Set { key, values, scope }) => change::set(project, key, values, scope.scope),
        Some(What::Unset { key, scope }) => change::unset(project, key, scope.scope),
    }
}

fn get(project: &Project, key: &str, json: bool) -> anyhow::Result<Outcome> {
    let Some((row, name)) = table::find(TABLE, key) else { return Ok(unknown(key)) };
    let resolved = project.resolved_settings()?;
    if json {
        return print_json(&list::described(&resolved, row, name));
    }
    let value = value_of(&resolved, row, name).with_context(|| format!("`{key}` is not set"))?;
    let shown = match &value {
        Value::String(text) => text.clone(),
        Value::Array(texts) => {
            texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    };
    Ok(Outcome::printed(Printed::from(shown)))
}

/// The value of a setting, or of a name in a map; a secret one only says that it is there.
fn value_of(resolved: &Resolved, row: &Setting, name: Option<&str>) -> Option<Value> {
    let value = row.field.get(&resolved.settings);
    let value = match name {
        Some(name) => value.get(name)?.clone(),
        None => value,
    };
    match value {
        Value::Null => None,
        _ if row.is_secret => Some("(set, not shown)".into()),
        value => Some(value),
    }
}

/// There is no such key; exits as for any other wrong word.
fn unknown(key: &str) -> Outcome {
    let nearest = nearest(TABLE, key).map(|near| format!("; did you mean `{near}`?"));
    let hint = nearest.unwrap_or_else(|| "; `hookkeeper config list` has them all".into());
    refused(format!("there is no setting `{}`{hint}", one_line(key)))
}

/// What was typed cannot be meant.
fn refused(why: String) -> Outcome {
    Outcome { stdout: None, stderr: Some(Words::from(why).into()), code: USAGE }
}
