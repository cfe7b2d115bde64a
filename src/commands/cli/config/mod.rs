//! `hookkeeper config`: every setting, its value, where that comes from, and changing it.

mod change;
mod list;

use anyhow::Context as _;
use serde_json::Value;

use crate::commands::client::settings::SuggestedValues;
use crate::console::project::{Project, print_json};
use crate::core::gate::{Printed, Words, one_line};
use crate::core::outcome::Outcome;
use crate::core::settings::layers::{Remark, Resolved};
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
    #[command(after_help = "Example:\n  hookkeeper config list --json | jq -r '.settings[].key'")]
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// The value of a key
    #[command(after_help = "Example:\n  hookkeeper config get stuck_after_minutes")]
    Get {
        /// Such as systems.errors
        #[arg(value_name = "KEY", value_parser = SuggestedValues(KEYS))]
        key: String,
        /// Print it with its origin and its default, as a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Give a key a value, and leave the rest of the file as it is
    #[command(
        after_help = "Examples:\n  hookkeeper config set systems.errors off\n  hookkeeper config set redact 'CORP-[0-9]+' 'x{8}'   # a list: all its values"
    )]
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
    #[command(after_help = "Example:\n  hookkeeper config unset systems.errors")]
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
    // Where the file is broken or the value does not fit, what is shown is not what was set.
    let doubts = resolved.remarks.iter().filter(|remark| {
        let of_row = remark.key == row.key || remark.key == key;
        of_row || remark.key.is_empty() || row.key.starts_with(&format!("{}.", remark.key))
    });
    let doubts: Vec<String> = doubts.map(Remark::text).collect();
    let stderr = (!doubts.is_empty()).then(|| Words::from(doubts.join("; ")).into());
    Ok(Outcome { stderr, ..Outcome::printed(Printed::from(shown)) })
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
        Value::Object(texts) if texts.is_empty() => Some(Value::Object(texts)),
        _ if row.is_secret => Some("(set, not shown)".into()),
        value => Some(value),
    }
}

/// There is no such key; exits as for any other wrong word.
fn unknown(key: &str) -> Outcome {
    let of_group = TABLE.iter().map(|row| row.key).filter(|known| {
        known.strip_prefix(key).is_some_and(|rest| !key.is_empty() && rest.starts_with('.'))
    });
    let of_group: Vec<&str> = of_group.collect();
    if !of_group.is_empty() {
        return refused(format!("`{key}` is a group of settings: {}", of_group.join(", ")));
    }
    let nearest = nearest(TABLE, key).map(|near| format!("; did you mean `{near}`?"));
    let hint = nearest.unwrap_or_else(|| "; `hookkeeper config list` has them all".into());
    refused(format!("there is no setting `{}`{hint}", one_line(key)))
}

/// What was typed cannot be meant.
fn refused(why: String) -> Outcome {
    Outcome { stdout: None, stderr: Some(Words::from(why).into()), code: USAGE }
}
