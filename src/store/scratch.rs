//! A project that is thrown away: for trying hooks out without touching anybody's state.

use std::path::Path;

use crate::core::error::Result;
use crate::store::dir::Dir;

pub struct Scratch {
    holder: Dir,
    name: String,
    dir: Dir,
}

impl Scratch {
    /// A new directory in `holder`, named after what it is for. `id` is not used twice.
    pub fn new(holder: &Path, what: &str, id: &str) -> Result<Self> {
        let holder = Dir::open(holder)?;
        let name = format!("hookkeeper-{what}-{id}");
        let dir = holder.make_new(&name)?;
        Ok(Self { holder, name, dir })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.holder.remove_tree(&self.name);
    }
}
