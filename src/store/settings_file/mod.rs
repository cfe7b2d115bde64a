//! A settings file of the client, edited as the state is: under a lock, replaced whole, with a
//! numbered backup. It is its user's file, so its mode, its owner and a symlink to it stay.
//!
//! `install` keeps a numbered copy of the file and its digest afterwards
//! (`.claude/state/settings/`, for the user scope `hookkeeper/settings/` in the client's
//! directory). `uninstall` follows these steps back as long as the digests match, and so gives the
//! old bytes back. Where something else changed the file, it takes out our entries and what became
//! empty by that. Entries of ours that were there before `install` go too: `uninstall` never leaves
//! us wired. Where the record is not believed ([`installs`]), the structure of the file decides.

pub mod installs;
pub mod paths;

use std::io;
use std::path::{Path, PathBuf};

use crate::client::settings::scope::Scope;
use crate::client::wiring::{InstallStep, WiredFile, Wiring};
use crate::core::error::{Error, Result};
use crate::core::id::sha256_hex;
use crate::core::text::to_bytes;
use crate::store::dir::Dir;
use crate::store::home::{self, Entered};
use crate::store::lock::{self, Lock};

use installs::Installs;
pub use paths::SettingsPaths;

/// Backups of one file.
const MAX_BACKUPS: usize = 20;
const RECORD: &str = "wiring.json";
const NEW_RECORD: &str = ".wiring.new";

/// A settings file that nobody else of us edits now.
pub struct SettingsFile {
    pub path: PathBuf,
    pub scope: Scope,
    dir: Dir,
    name: String,
    /// The directory that has the backups and the record.
    backups: Dir,
    record: Wiring,
    installs: Installs,
    _lock: Lock,
}

impl SettingsFile {
    pub fn open(paths: &SettingsPaths, scope: Scope) -> Result<Self> {
        let path = paths.path(scope)?;
        let real = paths.resolve(&path)?;
        let (claude, state, lock) = match (scope, paths.client) {
            (Scope::User, Some(client)) => {
                let claude = installs::open_client(client)?.for_its_owner();
                let open = || {
                    Ok((Dir::open(claude.path())?.for_its_owner(), claude.make(installs::FOLDER)?))
                };
                let (claude, own, Some(lock)) = lock::acquire_in(lock::PATIENCE, open)? else {
                    return Err(Error::Busy);
                };
                home::hide_from_git(&own)?;
                (claude, own, lock)
            }
            _ => match home::enter(paths.root, paths.home, lock::PATIENCE)? {
                Entered::Locked(home) => (home.claude, home.state, home.lock),
                Entered::Busy(..) => return Err(Error::Busy),
            },
        };
        let dir = match real.parent() {
            Some(parent) if real != path => Dir::open(parent)?,
            _ => claude,
        };
        let backups = state.make("settings")?;
        let record = read_record(&backups)?;
        let name = file_name(&real);
        let installs = Installs::into_file(&path, paths.client)?;
        let file = Self { path, scope, dir, name, backups, record, installs, _lock: lock };
        file.keep_leftover()?;
        Ok(file)
    }

