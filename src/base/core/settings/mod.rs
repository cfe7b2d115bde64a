//! `.claude/hookkeeper.json`: what a project may set. All of it is optional; a value of the wrong
//! type is reported and its default holds.
//!
//! [`table`] declares every setting once. Hooks read one file, once ([`Settings::read`]): a list of
//! rows, no second file, no environment. Commands that need all [`layers`] ask
//! `project.resolved_settings()`, which also knows where each value comes from. Unknown keys stay
//! and are named with the nearest known one by `config list` and `doctor`; hooks do not look. Those
//! of a file that is not believed are not repeated.
//!
//! **Switches.** A document belongs to a system by `is_on` in its row: with the system off,
//! `State::for_hook` does not read it, and `commit` leaves it alone. What is decided without a
//! document asks `context.settings.systems` (`hooks/mod.rs`, `LoopKind::is_on`, `failures`,
//! `open_handoffs`, `execution_task`, the journal, notices). Commands read and change all
//! documents; `cli/systems.rs` says which of them refuse while their system is off, and which only
//! mention it.

pub mod export;
pub mod field;
pub mod layers;
pub mod nearest;
#[cfg(feature = "testing")]
mod schema;
pub mod table;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::core::json::tree::{self, Malformed};
use crate::core::text::clip;
use export::ExportFields;
use field::Field;
use table::{Setting, TABLE, Trust};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Nothing is synced.
    None,
    /// Durable documents are synced, ephemeral ones are not: what happens when nothing is set.
    Classed,
    /// Every document's data is synced.
    Data,
    /// Every document's data and its directory are synced.
    Full,
}

/// What holds. Each field is filled by a row of [`TABLE`], which says what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    durability: &'static str,
    pub stuck_after_minutes: u64,
    pub keep_backups: u64,
    pub keep_sessions: u64,
    pub keep_megabytes: u64,
    pub record: bool,
    pub request_findings: bool,
    pub redact: Vec<String>,
    pub notify: bool,
    pub context_warning_percent: u64,
    pub mention_commands: bool,
    pub systems: Systems,
    pub export: ExportFields,
}

/// Which systems are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Systems {
    pub queue_loop: bool,
    pub branch_loop: bool,
    pub autonomous: bool,
    pub iterative: bool,
    pub execute: bool,
    pub branches: bool,
    pub handoffs: bool,
    pub agents: bool,
    pub errors: bool,
    pub compaction: bool,
    pub journal: bool,
    pub notices: bool,
    pub export: bool,
}

impl Systems {
    /// For who does not ask what a hook may do.
    pub const ON: Self = Self {
        queue_loop: true,
        branch_loop: true,
        autonomous: true,
        iterative: true,
        execute: true,
        branches: true,
        handoffs: true,
        agents: true,
        errors: true,
        compaction: true,
        journal: true,
        notices: true,
        export: true,
    };
}

/// Before the table has filled it.
const BLANK: Settings = Settings {
    durability: "",
    stuck_after_minutes: 0,
    keep_backups: 0,
    keep_sessions: 0,
    keep_megabytes: 0,
    record: false,
    request_findings: false,
    redact: Vec::new(),
    notify: false,
    context_warning_percent: 0,
    mention_commands: false,
    systems: Systems::ON,
    export: ExportFields::BLANK,
};

impl Default for Settings {
    fn default() -> Self {
        let mut settings = BLANK;
        for row in TABLE {
            row.field.set_default(&mut settings);
        }
        settings
    }
}

impl Settings {
    /// Seconds of silence after which an agent counts as stuck.
    pub fn stuck_after(&self) -> u64 {
        self.stuck_after_minutes.saturating_mul(60)
    }

    pub fn durability(&self) -> Durability {
        match self.durability {
            "none" => Durability::None,
            "data" => Durability::Data,
            "full" => Durability::Full,
            _ => Durability::Classed,
        }
    }

    /// The settings in a project's file, and what is wrong with them, if anything.
    pub fn read(bytes: &[u8]) -> (Self, Option<String>) {
        Self::read_trusted(bytes, Trust::Own)
    }

    /// Those of somebody whom nobody here has trusted yet.
    pub fn read_harmless(bytes: &[u8]) -> (Self, Option<String>) {
        let (settings, wrong) = Self::read_trusted(bytes, Trust::Harmless);
        // What is wrong in it is theirs to say, so it is not repeated.
        (settings, wrong.map(|_| "it is not this machine's, and something in it is wrong".into()))
    }

    fn read_trusted(bytes: &[u8], file: Trust) -> (Self, Option<String>) {
        let mut settings = Self::default();
        let fields = match parse(bytes) {
            Ok(fields) => fields,
            Err(why) => return (settings, Some(why)),
        };
        let mut wrong = Vec::new();
        settings.take_all(TABLE, &fields, file, &mut wrong);
        (settings, (!wrong.is_empty()).then(|| wrong.join(", ")))
    }

    /// Takes what a file may set by how far it is trusted. Keys that we do not know are somebody
    /// else's.
    fn take_all(
        &mut self,
        table: &'static [Setting],
        fields: &Map<String, Value>,
        file: Trust,
        wrong: &mut Vec<String>,
    ) {
        walk(table, "", fields, &mut |key, place, value| match place {
            Place::Row(row) if row.trust == Trust::Person && file == Trust::Own => {
                wrong.push(format!("`{key}` is not read from a project's file"));
            }
            Place::Row(row) if row.trust > file => {}
            Place::Row(row) => match row.field.set(self, value) {
                Some(faults) => wrong.extend(faults),
                None => wrong.push(misfit(key, row, value)),
            },
            Place::NoObject => wrong.push(format!("`{key}` must be an object")),
            Place::Unknown => {}
        });
    }
}

