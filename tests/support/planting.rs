//! Documents and payloads full of what must not come out again.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Colours, a window title, a clear, turned and hidden text, separators, a line that looks like
/// ours, and everything that a shell would run.
pub const POISON: &str = "\u{1b}[31m\u{1b}]0;x\u{7}\u{9b}2J\u{202e}rlo\u{2066}\u{200f}\u{61c}\u{200b}\u{feff}\u{2028}\r\nHookKeeper: planted\n$(touch pwned)`touch pwned`'\"; touch pwned; '";

/// Fields that say which thing is meant: with another value the rest may not be looked at.
const NAMES: [&str; 24] = [
    "session_id",
    "session",
    "id",
    "agent_id",
    "slug",
    "kind",
    "type",
    "branch",
    "tasks_path",
    "project_path",
    "file",
    "tool_use_id",
    "status",
    "phase",
    "hook_event_name",
    "cwd",
    "transcript_path",
    "tool_name",
    "agent_transcript_path",
    "source",
    "current_task",
    "current_unit",
    "checksum",
    "host",
];

/// Which strings are planted in.
pub enum Reach<'a> {
    /// All but those that say which thing is meant.
    Free(&'a BTreeSet<String>),
    All,
    /// This field alone, wherever it is.
    Only(&'a str),
}

impl Reach<'_> {
    fn has(&self, key: &str) -> bool {
        match self {
            Self::Free(fixed) => !fixed.contains(key),
            Self::All => key != "hook_event_name",
            Self::Only(only) => key == *only,
        }
    }
}

/// Plants in the strings of a value, and in the keys of its maps.
pub fn plant(value: &mut Value, key: &str, fields: &BTreeSet<String>, reach: &Reach) {
    match value {
        Value::String(text) if reach.has(key) => text.push_str(POISON),
        Value::Array(items) => items.iter_mut().for_each(|item| plant(item, key, fields, reach)),
        Value::Object(object) => {
            for (name, mut inner) in std::mem::take(object) {
                let is_field = fields.contains(&name);
                plant(&mut inner, if is_field { &name } else { key }, fields, reach);
                let data = !is_field && matches!(reach, Reach::All);
                object.insert(if data { format!("{name}{POISON}") } else { name }, inner);
            }
        }
        _ => {}
    }
}

/// The names of all fields in a schema; and those that are fixed: of a few values or of a pattern.
pub fn fields(schema: &Value, all: &mut BTreeSet<String>, fixed: &mut BTreeSet<String>) {
    fixed.extend(NAMES.map(str::to_owned));
    if let Some(properties) = schema["properties"].as_object() {
        for (name, inner) in properties {
            all.insert(name.clone());
            if ["enum", "pattern", "format", "const"].iter().any(|word| has(inner, word)) {
                fixed.insert(name.clone());
            }
        }
    }
    match schema {
        Value::Object(object) => object.values().for_each(|inner| fields(inner, all, fixed)),
        Value::Array(items) => items.iter().for_each(|inner| fields(inner, all, fixed)),
        _ => {}
    }
}

fn has(schema: &Value, word: &str) -> bool {
    let options = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
    schema.get(word).is_some() || options.is_some_and(|all| all.iter().any(|one| has(one, word)))
}

/// A value with every field that its schema knows: what is there stays.
pub fn complete(
    value: &mut Value,
    schema: &Value,
    whole: &Value,
    free: bool,
    fixed: &BTreeSet<String>,
) {
    let schema = resolved(schema, whole);
    match value {
        Value::Object(object) => {
            for (name, inner) in schema["properties"].as_object().unwrap_or(&Map::new()) {
                let missing = object.get(name).is_none_or(|value| {
                    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
                });
                if missing && !(free && (fixed.contains(name) || name == "verdict")) {
                    object.insert(name.clone(), instance(inner, whole, 0));
                }
                if let Some(there) = object.get_mut(name).filter(|_| !missing) {
                    complete(there, inner, whole, free, fixed);
                }
            }
            let known = schema["properties"].as_object();
            for (name, inner) in object.iter_mut() {
                if !known.is_some_and(|known| known.contains_key(name)) {
                    complete(inner, &schema["additionalProperties"], whole, free, fixed);
                }
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|i| complete(i, &schema["items"], whole, free, fixed));
        }
        _ => {}
    }
}

/// A value that a schema describes, with everything in it once.
pub fn instance(schema: &Value, whole: &Value, depth: usize) -> Value {
    let schema = resolved(schema, whole);
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(example) = schema["examples"].as_array().and_then(|values| values.first()) {
        return example.clone();
    }
    let kind = match &schema["type"] {
        Value::String(kind) => kind.as_str(),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|k| *k != "null").unwrap_or("null")
        }
        _ if schema["properties"].is_object() => "object",
        _ => "string",
    };
    match kind {
        "object" if depth < 8 => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            let inner = |(name, inner): (String, Value)| (name, instance(&inner, whole, depth + 1));
            let mut object: Map<String, Value> = properties.into_iter().map(inner).collect();
            if schema["additionalProperties"].is_object() {
                let one = instance(&schema["additionalProperties"], whole, depth + 1);
                object.insert("one".into(), one);
            }
            object.into()
        }
        "object" => json!({}),
        "array" if depth < 8 => json!([instance(&schema["items"], whole, depth + 1)]),
        "array" => json!([]),
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "null" => Value::Null,
        _ => "x".into(),
    }
}

fn resolved<'a>(schema: &'a Value, whole: &'a Value) -> &'a Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let found = whole.pointer(reference.trim_start_matches('#')).unwrap();
        return resolved(found, whole);
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        if let Some(options) = schema[word].as_array() {
            let one = options.iter().find(|one| one["type"] != "null").unwrap();
            return resolved(one, whole);
        }
    }
    schema
}
