//! Reading documents without the lock, for people: every document is whole because it is replaced,
//! never changed in place. What cannot be read is left out here and reported by the next hook.

use std::path::Path;
use std::rc::Rc;

use crate::core::error::{Error, Result};
use crate::core::settings::Settings;
use crate::state::{Aside, Doc, Document, Source, State};
use crate::store::dir::Dir;
use crate::store::folders::Folders;
use crate::store::home;
use crate::store::journal::{self, Journal};
use crate::store::origin::Origin;

pub struct View {
    folders: Folders,
}

/// A file or folder below `.claude/state`.
#[derive(Debug)]
pub struct FoundPath {
    pub path: String,
    pub is: Is,
}

#[derive(Debug)]
pub enum Is {
    Folder,
    /// Anything that is no folder: links too.
    File,
    /// A folder that the system does not let us open, and why.
    OutOfReach(String),
}

/// What came of reading a document.
pub enum Lookup<T> {
    Good(T),
    None,
    /// It is there, and it cannot be read.
    Bad,
}

impl View {
    /// `None` if there is no state of this machine's. Nothing is made.
    pub fn open(root: &Path, home: Option<&Path>) -> Result<Option<Self>> {
        let view = Self::open_quickly(root, home)?;
        if let Some(view) = &view {
            view.folders.leave_out_tracked();
        }
        Ok(view)
    }

    /// Opens the state without asking git's index for what came since the last session began.
    pub fn open_quickly(root: &Path, home: Option<&Path>) -> Result<Option<Self>> {
        let Some(claude) = home::existing_claude_dir(root, home)? else { return Ok(None) };
        let Some(state) = claude.sub("state")? else { return Ok(None) };
        let origin = Origin::peek(&state)?;
        Ok(origin.map(|origin| Self { folders: Folders::new(claude, state, origin, None) }))
    }

    /// The documents as they are now. What was read once stays as it was.
    pub fn state(&self) -> State<'_> {
        State::new(self)
    }

    /// A document that there is once.
    pub fn get<T: Document<Key = ()> + Clone>(&self) -> Option<T> {
        self.state().get::<T>().cloned()
    }

    /// A document, for who has to tell one that is not there from one that cannot be read.
    pub fn look_up<T: Document + Clone>(&self, key: &T::Key) -> Lookup<T> {
        let state = self.state();
        let read = state.read::<T>(key);
        match read.value.cloned() {
            Some(document) => Lookup::Good(document),
            None if state.is_unreadable(read.doc()) => Lookup::Bad,
            None => Lookup::None,
        }
    }

    pub fn settings(&self) -> Settings {
        self.folders.settings().0
    }

    /// What happened, session by session.
    pub fn journal(&self) -> Journal {
        Journal::new(self.folders.find(&format!("state/{}", journal::FOLDER)))
    }

    /// Everything in a folder below `.claude`, by the paths below that; folders that are not to be
    /// entered stand for what is in them.
    pub fn everything_in(
        &self,
        folder: &str,
        enter: impl Fn(&str) -> bool,
    ) -> Result<Vec<FoundPath>> {
        let mut found = Vec::new();
        match self.folders.find(folder) {
            Ok(Some(dir)) => list(&dir, &format!("{folder}/"), &enter, &mut found)?,
            Ok(None) => {}
            Err(Error::Io { cause, .. }) => {
                let is = Is::OutOfReach(cause.to_string());
                found.push(FoundPath { path: folder.to_owned(), is });
            }
            Err(_) => found.push(FoundPath { path: folder.to_owned(), is: Is::File }),
        }
        found.retain(|found| self.folders.believes(&found.path));
        Ok(found)
    }

    /// A folder below `.claude`, if there is one.
    pub fn folder(&self, path: &str) -> Option<Rc<Dir>> {
        self.folders.find(path).ok().flatten()
    }

    /// The names in a folder below `.claude`, in order.
    pub fn names(&self, folder: &str) -> Vec<String> {
        Source::names(self, folder).unwrap_or_default()
    }
}

impl Source for View {
    fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.folders.read(path)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.folders.names(folder)
    }

    fn has_folder(&self, folder: &str) -> Result<bool> {
        Ok(self.folders.find(folder)?.is_some())
    }

    fn is_folder(&self, path: &str) -> bool {
        self.folders.is_folder(path) && self.folders.believes(path)
    }

    fn modified(&self, path: &str) -> i64 {
        self.folders.modified(path)
    }

    fn believes(&self, path: &str) -> bool {
        self.folders.believes(path)
    }

    fn put_aside(&self, _: &Doc, _: &str) -> Result<Aside> {
        Ok(Aside::Left)
    }
}

fn list(
    dir: &Dir,
    above: &str,
    enter: &impl Fn(&str) -> bool,
    found: &mut Vec<FoundPath>,
) -> Result<()> {
    for name in dir.names()? {
        let path = format!("{above}{name}");
        let is = match dir.sub(&name) {
            Ok(Some(sub)) if enter(&path) => {
                list(&sub, &format!("{path}/"), enter, found)?;
                continue;
            }
            Ok(Some(_)) => Is::Folder,
            // It went away in the meantime.
            Ok(None) => continue,
            Err(Error::Io { cause, .. }) => Is::OutOfReach(cause.to_string()),
            Err(_) => Is::File,
        };
        found.push(FoundPath { path, is });
    }
    Ok(())
}
