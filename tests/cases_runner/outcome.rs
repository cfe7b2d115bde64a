//! What came of a case's last payload, as a text for people: `after.txt`. Applied to the tree as it
//! was, it gives the tree as it is, byte for byte: what a few lines cannot say exactly is shown whole.

use serde_json::{Map, Value};

use super::changes::{self, Change};
use super::copies;
use super::documents::{self, Kind, kind_of};
use super::journal::{self, Line};
use super::lines;
use super::show::{Known, Speller};
use super::step::{Step, name_of};
use super::synthesis;

const NOTHING: &str = "(nothing is printed, nothing changes)\n";

/// The text; `wrong` is what does not hold after the step.
pub fn text(step: &Step, wrong: &[String]) -> String {
    let mut text = String::new();
    match step.code {
        Some(0) => {}
        Some(code) => text += &format!("exit {code}\n"),
        None => text += "exit by a signal\n",
    }
    text += &printed("stdout", &step.stdout, step);
    text += &printed("stderr", &step.stderr, step);
    text += &Tree::new(step).text();
    for wrong in wrong {
        text += &format!("! {wrong}\n");
    }
    if text.is_empty() {
        return NOTHING.into();
    }
    if text.contains("SESSION") {
        return text;
    }
    text.replace(&step.session, "SESSION")
}

fn printed(name: &str, text: &str, step: &Step) -> String {
    if text.is_empty() {
        return String::new();
    }
    let known = Known::default();
    let lines = match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) if format!("{value}\n") == text => {
            Speller { known: &known, schema: "", session: &step.session }.fields(&value)
        }
        _ => lines::whole(text),
    };
    section(name, lines)
}

fn section(head: &str, lines: Vec<String>) -> String {
    let mut text = format!("{head}\n");
    for line in lines {
        text += &format!("    {line}\n");
    }
    text
}

struct Tree<'a> {
    step: &'a Step,
    lines: Vec<Line>,
    /// What the journal says was written.
    wrote: Vec<String>,
    /// The names of what is shown, in the order of `wrote`.
    names: Vec<String>,
    known: Known,
}

impl<'a> Tree<'a> {
    fn new(step: &'a Step) -> Self {
        let lines = journal::added(&step.before, &step.after);
        let wrote = journal::wrote(&lines);
        // A document that has another one in it points to that.
        let mut known = Known::default();
        for (path, text) in &step.after {
            if let (Kind::Document(_), Ok(value)) = (kind_of(path), serde_json::from_str(text)) {
                known.add_document(path, &value);
            }
        }
        Self { step, lines, wrote, names: Vec::new(), known }
    }

    fn text(mut self) -> String {
        let mut text = String::new();
        for path in self.in_order() {
            text += &self.file(&path);
        }
        let mut journal = "";
        for line in &self.lines {
            if line.path != journal {
                journal = &line.path;
                let mark = if self.step.before.contains_key(journal) { "~" } else { "+" };
                text += &format!("{mark} {journal}\n");
            }
            for line in journal::described(line, self.step, &self.names, &self.known) {
                text += &format!("    {line}\n");
            }
        }
        text
    }

    /// What changed: first what the journal names, in its order; without what is only added to journals
    /// and what must be there in any case.
    fn in_order(&mut self) -> Vec<String> {
        let mut changed = Vec::new();
        for path in self.step.changed() {
            let is_told = self.lines.iter().any(|line| line.path == path);
            if !is_told && !copies::goes_without_saying(path, self.step) {
                changed.push(path.to_owned());
            }
        }
        let mut ordered = Vec::new();
        for wrote in &self.wrote {
            let (name, is_gone) = match wrote.strip_prefix('-') {
                Some(name) => (name, true),
                None => (wrote.as_str(), false),
            };
            let found = changed.iter().position(|path| {
                name_of(path) == name && self.step.after.contains_key(path) != is_gone
            });
            if let Some(at) = found {
                self.names.push(wrote.clone());
                ordered.push(changed.remove(at));
            }
        }
        ordered.extend(changed);
        ordered
    }

