//! `hookkeeper install`: our entries into a settings file, then a try of every hook.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::client::settings::handler::{Launch, PROGRAM};
use crate::client::settings::scope::{LOCAL_SETTINGS, Scope};
use crate::client::settings::status_line::{self, Owner};
use crate::client::settings::{edit, flush_hooks};
use crate::client::wiring::WiredFile;
use crate::commands::client::client_check::check_client;
use crate::commands::client::self_test;
use crate::commands::client::settings::{SettingsTarget, decode, read_scope, with_paths};
use crate::commands::client::slash::{self, CommandsChoice};
use crate::commands::client::warnings::warnings;
use crate::console::project::Project;
use crate::console::{checkout, diff};
use crate::core::command_line;
use crate::core::event::Kind;
use crate::core::gate::one_line;
use crate::core::json::tree::Malformed;
use crate::core::outcome::Outcome;
use crate::core::text::clip;
use crate::core::time;
use crate::export::standing;
use crate::process::Process;
use crate::store::projects;
use crate::store::settings_file::SettingsFile;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: SettingsTarget,
    /// Wire the hooks even if the Claude Code here is too old for them, or does not say
    #[arg(long)]
    any_client: bool,
    /// Show a line of ours in Claude Code too, unless it has another status line
    #[arg(long)]
    statusline: bool,
    #[command(flatten)]
    commands: CommandsChoice,
    /// Send what happens beside the turns, also if no endpoint is set yet (`export`)
    #[arg(long)]
    export: bool,
}

/// What is wired besides the hooks.
#[derive(Clone, Copy, Default)]
pub struct Extras {
    pub status_line: bool,
    pub flush: bool,
}

pub fn run(project: &Project, options: &Arguments) -> anyhow::Result<Outcome> {
    let scope = options.target.scope(project)?;
    let other_line = other_status_line(project).filter(|_| options.statusline);
    let is_sent =
        || standing::settings(project.process, &project.root().unwrap_or_default()).is_on();
    let with = Extras {
        status_line: options.statusline && other_line.is_none(),
        flush: options.export || is_sent(),
    };
    if options.target.dry_run {
        let edit = |text: &str, launch: &Launch| Ok(Some(edited_text(text, launch, with)?));
        let mut shown = preview(project, scope, edit)?;
        let commands = slash::install(project, scope, &options.commands, true)?;
        if let Some(stdout) = &mut shown.stdout {
            for line in other_line.into_iter().chain(commands) {
                stdout.push("\n");
                stdout.line(line);
            }
        }
        return Ok(shown);
    }
    let program = find_program(project.process, scope)?;
    if is_in_npx_cache(&program.file) {
        bail!(
            "{}: this program is in npm's cache, which npm may empty, and every hook would fail then. Install it \
             first: npm install --global hookkeeper",
            program.file.display()
        );
    }
    let root = project.root()?;
    let client_note = check_client(project, options.any_client)?;
    // All that is wrong is found out before anything is made. Then the commands come first: who is
    // refused there has the settings as they were.
    Planned::new(project, scope, with)?;
    slash::install(project, scope, &options.commands, true)?;
    let commands = slash::install(project, scope, &options.commands, false)?;
    let mut lines = vec![wire(project, scope, with)?];
    lines.extend(other_line);
    if let (Scope::Local | Scope::Project, Some(client)) = (scope, project.process.client_dir()) {
        // The first install of a user has just made that directory.
        projects::note(&client, &root);
    }
    if with.flush {
        lines.push(match scope {
            Scope::Project => {
                "Note: the file is everybody's, so nothing in it sends what happens: `hookkeeper export follow` does"
                    .into()
            }
            Scope::Local | Scope::User => "What happens is sent beside the turns: hookkeeper export status".into(),
        });
    }
    if scope == Scope::Local {
        // The client does the same when it makes this file.
        let hidden = checkout::hide_from_git(&root, LOCAL_SETTINGS);
        lines
            .extend(hidden.err().map(|why| format!("Warning: git sees {LOCAL_SETTINGS}: {why:#}")));
    }
    lines.extend(commands);
    lines.extend(client_note);
    lines.extend(warnings(project, scope));
    let report = self_test::run(project.process, &program.file);
    lines.push(report.text);
    if let Some(failed) = report.failed {
        return Ok(Outcome {
            stdout: Some(lines.join("\n").into()),
            stderr: Some(format!("the hooks are wired, but the self-test failed: {failed}").into()),
            code: 1,
        });
    }
    lines.push("Start Claude Code in the project, then look: hookkeeper status".into());
    Ok(Outcome::printed(lines.join("\n")))
}

