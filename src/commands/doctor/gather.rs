//! The facts for the checks, from wherever they are. Nothing here fails: what cannot be had is
//! absent from the facts.

use std::path::{Path, PathBuf};

use crate::client::hook_runs;
use crate::client::settings::scope::Scope;
use crate::client::version as client_version;
use crate::client::wiring::WiredFile;
use crate::doctor::export::ExportFacts;
use crate::doctor::facts::{Facts, Program, Transcripts};
use crate::doctor::installed;
use crate::doctor::program::{Requirement, SearchRoots, requirements};
use crate::doctor::settings::{self, ExaminedSettings, SettingsContent};
use crate::doctor::survey;
use crate::export::standing;
use crate::git::command::Git;
use crate::process::version::{self, VersionAnswer};
use crate::process::{Process, client, disk, files, is_program};
use crate::store::settings_file::SettingsPaths;
use crate::store::slash_commands;
use crate::store::view::View;
use crate::turn::root;
use crate::validate;

/// Nobody's settings are larger.
const LARGEST_SETTINGS: u64 = 64 << 20;

pub fn gather_facts(process: &Process, root: &Path) -> Facts {
    let home = process.home();
    let client_dir = process.client_dir();
    let roots = SearchRoots { root, home: home.as_deref() };
    let mut files = settings_files(root, home.as_deref(), client_dir.as_deref());
    for file in &mut files {
        look_for_programs(process, &roots, file);
    }
    let state = survey::survey(root, home.as_deref());
    let host = process.host();
    let gone = state.lives.iter().filter(|live| client::is_gone(&live.client, &host));
    let gone = gone.map(|live| live.session_id.clone()).collect();
    let state_dir = root.join(".claude/state");
    let nearest = state_dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(root);
    let mut facts = Facts {
        version: env!("CARGO_PKG_VERSION").into(),
        running: process.program(),
        root: root.to_owned(),
        programs: programs(process, &roots, &files),
        slash_commands: slash_commands(root, home.as_deref(), client_dir.as_deref()),
        recorded: recorded(root, home.as_deref(), client_dir.as_deref()),
        documents: documents(root, home.as_deref()),
        off: process.env("HOOKKEEPER_OFF").as_deref() == Some("1"),
        gone,
        tracked: tracked(root),
        free: disk::free(nearest),
        network: disk::network(nearest),
        client: client_version::find(process, root),
        transcripts: transcripts(root, client_dir.as_deref()),
        export: export(process, root),
        home,
        client_dir,
        files,
        state,
        ..Facts::default()
    };
    facts.on_path = installed::on_path(process, root);
    facts.installed_plugins = installed::plugins(&facts);
    facts
}

/// What is known of what is sent elsewhere.
fn export(process: &Process, root: &Path) -> ExportFacts {
    let settings = standing::settings(process, root);
    let view = View::open_quickly(root, process.home().as_deref()).ok().flatten();
    let known = view.and_then(|view| standing::standing(&view, process.now()).ok());
    let (cursor, backlog) = known.unwrap_or_default();
    ExportFacts { settings, cursor, backlog }
}

fn settings_files(
    root: &Path,
    home: Option<&Path>,
    client_dir: Option<&Path>,
) -> Vec<ExaminedSettings> {
    let mut found: Vec<ExaminedSettings> = Vec::new();
    // In the home directory itself the user's file is the project's too: it is looked at once.
    for scope in [Scope::User, Scope::Project, Scope::Local] {
        let Some(path) = scope.path(root, client_dir) else { continue };
        if found.iter().all(|file| file.path != path) {
            let shown = root::shown(&path, root, home);
            found.push(ExaminedSettings { scope, shown, content: read(&path), path });
        }
    }
    found.sort_by_key(|file| Scope::ALL.iter().position(|scope| *scope == file.scope));
    found
}

fn read(path: &Path) -> SettingsContent {
    match files::head(path, LARGEST_SETTINGS) {
        Some(bytes) => settings::read(&bytes),
        None if path.symlink_metadata().is_err() && path.parent().is_none_or(is_open) => {
            SettingsContent::None
        }
        None if path.is_dir() => SettingsContent::Unreadable("it is a directory".into()),
        None if !path.exists() && path.is_symlink() => {
            SettingsContent::Unreadable("it is a symlink that leads nowhere".into())
        }
        None => SettingsContent::Unreadable("it cannot be read".into()),
    }
}

