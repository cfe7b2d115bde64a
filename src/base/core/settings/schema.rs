//! The JSON Schema of a settings file, and the table in `docs/settings.md`, from the rows.

#![allow(clippy::unwrap_used, reason = "only tests make schemas")]

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::core::settings::Settings;
use crate::core::settings::field::Field;
use crate::core::settings::table::{Setting, TABLE, Trust};

impl JsonSchema for Settings {
    fn schema_name() -> Cow<'static, str> {
        "Settings".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut root = json!({
            "description": "What a project may set. All of it is optional.",
            "type": "object",
            "properties": {"$schema": {"type": "string", "description": "For editors: this schema."}}
        });
        for row in TABLE.iter().filter(|row| row.trust != Trust::Person) {
            insert(&mut root, row.key, of_row(row));
        }
        Schema::try_from(root).unwrap()
    }
}

fn insert(object: &mut Value, key: &str, schema: Value) {
    let properties = object["properties"].as_object_mut().unwrap();
    match key.split_once('.') {
        None => drop(properties.insert(key.to_owned(), schema)),
        Some((group, rest)) => {
            let empty = || json!({"type": "object", "properties": {}});
            insert(properties.entry(group).or_insert_with(empty), rest, schema);
        }
    }
}

fn of_row(row: &Setting) -> Value {
    let mut schema = Map::new();
    let mut put = |key: &str, value: Value| drop(schema.insert(key.to_owned(), value));
    let default = row.field.get(&Settings::default());
    match &row.field {
        Field::Switch { .. } => put("type", "boolean".into()),
        Field::Number { least, most, .. } => {
            put("type", "integer".into());
            put("minimum", (*least).into());
            if *most < u64::MAX {
                put("maximum", (*most).into());
            }
        }
        Field::Choice { words, .. } => {
            put("type", "string".into());
            put("enum", words.to_vec().into());
        }
        Field::Patterns { .. } => {
            put("type", "array".into());
            put("items", json!({"type": "string"}));
        }
        Field::Text { .. } => put("type", "string".into()),
        Field::Texts { .. } => {
            put("type", "object".into());
            put("additionalProperties", json!({"type": "string"}));
        }
    }
    if !default.is_null() && default != json!([]) && default != json!({}) {
        put("default", default);
    }
    put("description", row.help.into());
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in the page, between the two marks.
    fn page_table() -> String {
        let mut lines = vec![
            "| key | value | default | a committed file may set it | what it does |".to_owned(),
            "|---|---|---|---|---|".to_owned(),
        ];
        for row in TABLE {
            let may = match row.trust {
                Trust::Harmless => "yes",
                Trust::Own => "no",
                Trust::Person => "no, nor any project's",
            };
            let default = match row.field.get(&Settings::default()) {
                Value::Null => "none".to_owned(),
                Value::String(word) => format!("`{word}`"),
                other => format!("`{other}`"),
            };
            let (key, expects, help) = (row.key, row.field.expects(), row.help);
            lines.push(format!("| `{key}` | {expects} | {default} | {may} | {help} |"));
        }
        lines.join("\n") + "\n"
    }

    const BEGIN: &str =
        "<!-- the table: UPDATE_DOCS=1 cargo test -p hookkeeper-base settings -->\n";
    const END: &str = "<!-- the end of the table -->\n";

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test that compares a file, and may rewrite it"
    )]
    fn the_page_has_the_table() {
        let path = crate::core::repository::root().join("docs/settings.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (is, after) = rest.split_once(END).unwrap();
        let wanted = page_table();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
        } else {
            assert!(
                is == wanted,
                "docs/settings.md: UPDATE_DOCS=1 cargo test -p hookkeeper-base settings rewrites it"
            );
        }
    }

    #[test]
    fn rows_are_whole() {
        for (at, row) in TABLE.iter().enumerate() {
            assert!(row.help.ends_with('.') && row.help.len() > 10, "{}", row.key);
            assert!(
                TABLE.iter().skip(at + 1).all(|other| other.key != row.key),
                "{} twice",
                row.key
            );
            // A key that has others below it would hide them.
            assert!(!crate::core::settings::is_group(TABLE, row.key), "{}", row.key);
            let default = row.field.get(&Settings::default());
            if !default.is_null() {
                let mut settings = Settings::default();
                assert_eq!(row.field.set(&mut settings, &default), Some(Vec::new()), "{}", row.key);
            }
            let may_run = row.trust == Trust::Person || !row.key.ends_with("command");
            assert!(may_run, "{} could run a program: it is for persons", row.key);
        }
    }
}
