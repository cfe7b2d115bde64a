//! `execute rebuild`: the state, from git and the task files.

use std::path::PathBuf;

use serde_json::json;

use crate::commands::execute::{
    Target, absolute, corrections_json, corrections_text, project_of_plan, registry,
};
use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::execute::TasksFolder;
use crate::execute::rebuild::{self, RebuildOptions};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub target: Target,
    /// The checkout, if the state does not say or it was moved
    #[arg(long, value_name = "DIR")]
    project_path: Option<PathBuf>,
    /// The branch that tasks are merged to, if the state does not say or it was renamed
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// The remote that it is shared over, if the state does not say
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
}

pub fn run(
    project: &Project,
    folder: &TasksFolder,
    options: &Arguments,
) -> anyhow::Result<Outcome> {
    let project_path = options.project_path.as_deref().map(|path| absolute(project, path));
    let _progress = project.progress("asking git what was merged");
    let rebuilt = rebuild::rebuild(
        folder,
        &RebuildOptions {
            project_path: project_path.transpose()?,
            base: options.base.as_deref(),
            remote: options.remote.as_deref(),
            default_project: &|plan| project_of_plan(project, plan),
        },
    )?;
    let (state, corrections) = (&rebuilt.state, &rebuilt.corrections);
    registry::refresh(project, folder, state, rebuilt.old_tasks_path.as_deref())?;
    if options.target.json {
        let list = corrections_json(corrections);
        return print_json(
            &json!({"corrections": list, "metrics": state.metrics, "status": state.status}),
        );
    }
    Ok(Outcome::printed(corrections_text(corrections, state)))
}
