//! How values and changes of documents are spelled for a person: `phase: "plan" -> "work"`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::changes::{self, Change, Path, Step};
use super::documents;
use super::lines::{self, marked};

/// What is longer does not stand on one line, if it can be taken apart.
const LONGEST: usize = 140;
/// What is shorter is said again rather than pointed to.
const SHORTEST_REFERENCE: usize = 120;

/// Values that stand elsewhere already: what a document, or an entry of one, is called, by its
/// compact spelling.
#[derive(Default)]
pub struct Known(BTreeMap<String, String>);

impl Known {
    pub fn add_document(&mut self, path: &str, document: &Value) {
        self.add(path.to_owned(), document);
    }

    /// The entries of its lists: of a document that was shown.
    pub fn add_entries(&mut self, path: &str, document: &Value) {
        let Value::Object(fields) = document else { return };
        for (name, list) in fields {
            for (n, entry) in list.as_array().into_iter().flatten().enumerate() {
                self.add(format!("{path} {name}[{n}]"), entry);
            }
        }
    }

    fn add(&mut self, name: String, value: &Value) {
        let text = value.to_string();
        if value.is_object() && text.len() >= SHORTEST_REFERENCE {
            self.0.entry(text).or_insert(name);
        }
    }

    pub fn find(&self, value: &Value) -> Option<&str> {
        if !value.is_object() {
            return None;
        }
        self.0.get(&value.to_string()).map(String::as_str)
    }
}

/// Spells the fields of one document.
pub struct Speller<'a> {
    pub known: &'a Known,
    /// The document's schema: some of its entries are told by what differs from a fresh one.
    pub schema: &'a str,
    /// The session that the case is about.
    pub session: &'a str,
}

