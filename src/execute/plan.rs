//! What the breakdown left: `manifest.json` and `layer_plan.json`, in all the shapes that they are
//! known to have.

use serde_json::{Map, Value};

use crate::execute::document::layer_order;
use crate::execute::task_file::TaskFile;

#[derive(Debug, Default, PartialEq)]
pub struct TaskPlan {
    pub slug: String,
    pub project_path: Option<String>,
    pub tasks: Vec<PlannedTask>,
    /// As the files name them, in the order in which they run.
    pub layers: Vec<String>,
    /// The task that was looked up last.
    pub last_found: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedTask {
    pub id: String,
    pub layer: Option<String>,
    pub name: Option<String>,
    /// As it is named: below the tasks, or from a workspace around them.
    pub file: Option<String>,
    pub priority: Option<u64>,
    pub needs: Vec<String>,
}

/// One plan out of both files. An error says which of them cannot be used and why.
pub fn parse_plan(manifest: &Value, layer_plan: Option<&Value>) -> Result<TaskPlan, String> {
    let top = manifest.as_object().ok_or("manifest.json is no JSON object")?;
    let prd = top.get("prd");
    let slug = text(top.get("prd_slug")).or_else(|| text(prd.and_then(|prd| prd.get("slug"))));
    let project = prd.and_then(|prd| prd.get("project_path")).or(top.get("project_path"));
    let mut plan = TaskPlan {
        slug: slug.unwrap_or_default(),
        project_path: text(project),
        ..TaskPlan::default()
    };
    let tasks = [top.get("tasks"), top.get("task_inventory")];
    for (id, entry) in tasks.into_iter().flatten().flat_map(entries) {
        plan.tasks.push(parse_task(id, entry)?);
    }
    let known_tasks = !plan.tasks.is_empty();
    let no_layers = Value::Null;
    let theirs = layer_plan.and_then(|plan| plan.get("layers")).unwrap_or(&no_layers);
    for layers in [top.get("layers").unwrap_or(&no_layers), theirs] {
        // Where a list has layers without a number, they have their place in it.
        let mut next = 0;
        for (key, layer) in entries(layers) {
            next = plan.add_layer(next, key, layer, known_tasks)?;
        }
    }
    let graphs = layer_plan.into_iter().chain([manifest]);
    for graph in graphs.flat_map(|file| [file.get("dependency_graph"), file.get("dependencies")]) {
        plan.add_needs(graph)?;
    }
    plan.name_layers();
    match plan.tasks.is_empty() {
        true => Err("manifest.json names no task".into()),
        false => Ok(plan),
    }
}

impl TaskPlan {
    /// What the task's own file says, where the manifest does not.
    pub fn add_task_file(&mut self, at: usize, file: &TaskFile) {
        let Some(task) = self.tasks.get_mut(at) else { return };
        task.name = task.name.take().or_else(|| file.name.clone());
        task.layer = task.layer.take().or_else(|| file.layer.clone());
        task.priority = file.priority.or(task.priority);
        task.needs.extend(file.needs.iter().cloned());
    }

    /// Settles names: every layer with its number, every dependency as the id of a task. To be
    /// called when everything was read.
    pub fn resolve_names(&mut self) {
        self.name_layers();
        let ids: std::collections::BTreeSet<String> =
            self.tasks.iter().map(|task| task.id.clone()).collect();
        for task in &mut self.tasks {
            for need in &mut task.needs {
                if !ids.contains(need.as_str()) {
                    // `L2-001-auth-api` is what the file of L2-001 is called.
                    let mut short = need.as_str();
                    while let Some((head, _)) = short.rsplit_once('-') {
                        short = head;
                        if ids.contains(short) {
                            *need = short.to_owned();
                            break;
                        }
                    }
                }
            }
            task.needs.sort();
            task.needs.dedup();
        }
    }

