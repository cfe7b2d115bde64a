//! What `validate --repair` does to files: any file below `.claude`, by its path, not only those that
//! are documents.

use std::io;
use std::rc::Rc;

use crate::core::error::{Error, Result};
use crate::store::dir::Dir;
use crate::store::{Store, quarantine};

impl Store {
    /// Moves a file to the quarantine and gives its new name. The path is below `.claude`.
    pub fn put_in_quarantine(&self, path: &str) -> Result<String> {
        let (folder, _) = self.place(path)?;
        let state = &self.folders.state;
        let name = quarantine::put(state, &folder, below_state(path), self.now.get())?;
        self.note_written(format!("quarantine/{name}"));
        Ok(name)
    }

    /// Puts `bytes` in the place of a file, which was `before`; a copy of that goes to the
    /// quarantine first, and its name is given. The path is below `.claude`.
    pub fn mend(&self, path: &str, before: &[u8], bytes: &[u8]) -> Result<String> {
        let (folder, file) = self.place(path)?;
        let named = below_state(path);
        let name = quarantine::copy(&self.folders.state, before, named, self.now.get())?;
        self.replace(&bytes.to_vec().into(), true, &folder, file)?;
        self.note_written(format!("quarantine/{name}"));
        self.note_written(named);
        Ok(name)
    }

    /// The folder that a file is in, and its name there.
    fn place<'a>(&self, path: &'a str) -> Result<(Rc<Dir>, &'a str)> {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let gone = || {
            let path = self.folders.claude.path_of(folder);
            Error::io("open", &path, io::ErrorKind::NotFound)
        };
        Ok((self.folders.find(folder)?.ok_or_else(gone)?, file))
    }
}

/// As the log has it: without `state/`.
fn below_state(path: &str) -> &str {
    path.strip_prefix("state/").unwrap_or(path)
}
