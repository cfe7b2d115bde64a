//! A settings file of the client, edited as the books are: under a lock, replaced whole, with a
//! numbered backup. It is its user's file, so its mode, its owner and a symlink to it stay.

use std::io;
use std::path::{Path, PathBuf};

use crate::books::to_bytes;
use crate::books::wiring::{Step, WiredFile, Wiring};
use crate::client::settings::scope::Scope;
use crate::error::{Error, Result};
use crate::id::sha256_hex;
use crate::store::dir::Dir;
use crate::store::home;
use crate::store::lock::{self, Lock, Taken};

/// Backups of one file.
const BACKUPS: usize = 20;
const RECORD: &str = "wiring.json";

/// Where the files of a scope are, and what they may lead to.
pub struct Places<'a> {
    pub root: &'a Path,
    pub home: Option<&'a Path>,
    /// The client's own directory.
    pub client: Option<&'a Path>,
}

impl Places<'_> {
    /// The settings file of a scope, as its user knows it.
    pub fn path(&self, scope: Scope) -> Result<PathBuf> {
        let path = scope.path(self.root, self.client).ok_or_else(|| {
            let why = io::Error::other("there is no home directory (HOME is not set)");
            Error::io("find", Path::new("~/.claude/settings.json"), why)
        })?;
        let same = |other: PathBuf| match (path.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(two)) => one == two,
            _ => path == other,
        };
        // In a home directory the project's file is the one for all projects; and a link can make
        // one file out of two. What is right for one scope is wrong for the other.
        let others = Scope::ALL.into_iter().filter(|other| *other != scope);
        for other in others {
            let is_other = other.path(self.root, self.client).is_some_and(same);
            if is_other && scope != Scope::User {
                let name = other.name();
                let why =
                    format!("it is the same file as that of the scope {name}: use --scope {name}");
                return Err(Error::io("use", &path, io::Error::other(why)));
            }
        }
        Ok(path)
    }

    /// The bytes of a scope's file; `None` if there is none. Nothing is made, nothing is locked.
    pub fn read(&self, scope: Scope) -> Result<Option<Vec<u8>>> {
        let path = self.path(scope)?;
        let real = self.real(&path)?;
        match real.parent().map(Dir::open) {
            Some(Ok(dir)) => read(&dir, &file_name(&real), &path),
            Some(Err(error)) if !error.is_not_found() => Err(error),
            _ => Ok(None),
        }
    }

    /// Whether a scope's file could be changed. Nothing is made, nothing is locked.
    pub fn check_writable(&self, scope: Scope) -> Result<()> {
        let path = self.path(scope)?;
        let real = self.real(&path)?;
        match real.parent().map(Dir::open) {
            Some(Ok(dir)) => check_writable(&dir, &file_name(&real), &path),
            Some(Err(error)) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a killed process left something beside a scope's file.
    pub fn has_leftover(&self, scope: Scope) -> bool {
        let real = self.path(scope).and_then(|path| self.real(&path));
        real.is_ok_and(|real| real.with_file_name(temporary(&file_name(&real))).exists())
    }

    /// What is recorded about the wiring of a scope's file.
    pub fn wired(&self, scope: Scope) -> Option<WiredFile> {
        let name = file_name(&self.path(scope).ok()?);
        record(&self.room(scope)?).ok()?.file(&name).cloned()
    }

    /// The same as [`SettingsFile::before`], without the lock.
    pub fn before(&self, scope: Scope, now: &[u8]) -> Result<Option<Option<Vec<u8>>>> {
        match (self.room(scope), self.wired(scope)) {
            (Some(room), Some(wired)) => before(&room, &wired.steps, now),
            _ => Ok(None),
        }
    }

    /// The same as [`SettingsFile::first`], without the lock.
    pub fn first(&self, scope: Scope) -> Result<Option<Vec<u8>>> {
        match (self.room(scope), self.wired(scope)) {
            (Some(room), Some(wired)) => first(&room, &wired.steps),
            _ => Ok(None),
        }
    }

    fn room(&self, scope: Scope) -> Option<Dir> {
        let dir = match scope {
            Scope::User => self.client?.join("hookkeeper"),
            Scope::Project | Scope::Local => self.root.join(".claude/state"),
        };
        Dir::open(&dir).ok()?.sub("settings").ok()?
    }

    /// The file behind a path: a symlink may lead to somewhere in the project or the home.
    fn real(&self, path: &Path) -> Result<PathBuf> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
            Err(error) => return Err(Error::io("read", path, error)),
            Ok(found) if !found.is_symlink() => return Ok(path.to_owned()),
            Ok(_) => {}
        }
        let real = path.canonicalize().map_err(|error| Error::io("resolve", path, error))?;
        let inside = |dir: &Path| dir.canonicalize().is_ok_and(|dir| real.starts_with(dir));
        if [Some(self.root), self.home, self.client].into_iter().flatten().any(inside) {
            return Ok(real);
        }
        let is = "a symlink out of the project and the home directory";
        Err(Error::Planted { path: path.to_owned(), is })
    }
}

