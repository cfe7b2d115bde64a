//! A state that cannot be used, or is gone: what can be read of it, and the rest from the plan.

use std::path::PathBuf;

use serde_json::Value;

use super::rebuild::Arguments;
use super::site::Site;
use super::{elsewhere, init};
use crate::books::execute::{self, Execution, Task};
use crate::books::{Extra, plural};
use crate::execute::plan::Plan;
use crate::execute::truth::Correction;

/// A state anew from the plan, with what can be read of the old file's tasks.
pub fn state(
    site: &Site,
    bytes: Option<&[u8]>,
    plan: Result<&Plan, &anyhow::Error>,
    options: &Arguments,
) -> anyhow::Result<(Execution, Vec<Correction>)> {
    let plan = plan.map_err(|why| anyhow::anyhow!("{why:#}"))?;
    let old: Value = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    let text = |name: &str| old.get(name).and_then(Value::as_str).map(str::to_owned);
    let project = options.project_path.clone();
    let project =
        project.or_else(|| text("project_path").map(PathBuf::from).filter(|path| path.is_dir()));
    let base = options.base.clone().or_else(|| text("base_branch"));
    let (repository, mut state) = init::fresh(site, plan, project.as_deref(), base.as_deref())?;
    // Nobody knows where it began, so all of the branch's history counts.
    state.base_commit = text("base_commit");
    if let Some(dir) = text("worktree_dir") {
        state.worktree_dir = dir;
    }
    state.max_parallel = old.get("max_parallel").and_then(Value::as_u64).or(state.max_parallel);
    state.started_at = text("started_at").filter(|time| crate::time::parse(time).is_some());
    let mut kept = 0;
    for (id, task) in &mut state.tasks {
        let Some(Value::Object(fields)) = old.get("tasks").and_then(|tasks| tasks.get(id)) else {
            continue;
        };
        kept += usize::from(take(task, fields));
    }
    elsewhere::refuse_shared(site, &state)?;
    init::hide(site, &repository, &state)?;
    let text = match bytes {
        None => "there was none; it was made from the task files and git".to_owned(),
        Some(_) => {
            format!("it could not be used as it was; {} kept what they had", plural(kept, "task"))
        }
    };
    let said = vec![Correction { id: execute::FILE.into(), text }];
    Ok((state, said))
}

/// Fields of a task that can be read are taken, one by one.
fn take(task: &mut Task, fields: &Extra) -> bool {
    let whole = Value::Object(fields.clone());
    let before = task.clone();
    if let Ok(old) = serde_json::from_value::<Task>(whole) {
        *task = Task {
            layer: before.layer,
            name: before.name,
            priority: before.priority,
            file: before.file,
            depends_on: before.depends_on,
            ..old
        };
        return true;
    }
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let attempts = field("attempts").as_u64();
    let errors = serde_json::from_value(field("errors")).ok();
    let feedback = serde_json::from_value(field("retry_feedback")).ok();
    let kept = attempts.is_some() || errors.is_some() || feedback.is_some();
    task.attempts = attempts.unwrap_or(0);
    task.errors = errors.unwrap_or_default();
    task.retry_feedback = feedback.unwrap_or_default();
    kept
}
