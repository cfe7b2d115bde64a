//! Lines that a step added to the journals.

use serde_json::{Map, Value};

use super::documents::{Files, Kind, kind_of, ordered};
use super::show::{Known, Speller};
use super::step::Step;

/// What is longer stands on a line for each field.
const LONGEST: usize = 150;

/// A line, and the journal that it stands in.
pub struct Line {
    pub path: String,
    pub text: String,
    pub value: Value,
}

impl Line {
    /// Whether it is the line that every hook run has.
    pub fn is_run(&self) -> bool {
        self.value.get("us").is_some()
    }
}

/// The lines that are new, journal by journal. What is no addition is left out: it is shown as a
/// change of a text.
pub fn added(before: &Files, after: &Files) -> Vec<Line> {
    let mut lines = Vec::new();
    for (path, text) in after {
        if let Some(added) = addition(path, before, text) {
            for line in added.split_terminator('\n') {
                let value = serde_json::from_str(line).unwrap_or(Value::Null);
                lines.push(Line { path: path.clone(), text: line.into(), value });
            }
        }
    }
    lines
}

/// What was added to the end of a journal; `None` for what is no journal, and for other changes.
pub fn addition<'a>(path: &str, before: &Files, after: &'a str) -> Option<&'a str> {
    if !matches!(kind_of(path), Kind::Journal) {
        return None;
    }
    let was = before.get(path).map_or("", String::as_str);
    after.strip_prefix(was).filter(|added| !added.is_empty() && added.ends_with('\n'))
}

/// The names of documents that the line of a run says were written, moved or removed (`-`).
pub fn wrote(lines: &[Line]) -> Vec<String> {
    let mut names = Vec::new();
    for line in lines {
        for name in line.value["wrote"].as_array().into_iter().flatten() {
            names.push(name.as_str().unwrap_or_default().to_owned());
        }
    }
    names
}

/// A line in words, without what is the same in all lines of a step: `run stop: outcome "…"` for the
/// line of the run, `told loop: what "waits"` for another one.
pub fn described(line: &Line, step: &Step, names: &[String], known: &Known) -> Vec<String> {
    let mut told = line.value.as_object().cloned().unwrap_or_default();
    let is_run = line.is_run();
    let implied = implied(line, is_run, step, names);
    for (field, value) in &implied {
        if told.get(field) == Some(value) {
            told.shift_remove(field);
        }
    }
    // What is shown, and what is implied, make the line; else it is shown as it is.
    let mut again = implied;
    again.extend(told.clone());
    let again = ordered("journal", Value::Object(again)).to_string();
    if again != line.text {
        return vec![format!("| {}", line.text)];
    }
    let kind = told.shift_remove("kind");
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
    let head = match (is_run, kind) {
        (true, "run") => "run".to_owned(),
        (true, kind) => format!("run {kind}"),
        (false, kind) => format!("told {kind}"),
    };
    if told.is_empty() {
        return vec![head];
    }
    let speller = Speller { known, schema: "journal", session: &step.session };
    let mut words = Vec::new();
    let mut fields = Vec::new();
    for (name, value) in &told {
        words.push(match known.find(value) {
            Some(found) => format!("{name} = {found}"),
            None => format!("{name} {value}"),
        });
        match name.as_str() {
            "wrote" => fields.push(format!("wrote: {value}")),
            _ => fields.extend(speller.labelled(name, value)),
        }
    }
    let short = format!("{head}: {}", words.join(", "));
    if short.chars().count() <= LONGEST {
        return vec![short];
    }
    let mut lines = vec![format!("{head}:")];
    lines.extend(fields.iter().map(|field| format!("  {field}")));
    lines
}

/// What every line of this step says, in every journal of the session.
fn implied(line: &Line, is_run: bool, step: &Step, names: &[String]) -> Map<String, Value> {
    let mut implied = Map::new();
    let file = line.path.rsplit('/').next().unwrap();
    let session = file.trim_end_matches(".jsonl");
    let session = if session == "no-session" { "" } else { session };
    implied.insert("v".into(), 1.into());
    implied.insert("time".into(), step.time.as_str().into());
    implied.insert("session".into(), session.into());
    if is_run {
        implied.insert("wrote".into(), names.into());
        implied.insert("us".into(), 0.into());
        let is_rejected = line.value["kind"] == "rejected";
        if let (Some(event), false) = (&step.event, is_rejected) {
            implied.insert("event".into(), event.as_str().into());
        }
    }
    implied
}