/// A settings file that nobody else of us edits now.
pub struct SettingsFile {
    pub path: PathBuf,
    pub scope: Scope,
    dir: Dir,
    name: String,
    /// Backups and the record.
    room: Dir,
    record: Wiring,
    _lock: Lock,
}

impl SettingsFile {
    pub fn open(places: &Places, scope: Scope) -> Result<Self> {
        let path = places.path(scope)?;
        let real = places.real(&path)?;
        let (claude, state) = match (scope, places.client) {
            (Scope::User, Some(client)) => {
                let claude = match (client.parent(), client.file_name()) {
                    (Some(parent), Some(name)) if !client.exists() => {
                        Dir::open(parent)?.make(&name.to_string_lossy())?
                    }
                    _ => Dir::open(client)?,
                };
                let own = claude.make("hookkeeper")?;
                (claude, own)
            }
            _ => home::open(places.root, places.home)?,
        };
        let lock = match lock::take(home::lock_file(&state)?) {
            Ok(Taken::Yes(lock)) => lock,
            Ok(Taken::Busy) => return Err(Error::Busy),
            Err(error) => return Err(Error::io("lock", &state.path_of(home::LOCK), error)),
        };
        let dir = match real.parent() {
            Some(parent) if real != path => Dir::open(parent)?,
            _ => claude,
        };
        let room = state.make("settings")?;
        let record = record(&room)?;
        let name = file_name(&real);
        let file = Self { path, scope, dir, name, room, record, _lock: lock };
        file.sweep()?;
        Ok(file)
    }

    /// What a killed process left beside the file is kept with the backups: it may be the file.
    fn sweep(&self) -> Result<()> {
        let temporary = self.temporary();
        if let Some(bytes) = self.dir.read(&temporary)? {
            self.back_up(Some(&bytes))?;
        }
        self.dir.remove(&temporary)
    }

