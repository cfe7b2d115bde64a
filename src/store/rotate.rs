//! Folders that keep only the newest of what is put into them.

use std::io;

use crate::core::error::{Error, Result};
use crate::store::dir::Dir;

/// Nobody makes this many of a kind in a day.
const NUMBERED: usize = 10_000;

/// How the age of an entry is known.
#[derive(Clone, Copy, PartialEq)]
pub enum Age {
    /// Its name begins with a time.
    ByName,
    /// It came there then.
    ByTime,
}

/// Removes the oldest of the entries that are meant, beyond `count`; never `just`, which was put
/// there a moment ago. What says that it is later than that is from when the clock was wrong: it
/// counts as the oldest. What cannot be removed stays, and stops nothing.
pub fn keep_newest(
    dir: &Dir,
    count: usize,
    age: Age,
    just: &str,
    is_meant: impl Fn(&str) -> bool,
    remove: fn(&Dir, &str) -> Result<()>,
) -> Result<()> {
    let mut names = dir.names()?;
    names.retain(|name| is_meant(name));
    if names.len() <= count {
        return Ok(());
    }
    let gone = names.len() - count;
    names.retain(|name| name != just);
    match age {
        Age::ByName => {
            let now = moment(just);
            names.sort_by(|one, other| {
                let (one, other) = (moment(one), moment(other));
                (one <= now, one).cmp(&(other <= now, other))
            });
        }
        Age::ByTime => {
            let now = dir.arrived(just);
            let age = |time| (time <= now, time);
            names.sort_by_cached_key(|name| (age(dir.arrived(name)), name.clone()));
        }
    }
    for old in names.iter().take(gone) {
        let _ = remove(dir, old);
    }
    Ok(())
}

/// Removes the oldest beyond `count` entries and `bytes` in all; never `just`. Older is what
/// came earlier, as for [`Age::ByTime`].
pub fn keep_within(dir: &Dir, count: usize, bytes: u64, just: &str) -> Result<()> {
    let now = dir.arrived(just);
    let mut names = dir.names()?;
    names.retain(|name| name != just);
    names.sort_by_cached_key(|name| {
        let time = dir.arrived(name);
        (time <= now, time, name.clone())
    });
    let (mut entries, mut size) = (1, dir.size(just));
    for name in names.iter().rev() {
        entries += 1;
        size += dir.size(name);
        if entries > count || size > bytes {
            let _ = dir.remove_any(name);
        }
    }
    Ok(())
}

/// Tries `name`, `name-2`, `name-3`, … until one is free: the same moment may come twice.
pub fn first_free<T>(name: &str, mut attempt: impl FnMut(&str) -> Result<T>) -> Result<T> {
    for n in 1..NUMBERED {
        let free = if n == 1 { name.to_owned() } else { format!("{name}-{n}") };
        match attempt(&free) {
            Err(Error::Io { cause, .. }) if is_taken(&cause) => {}
            other => return other,
        }
    }
    Err(Error::io("find a free name for", name.as_ref(), io::ErrorKind::AlreadyExists))
}

/// What orders names that begin with a time: number by number, and those of one moment as
/// [`first_free`] has made them.
pub fn moment(name: &str) -> Vec<(usize, &str)> {
    let stem = name.trim_end_matches(".txt").trim_end_matches(".json");
    stem.split(['-', '.']).map(|part| (part.len(), part)).collect()
}

fn is_taken(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
}
