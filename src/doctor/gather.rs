//! The facts for the checks, from wherever they are. Nothing here fails: what cannot be had is
//! absent from the facts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::facts::{Answer, ClientVersion, Facts, Program, Transcripts};
use super::program::{Place, Sought, sought};
use super::settings::{self, Content, SettingsFile};
use crate::books::wiring::WiredFile;
use crate::client::settings::scope::Scope;
use crate::facts::{client, disk, files, hook_runs};
use crate::inspect;
use crate::process::child::{self, Input, Run};
use crate::process::git::Git;
use crate::process::{Process, is_program};
use crate::root;
use crate::store::settings_file::Places;
use crate::store::survey;
use crate::store::view::View;

/// Nobody's settings are larger.
const LARGEST_SETTINGS: u64 = 64 << 20;
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

pub fn gather_facts(process: &Process, root: &Path) -> Facts {
    let home = process.home();
    let client_dir = process.client_dir();
    let place = Place { root, home: home.as_deref() };
    let mut files = settings_files(root, home.as_deref(), client_dir.as_deref());
    for file in &mut files {
        look_for_programs(process, &place, file);
    }
    let state = survey::survey(root, home.as_deref());
    let host = process.host();
    let gone = state.lives.iter().filter(|live| client::is_gone(&live.client, &host));
    let gone = gone.map(|live| live.session_id.clone()).collect();
    let state_dir = root.join(".claude/state");
    let books = state_dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(root);
    Facts {
        version: env!("CARGO_PKG_VERSION").into(),
        running: process.program(),
        root: root.to_owned(),
        programs: programs(process, &place, &files),
        recorded: recorded(root, home.as_deref(), client_dir.as_deref()),
        documents: documents(root, home.as_deref()),
        off: process.env("HOOKKEEPER_OFF").as_deref() == Some("1"),
        gone,
        tracked: tracked(root),
        free: disk::free(books),
        network: disk::network(books),
        client: client_version(process, root),
        transcripts: transcripts(root, client_dir.as_deref()),
        home,
        client_dir,
        files,
        state,
    }
}

fn settings_files(
    root: &Path,
    home: Option<&Path>,
    client_dir: Option<&Path>,
) -> Vec<SettingsFile> {
    let mut found: Vec<SettingsFile> = Vec::new();
    // In the home directory itself the user's file is the project's too: it is looked at once.
    for scope in [Scope::User, Scope::Project, Scope::Local] {
        let Some(path) = scope.path(root, client_dir) else { continue };
        if found.iter().all(|file| file.path != path) {
            let shown = root::shown(&path, root, home);
            found.push(SettingsFile { scope, shown, content: read(&path), path });
        }
    }
    found.sort_by_key(|file| Scope::ALL.iter().position(|scope| *scope == file.scope));
    found
}

fn read(path: &Path) -> Content {
    match files::head(path, LARGEST_SETTINGS) {
        Some(bytes) => settings::read(&bytes),
        None if path.symlink_metadata().is_err() && path.parent().is_none_or(is_open) => {
            Content::None
        }
        None if path.is_dir() => Content::Unreadable("it is a directory".into()),
        None if !path.exists() && path.is_symlink() => {
            Content::Unreadable("it is a symlink that leads nowhere".into())
        }
        None => Content::Unreadable("it cannot be read".into()),
    }
}

/// Whether we can see what is in a directory; one that does not exist hides nothing.
fn is_open(dir: &Path) -> bool {
    !dir.exists() || dir.read_dir().is_ok()
}

fn look_for_programs(process: &Process, place: &Place, file: &mut SettingsFile) {
    let Content::Parsed(parsed) = &mut file.content else { return };
    for hook in &mut parsed.hooks {
        let troubles = sought(hook, place).into_iter().filter_map(|sought| match sought {
            Sought::Program(path) if !path.exists() => {
                Some(format!("{} does not exist", path.display()))
            }
            Sought::Program(path) if !is_program(&path) => {
                Some(format!("{} is not executable", path.display()))
            }
            Sought::Name(name) if process.on_path(&name).is_none() => {
                Some(format!("`{name}` is not on the PATH here"))
            }
            Sought::Script(path) if !path.exists() => {
                Some(format!("{} does not exist", path.display()))
            }
            _ => None,
        });
        hook.trouble = { troubles }.next();
    }
}

fn programs(process: &Process, place: &Place, files: &[SettingsFile]) -> Vec<Program> {
    let mut found: Vec<Program> = Vec::new();
    let ours = files.iter().flat_map(|file| file.hooks()).filter(|hook| hook.ours);
    for hook in ours {
        let Some(word) = hook.words.first() else { continue };
        if found.iter().any(|program| program.word == *word) {
            continue;
        }
        let path = match place.find(word, hook.exec) {
            Some(Sought::Name(name)) => process.on_path(&name),
            Some(Sought::Program(path) | Sought::Script(path)) => {
                Some(path).filter(|path| is_program(path))
            }
            // Only a shell could tell.
            None => continue,
        };
        let answer = match &path {
            Some(path) => version(path, place.root),
            None => Answer::NotAsked,
        };
        found.push(Program { word: word.clone(), path, answer });
    }
    found
}

/// What a program says to `--version`. One that a project brings along is not started: who checks
/// a project has not said yet that its code may run.
fn version(program: &Path, root: &Path) -> Answer {
    let inside = |path: &Path| path.starts_with(root);
    if inside(program) || program.canonicalize().is_ok_and(|real| inside(&real)) {
        return Answer::NotAsked;
    }
    let run = Run {
        program,
        args: &["--version".as_ref()],
        dir: Some(Path::new("/")),
        env: &[],
        input: Input::Nothing,
        limit: VERSION_TIMEOUT,
    };
    match child::run(&run) {
        Err(error) => Answer::Failed(error.to_string()),
        Ok(ended) => {
            let text = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes);
                text.lines().next().unwrap_or_default().trim().to_owned()
            };
            match ended.code {
                Some(0) => Answer::Said(text(&ended.stdout)),
                Some(code) => Answer::Failed(format!("exit code {code}: {}", text(&ended.stderr))),
                None => Answer::Failed("it was ended by a signal, or after 5 seconds by us".into()),
            }
        }
    }
}

fn client_version(process: &Process, root: &Path) -> ClientVersion {
    let Some(path) = process.on_path("claude") else { return ClientVersion::NotFound };
    match version(&path, root) {
        Answer::Said(said) => ClientVersion::Said(path, said),
        Answer::Failed(why) => ClientVersion::Failed(path, why),
        Answer::NotAsked => ClientVersion::Failed(path, "it is part of the project".into()),
    }
}

fn recorded(root: &Path, home: Option<&Path>, client: Option<&Path>) -> Vec<(Scope, WiredFile)> {
    let places = Places { root, home, client };
    let recorded = |scope| places.wired(scope).map(|file| (scope, file));
    Scope::ALL.into_iter().filter_map(recorded).collect()
}

fn documents(root: &Path, home: Option<&Path>) -> inspect::Report {
    let view = View::open(root, home).ok().flatten();
    view.and_then(|view| inspect::problems(&view).ok()).unwrap_or_default()
}

/// What git has of the books in its index.
fn tracked(root: &Path) -> Vec<String> {
    if !root.ancestors().any(|dir| dir.join(".git").exists()) {
        return Vec::new();
    }
    let said = Git::in_dir(root).ask(&["ls-files", "-z", "--", ".claude/state"]);
    let names = said.map(|said| said.out).unwrap_or_default();
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
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    hook_runs::dir_of(client_dir, &root)
}
