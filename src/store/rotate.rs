//! Folders that keep only the newest of what is put into them.

use crate::core::error::Result;
use crate::store::dir::Dir;

/// How the age of an entry is known.
#[derive(Clone, Copy, PartialEq)]
pub enum Age {
    /// Its name begins with a time.
    ByName,
    /// It was changed then.
    ByTime,
}

/// Removes the oldest of the entries that are meant, beyond `count`.
pub fn keep_newest(
    dir: &Dir,
    count: usize,
    age: Age,
    is_meant: impl Fn(&str) -> bool,
    remove: fn(&Dir, &str) -> Result<()>,
) -> Result<()> {
    let mut names = dir.names()?;
    names.retain(|name| is_meant(name));
    if names.len() <= count {
        return Ok(());
    }
    if age == Age::ByTime {
        names.sort_by_cached_key(|name| (dir.modified(name), name.clone()));
    }
    names.iter().take(names.len() - count).try_for_each(|old| remove(dir, old))
}
