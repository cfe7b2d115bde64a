//! `set-aside/{stamp}/`: what a person had cleared away, as it was, in case they want it back.

use std::path::PathBuf;

use crate::core::error::Result;
use crate::core::time;
use crate::store::Store;
use crate::store::dir::Dir;
use crate::store::rotate::{Age, first_free, keep_newest};

pub const ROOM: &str = "set-aside";
const KEPT: usize = 5;

impl Store {
    /// Copies documents away, then moves folders away. Both are named below `.claude/state`.
    pub fn set_aside(&self, copy: &[&str], take: &[&str]) -> Result<PathBuf> {
        let state = &self.folders.state;
        let room = state.make(ROOM)?;
        let to = self.new_room(&room)?;
        for path in copy {
            copy_path(state, path, &to)?;
        }
        // The records of live sessions go first: what is left without them is nobody's.
        let mut take = take.to_vec();
        take.sort_by_key(|entry| *entry != "session");
        for entry in take {
            if state.exists(entry)? {
                state.rename(entry, &to, entry)?;
            }
        }
        // The folders that we held open are elsewhere now.
        self.folders.forget("");
        drop_oldest(&room, &to)?;
        Ok(to.path().to_owned())
    }

    /// Copies a document away that is in `.claude` itself.
    pub fn keep_beside(&self, name: &str) -> Result<()> {
        let room = self.folders.state.make(ROOM)?;
        let to = self.new_room(&room)?;
        self.folders.claude.copy_item(name, &to)?;
        drop_oldest(&room, &to)
    }

    fn new_room(&self, room: &Dir) -> Result<Dir> {
        first_free(&time::stamp(self.now.get()), |name| room.make_new(name))
    }
}

fn drop_oldest(room: &Dir, just: &Dir) -> Result<()> {
    let just = just.path().file_name().unwrap_or_default().to_string_lossy();
    keep_newest(room, KEPT, Age::ByName, &just, |_| true, Dir::remove_tree)
}

fn copy_path(from: &Dir, path: &str, to: &Dir) -> Result<()> {
    match path.split_once('/') {
        Some((first, rest)) => match from.sub(first)? {
            Some(from) => copy_path(&from, rest, &to.make(first)?),
            None => Ok(()),
        },
        None => from.copy_item(path, to),
    }
}
