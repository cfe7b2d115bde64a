//! Generates the schemas from the types, and compares them with the files in `schemas/`.

use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use super::ALL;
use crate::books;
use crate::store;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that compares files, and may rewrite them")]
fn the_files_are_what_the_types_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    for schema in &ALL {
        let name = format!("{}.schema.json", schema.name);
        let wanted = serde_json::to_string_pretty(&generated(schema.name)).unwrap() + "\n";
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
    assert_eq!(files, ALL.len(), "a file in schemas/ is nobody's");
}

fn generated(name: &str) -> Value {
    match name {
        "live" => of::<books::live::Live>(name, "Live session"),
        "current" => of::<books::current::Current>(name, "Current session"),
        "active" => of::<books::active::Active>(name, "Running agents"),
        "result" => of::<books::result::AgentResult>(name, "Agent result"),
        "synthesis" => of::<books::synthesis::Synthesis>(name, "Synthesis"),
        "errors" => of::<books::errors::File>(name, "Classified errors"),
        "metrics" => of::<books::metrics::File>(name, "Session metrics"),
        "metrics-entry" => of::<books::metrics::Entry>(name, "Session metrics entry"),
        "work-queue" => of::<books::queue::Queue>(name, "Work queue"),
        "backup" => of::<books::backup::Backup>(name, "Compaction backup"),
        "autonomous-loop" => of::<books::autonomous::Autonomous>(name, "Autonomous loop"),
        "autonomous-watch" => of::<books::watched::Watched>(name, "Autonomous loop as last seen"),
        "branch-state" => of::<books::branch::BranchState>(name, "Branch state"),
        "execute-state" => of::<books::execute::Execution>(name, "Execution"),
        "executions" => of::<books::executions::Executions>(name, "Executions of a project"),
        "branch-agents" => of::<books::tracked::File>(name, "Branch agents"),
        "iterative" => of::<books::iterative::Task>(name, "Iterative task"),
        "notices" => of::<books::notices::Notices>(name, "Notices"),
        "cleared" => of::<books::cleared::Cleared>(name, "Cleared sessions"),
        "settings" => of::<books::settings::File>(name, "HookKeeper settings"),
        "log" => of::<store::log::Line>(name, "Log line"),
        "wiring" => of::<books::wiring::Wiring>(name, "Wired settings files"),
        "spool" => of::<store::spool::Entry>(name, "Waiting event"),
        other => panic!("there is no type for {other}"),
    }
}

fn of<T: JsonSchema>(name: &str, title: &str) -> Value {
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
