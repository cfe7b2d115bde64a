//! Where the settings file of a scope is, and what can be found out about it without the lock.

use std::io;
use std::path::{Path, PathBuf};

use crate::client::settings::scope::Scope;
use crate::client::wiring::WiredFile;
use crate::core::error::{Error, Result};
use crate::store::dir::Dir;
use crate::store::home;
use crate::store::origin::Origin;
use crate::store::settings_file::{
    Installs, Original, Recorded, check_writable, file_name, find_original, installs, read_file,
    read_first_backup, read_record, temporary_name,
};

/// Where the files of a scope are, and what they may lead to.
pub struct SettingsPaths<'a> {
    pub root: &'a Path,
    pub home: Option<&'a Path>,
    /// The client's own directory.
    pub client: Option<&'a Path>,
}

impl SettingsPaths<'_> {
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
        let real = self.resolve(&path)?;
        match real.parent().map(Dir::open) {
            Some(Ok(dir)) => read_file(&dir, &file_name(&real), &path),
            Some(Err(error)) if !error.is_not_found() => Err(error),
            _ => Ok(None),
        }
    }

    /// Whether a scope's file could be changed. Nothing is made, nothing is locked.
    pub fn check_writable(&self, scope: Scope) -> Result<()> {
        let path = self.path(scope)?;
        let real = self.resolve(&path)?;
        match real.parent().map(Dir::open) {
            Some(Ok(dir)) => check_writable(&dir, &file_name(&real), &path),
            Some(Err(error)) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a killed process left something beside a scope's file.
    pub fn has_leftover(&self, scope: Scope) -> bool {
        let real = self.path(scope).and_then(|path| self.resolve(&path));
        real.is_ok_and(|real| real.with_file_name(temporary_name(&file_name(&real))).exists())
    }

    /// What is recorded about the wiring of a scope's file.
    pub fn wired_file(&self, scope: Scope) -> Result<Option<WiredFile>> {
        let name = file_name(&self.path(scope)?);
        let Some(backups) = self.backups(scope)? else { return Ok(None) };
        Ok(read_record(&backups)?.file(&name).cloned())
    }

    /// What was there before the installs that led to `now`; see [`Original`]. Takes no lock.
    pub fn original(&self, scope: Scope, now: &[u8]) -> Result<Recorded> {
        let installs = Installs::into_file(&self.path(scope)?, self.client)?;
        match self.backups(scope)? {
            Some(backups) => {
                find_original(&backups, self.wired_file(scope)?.as_ref(), &installs, now)
            }
            None => Ok(Recorded { original: Original::Unknown, is_trusted: true }),
        }
    }

    /// The file as it was before the first install that is known. Takes no lock.
    pub fn first_backup(&self, scope: Scope) -> Result<Option<Vec<u8>>> {
        match (self.backups(scope)?, self.wired_file(scope)?) {
            (Some(backups), Some(wired)) => {
                let installs = Installs::into_file(&self.path(scope)?, self.client)?;
                read_first_backup(&backups, Some(&wired), &installs)
            }
            _ => Ok(None),
        }
    }

    /// The directory that has the backups and the record.
    fn backups(&self, scope: Scope) -> Result<Option<Dir>> {
        if scope == Scope::User {
            let Some(client) = self.client else { return Ok(None) };
            return match Dir::open(&client.join(installs::FOLDER)) {
                Ok(own) => own.sub("settings"),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) => Err(error),
            };
        }
        let Some(claude) = home::existing_claude_dir(self.root, self.home)? else {
            return Ok(None);
        };
        let Some(state) = claude.sub("state")? else { return Ok(None) };
        match Origin::peek(&state)? {
            Some(_) => state.sub("settings"),
            None => Ok(None),
        }
    }

    /// The file behind a path: a symlink may lead to somewhere in the project or the home.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf> {
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
