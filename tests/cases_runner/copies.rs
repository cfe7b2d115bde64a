//! Copies: documents that follow from others. They are not told case by case; what they have to be is
//! worked out here.

use serde_json::{Map, Value, json};

use super::documents::{Files, ordered, spelled};
use super::step::Step;

pub const CURRENT: &str = ".claude/state/session/current.json";
pub const ACTIVE: &str = ".claude/state/agents/active.json";
const RECORDS: &str = ".claude/state/session/live/";
/// Folders of ours; each says to git that it is nobody's business.
const FOLDERS: [&str; 3] = [".claude/state/", ".claude/branches/", ".claude/iterative/"];
pub const IGNORES_ALL: &str = "*\n";
pub const LOCK: &str = ".claude/state/.lock";

/// What `current.json` has of a record, in this order.
const CURRENT_FIELDS: [&str; 18] = [
    "session_id",
    "started",
    "git_branch",
    "git_commit_start",
    "working_directory",
    "hooks_version",
    "commands_executed",
    "agents_spawned",
    "files_modified",
    "errors_encountered",
    "errors_recovered",
    "source",
    "client",
    "transcript_path",
    "task",
    "last_prompt",
    "lineage",
    "last_seen",
];

/// What a copy has to be. `None`: it must not be there.
pub fn copy(path: &str, before: &Files, after: &Files) -> Option<Value> {
    let records = records(after);
    let was = before.get(path).and_then(|text| serde_json::from_str(text).ok());
    let was = was.unwrap_or(Value::Null);
    match path {
        CURRENT => latest(&records).map(|record| current(record, &was)),
        ACTIVE => Some(active(&records, &was)),
        _ => None,
    }
}

/// The records of live sessions, in the order of their names.
fn records(files: &Files) -> Vec<Value> {
    let mut records = Vec::new();
    for (path, text) in files.range(RECORDS.to_owned()..) {
        if !path.starts_with(RECORDS) {
            break;
        }
        if let (true, Ok(record)) = (path.ends_with(".json"), serde_json::from_str(text)) {
            records.push(record);
        }
    }
    records
}

/// The one that started last.
fn latest(records: &[Value]) -> Option<&Value> {
    let when = |record: &Value| (text(record, "started"), text(record, "session_id"));
    records.iter().max_by_key(|record| when(record))
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

/// The fields of a record that everybody may know, and what others wrote into the copy.
fn current(record: &Value, was: &Value) -> Value {
    let mut current = Map::new();
    for field in CURRENT_FIELDS {
        if let Some(value) = record.get(field) {
            current.insert(field.into(), value.clone());
        }
    }
    for (field, value) in was.as_object().into_iter().flatten() {
        if !CURRENT_FIELDS.contains(&field.as_str()) {
            current.insert(field.clone(), value.clone());
        }
    }
    Value::Object(current)
}

/// The running agents of all sessions, the one that started first first, and the sums of their
/// counts; and what others wrote into the copy.
fn active(records: &[Value], was: &Value) -> Value {
    let mut agents: Vec<Value> = Vec::new();
    for record in records {
        agents.extend(record["agents"].as_array().into_iter().flatten().cloned());
    }
    agents.sort_by_key(|agent| text(agent, "started"));
    for agent in &mut agents {
        let old = was["agents"].as_array().into_iter().flatten();
        let old = old.into_iter().find(|old| old["id"] == agent["id"]);
        for (field, value) in old.and_then(Value::as_object).into_iter().flatten() {
            if !is_agents_field(field) {
                agent.as_object_mut().unwrap().insert(field.clone(), value.clone());
            }
        }
    }
    let mut spawned = 0;
    let mut completed = 0;
    for record in records {
        spawned += record["agents_spawned"].as_u64().unwrap_or_default();
        completed += record["agents_completed"].as_u64().unwrap_or_default();
    }
    let session = latest(records).map_or(Value::Null, |record| record["session_id"].clone());
    let mut active = json!({
        "agents": agents,
        "total_spawned": spawned,
        "total_completed": completed,
        "session_id": session,
    });
    for (field, value) in was.as_object().into_iter().flatten() {
        if active.get(field).is_none() {
            active[field] = value.clone();
        }
    }
    active
}

fn is_agents_field(field: &str) -> bool {
    super::documents::schema("active").knows("Agent", field)
}

/// The folder of ours that a file lies in.
pub fn folder_of(path: &str) -> Option<&'static str> {
    FOLDERS.into_iter().find(|folder| path.starts_with(folder))
}

/// Whether a document is the copy that it has to be.
pub fn is_copy(path: &str, step: &Step) -> bool {
    if ![CURRENT, ACTIVE].contains(&path) {
        return false;
    }
    match copy(path, &step.before, &step.after) {
        Some(copy) => step.after.get(path) == Some(&spell(path, &copy)),
        None => false,
    }
}

pub fn spell(path: &str, copy: &Value) -> String {
    let schema = if path == CURRENT { "current" } else { "active" };
    spelled(schema, &ordered(schema, copy.clone()))
}

/// The lock, and what keeps git out of a folder of ours: they come with the first file there.
pub fn goes_without_saying(path: &str, step: &Step) -> bool {
    if step.before.contains_key(path) {
        return false;
    }
    let text = step.after.get(path).map(String::as_str);
    match path {
        LOCK => text == Some(""),
        _ => {
            let folder = folder_of(path);
            let is_ignore = folder.is_some_and(|folder| path == format!("{folder}.gitignore"));
            is_ignore && text == Some(IGNORES_ALL)
        }
    }
}
