//! Generates the schemas from the types, and compares them with the files in `schemas/`.

use std::path::Path;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value};

use crate::state::Declared;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that compares files, and may rewrite them")]
fn the_files_are_what_the_types_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("validate/schemas");
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    let all = crate::validate::schema::declared();
    for declared in &all {
        let name = format!("{}.schema.json", declared.row.schema);
        let wanted = serde_json::to_string_pretty(&generated(declared)).unwrap() + "\n";
        if update {
            std::fs::write(dir.join(&name), &wanted).unwrap();
        }
        let is = std::fs::read_to_string(dir.join(&name)).unwrap_or_default();
        assert!(
            is == wanted,
            "validate/schemas/{name} is not what the types say: UPDATE_SCHEMAS=1 cargo test -p hookkeeper-commands schema rewrites it"
        );
    }
    let files = std::fs::read_dir(&dir).unwrap().count();
    assert_eq!(files, all.len(), "a file in schemas/ is nobody's");
}

/// What the type of a document says.
fn generated(declared: &Declared) -> Value {
    let (name, title) = (declared.row.schema, declared.row.title);
    // What a type falls back to when a field is missing is not what somebody should write there;
    // the settings say their defaults themselves. `uint64` and its like are no formats of JSON
    // Schema.
    let is_settings = name == "settings";
    let tidy = move |schema: &mut Schema| {
        schema.remove("format");
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        if !is_settings {
            schema.remove("default");
        }
    };
    let mut settings = SchemaSettings::draft2020_12();
    settings.transforms.push(Box::new(RecursiveTransform(tidy)));
    let Some(mut schema) = (declared.schema)(settings.into_generator()) else {
        panic!("the schema {name} has no type: declare its document with the macro `document`")
    };
    let mut ordered = Map::new();
    ordered.insert("$schema".into(), schema.remove("$schema").unwrap());
    ordered.insert("$id".into(), format!("{name}.schema.json").into());
    ordered.insert("title".into(), title.into());
    ordered.insert("description".into(), schema.remove("description").unwrap());
    schema.remove("title");
    ordered.extend(schema.as_object().unwrap().clone());
    Value::Object(ordered)
}