fn misfit(key: &str, row: &Setting, value: &Value) -> String {
    // Why a text does not fit says more than the text, which may be a secret.
    let why = match &row.field {
        Field::Text { check, .. } => value.as_str().and_then(|text| check(text).err()),
        Field::Texts { check, .. } => value.as_object().and_then(|texts| {
            texts.iter().find_map(|(name, text)| check(name, text.as_str()?).err())
        }),
        _ => None,
    };
    if let Some(why) = why {
        return format!("`{key}`: {why}");
    }
    match row.is_secret {
        true => format!("`{key}` must be {}", row.field.expects()),
        false => format!("`{key}` cannot be {}", clip(&value.to_string(), 100)),
    }
}

/// The outermost object of a settings file.
pub fn parse(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Malformed::at(1, 1, "the settings must be a JSON object").to_string()),
        Err(error) => Err(why_no_json(bytes, &error)),
    }
}

/// In the words of who edits such a file, which name line and column.
fn why_no_json(bytes: &[u8], error: &serde_json::Error) -> String {
    match std::str::from_utf8(bytes).map(tree::parse) {
        Ok(Err(malformed)) => malformed.to_string(),
        // A byte order mark, or nested deeper than hooks read.
        Ok(Ok(_)) => {
            let what = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let what = what.strip_suffix(&place).unwrap_or(&what);
            Malformed::at(error.line(), error.column(), what).to_string()
        }
        Err(_) => "it is not UTF-8".into(),
    }
}

/// What stands at a key of a file.
pub enum Place {
    Row(&'static Setting),
    /// Other settings are below this one, and it is no object.
    NoObject,
    Unknown,
}

/// Every value in a file, with its dotted key.
pub fn walk(
    table: &'static [Setting],
    group: &str,
    fields: &Map<String, Value>,
    visit: &mut dyn FnMut(&str, Place, &Value),
) {
    for (name, value) in fields {
        let below;
        let key = match group {
            "" => name.as_str(),
            group => {
                below = format!("{group}.{name}");
                &below
            }
        };
        if let Some(row) = table.iter().find(|row| row.key == key) {
            visit(key, Place::Row(row), value);
        } else if !is_group(table, key) {
            visit(key, Place::Unknown, value);
        } else if let Value::Object(fields) = value {
            walk(table, key, fields, visit);
        } else {
            visit(key, Place::NoObject, value);
        }
    }
}

/// Whether there are settings below this key.
pub fn is_group(table: &[Setting], key: &str) -> bool {
    table.iter().any(|row| row.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

/// Texts by their names.
pub type Texts = BTreeMap<String, String>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::redaction::patterns::MOST;

    #[test]
    fn what_fits_holds_and_what_does_not_is_named() {
        let (settings, wrong) =
            Settings::read(br#"{"durability": "full", "keep_backups": "three", "other": 1}"#);
        assert_eq!(settings.durability(), Durability::Full);
        assert_eq!(settings.keep_backups, 3);
        assert_eq!(wrong.as_deref(), Some("`keep_backups` cannot be \"three\""));
        for (percent, holds) in [("0", 0), ("100", 100), ("101", 80), ("-1", 80), ("\"9\"", 80)] {
            let text = format!(r#"{{"context_warning_percent": {percent}}}"#);
            let (settings, wrong) = Settings::read(text.as_bytes());
            assert_eq!(settings.context_warning_percent, holds, "{percent}");
            assert_eq!(wrong.is_some(), holds == 80, "{percent}");
        }
        assert!(Settings::read(b"{").1.is_some());
        assert_eq!(Settings::read(b"{}"), (Settings::default(), None));
    }

    #[test]
    fn systems_are_on_until_one_is_switched_off() {
        let text = br#"{"systems": {"errors": false, "agents": "no", "other": false}}"#;
        let (settings, wrong) = Settings::read(text);
        assert!(!settings.systems.errors && settings.systems.agents && settings.systems.journal);
        assert_eq!(wrong.as_deref(), Some("`systems.agents` cannot be \"no\""));
        let (settings, wrong) = Settings::read(br#"{"systems": 3}"#);
        assert_eq!(
            (settings, wrong.as_deref()),
            (Settings::default(), Some("`systems` must be an object"))
        );
        assert_eq!(Settings::read_harmless(text), (Settings::default(), None));
    }

    #[test]
    fn patterns_that_cannot_be_used_are_named_and_the_others_hold() {
        let long = "x".repeat(513);
        let bytes =
            format!(r#"{{"redact": ["(", "CORP-[0-9]+", "{long}", "((a{{99}}){{99}}){{9}}"]}}"#);
        let (settings, wrong) = Settings::read(bytes.as_bytes());
        assert_eq!(settings.redact, ["CORP-[0-9]+"]);
        let wrong = wrong.unwrap();
        for fault in ["`(` in `redact` is no", "is too long", "`((a{99}){99}){9}` in `redact` is"] {
            assert!(wrong.contains(fault), "{wrong}");
        }
        let many: Vec<String> = (0..40).map(|n| format!("P{n}")).collect();
        let (settings, wrong) =
            Settings::read(serde_json::json!({"redact": many}).to_string().as_bytes());
        assert_eq!(settings.redact, many[..MOST]);
        assert_eq!(wrong.unwrap(), "`redact` has 40 patterns; the first 32 are used");
    }
}
