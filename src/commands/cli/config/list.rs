//! `config list`: every setting, and what is in the files and does not hold.

use serde_json::{Value, json};

use crate::cli::config::value_of;
use crate::console::project::{Project, print_json};
use crate::core::outcome::Outcome;
use crate::core::settings::Settings;
use crate::core::settings::layers::{Fault, Origin, Remark, Resolved};
use crate::core::settings::table::{Setting, TABLE};
use crate::core::text::clip;

const LONGEST_VALUE: usize = 60;

pub fn run(project: &Project, json: bool) -> anyhow::Result<Outcome> {
    let resolved = project.resolved_settings()?;
    let is_off = project.process.env("HOOKKEEPER_OFF").as_deref() == Some("1");
    if json {
        let all = TABLE.iter().map(|row| described(&resolved, row, None));
        let remarks = resolved.remarks.iter().map(described_remark);
        return print_json(&json!({
            "settings": all.collect::<Vec<_>>(),
            "remarks": remarks.collect::<Vec<_>>(),
            "hooks_off": is_off,
        }));
    }
    let mut rows = Vec::new();
    for row in TABLE {
        let names = names(&resolved, row);
        rows.extend(names.iter().map(|name| line(&resolved, row, name.as_deref())));
    }
    let columns = [("KEY", 0), ("VALUE", 0), ("FROM", 0), ("DEFAULT", 1)];
    let mut out = project.print_rows(&columns, &rows);
    for remark in &resolved.remarks {
        let kept = match remark.what {
            Fault::Unknown { .. } => " (it stays in the file)",
            _ => "",
        };
        out.line(format!("{}{kept}", remark.text()));
    }
    if is_off {
        out.line("HOOKKEEPER_OFF=1 is set here: hooks that inherit it do nothing".to_owned());
    }
    Ok(Outcome::printed(out))
}

/// What has a line of its own: the setting, or each name in a map that has any.
fn names(resolved: &Resolved, row: &Setting) -> Vec<Option<String>> {
    match row.field.get(&resolved.settings) {
        Value::Object(texts) if !texts.is_empty() => {
            texts.into_iter().map(|(name, _)| Some(name)).collect()
        }
        _ => vec![None],
    }
}

fn line(resolved: &Resolved, row: &Setting, name: Option<&str>) -> Vec<String> {
    let key = full_key(row, name);
    let value = value_of(resolved, row, name);
    let default = row.field.get(&Settings::default());
    let origin = resolved.origin(&key).place().to_owned();
    vec![key, shown(value.as_ref()), origin, shown(Some(&default))]
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".into(),
        Some(Value::Array(list)) if list.is_empty() => "-".into(),
        Some(Value::Object(texts)) if texts.is_empty() => "-".into(),
        Some(Value::String(text)) => clip(text, LONGEST_VALUE),
        Some(other) => clip(&other.to_string(), LONGEST_VALUE),
    }
}

fn full_key(row: &Setting, name: Option<&str>) -> String {
    name.map_or_else(|| row.key.to_owned(), |name| format!("{}.{name}", row.key))
}

/// A setting for programs.
pub fn described(resolved: &Resolved, row: &Setting, name: Option<&str>) -> Value {
    let key = full_key(row, name);
    let origin = resolved.origin(&key);
    let mut all = json!({
        "key": key,
        "value": value_of(resolved, row, name),
        "origin": origin.name(),
        "default": row.field.get(&Settings::default()),
        "expects": row.field.expects(),
        "help": row.help,
    });
    if let (Origin::Environment(name), Some(all)) = (origin, all.as_object_mut()) {
        all.insert("variable".into(), name.into());
    }
    all
}

fn described_remark(remark: &Remark) -> Value {
    let nearest = match &remark.what {
        Fault::Unknown { nearest } => nearest.as_deref(),
        _ => None,
    };
    let kind = match remark.what {
        Fault::Unknown { .. } => "unknown",
        Fault::Wrong(_) => "wrong",
        Fault::Untrusted | Fault::ForPersons | Fault::NotHere => "ignored",
    };
    json!({
        "key": remark.key, "origin": remark.origin.name(), "kind": kind, "nearest": nearest,
        "text": remark.text(),
    })
}
