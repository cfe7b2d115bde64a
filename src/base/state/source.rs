//! Where a [`State`](crate::state::State) reads from: the locked store, the files without the lock, or a
//! map in a test.

use crate::core::error::Result;
use crate::state::Doc;

pub trait Source {
    /// The bytes of a file below `.claude`; `None` only if there is none.
    fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>>;

    /// The names in a folder below `.claude`, in order; none if there is no such folder.
    fn names(&self, folder: &str) -> Result<Vec<String>>;

    fn has_folder(&self, folder: &str) -> Result<bool>;

    fn is_folder(&self, path: &str) -> bool;

    /// When something below `.claude` was last changed, in seconds since 1970.
    fn modified(&self, path: &str) -> i64;

    /// Whether what is at a path below `.claude` is this machine's, and not what a checkout brought.
    fn believes(&self, _path: &str) -> bool {
        true
    }

    /// Whether a command started this loop here, for nobody in particular.
    fn has_begun(&self, _loop: &str) -> bool {
        false
    }

    /// A document of ours cannot be read. Who has the lock moves it away.
    fn put_aside(&self, doc: &Doc, why: &str) -> Result<Aside>;
}

/// What became of a document that cannot be read.
pub enum Aside {
    /// It was moved, under this name in the quarantine.
    Moved(String),
    /// It is where it was: nobody may change it without the lock.
    Left,
}

/// A project that has no state yet.
pub struct NoFiles;

impl Source for NoFiles {
    fn bytes(&self, _: &str) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn names(&self, _: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn has_folder(&self, _: &str) -> Result<bool> {
        Ok(false)
    }

    fn is_folder(&self, _: &str) -> bool {
        false
    }

    fn modified(&self, _: &str) -> i64 {
        0
    }

    fn put_aside(&self, _: &Doc, _: &str) -> Result<Aside> {
        Ok(Aside::Left)
    }
}
