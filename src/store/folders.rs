//! The folders below `.claude`, opened once and held open.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::core::error::{Error, Result};
use crate::core::settings::Settings;
use crate::core::text::keep_newest;
use crate::store::dir::Dir;
use crate::store::home;
use crate::store::lock::Lock;
use crate::store::origin::Origin;
use crate::store::untrusted;

/// No document comes near this: their lists have caps. What is larger would hold every hook up.
pub const LARGEST_DOCUMENT: u64 = 4 << 20;
/// Loops that wait for a session.
const MOST_BEGUN: usize = 8;

pub struct Folders {
    pub claude: Rc<Dir>,
    pub state: Rc<Dir>,
    /// By their paths below `.claude`.
    open: RefCell<Vec<(String, Rc<Dir>)>>,
    origin: RefCell<Origin>,
    /// Where things are moved that are not believed and in the way.
    room: RefCell<Option<(String, Dir)>>,
    /// Of who may change things.
    lock: Option<Lock>,
}

impl Folders {
    pub fn new(claude: Dir, state: Dir, origin: Origin, lock: Option<Lock>) -> Self {
        Self {
            claude: Rc::new(claude),
            state: Rc::new(state),
            open: RefCell::default(),
            origin: RefCell::new(origin),
            room: RefCell::default(),
            lock,
        }
    }

    /// Whether what is at a path below `.claude` is this machine's. Who cannot look does not believe.
    pub fn believes(&self, path: &str) -> bool {
        self.is_own(path).unwrap_or(false)
    }

    /// Whether a path is this machine's own; an error if it could not be looked at.
    pub fn is_own(&self, path: &str) -> Result<bool> {
        let origin = self.origin.borrow();
        let Some(unit) = unit(path) else { return Ok(origin.allows(path)) };
        let (folder, name) = split(unit);
        let dir = match folder {
            "" => None,
            folder => match self.claude.sub(folder) {
                Ok(Some(dir)) => Some(dir),
                // Nobody reads through a link.
                Ok(None) | Err(Error::Planted { .. }) => return Ok(true),
                Err(error) => return Err(error),
            },
        };
        let seen = dir.as_ref().unwrap_or(&self.claude).seen(name)?;
        Ok(origin.allows(path) && seen.is_none_or(|seen| origin.believes(unit, &seen)))
    }

    pub fn settings(&self) -> (Settings, Option<String>) {
        home::settings(&self.claude, Some(&self.origin.borrow()))
    }

    /// Moves what is at a path away if it is not believed; the room that has it now, if that is new.
    pub fn clear_place(&self, path: &str) -> Result<Option<String>> {
        let is_state = path.starts_with("state/");
        if is_state && self.origin.borrow().allows(path) || self.is_own(path)? {
            return Ok(None);
        }
        let unit = unit(path).filter(|_| self.origin.borrow().allows(path)).unwrap_or(path);
        // Windows does not move what somebody has open.
        self.forget(unit);
        let is_new = self.move_away(unit)?;
        // What comes in its place is ours.
        let mut origin = self.origin.borrow_mut();
        if origin.forgive(unit) {
            self.write_origin(&origin)?;
        }
        Ok(is_new)
    }

    fn move_away(&self, path: &str) -> Result<Option<String>> {
        let mut room = self.room.borrow_mut();
        let mut is_new = None;
        if room.is_none() {
            let made = untrusted::new_room(&self.state)?;
            is_new = Some(made.0.clone());
            *room = Some(made);
        }
        if let Some((_, room)) = &*room {
            untrusted::move_to(room, &self.claude, path)?;
        }
        Ok(is_new)
    }

    /// See [`crate::store::Store::check_tracked`]; the rooms that are new.
    pub fn check_tracked(&self) -> Result<Option<String>> {
        let found = untrusted::tracked(&self.claude, &self.state);
        // One that is not merged is there several times.
        let (own, beside): (BTreeSet<_>, BTreeSet<_>) =
            found.into_iter().map(|entry| entry.path).partition(|path| path.starts_with("state/"));
        let mut room = None;
        for path in own {
            room = self.move_away(&path)?.or(room);
        }
        let mut origin = self.origin.borrow_mut();
        origin.tracked = beside.into_iter().collect();
        // In any case: `.gitignore` may be gone.
        self.write_origin(&origin)?;
        Ok(room)
    }

    pub fn has_begun(&self, the_loop: &str) -> bool {
        self.origin.borrow().begun.iter().any(|begun| begun == the_loop)
    }

    pub fn note_begun(&self, the_loop: &str, waits: bool) -> Result<()> {
        if self.has_begun(the_loop) == waits {
            return Ok(());
        }
        let mut origin = self.origin.borrow_mut();
        origin.begun.retain(|begun| begun != the_loop);
        if waits {
            origin.begun.push(the_loop.to_owned());
            keep_newest(&mut origin.begun, MOST_BEGUN);
        }
        self.write_origin(&origin)
    }

    fn write_origin(&self, origin: &Origin) -> Result<()> {
        self.lock.as_ref().map_or(Ok(()), |lock| origin.write(&self.state, lock))
    }

    /// For who may not change anything: what git has brought since is not read.
    pub fn leave_out_tracked(&self) {
        let found = untrusted::tracked(&self.claude, &self.state);
        self.origin.borrow_mut().tracked.extend(found.into_iter().map(|entry| entry.path));
    }

