//! `.claude/branches`: which folder is a branch's, and its hand-offs, which are written once.

use std::io;

use crate::books::agent_book::AgentBook;
use crate::books::branch::BranchState;
use crate::error::{Error, Result};
use crate::id::BranchKey;
use crate::json::Object;
use crate::state::{Document, Source};
use crate::store::{NEW, Store};

pub const BRANCHES: &str = "branches";
/// Nobody writes this many hand-offs of a kind in a day.
const HANDOFFS: usize = 10_000;

/// The hand-offs of a branch, from the project.
pub fn handoff_folder(key: &BranchKey) -> String {
    format!(".claude/{BRANCHES}/{}/handoffs", key.as_str())
}

impl Store {
    /// Writes a hand-off under the first name that is free (`task-2026-01-29`, then with `-2`
    /// behind it) and gives its path from the project, and how many there are now.
    pub fn put_handoff(&self, key: &BranchKey, stem: &str, text: &str) -> Result<(String, usize)> {
        let path = format!("{BRANCHES}/{}/handoffs", key.as_str());
        let dir = self.folders.make(&path)?;
        let state = &self.folders.state;
        state.create(NEW, text.as_bytes(), true)?;
        for n in 1..HANDOFFS {
            let file = if n == 1 { format!("{stem}.md") } else { format!("{stem}-{n}.md") };
            match state.rename_new(NEW, &dir, &file) {
                Ok(()) => {
                    let names = dir.names()?;
                    let count = names.iter().filter(|name| name.ends_with(".md")).count();
                    self.note_written(format!("{path}/{file}"));
                    return Ok((format!(".claude/{path}/{file}"), count));
                }
                Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let _ = state.remove(NEW);
                    return Err(error);
                }
            }
        }
        state.remove(NEW)?;
        Err(Error::io("find a free name for", &dir.path_of(stem), io::ErrorKind::AlreadyExists))
    }
}

/// Whose a folder is.
enum FolderOwner {
    /// There is no such folder.
    Nobody,
    Unsaid,
    Own,
    Other,
}

/// The folder of a branch: the one that says so; else its plain name, or, where another branch has
/// that, one with a digest. `has_branch` says whether the repository has a branch of a name.
pub fn find_key(
    source: &dyn Source,
    branch: &str,
    has_branch: impl FnOnce(&str) -> bool,
) -> Result<BranchKey> {
    let plain = BranchKey::of(branch);
    if !source.has_folder(BRANCHES)? {
        return Ok(plain);
    }
    let first = folder_owner(source, &plain, branch, |owner| {
        // Files of other tools have the folder's name there; but there may be a branch of that name.
        owner == plain.as_str() && !has_branch(owner)
    })?;
    if matches!(first, FolderOwner::Own) {
        return Ok(plain);
    }
    // A folder with a digest stays, even if the one that was in the way has gone.
    let short = BranchKey::beside(branch, 8);
    match (first, folder_owner(source, &short, branch, |_| false)?) {
        (_, FolderOwner::Own) => Ok(short),
        (FolderOwner::Nobody | FolderOwner::Unsaid, _) => Ok(plain),
        // Somebody has called a branch like that.
        (_, FolderOwner::Other) => Ok(BranchKey::beside(branch, 16)),
        _ => Ok(short),
    }
}

fn folder_owner(
    source: &dyn Source,
    key: &BranchKey,
    branch: &str,
    means_us: impl FnOnce(&str) -> bool,
) -> Result<FolderOwner> {
    if !source.has_folder(&format!("{BRANCHES}/{}", key.as_str()))? {
        return Ok(FolderOwner::Nobody);
    }
    let owner = |path: String| {
        let bytes = source.bytes(&path).ok()??;
        Object::parse(&bytes).ok()?.text("branch")
    };
    let documents = [BranchState::doc(key), AgentBook::doc(key)];
    let Some(owner) = documents.iter().find_map(|doc| owner(doc.below_claude())) else {
        return Ok(FolderOwner::Unsaid);
    };
    let is_own = owner == branch || means_us(&owner);
    Ok(if is_own { FolderOwner::Own } else { FolderOwner::Other })
}