impl Speller<'_> {
    /// The fields of a document, or of what was printed.
    pub fn fields(&self, document: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        match document {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, value) in fields {
                    lines.extend(self.labelled(&quoted(name), value));
                }
            }
            other => lines.push(other.to_string()),
        }
        lines
    }

    pub fn changes(&self, changes: &[Change]) -> Vec<String> {
        let mut lines = Vec::new();
        for change in changes {
            lines.extend(self.change(change));
        }
        lines
    }

    /// What makes a new document, or a new entry, of a fresh one: maps and lists of words as a whole.
    pub fn beside(&self, fresh: &Value, new: &Value) -> Vec<Change> {
        changes::between(fresh, new, &|fresh, new| {
            let is_map = match (fresh, new) {
                (Value::Object(old), Value::Object(new)) => {
                    old.keys().any(|key| !new.contains_key(key))
                }
                (Value::Array(_), Value::Array(new)) => !new.iter().any(Value::is_object),
                _ => false,
            };
            is_map || self.known.find(new).is_some()
        })
    }

    /// What a new document has that a fresh one has not.
    pub fn beside_fresh(&self, changes: &[Change]) -> Vec<String> {
        let mut lines = Vec::new();
        for change in changes {
            match change {
                Change::Set { path, new, .. } => lines.extend(self.labelled(&spelled(path), new)),
                other => lines.extend(self.change(other)),
            }
        }
        lines
    }

    fn change(&self, change: &Change) -> Vec<String> {
        match change {
            Change::Set { path, old: None, new } => {
                self.labelled(&format!("+ {}", spelled(path)), new)
            }
            Change::Set { path, old: Some(old), new } => self.set(&spelled(path), old, new),
            Change::Remove { path, old } => vec![removed(&spelled(path), old)],
            Change::Add { path, new } => {
                let (last, list) = path.split_last().unwrap();
                self.entry(list, last, new)
            }
            Change::Splice { path, at, old, new } => {
                let mut lines = Vec::new();
                for (n, value) in old.iter().enumerate() {
                    lines.push(removed(&format!("{}[{}]", spelled(path), at + n), value));
                }
                for (n, value) in new.iter().enumerate() {
                    lines.extend(self.entry(path, &Step::At(at + n), value));
                }
                lines
            }
            Change::Order { path, ids } => {
                vec![format!("order of {}: {}", spelled(path), Value::from(ids.clone()))]
            }
        }
    }

    fn set(&self, path: &str, old: &Value, new: &Value) -> Vec<String> {
        if let Some(name) = self.known.find(new) {
            return vec![format!("{path}: = {name}")];
        }
        if let (Value::String(old), Value::String(new)) = (old, new)
            && (old.contains('\n') || new.contains('\n'))
        {
            let mut all = vec![format!("{path}:")];
            all.extend(indented(lines::changes(old, new)));
            return all;
        }
        let (old, new) = (old.to_string(), new.to_string());
        if path.len() + old.len() + new.len() <= LONGEST {
            vec![format!("{path}: {old} -> {new}")]
        } else {
            vec![format!("{path}: {old}"), format!("  -> {new}")]
        }
    }

    /// A new entry of a list.
    fn entry(&self, list: &[Step], place: &Step, new: &Value) -> Vec<String> {
        let mut path = list.to_vec();
        path.push(place.clone());
        let label = format!("+ {}", spelled(&path));
        let fresh = match list {
            [Step::Field(list)] => documents::fresh_entry(self.schema, list, self.session),
            _ => None,
        };
        let (Some(fresh), true) = (fresh, new.is_object()) else {
            return self.labelled(&label, new);
        };
        let mut changes = self.beside(&fresh, new);
        // What names the entry is said.
        if let Step::Entry(key, _) = place {
            let is_key = |step: &Step| matches!(step, Step::Field(name) if name == key);
            changes.retain(|change| !matches!(change, Change::Set { path, .. } if path.len() == 1 && is_key(&path[0])));
        }
        if changes.is_empty() {
            return vec![format!("{label}: a fresh one")];
        }
        let mut lines = vec![format!("{label}: a fresh one, but for")];
        lines.extend(indented(self.beside_fresh(&changes)));
        lines
    }

    /// A value with its name: on one line if it is short, else taken apart.
    pub fn labelled(&self, label: &str, value: &Value) -> Vec<String> {
        if let Some(name) = self.known.find(value) {
            return vec![format!("{label}: = {name}")];
        }
        let text = value.to_string();
        let is_long = label.len() + text.len() > LONGEST || has_breaks(value);
        match value {
            Value::String(words) if words.contains('\n') => {
                let mut lines = vec![format!("{label}:")];
                lines.extend(words.split('\n').map(|line| format!("  {}", marked("|", line))));
                lines
            }
            Value::Object(_) if is_long => {
                let mut lines = vec![format!("{label}:")];
                lines.extend(indented(self.fields(value)));
                lines
            }
            Value::Array(list) if is_long => {
                let mut lines = Vec::new();
                for (n, value) in list.iter().enumerate() {
                    lines.extend(self.labelled(&format!("{label}[{n}]"), value));
                }
                lines
            }
            _ => vec![format!("{label}: {text}")],
        }
    }
}

fn indented(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|line| format!("  {line}"))
}

/// What was short is said again.
fn removed(path: &str, old: &Value) -> String {
    let text = old.to_string();
    if path.len() + text.len() <= LONGEST {
        format!("- {path}: {text}")
    } else {
        format!("- {path}")
    }
}

fn has_breaks(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\n'),
        Value::Array(list) => list.iter().any(has_breaks),
        Value::Object(fields) => fields.values().any(has_breaks),
        _ => false,
    }
}

/// `artifacts.branch`, `agents[a1].task`, `rows[0]`; what could be misread is quoted.
pub fn spelled(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(name) if text.is_empty() => text += &quoted(name),
            Step::Field(name) => text += &format!(".{}", quoted(name)),
            Step::At(n) => text += &format!("[{n}]"),
            Step::Entry(_, id) if id.bytes().all(|byte| byte.is_ascii_digit()) => {
                text += &format!("[{}]", Value::from(id.as_str()));
            }
            Step::Entry(_, id) => text += &format!("[{}]", quoted(id)),
        }
    }
    text
}

fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

/// A path of fields that somebody wrote: `artifacts.branch`, `receipts[2]`. The other way round than
/// [`spelled`], for names that need no quotes.
pub fn parsed(text: &str) -> Path {
    let mut path = Path::new();
    for part in text.split('.') {
        let (name, places) = part.split_once('[').unwrap_or((part, ""));
        path.push(Step::Field(name.to_owned()));
        for place in places.split('[').filter(|place| !place.is_empty()) {
            path.push(Step::At(place.trim_end_matches(']').parse().unwrap()));
        }
    }
    path
}
