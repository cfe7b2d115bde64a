//! What is wrong with one document: what its schema says, and whether a hook could read it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::core::error::{Error, Result};
use crate::state::Declared;
use crate::state::Doc;
use crate::validate::schema;
use crate::validate::schema::checker::{Checker, Fault};

pub struct Checkers(BTreeMap<&'static str, Checker>);

impl Checkers {
    pub fn new() -> Result<Self> {
        let mut checkers = BTreeMap::new();
        for row in schema::all() {
            let bad = |why| Error::Schema { name: row.schema, why };
            let checker = Checker::load(&schema::text(row.schema)).map_err(bad)?;
            checkers.insert(row.schema, checker);
        }
        Ok(Self(checkers))
    }

    /// What is wrong with a document; some are named by their id, so its address matters.
    pub fn faults(&self, declared: &Declared, doc: &Doc, bytes: &[u8]) -> Vec<Fault> {
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(error) => return whole(format!("is not JSON: {error}")),
        };
        let faults = self.0.get(declared.row.schema).map(|checker| checker.check(&value));
        match faults {
            Some(faults) if !faults.is_empty() => faults,
            _ => (declared.check)(doc, bytes).err().map(whole).unwrap_or_default(),
        }
    }
}

fn whole(message: String) -> Vec<Fault> {
    vec![Fault { pointer: String::new(), message }]
}
