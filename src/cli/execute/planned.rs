//! The plan of an execution, from the files that the breakdown left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::books::clip;
use crate::execute::plan::{self, Plan};
use crate::execute::{brief, graph};
use crate::facts::files;

/// What the breakdown left, checked.
pub fn read(tasks: &Path) -> anyhow::Result<Plan> {
    let manifest = json_file(&tasks.join("manifest.json"))?.with_context(|| {
        format!("{} has no manifest.json; the breakdown writes it", tasks.display())
    })?;
    let layers = json_file(&tasks.join("layer_plan.json"))?;
    let mut plan = plan::read(&manifest, layers.as_ref())
        .map_err(|why| anyhow::anyhow!("{}: {why}", tasks.display()))?;
    let there = files::below(tasks, &["xml"]).with_context(|| tasks.display().to_string())?;
    let relative = |path: &PathBuf| Some(path.strip_prefix(tasks).ok()?.to_str()?.to_owned());
    let there: BTreeSet<String> = there.iter().filter_map(relative).collect();
    let mut wrong: Vec<String> = Vec::new();
    for at in 0..plan.tasks.len() {
        let Some(task) = plan.tasks.get_mut(at) else { continue };
        let Some(file) = task_file(&task.id, task.file.as_deref(), &there) else {
            let named = task.file.as_deref().unwrap_or("none is named");
            wrong.push(format!("the task file of {} is missing ({named})", task.id));
            continue;
        };
        let read = files::read_all(&tasks.join(&file)).map_err(|error| error.to_string());
        match read.and_then(|bytes| brief::read(&bytes)) {
            Ok(brief) if !is_about(&task.id, brief.id.as_deref()) => wrong.push(format!(
                "{file} is the file of {}, and says that it is about {}",
                task.id,
                brief.id.unwrap_or_default()
            )),
            Ok(brief) => {
                task.file = Some(file);
                plan.take_brief(at, &brief);
            }
            Err(why) => wrong.push(format!("{file}: {why}")),
        }
    }
    plan.finish();
    wrong.extend(graph::problems(&plan));
    if !wrong.is_empty() {
        let rest = wrong.len().saturating_sub(20);
        let more = if rest > 0 { format!("\n  and {rest} more") } else { String::new() };
        let list = wrong.iter().take(20).map(|why| format!("\n  {}", clip(why, 300)));
        bail!(
            "the plan in {} cannot be carried out; put this right and try again:{}{more}",
            tasks.display(),
            list.collect::<String>()
        );
    }
    Ok(plan)
}

/// Whether a file that names a task means this one, with or without the words behind its number.
fn is_about(id: &str, named: Option<&str>) -> bool {
    let longer = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('-'));
    named.is_none_or(|named| named == id || longer(named, id) || longer(id, named))
}

/// The task file that is meant, below the tasks. Older manifests name it from somewhere above: its
/// last two names count.
fn task_file(id: &str, named: Option<&str>, there: &BTreeSet<String>) -> Option<String> {
    let Some(named) = named else {
        let own = |file: &&String| {
            let rest = file.rsplit('/').next().unwrap_or_default().strip_prefix(id);
            rest.is_some_and(|rest| rest.starts_with('-') || rest.starts_with('.'))
        };
        return there.iter().find(own).cloned();
    };
    let plain = |part: &&str| !part.is_empty() && *part != ".";
    let parts: Vec<&str> = named.split(['/', '\\']).filter(plain).collect();
    let end = parts.get(parts.len().saturating_sub(2)..).unwrap_or_default().join("/");
    [parts.join("/"), end].into_iter().find(|file| there.contains(file))
}

fn json_file(path: &Path) -> anyhow::Result<Option<Value>> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = files::read_all(path).with_context(|| path.display().to_string())?;
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|why| anyhow::anyhow!("{} cannot be read: {why}", path.display()))
}