    /// What a killed process left beside the file is kept with the backups: it may be the file.
    fn keep_leftover(&self) -> Result<()> {
        let temporary = temporary_name(&self.name);
        if let Some(bytes) = self.dir.read(&temporary)? {
            self.back_up(Some(&bytes))?;
        }
        self.dir.remove(&temporary)
    }

    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        read_file(&self.dir, &self.name, &self.path)
    }

    /// Records that the file is wired as it is, and that this version finds it right.
    pub fn record_wired(&mut self, mut entry: WiredFile) -> Result<()> {
        entry.file = self.file_name();
        entry.scope = self.scope.name().to_owned();
        match self.record.files.iter_mut().find(|known| known.file == entry.file) {
            Some(known) if known.version == entry.version => return Ok(()),
            Some(known) => known.version = entry.version,
            None => self.record.files.push(entry),
        }
        self.write_record()
    }

    /// Puts a wired text in the place of `old`; gives the backup's path, if there was a file.
    pub fn replace_wired(
        &mut self,
        old: Option<&[u8]>,
        new: &[u8],
        mut entry: WiredFile,
    ) -> Result<Option<PathBuf>> {
        self.check_writable()?;
        let backup = self.back_up(old)?;
        entry.file = self.file_name();
        entry.scope = self.scope.name().to_owned();
        let after = sha256_hex(new);
        // Without it the record is not believed later, which is no reason to fail now.
        let _ = self.installs.note(old, &after);
        self.record
            .add(entry, InstallStep { backup: backup.clone(), after, ..InstallStep::default() });
        self.write_record()?;
        self.replace(old, Some(new))?;
        Ok(backup.map(|name| self.backups.path_of(&name)))
    }

    /// What was there before the installs that led to `now`.
    pub fn original(&self, now: &[u8]) -> Result<Recorded> {
        find_original(&self.backups, self.record.file(&self.file_name()), &self.installs, now)
    }

    /// The file as it was before the first install that is known.
    pub fn first_backup(&self) -> Result<Option<Vec<u8>>> {
        let wired = self.record.file(&self.file_name());
        read_first_backup(&self.backups, wired, &self.installs)
    }

    /// Puts an unwired text, or nothing, in the place of `old`.
    pub fn replace_unwired(&mut self, old: &[u8], new: Option<&[u8]>) -> Result<Option<PathBuf>> {
        self.check_writable()?;
        let backup = self.back_up(Some(old))?;
        self.replace(Some(old), new)?;
        // The settings are what was asked for; a record that stays is said by `doctor`, and goes
        // with the next uninstall.
        let _ = self.remove_record();
        Ok(backup.map(|name| self.backups.path_of(&name)))
    }

    /// Nothing of ours is in the file any more.
    pub fn remove_record(&mut self) -> Result<()> {
        let name = self.file_name();
        if self.record.file(&name).is_some() {
            self.record.remove(&name);
            self.write_record()?;
        }
        Ok(())
    }

    fn file_name(&self) -> String {
        file_name(&self.path)
    }

    fn back_up(&self, bytes: Option<&[u8]>) -> Result<Option<String>> {
        let Some(bytes) = bytes else { return Ok(None) };
        let prefix = format!("{}.", self.file_name());
        let number = |name: &String| name.strip_prefix(&prefix)?.parse::<u32>().ok();
        let mut numbers: Vec<u32> = self.backups.names()?.iter().filter_map(number).collect();
        numbers.sort_unstable();
        // A number that has no next one is none of ours.
        numbers.retain(|number| *number < u32::MAX);
        let next = numbers.last().map_or(1, |last| last + 1);
        let name = format!("{prefix}{next}");
        self.backups.create(&name, bytes, true)?;
        for old in numbers.iter().rev().skip(MAX_BACKUPS - 1) {
            self.backups.remove(&format!("{prefix}{old}"))?;
        }
        Ok(Some(name))
    }

    fn write_record(&self) -> Result<()> {
        self.backups.remove(NEW_RECORD)?;
        let put = || self.backups.rename(NEW_RECORD, &self.backups, RECORD);
        self.backups.write_and(NEW_RECORD, &[&to_bytes(&self.record)], true, put)
    }

    /// The client does not know our lock. So the files change places, and what comes out is looked
    /// at: if it is not what we read, it goes back, and whoever wrote it wins.
    fn replace(&self, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<()> {
        let temporary = temporary_name(&self.name);
        let changed = || {
            let why = io::Error::other("somebody else has just changed it; try again");
            Error::io("change", &self.path, why)
        };
        match (old, new) {
            (None, None) => Ok(()),
            (None, Some(new)) => {
                self.dir.create_usual(&temporary, new)?;
                let moved = self.dir.rename_new(&temporary, &self.dir, &self.name);
                moved.map_err(|_| {
                    let _ = self.dir.remove(&temporary);
                    changed()
                })
            }
            (Some(old), Some(new)) => {
                self.dir.create(&temporary, new, true)?;
                self.dir.copy_mode_to(&self.name, &self.dir, &temporary)?;
                if self.read()?.as_deref() != Some(old) {
                    self.dir.remove(&temporary)?;
                    return Err(changed());
                }
                if !self.dir.exchange(&temporary, &self.name)? {
                    return self.dir.rename(&temporary, &self.dir, &self.name);
                }
                if self.was_changed(&temporary, old) {
                    self.dir.exchange(&temporary, &self.name)?;
                    self.dir.remove(&temporary)?;
                    return Err(changed());
                }
                // The file is in its place. What cannot be removed now is swept by the next one.
                let _ = self.dir.remove(&temporary);
                Ok(())
            }
            (Some(old), None) => {
                self.dir.rename(&self.name, &self.dir, &temporary)?;
                if self.was_changed(&temporary, old) {
                    self.dir.rename_new(&temporary, &self.dir, &self.name)?;
                    return Err(changed());
                }
                let _ = self.dir.remove(&temporary);
                Ok(())
            }
        }
    }

    /// Whether what came out of the file's place is something else than what we had read.
    fn was_changed(&self, temporary: &str, old: &[u8]) -> bool {
        self.dir.read(temporary).is_ok_and(|displaced| displaced.as_deref() != Some(old))
    }

    /// A file can be replaced even if it is read-only. Its owner did not mean that.
    fn check_writable(&self) -> Result<()> {
        check_writable(&self.dir, &self.name, &self.path)
    }
}

