//! `notices.json`: what the user should hear of, until an event comes that can show it.

use serde::{Deserialize, Serialize};

use crate::core::gate::Words;
#[cfg(test)]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::state::{Row, document};

const WAITING: usize = 20;
const SAID: usize = 200;

/// What the user should hear of, until an event comes that can show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = ["waiting", "said"])))]
pub struct Notices {
    pub waiting: Vec<Notice>,
    /// Keys of what was said: some conditions last, and one message is enough.
    pub said: Vec<String>,
    /// The model knows of the slash commands.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub commands_told: bool,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("required" = ["at", "key", "text"])))]
pub struct Notice {
    #[cfg_attr(test, schemars(schema_with = "schema_fields::time"))]
    pub at: String,
    pub key: String,
    pub text: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Notices {
    /// Adds a notice unless one with this key waits or was shown.
    pub fn add(&mut self, key: &str, text: &str, at: String) {
        let known = |have: &str| have == key;
        if self.said.iter().any(|said| known(said)) || self.waiting.iter().any(|n| known(&n.key)) {
            return;
        }
        let (key, text) = (key.to_owned(), text.to_owned());
        self.waiting.push(Notice { at, key, text, extra: Extra::new() });
        keep_newest(&mut self.waiting, WAITING);
    }

    /// Takes what waits, to show it.
    pub fn take_waiting(&mut self) -> Vec<Words> {
        let waiting = std::mem::take(&mut self.waiting);
        self.said.extend(waiting.iter().map(|notice| notice.key.clone()));
        keep_newest(&mut self.said, SAID);
        waiting.into_iter().map(|notice| notice.text.into()).collect()
    }
}

document!(
    Notices,
    Row {
        name: "notices",
        is_on: |systems| systems.notices,
        path: "state/notices.json",
        schema: "notices",
        title: "Notices",
        about: "what the user should hear of",
        ..Row::EPHEMERAL
    }
);
