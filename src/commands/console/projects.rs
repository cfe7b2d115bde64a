//! All projects of this user, for commands that show them in one view.

use std::path::{Path, PathBuf};

use crate::console::project::Project;
use crate::git::refs;
use crate::store::projects;
use crate::store::view::View;

/// A project whose state was made on this machine.
pub struct KnownProject {
    pub root: PathBuf,
    /// The checkout that it belongs to: its own root, or that of the repository whose linked
    /// worktree it is.
    pub repository: PathBuf,
    pub view: View,
}

impl KnownProject {
    pub fn is_worktree(&self) -> bool {
        self.repository != self.root
    }
}

/// The projects that are known, with the one that the command is about; worktrees behind the
/// checkout that they belong to. One that is gone, or whose state is not this machine's, is left
/// out.
pub fn known_projects(project: &Project) -> Vec<KnownProject> {
    let mut roots =
        project.process.client_dir().map(|dir| projects::list(&dir)).unwrap_or_default();
    roots.extend(project.root().ok().and_then(|root| root.canonicalize().ok()));
    roots.sort();
    roots.dedup();
    let home = project.process.home();
    let known = |root: PathBuf| {
        let view = View::open(&root, home.as_deref()).ok()??;
        Some(KnownProject { repository: repository(&root), root, view })
    };
    let mut known: Vec<KnownProject> = roots.into_iter().filter_map(known).collect();
    known.sort_by(|one, other| {
        let key = |project: &KnownProject| {
            (project.repository.clone(), project.is_worktree(), project.root.clone())
        };
        key(one).cmp(&key(other))
    });
    known
}

/// The main checkout for a linked worktree; else the project itself, also where it is a folder of
/// a larger repository.
fn repository(root: &Path) -> PathBuf {
    let main = root.join(".git").is_file().then(|| refs::main_checkout(root)).flatten();
    main.unwrap_or_else(|| root.to_owned())
}
