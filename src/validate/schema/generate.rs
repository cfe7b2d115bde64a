//! Generates the schemas from the types, and compares them with the files in `schemas/`.

use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::state::Row;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that compares files, and may rewrite them")]
fn the_files_are_what_the_types_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    let rows = crate::validate::schema::all();
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
        "live" => schema_of::<crate::session::live::Live>(row),
        "current" => schema_of::<crate::session::current::Current>(row),
        "active" => schema_of::<crate::session::active::Active>(row),
        "result" => schema_of::<crate::agents::result::AgentResult>(row),
        "synthesis" => schema_of::<crate::agents::synthesis::Synthesis>(row),
        "errors" => schema_of::<crate::errors::document::File>(row),
        "metrics" => schema_of::<crate::session::metrics::File>(row),
        "metrics-entry" => schema_of::<crate::session::metrics::Entry>(row),
        "work-queue" => schema_of::<crate::loops::queue::document::Queue>(row),
        "backup" => schema_of::<crate::compaction::backup::Backup>(row),
        "autonomous-loop" => schema_of::<crate::loops::autonomous::document::Autonomous>(row),
        "autonomous-watch" => schema_of::<crate::loops::autonomous::watched::Watched>(row),
        "branch-state" => schema_of::<crate::branch::document::BranchState>(row),
        "execute-state" => schema_of::<crate::execute::document::Execution>(row),
        "executions" => schema_of::<crate::execute::registry::Executions>(row),
        "branch-agents" => schema_of::<crate::branch::tracked::File>(row),
        "iterative" => schema_of::<crate::loops::iterative::document::Task>(row),
        "notices" => schema_of::<crate::session::notices::Notices>(row),
        "notifications" => schema_of::<crate::session::notifications::Notifications>(row),
        "cleared" => schema_of::<crate::session::cleared::Cleared>(row),
        "settings" => schema_of::<crate::core::settings::File>(row),
        "log" => schema_of::<crate::store::log::Line>(row),
        "wiring" => schema_of::<crate::client::wiring::Wiring>(row),
        "spool" => schema_of::<crate::store::spool::Entry>(row),
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
