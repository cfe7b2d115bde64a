//! What is seen of a task's work outside of its documents: the checkout, the outputs of its units,
//! the commits. Git has bounded time for it; where it does not answer, that is said.

use std::collections::BTreeMap;
use std::path::Path;

use crate::core::id::{TaskSlug, sha256_hex};
use crate::core::redaction::Redactor;
use crate::loops::iterative::commits;
use crate::loops::iterative::document::progress::Log;
use crate::loops::iterative::document::{Task, Unit};
use crate::turn::context::Facts;

/// Files whose contents are compared; of more, the names and times.
const READ: usize = 500;
const STATUS: [&str; 6] = ["status", "--porcelain", "-z", "--untracked-files=all", "--", "."];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The commit that is checked out.
    pub head: Option<String>,
    /// A digest of what the checkout holds; `None` if nobody looked, or git did not say.
    pub tree: Option<String>,
    /// Why git could not be asked.
    pub trouble: Option<String>,
    /// By unit, a digest of its output, if that is there and not empty.
    pub outputs: BTreeMap<String, String>,
    /// What was committed since the task began.
    pub commits: Vec<String>,
}

/// Who looks.
pub struct Eyes<'a> {
    pub facts: &'a dyn Facts,
    pub root: &'a Path,
    pub redact: &'a Redactor,
}

impl Eyes<'_> {
    /// Looks at a task's work; at the whole checkout only where that decides something.
    pub fn look(&self, slug: &TaskSlug, task: &Task, log: &Log, at_tree: bool) -> Seen {
        let folder = format!(".claude/iterative/{slug}");
        let mut seen = Seen { head: self.facts.git().commit, ..Seen::default() };
        for (id, unit) in task.units().iter().filter(|(_, unit)| !unit.skipped) {
            seen.outputs.extend(self.output(&folder, unit).map(|digest| (id.clone(), digest)));
        }
        if at_tree {
            match self.tree(&folder, seen.head.as_deref()) {
                Ok(tree) => seen.tree = Some(tree),
                Err(why) => seen.trouble = Some(why),
            }
        }
        if let Some(head) = &seen.head
            && seen.trouble.is_none()
            && commits::may_be_new(task, log, head)
        {
            match commits::collect(self.facts, task, log, self.redact) {
                Ok(found) => seen.commits = found,
                Err(why) => seen.trouble = Some(why),
            }
        }
        seen
    }

    /// A unit's output, from the task's folder or from the project.
    fn output(&self, folder: &str, unit: &Unit) -> Option<String> {
        let places = [self.root.join(folder), self.root.to_owned()];
        let digest = |path: &str| places.iter().find_map(|at| self.facts.digest(&at.join(path)));
        let found: Option<Vec<String>> = unit.output_paths().into_iter().map(digest).collect();
        found.filter(|found| !found.is_empty()).map(|found| found.join("-"))
    }

    /// The commit, what is changed beside it, and what is in the changed files. What the state and
    /// the client's settings say is not the work; a task's outputs and sources, which git does not
    /// see, are.
    fn tree(&self, folder: &str, head: Option<&str>) -> Result<String, String> {
        let mut lines = vec![head.unwrap_or_default().to_owned()];
        // Without a repository there is nobody to ask.
        let status = if head.is_some() { self.facts.ask_git(&STATUS)? } else { None };
        let status = status.unwrap_or_default();
        let entries = status.split('\0').filter(|entry| !entry.is_empty());
        // Git names paths from its own top, which may be above the project.
        let top = self.root.ancestors().find(|dir| self.facts.is_checkout(dir));
        let top = top.unwrap_or(self.root);
        let claude = self.root.strip_prefix(top).unwrap_or(self.root).join(".claude");
        for (n, entry) in entries.enumerate() {
            let path = entry.get(3..).unwrap_or_default();
            if Path::new(path).starts_with(&claude) {
                continue;
            }
            let path = top.join(path);
            let has = match n < READ {
                true => self.facts.digest(&path),
                false => self.facts.modified(&path).map(|at| at.to_rfc3339()),
            };
            lines.push(format!("{entry} {}", has.unwrap_or_default()));
        }
        for own in ["outputs", "sources"] {
            let digest = self.facts.digest(&self.root.join(folder).join(own));
            lines.push(format!("{own} {}", digest.unwrap_or_default()));
        }
        Ok(sha256_hex(lines.join("\n").as_bytes()).chars().take(16).collect())
    }
}
