//! `config set` and `config unset`: one value of a file, under the lock; the rest of its text stays
//! (`client/settings/keys.rs`). A file that came with a checkout and sets more than is harmless is
//! not written into: written by us, all of it would be believed. What only a person sets is refused
//! inside Claude Code.

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::cli::config::{Scope, refused, unknown};
use crate::client::settings::keys;
use crate::commands::client::settings::decode;
use crate::console::project::Project;
use crate::console::usage::usage;
use crate::core::json::tree::Malformed;
use crate::core::outcome::Outcome;
use crate::core::settings::Settings;
use crate::core::settings::layers::{Fault, Layers, NOT_WRITTEN_HERE, Origin};
use crate::core::settings::table::{self, Setting, TABLE, Trust};
use crate::state::Source;
use crate::store::Store;
use crate::store::home::{LARGEST_SETTINGS, SETTINGS};
use crate::store::user_settings::UserSettings;

pub fn set(
    project: &Project,
    key: &str,
    values: &[String],
    scope: Option<Scope>,
) -> anyhow::Result<Outcome> {
    let Some((row, name)) = table::find(TABLE, key) else { return Ok(unknown(key)) };
    let value = match row.field.typed(name, values) {
        Ok(value) => value,
        Err(why) => return Ok(refused(format!("`{key}`: {why}"))),
    };
    let shown = match &value {
        _ if row.is_secret => "set".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let place = change(project, row, name, scope, |text, path| keys::set(text, path, &value))?;
    let mut text = match place {
        Changed::Yes(file) => format!("{file}: {key} is {shown}"),
        Changed::No(file) => format!("{file}: {key} is {shown} already"),
    };
    for (_, next) in NEXT.iter().filter(|(of, _)| *of == row.key) {
        text = format!("{text}\n{next}");
    }
    Ok(Outcome::printed(text))
}

/// Settings that do nothing by themselves, and what is to be done next.
const NEXT: [(&str, &str); 1] = [(
    "export.endpoint",
    "Try it with `hookkeeper export test`; `hookkeeper install` wires a hook that sends (a \
     shared project file and the plugin have none: `hookkeeper export follow` sends there).",
)];

pub fn unset(project: &Project, key: &str, scope: Option<Scope>) -> anyhow::Result<Outcome> {
    let Some((row, name)) = table::find(TABLE, key) else { return Ok(unknown(key)) };
    let place = change(project, row, name, scope, keys::remove)?;
    Ok(Outcome::printed(match place {
        Changed::Yes(file) => format!("{file}: {key} is out; its default holds"),
        Changed::No(file) => format!("{file}: {key} is not set there"),
    }))
}

/// The file, as people know it, and whether it had to be changed.
enum Changed {
    Yes(String),
    No(String),
}

fn change(
    project: &Project,
    row: &Setting,
    name: Option<&str>,
    scope: Option<Scope>,
    edit: impl Fn(&str, &[&str]) -> Result<String, Malformed>,
) -> anyhow::Result<Changed> {
    // Names in a map may have dots.
    let path: Vec<&str> = row.key.split('.').chain(name).collect();
    let edit = |text: &str| edit(text, &path);
    let key = row.key;
    match (row.trust, scope) {
        (Trust::Person, _) if project.process.is_in_client() => {
            bail!("only a person can set `{key}`: run this in a terminal, not from Claude Code")
        }
        (Trust::Person, Some(Scope::Project)) => {
            bail!(usage(format!("no project's file may set `{key}`: use --scope user")))
        }
        (Trust::Person, _) => change_users(project, edit),
        (Trust::Harmless | Trust::Own, Some(Scope::User)) => {
            bail!(usage(format!(
                "hooks read `{key}` from the project's .claude/{SETTINGS} alone: use --scope project"
            )))
        }
        (Trust::Harmless | Trust::Own, _) => {
            let file = format!(".claude/{SETTINGS}");
            let is_new = change_own(project, &|text, _| edit(text))?;
            Ok(if is_new { Changed::Yes(file) } else { Changed::No(file) })
        }
    }
}

/// Sets a value of the project's own file, unless the settings that hold have it; whether it was set.
pub fn set_own(
    project: &Project,
    path: &[&str],
    value: &Value,
    has_it: impl Fn(&Settings) -> bool,
) -> anyhow::Result<bool> {
    change_own(project, &|text, settings| {
        let new = keys::set(text, path, value)?;
        Ok(if has_it(settings) { text.to_owned() } else { new })
    })
}

fn change_own(
    project: &Project,
    edit: &dyn Fn(&str, &Settings) -> Result<String, Malformed>,
) -> anyhow::Result<bool> {
    let shown = format!(".claude/{SETTINGS}");
    project.change(|store, _| {
        let before = store.settings_bytes()?;
        ensure_trusted(store, before.as_deref())?;
        let edit = |text: &str| edit(text, &store.settings);
        let Some(after) = edited(before.as_deref(), &shown, &edit)? else { return Ok(false) };
        store.put_settings(after.as_bytes())?;
        Ok(true)
    })
}

/// A file that was not written here would be believed as a whole once we have written it.
fn ensure_trusted(store: &Store, bytes: Option<&[u8]>) -> anyhow::Result<()> {
    if store.believes(SETTINGS) {
        return Ok(());
    }
    let layers =
        Layers { table: TABLE, user: None, project: bytes, trust: Trust::Harmless, env: &|_| None };
    let remarks = layers.resolve().remarks;
    let more = remarks.iter().filter(|remark| remark.what == Fault::Untrusted);
    let more: Vec<String> = more.map(|remark| format!("`{}`", remark.key)).collect();
    ensure!(
        more.is_empty(),
        ".claude/{SETTINGS} {NOT_WRITTEN_HERE} and sets more than it may ({}); \
         `hookkeeper trust` in a terminal takes it up first",
        more.join(", ")
    );
    Ok(())
}

fn change_users(
    project: &Project,
    edit: impl Fn(&str) -> Result<String, Malformed>,
) -> anyhow::Result<Changed> {
    let client = project.process.client_dir();
    let client = client.context("there is no home directory (HOME is not set)")?;
    let shown = Origin::User.place().to_owned();
    let file = UserSettings::open(&client)?;
    let before = file.read()?;
    let Some(after) = edited(before.as_deref(), &shown, &edit)? else {
        return Ok(Changed::No(shown));
    };
    file.put(after.as_bytes())?;
    Ok(Changed::Yes(shown))
}

/// The new text; `None` if nothing changes.
fn edited(
    before: Option<&[u8]>,
    shown: &str,
    edit: &dyn Fn(&str) -> Result<String, Malformed>,
) -> anyhow::Result<Option<String>> {
    let old = decode(before, shown)?;
    let new = edit(&old).with_context(|| shown.to_owned())?;
    ensure!(new.len() as u64 <= LARGEST_SETTINGS, "{shown}: hooks read no file that large");
    Ok((old != new).then_some(new))
}