/// Whether we can see what is in a directory; one that does not exist hides nothing.
fn is_open(dir: &Path) -> bool {
    !dir.exists() || files::entries(dir).is_ok()
}

fn look_for_programs(process: &Process, roots: &SearchRoots, file: &mut ExaminedSettings) {
    let SettingsContent::Parsed(parsed) = &mut file.content else { return };
    for hook in &mut parsed.hooks {
        let troubles =
            requirements(hook, roots).into_iter().filter_map(|requirement| match requirement {
                Requirement::Program(path) if !path.exists() => {
                    Some(format!("{} does not exist", path.display()))
                }
                Requirement::Program(path) if !is_program(&path) => {
                    Some(format!("{} is not executable", path.display()))
                }
                Requirement::Name(name) if process.on_path(&name).is_none() => {
                    Some(format!("`{name}` is not on the PATH here"))
                }
                Requirement::Script(path) if !path.exists() => {
                    Some(format!("{} does not exist", path.display()))
                }
                _ => None,
            });
        let quoted = hook
            .quoted_home()
            .map(|path| format!("`{path}` stands in quotes, where the shell does not expand `~`"));
        hook.trouble = quoted.or_else(|| { troubles }.next());
    }
}

fn programs(process: &Process, roots: &SearchRoots, files: &[ExaminedSettings]) -> Vec<Program> {
    let mut found: Vec<Program> = Vec::new();
    let ours = files.iter().flat_map(|file| file.hooks()).filter(|hook| hook.ours);
    for hook in ours {
        let Some(word) = hook.words.first() else { continue };
        if found.iter().any(|program| program.word == *word) {
            continue;
        }
        let path = match roots.find(word, hook.exec) {
            Some(Requirement::Name(name)) => process.on_path(&name),
            Some(Requirement::Program(path) | Requirement::Script(path)) => {
                Some(path).filter(|path| is_program(path))
            }
            // Only a shell could tell.
            None => continue,
        };
        let answer = match &path {
            Some(path) => version::ask(path, roots.root),
            None => VersionAnswer::NotAsked,
        };
        found.push(Program { word: word.clone(), path, answer });
    }
    found
}

fn recorded(root: &Path, home: Option<&Path>, client: Option<&Path>) -> Vec<(Scope, WiredFile)> {
    let paths = SettingsPaths { root, home, client };
    let recorded = |scope| Some((scope, paths.wired_file(scope).ok()??));
    Scope::ALL.into_iter().filter_map(recorded).collect()
}

fn slash_commands(root: &Path, home: Option<&Path>, client: Option<&Path>) -> Vec<&'static str> {
    let paths = SettingsPaths { root, home, client };
    let is_there = |scope| slash_commands::are_written(&paths, scope).unwrap_or_default();
    let folders = [
        (Scope::Project, ".claude/commands/hookkeeper"),
        (Scope::User, "~/.claude/commands/hookkeeper"),
    ];
    folders.into_iter().filter(|(scope, _)| is_there(*scope)).map(|(_, shown)| shown).collect()
}

fn documents(root: &Path, home: Option<&Path>) -> validate::Report {
    let view = View::open(root, home).ok().flatten();
    view.and_then(|view| validate::problems(&view).ok()).unwrap_or_default()
}

/// What git has of the state in its index.
fn tracked(root: &Path) -> Vec<String> {
    if !root.ancestors().any(|dir| dir.join(".git").exists()) {
        return Vec::new();
    }
    let listed = Git::in_dir(root).ask(&["ls-files", "-z", "--", ".claude/state"]);
    let names = listed.map(|listed| listed.out).unwrap_or_default();
    names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn transcripts(root: &Path, client_dir: Option<&Path>) -> Transcripts {
    let Some(dir) = client_dir.map(|dir| transcripts_dir(dir, root)) else {
        return Transcripts::default();
    };
    let (files, unreadable) = match hook_runs::transcripts(&dir) {
        Ok(found) => {
            let closed = found.iter().filter(|(_, path)| files::open(path).is_none()).count();
            let unreadable = (closed > 0).then(|| format!("{closed} of them cannot be opened"));
            (Some(found.len()), unreadable)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    Transcripts { dir: Some(dir), files, unreadable }
}

/// The client names them after the path without symlinks.
pub fn transcripts_dir(client_dir: &Path, root: &Path) -> PathBuf {
    let root = root.canonicalize().map_or_else(|_| root.to_owned(), files::without_prefix);
    hook_runs::dir_of(client_dir, &root)
}
