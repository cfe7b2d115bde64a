//! What `validate --repair` does to files: any file below `.claude/state`, by its path, not only
//! those that hooks know by a [`Doc`](super::layout::Doc).

use std::io;

use crate::error::{Error, Result};
use crate::store::dir::Dir;
use crate::store::{NEW, Store, quarantine};

impl Store {
    /// Moves a file to the quarantine and gives its new name.
    pub fn put_in_quarantine(&mut self, path: &str) -> Result<String> {
        let (room, _) = place(&self.state, path)?;
        self.move_away(path, room)
    }

    /// The same for a path below `.claude`, beside the state.
    pub fn put_beside_in_quarantine(&mut self, path: &str) -> Result<String> {
        let (room, _) = place(&self.claude, path)?;
        let dir = match room {
            Some(dir) => dir,
            None => Dir::open(self.claude.path())?,
        };
        self.move_away(path, Some(dir))
    }

    fn move_away(&mut self, path: &str, room: Option<Dir>) -> Result<String> {
        let room = room.as_ref().unwrap_or(&self.state);
        let name = quarantine::put(&self.state, room, path, self.now)?;
        self.loaded.retain(|(doc, _)| doc.name() != path);
        self.wrote.push(format!("quarantine/{name}"));
        Ok(name)
    }

    /// Puts `bytes` in the place of a file, which was `before`; a copy of that goes to the
    /// quarantine first, and its name is given.
    pub fn mend(&mut self, path: &str, before: &[u8], bytes: &[u8]) -> Result<String> {
        let (room, file) = place(&self.state, path)?;
        let room = room.as_ref().unwrap_or(&self.state);
        let name = quarantine::copy(&self.state, before, path, self.now)?;
        self.state.create(NEW, bytes, true)?;
        let replaced = self.state.replace(NEW, room, file);
        if replaced.is_err() {
            let _ = self.state.remove(NEW);
        }
        replaced?;
        self.loaded.retain(|(doc, _)| doc.name() != path);
        self.wrote.extend([format!("quarantine/{name}"), path.to_owned()]);
        Ok(name)
    }
}

/// The folder that a file is in (`None`: `base` itself), and its name there.
fn place<'a>(base: &Dir, path: &'a str) -> Result<(Option<Dir>, &'a str)> {
    let Some((rooms, file)) = path.rsplit_once('/') else { return Ok((None, path)) };
    let gone = || Error::io("open", &base.path_of(rooms), io::ErrorKind::NotFound);
    Ok((Some(base.below(rooms)?.ok_or_else(gone)?), file))
}
