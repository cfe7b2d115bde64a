//! `.claude/branches`: which folder is a branch's, and its hand-offs, which are written once.

use std::io;
use std::path::Path;

use crate::error::{Error, Result};
use crate::facts::git;
use crate::id::BranchKey;
use crate::json::Object;
use crate::store::dir::Dir;
use crate::store::layout::{BRANCH_AGENTS, BRANCH_STATE, BRANCHES, Doc, Room};
use crate::store::{NEW, Store};

/// Nobody writes this many hand-offs of a kind in a day.
const HANDOFFS: usize = 10_000;

impl Store {
    pub fn has_branches(&self) -> Result<bool> {
        Ok(self.claude.sub(BRANCHES)?.is_some())
    }

    /// The folder of a branch of this checkout.
    pub fn branch_key(&self, branch: &str, checkout: &Path) -> Result<BranchKey> {
        key(&self.claude, branch, checkout)
    }

    /// Writes a hand-off under the first name that is free (`task-2026-01-29`, then with `-2`
    /// behind it) and gives its path from the project, and how many there are now.
    pub fn put_handoff(
        &mut self,
        key: &BranchKey,
        stem: &str,
        text: &str,
    ) -> Result<(String, usize)> {
        let room = Room::Handoffs(key.clone());
        self.make_room(room.clone())?;
        let dir = self.room(room)?;
        self.state.create(NEW, text.as_bytes(), true)?;
        for n in 1..HANDOFFS {
            let file = if n == 1 { format!("{stem}.md") } else { format!("{stem}-{n}.md") };
            match self.state.rename_new(NEW, dir, &file) {
                Ok(()) => {
                    let names = dir.names()?;
                    let count = names.iter().filter(|name| name.ends_with(".md")).count();
                    let name = format!("{BRANCHES}/{}/handoffs/{file}", key.as_str());
                    self.wrote.push(name.clone());
                    return Ok((format!(".claude/{name}"), count));
                }
                Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let _ = self.state.remove(NEW);
                    return Err(error);
                }
            }
        }
        self.state.remove(NEW)?;
        Err(Error::io("find a free name for", &dir.path_of(stem), io::ErrorKind::AlreadyExists))
    }
}

/// Whose a folder is.
enum Whose {
    /// There is none.
    Free,
    Unsaid,
    Own,
    Others,
}

/// The folder of a branch: the one that says so; else its plain name, or, where another branch has
/// that, one with a digest.
pub fn key(claude: &Dir, branch: &str, checkout: &Path) -> Result<BranchKey> {
    let plain = BranchKey::of(branch);
    let Some(branches) = claude.sub(BRANCHES)? else { return Ok(plain) };
    let first = whose(&branches, &plain, branch, |owner| {
        // Files of other tools have the folder's name there; but there may be a branch of that name.
        owner == plain.as_str() && !git::has_branch(checkout, owner)
    })?;
    if matches!(first, Whose::Own) {
        return Ok(plain);
    }
    // A folder with a digest stays, even if the one that was in the way has gone.
    let short = BranchKey::beside(branch, 8);
    match (first, whose(&branches, &short, branch, |_| false)?) {
        (_, Whose::Own) => Ok(short),
        (Whose::Free | Whose::Unsaid, _) => Ok(plain),
        // Somebody has called a branch like that.
        (_, Whose::Others) => Ok(BranchKey::beside(branch, 16)),
        _ => Ok(short),
    }
}

fn whose(
    branches: &Dir,
    key: &BranchKey,
    branch: &str,
    means_us: impl FnOnce(&str) -> bool,
) -> Result<Whose> {
    let Some(folder) = branches.sub(key.as_str())? else { return Ok(Whose::Free) };
    let owner = |file: &str| {
        let bytes = folder.read(file).ok()??;
        Object::parse(&bytes).ok()?.text("branch")
    };
    let Some(owner) = owner(BRANCH_STATE).or_else(|| owner(BRANCH_AGENTS)) else {
        return Ok(Whose::Unsaid);
    };
    Ok(if owner == branch || means_us(&owner) { Whose::Own } else { Whose::Others })
}

impl Doc {
    /// The hand-offs of a branch, from the project.
    pub fn handoffs(key: &BranchKey) -> String {
        format!(".claude/{}", Room::Handoffs(key.clone()).segments().join("/"))
    }
}