/// That the client has a status line of somebody else, in whatever file: ours would replace it, or
/// not be seen.
fn other_status_line(project: &Project) -> Option<String> {
    let other = |scope: Scope| {
        let (path, bytes) = read_scope(project, scope).ok()?;
        match status_line::owner(&String::from_utf8_lossy(&bytes?)) {
            Owner::Other(command) => Some((path, command)),
            Owner::Nobody | Owner::Us => None,
        }
    };
    let (path, command) = Scope::ALL.into_iter().find_map(other)?;
    let (shown, command) = (project.shown(&path), clip(&one_line(&command), 100));
    Some(format!(
        "{shown}: there is another status line ({command}); it stays, and ours is left out"
    ))
}

fn edited_text(text: &str, launch: &Launch, with: Extras) -> Result<String, Malformed> {
    let mut wired = edit::wire(text, launch)?;
    if with.flush {
        wired = flush_hooks::wire(&wired, launch)?;
    }
    if with.status_line { status_line::wire(&wired, launch) } else { Ok(wired) }
}

/// What wiring comes to; nothing is made yet.
struct Planned {
    launch: Launch,
    shown: String,
    bytes: Option<Vec<u8>>,
    /// The new text; `None` if all is wired already.
    wired: Option<String>,
    wants_record: bool,
}

impl Planned {
    /// Refuses all that can be wrong with the file.
    fn new(project: &Project, scope: Scope, with: Extras) -> anyhow::Result<Self> {
        let launch = find_program(project.process, scope)?.launch;
        let (path, bytes) = read_scope(project, scope)?;
        let shown = project.shown(&path);
        let wired = rewired(bytes.as_deref(), &shown, &launch, with)?;
        let (is_settled, writable) = with_paths(project, |paths| {
            let recorded = paths.wired_file(scope)?;
            let by_this = recorded.is_some_and(|file| file.version == env!("CARGO_PKG_VERSION"));
            Ok((by_this && !paths.has_leftover(scope), paths.check_writable(scope)))
        })?;
        let wants_record = !is_settled && writable.is_ok();
        if wired.is_some() {
            writable?;
        }
        Ok(Self { launch, shown, bytes, wired, wants_record })
    }
}

/// The new text of a settings file; `None` if it stays as it is.
fn rewired(
    bytes: Option<&[u8]>,
    shown: &str,
    launch: &Launch,
    with: Extras,
) -> anyhow::Result<Option<String>> {
    let old = decode(bytes, shown)?;
    let new = edited_text(&old, launch, with).with_context(|| shown.to_owned())?;
    Ok((bytes.is_none() || old != new).then_some(new))
}

/// Wires a scope's file, and with it the status line if that is wanted; says what was done.
pub fn wire(project: &Project, scope: Scope, with: Extras) -> anyhow::Result<String> {
    let Planned { launch, shown, bytes, mut wired, wants_record } =
        Planned::new(project, scope, with)?;
    let what = match with.status_line {
        true => format!("all {} events and the status line are", Kind::COUNT),
        false => format!("all {} events are", Kind::COUNT),
    };
    let entry = WiredFile {
        command: launch.program().to_owned(),
        version: env!("CARGO_PKG_VERSION").into(),
        wired_at: time::spell(project.process.now()),
        ..WiredFile::default()
    };
    if wired.is_none() {
        // So that it is noticed when somebody drops the entries, and which version looked last.
        if wants_record {
            open_settings(project, scope)?.record_wired(entry)?;
        }
        return Ok(format!("{shown}: {what} wired already"));
    }
    let mut file = open_settings(project, scope)?;
    let before = file.read()?;
    if before != bytes {
        wired = rewired(before.as_deref(), &shown, &launch, with)?;
    }
    let Some(wired) = wired else {
        return Ok(format!("{shown}: {what} wired already"));
    };
    let backup = file.replace_wired(before.as_deref(), wired.as_bytes(), entry)?;
    let backup = match backup {
        Some(path) => format!("the file as it was: {}", project.shown(&path)),
        None => "a new file".into(),
    };
    let and_line = if with.status_line { " and the status line" } else { "" };
    Ok(format!("{shown}: wired {} events{and_line} ({backup})", Kind::COUNT))
}

