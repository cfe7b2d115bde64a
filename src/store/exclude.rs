//! Git's own list of files that are nobody's business: `info/exclude`. One line of ours is added to
//! what is there.
#![expect(clippy::disallowed_methods, reason = "the store writes; this file belongs to git")]

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;

use crate::core::error::{Error, Result};

/// Adds a pattern, once.
pub fn add(exclude: &Path, pattern: &str) -> Result<()> {
    let failed = |error| Error::io("extend", exclude, error);
    if let Some(dir) = exclude.parent() {
        std::fs::create_dir_all(dir).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(exclude).map_err(failed)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failed)?;
    let lines = || text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    if lines().any(|line| line == pattern.as_bytes()) {
        return Ok(());
    }
    let gap = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    file.write_all(format!("{gap}{pattern}\n").as_bytes()).map_err(failed)
}
