//! `hookkeeper uninstall`: our entries out of a settings file. If nothing else has changed the
//! file since, it gets its old bytes back.

use anyhow::{Context as _, bail};

use crate::client::commands::install::{open_settings, preview};
use crate::client::commands::purge::{purge_client, purge_project};
use crate::client::commands::settings::{SettingsTarget, decode, is_wired, read_scope, with_paths};
use crate::client::settings::edit;
use crate::client::settings::scope::Scope;
use crate::console::checkout;
use crate::console::project::Project;
use crate::core::gate::Printed;
use crate::core::outcome::Outcome;
use crate::store::home::SETTINGS;
use crate::store::settings_file::{Original, SettingsPaths};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: SettingsTarget,
    /// Delete the state too: .claude/state, .claude/branches and .claude/hookkeeper.json of this
    /// project
    #[arg(long)]
    purge: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let scope = options.target.scope(project)?;
    let dry = options.target.dry_run;
    let mut lines = Vec::new();
    let mut diff = Printed::default();
    let (path, bytes) = read_scope(project, scope)?;
    let shown = project.shown(&path);
    let found = decode(bytes.as_deref(), &shown)?;
    // Malformed settings are refused, whatever is in them.
    edit::unwire(&found, None).with_context(|| shown.clone())?;
    let other_scopes = other_wired_scopes(project, scope);
    if options.purge {
        // The state know how to give that file back.
        if let Some((other, path)) = other_scopes.iter().find(|(other, _)| *other != Scope::User) {
            bail!(
                "{} still wires HookKeeper; first: hookkeeper uninstall --scope {}",
                project.shown(path),
                other.name()
            );
        }
    }
    if edit::is_wired(&found) {
        match dry {
            true => diff = preview_unwire(project, scope)?,
            false => lines.push(unwire(project, scope)?),
        }
    } else if let (Some((other, path)), false) = (other_scopes.first(), options.purge) {
        remove_record(project, scope, dry)?;
        bail!(
            "{shown}: HookKeeper is not wired here, but in {}: hookkeeper uninstall --scope {}",
            project.shown(path),
            other.name()
        );
    } else {
        remove_record(project, scope, dry)?;
        lines.push(format!("{shown}: HookKeeper is not wired here"));
    }
    if options.purge {
        lines.extend(purge(project, scope, dry)?);
        if let Some((_, path)) = other_scopes.iter().find(|(other, _)| *other == Scope::User) {
            lines.push(format!(
                "{} still wires HookKeeper: it will keep new state here",
                project.shown(path)
            ));
        }
    }
    if !dry {
        lines.extend(match checkout::unhide(&project.root()?) {
            Ok(lines) => {
                lines.iter().map(|line| format!(".git/info/exclude: without {line}")).collect()
            }
            Err(why) => {
                vec![format!("Warning: git's list of hidden files stays as it is: {why:#}")]
            }
        });
    }
    diff.push(lines.join("\n"));
    Ok(Outcome::printed(diff))
}

/// The entries are gone already; then the record of them goes too.
fn remove_record(project: &Project, scope: Scope, dry: bool) -> anyhow::Result<()> {
    let has =
        |paths: &SettingsPaths| Ok(paths.wired_file(scope).is_some() || paths.has_leftover(scope));
    if !dry && with_paths(project, has)? {
        open_settings(project, scope)?.remove_record()?;
    }
    Ok(())
}

fn unwire(project: &Project, scope: Scope) -> anyhow::Result<String> {
    with_paths(project, |paths| paths.check_writable(scope))?;
    let mut file = open_settings(project, scope)?;
    let shown = project.shown(&file.path);
    let Some(now) = file.read()? else { return Ok(format!("{shown}: the file is gone")) };
    let (after, exact) =
        without_us(file.original(&now)?, file.first_backup()?.as_deref(), &now, &shown)?;
    file.replace_unwired(&now, after.as_deref().map(str::as_bytes))?;
    Ok(match (after, exact) {
        (None, _) => format!("{shown}: removed; there was no such file before"),
        (Some(_), true) => format!("{shown}: as it was before"),
        (Some(_), false) => {
            format!("{shown}: HookKeeper's entries are out; everything else stays as it is")
        }
    })
}

/// What becomes of a file: its old bytes if they are known, and nothing of ours in them. `first` is
/// what it was before the first install. Also whether these are just the old bytes.
fn without_us(
    original: Original,
    first: Option<&[u8]>,
    now: &[u8],
    shown: &str,
) -> anyhow::Result<(Option<String>, bool)> {
    let (bytes, is_known) = match original {
        Original::NoFile => return Ok((None, true)),
        Original::Bytes(bytes) => (bytes, true),
        Original::Unknown => (now.to_vec(), false),
    };
    let old = decode(Some(&bytes), shown)?;
    let first = first.map(String::from_utf8_lossy);
    let new = edit::unwire(&old, first.as_deref()).with_context(|| shown.to_owned())?;
    let exact = is_known && new == old;
    Ok((Some(new), exact))
}

/// What `unwire` would do, as a diff.
fn preview_unwire(project: &Project, scope: Scope) -> anyhow::Result<Printed> {
    let diff = preview(project, scope, |text, _| {
        let (original, first) = with_paths(project, |paths| {
            Ok((paths.original(scope, text.as_bytes())?, paths.first_backup(scope)?))
        })?;
        Ok(without_us(original, first.as_deref(), text.as_bytes(), scope.name())?.0)
    })?;
    Ok(diff.stdout.unwrap_or_default())
}

/// Other scopes that wire us here.
fn other_wired_scopes(project: &Project, scope: Scope) -> Vec<(Scope, std::path::PathBuf)> {
    let others = Scope::ALL.into_iter().filter(|other| *other != scope);
    let wired = others.filter_map(|other| {
        let (path, _) = read_scope(project, other).ok()?;
        is_wired(project, other).then_some((other, path))
    });
    wired.collect()
}

fn purge(project: &Project, scope: Scope, dry: bool) -> anyhow::Result<Vec<String>> {
    let root = project.root()?;
    let (home, client) = (project.process.home(), project.process.client_dir());
    let mut gone =
        ["state", "branches", SETTINGS].map(|name| root.join(".claude").join(name)).to_vec();
    if scope == Scope::User {
        gone.extend(client.as_ref().map(|client| client.join("hookkeeper")));
    }
    gone.retain(|path| path.exists());
    if gone.is_empty() {
        return Ok(vec![format!(
            "{}: there is no state",
            project.shown(&root.join(".claude/state"))
        )]);
    }
    if !dry {
        purge_project(&root, home.as_deref())?;
        if let (Scope::User, Some(client)) = (scope, client) {
            purge_client(&client)?;
        }
    }
    let done = if dry { "would be deleted" } else { "deleted" };
    Ok(gone.iter().map(|path| format!("{}: {done}", project.shown(path))).collect())
}
