//! `.claude/hookkeeper.json`: what a project may set. All of it is optional; a value of the wrong
//! type is reported and its default holds.

use serde_json::Value;

use crate::core::redaction::patterns::{self, MOST};
use crate::core::text::clip;

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

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub durability: Durability,
    pub stuck_after_minutes: u64,
    pub keep_backups: usize,
    /// Sessions whose journals are kept.
    pub keep_sessions: usize,
    /// How large all journals together may get.
    pub keep_megabytes: u64,
    pub record: bool,
    /// Ask agents for a findings block when they start.
    pub request_findings: bool,
    /// Extra patterns (regular expressions) to redact.
    pub redact: Vec<String>,
    pub notify: bool,
    /// How full the context may get before the user is warned, in percent; 0: never.
    pub context_warning_percent: u64,
    /// Systems that are turned off.
    pub systems_off: Vec<String>,
}

#[cfg(test)]
impl schemars::JsonSchema for Settings {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        File::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        File::json_schema(generator)
    }
}

/// What a file that came with a checkout may set.
const HARMLESS: [&str; 4] =
    ["stuck_after_minutes", "keep_backups", "notify", "context_warning_percent"];

/// What a project may set. All of it is optional.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is wanted: the file is read field by field")]
struct File {
    /// What is synced to disk: nothing, every document's data, or its directory too. Without this,
    /// documents that outlive a session are synced and the others are not.
    #[schemars(extend("type" = "string", "enum" = ["none", "data", "full"]))]
    durability: Option<String>,
    /// After how many minutes without a sign of life an agent counts as stuck.
    #[schemars(extend("type" = "integer", "minimum" = 1, "default" = 5))]
    stuck_after_minutes: Option<u64>,
    /// Compaction backups that are kept of each session.
    #[schemars(extend("type" = "integer", "minimum" = 1, "default" = 3))]
    keep_backups: Option<u64>,
    /// Sessions whose journals are kept.
    #[schemars(extend("type" = "integer", "minimum" = 1, "default" = 1000))]
    keep_sessions: Option<u64>,
    /// How many megabytes all journals together may have.
    #[schemars(extend("type" = "integer", "minimum" = 1, "default" = 200))]
    keep_megabytes: Option<u64>,
    /// Keep the payloads that come in.
    #[schemars(extend("type" = "boolean", "default" = false))]
    record: Option<bool>,
    /// Ask agents for a findings block when they start.
    #[schemars(extend("type" = "boolean", "default" = false))]
    request_findings: Option<bool>,
    /// Extra patterns (regular expressions) to redact: 32 at most, of 512 bytes each.
    #[schemars(extend("type" = "array"))]
    redact: Option<Vec<String>>,
    /// Ring the terminal for verdicts and escalations.
    #[schemars(extend("type" = "boolean", "default" = false))]
    notify: Option<bool>,
    /// How full the context may get before the user is warned, in percent; 0 means never.
    #[schemars(extend("type" = "integer", "minimum" = 0, "maximum" = 100, "default" = 80))]
    context_warning_percent: Option<u64>,
    /// Which systems are on, by name; all are if nothing is said.
    #[schemars(extend("type" = "object"))]
    systems: Option<std::collections::BTreeMap<String, bool>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            durability: Durability::Classed,
            stuck_after_minutes: 5,
            keep_backups: 3,
            keep_sessions: 1000,
            keep_megabytes: 200,
            record: false,
            request_findings: false,
            redact: Vec::new(),
            notify: false,
            context_warning_percent: 80,
            systems_off: Vec::new(),
        }
    }
}

impl Settings {
    pub fn is_on(&self, system: &str) -> bool {
        self.systems_off.iter().all(|off| off != system)
    }

    /// Seconds of silence after which an agent counts as stuck.
    pub fn stuck_after(&self) -> u64 {
        self.stuck_after_minutes.saturating_mul(60)
    }