/// What an edit would do to a file, as a diff. The edit gets the text and how we are started, and
/// gives `None` if the file would go.
pub fn preview(
    project: &Project,
    scope: Scope,
    edit: impl Fn(&str, &Launch) -> anyhow::Result<Option<String>>,
) -> anyhow::Result<Outcome> {
    let launch = find_program(project.process, scope)?.launch;
    let (path, bytes) = read_scope(project, scope)?;
    let shown = project.shown(&path);
    let text = decode(bytes.as_deref(), &shown)?;
    let after = edit(&text, &launch).with_context(|| shown.clone())?;
    if bytes.is_some() && after.as_ref() == Some(&text) {
        return Ok(Outcome::printed(format!("{shown}: nothing would change")));
    }
    let from = if bytes.is_some() { shown.as_str() } else { "/dev/null" };
    let to = if after.is_some() { shown.as_str() } else { "/dev/null" };
    let colour = project.terminal().colour;
    Ok(Outcome::printed(diff::unified(&text, &after.unwrap_or_default(), from, to, colour)))
}

pub fn open_settings(project: &Project, scope: Scope) -> anyhow::Result<SettingsFile> {
    with_paths(project, |paths| SettingsFile::open(paths, scope))
}

struct WiredProgram {
    /// As the settings start it.
    launch: Launch,
    /// The file behind it.
    file: PathBuf,
}

/// Everybody's own PATH for a file that people share; the place itself for a file of one's own.
fn find_program(process: &Process, scope: Scope) -> anyhow::Result<WiredProgram> {
    let running = process.program().context("this program's own file cannot be found")?;
    let on_path = process.on_path(PROGRAM).filter(|found| is_same_file(found, &running));
    let file = on_path.unwrap_or(running);
    // Entries are known by this name, also by the next version.
    let is_named = file.file_name().is_some_and(|name| is_our_name(&name.to_string_lossy()));
    let launch = match (scope, file.to_str()) {
        (Scope::Project, _) => Launch::Guarded,
        _ if !is_named => bail!(
            "{}: the program's file has to be called `{PROGRAM}` to be wired by its path; rename it, or link it",
            file.display()
        ),
        (Scope::Local | Scope::User, Some(path)) => Launch::Exec(path.to_owned()),
        (_, None) => bail!("{}: this path is not UTF-8", file.display()),
    };
    Ok(WiredProgram { launch, file })
}

/// Where `npx` puts what it was asked to run: `…/_npx/HASH/node_modules/…`.
fn is_in_npx_cache(program: &Path) -> bool {
    let mut parts = program.components().map(|part| part.as_os_str());
    parts.any(|part| part == "_npx") && parts.nth(1).is_some_and(|part| part == "node_modules")
}

fn is_our_name(name: &str) -> bool {
    command_line::program(&[name.to_owned()]) == PROGRAM
}

pub fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_npx_runs_is_not_wired() {
        let cached = |path: &str| is_in_npx_cache(Path::new(path));
        assert!(cached("/home/a/.npm/_npx/0f3e/node_modules/hookkeeper/bin/hookkeeper"));
        assert!(cached("/c/_npx/0f3e/node_modules/@hookkeeper/linux-x64/bin/hookkeeper"));
        assert!(!cached("/home/a/lib/node_modules/hookkeeper/bin/hookkeeper"));
        assert!(!cached("/home/a/_npx/bin/hookkeeper"));
    }
}
