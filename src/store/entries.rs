//! What is done to files and folders that are no single document.

use crate::core::error::Result;
use crate::state::Doc;
use crate::store::rotate::first_free;
use crate::store::{NEW, Store, quarantine};

impl Store {
    /// Whether a folder below `.claude` has something of this name.
    pub fn has_entry(&self, folder: &str, name: &str) -> Result<bool> {
        let is_there = self.folders.find(folder)?.map_or(Ok(false), |dir| dir.exists(name))?;
        Ok(is_there && self.folders.is_own(&format!("{folder}/{name}"))?)
    }

    pub fn make_folder(&self, path: &str) -> Result<()> {
        self.folders.make(path).map(drop)
    }

    /// Writes a text under the first name that is free (`stem.md`, then `stem-2.md`), and gives it.
    pub fn create_numbered(
        &self,
        folder: &str,
        stem: &str,
        extension: &str,
        text: &str,
    ) -> Result<String> {
        let dir = self.folders.make(folder)?;
        let state = &self.folders.state;
        let move_to = |name: &str| {
            let file = format!("{name}{extension}");
            state.rename_new(NEW, &dir, &file).map(|()| file)
        };
        let file = state.write_and(NEW, &[text.as_bytes()], true, || first_free(stem, move_to))?;
        self.note_written(format!("{folder}/{file}"));
        Ok(file)
    }

    /// Puts a text in the place of a file that is there.
    pub fn replace_text(&self, folder: &str, file: &str, text: &str) -> Result<()> {
        let dir = self.folders.make(folder)?;
        let state = &self.folders.state;
        state.write_and(NEW, &[text.as_bytes()], true, || state.replace(NEW, &dir, file))?;
        self.note_written(format!("{folder}/{file}"));
        Ok(())
    }

    /// Moves a folder to `{into}/{name}-{YYYYMMDD}`, or to the first free name after that; where it
    /// is now, from the project.
    pub fn move_folder(&self, folder: &str, name: &str, into: &str) -> Result<String> {
        let from = self.folders.make(folder)?;
        let to = self.folders.make(into)?;
        let dated = format!("{name}-{}", self.now.get().format("%Y%m%d"));
        let free =
            first_free(&dated, |free| from.rename_new(name, &to, free).map(|()| free.to_owned()))?;
        self.folders.forget(&format!("{folder}/{name}"));
        self.note_written(format!("{into}/{free}"));
        Ok(format!(".claude/{into}/{free}"))
    }

    pub fn remove_folder(&self, folder: &str, name: &str) -> Result<()> {
        if let Some(dir) = self.folders.find(folder)? {
            dir.remove_tree(name)?;
        }
        self.folders.forget(&format!("{folder}/{name}"));
        self.note_written(format!("-{folder}/{name}"));
        Ok(())
    }

    /// Moves a document that cannot be read out of the way, so that another can be made; `None` if
    /// there is none.
    pub fn set_document_aside(&self, doc: &Doc) -> Result<Option<String>> {
        let (folder, file) = doc.place();
        let Some(folder) = self.folders.find(&folder)? else { return Ok(None) };
        if !folder.exists(&file)? {
            return Ok(None);
        }
        let name = quarantine::put(&self.folders.state, &folder, &doc.name(), self.now.get())?;
        self.note_written(format!("quarantine/{name}"));
        Ok(Some(format!(".claude/state/quarantine/{name}")))
    }
}
