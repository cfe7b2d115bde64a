//! `hookkeeper uninstall`: our entries out of a settings file. If nothing else has changed the
//! file since, it gets its old bytes back.

use anyhow::{Context as _, bail};

use super::Project;
use super::install::{open, preview};
use super::settings::{Target, find, text, with_places};
use crate::Outcome;
use crate::client::settings::edit;
use crate::client::settings::scope::Scope;
use crate::store::home;
use crate::store::settings_file::Places;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Delete the books too: .claude/state, .claude/branches and .claude/hookkeeper.json of this
    /// project
    #[arg(long)]
    purge: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let scope = options.target.scope()?;
    let dry = options.target.dry_run;
    let mut lines = Vec::new();
    let (path, bytes) = find(project, scope)?;
    let shown = project.shown(&path);
    let found = text(bytes.as_deref(), &shown)?;
    // Malformed settings are refused, whatever is in them.
    edit::unwire(&found, None).with_context(|| shown.clone())?;
    let elsewhere = wired_elsewhere(project, scope);
    if options.purge {
        // The books know how to give that file back.
        if let Some((other, path)) = elsewhere.iter().find(|(other, _)| *other != Scope::User) {
            bail!(
                "{} still wires HookKeeper; first: hookkeeper uninstall --scope {}",
                project.shown(path),
                other.name()
            );
        }
    }
    if edit::is_wired(&found) {
        lines.push(if dry { show(project, scope)? } else { unwire(project, scope)? });
    } else if let (Some((other, path)), false) = (elsewhere.first(), options.purge) {
        forget(project, scope, dry)?;
        bail!(
            "{shown}: HookKeeper is not wired here, but in {}: hookkeeper uninstall --scope {}",
            project.shown(path),
            other.name()
        );
    } else {
        forget(project, scope, dry)?;
        lines.push(format!("{shown}: HookKeeper is not wired here"));
    }
    if options.purge {
        lines.extend(purge(project, scope, dry)?);
        if let Some((_, path)) = elsewhere.iter().find(|(other, _)| *other == Scope::User) {
            lines.push(format!(
                "{} still wires HookKeeper: it will keep new books here",
                project.shown(path)
            ));
        }
    }
    Ok(Outcome::said(lines.join("\n")))
}

/// The entries are gone already; then the record of them goes too.
fn forget(project: &Project, scope: Scope, dry: bool) -> anyhow::Result<()> {
    let has = |places: &Places| Ok(places.wired(scope).is_some() || places.has_leftover(scope));
    if !dry && with_places(project, has)? {
        open(project, scope)?.forget()?;
    }
    Ok(())
}

fn unwire(project: &Project, scope: Scope) -> anyhow::Result<String> {
    with_places(project, |places| places.check_writable(scope))?;
    let mut file = open(project, scope)?;
    let shown = project.shown(&file.path);
    let Some(now) = file.read()? else { return Ok(format!("{shown}: the file is gone")) };
    let (after, exact) = without_us(file.before(&now)?, file.first()?.as_deref(), &now, &shown)?;
    file.unwire(&now, after.as_deref().map(str::as_bytes))?;
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
    before: Option<Option<Vec<u8>>>,
    first: Option<&[u8]>,
    now: &[u8],
    shown: &str,
) -> anyhow::Result<(Option<String>, bool)> {
    let exact = before.is_some();
    let Some(bytes) = before.unwrap_or_else(|| Some(now.to_vec())) else { return Ok((None, true)) };
    let old = text(Some(&bytes), shown)?;
    let first = first.map(String::from_utf8_lossy);
    let new = edit::unwire(&old, first.as_deref()).with_context(|| shown.to_owned())?;
    let exact = exact && new == old;
    Ok((Some(new), exact))
}

/// What `unwire` would do, as a diff.
fn show(project: &Project, scope: Scope) -> anyhow::Result<String> {
    let diff = preview(project, scope, |text, _| {
        let (before, first) = with_places(project, |places| {
            Ok((places.before(scope, text.as_bytes())?, places.first(scope)?))
        })?;
        Ok(without_us(before, first.as_deref(), text.as_bytes(), scope.name())?.0)
    })?;
    Ok(diff.stdout.unwrap_or_default())
}

/// Other scopes that wire us here.
fn wired_elsewhere(project: &Project, scope: Scope) -> Vec<(Scope, std::path::PathBuf)> {
    let others = Scope::ALL.into_iter().filter(|other| *other != scope);
    let wired = others.filter_map(|other| {
        let (path, bytes) = find(project, other).ok()?;
        edit::is_wired(&String::from_utf8_lossy(&bytes?)).then_some((other, path))
    });
    wired.collect()
}

fn purge(project: &Project, scope: Scope, dry: bool) -> anyhow::Result<Vec<String>> {
    let root = project.root()?;
    let (home, client) = (project.process.home(), project.process.client_dir());
    let mut gone =
        ["state", "branches", home::SETTINGS].map(|name| root.join(".claude").join(name)).to_vec();
    if scope == Scope::User {
        gone.extend(client.as_ref().map(|client| client.join("hookkeeper")));
    }
    gone.retain(|path| path.exists());
    if gone.is_empty() {
        return Ok(vec![format!(
            "{}: there are no books",
            project.shown(&root.join(".claude/state"))
        )]);
    }
    if !dry {
        home::purge(&root, home.as_deref())?;
        if let (Scope::User, Some(client)) = (scope, client) {
            home::purge_client(&client)?;
        }
    }
    let done = if dry { "would be deleted" } else { "deleted" };
    Ok(gone.iter().map(|path| format!("{}: {done}", project.shown(path))).collect())
}
