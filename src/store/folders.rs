//! The folders below `.claude`, opened once and held open.

use std::cell::RefCell;
use std::rc::Rc;

use crate::core::error::Result;
use crate::store::dir::Dir;
use crate::store::home;

/// No document comes near this: their lists have caps. What is larger would hold every hook up.
pub const LARGEST_DOCUMENT: u64 = 4 << 20;

pub struct Folders {
    pub claude: Rc<Dir>,
    pub state: Rc<Dir>,
    /// By their paths below `.claude`.
    open: RefCell<Vec<(String, Rc<Dir>)>>,
}

impl Folders {
    pub fn new(claude: Dir, state: Dir) -> Self {
        Self { claude: Rc::new(claude), state: Rc::new(state), open: RefCell::default() }
    }

    /// A folder by its path below `.claude`, if it exists.
    pub fn find(&self, path: &str) -> Result<Option<Rc<Dir>>> {
        if let Some(folder) = self.held(path) {
            return Ok(Some(folder));
        }
        let (parent, name) = split(path);
        // Held too: the next folder may be in it.
        let Some(parent) = self.find(parent)? else { return Ok(None) };
        Ok(parent.sub(name)?.map(|dir| self.hold(path, dir)))
    }

    /// A folder by its path below `.claude`, made if need be. What is beside the state is hidden
    /// from git, as the state is.
    pub fn make(&self, path: &str) -> Result<Rc<Dir>> {
        if let Some(folder) = self.find(path)? {
            return Ok(folder);
        }
        let (base, segments) = self.begin(path);
        let is_beside = !path.starts_with("state");
        let mut dir: Option<Dir> = None;
        for segment in segments {
            let next = dir.as_ref().unwrap_or(base).make(segment)?;
            if is_beside && dir.is_none() {
                home::hide(&next)?;
            }
            dir = Some(next);
        }
        Ok(dir.map_or_else(|| Rc::clone(&self.claude), |dir| self.hold(path, dir)))
    }

    /// A document by its path below `.claude`.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let (folder, file) = split(path);
        match self.find(folder)? {
            Some(folder) => folder.read_up_to(file, LARGEST_DOCUMENT),
            None => Ok(None),
        }
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

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
