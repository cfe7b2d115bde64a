//! What is wrong with one document: what its schema says, and whether a hook could read it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::books::active::Active;
use crate::books::agent_book::AgentBook;
use crate::books::backup::Backup;
use crate::books::branch::BranchState;
use crate::books::cleared::Cleared;
use crate::books::errors::Errors;
use crate::books::executions::Executions;
use crate::books::iterative::Task;
use crate::books::metrics::{Entry, Metrics};
use crate::books::notices::Notices;
use crate::books::queue::Queue;
use crate::books::settings::Settings;
use crate::books::synthesis::Synthesis;
use crate::error::{Error, Result};
use crate::execute::document as execution;
use crate::gather::{agent_result, json, live_record};
use crate::id::FileStem;
use crate::schema;
use crate::schema::checker::{Checker, Fault};
use crate::store::layout::Doc;
use crate::store::spool;

pub struct Documents {
    checkers: BTreeMap<&'static str, Checker>,
}

impl Documents {
    pub fn new() -> Result<Self> {
        let mut checkers = BTreeMap::new();
        for schema in &schema::ALL {
            let bad = |why| Error::Schema { name: schema.name, why };
            checkers.insert(schema.name, Checker::load(schema.text).map_err(bad)?);
        }
        Ok(Self { checkers })
    }

    /// What is wrong with a document; `path` says where it is, because some are named by their id.
    pub fn faults(&self, schema: &str, path: &str, bytes: &[u8]) -> Vec<Fault> {
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(error) => return whole(format!("is not JSON: {error}")),
        };
        let faults = self.checkers.get(schema).map(|checker| checker.check(&value));
        match faults {
            Some(faults) if !faults.is_empty() => faults,
            _ => read(schema, path, bytes).err().map(whole).unwrap_or_default(),
        }
    }
}

/// Reads a document as a hook does. A schema lets a few things through that a hook cannot read: a
/// key that is there twice, a whole number that is spelled 2.0, an id that is another file's.
fn read(schema: &str, path: &str, bytes: &[u8]) -> std::result::Result<(), String> {
    let stem = path.rsplit('/').next().and_then(FileStem::of_file);
    match (schema, stem) {
        ("live", Some(stem)) => live_record(&Doc::Live(stem), bytes).map(drop),
        ("result", Some(stem)) => agent_result(&Doc::Result(stem), bytes).map(drop),
        ("active", _) => json::<Active>(bytes).map(drop),
        ("synthesis", _) => json::<Synthesis>(bytes).map(drop),
        ("errors", _) => json::<Errors>(bytes).map(drop),
        ("metrics", _) => Metrics::parse(bytes).map(drop),
        ("metrics-entry", _) => json::<Entry>(bytes).map(drop),
        ("work-queue", _) => json::<Queue>(bytes).map(drop),
        ("backup", _) => json::<Backup>(bytes).map(drop),
        ("branch-state", _) => json::<BranchState>(bytes).map(drop),
        ("branch-agents", _) => AgentBook::parse(bytes).map(drop),
        ("iterative", _) => json::<Task>(bytes).map(drop),
        ("notices", _) => json::<Notices>(bytes).map(drop),
        ("execute-state", _) => execution::parse(bytes).map(drop),
        ("executions", _) => json::<Executions>(bytes).map(drop),
        ("cleared", _) => json::<Cleared>(bytes).map(drop),
        ("settings", _) => Settings::read(bytes).1.map_or(Ok(()), Err),
        ("spool", _) => json::<spool::Entry>(bytes).map(drop),
        _ => Ok(()),
    }
}

fn whole(message: String) -> Vec<Fault> {
    vec![Fault { pointer: String::new(), message }]
}
