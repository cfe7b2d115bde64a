//! Git's own list of files that are nobody's business: `info/exclude`. Each line of ours stands below
//! one that says so. Neither the file nor its folder may be a link: what a repository brings along
//! would be written to otherwise.

use std::path::Path;

use crate::core::error::Result;
use crate::store::dir::Dir;

const FILE: &str = "exclude";
const NEW: &str = ".exclude.hookkeeper";
/// Stands above each line of ours.
const MARK: &[u8] = b"# hookkeeper";

/// Adds a pattern, once. `git_dir` is the one that all worktrees share.
pub fn add(git_dir: &Path, pattern: &str) -> Result<()> {
    let info = Dir::open(git_dir)?.make_usual("info")?;
    let text = match info.read(FILE)? {
        Some(text) => text,
        None => {
            info.create_usual(FILE, b"")?;
            Vec::new()
        }
    };
    if lines(&text).any(|line| line.trim_ascii() == pattern.as_bytes()) {
        return Ok(());
    }
    let gap = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    let added = format!("{gap}{}\n{pattern}\n", String::from_utf8_lossy(MARK));
    info.append(FILE, added.as_bytes())?;
    Ok(())
}

/// Takes out the lines of ours that hide nothing any more; says which.
pub fn clean(git_dir: &Path, is_needed: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let Some(info) = Dir::open(git_dir)?.sub("info")? else { return Ok(Vec::new()) };
    let Some(text) = info.read(FILE)? else { return Ok(Vec::new()) };
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    let mut rest = lines(&text);
    while let Some(line) = rest.next() {
        if line.trim_ascii() != MARK {
            kept.extend_from_slice(line);
            continue;
        }
        let ours = rest.next().unwrap_or_default();
        let pattern = String::from_utf8_lossy(ours.trim_ascii()).into_owned();
        if is_needed(&pattern) {
            kept.extend_from_slice(line);
            kept.extend_from_slice(ours);
        } else {
            removed.push(pattern);
        }
    }
    if !removed.is_empty() {
        info.remove(NEW)?;
        info.write_and(NEW, &[&kept], true, || {
            info.copy_mode_to(FILE, &info, NEW)?;
            info.rename(NEW, &info, FILE)
        })?;
    }
    Ok(removed)
}

/// The lines of a text, each with its end.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}
