//! `hookkeeper install`: our entries into a settings file, then a try of every hook.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use super::settings::{Target, find, text, with_places};
use super::{Project, diff, self_test};
use crate::Outcome;
use crate::books::wiring::WiredFile;
use crate::client::settings::edit;
use crate::client::settings::handler::PROGRAM;
use crate::client::settings::scope::Scope;
use crate::event::Kind;
use crate::process::Process;
use crate::store::settings_file::SettingsFile;
use crate::time;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let scope = options.target.scope()?;
    if options.target.dry_run {
        return preview(project, scope, |text, program| Ok(Some(edit::wire(text, program)?)));
    }
    let program = program(project.process, scope)?;
    let mut lines = vec![wire(project, scope)?];
    lines.extend(remarks(project, scope));
    let report = self_test::run(project.process, &program.file);
    lines.push(report.text);
    if let Some(failed) = report.failed {
        return Ok(Outcome {
            stdout: Some(lines.join("\n")),
            stderr: Some(format!("the hooks are wired, but the self-test failed: {failed}")),
            code: 1,
        });
    }
    lines.push("Start Claude Code in the project, then look: hookkeeper status".into());
    Ok(Outcome::said(lines.join("\n")))
}

/// Wires a scope's file and says what was done. All that can be wrong with the file is found out
/// before anything is made.
pub(super) fn wire(project: &Project, scope: Scope) -> anyhow::Result<String> {
    let program = program(project.process, scope)?.command;
    let (path, bytes) = find(project, scope)?;
    let shown = project.shown(&path);
    let edited = |bytes: Option<&[u8]>| {
        let old = text(bytes, &shown)?;
        let new = edit::wire(&old, &program).with_context(|| shown.clone())?;
        Ok::<_, anyhow::Error>((bytes.is_none() || old != new).then_some(new))
    };
    let mut wired = edited(bytes.as_deref())?;
    let (settled, writable) = with_places(project, |places| {
        let settled = places.wired(scope).is_some() && !places.has_leftover(scope);
        Ok((settled, places.check_writable(scope)))
    })?;
    let entry = WiredFile {
        command: program.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        wired_at: time::spell(project.process.now()),
        ..WiredFile::default()
    };
    if wired.is_none() {
        // So that it is noticed when somebody drops the entries.
        if !settled && writable.is_ok() {
            open(project, scope)?.note(entry)?;
        }
        return Ok(format!("{shown}: all {} events are wired already", Kind::COUNT));
    }
    writable?;
    let mut file = open(project, scope)?;
    let before = file.read()?;
    if before != bytes {
        wired = edited(before.as_deref())?;
    }
    let Some(wired) = wired else {
        return Ok(format!("{shown}: all {} events are wired already", Kind::COUNT));
    };
    let backup = file.wire(before.as_deref(), wired.as_bytes(), entry)?;
    let backup = match backup {
        Some(path) => format!("the file as it was: {}", project.shown(&path)),
        None => "a new file".into(),
    };
    Ok(format!("{shown}: wired {} events ({backup})", Kind::COUNT))
}

/// What an edit would do to a file, as a diff. The edit gets the text and the program, and gives
/// `None` if the file would go.
pub(super) fn preview(
    project: &Project,
    scope: Scope,
    edit: impl Fn(&str, &str) -> anyhow::Result<Option<String>>,
) -> anyhow::Result<Outcome> {
    let program = program(project.process, scope)?.command;
    let (path, bytes) = find(project, scope)?;
    let shown = project.shown(&path);
    let text = text(bytes.as_deref(), &shown)?;
    let after = edit(&text, &program).with_context(|| shown.clone())?;
    if bytes.is_some() && after.as_ref() == Some(&text) {
        return Ok(Outcome::said(format!("{shown}: nothing would change")));
    }
    let from = if bytes.is_some() { shown.as_str() } else { "/dev/null" };
    let to = if after.is_some() { shown.as_str() } else { "/dev/null" };
    let colour = project.process.terminal().colour;
    Ok(Outcome::said(diff::unified(&text, &after.unwrap_or_default(), from, to, colour)))
}

pub(super) fn open(project: &Project, scope: Scope) -> anyhow::Result<SettingsFile> {
    with_places(project, |places| SettingsFile::open(places, scope))
}

struct Program {
    /// As the settings name it.
    command: String,
    /// The file behind it.
    file: PathBuf,
}

/// Everybody's own PATH for a file that people share; the place itself for a file of one's own.
fn program(process: &Process, scope: Scope) -> anyhow::Result<Program> {
    let running = process.program().context("this program's own file cannot be found")?;
    let on_path = process.on_path(PROGRAM).filter(|found| is_same(found, &running));
    let file = on_path.unwrap_or(running);
    // Entries are known by this name, also by the next version.
    let is_named = file.file_name().is_some_and(|name| name == PROGRAM);
    let command = match (scope, file.to_str()) {
        (Scope::Project, _) => PROGRAM.to_owned(),
        _ if !is_named => bail!(
            "{}: the program's file has to be called `{PROGRAM}` to be wired by its path; rename it, or link it",
            file.display()
        ),
        (Scope::Local | Scope::User, Some(path)) => path.to_owned(),
        (_, None) => bail!("{}: this path is not UTF-8", file.display()),
    };
    Ok(Program { command, file })
}

fn is_same(one: &std::path::Path, two: &std::path::Path) -> bool {
    matches!((one.canonicalize(), two.canonicalize()), (Ok(one), Ok(two)) if one == two)
}

/// What would keep the hooks from working, or make them run twice.
fn remarks(project: &Project, scope: Scope) -> Vec<String> {
    let mut remarks = Vec::new();
    let process = project.process;
    match (scope, process.on_path(PROGRAM), process.program()) {
        (Scope::Project, None, program) => {
            let dir = program.as_deref().and_then(std::path::Path::parent).map(PathBuf::from);
            let dir = dir.map_or_else(|| "its directory".into(), |dir| project.shown(&dir));
            remarks.push(format!(
                "Warning: the file names `hookkeeper`, which is not on your PATH. Add {dir} to it, \
                 or use --scope local."
            ));
        }
        (Scope::Project, Some(found), Some(program)) if !is_same(&found, &program) => {
            remarks.push(format!(
                "Warning: the file names `hookkeeper`, which is another program on your PATH: {}",
                project.shown(&found)
            ));
        }
        _ => {}
    }
    for other in Scope::ALL {
        let Ok((path, Some(bytes))) = find(project, other) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for event in edit::events_with_compound_commands(&text) {
            remarks.push(format!(
                "Warning: {}: the {event} hook calls HookKeeper inside a longer command. That is left as it \
                 is, and now runs beside ours.",
                project.shown(&path)
            ));
        }
        for plugin in edit::enabled_plugins(&text) {
            remarks.push(format!(
                "Warning: {}: the plugin {plugin} is enabled, so each hook would run twice. Disable it, or \
                 take this out: hookkeeper uninstall --scope {}",
                project.shown(&path),
                scope.name()
            ));
        }
        if other != scope && edit::is_wired(&text) {
            remarks.push(format!(
                "Warning: {} wires HookKeeper too, so each hook would run twice. Take one out: \
                 hookkeeper uninstall --scope {}",
                project.shown(&path),
                other.name()
            ));
        }
    }
    remarks
}
