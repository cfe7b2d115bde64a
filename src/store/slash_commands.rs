//! Our slash commands in a `commands/hookkeeper` folder of the client: written and taken out again,
//! under the lock and through no link. What somebody has changed stays.

use std::io;

use crate::client::settings::scope::Scope;
use crate::client::slash_commands::{ALL, FOLDER, is_as_written};
use crate::core::error::{Error, Result};
use crate::store::dir::Dir;
use crate::store::home::{self, Entered};
use crate::store::lock::{self, Lock};
use crate::store::settings_file::SettingsPaths;
use crate::store::settings_file::installs::open_client;
use crate::store::user_settings::UserSettings;

const NEW: &str = ".hookkeeper.new";

/// What becomes of a file, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStep {
    /// It is written, new or in the place of an older one of ours.
    Write,
    /// It is as it shall be.
    Same,
    /// It goes.
    Remove,
    /// Somebody else has written or changed it: it stays.
    Stays,
}

/// Each file by its name, and what becomes of it.
pub type Steps = Vec<(String, FileStep)>;

/// What `install` would do; nothing is made, nothing is locked.
pub fn steps_to_write(paths: &SettingsPaths, scope: Scope) -> Result<Steps> {
    let folder = existing_folder(paths, scope)?;
    let step = |name: &str, wanted: &str| match folder.as_ref().map(|folder| folder.read(name)) {
        Some(Ok(Some(found))) if found == wanted.as_bytes() => Ok(FileStep::Same),
        Some(Ok(Some(found))) if !is_as_written(&found) => Ok(FileStep::Stays),
        Some(Err(Error::Planted { .. })) => Ok(FileStep::Stays),
        Some(Err(error)) => Err(error),
        None | Some(Ok(_)) => Ok(FileStep::Write),
    };
    let all = ALL.iter().map(|command| {
        let name = command.file_name();
        let step = step(&name, &command.file_text())?;
        Ok((name, step))
    });
    all.collect()
}

/// Writes what is missing or old.
pub fn write(paths: &SettingsPaths, scope: Scope) -> Result<Steps> {
    let (claude, _lock) = open_locked(paths, scope)?;
    let folder = claude.make_usual(FOLDER.0)?.make_usual(FOLDER.1)?;
    let steps = steps_to_write(paths, scope)?;
    for (name, _) in steps.iter().filter(|(_, step)| *step == FileStep::Write) {
        let text = ALL.iter().find(|command| command.file_name() == *name);
        let text = text.map(|command| command.file_text()).unwrap_or_default();
        folder.remove(NEW)?;
        folder.create_usual(NEW, text.as_bytes())?;
        folder.rename(NEW, &folder, name)?;
    }
    Ok(steps)
}

/// What `uninstall` would do. Files of older versions go too; what is not ours is not named.
pub fn steps_to_remove(paths: &SettingsPaths, scope: Scope) -> Result<Steps> {
    let folder = match existing_folder(paths, scope) {
        // What is behind a link was not written by us.
        Ok(None) | Err(Error::Planted { .. }) => return Ok(Steps::new()),
        Ok(Some(folder)) => folder,
        Err(error) => return Err(error),
    };
    let mut steps = Steps::new();
    for name in folder.names()? {
        let is_ours_by_name = ALL.iter().any(|command| command.file_name() == name);
        match folder.read(&name) {
            Ok(Some(bytes)) if is_as_written(&bytes) => steps.push((name, FileStep::Remove)),
            Err(error @ Error::Io { .. }) => return Err(error),
            _ if is_ours_by_name => steps.push((name, FileStep::Stays)),
            _ => {}
        }
    }
    steps.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(steps)
}

/// Whether there are any that we wrote.
pub fn are_written(paths: &SettingsPaths, scope: Scope) -> Result<bool> {
    Ok(steps_to_remove(paths, scope)?.iter().any(|(_, step)| *step == FileStep::Remove))
}

/// Takes out what is as we wrote it, and the folders if they are empty then.
pub fn remove(paths: &SettingsPaths, scope: Scope) -> Result<Steps> {
    if steps_to_remove(paths, scope)?.is_empty() {
        return Ok(Steps::new());
    }
    let (claude, _lock) = open_locked(paths, scope)?;
    let steps = steps_to_remove(paths, scope)?;
    let Some(commands) = claude.sub(FOLDER.0)? else { return Ok(Steps::new()) };
    let Some(folder) = commands.sub(FOLDER.1)? else { return Ok(Steps::new()) };
    folder.remove(NEW)?;
    let mut gone = steps.iter().filter(|(_, step)| *step == FileStep::Remove).peekable();
    let is_any = gone.peek().is_some();
    gone.try_for_each(|(name, _)| folder.remove(name))?;
    if is_any {
        commands.remove_empty(FOLDER.1)?;
        claude.remove_empty(FOLDER.0)?;
    }
    Ok(steps)
}

/// `.claude/commands/hookkeeper` or that of the client's own directory, if it is there.
fn existing_folder(paths: &SettingsPaths, scope: Scope) -> Result<Option<Dir>> {
    let claude = match scope {
        Scope::User => match paths.client.map(Dir::open) {
            Some(Err(error)) if !error.is_not_found() => return Err(error),
            found => found.and_then(std::result::Result::ok),
        },
        Scope::Project | Scope::Local => home::existing_claude_dir(paths.root, paths.home)?,
    };
    let Some(claude) = claude else { return Ok(None) };
    let Some(commands) = claude.sub(FOLDER.0)? else { return Ok(None) };
    commands.sub(FOLDER.1)
}

/// The directory that has the folder, under the lock that belongs to it.
fn open_locked(paths: &SettingsPaths, scope: Scope) -> Result<(Dir, CommandsLock)> {
    if scope != Scope::User {
        return match home::enter(paths.root, paths.home, lock::PATIENCE)? {
            Entered::Locked(home) => Ok((home.claude, CommandsLock::Project { _lock: home.lock })),
            Entered::Busy(..) => Err(Error::Busy),
        };
    }
    let none = || Error::io("find", paths.root, io::Error::other("there is no home directory"));
    let client = paths.client.ok_or_else(none)?;
    let lock = UserSettings::open(client)?;
    Ok((open_client(client)?.for_its_owner(), CommandsLock::User { _lock: lock }))
}

enum CommandsLock {
    Project { _lock: Lock },
    User { _lock: UserSettings },
}