/// Where the new file is written before it takes its place.
fn temporary_name(name: &str) -> String {
    format!(".{name}.hookkeeper")
}

fn check_writable(dir: &Dir, name: &str, path: &Path) -> Result<()> {
    let read_only = |what| {
        let why = io::Error::new(io::ErrorKind::PermissionDenied, what);
        Err(Error::io("change", path, why))
    };
    if dir.is_read_only(name) {
        return read_only("it is read-only");
    }
    if dir.is_writable() { Ok(()) } else { read_only("its directory is read-only") }
}

fn read_file(dir: &Dir, name: &str, path: &Path) -> Result<Option<Vec<u8>>> {
    match dir.read(name) {
        Err(Error::Planted { .. }) if dir.is_dir(name) => {
            Err(Error::io("read", path, io::Error::other("it is a directory")))
        }
        other => other,
    }
}

/// What a file was before our installs, as far back as nothing else changed it.
pub enum Original {
    Unknown,
    NoFile,
    Bytes(Vec<u8>),
}

/// What the record says that a file was.
pub struct Recorded {
    pub original: Original,
    /// Every step to it was made on this machine. Else the record may say anything.
    pub is_trusted: bool,
}

fn find_original(
    backups: &Dir,
    wired: Option<&WiredFile>,
    installs: &Installs,
    now: &[u8],
) -> Result<Recorded> {
    let mut found = Recorded { original: Original::Unknown, is_trusted: true };
    let Some(wired) = wired else { return Ok(found) };
    let mut bytes = now.to_vec();
    for step in wired.steps.iter().rev() {
        if sha256_hex(&bytes) != step.after {
            continue;
        }
        let before = match &step.backup {
            Some(name) => match read_backup(backups, wired, name)? {
                None => break,
                before => before,
            },
            None => None,
        };
        found.is_trusted &= installs.knows(before.as_deref(), &step.after)?;
        let Some(before) = before else {
            return Ok(Recorded { original: Original::NoFile, ..found });
        };
        bytes = before;
        found.original = Original::Bytes(bytes.clone());
    }
    Ok(found)
}

/// One that somebody has changed since is none.
fn read_first_backup(
    backups: &Dir,
    wired: Option<&WiredFile>,
    installs: &Installs,
) -> Result<Option<Vec<u8>>> {
    let Some((wired, step)) = wired.and_then(|wired| Some((wired, wired.steps.first()?))) else {
        return Ok(None);
    };
    let Some(name) = &step.backup else { return Ok(None) };
    let Some(bytes) = read_backup(backups, wired, name)? else { return Ok(None) };
    Ok(if installs.deny(&bytes, &step.after)? { None } else { Some(bytes) })
}

/// A backup by the name that the record gives; a name that we would not have given is none.
fn read_backup(backups: &Dir, wired: &WiredFile, name: &str) -> Result<Option<Vec<u8>>> {
    match is_backup(&wired.file, name) {
        true => backups.read(name),
        false => Ok(None),
    }
}

/// `settings.json.3` is a backup of `settings.json`.
fn is_backup(file: &str, name: &str) -> bool {
    let number = name.strip_prefix(file).and_then(|rest| rest.strip_prefix('.'));
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Whether a file in the folder of backups is one of ours, beside the record.
pub fn is_kept(name: &str) -> bool {
    name == NEW_RECORD || Scope::ALL.iter().any(|scope| is_backup(scope.file_name(), name))
}

fn read_record(backups: &Dir) -> Result<Wiring> {
    let bytes = backups.read(RECORD)?.unwrap_or_default();
    // A broken record is no reason to fail: then the structure of the file decides.
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
