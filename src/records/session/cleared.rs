//! `session/cleared.json`: which session a client cleared last. A `/clear` gives the next session
//! a new id and no link to the old one; only the client's process is the same before and after.

use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use crate::core::schema_fields;
use crate::core::text::{Extra, keep_newest};
use crate::process::client::Client;
use crate::session::live::Live;
use crate::state::{Row, document};

const ENTRIES: usize = 20;

/// The sessions that clients cleared last, one for each client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["cleared"])))]
pub struct Cleared {
    pub cleared: Vec<Entry>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "testing", schemars(extend("required" = ["client", "session_id", "at"])))]
pub struct Entry {
    pub client: Client,
    pub session_id: String,
    #[cfg_attr(feature = "testing", schemars(schema_with = "schema_fields::time"))]
    pub at: String,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Cleared {
    pub fn add(&mut self, live: &Live, at: String) {
        self.cleared.retain(|entry| !entry.client.is(&live.client));
        self.cleared.push(Entry {
            client: live.client.clone(),
            session_id: live.session_id.clone(),
            at,
            extra: Extra::new(),
        });
        keep_newest(&mut self.cleared, ENTRIES);
    }

    pub fn find_client(&self, client: &Client) -> Option<&Entry> {
        self.cleared.iter().rev().find(|entry| entry.client.is(client))
    }
}

document!(
    Cleared,
    Row {
        name: "cleared",
        path: "state/session/cleared.json",
        schema: "cleared",
        title: "Cleared sessions",
        about: "the sessions that clients cleared last",
        ..Row::EPHEMERAL
    }
);
