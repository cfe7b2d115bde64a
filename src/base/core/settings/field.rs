//! What kinds of values a setting may have: reading them, from JSON and from a command line.

use serde_json::Value;

use crate::core::redaction::patterns::{self, MOST};
use crate::core::settings::{Settings, Texts};
use crate::core::text::clip;

/// The kind of a setting's value, its limits, its default, and where it goes.
pub enum Field {
    Switch {
        default: bool,
        at: fn(&mut Settings) -> &mut bool,
    },
    Number {
        default: u64,
        least: u64,
        most: u64,
        at: fn(&mut Settings) -> &mut u64,
    },
    Choice {
        default: &'static str,
        words: &'static [&'static str],
        at: fn(&mut Settings) -> &mut &'static str,
    },
    /// Regular expressions.
    Patterns {
        at: fn(&mut Settings) -> &mut Vec<String>,
    },
    /// Nothing, unless it is set.
    Text {
        check: fn(&str) -> Result<(), String>,
        at: fn(&mut Settings) -> &mut Option<String>,
    },
    /// Texts by their names: each is a key of its own below the setting's.
    Texts {
        check: fn(&str, &str) -> Result<(), String>,
        at: fn(&mut Settings) -> &mut Texts,
    },
}

impl Field {
    pub fn set_default(&self, settings: &mut Settings) {
        match self {
            Self::Switch { default, at } => *at(settings) = *default,
            Self::Number { default, at, .. } => *at(settings) = *default,
            Self::Choice { default, at, .. } => *at(settings) = default,
            Self::Patterns { at } => at(settings).clear(),
            Self::Text { at, .. } => *at(settings) = None,
            Self::Texts { at, .. } => at(settings).clear(),
        }
    }

    /// What is wrong with parts of the value; `None` if it does not fit at all.
    pub fn set(&self, settings: &mut Settings, value: &Value) -> Option<Vec<String>> {
        let mut faults = Vec::new();
        match self {
            Self::Switch { at, .. } => *at(settings) = value.as_bool()?,
            Self::Number { least, most, at, .. } => {
                *at(settings) = value.as_u64().filter(|n| (least..=most).contains(&n))?;
            }
            Self::Choice { words, at, .. } => {
                let named = value.as_str()?;
                *at(settings) = words.iter().find(|word| **word == named)?;
            }
            Self::Patterns { at } => {
                let patterns = value.as_array()?.iter();
                let patterns: Option<Vec<String>> =
                    patterns.map(|pattern| pattern.as_str().map(str::to_owned)).collect();
                let (patterns, unusable) = usable(patterns?);
                *at(settings) = patterns;
                faults = unusable;
            }
            Self::Text { check, at } => {
                let text = value.as_str().filter(|text| check(text).is_ok())?;
                *at(settings) = Some(text.to_owned());
            }
            Self::Texts { check, at } => {
                let mut texts = Texts::new();
                for (name, value) in value.as_object()? {
                    let text = value.as_str().filter(|text| check(name, text).is_ok())?;
                    texts.insert(name.clone(), text.to_owned());
                }
                // What one file has does not take away what another one has.
                at(settings).extend(texts);
            }
        }
        Some(faults)
    }

    pub fn get(&self, settings: &Settings) -> Value {
        // One function leads to a field; whoever asks for its value is in no hurry.
        let mut settings = settings.clone();
        match self {
            Self::Switch { at, .. } => Value::from(*at(&mut settings)),
            Self::Number { at, .. } => Value::from(*at(&mut settings)),
            Self::Choice { at, .. } => Value::from(*at(&mut settings)),
            Self::Patterns { at } => Value::from(at(&mut settings).clone()),
            Self::Text { at, .. } => at(&mut settings).clone().map_or(Value::Null, Value::from),
            Self::Texts { at, .. } => {
                let texts = at(&mut settings).iter();
                Value::Object(
                    texts.map(|(name, text)| (name.clone(), text.clone().into())).collect(),
                )
            }
        }
    }

    /// The value that somebody typed. `name` is the part of the key behind a map's.
    pub fn typed(&self, name: Option<&str>, words: &[String]) -> Result<Value, String> {
        let value = match (self, words) {
            (Self::Patterns { .. }, words) => Some(Value::from(words.to_vec())),
            (_, [word]) => self.typed_word(word),
            _ => None,
        };
        let value = value.ok_or_else(|| format!("it must be {}", self.expects()))?;
        match (self, &value, name) {
            (Self::Text { check, .. }, Value::String(text), _) => check(text)?,
            (Self::Texts { check, .. }, Value::String(text), Some(name)) => check(name, text)?,
            (Self::Texts { .. }, ..) => return Err("a name is missing behind the key".into()),
            _ => {
                let faults = self.set(&mut Settings::default(), &value);
                let faults = faults.ok_or_else(|| format!("it must be {}", self.expects()))?;
                if !faults.is_empty() {
                    return Err(faults.join(", "));
                }
            }
        }
        Ok(value)
    }

    fn typed_word(&self, word: &str) -> Option<Value> {
        match self {
            Self::Switch { .. } => match word.trim().to_ascii_lowercase().as_str() {
                "true" | "on" | "yes" | "1" => Some(Value::Bool(true)),
                "false" | "off" | "no" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Number { .. } => word.parse::<u64>().ok().map(Value::from),
            Self::Choice { .. } | Self::Text { .. } | Self::Texts { .. } => Some(Value::from(word)),
            Self::Patterns { .. } => None,
        }
    }

    /// What fits, in words.
    pub fn expects(&self) -> String {
        match self {
            Self::Switch { .. } => "true or false".into(),
            Self::Number { least, most: u64::MAX, .. } => {
                format!("a whole number of at least {least}")
            }
            Self::Number { least, most, .. } => format!("a whole number from {least} to {most}"),
            Self::Choice { words, .. } => format!("one of {}", words.join(", ")),
            Self::Patterns { .. } => format!("regular expressions, {MOST} at most"),
            Self::Text { .. } => "a text".into(),
            Self::Texts { .. } => "texts by their names".into(),
        }
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
