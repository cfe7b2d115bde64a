//! What `doctor --fix` does. Only what is ours, and only what can be done again without harm.

use crate::cli::{Project, install};
use crate::doctor::finding::Fix;
use crate::store::survey;

/// What was done, or why it was not.
pub fn apply(fix: Fix, project: &Project) -> anyhow::Result<String> {
    match fix {
        Fix::Wiring(scope) => install::wire(project, scope),
        Fix::Spool => project.change(|_, _| Ok("they are in the books now".into())),
        Fix::Ignore => {
            survey::hide(&project.root()?, project.process.home().as_deref())?;
            Ok("wrote .claude/state/.gitignore".into())
        }
    }
}
