//! What differs between two JSON values, as a list of changes that makes one of the other.

use serde_json::Value;

/// Fields that name an entry of a list, if every entry has one and no two have the same.
const KEYS: [&str; 5] = ["id", "agent_id", "session_id", "tool_use_id", "phase"];

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Field(String),
    /// The entry of a list by what names it: which field, and its value.
    Entry(&'static str, String),
    /// An entry of a list by its place, from 0.
    At(usize),
}

pub type Path = Vec<Step>;
pub type IsWhole<'a> = &'a dyn Fn(&Value, &Value) -> bool;

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A value is another one; what was not there has no old one.
    Set { path: Path, old: Option<Value>, new: Value },
    /// A field, or the entry of a list, is gone.
    Remove { path: Path, old: Value },
    /// An entry that is new, behind all others.
    Add { path: Path, new: Value },
    /// Entries of a list in the place of others: from `at`, in the list as it was.
    Splice { path: Path, at: usize, old: Vec<Value>, new: Vec<Value> },
    /// The entries of a list are in this order.
    Order { path: Path, ids: Vec<String> },
}

/// Changes that make `after` of `before`; the order of fields apart. What `is_whole` says of a value
/// before and after is that it is not looked into.
pub fn between(before: &Value, after: &Value, is_whole: IsWhole) -> Vec<Change> {
    let mut found = Found { changes: Vec::new(), is_whole };
    found.value(&Vec::new(), before, after);
    found.changes
}

struct Found<'a> {
    changes: Vec<Change>,
    is_whole: IsWhole<'a>,
}

impl Found<'_> {
    fn value(&mut self, path: &Path, before: &Value, after: &Value) {
        if before == after {
            return;
        }
        match (before, after) {
            _ if !path.is_empty() && (self.is_whole)(before, after) => {
                self.set(path, before, after)
            }
            (Value::Object(old), Value::Object(new)) => {
                for (key, value) in new {
                    let path = longer(path, Step::Field(key.clone()));
                    match old.get(key) {
                        Some(was) => self.value(&path, was, value),
                        None => {
                            self.changes.push(Change::Set { path, old: None, new: value.clone() });
                        }
                    }
                }
                for (key, value) in old {
                    if !new.contains_key(key) {
                        let path = longer(path, Step::Field(key.clone()));
                        self.changes.push(Change::Remove { path, old: value.clone() });
                    }
                }
            }
            (Value::Array(old), Value::Array(new)) => match key_of(old, new) {
                Some(key) => self.keyed(path, key, old, new),
                None => self.list(path, old, new),
            },
            _ => self.set(path, before, after),
        }
    }

    fn set(&mut self, path: &Path, before: &Value, after: &Value) {
        let (old, new) = (Some(before.clone()), after.clone());
        self.changes.push(Change::Set { path: path.clone(), old, new });
    }

    /// Entries that have names.
    fn keyed(&mut self, path: &Path, key: &'static str, old: &[Value], new: &[Value]) {
        let ids: Vec<&str> = new.iter().map(|entry| entry[key].as_str().unwrap()).collect();
        let mut stays = Vec::new();
        for was in old {
            let id = was[key].as_str().unwrap();
            let path = longer(path, Step::Entry(key, id.to_owned()));
            match new.iter().find(|entry| entry[key] == was[key]) {
                Some(entry) => {
                    self.value(&path, was, entry);
                    stays.push(id);
                }
                None => self.changes.push(Change::Remove { path, old: was.clone() }),
            }
        }
        for (id, entry) in ids.iter().zip(new) {
            if !stays.contains(id) {
                let path = longer(path, Step::Entry(key, (*id).to_owned()));
                self.changes.push(Change::Add { path, new: entry.clone() });
                stays.push(id);
            }
        }
        if stays != ids {
            let ids = ids.into_iter().map(str::to_owned).collect();
            self.changes.push(Change::Order { path: path.clone(), ids });
        }
    }

    /// Entries that have none: what is the same at the beginning and at the end stays.
    fn list(&mut self, path: &Path, old: &[Value], new: &[Value]) {
        let shorter = old.len().min(new.len());
        let mut head = 0;
        while head < shorter && old[head] == new[head] {
            head += 1;
        }
        let mut tail = 0;
        while tail < shorter - head && old[old.len() - 1 - tail] == new[new.len() - 1 - tail] {
            tail += 1;
        }
        let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
        if old.len() == new.len() {
            for (n, (was, is)) in old.iter().zip(new).enumerate() {
                self.value(&longer(path, Step::At(head + n)), was, is);
            }
            return;
        }
        let (path, old, new) = (path.clone(), old.to_vec(), new.to_vec());
        self.changes.push(Change::Splice { path, at: head, old, new });
    }
}