    fn add_layer(
        &mut self,
        next: u64,
        key: Option<&str>,
        layer: &Value,
        known_tasks: bool,
    ) -> Result<u64, String> {
        let own = text(layer.get("name")).or_else(|| text(Some(layer)));
        let name = match (key, own) {
            (Some(key), Some(name)) if is_number(key) => format!("{key}-{name}"),
            (Some(key), _) => key.to_owned(),
            (None, Some(name)) if layer_order(&name).0 == u64::MAX => format!("{next}-{name}"),
            (None, Some(name)) => name,
            (None, None) => return Err("a layer has no name".into()),
        };
        let members = layer.get("tasks").unwrap_or(layer);
        for (id, entry) in entries(members) {
            let mut task = parse_task(id, entry)?;
            task.layer = Some(name.clone());
            match self.find_task(&task.id) {
                Some(have) => {
                    have.layer = have.layer.take().or(task.layer);
                    have.name = have.name.take().or(task.name);
                    have.needs.extend(task.needs);
                }
                None if !known_tasks => self.tasks.push(task),
                // The manifest lists what there is; a plan may be older.
                None => {}
            }
        }
        self.add_needs(layer.get("dependencies"))?;
        let number = layer_order(&name).0;
        if !self.layers.contains(&name) {
            self.layers.push(name);
        }
        Ok(number.saturating_add(1))
    }

    fn add_needs(&mut self, graph: Option<&Value>) -> Result<(), String> {
        for (id, needs) in graph.and_then(Value::as_object).into_iter().flatten() {
            let needs = parse_ids(Some(needs));
            match self.find_task(id) {
                Some(task) => task.needs.extend(needs),
                None if needs.is_empty() => {}
                None => {
                    return Err(format!(
                        "layer_plan.json has dependencies of {id}, which is no task of manifest.json"
                    ));
                }
            }
        }
        Ok(())
    }

    fn find_task(&mut self, id: &str) -> Option<&mut PlannedTask> {
        // Files name tasks in the same order, so the next one is usually where the last one was.
        let here = self.tasks.get(self.last_found + 1).is_some_and(|task| task.id == id);
        self.last_found = match here {
            true => self.last_found + 1,
            false => self.tasks.iter().position(|task| task.id == id)?,
        };
        self.tasks.get_mut(self.last_found)
    }

    /// A layer that is only a number, or only a name, gets the whole that another place has for it.
    fn name_layers(&mut self) {
        let full: Vec<String> =
            self.layers.iter().filter(|name| !is_number(name)).cloned().collect();
        let named = |layer: &str| {
            let same = |name: &&String| match is_number(layer) {
                true => layer_order(name).0 == layer_order(layer).0,
                false => name
                    .strip_suffix(layer)
                    .is_some_and(|number| number.strip_suffix('-').is_some_and(is_number)),
            };
            full.iter().find(same).cloned()
        };
        for task in &mut self.tasks {
            let by_id = || {
                let digits = task.id.strip_prefix(['L', 'l'])?.split('-').next()?;
                is_number(digits).then(|| digits.trim_start_matches('0').to_owned())
            };
            let layer = task.layer.take().or_else(by_id);
            let layer = layer.map(|layer| if layer.is_empty() { "0".to_owned() } else { layer });
            task.layer = layer.map(|layer| named(&layer).unwrap_or(layer));
        }
        let known: Vec<String> =
            self.layers.iter().map(|layer| named(layer).unwrap_or(layer.clone())).collect();
        self.layers = known;
        self.layers.extend(self.tasks.iter().filter_map(|task| task.layer.clone()));
        self.layers.sort_by(|a, b| layer_order(a).cmp(&layer_order(b)));
        self.layers.dedup();
    }
}

/// A list of things, or an object of things by name.
fn entries(value: &Value) -> Vec<(Option<&str>, &Value)> {
    match value {
        Value::Array(list) => list.iter().map(|entry| (None, entry)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, entry)| (Some(key.as_str()), entry)).collect()
        }
        _ => Vec::new(),
    }
}

fn parse_task(key: Option<&str>, entry: &Value) -> Result<PlannedTask, String> {
    let nothing = Map::new();
    let fields = entry.as_object().unwrap_or(&nothing);
    let id =
        text(fields.get("id")).or_else(|| key.map(str::to_owned)).or_else(|| text(Some(entry)));
    let needs = ["dependencies", "depends_on", "needs"].map(|name| parse_ids(fields.get(name)));
    Ok(PlannedTask {
        id: id.ok_or_else(|| {
            format!("a task has no id: {}", crate::core::text::clip(&entry.to_string(), 80))
        })?,
        layer: text(fields.get("layer")),
        name: text(fields.get("name")),
        file: text(fields.get("file")),
        priority: fields.get("priority").and_then(Value::as_u64),
        needs: needs.concat(),
    })
}

fn parse_ids(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|id| text(Some(id)).or_else(|| text(id.get("id")))).collect()
}

