//! A checkout between two commits: which of their files it holds. Whatever is of neither was written
//! by somebody else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

use super::repository::Repository;
use crate::facts::files;

/// A file that differs between two commits, by its object in each.
pub struct Change {
    pub path: String,
    pub old: Option<String>,
    pub new: Option<String>,
    /// Git moves only what is recorded of a submodule, never its files.
    pub is_module: bool,
    is_link: bool,
}

/// What is at the place of such a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Holds {
    Old,
    New,
    /// Nothing, or the beginning of the new file.
    Part,
    /// Something of neither commit, in the checkout or staged.
    Other,
}

pub fn changes(repository: &Repository, onto: &str, commit: &str) -> anyhow::Result<Vec<Change>> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", onto, commit];
    let raw = repository.ask(&args)?;
    let mut fields = raw.split('\0').filter(|field| !field.is_empty());
    let mut changes = Vec::new();
    while let Some(record) = fields.next() {
        let path = fields.next().context("git diff-tree said something strange")?.to_owned();
        let mut words = record.trim_start_matches(':').split(' ');
        let mut word = || words.next().unwrap_or_default();
        let modes = [word(), word()];
        let mut object = || {
            let hash = word();
            (!hash.bytes().all(|b| b == b'0')).then(|| hash.to_owned())
        };
        let (old, new) = (object(), object());
        let (is_module, is_link) = (modes.contains(&"160000"), modes.contains(&"120000"));
        changes.push(Change { path, old, new, is_module, is_link });
    }
    Ok(changes)
}

/// Of these files, those that differ from what HEAD has, with what they hold.
pub fn look<'a>(
    repository: &Repository,
    changes: &'a [Change],
    commit: &str,
) -> anyhow::Result<Vec<(&'a str, Holds)>> {
    let args = [
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=all",
    ];
    let status = repository.ask(&args)?;
    let touched: BTreeSet<&str> = status.split('\0').filter_map(|entry| entry.get(3..)).collect();
    let ours: BTreeSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    let is_moved = |change: &&Change| !change.is_module && touched.contains(change.path.as_str());
    let moved: Vec<&Change> = changes.iter().filter(is_moved).collect();
    let staged = staged(repository, &moved)?;
    let mut found = Vec::new();
    for change in moved {
        let index = staged.get(change.path.as_str());
        let is_staged = index.is_some_and(|object| change.by_object(object).is_none());
        // A directory in the place of a file: only what the merge puts there may be in it.
        let below = format!("{}/", change.path);
        let mut inside =
            touched.range(below.as_str()..).take_while(|path| path.starts_with(&below));
        let holds = match is_staged || inside.any(|path| !ours.contains(path)) {
            true => Holds::Other,
            false => in_checkout(repository, change, commit)?,
        };
        found.push((change.path.as_str(), holds));
    }
    Ok(found)
}

/// What the index has of these files.
fn staged(
    repository: &Repository,
    changes: &[&Change],
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for some in changes.chunks(200) {
        let paths = some.iter().map(|change| change.path.as_str());
        let args: Vec<&str> =
            ["ls-files", "--stage", "-z", "--"].into_iter().chain(paths).collect();
        let said = repository.ask(&args)?;
        for (what, path) in said.split('\0').filter_map(|entry| entry.split_once('\t')) {
            let object = what.split(' ').nth(1).unwrap_or_default();
            found.insert(path.to_owned(), object.to_owned());
        }
    }
    Ok(found)
}

fn in_checkout(repository: &Repository, change: &Change, commit: &str) -> anyhow::Result<Holds> {
    let file = repository.top.join(&change.path);
    if file.is_symlink() {
        return linked(repository, change, &file);
    }
    if !file.exists() || file.is_dir() {
        return Ok(if change.new.is_none() { Holds::New } else { Holds::Part });
    }
    if !file.is_file() {
        return Ok(Holds::Other);
    }
    let object = repository.ask(&["hash-object", "--", &change.path])?;
    if let Some(holds) = change.by_object(object.trim()) {
        return Ok(holds);
    }
    if change.new.is_none() {
        return Ok(Holds::Other);
    }
    let name = format!("{commit}:{}", change.path);
    let whole = repository.ask(&["cat-file", "--filters", &name])?;
    let bytes = files::read_all(&file).with_context(|| file.display().to_string())?;
    let begins = String::from_utf8_lossy(&bytes);
    // A character may have been cut in two.
    let is_part = whole.starts_with(begins.trim_end_matches('\u{fffd}'));
    Ok(if is_part { Holds::Part } else { Holds::Other })
}

fn linked(repository: &Repository, change: &Change, link: &Path) -> anyhow::Result<Holds> {
    let target = link.read_link().with_context(|| link.display().to_string())?;
    for (object, holds) in [(&change.new, Holds::New), (&change.old, Holds::Old)] {
        let Some(object) = object.as_ref().filter(|_| change.is_link) else { continue };
        if Path::new(&repository.ask(&["cat-file", "blob", object])?) == target {
            return Ok(holds);
        }
    }
    Ok(Holds::Other)
}

impl Change {
    fn by_object(&self, object: &str) -> Option<Holds> {
        let is = |side: &Option<String>| side.as_deref() == Some(object);
        match (is(&self.new), is(&self.old)) {
            (true, _) => Some(Holds::New),
            (_, true) => Some(Holds::Old),
            _ => None,
        }
    }
}
