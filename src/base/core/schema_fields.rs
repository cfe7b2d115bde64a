//! What some fields of the documents have in common. Only the schemas need it.

use schemars::{Schema, SchemaGenerator, json_schema};

/// RFC 3339 in UTC, as `time::spell` writes it and as other tools may.
const TIME: &str = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|\+00:00)";
const EXAMPLE: &str = "2026-01-29T10:30:00Z";

pub fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": format!("^{TIME}$"), "examples": [EXAMPLE]})
}

/// A field of ours: a document that did not have it is written back with an empty one.
pub fn time_or_empty(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": format!("^({TIME})?$"), "examples": [EXAMPLE]})
}

pub fn time_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "pattern": format!("^{TIME}$"), "examples": [EXAMPLE]})
}

pub fn date(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "examples": ["2026-01-29"]
    })
}

/// S0 is the worst.
pub fn severity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["S0", "S1", "S2", "S3"]})
}
