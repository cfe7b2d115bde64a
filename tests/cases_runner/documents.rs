//! The documents in a tree: what each is, how it is spelled, what a fresh one says.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use hookkeeper::inside::validate::place::{Place, place_of};
use hookkeeper::inside::validate::schema;
use hookkeeper::inside::validate::schema::checker::Checker;
use serde_json::{Map, Value};

use super::base;
use super::bundle::Before;
use super::case::WHOLE;

/// Files of a project by their paths; what is no UTF-8 is shown as it can be.
pub type Files = BTreeMap<String, String>;

#[derive(Clone, Copy)]
pub enum Kind {
    /// A JSON document with this schema.
    Document(&'static str),
    /// A journal: a JSON document on each line.
    Journal,
    /// Something else; a text.
    Other,
}

pub fn kind_of(path: &str) -> Kind {
    // It is asked for the same paths in every case.
    static KINDS: Mutex<BTreeMap<String, Kind>> = Mutex::new(BTreeMap::new());
    if let Some(kind) = KINDS.lock().unwrap().get(path) {
        return *kind;
    }
    let kind = find_kind(path);
    KINDS.lock().unwrap().insert(path.to_owned(), kind);
    kind
}

fn find_kind(path: &str) -> Kind {
    let Some(below) = path.strip_prefix(".claude/") else { return Kind::Other };
    match place_of(below) {
        // Settings are their user's text.
        Place::Document(declared, _) if declared.row.schema != "settings" => {
            Kind::Document(declared.row.schema)
        }
        Place::Lines(declared, _) if declared.row.schema == "journal" => Kind::Journal,
        _ => Kind::Other,
    }
}

/// A schema, and a checker for it.
pub struct Schema {
    text: Value,
    pub checker: Checker,
}

impl Schema {
    /// Whether a part of it has such a field.
    pub fn knows(&self, part: &str, field: &str) -> bool {
        self.text["$defs"][part]["properties"].get(field).is_some()
    }
}

pub fn schema(name: &str) -> &'static Schema {
    static SCHEMAS: OnceLock<BTreeMap<&'static str, Schema>> = OnceLock::new();
    let schemas = SCHEMAS.get_or_init(|| {
        let mut schemas = BTreeMap::new();
        for row in schema::all() {
            let text = schema::text(row.schema);
            let checker = Checker::load(&text).unwrap();
            let text = serde_json::from_str(&text).unwrap();
            schemas.insert(row.schema, Schema { text, checker });
        }
        schemas
    });
    &schemas[name]
}

/// A document of the program, with the fields in the order of its schema; those that the schema
/// does not know stand behind them.
pub fn ordered(name: &str, value: Value) -> Value {
    let root = &schema(name).text;
    in_order(value, &[root], root)
}

/// `nodes`: the parts of the schema that say something about the value.
fn in_order(value: Value, nodes: &[&Value], root: &Value) -> Value {
    let mut all: Vec<&Value> = Vec::new();
    for node in nodes {
        resolve(node, root, &mut all);
    }
    match value {
        Value::Object(mut fields) => {
            let mut ordered = Map::new();
            for properties in all.iter().filter_map(|node| node["properties"].as_object()) {
                for (name, node) in properties {
                    if let Some(value) = fields.shift_remove(name) {
                        ordered.insert(name.clone(), in_order(value, &[node], root));
                    }
                }
            }
            let mut others: Vec<&Value> = Vec::new();
            for node in &all {
                others.extend(node.get("additionalProperties"));
            }
            // A map from names to values, which is kept in order.
            if ordered.is_empty() && others.iter().any(|node| node.is_object()) {
                fields.sort_keys();
            }
            for (name, value) in fields {
                ordered.insert(name, in_order(value, &others, root));
            }
            Value::Object(ordered)
        }
        Value::Array(list) => {
            let mut items: Vec<&Value> = Vec::new();
            for node in &all {
                items.extend(node.get("items"));
            }
            let list = list.into_iter().map(|entry| in_order(entry, &items, root));
            Value::Array(list.collect())
        }
        other => other,
    }
}