/// A text that says something, or a number as a text.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(plan: &TaskPlan) -> Vec<String> {
        let line = |t: &PlannedTask| {
            format!("{} {} {}", t.id, t.layer.as_deref().unwrap_or("?"), t.needs.join("+"))
        };
        plan.tasks.iter().map(line).collect()
    }

    #[test]
    fn the_shapes_of_both_files() {
        let list = json!({"prd_slug": "shop", "tasks": [
            {"id": "L1-001", "layer": "1-foundation", "name": "Model", "file": "1-foundation/L1-001.xml"},
            {"id": "L2-001", "layer": 2, "file": "2-backend/L2-001.xml"}], "layers": ["1-foundation", "2-backend"]});
        let object = json!({"layers": {
            "1-foundation": {"tasks": [{"id": "L1-001", "name": "Model", "files": ["a"]}]},
            "2-backend": {"tasks": [{"id": "L2-001"}], "dependencies": {"L2-001": ["L1-001"]}}},
            "dependency_graph": {"L2-001": ["L1-001"]}});
        let wanted = ["L1-001 1-foundation ", "L2-001 2-backend L1-001"];
        let mut plan = parse_plan(&list, Some(&object)).unwrap();
        plan.resolve_names();
        assert_eq!(shown(&plan), wanted);
        assert_eq!((plan.slug.as_str(), plan.layers.len()), ("shop", 2));

        let by_id = json!({"prd": {"slug": "shop", "project_path": "/p"}, "layers": {"1": ["L1-001"], "2": ["L2-001"]},
            "tasks": {"L1-001": {"layer": 1, "priority": 1, "dependencies": []},
                      "L2-001": {"layer": 2, "priority": 2, "dependencies": ["L1-001-model"]}}});
        let numbered = json!({"layers": {"1": {"name": "foundation", "tasks": ["L1-001"]}, "2": {"name": "backend", "tasks": ["L2-001"]}}});
        let mut plan = parse_plan(&by_id, Some(&numbered)).unwrap();
        plan.resolve_names();
        assert_eq!(shown(&plan), wanted);
        assert_eq!(plan.project_path.as_deref(), Some("/p"));

        let inventory = json!({"prd_slug": "s", "task_inventory": [{"id": "L1-001", "layer": "1-foundation"}, {"id": "L2-001"}]});
        let listed = json!({"layers": [{"name": "1-foundation", "tasks": ["L1-001"]},
            {"name": "2-backend", "tasks": ["L2-001"], "dependencies": {"L2-001": ["L1-001"]}}]});
        let mut plan = parse_plan(&inventory, Some(&listed)).unwrap();
        plan.resolve_names();
        assert_eq!(shown(&plan), wanted);
    }

    #[test]
    fn without_a_layer_the_id_has_one() {
        let mut plan = parse_plan(
            &json!({"tasks": [{"id": "L0-001"}, {"id": "L10-1"}, {"id": "L2-1"}, {"id": "x"}]}),
            None,
        )
        .unwrap();
        plan.resolve_names();
        assert_eq!(shown(&plan), ["L0-001 0 ", "L10-1 10 ", "L2-1 2 ", "x ? "]);
        assert_eq!(plan.layers, ["0", "2", "10"]);
    }

    #[test]
    fn layers_without_a_number_run_as_they_are_listed() {
        let tasks = json!([{"id": "a", "layer": "models"}, {"id": "b", "layer": "api"}, {"id": "c", "layer": "9-end"}]);
        let mut plan =
            parse_plan(&json!({"tasks": tasks, "layers": ["models", "api", "9-end"]}), None)
                .unwrap();
        plan.resolve_names();
        assert_eq!(shown(&plan), ["a 0-models ", "b 1-api ", "c 9-end "]);
        let mut plan =
            parse_plan(&json!({"tasks": tasks, "layers": ["9-end", "api"]}), None).unwrap();
        plan.resolve_names();
        assert_eq!(plan.layers, ["9-end", "10-api", "models"]);
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(parse_plan(&json!([]), None).unwrap_err(), "manifest.json is no JSON object");
        assert_eq!(parse_plan(&json!({}), None).unwrap_err(), "manifest.json names no task");
        assert!(
            parse_plan(&json!({"tasks": [{"name": "x"}]}), None).unwrap_err().contains("has no id")
        );
        let graph = json!({"dependency_graph": {"L9-1": ["L1-1"]}});
        assert!(
            parse_plan(&json!({"tasks": ["L1-1"]}), Some(&graph)).unwrap_err().contains("L9-1")
        );
    }
}
