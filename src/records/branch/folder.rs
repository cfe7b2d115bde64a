//! `.claude/branches`: which folder is a branch's, and its hand-offs, which are written once.
//!
//! A branch's folder is its name with dashes for slashes. Where another branch has that folder, a
//! digest is put behind it. `branch` in `state.json` and `agents.json` is the real name and says
//! whose the folder is. Other tools write the folder's name there: such a folder is taken over
//! unless git has a branch of that name. A folder with a digest stays its branch's when the other
//! one goes.
//!
//! An agent's entry stays with the branch that it was started on: the folder is in the live record
//! and in its result.

use std::path::Path;

use crate::branch::agents_document::BranchAgents;
use crate::branch::document::BranchState;
use crate::core::error::Result;
use crate::core::id::BranchKey;
use crate::core::json::Object;
use crate::git::refs;
use crate::state::{Document, Source, State};
use crate::store::Store;
use crate::store::view::View;

pub const BRANCHES: &str = "branches";

/// The hand-offs of a branch, from the project.
pub fn handoff_folder(key: &BranchKey) -> String {
    format!(".claude/{BRANCHES}/{}/handoffs", key.as_str())
}

/// The states of all branches that have one, by folder.
pub fn all_states(state: &State) -> Vec<BranchState> {
    let keys = all_keys(state.source());
    keys.iter().filter_map(|key| state.get_by::<BranchState>(key).cloned()).collect()
}

fn all_keys(source: &dyn Source) -> Vec<BranchKey> {
    let names = source.names(BRANCHES).unwrap_or_default();
    names.iter().filter_map(|name| BranchKey::known(name)).collect()
}

/// The agents of all branches, by folder.
pub fn branch_agents(view: &View) -> Vec<(String, BranchAgents)> {
    let state = view.state();
    let document = |key: &BranchKey| {
        Some((key.as_str().to_owned(), state.get_by::<BranchAgents>(key)?.clone()))
    };
    all_keys(view).iter().filter_map(document).collect()
}

/// The folder of a branch of this checkout.
pub fn branch_key(view: &View, branch: &str, checkout: &Path) -> Result<BranchKey> {
    find_key(view, branch, |owner| refs::has_branch(checkout, owner))
}

pub fn has_branch_folder(view: &View, key: &BranchKey) -> bool {
    view.is_folder(&format!("{BRANCHES}/{}", key.as_str()))
}

/// Writes a hand-off under the first name that is free (`task-2026-01-29`, then with `-2` behind
/// it) and gives its path from the project, and how many there are now.
pub fn put_handoff(
    store: &Store,
    key: &BranchKey,
    stem: &str,
    text: &str,
) -> Result<(String, usize)> {
    let folder = format!("{BRANCHES}/{}/handoffs", key.as_str());
    let file = store.create_numbered(&folder, stem, ".md", text)?;
    let count = store.names(&folder)?.iter().filter(|name| name.ends_with(".md")).count();
    Ok((format!(".claude/{folder}/{file}"), count))
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
    let plain = BranchKey::from_branch(branch);
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
    let documents = [BranchState::doc(key), BranchAgents::doc(key)];
    let Some(owner) = documents.iter().find_map(|doc| owner(doc.below_claude())) else {
        return Ok(FolderOwner::Unsaid);
    };
    let is_own = owner == branch || means_us(&owner);
    Ok(if is_own { FolderOwner::Own } else { FolderOwner::Other })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::state::map::Files;
    use crate::state::{Aside, Doc};

    /// A file system that takes names for the same whose case or composition differs, as those of
    /// macOS and Windows do. It keeps the names as they were first given.
    #[derive(Clone, Default)]
    struct Folding(Files);

    fn folded(path: &str) -> String {
        let composed = path.replace("e\u{301}", "é").replace("\u{1100}\u{1161}", "가");
        composed.to_lowercase()
    }

    impl Source for Folding {
        fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>> {
            self.0.bytes(&folded(path))
        }

        fn names(&self, folder: &str) -> Result<Vec<String>> {
            self.0.names(&folded(folder))
        }

        fn has_folder(&self, folder: &str) -> Result<bool> {
            self.0.has_folder(&folded(folder))
        }

        fn is_folder(&self, path: &str) -> bool {
            self.0.is_folder(&folded(path))
        }

        fn modified(&self, path: &str) -> i64 {
            self.0.modified(&folded(path))
        }

        fn put_aside(&self, doc: &Doc, why: &str) -> Result<Aside> {
            self.0.put_aside(doc, why)
        }
    }

    /// Branches that one folder would do for, on such a file system.
    const ALIKE: [&[&str]; 4] = [
        &["feat", "Feat", "FEAT"],
        &["caf\u{e9}", "cafe\u{301}", "CAF\u{c9}"],
        &["\u{ac00}", "\u{1100}\u{1161}"],
        &["Fix/Login", "fix/login", "fix-login", "fix/LOGIN"],
    ];

    #[test]
    fn branches_that_differ_by_case_or_composition_have_folders_of_their_own() {
        for branches in ALIKE {
            let mut disk = Folding::default();
            for round in 0..2 {
                let mut folders = BTreeSet::new();
                for branch in branches {
                    let key = find_key(&disk, branch, |owner| branches.contains(&owner)).unwrap();
                    assert!(folders.insert(folded(key.as_str())), "{branch} in round {round}");
                    let path = folded(&BranchState::doc(&key).below_claude());
                    let text = serde_json::json!({"branch": branch}).to_string();
                    let before = disk.bytes(&path).unwrap();
                    assert!(before.is_none_or(|bytes| bytes == text.as_bytes()), "{branch}");
                    disk = Folding(disk.0.with_bytes(&path, &text));
                }
            }
        }
    }
}
