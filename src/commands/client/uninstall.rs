//! `hookkeeper uninstall`: our entries out of a settings file. If nothing else has changed the
//! file since, it gets its old bytes back.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use crate::client::settings::edit;
use crate::client::settings::scope::Scope;
use crate::commands::client::install::{open_settings, preview};
use crate::commands::client::purge::{Mode, PURGED, purge_client, purge_project};
use crate::commands::client::settings::{SettingsTarget, decode, is_wired, read_scope, with_paths};
use crate::commands::client::slash;
use crate::console::project::Project;
use crate::console::{checkout, diff};
use crate::core::gate::{Printed, Words};
use crate::core::outcome::Outcome;
use crate::store::home::SETTINGS;
use crate::store::projects;
use crate::store::settings_file::installs;
use crate::store::settings_file::{Original, Recorded, SettingsPaths};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: SettingsTarget,
    /// Delete the state too: .claude/state, .claude/branches and .claude/hookkeeper.json of this
    /// project (that file stays if git has it or it was not made here); with `--scope user` also
    /// what HookKeeper has in Claude Code's own directory
    #[arg(long)]
    purge: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let scope = options.target.scope(project)?;
    let dry = options.target.dry_run;
    let root = project.root()?;
    let mut lines = Vec::new();
    let mut shown_first = Printed::default();
    let shown = project.shown(&with_paths(project, |paths| paths.path(scope))?);
    // A file that cannot be read stays as it is, whatever is in it. All else goes.
    let (found, unread) = match read_text(project, scope, &shown) {
        Ok(found) => (found, None),
        Err(why) => (String::new(), Some(why)),
    };
    let other_scopes = other_wired_scopes(project, scope);
    if options.purge {
        if root.join(".claude").is_symlink() {
            bail!(
                ".claude is a link: nothing is deleted through it. Without --purge the hooks are taken out"
            );
        }
        // The state knows how to give that file back.
        if let Some((other, path)) = other_scopes.iter().find(|(other, _)| *other != Scope::User) {
            bail!(
                "{} still wires HookKeeper; first: hookkeeper uninstall --scope {}",
                project.shown(path),
                other.name()
            );
        }
    }
    // The commands are those of all files of the project. They go first: who is refused here has the
    // settings as they were.
    let is_shared = |(other, _): &(Scope, PathBuf)| scope != Scope::User && *other != Scope::User;
    let is_only_elsewhere =
        unread.is_none() && !edit::has_ours(&found) && !options.purge && !other_scopes.is_empty();
    let commands = match is_only_elsewhere || other_scopes.iter().any(is_shared) {
        true => Vec::new(),
        false => slash::uninstall(project, scope, dry)?,
    };
    if unread.is_some() {
        // Its record stays: with it the file gets its old bytes back, once it can be read.
    } else if edit::has_ours(&found) {
        match dry {
            true => shown_first = preview_unwire(project, scope)?,
            false => {
                let (said, doubt) = unwire(project, scope)?;
                lines.push(said);
                shown_first = doubt.unwrap_or_default();
            }
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
    lines.extend(commands);
    if !options.purge {
        lines.extend(other_scopes.iter().map(|(other, path)| {
            format!(
                "{} still wires HookKeeper: hookkeeper uninstall --scope {}",
                project.shown(path),
                other.name()
            )
        }));
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
        lines.extend(match checkout::unhide(&root) {
            Ok(lines) => {
                lines.iter().map(|line| format!(".git/info/exclude: without {line}")).collect()
            }
            Err(why) => {
                vec![format!("Warning: git's list of hidden files stays as it is: {why:#}")]
            }
        });
    }
    shown_first.push(lines.join("\n"));
    let Some(why) = unread else { return Ok(Outcome::printed(shown_first)) };
    let left = format!(
        "{why:#}. What HookKeeper has in that file stays; mend it, then: hookkeeper uninstall --scope {}",
        scope.name()
    );
    let stdout = (!shown_first.is_empty()).then_some(shown_first);
    Ok(Outcome { stdout, stderr: Some(Words::from(left).into()), code: 1 })
}

/// The settings of a scope, if our entries can be taken out of them.
fn read_text(project: &Project, scope: Scope, shown: &str) -> anyhow::Result<String> {
    let (_, bytes) = read_scope(project, scope)?;
    let found = decode(bytes.as_deref(), shown)?;
    edit::unwire(&found, None).with_context(|| shown.to_owned())?;
    Ok(found)
}

/// The entries are gone already; then the record of them goes too.
fn remove_record(project: &Project, scope: Scope, dry: bool) -> anyhow::Result<()> {
    let has =
        |paths: &SettingsPaths| Ok(paths.wired_file(scope)?.is_some() || paths.has_leftover(scope));
    if !dry && with_paths(project, has)? {
        open_settings(project, scope)?.remove_record()?;
    }
    Ok(())
}

fn unwire(project: &Project, scope: Scope) -> anyhow::Result<(String, Option<Printed>)> {
    with_paths(project, |paths| paths.check_writable(scope))?;
    let mut file = open_settings(project, scope)?;
    let shown = project.shown(&file.path);
    let Some(now) = file.read()? else { return Ok((format!("{shown}: the file is gone"), None)) };
    let unwired = without_us(file.original(&now)?, file.first_backup()?.as_deref(), &now, &shown)?;
    file.replace_unwired(&now, unwired.after.as_deref().map(str::as_bytes))?;
    let said = match (&unwired.after, unwired.is_exact) {
        (None, _) => format!("{shown}: removed; there was no such file before"),
        (Some(_), true) => format!("{shown}: as it was before"),
        (Some(_), false) => {
            format!("{shown}: HookKeeper's entries are out; everything else stays as it is")
        }
    };
    Ok((said, unwired.doubt))
}

/// What becomes of a settings file.
struct Unwired {
    /// `None`: it goes.
    after: Option<String>,
    /// These are just the bytes that it had before.
    is_exact: bool,
    /// What the record says that it was, if that differs and is not believed.
    doubt: Option<Printed>,
}

/// The old bytes of a file if they are known, and nothing of ours in them. `first` is what it was
/// before the first install.
fn without_us(
    recorded: Recorded,
    first: Option<&[u8]>,
    now: &[u8],
    shown: &str,
) -> anyhow::Result<Unwired> {
    let first = first.map(String::from_utf8_lossy);
    let unwire = |bytes: &[u8]| {
        let old = decode(Some(bytes), shown)?;
        let new = edit::unwire(&old, first.as_deref()).with_context(|| shown.to_owned())?;
        anyhow::Ok((new == old, new))
    };
    let Recorded { original, is_trusted } = recorded;
    match original {
        Original::NoFile if is_trusted => {
            return Ok(Unwired { after: None, is_exact: true, doubt: None });
        }
        Original::Bytes(bytes) if is_trusted => {
            let (is_exact, new) = unwire(&bytes)?;
            return Ok(Unwired { after: Some(new), is_exact, doubt: None });
        }
        _ => {}
    }
    // A record that came with the project could say anything: it is shown, and not followed.
    let (_, new) = unwire(now)?;
    let mut unwired = Unwired { after: None, is_exact: false, doubt: None };
    let begin = "The record of what it was was not made here, and is not followed.";
    match original {
        Original::Unknown => {}
        Original::NoFile => {
            unwired.doubt = Some(format!("{begin} It says: there was no file.\n").into())
        }
        Original::Bytes(bytes) => match unwire(&bytes) {
            Ok((is_exact, recorded)) if recorded == new => unwired.is_exact = is_exact,
            Ok((_, recorded)) => {
                let diff = diff::unified(&new, &recorded, shown, "the record", false);
                let mut doubt = Printed::from(format!("{begin} It says:\n"));
                doubt.push(diff);
                unwired.doubt = Some(doubt);
            }
            Err(_) => unwired.doubt = Some(format!("{begin}\n").into()),
        },
    }
    unwired.after = Some(new);
    Ok(unwired)
}

/// What `unwire` would do, as a diff.
fn preview_unwire(project: &Project, scope: Scope) -> anyhow::Result<Printed> {
    let diff = preview(project, scope, |text, _| {
        let (original, first) = with_paths(project, |paths| {
            Ok((paths.original(scope, text.as_bytes())?, paths.first_backup(scope)?))
        })?;
        Ok(without_us(original, first.as_deref(), text.as_bytes(), scope.name())?.after)
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
    let mode = if dry { Mode::Preview } else { Mode::Do };
    let claude = root.join(".claude");
    let mut places = ["state", "branches", SETTINGS, PURGED].map(|name| claude.join(name)).to_vec();
    let client = project.process.client_dir().filter(|_| scope == Scope::User);
    let own = client.as_ref().map(|client| client.join(installs::FOLDER));
    places.extend(own.clone());
    places.extend(client.as_ref().map(|client| client.join(SETTINGS)));
    places.retain(|path| path.exists());
    if places.is_empty() {
        return Ok(vec![format!("{}: there is no state", project.shown(&claude.join("state")))]);
    }
    let has_git_settings = checkout::is_tracked(&root, &format!(".claude/{SETTINGS}"))?;
    let home = project.process.home();
    let kept = purge_project(&root, home.as_deref(), has_git_settings, mode)?;
    if let (Mode::Do, Some(client)) = (mode, project.process.client_dir()) {
        // Without it, it is one of those that are gone.
        let _ = projects::forget(&client, &root.canonicalize().unwrap_or_else(|_| root.clone()));
    }
    let mut kept: Vec<_> = kept.iter().map(|path| claude.join(path)).collect();
    if let (Some(client), Some(own)) = (client, own) {
        kept.extend(purge_client(&client, mode)?.iter().map(|path| own.join(path)));
    }
    places.retain(|place| !kept.contains(place));
    let done = |place: &PathBuf| match kept.iter().any(|path| path.starts_with(place)) {
        true if dry => "what is ours would be deleted",
        true => "what is ours is deleted",
        false if dry => "would be deleted",
        false => "deleted",
    };
    let mut lines: Vec<String> =
        places.iter().map(|place| format!("{}: {}", project.shown(place), done(place))).collect();
    let own_settings = claude.join(SETTINGS);
    let why = |path: &PathBuf| match has_git_settings && *path == own_settings {
        true => "in git, stays",
        false => "not ours, stays",
    };
    lines.extend(kept.iter().map(|path| format!("{}: {}", project.shown(path), why(path))));
    Ok(lines)
}
