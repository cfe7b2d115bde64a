//! The files that the breakdown left in the folder of the tasks, read and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::core::id::sha256_hex;
use crate::core::text::clip;
use crate::execute::document::{Execution, TaskRecord};
use crate::execute::plan::{self, TaskPlan};
use crate::execute::task_file::{TaskFile, parse_task_file};
use crate::execute::{Error, Result, graph};
use crate::process::files;

/// As many of a digest are kept: texts are told apart, nobody is kept from making two alike.
const DIGITS: usize = 16;

/// The plan in a folder, if it can be carried out.
pub fn load_plan(tasks: &Path) -> Result<TaskPlan> {
    let missing = || format!("{} has no manifest.json; the breakdown writes it", tasks.display());
    let manifest = read_json(&tasks.join("manifest.json"))?.ok_or_else(missing)?;
    let layers = read_json(&tasks.join("layer_plan.json"))?;
    let mut plan =
        plan::parse_plan(&manifest, layers.as_ref()).map_err(|why| Error::at(tasks, why))?;
    let there = files::below(tasks, &["xml"]).map_err(|error| Error::at(tasks, error))?;
    let relative = |path: &PathBuf| Some(path.strip_prefix(tasks).ok()?.to_str()?.to_owned());
    let there: BTreeSet<String> = there.iter().filter_map(relative).collect();
    let mut wrong: Vec<String> = Vec::new();
    for at in 0..plan.tasks.len() {
        let Some(task) = plan.tasks.get_mut(at) else { continue };
        let Some(file) = find_task_file(&task.id, task.file.as_deref(), &there) else {
            let named = task.file.as_deref().unwrap_or("none is named");
            wrong.push(format!("the task file of {} is missing ({named})", task.id));
            continue;
        };
        let read = files::read_all(&tasks.join(&file)).map_err(|error| error.to_string());
        match read.and_then(|bytes| parse_task_file(&bytes)) {
            Ok(content) if !is_about(&task.id, content.id.as_deref()) => wrong.push(format!(
                "{file} is the file of {}, and says that it is about {}",
                task.id,
                content.id.unwrap_or_default()
            )),
            Ok(content) => {
                task.file = Some(file);
                plan.add_task_file(at, &content);
            }
            Err(why) => wrong.push(format!("{file}: {why}")),
        }
    }
    plan.resolve_names();
    wrong.extend(graph::find_problems(&plan));
    if !wrong.is_empty() {
        let rest = wrong.len().saturating_sub(20);
        let more = if rest > 0 { format!("\n  and {rest} more") } else { String::new() };
        let list = wrong.iter().take(20).map(|why| format!("\n  {}", clip(why, 300)));
        refuse!(
            "the plan in {} cannot be carried out; put this right and try again:{}{more}",
            tasks.display(),
            list.collect::<String>()
        );
    }
    Ok(plan)
}

/// What a task's own file says.
pub fn load_task_file(tasks: &Path, id: &str, task: &TaskRecord) -> Result<TaskFile> {
    let Some(file) = &task.file else { return Ok(TaskFile::default()) };
    let path = tasks.join(file);
    let bytes = files::read_all(&path).map_err(|error| {
        Error::at(&path, error).context(format!("the task file of {id} cannot be read"))
    })?;
    parse_task_file(&bytes).map_err(|why| Error::at(&path, why))
}

/// What tells the texts of tasks apart: digests of their files. One that cannot be read has none.
pub fn task_digests(tasks: &Path, state: &Execution) -> BTreeMap<String, String> {
    let digest = |(id, task): (&String, &TaskRecord)| {
        let bytes = files::read_all(&tasks.join(task.file.as_ref()?)).ok()?;
        Some((id.clone(), text_digest(&bytes)))
    };
    state.tasks.iter().filter_map(digest).collect()
}

/// The same for a text with the line endings of any system: git changes them on the way.
pub fn text_digest(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    sha256_hex(text.as_bytes()).chars().take(DIGITS).collect()
}

/// Whether a file that names a task means this one, with or without the words behind its number.
fn is_about(id: &str, named: Option<&str>) -> bool {
    let longer = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('-'));
    named.is_none_or(|named| named == id || longer(named, id) || longer(id, named))
}

/// The task file that is meant, below the tasks. Older manifests name it from somewhere above: its
/// last two names count.
fn find_task_file(id: &str, named: Option<&str>, there: &BTreeSet<String>) -> Option<String> {
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

fn read_json(path: &Path) -> Result<Option<Value>> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = files::read_all(path).map_err(|error| Error::at(path, error))?;
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|why| format!("{} cannot be read: {why}", path.display()).into())
}
