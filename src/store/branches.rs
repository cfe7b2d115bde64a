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

/// The folder of a branch: its own name, or, where another branch has it, one with a digest.
pub fn key(claude: &Dir, branch: &str, checkout: &Path) -> Result<BranchKey> {
    let key = BranchKey::of(branch);
    let Some(folder) = claude.below(&format!("{BRANCHES}/{}", key.as_str()))? else {
        return Ok(key);
    };
    let owner = |file: &str| {
        let bytes = folder.read(file).ok()??;
        Object::parse(&bytes).ok()?.text("branch")
    };
    let owner = owner(BRANCH_STATE).or_else(|| owner(BRANCH_AGENTS));
    // Files of other tools have the folder's name there; but there may be a branch of that name.
    let own = owner.is_none_or(|owner| {
        owner == branch || (owner == key.as_str() && !git::has_branch(checkout, &owner))
    });
    Ok(if own { key } else { BranchKey::beside(branch) })
}

impl Doc {
    /// The hand-offs of a branch, from the project.
    pub fn handoffs(key: &BranchKey) -> String {
        format!(".claude/{}", Room::Handoffs(key.clone()).segments().join("/"))
    }
}
