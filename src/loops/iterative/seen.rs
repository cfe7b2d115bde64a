//! What is seen of a task's work outside of its documents: the checkout, the outputs of its units,
//! the commits. What counts is seen here, not said by the model.
//!
//! The output of a unit is there, not empty, and not as it was when the unit began (its digest is
//! in the entry that starts it). While a unit is confirmed the checkout stays as it is: HEAD,
//! `git status` and the contents of changed files, outputs and sources, without the rest of
//! `.claude/`.
//!
//! Git is asked for at most two seconds at a Stop, and only where that decides something: for the
//! checkout when a unit is said to be done, for commits when HEAD is another. Where git is missing
//! or does not answer, the log says that commands' changes were not seen.
//!
//! What a confirmation has changed is only in the live record of the session that drives the task.
//! Whoever begins to drive it with a record that has not seen that (a session that was closed and
//! resumed, another one) makes it work again, in the same iteration.

use std::collections::BTreeMap;
use std::path::Path;

use crate::core::id::TaskSlug;
use crate::core::redaction::Redactor;
use crate::loops::checkout_digest;
use crate::loops::iterative::commits;
use crate::loops::iterative::document::progress::Log;
use crate::loops::iterative::document::{Task, Unit};
use crate::turn::context::Facts;

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

    /// The checkout; a task's outputs and sources, which git does not see, are in it.
    fn tree(&self, folder: &str, head: Option<&str>) -> Result<String, String> {
        let mut lines = checkout_digest::look(self.facts, self.root, head)?;
        for own in ["outputs", "sources"] {
            let digest = self.facts.digest(&self.root.join(folder).join(own));
            lines.push(format!("{own} {}", digest.unwrap_or_default()));
        }
        Ok(checkout_digest::digest(&lines))
    }
}
