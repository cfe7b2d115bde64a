//! `notices.json`: what the user should hear of, until an event comes that can show it.

use serde::{Deserialize, Serialize};

use crate::core::error::Result;
use crate::core::gate::Words;
#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::core::time::{self, Time};
use crate::state::plan::Change;
use crate::state::{Read, Row, State, document};
use crate::store::Store;

const WAITING: usize = 20;
const SAID: usize = 200;

/// What the user should hear of, until an event comes that can show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["waiting", "said"])))]
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
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["at", "key", "text"])))]
pub struct Notice {
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
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

/// What the user should hear of waits for the next event that can show it.
pub fn keep_remarks(store: &Store, state: &State, now: Time) -> Result<()> {
    let mut news = store.take_remarks();
    news.extend(state.take_remarks());
    if news.is_empty() || !store.settings.systems.notices {
        return Ok(());
    }
    let fresh = State::new(store);
    let (read, notices) = add_news(&fresh, news, now);
    match read.value.cloned().unwrap_or_default() == notices {
        true => Ok(()),
        false => store.commit(&[Change::Put(read.write(&notices))], &fresh),
    }
}

/// The notices with what is new. They themselves may have been put away: that is said too.
pub fn add_news<'s>(
    state: &'s State,
    mut news: Vec<(String, String)>,
    now: Time,
) -> (Read<'s, Notices>, Notices) {
    let read = state.read::<Notices>(&());
    let mut notices = read.value.cloned().unwrap_or_default();
    news.extend(state.take_remarks());
    for (key, text) in news {
        notices.add(&key, &text, time::spell(now));
    }
    (read, notices)
}
