//! Generates the schemas from the types, and compares them with the files in `schemas/`.

use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::books;
use crate::state::Row;
use crate::store;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that compares files, and may rewrite them")]
fn the_files_are_what_the_types_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    let rows = super::all();
    for row in &rows {
        let name = format!("{}.schema.json", row.schema);
        let wanted = serde_json::to_string_pretty(&generated(row)).unwrap() + "\n";
        if update {
            std::fs::write(dir.join(&name), &wanted).unwrap();
        }
        let is = std::fs::read_to_string(dir.join(&name)).unwrap_or_default();
        assert!(
            is == wanted,
            "schemas/{name} is not what the types say: UPDATE_SCHEMAS=1 cargo test --lib schema rewrites it"
        );
    }
    let files = std::fs::read_dir(&dir).unwrap().count();
    assert_eq!(files, rows.len(), "a file in schemas/ is nobody's");
}

/// The type that a schema is made from: not always the one that reads the document.
fn generated(row: &Row) -> Value {
    match row.schema {
        "live" => schema_of::<books::live::Live>(row),
        "current" => schema_of::<books::current::Current>(row),
        "active" => schema_of::<books::active::Active>(row),
        "result" => schema_of::<books::result::AgentResult>(row),
        "synthesis" => schema_of::<books::synthesis::Synthesis>(row),
        "errors" => schema_of::<books::errors::File>(row),
        "metrics" => schema_of::<books::metrics::File>(row),
        "metrics-entry" => schema_of::<books::metrics::Entry>(row),
        "work-queue" => schema_of::<books::queue::Queue>(row),
        "backup" => schema_of::<books::backup::Backup>(row),
        "autonomous-loop" => schema_of::<books::autonomous::Autonomous>(row),
        "autonomous-watch" => schema_of::<books::watched::Watched>(row),
        "branch-state" => schema_of::<books::branch::BranchState>(row),
        "execute-state" => schema_of::<crate::execute::document::Execution>(row),
        "executions" => schema_of::<books::executions::Executions>(row),
        "branch-agents" => schema_of::<books::tracked::File>(row),
        "iterative" => schema_of::<books::iterative::Task>(row),
        "notices" => schema_of::<books::notices::Notices>(row),
        "cleared" => schema_of::<books::cleared::Cleared>(row),
        "settings" => schema_of::<books::settings::File>(row),
        "log" => schema_of::<store::log::Line>(row),
        "wiring" => schema_of::<books::wiring::Wiring>(row),
        "spool" => schema_of::<store::spool::Entry>(row),
        other => panic!("there is no type for the schema {other}: add it here"),
    }
}

fn schema_of<T: JsonSchema>(row: &Row) -> Value {
    let (name, title) = (row.schema, row.title);
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
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let mut ordered = Map::new();
    ordered.insert("$schema".into(), schema.remove("$schema").unwrap());
    ordered.insert("$id".into(), format!("{name}.schema.json").into());
    ordered.insert("title".into(), title.into());
    ordered.insert("description".into(), schema.remove("description").unwrap());
    schema.remove("title");
    ordered.extend(schema.as_object().unwrap().clone());
    Value::Object(ordered)
}
