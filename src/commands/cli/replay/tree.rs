//! What the state was before a payload and what they are after it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::console::diff;
use crate::core::gate::Printed;
use crate::state::Source as _;
use crate::store::dir::Dir;
use crate::store::untrusted;
use crate::store::view::View;

/// What hooks keep below `.claude`.
pub const OURS: [&str; 3] = ["state", "branches", "iterative"];
pub const FILES: [&str; 2] = ["hookkeeper.json", "autonomous-loop.json"];
/// Of interest to nobody here: they change with every run.
const PASSED_OVER: [&str; 6] = [
    "state/log",
    "state/journal",
    "state/.lock",
    "state/.gitignore",
    "state/.trusted",
    "state/recorded",
];

/// The texts below `.claude`, by path.
pub struct Tree(BTreeMap<String, String>);

pub struct FileChange {
    pub file: String,
    before: Option<String>,
    after: Option<String>,
}

impl Tree {
    /// What cannot be read, or is not this machine's, is not there.
    pub fn read(root: &Path, home: Option<&Path>) -> Self {
        let mut files = BTreeMap::new();
        let view = View::open(root, home).ok().flatten();
        if let Some((view, claude)) = view.as_ref().and_then(|view| Some((view, view.folder("")?)))
        {
            for name in OURS.into_iter().chain(FILES) {
                collect(&claude, name, name.to_owned(), &mut files);
            }
            files.retain(|path, _| view.believes(path));
        }
        Self(files)
    }

    pub fn changes(&self, after: &Self) -> Vec<FileChange> {
        let mut names: Vec<&String> = self.0.keys().chain(after.0.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let changes = names.into_iter().map(|file| FileChange {
            file: file.clone(),
            before: self.0.get(file).cloned(),
            after: after.0.get(file).cloned(),
        });
        changes.filter(|change| change.before != change.after).collect()
    }
}

impl FileChange {
    pub fn diff(&self, colour: bool) -> Printed {
        let name = |text: &Option<String>| match text {
            Some(_) => self.file.clone(),
            None => "/dev/null".to_owned(),
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (from, to) = (name(&self.before), name(&self.after));
        diff::unified(&text(&self.before), &text(&self.after), &from, &to, colour)
    }
}

fn collect(dir: &Dir, name: &str, path: String, files: &mut BTreeMap<String, String>) {
    let is_room = || path.strip_prefix("state/").is_some_and(untrusted::is_room);
    if PASSED_OVER.contains(&path.as_str()) || is_room() {
        return;
    }
    if dir.is_dir(name) {
        let Ok(Some(sub)) = dir.sub(name) else { return };
        for entry in sub.names().unwrap_or_default() {
            collect(&sub, &entry, format!("{path}/{entry}"), files);
        }
    } else if let Ok(Some(bytes)) = dir.read(name) {
        files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
    }
}