    fn file(&mut self, path: &str) -> String {
        let step = self.step;
        let (before, after) = (step.before.get(path), step.after.get(path));
        let Some(after) = after else {
            return format!("- {path}\n");
        };
        if copies::is_copy(path, step) || synthesis::is_copy(path, step) {
            return format!("= {path}\n");
        }
        let mark = if before.is_none() { "+" } else { "~" };
        if let Some(from) = self.moved_from(after) {
            return format!("{mark} {path}, which was {from}\n");
        }
        let (head, lines) = match (kind_of(path), before) {
            (Kind::Document(schema), Some(before)) => match self.changed(schema, before, after) {
                Some(lines) => (format!("~ {path}"), lines),
                None => self.anew(path, schema, before, after),
            },
            (Kind::Document(schema), None) => match self.new_document(schema, after) {
                Some(lines) => (format!("+ {path}"), lines),
                None => (format!("+ {path}"), lines::whole(after)),
            },
            (_, Some(before)) => (format!("~ {path}"), lines::changes(before, after)),
            (_, None) => (format!("+ {path}"), lines::whole(after)),
        };
        if let Ok(value) = serde_json::from_str(after) {
            self.known.add_entries(path, &value);
        }
        section(&head, lines)
    }

    /// Where a file was before that has another place now.
    fn moved_from(&self, text: &str) -> Option<&'a str> {
        for (from, was) in &self.step.before {
            let has_left = self.step.after.get(from) != Some(was);
            if has_left && was == text && !text.is_empty() {
                return Some(from);
            }
        }
        None
    }

    /// What has changed in a JSON document; `None` if fields do not say all of it.
    fn changed(&self, schema: &str, before: &str, after: &str) -> Option<Vec<String>> {
        let mut base = serde_json::from_str(before).ok()?;
        if let Some(fresh) = documents::fresh(schema, &self.step.session) {
            base = documents::completed(&base, &fresh);
        }
        let changes = self.changes(schema, base, after, false)?;
        Some(self.speller(schema).changes(&changes))
    }

    /// The fields of a new document; of those that a fresh one has, what differs.
    fn new_document(&self, schema: &str, after: &str) -> Option<Vec<String>> {
        let Some(fresh) = documents::fresh(schema, &self.step.session) else {
            let changes = self.changes(schema, documents::empty(schema), after, true)?;
            return Some(self.speller(schema).beside_fresh(&changes));
        };
        let changes = self.changes(schema, fresh, after, true)?;
        if changes.is_empty() {
            return Some(vec!["a fresh one".into()]);
        }
        let mut lines = vec!["a fresh one, but for".to_owned()];
        lines.extend(self.speller(schema).beside_fresh(&changes));
        Some(lines)
    }

    fn speller<'s>(&'s self, schema: &'s str) -> Speller<'s> {
        Speller { known: &self.known, schema, session: &self.step.session }
    }

    /// A document that could not be read, or that is changed in a way that fields do not say.
    fn anew(&self, path: &str, schema: &str, before: &str, after: &str) -> (String, Vec<String>) {
        if serde_json::from_str::<Map<String, Value>>(before).is_err()
            && let Some(lines) = self.new_document(schema, after)
        {
            return (format!("+ {path}, begun anew"), lines);
        }
        (format!("~ {path}, as a text"), lines::changes(before, after))
    }

    /// Changes that make the document of `base`: byte for byte, or `None`.
    fn changes(&self, schema: &str, base: Value, after: &str, is_new: bool) -> Option<Vec<Change>> {
        let wanted: Value = serde_json::from_str(after).ok()?;
        if !base.is_object() || !wanted.is_object() {
            return None;
        }
        let found = match is_new {
            true => self.speller(schema).beside(&base, &wanted),
            false => changes::between(&base, &wanted, &|_, new| self.known.find(new).is_some()),
        };
        let mut made = base;
        changes::apply(&mut made, &found);
        let made = documents::spelled(schema, &documents::ordered(schema, made));
        if made == after { Some(found) } else { None }
    }
}