    fn temporary(&self) -> String {
        temporary(&self.name)
    }

    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        read(&self.dir, &self.name, &self.path)
    }

    /// Records that the file is wired as it is.
    pub fn note(&mut self, mut entry: WiredFile) -> Result<()> {
        entry.file = self.label();
        entry.scope = self.scope.name().to_owned();
        if self.record.file(&entry.file).is_none() {
            self.record.files.push(entry);
            self.write_record()?;
        }
        Ok(())
    }

    /// Puts a wired text in the place of `old`; gives the backup's path, if there was a file.
    pub fn wire(
        &mut self,
        old: Option<&[u8]>,
        new: &[u8],
        mut entry: WiredFile,
    ) -> Result<Option<PathBuf>> {
        self.check_writable()?;
        let backup = self.back_up(old)?;
        entry.file = self.label();
        entry.scope = self.scope.name().to_owned();
        let after = sha256_hex(new);
        self.record.add(entry, Step { backup: backup.clone(), after, ..Step::default() });
        self.write_record()?;
        self.replace(old, Some(new))?;
        Ok(backup.map(|name| self.room.path_of(&name)))
    }

    /// What was there before the installs that led to `now`, as far back as nothing else changed
    /// it. `None`: nothing is known; `Some(None)`: there was no file.
    pub fn before(&self, now: &[u8]) -> Result<Option<Option<Vec<u8>>>> {
        let wired = self.record.file(&self.label());
        before(&self.room, wired.map_or(&[], |file| &file.steps), now)
    }

    /// The file as it was before the first install that is known.
    pub fn first(&self) -> Result<Option<Vec<u8>>> {
        let wired = self.record.file(&self.label());
        first(&self.room, wired.map_or(&[], |file| &file.steps))
    }

    /// Puts an unwired text, or nothing, in the place of `old`.
    pub fn unwire(&mut self, old: &[u8], new: Option<&[u8]>) -> Result<Option<PathBuf>> {
        self.check_writable()?;
        let backup = self.back_up(Some(old))?;
        self.replace(Some(old), new)?;
        // The settings are what was asked for; a record that stays is said by `doctor`, and goes
        // with the next uninstall.
        let _ = self.forget();
        Ok(backup.map(|name| self.room.path_of(&name)))
    }

    /// Nothing of ours is in the file any more.
    pub fn forget(&mut self) -> Result<()> {
        let label = self.label();
        if self.record.file(&label).is_some() {
            self.record.remove(&label);
            self.write_record()?;
        }
        Ok(())
    }

    fn label(&self) -> String {
        file_name(&self.path)
    }

    fn back_up(&self, bytes: Option<&[u8]>) -> Result<Option<String>> {
        let Some(bytes) = bytes else { return Ok(None) };
        let prefix = format!("{}.", self.label());
        let number = |name: &String| name.strip_prefix(&prefix)?.parse::<u64>().ok();
        let mut numbers: Vec<u64> = self.room.names()?.iter().filter_map(number).collect();
        numbers.sort_unstable();
        let next = numbers.last().map_or(1, |last| last + 1);
        let name = format!("{prefix}{next}");
        self.room.create(&name, bytes, true)?;
        for old in numbers.iter().rev().skip(BACKUPS - 1) {
            self.room.remove(&format!("{prefix}{old}"))?;
        }
        Ok(Some(name))
    }

    fn write_record(&self) -> Result<()> {
        const NEW: &str = ".wiring.new";
        self.room.remove(NEW)?;
        self.room.create(NEW, &to_bytes(&self.record), true)?;
        self.room.rename(NEW, &self.room, RECORD)
    }

    /// The client does not know our lock. So the files change places, and what comes out is looked
    /// at: if it is not what we read, it goes back, and whoever wrote it wins.
    fn replace(&self, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<()> {
        let temporary = self.temporary();
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
                if self.is_other(&temporary, old) {
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
                if self.is_other(&temporary, old) {
                    self.dir.rename_new(&temporary, &self.dir, &self.name)?;
                    return Err(changed());
                }
                let _ = self.dir.remove(&temporary);
                Ok(())
            }
        }
    }

    /// Whether what came out of the file's place is something else than what we had read.
    fn is_other(&self, temporary: &str, old: &[u8]) -> bool {
        self.dir.read(temporary).is_ok_and(|displaced| displaced.as_deref() != Some(old))
    }

    /// A file can be replaced even if it is read-only. Its owner did not mean that.
    fn check_writable(&self) -> Result<()> {
        check_writable(&self.dir, &self.name, &self.path)
    }
}

/// Where the new file is written before it takes its place.
fn temporary(name: &str) -> String {
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

fn read(dir: &Dir, name: &str, path: &Path) -> Result<Option<Vec<u8>>> {
    match dir.read(name) {
        Err(Error::Planted { .. }) if dir.is_dir(name) => {
            Err(Error::io("read", path, io::Error::other("it is a directory")))
        }
        other => other,
    }
}

fn before(room: &Dir, steps: &[Step], now: &[u8]) -> Result<Option<Option<Vec<u8>>>> {
    let mut known = None;
    let mut bytes = now.to_vec();
    for step in steps.iter().rev() {
        if sha256_hex(&bytes) != step.after {
            continue;
        }
        let Some(backup) = &step.backup else { return Ok(Some(None)) };
        let Some(before) = room.read(backup)? else { break };
        bytes = before;
        known = Some(Some(bytes.clone()));
    }
    Ok(known)
}

fn first(room: &Dir, steps: &[Step]) -> Result<Option<Vec<u8>>> {
    match steps.first().and_then(|step| step.backup.as_ref()) {
        Some(backup) => room.read(backup),
        None => Ok(None),
    }
}

fn record(room: &Dir) -> Result<Wiring> {
    let bytes = room.read(RECORD)?.unwrap_or_default();
    // A broken record is no reason to fail: then the structure of the file decides.
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