fn longer(path: &Path, step: Step) -> Path {
    let mut path = path.clone();
    path.push(step);
    path
}

/// The field that names the entries of both lists.
fn key_of(old: &[Value], new: &[Value]) -> Option<&'static str> {
    KEYS.into_iter().find(|key| is_key(key, old) && is_key(key, new))
}

fn is_key(key: &str, list: &[Value]) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    for entry in list {
        match entry.get(key).and_then(Value::as_str) {
            Some(id) if !seen.contains(&id) => seen.push(id),
            _ => return false,
        }
    }
    true
}

/// Does what the changes say. A change that does not fit is a fault of who made it.
pub fn apply(document: &mut Value, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Set { path, new, .. } => set(document, path, new),
            Change::Remove { path, .. } => remove(document, path),
            Change::Add { path, new } => {
                let (_, list) = path.split_last().unwrap();
                at(document, list).as_array_mut().unwrap().push(new.clone());
            }
            Change::Splice { path, at: from, old, new } => {
                let list = at(document, path).as_array_mut().unwrap();
                list.splice(*from..from + old.len(), new.iter().cloned());
            }
            Change::Order { path, ids } => {
                let list = at(document, path).as_array_mut().unwrap();
                let key = key_of(list, list).unwrap();
                list.sort_by_key(|entry| ids.iter().position(|id| entry[key] == *id));
            }
        }
    }
}

fn at<'a>(value: &'a mut Value, path: &[Step]) -> &'a mut Value {
    let mut value = value;
    for step in path {
        value = match step {
            Step::Field(name) => value.get_mut(name).unwrap(),
            Step::At(n) => value.get_mut(*n).unwrap(),
            Step::Entry(key, id) => {
                let list = value.as_array_mut().unwrap();
                list.iter_mut().find(|entry| entry[*key] == *id).unwrap()
            }
        };
    }
    value
}

/// Sets a field, or replaces a value that is there.
pub fn set(document: &mut Value, path: &[Step], new: &Value) {
    let Some((last, parents)) = path.split_last() else {
        *document = new.clone();
        return;
    };
    match (at(document, parents), last) {
        (Value::Object(fields), Step::Field(name)) => {
            fields.insert(name.clone(), new.clone());
        }
        (Value::Array(list), Step::At(n)) if *n == list.len() => list.push(new.clone()),
        (parent, last) => *at(parent, std::slice::from_ref(last)) = new.clone(),
    }
}

/// Removes a field or an entry.
pub fn remove(document: &mut Value, path: &[Step]) {
    let (last, parents) = path.split_last().unwrap();
    match (at(document, parents), last) {
        (Value::Object(fields), Step::Field(name)) => {
            fields.shift_remove(name).unwrap();
        }
        (Value::Array(list), Step::At(n)) => {
            list.remove(*n);
        }
        (Value::Array(list), Step::Entry(key, id)) => list.retain(|entry| entry[*key] != *id),
        (parent, step) => panic!("{step:?} cannot be removed from {parent}"),
    }
}
