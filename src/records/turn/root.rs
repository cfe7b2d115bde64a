//! Which directory is the project.

use std::path::{Path, PathBuf};

use crate::process::Process;

/// A directory whose `.claude` has the state instead of the project's. `replay` works that way.
pub const STATE_ROOT: &str = "HOOKKEEPER_STATE_ROOT";

/// For hooks: `CLAUDE_PROJECT_DIR`, else the nearest project above the payload's `cwd`, else that.
pub fn for_hook(process: &Process, cwd: Option<&str>) -> Option<PathBuf> {
    if let Some(dir) = process.env("CLAUDE_PROJECT_DIR") {
        let trimmed = dir.trim_end_matches('/');
        return Some(PathBuf::from(if trimmed.is_empty() { &dir } else { trimmed }));
    }
    let cwd = cwd.map(PathBuf::from).filter(|cwd| cwd.is_absolute()).or_else(|| process.cwd())?;
    Some(above(process, &cwd).unwrap_or(cwd))
}

/// Where a project's state is: in it, unless it is played with elsewhere.
pub fn state_root(process: &Process, root: &Path) -> PathBuf {
    process.env(STATE_ROOT).map_or_else(|| root.to_owned(), PathBuf::from)
}

/// The nearest directory from `start` up that has `.claude/` or `.git`. The client's own directory
/// in a home does not make that home a project.
pub fn above(process: &Process, start: &Path) -> Option<PathBuf> {
    let home = process.home();
    let config = process.env("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let is_clients_own = |claude: &Path| {
        home.as_ref().is_some_and(|home| claude == home.join(".claude"))
            || config.as_deref() == Some(claude)
    };
    let is_project = |dir: &&Path| {
        let claude = dir.join(".claude");
        dir.join(".git").exists() || (claude.is_dir() && !is_clients_own(&claude))
    };
    start.ancestors().find(is_project).map(Path::to_owned)
}

/// The ancestor of `start`, or the main checkout of its worktree, whose state has this session.
pub fn of_session(start: &Path, session_id: &str) -> Option<PathBuf> {
    let record = crate::core::id::FileStem::from_id(session_id).json();
    let knows = |dir: &&Path| dir.join(".claude/state/session/live").join(&record).is_file();
    let main = crate::git::refs::main_checkout(start);
    start.ancestors().chain(main.as_deref()).find(knows).map(Path::to_owned)
}

/// A path as people write it: from the project, or from the home directory.
pub fn shown(path: &Path, root: &Path, home: Option<&Path>) -> String {
    match path.strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => below.display().to_string(),
        _ => from_home(path, home),
    }
}

/// A path as people write it, from the home directory if it is there: `~/shop`.
pub fn from_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".into(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
