//! Declared documents without their types: what `schema`, `validate`, `status`, the schema generator
//! and the fault suite go by.
//!
//! Every room has a function `documents` that adds its own.

#[cfg(feature = "testing")]
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::state::{Bytes, Doc, Document, Row};

/// A row, and how a hook reads what is in such a file.
#[derive(Clone, Copy)]
pub struct Declared {
    pub row: &'static Row,
    /// A schema lets a few things through that a hook cannot read: a key that is there twice, a
    /// whole number that is spelled 2.0, an id that is another file's.
    pub check: fn(&Doc, &[u8]) -> Result<(), String>,
    /// Makes the schema from the type. A text has none.
    #[cfg(feature = "testing")]
    pub schema: fn(SchemaGenerator) -> Option<Schema>,
}

/// The documents that were added, in the order in which people see them.
#[derive(Default)]
pub struct Documents(pub Vec<Declared>);

impl Documents {
    /// Adds a type that is declared by `document!` or `text_document!`.
    pub fn add<T: Document>(&mut self) {
        let check = |doc: &Doc, bytes: &[u8]| T::parse(doc, &Bytes::new(bytes.to_vec())).map(drop);
        self.0.extend(T::ROWS.iter().map(|row| Declared {
            row,
            check,
            #[cfg(feature = "testing")]
            schema: T::schema,
        }));
    }

    /// Adds a file that is not read through the handle; `T` is what its schema is made from.
    pub fn add_file<T: HasSchema>(
        &mut self,
        row: &'static Row,
        check: fn(&Doc, &[u8]) -> Result<(), String>,
    ) {
        self.0.push(Declared {
            row,
            check,
            #[cfg(feature = "testing")]
            schema: |generator| Some(generator.into_root_schema_for::<T>()),
        });
    }
}

/// Schemas are made by tests alone.
#[cfg(feature = "testing")]
pub trait HasSchema: JsonSchema {}
#[cfg(feature = "testing")]
impl<T: JsonSchema> HasSchema for T {}
#[cfg(not(feature = "testing"))]
pub trait HasSchema {}
#[cfg(not(feature = "testing"))]
impl<T> HasSchema for T {}

/// The check of a file that serde reads.
pub fn parses_as<T: serde::de::DeserializeOwned>(_: &Doc, bytes: &[u8]) -> Result<(), String> {
    serde_json::from_slice::<T>(bytes).map(drop).map_err(|error| error.to_string())
}
