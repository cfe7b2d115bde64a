//! State made from a map, for unit tests.

use std::collections::BTreeMap;

use crate::core::error::Result;
use crate::state::{Aside, Doc, Document, Source, State};

/// Files below `.claude`, by their paths.
#[derive(Clone, Default)]
pub struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// With this document.
    pub fn with<T: Document>(mut self, key: &T::Key, document: &T) -> Self {
        self.0.insert(T::doc(key).below_claude(), document.to_bytes());
        self
    }

    /// With these bytes at a path.
    pub fn with_bytes(mut self, path: &str, bytes: &str) -> Self {
        self.0.insert(path.to_owned(), bytes.as_bytes().to_vec());
        self
    }

    /// With a loop that a command started here.
    pub fn with_begun(self, the_loop: &str) -> Self {
        self.with_bytes(&format!("begun/{the_loop}"), "")
    }

    /// Without what is at a path.
    pub fn without(mut self, path: &str) -> Self {
        self.0.remove(path);
        self
    }

    pub fn state(&self) -> State<'_> {
        State::new(self)
    }
}

impl Source for Files {
    fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(path).cloned())
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        let below = |path: &String| {
            let rest = path.strip_prefix(folder)?.strip_prefix('/')?;
            Some(rest.split('/').next()?.to_owned())
        };
        let mut names: Vec<String> = self.0.keys().filter_map(below).collect();
        names.dedup();
        Ok(names)
    }

    fn has_folder(&self, folder: &str) -> Result<bool> {
        Ok(!self.names(folder)?.is_empty())
    }

    fn is_folder(&self, path: &str) -> bool {
        self.has_folder(path).unwrap_or(false)
    }

    fn modified(&self, _: &str) -> i64 {
        0
    }

    fn has_begun(&self, the_loop: &str) -> bool {
        self.0.contains_key(&format!("begun/{the_loop}"))
    }

    fn put_aside(&self, _: &Doc, _: &str) -> Result<Aside> {
        Ok(Aside::Left)
    }
}
