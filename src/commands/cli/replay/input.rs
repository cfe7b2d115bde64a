//! Payloads out of files, directories, JSON lines, lists and stdin. What is no payload is named, with
//! its line; the others can be played.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use serde::de::Error as _;
use serde_json::value::RawValue;

use crate::core::event::{self, Parsed};
use crate::core::json::Object;
use crate::process::{Process, files};
use crate::store::recorded::FOLDER as RECORDED;

pub struct Input {
    /// The file, with the number of the payload if it has several.
    pub source: String,
    pub event: String,
    pub session_id: String,
    pub payload: String,
}

impl Input {
    pub fn title(&self) -> String {
        format!("{}  {}", self.event, self.source)
    }
}

/// What was found: the payloads, and what is none, with its file and line.
#[derive(Default)]
pub struct Inputs {
    pub payloads: Vec<Input>,
    pub bad: Vec<String>,
}

pub fn read(process: &Process, named: &[PathBuf]) -> anyhow::Result<Inputs> {
    let mut inputs = Inputs::default();
    for path in named {
        if path == Path::new("-") {
            inputs.add("stdin", &process.stdin()?);
            continue;
        }
        let found = files::below(path, &["json", "jsonl"]);
        let found = match found {
            // `record on` makes the folder when the first payload comes.
            Err(error) if error.kind() == ErrorKind::NotFound && path.ends_with(RECORDED) => bail!(
                "{}: nothing is recorded yet. Switch it on with `hookkeeper record on`, and do something in \
                 Claude Code",
                path.display()
            ),
            found => found.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        if found.is_empty() {
            bail!("{}: there is no .json or .jsonl file in it", path.display());
        }
        for file in found {
            let bytes = files::read_all(&file)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            inputs.add(&file.display().to_string(), &bytes);
        }
    }
    Ok(inputs)
}

impl Inputs {
    /// Takes a file's objects: one, several one after the other, or a list of them.
    fn add(&mut self, source: &str, bytes: &[u8]) {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let entries = entries(bytes);
        if entries.is_empty() {
            self.bad.push(format!("{source} is no payload: it is empty"));
        }
        let several = entries.len() > 1;
        for (n, (line, entry)) in entries.into_iter().enumerate() {
            let name = if several { format!("{source}#{}", n + 1) } else { source.to_owned() };
            match entry.and_then(|raw| payload(name, raw)) {
                Ok(input) => self.payloads.push(input),
                Err(why) => self.bad.push(format!("{source}:{line}: no payload: {why}")),
            }
        }
    }
}

/// The values of a text, each with its line. Lists are opened; behind what is no JSON it goes on with
/// the next line.
fn entries(bytes: &[u8]) -> Vec<(usize, anyhow::Result<&str>)> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let between = |byte: &u8| byte.is_ascii_whitespace() || b"[],".contains(byte);
        at += rest.iter().take_while(|byte| between(byte)).count();
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return found;
        }
        let line = 1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
        let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
        let entry = stream.next().unwrap_or_else(|| Err(serde_json::Error::custom("it is empty")));
        at += match &entry {
            Ok(_) => stream.byte_offset(),
            Err(_) => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        };
        found.push((line, entry.map(RawValue::get).map_err(|error| anyhow!("{}", reason(&error)))));
    }
}

/// Without the place, which is that of a part.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

fn payload(source: String, raw: &str) -> anyhow::Result<Input> {
    let object = Object::parse(raw.as_bytes()).map_err(|_| anyhow!("it is not a JSON object"))?;
    // What the spool keeps has the payload inside.
    if let (None, Some(inner)) = (object.raw("hook_event_name"), object.raw("payload")) {
        return payload(source, inner);
    }
    let event = match event::parse(raw.as_bytes(), None) {
        Ok(Parsed::Event(event)) => event.kind.wire().to_owned(),
        Ok(Parsed::Foreign(name)) => name,
        Err(why) => bail!("{why}"),
    };
    let session_id = object.text("session_id").unwrap_or_default();
    Ok(Input { source, event, session_id, payload: one_line(raw) })
}

/// As the client sends it.
fn one_line(raw: &str) -> String {
    raw.split(['\n', '\r']).map(str::trim).collect()
}
