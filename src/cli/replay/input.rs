//! Payloads out of files, directories, JSON lines and stdin. What is no payload is refused, by
//! name, before anything is played.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use serde_json::value::RawValue;

use crate::core::event::{self, Parsed};
use crate::core::json::Object;
use crate::process::{Process, files};

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

pub fn read(process: &Process, named: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in named {
        if path == Path::new("-") {
            inputs.extend(payloads("stdin", &process.stdin()?)?);
            continue;
        }
        let found = files::below(path, &["json", "jsonl"]);
        let found = found.with_context(|| format!("{} cannot be read", path.display()))?;
        if found.is_empty() {
            bail!("{}: there is no .json or .jsonl file in it", path.display());
        }
        for file in found {
            let bytes = files::read_all(&file)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            inputs.extend(payloads(&file.display().to_string(), &bytes)?);
        }
    }
    Ok(inputs)
}

/// One object, or several one after the other.
fn payloads(source: &str, bytes: &[u8]) -> anyhow::Result<Vec<Input>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let stream = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    let raws: Result<Vec<&RawValue>, _> = stream.collect();
    let raws = raws.map_err(|error| anyhow!("{source} is no payload: {error}"))?;
    if raws.is_empty() {
        bail!("{source} is no payload: it is empty");
    }
    let several = raws.len() > 1;
    let inputs = raws.iter().enumerate().map(|(n, raw)| {
        let source = if several { format!("{source}#{}", n + 1) } else { source.to_owned() };
        payload(source, raw.get())
    });
    inputs.collect()
}

fn payload(source: String, raw: &str) -> anyhow::Result<Input> {
    let object = Object::parse(raw.as_bytes())
        .map_err(|_| anyhow!("{source} is no payload: it is not a JSON object"))?;
    // What the spool keeps has the payload inside.
    if let (None, Some(inner)) = (object.raw("hook_event_name"), object.raw("payload")) {
        return payload(source, inner);
    }
    let event = match event::parse(raw.as_bytes(), None) {
        Ok(Parsed::Event(event)) => event.kind.wire().to_owned(),
        Ok(Parsed::Foreign(name)) => name,
        Err(why) => bail!("{source} is no payload: {why}"),
    };
    let session_id = object.text("session_id").unwrap_or_default();
    Ok(Input { source, event, session_id, payload: one_line(raw) })
}

/// As the client sends it.
fn one_line(raw: &str) -> String {
    raw.split(['\n', '\r']).map(str::trim).collect()
}
