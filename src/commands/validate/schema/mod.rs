//! The JSON Schemas of the documents, and the check against them.
//!
//! The files in `schemas/` are generated from the types of the documents by a test (`generate`), which
//! fails when they differ. So neither the generator nor a general validator is in the program: it
//! has the files, and a small [`checker`] for the part of JSON Schema that they use.

pub mod checker;
#[cfg(test)]
pub mod generate;
pub mod node;

use std::borrow::Cow;

use crate::state::{Declared, Row};
use crate::validate::documents;

/// The schemas, by the row of the first document that has each.
pub fn all() -> Vec<&'static Row> {
    declared().iter().map(|declared| declared.row).collect()
}

/// The first document of each schema.
pub fn declared() -> Vec<Declared> {
    let mut first: Vec<Declared> = Vec::new();
    for declared in documents::all() {
        let schema = declared.row.schema;
        if !schema.is_empty() && first.iter().all(|known| known.row.schema != schema) {
            first.push(declared);
        }
    }
    first
}

pub fn named(name: &str) -> Option<&'static Row> {
    all().into_iter().find(|row| row.schema == name)
}

/// The text of a schema; empty if there is none.
#[cfg(not(test))]
pub fn text(name: &str) -> Cow<'static, str> {
    let found = TEXTS.iter().find(|(have, _)| *have == name);
    Cow::Borrowed(found.map_or("", |(_, text)| text))
}

/// Tests read the file, so that the generator can be run before there is one.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test reads a file of the repository")]
pub fn text(name: &str) -> Cow<'static, str> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("validate/schemas");
    Cow::Owned(std::fs::read_to_string(dir.join(format!("{name}.schema.json"))).unwrap_or_default())
}

#[cfg(not(test))]
include!(concat!(env!("OUT_DIR"), "/schemas.rs"));
