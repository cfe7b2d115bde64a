//! One value of a settings file by its path, put in and taken out. Every other byte stays.

use serde_json::{Value, json};

use crate::client::settings::edit::{Removable, is_blank};
use crate::client::settings::layout::Layout;
use crate::core::json::tree::{self, Malformed, Node, line_and_column};

/// The text with a value at a path of keys. Objects on the way are made.
pub fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Malformed> {
    let text = if is_blank(text) { format!("{text}{{}}\n") } else { text.to_owned() };
    let root = parse_object(&text)?;
    let layout = Layout::detect(&text, &root);
    let mut holder = &root;
    let mut rest = path;
    while let Some((name, below)) = rest.split_first() {
        match holder.get(name) {
            None => {
                let value = nested(below, value);
                return Ok(layout.insert(&text, holder, Some(name), &value));
            }
            Some(node) if below.is_empty() || node.is_null() => {
                return Ok(layout.replace(&text, node, &nested(below, value).to_string()));
            }
            Some(node) => {
                ensure_object(&text, node, &format!("`{name}` must be an object"))?;
                (holder, rest) = (node, below);
            }
        }
    }
    Ok(text)
}

/// The text without what is at a path of keys, and without objects that become empty by that.
pub fn remove(text: &str, path: &[&str]) -> Result<String, Malformed> {
    if is_blank(text) {
        return Ok(text.to_owned());
    }
    let mut text = text.to_owned();
    // A key may stand there twice: then the other one would count.
    loop {
        let root = parse_object(&text)?;
        let Some(found) = find(&root, path) else { return Ok(text) };
        text = found.remove_from(&text);
    }
}

fn find<'a>(holder: &'a Node, path: &[&str]) -> Option<Removable<'a>> {
    let (name, below) = path.split_first()?;
    let at = holder.members().iter().rposition(|member| member.key == *name)?;
    let own = Removable { holder, at };
    if below.is_empty() {
        return Some(own);
    }
    let node = &holder.members().get(at)?.value;
    let found = find(node, below)?;
    let is_emptied = std::ptr::eq(found.holder, node) && node.members().len() == 1;
    Some(if is_emptied { own } else { found })
}

fn parse_object(text: &str) -> Result<Node, Malformed> {
    let root = tree::parse(text)?;
    ensure_object(text, &root, "the settings must be a JSON object")?;
    Ok(root)
}

fn ensure_object(text: &str, node: &Node, what: &str) -> Result<(), Malformed> {
    if node.is_object() {
        return Ok(());
    }
    let (line, column) = line_and_column(text, node.span.start);
    Err(Malformed { line, column, what: what.to_owned() })
}

fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, name| json!({*name: value}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_changes_and_the_rest_stays() {
        let off = &Value::Bool(false);
        for (before, path, after) in [
            ("", &["a"][..], "{\n  \"a\": false\n}\n"),
            ("{\"b\":1}", &["a"], "{\"b\":1,\"a\":false}"),
            ("{\n\t\"a\" : 1, \"b\": 2.50\n}", &["a"], "{\n\t\"a\" : false, \"b\": 2.50\n}"),
            ("{\"a\": 1, \"a\": 2}", &["a"], "{\"a\": 1, \"a\": false}"),
            (
                "{\n  \"s\": {\n    \"x\": 1\n  }\n}\n",
                &["s", "a"],
                "{\n  \"s\": {\n    \"x\": 1,\n    \"a\": false\n  }\n}\n",
            ),
            ("{\"s\": null}", &["s", "a"], "{\"s\": {\"a\":false}}"),
            (
                "{\n    \"x\": 1\n}",
                &["s", "a"],
                "{\n    \"x\": 1,\n    \"s\": {\n        \"a\": false\n    }\n}",
            ),
        ] {
            assert_eq!(set(before, path, off).unwrap(), after, "{before}");
        }
        let wrong = set("{\"s\": 3}", &["s", "a"], off).unwrap_err();
        assert_eq!(wrong.to_string(), "line 1, column 7: `s` must be an object");
        assert!(set("{\"s\": 3,}", &["a"], off).is_err() && set("[]", &["a"], off).is_err());
    }

    #[test]
    fn what_is_taken_out_leaves_no_empty_object() {
        for (before, path, after) in [
            ("{\"a\": 1, \"b\": 2}", &["a"][..], "{\"b\": 2}"),
            ("{\"a\": 1, \"a\": 2}", &["a"], "{}"),
            ("{\"b\": 2, \"s\": {\"a\": 1}}", &["s", "a"], "{\"b\": 2}"),
            ("{\"s\": {\"t\": {\"a\": 1}}, \"b\": 1}", &["s", "t", "a"], "{\"b\": 1}"),
            ("{\"s\": {\"a\": 1, \"x\": 3}}", &["s", "a"], "{\"s\": {\"x\": 3}}"),
            ("{\"s\": {}}", &["s", "a"], "{\"s\": {}}"),
            ("{\"s\": 3}", &["s", "a"], "{\"s\": 3}"),
            (" ", &["s"], " "),
        ] {
            assert_eq!(remove(before, path).unwrap(), after, "{before}");
        }
        assert!(remove("{", &["a"]).is_err());
    }
}