    /// The names in a folder below `.claude`, in order, of what is believed.
    pub fn names(&self, folder: &str) -> Result<Vec<String>> {
        let Some(dir) = self.find(folder)? else { return Ok(Vec::new()) };
        let names = dir.names()?;
        let is_shelf = unit(&format!("{folder}/x")).is_some_and(|unit| split(unit).0 == folder);
        let origin = self.origin.borrow();
        let mut own = Vec::with_capacity(names.len());
        for name in names {
            let path = format!("{folder}/{name}");
            let is_own = match is_shelf && name != home::IGNORE {
                true => {
                    dir.seen(&name)?.is_none_or(|seen| origin.believes(&path, &seen))
                        && !is_all_brought(&dir, &name, &path, &origin)
                }
                false => origin.allows(&path),
            };
            if is_own {
                own.push(name);
            }
        }
        Ok(own)
    }

    /// A folder by its path below `.claude`, if it exists.
    pub fn find(&self, path: &str) -> Result<Option<Rc<Dir>>> {
        if let Some(folder) = self.held(path) {
            return Ok(Some(folder));
        }
        let (parent, name) = split(path);
        // Held too: the next folder may be in it.
        let Some(parent) = self.find(parent)? else { return Ok(None) };
        let is_foreign = match unit(path) {
            Some(unit) if unit == path => {
                parent.seen(name)?.is_some_and(|seen| !self.origin.borrow().believes(unit, &seen))
            }
            _ => false,
        };
        let dir = if is_foreign { None } else { parent.sub(name)? };
        Ok(dir.map(|dir| self.hold(path, dir)))
    }

    /// A folder by its path below `.claude`, made if need be. What is beside the state is hidden
    /// from git, as the state is.
    pub fn make(&self, path: &str) -> Result<Rc<Dir>> {
        if let Some(folder) = self.find(path)? {
            return Ok(folder);
        }
        if let Some(room) = unit(path).map_or(Ok(None), |_| self.clear_place(path))? {
            let mut origin = self.origin.borrow_mut();
            origin.untold.push(room);
            self.write_origin(&origin)?;
        }
        let (base, segments) = self.begin(path);
        let is_beside = !path.starts_with("state");
        let mut dir: Option<Dir> = None;
        for segment in segments {
            let next = dir.as_ref().unwrap_or(base).make(segment)?;
            if is_beside && dir.is_none() {
                home::hide_from_git(&next)?;
            }
            dir = Some(next);
        }
        Ok(dir.map_or_else(|| Rc::clone(&self.claude), |dir| self.hold(path, dir)))
    }

    /// A document by its path below `.claude`.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let (folder, file) = split(path);
        let Some(dir) = self.find(folder)? else { return Ok(None) };
        let bytes = dir.read_up_to(file, LARGEST_DOCUMENT)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let is_own = match folder {
            "" => self.is_own(path)?,
            _ => self.origin.borrow().allows(path),
        };
        Ok(is_own.then_some(bytes))
    }

    pub fn modified(&self, path: &str) -> i64 {
        let (folder, name) = split(path);
        self.find(folder).ok().flatten().map_or(0, |folder| folder.modified(name))
    }

    pub fn is_folder(&self, path: &str) -> bool {
        let (folder, name) = split(path);
        self.find(folder).ok().flatten().is_some_and(|folder| folder.is_dir(name))
    }

    /// Folders below this path are elsewhere now, or gone.
    pub fn forget(&self, path: &str) {
        self.open.borrow_mut().retain(|(open, _)| !open.starts_with(path));
    }

    fn held(&self, path: &str) -> Option<Rc<Dir>> {
        match path {
            "" => Some(Rc::clone(&self.claude)),
            "state" => Some(Rc::clone(&self.state)),
            path => {
                let open = self.open.borrow();
                open.iter().find(|(open, _)| open == path).map(|(_, dir)| Rc::clone(dir))
            }
        }
    }

    fn hold(&self, path: &str, dir: Dir) -> Rc<Dir> {
        let dir = Rc::new(dir);
        self.open.borrow_mut().push((path.to_owned(), Rc::clone(&dir)));
        dir
    }

    /// Where a path begins, and what is below that.
    fn begin<'a>(&self, path: &'a str) -> (&Dir, std::str::Split<'a, char>) {
        match path.strip_prefix("state/") {
            Some(rest) => (&self.state, rest.split('/')),
            None => (&self.claude, path.split('/')),
        }
    }
}

/// Whether git brought everything that is in a folder.
fn is_all_brought(shelf: &Dir, name: &str, path: &str, origin: &Origin) -> bool {
    if !origin.has_tracked_in(path) {
        return false;
    }
    let names = shelf.sub(name).ok().flatten().and_then(|dir| dir.names().ok());
    let is_brought = |name: &String| origin.has_tracked_in(&format!("{path}/{name}"));
    names.is_some_and(|names| names.iter().all(is_brought))
}

/// What of a path beside the state is believed as one: a file in `.claude`, a plan, the folder of a
/// branch or task. `None` for what is in the state, and for folders of such.
fn unit(path: &str) -> Option<&str> {
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    match (path.split('/').next()?, slashes.next()) {
        ("state" | "", _) | ("branches" | "iterative" | untrusted::PLANS, None) => None,
        (_, None) => Some(path),
        _ => slashes.next().map_or(Some(path), |end| path.get(..end)),
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
