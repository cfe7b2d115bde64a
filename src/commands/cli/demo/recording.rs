//! The recording that the program brings: `session.jsonl`, which `tests/client/record_demo.py` makes
//! from a session of the real client. A line is a step, with its time and with names for the paths
//! and moments that are known only when it is played.

use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::core::json::Object;
use crate::core::time::{self, Time};

const SHIPPED: &str = include_str!("session.jsonl");

pub struct Recording {
    /// As they stand in the file, in order.
    pub steps: Vec<(Duration, &'static str)>,
}

/// What there is to do at a moment of the session: one of these.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Step {
    /// A payload for the hooks.
    pub hook: Option<Box<RawValue>>,
    /// A command of ours that the model ran.
    pub run: Option<Vec<String>>,
    /// A file that a tool or the client wrote, and what is in it.
    pub write: Option<String>,
    pub text: String,
    /// A transcript that the client went on with, by a line.
    pub append: Option<String>,
    pub line: Option<Box<RawValue>>,
}

/// What the names in a line stand for.
pub struct Places {
    pub begins: Time,
    pub project: String,
    pub client: String,
    /// The session's id, and its transcript without `.jsonl`: the folder of its agents.
    pub session: String,
    pub transcript: String,
    pub program: String,
}

impl Recording {
    pub fn shipped() -> anyhow::Result<Self> {
        Self::parse(SHIPPED).context("the recording of this program cannot be read")
    }

    fn parse(text: &'static str) -> anyhow::Result<Self> {
        let mut steps = Vec::new();
        for line in text.lines() {
            let step = Object::parse(line.as_bytes())?;
            let at = step.float("at").context("a step has no time")?;
            steps.push((Duration::try_from_secs_f64(at)?, line));
        }
        Ok(Self { steps })
    }

    /// How long the session took.
    pub fn length(&self) -> Duration {
        self.steps.last().map_or(Duration::ZERO, |(at, _)| *at)
    }
}

impl Step {
    pub fn fill_in(line: &str, places: &Places) -> anyhow::Result<Self> {
        Ok(serde_json::from_str(&places.fill_in(line))?)
    }
}

impl Places {
    /// The line with paths and moments for their names: `{{project}}`, `{{+12.345}}`.
    fn fill_in(&self, line: &str) -> String {
        let mut parts = line.split("{{");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let named = part.split_once("}}");
            match named.and_then(|(name, rest)| Some((self.value(name)?, rest))) {
                Some((value, rest)) => filled.extend([value.as_str(), rest]),
                None => filled.extend(["{{", part]),
            }
        }
        filled
    }

    /// Inside of a JSON string.
    fn value(&self, name: &str) -> Option<String> {
        let value = match name {
            "project" => self.project.clone(),
            "client" => self.client.clone(),
            "session" => self.session.clone(),
            "transcript" => self.transcript.clone(),
            "program" => self.program.clone(),
            moment => {
                let seconds: f64 = moment.strip_prefix('+')?.parse().ok()?;
                let passed = chrono::TimeDelta::milliseconds((seconds * 1000.0).round() as i64);
                time::spell_millis(self.begins.checked_add_signed(passed)?)
            }
        };
        let quoted = serde_json::Value::String(value).to_string();
        Some(quoted.strip_prefix('"')?.strip_suffix('"')?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            begins: time::parse("2026-01-29T10:30:00Z").unwrap(),
            project: "/tmp/a \"b\"/shop".into(),
            client: "/tmp/client".into(),
            session: "0f3e8a2c".into(),
            transcript: "/tmp/client/projects/-tmp-a/0f3e8a2c".into(),
            program: "/bin/hookkeeper".into(),
        }
    }

    #[test]
    fn names_become_paths_and_moments() {
        let line = r#"{"at":1,"write":"{{project}}/x {{+61.5}} {{-0}} {{"}"#;
        let step = Step::fill_in(line, &places()).unwrap();
        let expected = "/tmp/a \"b\"/shop/x 2026-01-29T10:31:01.500Z {{-0}} {{";
        assert_eq!(step.write.as_deref(), Some(expected));
    }

    /// What is shipped can be played: every step does one thing, in order of time, and nothing in it
    /// is of the machine where it was recorded.
    #[test]
    fn the_shipped_recording_is_whole() {
        let recording = Recording::shipped().unwrap();
        assert!(SHIPPED.len() < 150_000, "{} bytes", SHIPPED.len());
        assert!(recording.steps.is_sorted_by_key(|(at, _)| *at));
        assert!(recording.length() > Duration::from_secs(180));
        for (_, line) in &recording.steps {
            let step = Step::fill_in(line, &places()).unwrap();
            let does = [
                step.hook.is_some(),
                step.run.is_some(),
                step.write.is_some(),
                step.append.is_some() && step.line.is_some(),
            ];
            assert_eq!(does.iter().filter(|does| **does).count(), 1, "{line}");
            let filled = places().fill_in(line);
            assert!(!filled.contains("{{"), "{filled}");
            for path in ["/root", "/home/", "/work/", "/Users/"] {
                assert!(!line.contains(path), "{path} in {line}");
            }
        }
    }
}