/// The node, what it refers to, its alternatives.
fn resolve<'a>(node: &'a Value, root: &'a Value, all: &mut Vec<&'a Value>) {
    all.push(node);
    if let Some(name) = node["$ref"].as_str() {
        resolve(&root["$defs"][name.trim_start_matches("#/$defs/")], root, all);
    }
    for node in node["anyOf"].as_array().into_iter().flatten() {
        resolve(node, root, all);
    }
}

/// How the program writes a document.
pub fn spelled(schema: &str, value: &Value) -> String {
    match schema {
        "branch-agents" | "metrics" => one_line_each(value),
        _ => pretty(value),
    }
}

pub fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// What has many entries: each is on a line of its own.
fn one_line_each(value: &Value) -> String {
    let mut text = String::from("{\n");
    let fields = value.as_object().unwrap();
    for (n, (name, value)) in fields.iter().enumerate() {
        let comma = if n + 1 < fields.len() { "," } else { "" };
        match value {
            Value::Array(list) if !list.is_empty() => {
                let entries: Vec<String> =
                    list.iter().map(|entry| format!("    {entry}")).collect();
                text += &format!("  \"{name}\": [\n{}\n  ]{comma}\n", entries.join(",\n"));
            }
            value => text += &format!("  \"{name}\": {value}{comma}\n"),
        }
    }
    text + "}\n"
}

/// Documents of which a case says only in what they differ from a fresh one, and the case whose
/// `whole.txt` has that.
pub const FRESH: [(&str, &str); 3] = [
    ("live", "session_start/without_git"),
    ("result", "subagent_stop/no_last_message_is_interrupted"),
    ("autonomous-watch", "stop/autonomous_loop_goes_on"),
];

/// The same for entries of lists: the first one in the list of that document.
const FRESH_ENTRIES: [(&str, &str, &str); 5] = [
    ("live", "agents", "subagent_start/an_agent_runs"),
    ("branch-agents", "agents", "subagent_start/an_agent_runs"),
    ("errors", "errors", "post_tool_use_failure/network"),
    ("metrics", "sessions", "session_end/clear_is_remembered"),
    ("work-queue", "items", "post_tool_use_failure/syntax_becomes_work"),
];

/// The cases whose `whole.txt` has something that is fresh.
pub fn fresh_cases() -> Vec<&'static str> {
    let mut cases: Vec<&str> = FRESH.iter().map(|(_, case)| *case).collect();
    for (_, _, case) in FRESH_ENTRIES {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// A fresh document, of this session.
pub fn fresh(schema: &str, session: &str) -> Option<Value> {
    for (of, case) in FRESH {
        if of == schema {
            return Some(kept(schema, case, session));
        }
    }
    None
}

/// A fresh entry of a list, of this session.
pub fn fresh_entry(schema: &str, list: &str, session: &str) -> Option<Value> {
    for (of, name, case) in FRESH_ENTRIES {
        if (of, name) == (schema, list) {
            return Some(kept(schema, case, session)[list][0].take());
        }
    }
    None
}

/// The document of this kind that a case keeps whole.
fn kept(schema: &str, case: &str, session: &str) -> Value {
    static TEXTS: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut texts = TEXTS.lock().unwrap();
    let text = texts.entry(format!("{schema} {case}")).or_insert_with(|| {
        for (path, file) in Before::read(&base().join(case).join(WHOLE), "SESSION").files {
            if matches!(kind_of(&path), Kind::Document(found) if found == schema) {
                return file.text;
            }
        }
        panic!("{case}/{WHOLE} has no {schema}");
    });
    serde_json::from_str(&text.replace("SESSION", session)).unwrap()
}

/// What a new document is compared with if there is no fresh one.
pub fn empty(schema: &str) -> Value {
    let mut empty = Map::new();
    for (of, list, _) in FRESH_ENTRIES {
        if of == schema {
            empty.insert(list.into(), Value::Array(Vec::new()));
        }
    }
    Value::Object(empty)
}

/// A document with the fields that it does not have as a fresh one has them.
pub fn completed(value: &Value, fresh: &Value) -> Value {
    let (Value::Object(fields), Value::Object(all)) = (value, fresh) else { return value.clone() };
    let mut fields = fields.clone();
    for (name, fresh) in all {
        match fields.get_mut(name) {
            Some(value) => *value = completed(value, fresh),
            None => {
                fields.insert(name.clone(), fresh.clone());
            }
        }
    }
    Value::Object(fields)
}
