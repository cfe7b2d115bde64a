//! `before.txt` and `given.txt`: what a case begins with, as texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::documents::Files;
use super::{base, changes, documents, show};

#[derive(Clone)]
pub struct File {
    pub text: String,
    pub is_program: bool,
}

/// What is there before the first payload, and how the program is started.
#[derive(Default)]
pub struct Before {
    /// By path in the project; `~/` is the home directory.
    pub files: BTreeMap<String, File>,
    /// A date, and files.
    pub commits: Vec<String>,
    pub begun: Vec<String>,
    pub is_untrusted: bool,
    pub env: Vec<(String, String)>,
    pub args: Option<String>,
    pub argv0: Option<String>,
    pub clock: Option<String>,
}

impl Before {
    /// `SESSION` is this one.
    pub fn read(path: &Path, session: &str) -> Self {
        let mut before = Self::default();
        before.add(path, session);
        before
    }

    /// `use` comes first: what follows is put over it.
    fn add(&mut self, path: &Path, session: &str) {
        let Ok(text) = fs::read_to_string(path) else { return };
        let text = text.replace("SESSION", session);
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let line = line.trim_end_matches('\n');
            let Some(head) = head_of(line) else {
                self.word(line, path, session);
                continue;
            };
            let mut body = String::new();
            while lines.peek().is_some_and(|line| head_of(line.trim_end_matches('\n')).is_none()) {
                body += lines.next().unwrap();
            }
            self.file(head, body, path);
        }
    }

    fn word(&mut self, line: &str, path: &Path, session: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" => {}
            "use" => {
                let shared = base().join("shared").join(format!("{rest}.txt"));
                assert!(shared.is_file(), "{}: there is no {}", path.display(), shared.display());
                self.add(&shared, session);
            }
            "commit" => self.commits.push(rest.into()),
            "begun" => self.begun.push(rest.into()),
            "untrusted" => self.is_untrusted = true,
            "env" => {
                let (name, value) = rest.split_once('=').unwrap();
                self.env.push((name.into(), value.into()));
            }
            "args" => self.args = Some(rest.into()),
            "argv0" => self.argv0 = Some(rest.into()),
            "clock" => self.clock = Some(rest.into()),
            _ => panic!("{}: {line:?} says nothing here", path.display()),
        }
    }

    fn file(&mut self, head: &str, mut body: String, at: &Path) {
        let (path, how) = head.split_once(", ").unwrap_or((head, ""));
        let mut is_program = false;
        match how {
            "" => {}
            "a program" => is_program = true,
            "without a line break at the end" => {
                body.pop();
            }
            "gone" => {
                assert!(self.files.remove(path).is_some(), "{}: no {path}", at.display());
                return;
            }
            "with" => {
                let was = self.files.get(path);
                let was = was.unwrap_or_else(|| panic!("{}: no {path}", at.display()));
                body = with(&was.text, &body);
            }
            how => panic!("{}: {how:?} is no way to make a file", at.display()),
        }
        self.files.insert(path.into(), File { text: body, is_program });
    }
}

/// Files as they are now, as `whole.txt` has them: those that it names.
pub fn again(whole: &str, files: &Files, session: &str) -> String {
    let mut text = String::new();
    for path in whole.lines().filter_map(head_of) {
        text += &format!("-- {path} --\n");
        match files.get(&path.replace("SESSION", session)) {
            Some(file) => text += file,
            None => text += "(there is no such file)\n",
        }
    }
    text.replace(session, "SESSION")
}

/// `-- path --`, `-- path, how --`.
fn head_of(line: &str) -> Option<&str> {
    line.strip_prefix("-- ")?.strip_suffix(" --")
}

/// A JSON document with other values: `path: value` sets, `- path` removes.
fn with(document: &str, lines: &str) -> String {
    let mut document: Value = serde_json::from_str(document).unwrap();
    for line in lines.lines().filter(|line| !line.is_empty()) {
        if let Some(path) = line.strip_prefix("- ") {
            changes::remove(&mut document, &show::parsed(path));
            continue;
        }
        let (path, value) = line.split_once(": ").unwrap();
        let value = serde_json::from_str(value).unwrap_or_else(|error| panic!("{line}: {error}"));
        changes::set(&mut document, &show::parsed(path), &value);
    }
    documents::pretty(&document)
}

/// The payloads of `given.txt`, one on each line: `Event {…}` with what a client says of every event
/// filled in as in `stdin`, or a whole payload.
pub fn payloads(text: &str, stdin: &Value) -> Vec<String> {
    let mut payloads = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let payload = match line.split_once(' ') {
            _ if line.starts_with('{') => line.to_owned(),
            Some((event, fields)) => filled(event, fields, stdin),
            None => filled(line, "{}", stdin),
        };
        payloads.push(payload + "\n");
    }
    payloads
}

fn filled(event: &str, fields: &str, stdin: &Value) -> String {
    let fields: Map<String, Value> =
        serde_json::from_str(fields).unwrap_or_else(|error| panic!("{event} {fields}: {error}"));
    let mut payload = json!({
        "session_id": stdin["session_id"],
        "transcript_path": stdin["transcript_path"],
        "cwd": stdin["cwd"],
        "hook_event_name": event,
    });
    for (name, value) in fields {
        payload[name] = value;
    }
    payload.to_string()
}
