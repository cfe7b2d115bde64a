//! A checkout that git was killed in between two commits: which of their files it holds, and how it
//! is brought to its end, file by file. Whatever is of neither commit was written by somebody else:
//! then nothing is done, and the task waits again. Git leaves `index.lock` when it is killed while
//! writing files; that is noted in the claim before the lock is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::execute::{Error, LockedRepository, Repository, Result};
use crate::process::files;

/// What was done about a checkout that git may have been killed in.
pub enum CheckoutOutcome {
    /// The merge was not begun in it.
    Untouched,
    Finished,
    /// These files have somebody else's work: nothing was done.
    ForeignChanges(Vec<String>),
}

/// A checkout that git was killed in on its way from `onto` to `commit`: brought to its end, if
/// everything in it is of one of the two. With `torn`, git was writing files when it was killed.
pub fn finish(
    repository: &LockedRepository,
    base: &str,
    onto: &str,
    commit: &str,
    torn: bool,
) -> Result<CheckoutOutcome> {
    let changes = changed_files(repository, onto, commit)?;
    let contents = inspect(repository, &changes, commit)?;
    let is_others = |content: &FileContent| match content {
        FileContent::Old | FileContent::New => false,
        // Git takes a file away before it writes the new one.
        FileContent::Partial => !torn,
        FileContent::Other => true,
    };
    let others = contents.iter().filter(|(_, content)| is_others(content));
    let others: Vec<String> = others.map(|(path, _)| (*path).to_owned()).collect();
    let begun = torn || contents.iter().any(|(_, content)| *content == FileContent::New);
    if contents.is_empty() || (!begun && others.is_empty()) {
        return Ok(CheckoutOutcome::Untouched);
    }
    if !others.is_empty() {
        return Ok(CheckoutOutcome::ForeignChanges(others));
    }
    let source = format!("--source={commit}");
    let remove = ["rm", "--quiet", "--force", "--ignore-unmatch", "--"];
    let restore = ["restore", &source, "--staged", "--worktree", "--"];
    for (args, is_there) in [(remove, false), (restore, true)] {
        let files = changes.iter().filter(|file| file.new.is_some() == is_there);
        let paths: Vec<&str> = files.map(|file| file.path.as_str()).collect();
        for some in paths.chunks(200) {
            repository.change(&[&args[..], some].concat())?;
        }
    }
    let name = format!("refs/heads/{base}");
    let reason = "hookkeeper: an interrupted merge";
    repository.change(&["update-ref", "-m", reason, &name, commit, onto])?;
    Ok(CheckoutOutcome::Finished)
}

/// A file that differs between two commits, by its object in each.
pub struct ChangedFile {
    pub path: String,
    pub old: Option<String>,
    pub new: Option<String>,
    /// Git moves only what is recorded of a submodule, never its files.
    pub is_submodule: bool,
    is_link: bool,
}

/// What is at the place of such a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileContent {
    Old,
    New,
    /// Nothing, or the beginning of the new file.
    Partial,
    /// Something of neither commit, in the checkout or staged.
    Other,
}

pub fn changed_files(
    repository: &Repository,
    onto: &str,
    commit: &str,
) -> Result<Vec<ChangedFile>> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", onto, commit];
    let raw = repository.query(&args)?;
    let mut fields = raw.split('\0').filter(|field| !field.is_empty());
    let mut changes = Vec::new();
    while let Some(record) = fields.next() {
        let path = fields.next().ok_or("git diff-tree said something strange")?.to_owned();
        let mut words = record.trim_start_matches(':').split(' ');
        let mut word = || words.next().unwrap_or_default();
        let modes = [word(), word()];
        let mut object = || {
            let hash = word();
            (!hash.bytes().all(|b| b == b'0')).then(|| hash.to_owned())
        };
        let (old, new) = (object(), object());
        let (is_submodule, is_link) = (modes.contains(&"160000"), modes.contains(&"120000"));
        changes.push(ChangedFile { path, old, new, is_submodule, is_link });
    }
    Ok(changes)
}

