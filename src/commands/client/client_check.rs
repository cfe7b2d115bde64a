//! Whether the Claude Code that is here works with our entries, asked before they are written.

use anyhow::bail;

use crate::client::version::{self, ClientVersion, OLDEST, Support};
use crate::console::project::Project;
use crate::core::text::clip;

/// Our entries in the settings of a client that is too old would do harm. What is good to know if
/// it cannot be told how old it is.
pub fn check_client(project: &Project, any_client: bool) -> anyhow::Result<Option<String>> {
    let unknown = match version::find(project.process, &project.root()?) {
        ClientVersion::NotFound => "Claude Code was not found".to_owned(),
        ClientVersion::NotAsked(path) => format!(
            "{} does not tell its version (it is part of the project)",
            project.shown(&path)
        ),
        ClientVersion::Failed(path, why) => {
            let at = project.shown(&path);
            let unknown = format!(
                "Claude Code is at {at} and does not tell its version ({})",
                clip(&why, 200)
            );
            if !any_client {
                bail!(
                    "{unknown}. It must be {OLDEST} or later; --any-client wires the hooks all the same"
                );
            }
            unknown
        }
        ClientVersion::Line(path, line) => {
            let at = format!("Claude Code {} at {}", clip(&line, 60), project.shown(&path));
            match (Support::of(&line), Support::of(&line).harm()) {
                (_, Some(harm)) if any_client => {
                    return Ok(Some(format!("Warning: {at} is too old: {harm}.")));
                }
                (_, Some(harm)) => bail!(
                    "{at} is too old: {harm}. Update it to {OLDEST} or later; --any-client wires the \
                     hooks all the same"
                ),
                (Support::Unknown, None) => format!("{at}: this is no version"),
                _ => return Ok(None),
            }
        }
    };
    Ok(Some(format!("Note: {unknown}. It must be {OLDEST} or later.")))
}
