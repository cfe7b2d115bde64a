//! A project that is thrown away: for trying hooks out without touching anybody's state.

use std::path::Path;

use crate::core::error::Result;
use crate::store::dir::Dir;

pub struct Scratch {
    holder: Dir,
    name: String,
    dir: Dir,
    stays: bool,
}

impl Scratch {
    /// A new directory in `holder`, named after what it is for. `id` is not used twice.
    pub fn new(holder: &Path, what: &str, id: &str) -> Result<Self> {
        let holder = Dir::open(holder)?;
        let name = format!("hookkeeper-{what}-{id}");
        let dir = holder.make_new(&name)?;
        Ok(Self { holder, name, dir, stays: false })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// From now on it is its user's, who removes it.
    pub fn leave(&mut self) {
        self.stays = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.stays {
            let _ = self.holder.remove_tree(&self.name);
        }
    }
}