/// Of these files, those that differ from what HEAD has, with what they hold.
fn inspect<'a>(
    repository: &Repository,
    changes: &'a [ChangedFile],
    commit: &str,
) -> Result<Vec<(&'a str, FileContent)>> {
    let touched = repository.changed_paths(&repository.top, "--untracked-files=all")?;
    let touched: BTreeSet<&str> = touched.iter().map(String::as_str).collect();
    let ours: BTreeSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    let is_moved =
        |change: &&ChangedFile| !change.is_submodule && touched.contains(change.path.as_str());
    let moved: Vec<&ChangedFile> = changes.iter().filter(is_moved).collect();
    let staged = staged_objects(repository, &moved)?;
    let mut found = Vec::new();
    for change in moved {
        let index = staged.get(change.path.as_str());
        let is_staged = index.is_some_and(|object| change.content_of_object(object).is_none());
        // A directory in the place of a file: only what the merge puts there may be in it.
        let below = format!("{}/", change.path);
        let mut inside =
            touched.range(below.as_str()..).take_while(|path| path.starts_with(&below));
        let content = match is_staged || inside.any(|path| !ours.contains(path)) {
            true => FileContent::Other,
            false => file_content(repository, change, commit)?,
        };
        found.push((change.path.as_str(), content));
    }
    Ok(found)
}

/// What the index has of these files.
fn staged_objects(
    repository: &Repository,
    changes: &[&ChangedFile],
) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for some in changes.chunks(200) {
        let paths = some.iter().map(|change| change.path.as_str());
        let args: Vec<&str> =
            ["ls-files", "--stage", "-z", "--"].into_iter().chain(paths).collect();
        let listed = repository.query(&args)?;
        for (what, path) in listed.split('\0').filter_map(|entry| entry.split_once('\t')) {
            let object = what.split(' ').nth(1).unwrap_or_default();
            found.insert(path.to_owned(), object.to_owned());
        }
    }
    Ok(found)
}

fn file_content(
    repository: &Repository,
    change: &ChangedFile,
    commit: &str,
) -> Result<FileContent> {
    let file = repository.top.join(&change.path);
    if file.is_symlink() {
        return link_content(repository, change, &file);
    }
    if !file.exists() || file.is_dir() {
        return Ok(if change.new.is_none() { FileContent::New } else { FileContent::Partial });
    }
    if !file.is_file() {
        return Ok(FileContent::Other);
    }
    let object = repository.query(&["hash-object", "--", &change.path])?;
    if let Some(content) = change.content_of_object(object.trim()) {
        return Ok(content);
    }
    if change.new.is_none() {
        return Ok(FileContent::Other);
    }
    let name = format!("{commit}:{}", change.path);
    let whole = repository.query(&["cat-file", "--filters", &name])?;
    let bytes = files::read_all(&file).map_err(|error| Error::at(&file, error))?;
    let begins = String::from_utf8_lossy(&bytes);
    // A character may have been cut in two.
    let is_part = whole.starts_with(begins.trim_end_matches('\u{fffd}'));
    Ok(if is_part { FileContent::Partial } else { FileContent::Other })
}

fn link_content(repository: &Repository, change: &ChangedFile, link: &Path) -> Result<FileContent> {
    let target = link.read_link().map_err(|error| Error::at(link, error))?;
    for (object, content) in [(&change.new, FileContent::New), (&change.old, FileContent::Old)] {
        let Some(object) = object.as_ref().filter(|_| change.is_link) else { continue };
        if Path::new(&repository.query(&["cat-file", "blob", object])?) == target {
            return Ok(content);
        }
    }
    Ok(FileContent::Other)
}

impl ChangedFile {
    fn content_of_object(&self, object: &str) -> Option<FileContent> {
        let is = |side: &Option<String>| side.as_deref() == Some(object);
        match (is(&self.new), is(&self.old)) {
            (true, _) => Some(FileContent::New),
            (_, true) => Some(FileContent::Old),
            _ => None,
        }
    }
}