    /// The settings in a file's bytes, and what is wrong with them, if anything.
    pub fn read(bytes: &[u8]) -> (Self, Option<String>) {
        Self::read_keys(bytes, |_| true)
    }

    /// Those of somebody whom nobody here has trusted yet.
    pub fn read_harmless(bytes: &[u8]) -> (Self, Option<String>) {
        let (settings, wrong) = Self::read_keys(bytes, |key| HARMLESS.contains(&key));
        // What is wrong in it is theirs to say, so it is not repeated.
        (settings, wrong.map(|_| "it is not this machine's, and something in it is wrong".into()))
    }

    fn read_keys(bytes: &[u8], may_set: impl Fn(&str) -> bool) -> (Self, Option<String>) {
        let mut settings = Self::default();
        let fields = match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return (settings, Some("it is not a JSON object".into())),
            Err(error) => return (settings, Some(error.to_string())),
        };
        let mut wrong = Vec::new();
        for (key, value) in fields.iter().filter(|(key, _)| may_set(key)) {
            match settings.set(key, value) {
                Some(faults) => wrong.extend(faults),
                None => wrong.push(format!("`{key}` cannot be {value}")),
            }
        }
        (settings, (!wrong.is_empty()).then(|| wrong.join(", ")))
    }

    /// What is wrong with parts of the value; `None` if it does not fit at all. Keys that we do
    /// not know are somebody else's.
    fn set(&mut self, key: &str, value: &Value) -> Option<Vec<String>> {
        match key {
            "durability" => {
                self.durability = match value.as_str()? {
                    "none" => Durability::None,
                    "data" => Durability::Data,
                    "full" => Durability::Full,
                    _ => return None,
                }
            }
            "stuck_after_minutes" => {
                self.stuck_after_minutes = value.as_u64().filter(|n| *n > 0)?
            }
            "keep_backups" => {
                self.keep_backups = usize::try_from(value.as_u64().filter(|n| *n > 0)?).ok()?;
            }
            "keep_sessions" => {
                self.keep_sessions = usize::try_from(value.as_u64().filter(|n| *n > 0)?).ok()?;
            }
            "keep_megabytes" => self.keep_megabytes = value.as_u64().filter(|n| *n > 0)?,
            "record" => self.record = value.as_bool()?,
            "request_findings" => self.request_findings = value.as_bool()?,
            "notify" => self.notify = value.as_bool()?,
            "context_warning_percent" => {
                self.context_warning_percent = value.as_u64().filter(|percent| *percent <= 100)?;
            }
            "redact" => {
                let patterns = value.as_array()?.iter();
                let patterns: Option<Vec<String>> =
                    patterns.map(|pattern| pattern.as_str().map(str::to_owned)).collect();
                let (patterns, faults) = usable(patterns?);
                self.redact = patterns;
                return Some(faults);
            }
            "systems" => {
                for (name, on) in value.as_object()? {
                    if !on.as_bool()? {
                        self.systems_off.push(name.clone());
                    }
                }
            }
            _ => {}
        }
        Some(Vec::new())
    }
}

/// The patterns that can be used, and why the others cannot: one of them does not cost the rest.
fn usable(mut patterns: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut faults = Vec::new();
    if patterns.len() > MOST {
        let count = patterns.len();
        faults.push(format!("`redact` has {count} patterns; the first {MOST} are used"));
        patterns.truncate(MOST);
    }
    patterns.retain(|pattern| {
        let fault = patterns::fault(pattern);
        let name = clip(pattern, 40);
        faults.extend(fault.map(|fault| format!("the pattern `{name}` in `redact` {fault}")));
        fault.is_none()
    });
    (patterns, faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_holds_and_what_does_not_is_named() {
        let (settings, wrong) =
            Settings::read(br#"{"durability": "full", "keep_backups": "three", "other": 1}"#);
        assert_eq!(settings.durability, Durability::Full);
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
